"""What somebody picks of a list that the assistant gave is remembered by its name; what they turn down is not."""

import pytest

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.remembering.extraction import select
from agentic_memory_bank.engines.extractive.remembering.picks import picked

DISHES = "Chickpea curry, mushroom stroganoff or halloumi skewers are easy starts."
TRIPS = "1. Rome in May\n2. Lisbon in June\n3. Oslo in July"
IDEAS = "一是做扎染体验房，二是跟徒步团合作，三是长住打折。"
OUTINGS = "可以去泡温泉、爬山或者看展。"


@pytest.mark.parametrize(
    ("said", "listed", "thing"),
    [
        ("the second one.", DISHES, "mushroom stroganoff"),
        ("Option 2 please", TRIPS, "Lisbon in June"),
        ("let's go with the third", TRIPS, "Oslo in July"),
        ("Last one.", "Capelin Rose, Second Wind, or Bernadette's Patience.", "Bernadette's Patience"),
        ("the latter", "Paint it white or leave it as it is.", "leave it as it is"),
        ("要第一个，从九月开始推", IDEAS, "做扎染体验房"),
        ("第二个吧", OUTINGS, "爬山"),
        ("最后一个好", "叫团团、圆圆，或者豆包", "豆包"),
    ],
)
def test_a_thing_of_a_list_is_picked_by_its_place(said: str, listed: str, thing: str) -> None:
    span = picked(said, listed)

    assert span is not None
    assert listed[slice(*span)] == thing


@pytest.mark.parametrize(
    ("said", "listed"),
    [
        ("the first time I went there it rained", DISHES),
        ("not the first one", DISHES),
        ("The second one is too dear", TRIPS),
        ("the last one was broken", TRIPS),
        ("the second one", "That is a fine idea."),
        ("the fourth", DISHES),
        ("第二个太贵了", OUTINGS),
        ("第一次去的时候下雨", OUTINGS),
    ],
)
def test_what_is_turned_down_or_only_counted_is_not_picked(said: str, listed: str) -> None:
    assert picked(said, listed) is None


def test_what_is_picked_is_drawn_with_what_is_said_of_it_and_the_other_things_are_not() -> None:
    said = "the second one. I'll do that for her on Saturday"
    facts = select([Turn("a", "assistant", DISHES), Turn("b", "user", said)])

    assert [fact.words for fact in facts] == [f"mushroom stroganoff {said}"]
    assert [quote.turn for quote in facts[0].quotes] == ["a", "b", "b"]


def test_what_nobody_picks_is_not_drawn() -> None:
    assert select([Turn("a", "assistant", DISHES), Turn("b", "user", "thanks, lovely")]) == []
