"""Two things that go by one name are told apart, and a correction takes along nothing but what it corrects."""

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.extractive.remembering.told_apart import are_told_apart, renumbered
from tests.graph.test_what_held_then import recalled


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My old phone number ends in 83", "My new phone number ends in 21"),
        ("My blue box number 1 is on shelf 3.", "My blue box number 2 is on shelf 7."),
        ("My left knee needs surgery in May", "My right knee is fine now"),
        ("flat 12 is let to Jo", "flat 14 is empty"),
        ("第一个项目的预算是十万", "第二个项目的预算是八万"),
        ("老大的班主任姓王", "老二的班主任姓李"),
        ("左膝要动手术", "右膝没事了"),
    ],
)
def test_things_of_one_name_are_told_apart(one: str, other: str) -> None:
    assert are_told_apart(one, other)
    assert not are_told_apart(one, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My phone number ends in 83", "My new phone number ends in 21"),
        ("Mum is in ward 6", "Mum is in ward 9"),
        ("I work right by the station", "I left the station job"),
        ("My first meeting is at nine", "My meeting is at ten"),
        ("my third year apprentice is Kyle", "our first year is Nikita"),
    ],
)
def test_what_has_only_changed_is_one_thing(one: str, other: str) -> None:
    assert not are_told_apart(one, other)


def test_a_place_with_another_number_goes_without_what_else_its_clause_says() -> None:
    clause = "Mum's in ward 6 at St Luke's"

    span = renumbered("they moved mum to ward 9", clause)

    assert span is not None
    assert clause[slice(*span)] == " in ward 6"
    assert renumbered("they moved mum to ward 9", "Mum's in ward 6") is None
    assert renumbered("they moved mum to St Mary's", clause) is None


CORRECTED = (
    ("My old phone number ends in 83", "My new phone number ends in 21", "What does my old phone number end in?", "83"),
    ("My locker at the gym is 112", "My locker at work is 9", "What's my gym locker?", "112"),
    ("我上海的房子在浦东", "我苏州的房子在园区", "我上海的房子在哪儿？", "浦东"),
    ("Leo is 7, Kim is 4 and allergic to eggs", "Kim is 5 now", "What is Kim allergic to?", "(Kim) allergic to eggs"),
    ("Nordflytt quoted 4,200, Kaptein 3,850", "Kaptein is 3,700 now", "What did Nordflytt quote?", "4,200"),
)


@pytest.mark.parametrize(("told", "corrected", "asked", "held"), CORRECTED)
def test_a_correction_takes_along_nothing_else(told: str, corrected: str, asked: str, held: str) -> None:
    found = recalled([("2026-03-01", told), ("2026-03-05", corrected)], asked)

    assert [text for text in found if held in text]


def test_of_a_memory_that_is_corrected_in_part_the_rest_is_kept() -> None:
    with Memories(InMemoryStore(), settings={"recall_timeout": 60.0}) as memories:
        for number, text in enumerate(
            [
                "Hartmann pays 480 a day, net 30",
                "Mum's in ward 6 at St Luke's, visiting 2 to 4, she wants her glasses",
                "Hartmann is now net 14",
                "they moved mum to ward 9",
            ]
        ):
            memories.remember(text, user="u", conversation_id=str(number), end=True)
        held = [one["text"] for one in memories.list(user="u").records if one["type"] != "verbatim"]

    assert [text for text in held if "480 a day" in text and "net 30" not in text]
    assert [text for text in held if "Mum's at St Luke's" in text and "glasses" in text and "ward 6" not in text]
