"""What held on a day that the caller names is asked for in any case, in the words of then."""

from datetime import UTC, datetime
from typing import Any, cast

from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.nodes.recall.memory_search import is_left_of
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.embeddings.models import local_embeddings

SPRING, SUMMER, AUTUMN = (datetime(2025, month, 3, 12, tzinfo=UTC) for month in (3, 6, 10))


class Clock:
    now = SPRING

    def __call__(self) -> datetime:
        return self.now


def test_a_question_for_a_day_is_answered_with_the_whole_of_what_was_said_by_then() -> None:
    clock = Clock()
    with Memories(
        InMemoryStore(), embeddings=local_embeddings(), settings={"recall_timeout": 60.0}, clock=clock
    ) as one:
        said = "我的鼓课在周三下午，老师姓顾"
        one.remember([HumanMessage(said)], user="u", conversation_id="a", end=True)
        clock.now = SUMMER
        one.remember([HumanMessage("鼓课改到周五了")], user="u", conversation_id="b", end=True)
        clock.now = AUTUMN

        then = one.recall("哪天打鼓？", user="u", as_of="2025-04-10")
        texts = [memory["text"] for memory in then["memories"]]

    assert texts
    assert all("周三" in text for text in texts)


def record(text: str, created: datetime, turn: str) -> Record:
    fields: dict[str, Any] = {"text": text, "created_at": created.isoformat(), "sources": [{"turns": [turn]}]}
    return cast(Record, fields)


def test_what_was_left_of_a_memory_is_told_from_what_was_said_beside_it() -> None:
    whole = record("user (3 March 2025): the drum class is on Wednesday, Gu teaches it", SPRING, "t1")

    assert is_left_of(record("user (3 March 2025): Gu teaches it", SUMMER, "t1"), whole)
    assert not is_left_of(record("user (3 March 2025): Gu teaches it", SUMMER, "t2"), whole)
    assert not is_left_of(record("user (3 March 2025): Gu teaches the harp", SUMMER, "t1"), whole)
    assert not is_left_of(whole, whole)
