"""Long work is heard of while it is done, and ends where nobody waits for it any more."""

import asyncio
from typing import Any

import pytest

from agentic_memory_bank.engines.extractive import engine
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.testing import TickingClock
from agentic_memory_bank.tools.concurrency import long_work
from agentic_memory_bank.tools.concurrency.long_work import told_to, with_progress
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

REPORTS = [
    f"The {name} works were opened in {year}.\n\nThey employ {people} people and were painted {colour}."
    for name, year, people, colour in (
        ("Aldport", 1881, 40, "green"),
        ("Aldport", 1884, 40, "green"),
        ("Brennick", 1902, 75, "blue"),
        ("Lomgard", 1911, 12, "red"),
    )
]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every item told of, however short it takes."""
    monkeypatch.setattr(long_work, "TOLD_EVERY", 0.0)


@pytest.fixture
def heard() -> list[tuple[str, int, int]]:
    return []


def test_each_item_is_told_of_and_then_that_all_are_done(at_once: None, heard: list[Any]) -> None:
    with told_to(lambda counted, done, whole: heard.append((counted, done, whole))):
        assert list(with_progress(["a", "b", "c"], "compared")) == ["a", "b", "c"]

    assert heard == [("compared", 1, 3), ("compared", 2, 3), ("compared", 3, 3)]


def test_what_is_quickly_done_is_not_told_of(heard: list[Any]) -> None:
    with told_to(lambda counted, done, whole: heard.append((counted, done, whole))):
        list(with_progress(range(1_000), "compared"))

    assert heard == []


def test_work_without_a_listener_is_done_all_the_same(at_once: None) -> None:
    assert list(with_progress([1, 2], "compared")) == [1, 2]
    assert list(with_progress([], "compared")) == []


@pytest.mark.parametrize(
    ("stage", "counted"),
    [("structure", "summarised"), ("retrieve", "indexed"), ("retrieve", "read"), ("analyze_conflict", "compared")],
)
def test_a_stage_that_computes_says_how_much_is_left(at_once: None, stage: str, counted: str) -> None:
    graph = build_memory_bank(embeddings=HashEmbeddings(), clock=TickingClock())
    given: Any = {"question": "When were the Aldport works opened?", "documents": REPORTS}

    events = [e for e in graph.stream(given, stream_mode="custom") if e["stage"] == stage and counted in e]

    assert events
    assert {event[counted] + event["left"] for event in events[:1]} == {sum(events[0][k] for k in (counted, "left"))}
    assert 0 in [event["left"] for event in events]


async def test_a_task_that_is_cancelled_leaves_no_stage_computing(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    begun, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    real = engine._structured  # pyright: ignore[reportPrivateUsage]

    def slow(text: str, rarity: Any) -> Any:
        done.append(text)
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(10)
        return real(text, rarity)

    monkeypatch.setattr(engine, "_structured", slow)
    graph = build_memory_bank(embeddings=HashEmbeddings(), clock=TickingClock())
    given: Any = {"question": "When were the Aldport works opened?", "documents": REPORTS}
    task = asyncio.create_task(graph.ainvoke(given))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await asyncio.sleep(0.1)

    assert len(done) == 1
