"""A stage that takes longer than `stage_timeout` is gone on without, and the run says so."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentic_memory_bank import build_memory_bank
from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.concurrency.waiting import TimeLimitReached, check_waited_for, within
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

ASKED: Any = {"question": "How wide is the mirror?", "documents": ["The mirror is 8.2 metres wide."]}
SHORT = {"stage_timeout": 0.2}


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """What waits for this hangs until the test is over."""
    event = threading.Event()
    yield event
    event.set()


def test_an_executor_that_hangs_does_not_hold_the_run(hanging: threading.Event) -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings(), execute=lambda step: str(hanging.wait(60)))

    found = bank.invoke(ASKED, context=SHORT)

    assert any(note.startswith("execute: StageTimedOut: It took longer than the 0.2 s") for note in found["degraded"])
    assert found["status"] != "running"


async def test_so_it_is_in_asynchronous_code(hanging: threading.Event) -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings(), execute=lambda step: str(hanging.wait(60)))

    found = await bank.ainvoke(ASKED, context=SHORT)

    assert any("StageTimedOut" in note for note in found["degraded"])


def test_an_engine_that_hangs_is_not_asked_twice(hanging: threading.Event) -> None:
    asked: list[str] = []

    def classify(texts: Any, task: str) -> Any:
        asked.append(task)
        hanging.wait(60)

    bank = build_memory_bank(engine=ScriptedEngine(classify=classify), embeddings=HashEmbeddings())
    found = bank.invoke(ASKED, context=SHORT)

    assert len(asked) == 1
    assert any(note.startswith("classify: StageTimedOut") for note in found["degraded"])


def test_what_is_done_in_time_is_done_as_ever_and_pauses_pause() -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings(), execute="outside", checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}

    waiting = bank.invoke(ASKED, config, context={"stage_timeout": 60})
    found = bank.invoke(Command(resume="The mirror is 8.2 metres wide."), config, context={"stage_timeout": 60})

    assert "__interrupt__" in waiting
    assert "8.2" in found["answer"]
    assert found["degraded"] == []


def test_whoever_is_no_longer_waited_for_hears_of_it() -> None:
    heard, go_on = threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait(60)
        try:
            check_waited_for()
        except BaseException:
            heard.set()
            raise

    with pytest.raises(TimeLimitReached):
        within(0.05, work)
    go_on.set()
    assert heard.wait(60)


@pytest.mark.parametrize("seconds", [0, -1, "soon"])
def test_a_time_that_is_none_is_refused(seconds: Any) -> None:
    with pytest.raises(SettingsError, match="stage_timeout"):
        build_memory_bank().invoke(ASKED, context={"stage_timeout": seconds})
