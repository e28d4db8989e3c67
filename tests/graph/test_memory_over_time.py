"""What people ask of the past and of the present is answered by when it was told: before the move, and after it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.tools.embeddings.models import local_embeddings


class Told:
    """A user's memories, a conversation a month."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 10, tzinfo=UTC)
        self.memories = Memories(InMemoryStore(), embeddings=local_embeddings(), clock=lambda: self.now)

    def tell(self, words: str) -> None:
        self.memories.remember(words, user="u", conversation_id=f"c{self.now:%m}", end=True)
        self.now += timedelta(days=31)

    def found(self, question: str) -> str:
        return " | ".join(memory["text"] for memory in self.memories.recall(question, user="u").get("memories", []))


@pytest.fixture
def told() -> Iterator[Told]:
    one = Told()
    with one.memories:
        yield one


@pytest.mark.parametrize(
    ("before", "after", "asked", "then", "now"),
    [
        (
            "I live in Leeds with my brother.",
            "We moved to Hull last weekend, finally.",
            "where did I live before the move?",
            "Leeds",
            "Hull",
        ),
        ("我跟弟弟住在无锡。", "上周末终于搬到常州了。", "搬家之前我住在哪里？", "无锡", "常州"),
    ],
)
def test_before_the_move_is_what_was_true_until_it(
    told: Told, before: str, after: str, asked: str, then: str, now: str
) -> None:
    told.tell(before)
    told.tell(after)
    assert then in told.found(asked)
    assert now not in told.found(asked)


@pytest.mark.parametrize(
    ("before", "after", "asked", "now"),
    [
        ("我住在厦门", "我搬到福州了", "我住哪？", "福州"),
        ("我住在厦门", "上周末终于搬到泉州了。", "我现在住在哪里？", "泉州"),
        ("I live in Leeds with my brother.", "We moved to Hull last weekend.", "where do I live?", "Hull"),
    ],
)
def test_where_somebody_lives_is_the_first_thing_shown_once_they_moved(
    told: Told, before: str, after: str, asked: str, now: str
) -> None:
    told.tell(before)
    told.tell(after)
    assert now in told.found(asked).partition(" | ")[0]


def test_where_the_sister_lives_is_not_where_the_user_lives(told: Told) -> None:
    told.tell("我搬到福州了")
    assert told.found("我妹住哪？") == ""
