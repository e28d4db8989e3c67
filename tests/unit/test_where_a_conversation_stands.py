"""The state of a long conversation: what somebody came for, what was decided, its frame, and what is still open."""

import pytest

from agentic_memory_bank.engines.conversation import DIGEST_TOKENS, Digest, Turn
from agentic_memory_bank.engines.extractive.remembering.open_points import still_to_do
from agentic_memory_bank.engines.extractive.remembering.standing import standing

WEDDING = """
Hi! We're getting married on 6 June next year and I have no idea where to start.
budget is 20k all in, my parents pay half
guests about 80, maybe 90
venue: Larch Barn quoted 6,000, the Mill 7,500
ok let's go with the Mill
how do I word the invitations?
Can you write me a thank-you note template for Olive?
caterer charges 65 a head
we still need a photographer
dress fitting on 3 March
Priya found us a photographer, 1,400 for the day
what oil is good for a salad dressing?
cake is 450 from Bakewell's
still to do: music, transport, rings
rings bought, 900 for both
the Mill wants a deposit of 1,500 by Friday
deposit paid
we're up to 95 guests now
"""
HOUSE = """
我们在装修新房，打算十月底前住进去
预算二十五万，已经花了八万
厨房想做开放式
瓷砖选了马可波罗的，一平米120
你觉得开放式厨房油烟大吗？
水电改造报价一万八
还要买：冰箱、洗衣机、烤箱
冰箱买了西门子的，6900
帮我写个给物业的申请
洗衣机也订好了
预算加到二十八万
"""


def stands(talk: str) -> Digest:
    said = [Turn(str(place), "user", line) for place, line in enumerate(filter(None, talk.split("\n")))]
    return standing(said, DIGEST_TOKENS)


def test_a_wedding_is_still_what_it_is_about_after_a_template_and_a_salad() -> None:
    digest = stands(WEDDING)

    assert digest.goal == ("We're getting married on 6 June next year and I have no idea where to start.",)
    assert digest.decisions == ("ok let's go with the Mill",)
    assert digest.open == ("still to do: music, transport",)
    assert "budget is 20k all in, my parents pay half" in digest.facts
    assert not {"Olive", "template", "oil"} & {*digest.topic}


def test_a_chinese_one_holds_the_last_budget_and_what_is_not_bought_yet() -> None:
    digest = stands(HOUSE)

    assert digest.goal == ("我们在装修新房，打算十月底前住进去",)
    assert digest.open == ("还要买：烤箱",)
    assert "预算加到二十八万" in digest.facts
    assert not any("二十五万" in fact for fact in digest.facts)
    assert not any(term[0].isdigit() for term in digest.topic)


@pytest.mark.parametrize(
    "said",
    [
        "I need help planning our move from Malmö to Aberdeen, we have to be out by 30 June",
        "We're renovating the kitchen before Christmas",
        "我想策划公司二十周年庆典，11月8日",
        "帮我们安排一下五月的团建，三十个人",
    ],
)
def test_what_somebody_came_for_is_the_goal(said: str) -> None:
    assert stands(f"{said}\nok\nthanks").goal == (said,)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (["need to cancel the electricity", "electricity cancelled, thank god"], []),
        (["we still need a photographer", "the cake is done"], ["we still need a photographer"]),
        (["still open: broadband, council tax", "broadband booked for Monday"], ["still open: council tax"]),
        (["主持人还没联系", "主持人联系上了"], []),
        (["还没定的：主持人、大巴", "还没定的：主持人"], ["还没定的：主持人", "还没定的：主持人、大巴"]),
    ],
)
def test_what_was_told_to_be_done_is_open_no_longer(said: list[str], left: list[str]) -> None:
    assert still_to_do(said) == left
