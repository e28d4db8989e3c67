"""What is over goes out of an earlier memory, and no more of it than is over."""

import pytest

from agentic_memory_bank.engines.conversation import ExistingMemory, Fact, TurnQuote
from agentic_memory_bank.engines.extractive.remembering.ended import ended_in, narrowed
from agentic_memory_bank.engines.extractive.remembering.resolution import resolve


def left(new: str, old: str) -> str | None:
    """What an earlier memory of the user still says after a later one; None where it is not touched."""
    quotes = (TurnQuote("t2", new, (0, len(new))),)
    said = Fact(new, "semantic", quotes, speaker="user", date="15 March 2026")
    known = ExistingMemory("m1", old, "semantic", 0.5, speaker="user", date="1 March 2026")
    found = resolve(said, [known])
    return found.left.get("m1", "") if "m1" in found.known else None


@pytest.mark.parametrize(
    ("old", "new", "still"),
    [
        ("I take fish oil at night and zinc in the morning", "I gave up zinc", "I take fish oil at night"),
        (
            "I take fish oil at night and zinc in the morning",
            "doctor stopped the fish oil",
            "I take zinc in the morning",
        ),
        ("My pills are zinc, iron and fish oil", "the nurse took me off iron", "My pills are zinc, fish oil"),
        (
            "I have muesli and a pear at nine, green tea, at my desk",
            "gave up tea, it's water now",
            "I have muesli and a pear at nine, at my desk",
        ),
        ("我早上吃鱼油和锌片，晚上吃钙片", "锌片停了，恶心", "我早上吃鱼油，晚上吃钙片"),
        ("我每天吃鱼油、锌片和钙片", "鱼油不吃了", "我每天吃锌片和钙片"),
        ("早饭吃个包子喝杯豆浆", "豆浆戒了", "早饭吃个包子"),
        ("早饭两个包子一杯豆浆", "豆浆戒了", "早饭两个包子"),
        ("哥哥11岁踢足球，妹妹7岁跳舞", "哥哥不踢足球了，改练击剑", "哥哥11岁，妹妹7岁跳舞"),
    ],
)
def test_of_several_things_the_one_that_is_over_goes(old: str, new: str, still: str) -> None:
    assert left(new, old) == still


@pytest.mark.parametrize(
    ("old", "new", "still"),
    [
        (
            "Pottery is Tuesdays 6.30 with Marta in the annex",
            "pottery is on Fridays now",
            "Pottery is 6.30 with Marta in the annex",
        ),
        ("瑜伽课每周二在活动中心上", "瑜伽课改到周五了", "瑜伽课在活动中心上"),
        ("招人：三个店员一个司机，时薪三十", "其实两个店员就够了", "招人：一个司机，时薪三十"),
    ],
)
def test_of_a_clause_that_says_more_the_changed_value_goes(old: str, new: str, still: str) -> None:
    assert left(new, old) == still


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I go rowing before work", "I don't row any more"),
        ("The dinner is on Friday", "the dinner has moved to Saturday"),
        ("Pottery is Tuesdays at 6 with Marta", "pottery moved to Fridays at 7"),
        ("I've got the job, three days at a bakery", "I quit the bakery"),
    ],
)
def test_a_clause_that_says_nothing_else_goes_whole(old: str, new: str) -> None:
    assert left(new, old) == ""


def test_what_is_left_out_once_is_not_over() -> None:
    assert ended_in("今天钙片不吃了") == []
    assert ended_in("钙片不吃了") == [("钙片", 0)]


def test_a_long_message_narrows_nothing() -> None:
    assert narrowed(f"gave up tea {'and so on ' * 40}", "toast, tea", [(6, 10)]) == [(6, 10)]
