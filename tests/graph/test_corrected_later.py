"""A correction that is told days later, in another conversation and other words, replaces what it corrects."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.tools.embeddings.models import local_embeddings


class Told:
    """A user's memories, a conversation every third day."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 10, tzinfo=UTC)
        self.memories = Memories(InMemoryStore(), embeddings=local_embeddings(), clock=lambda: self.now)

    def tell(self, *words: str) -> None:
        self.memories.remember([*words], user="u", conversation_id=f"c{self.now:%d}", end=True)
        self.now += timedelta(days=3)

    def held(self) -> list[str]:
        """The words of the facts that hold."""
        listed = self.memories.list(user="u", limit=100, types=["semantic", "procedural", "episodic"])
        return [record["text"].partition("): ")[2] for record in listed.records]


@pytest.fixture
def told() -> Iterator[Told]:
    one = Told()
    one.tell("My dentist is Dr Mwangi, the next checkup is on 4 May.", "I pay 38 a month for the gym.")
    yield one
    one.memories.close()


@pytest.mark.parametrize(
    ("old", "new", "now"),
    [
        (
            "The parish council meets on Wednesday.",
            "Scratch that, they've settled on Thursday.",
            "(The parish council meets) Scratch",
        ),
        ("我们打算五一去黄山玩。", "算了，还是去婺源吧。", "算了，还是去婺源吧"),
        ("Ruben checks the orders.", "Maija signs off the orders now.", "Maija signs off the orders now"),
        ("My rent is 900 a month.", "The landlord put us up to 980.", "The landlord put us up to 980"),
        ("I'm vegetarian, have been for years.", "I've started eating meat again.", "I've started eating meat again"),
        ("我吃素三年了，一点荤腥都不沾。", "我现在开始吃肉了，医生让的。", "我现在开始吃肉了"),
    ],
)
def test_a_later_correction_in_other_words_takes_the_place_of_the_old_value(
    told: Told, old: str, new: str, now: str
) -> None:
    told.tell(old)
    before = told.held()
    told.tell(new)

    assert any(old in text for text in before)
    assert not any(old[:-1] in text for text in told.held())
    assert any(now in text for text in told.held())
    assert {text for text in before if old not in text} <= {*told.held()}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The cleaner charges 25 an hour.", "My sister's cleaner charges 30 an hour now."),
        ("I'm vegetarian, have been for years.", "My brother eats meat again now."),
        ("We're going to Crete in June.", "If we went to Madeira instead it would be cheaper."),
        ("孩子的画画课一节120。", "隔壁小孩的画画课涨到150了。"),
    ],
)
def test_what_is_told_of_another_or_only_supposed_replaces_nothing(told: Told, old: str, new: str) -> None:
    told.tell(old)
    before = told.held()
    told.tell(new)

    assert {*before} <= {*told.held()}


def test_of_two_that_a_correction_may_mean_none_is_replaced(told: Told) -> None:
    told.tell("The parish council meets on Wednesday.")
    told.tell("The yoga course is on Monday.")
    before = told.held()

    told.tell("Scratch that, they've settled on Thursday.")

    assert {*before} <= {*told.held()}


def test_what_was_long_ago_is_not_taken_back(told: Told) -> None:
    told.tell("The parish council meets on Wednesday.")
    told.now += timedelta(days=60)
    before = told.held()

    told.tell("Scratch that, they've settled on Thursday.")

    assert {*before} <= {*told.held()}


def test_a_correction_in_other_words_is_found_for_what_it_replaced(told: Told) -> None:
    told.tell("我们打算五一去黄山玩，猫放在我妈家。")
    told.tell("黄山没房了，算了，还是去婺源吧，高铁票都买好了。")

    assert "婺源" in str(told.memories.recall("五一去哪里玩？", user="u").get("memories"))
