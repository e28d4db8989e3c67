"""What is told behind a question or a request is drawn, and so is what few words say of what holds now."""

from datetime import date

import pytest

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.reading.dates import moments
from agentic_memory_bank.engines.extractive.remembering.around_questions import stated_beside
from agentic_memory_bank.engines.extractive.remembering.extraction import select


def drawn(said: str) -> list[str]:
    return [fact.words for fact in select([Turn("t", "user", said, date="2025-05-03")])]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("帮我写个请假条，我5月20号到22号要回老家参加表姐婚礼", "我5月20号到22号要回老家参加表姐婚礼"),
        ("给我推荐几本书，我喜欢推理小说", "我喜欢推理小说"),
        (
            "can you help me plan meals, im on nights tue-thu and i cant do dairy",
            "im on nights tue-thu and i cant do dairy",
        ),
        (
            "what's a good gift for a 9 year old, my nephew's birthday is on Saturday",
            "my nephew's birthday is on Saturday",
        ),
        (
            "Could you draft an email to my landlord, we have had no hot water since Monday",
            "we have had no hot water since Monday",
        ),
    ],
)
def test_what_is_told_of_the_speaker_behind_a_request_is_drawn_without_it(said: str, told: str) -> None:
    assert drawn(said) == [told]


@pytest.mark.parametrize(
    "said",
    [
        "帮我写个故事，我是一只猫",
        "what rhymes with orange, I'm writing a poem",
        "一斤等于多少克，我就考考你",
        "how do you spell accommodation, I always get it wrong",
        "can you write a card, I forgot her birthday",
        "帮我翻译一下，我看不懂",
        "帮我写个标题，卖手工皂的那种，我朋友让我帮忙",
        "how long do I boil eggs, I like them runny",
    ],
)
def test_why_somebody_asks_is_not(said: str) -> None:
    assert stated_beside(said) is None


@pytest.mark.parametrize(
    "said",
    [
        "we're doing four nights now",
        "retro's at 3 now",
        "they want me in at 8 from now on",
        "Noor loves olives.",
        "Petra can't make it, so it's just six of us",
        "第一个项目的预算是十万",
        "密码锁换成指纹的了",
    ],
)
def test_few_words_that_tell_what_holds_are_drawn(said: str) -> None:
    assert drawn(said) == [said]


@pytest.mark.parametrize("said", ["no thanks, off to bed", "night night", "第一个吧", "第二个更好", "密码锁是 229145"])
def test_what_only_resembles_them_is_not(said: str) -> None:
    assert drawn(said) == []


@pytest.mark.parametrize(
    "said",
    ["had my first steak in 12 years", "haven't slept in 3 days", "no rain in ten days", "painted it in two days"],
)
def test_how_long_something_has_lasted_is_no_day_to_come(said: str) -> None:
    assert [*moments(said, date(2026, 3, 4))] == []


def test_what_had_to_be_done_is_over_and_what_is_booked_is_to_come() -> None:
    (done,) = moments("Rex had to be put to sleep on Tuesday", date(2026, 3, 4))
    (booked,) = moments("booked for a check in 3 days", date(2026, 3, 4))

    assert (done.calendar, booked.calendar) == ("the Tuesday before 4 March 2026", "7 March 2026")
