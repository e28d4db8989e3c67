"""What held on a day that the caller names is asked for in any case, in the words of then."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.nodes.recall.past import is_left_of
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


Day = str
"""As ISO 8601."""
LATER = (
    (
        [("2026-03-01", "In 2019 I lived in Oslo"), ("2026-03-02", "I live in Turku now")],
        "Where did I live in 2019?",
        "Oslo",
    ),
    ([("2026-03-01", "Until 2019 I lived in Oslo")], "Where did I live in 2018?", "Oslo"),
    ([("2026-01-05", "From 2010 to 2015 I worked at Nokia")], "Where did I work in 2012?", "Nokia"),
    ([("2026-03-01", "去年夏天我们去了青海")], "去年夏天我们去了哪儿？", "青海"),
    ([("2026-01-05", "我2012年到2016年在深圳上班")], "我2014年在哪儿上班？", "深圳"),
)


@pytest.mark.parametrize(("told", "asked", "held"), LATER)
def test_what_was_told_later_of_a_time_is_found_for_that_time(
    told: list[tuple[Day, str]], asked: str, held: str
) -> None:
    assert [text for text in recalled(told, asked) if held in text]


def test_what_nobody_told_of_a_time_is_not_what_holds_now() -> None:
    assert not recalled([("2026-01-05", "I weigh 80 kilos")], "What did I weigh in 2020?")


def test_what_is_told_of_last_month_was_true_then_though_it_was_said_later() -> None:
    homes = [("2026-01-05", "I live in Berlin."), ("2026-03-31", "I moved to Lisbon last month.")]
    rents = [("2026-01-05", "My rent is 780."), ("2026-06-10", "rent's 830 since May")]

    assert [text for text in recalled(homes, "Where do I live?", as_of="2026-03-15") if "Lisbon" in text]
    assert not [text for text in recalled(homes, "Where do I live?", as_of="2026-01-15") if "Lisbon" in text]
    assert [text for text in recalled(rents, "What is my rent?", as_of="2026-05-20") if "830" in text]
    assert not [text for text in recalled(rents, "What is my rent?", as_of="2026-04-20") if "830" in text]


def test_a_season_is_asked_about_as_it_ended() -> None:
    told = [("2025-06-05", "我在北京，住回龙观"), ("2025-12-05", "搬到上海了，住徐汇")]

    assert [text for text in recalled(told, "去年夏天我住在哪里？") if "回龙观" in text]
    assert not [text for text in recalled(told, "去年夏天我住在哪里？") if "徐汇" in text]


def recalled(told: list[tuple[Day, str]], asked: str, **how: str) -> list[str]:
    clock = Clock()
    with Memories(
        InMemoryStore(), embeddings=local_embeddings(), settings={"recall_timeout": 60.0}, clock=clock
    ) as memories:
        for number, (day, text) in enumerate(told):
            clock.now = datetime.fromisoformat(f"{day}T09:00:00+00:00")
            memories.remember([HumanMessage(text)], user="u", conversation_id=str(number), end=True)
        clock.now += timedelta(days=30)
        return [memory["text"] for memory in memories.recall(asked, user="u", **cast(Any, how))["memories"]]
