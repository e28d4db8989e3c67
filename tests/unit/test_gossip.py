"""What people say of others, ask, and let off is told from what they state of their own world."""

import pytest

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.remembering.extraction import select


def drawn(text: str) -> str:
    return " / ".join(fact.text for fact in select([Turn("1", "user", text, "", "2025-03-04")]))


@pytest.mark.parametrize(
    "text",
    [
        "my coworker Steve is obsessed with sourdough",
        "The guy from accounting bought a boat",
        "our neighbour two doors down is getting divorced",
        "a classmate of mine wants to become a pilot",
        "my colleague Rita has just had twins, I envy her energy",
        "the cellist Marta is learning Finnish of all things",
        "公司的同事小陈要结婚了",
        "我同学阿亮打算去新西兰放羊",
        "隔壁老王又买了辆车",
    ],
)
def test_what_others_do_with_their_own_life_is_no_memory(text: str) -> None:
    assert drawn(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "my colleague Dana covers my shifts on Fridays",
        "My neighbour Hilda has our spare key",
        "the plumber Dave is coming Thursday at 9",
        "my classmate Lena is moving in with me in June",
        "My sister Ana is moving to Oslo in May",
        "the landlord wants to sell the flat by June",
        "同事小李替我值周五的班",
        "我邻居王姐帮我收快递",
        "同学聚会定在五月二号",
    ],
)
def test_what_others_are_to_the_speaker_is_a_memory(text: str) -> None:
    assert drawn(text)


@pytest.mark.parametrize(
    "text",
    [
        "do cats dream",
        "can dogs eat grapes",
        "先洗头还是先洗澡",
        "name five rivers in France",
        "it's absolutely freezing",
        "外面下大雪了",
        "if I ever win the lottery I'm buying an island",
        "How do you spell 'rhythm'? I always want to put a vowel in.",
    ],
)
def test_questions_without_a_mark_moods_and_daydreams_are_no_memories(text: str) -> None:
    assert drawn(text) == ""


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("I'm a baker in Cork, up at three every day, can you keep that in mind", "baker in Cork"),
        ("我对芒果过敏，吃了会起疹子，帮我推荐个甜品", "芒果"),
        ("which means I get Fridays off from May", "Fridays off"),
        ("The kiln is in the shed and if you open it hot the glaze cracks", "kiln is in the shed"),
        ("Any tips on mowing have to be for a push mower, we have no petrol one", "push mower"),
        ("my daughter would you believe it got into Leeds", "Leeds"),
        ("Shelf plan:\nShelf 1: flour, rye\nBed 2: herbs", "herbs"),
        ("今天开始吃素了，肉一口不碰", "吃素"),
    ],
)
def test_what_is_told_beside_a_request_or_in_passing_is_a_memory(text: str, held: str) -> None:
    assert held in drawn(text)


def test_what_is_said_beside_a_number_that_is_left_out_is_kept_whole() -> None:
    text = (
        "the form wants my national insurance number, ***, there. oh the dog, Pixel, gets his tablets at 8, with food"
    )

    assert "Pixel, gets his tablets at 8, with food" in drawn(text)
    assert "***" not in drawn(text)
