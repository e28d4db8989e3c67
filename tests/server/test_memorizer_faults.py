"""Every fault of a model server at the judgement `abstract`: no page is lost, and no error is taken for an abstract."""

import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentic_memory_bank.engines.extractive.research import abstract_of
from agentic_memory_bank.engines.llm import models, retry
from agentic_memory_bank.graph.memorizer import build_memorizer
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.testing import ChatRequest, Fault, ModelServer, Reply, ScriptedJudge, closed_port, refusing
from agentic_memory_bank.tools.pages.stores import PageStores

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]


def _neighbour(name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = sys.modules[name] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


faults = _neighbour("test_model_faults")
CASES: dict[str, Any] = faults.CASES
CANARY: str = faults.CANARY
ADDRESS: str = faults.ADDRESS

TEXTS = [f"Room {number} of the old mill has {number + 3} windows. " * 30 for number in range(6)]
WINDOW = 2_500
"""Two of the texts fit."""
PER_BATCH = 4

Answered = Callable[[ChatRequest], Reply | Fault]
judge = ScriptedJudge()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)
    monkeypatch.setattr(models, "_KNOWN_MODES", {})
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


class Run:
    """A memorizer that asks a server, and the memory it writes."""

    def __init__(self, server: ModelServer, script: Answered, *, saved: bool = False, **settings: Any) -> None:
        self.server, self.script = server, script
        self.stores = PageStores(in_memory=True)
        self._memorizer = build_memorizer(
            stores=self.stores,
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            checkpointer=InMemorySaver() if saved else None,
        )
        self._settings: Any = {
            "model": "local:test",
            "abstract_window": WINDOW,
            "abstract_timeout": 60.0,
            "page_batch": PER_BATCH,
            "longest_wait": 2.0,
            **settings,
        }

    def __call__(self, given: Any = None) -> dict[str, Any]:
        asked: Any = given or {"texts": TEXTS, "memory": "m"}
        return self._memorizer.invoke(asked, {"configurable": {"thread_id": "t"}}, context=self._settings)

    @property
    def pages(self) -> list[Page]:
        return [page for _, page in self.stores.of("m").pages()]

    @property
    def requests(self) -> list[str]:
        """What was asked, and in which form."""
        return [f"{request.mode} {request.messages[1]['content']}" for request in self.server.chats]


Make = Callable[..., Run]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    made: list[Run] = []
    with ModelServer(lambda request: made[0].script(request)) as server:
        monkeypatch.setenv(ADDRESS, server.url)

        def make(script: Answered = judge, **settings: Any) -> Run:
            server.reset()
            made[:] = [Run(server, script, **settings)]
            return made[0]

        yield make


@pytest.fixture(scope="module")
def sound() -> list[Page]:
    """The memory of a run without faults."""
    with pytest.MonkeyPatch.context() as patch, ModelServer(judge) as server:
        patch.setenv(ADDRESS, server.url)
        whole = Run(server, judge)
        output = whole()
    assert (output["degraded"], output["usage"]["calls"]) == ([], 3)
    return whole.pages


def with_fault(make: Make, name: str, *, every: bool, **settings: Any) -> Run:
    """A run in which some, or all, answers fail; the form of request is that which the fault is about."""
    case = CASES[name]
    left = [None]

    def answer(request: ChatRequest) -> Reply | Fault:
        if not every and not left:
            return judge(request)
        left.clear()
        return case.fault(request)

    slow = {"abstract_timeout": faults.SHORT} if case.is_slow else {}
    script = refusing(answer, "json_schema") if case.mode == "function_calling" else answer
    return make(script, **slow, **settings)


def assert_no_page_is_lost(ended: Run, output: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    assert [page["text"] for page in ended.pages] == TEXTS
    assert all(page["abstract"].startswith("Room") for page in ended.pages)
    assert CANARY not in str(ended.pages) + str(output) + caplog.text
    assert output["status"] == "completed"
    on_the_way = 3 if any(r.startswith("function_calling") for r in ended.requests) else 0
    assert len(ended.requests) <= 2 * 3 + on_the_way, "each question once more at most"


@pytest.mark.parametrize("name", [name for name in CASES if not CASES[name].is_final])
def test_a_fault_on_the_first_call_leaves_the_memory_as_without_it(
    run: Make, sound: list[Page], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    ended = with_fault(run, name, every=False)
    output = ended()

    assert_no_page_is_lost(ended, output, caplog)
    assert (output["degraded"], ended.pages) == ([], sound)


@pytest.mark.parametrize("name", [name for name in CASES if not (CASES[name].is_harmless or CASES[name].is_final)])
def test_a_fault_on_every_call_costs_the_abstracts_and_no_page(
    run: Make, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    ended = with_fault(run, name, every=True)
    output = ended()

    assert_no_page_is_lost(ended, output, caplog)
    assert [page["abstract"] for page in ended.pages] == [abstract_of(text) for text in TEXTS]
    assert len(output["degraded"]) == 2, "one note for each batch"
    assert all(
        note.startswith(("abstract: ModelUnavailable", "abstract: AnswerRejected")) for note in output["degraded"]
    )
    assert all(CASES[name].names in note for note in output["degraded"])


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].is_harmless])
def test_a_habit_that_can_be_read_costs_nothing(run: Make, sound: list[Page], name: str) -> None:
    ended = with_fault(run, name, every=True)

    assert (ended()["degraded"], ended.pages, len(ended.requests)) == ([], sound, 3)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].is_final])
def test_a_refusal_is_named_and_the_run_waits_until_it_is_mended(run: Make, sound: list[Page], name: str) -> None:
    waiting = with_fault(run, name, every=True, saved=True, max_concurrency=1)
    output = waiting()
    (pause,) = (interrupt.value for interrupt in output["__interrupt__"])
    assert pause["reason"] == "refused"
    assert CASES[name].names in pause["message"]
    assert (len(waiting.requests), waiting.pages) == (1, [])

    waiting.script = judge
    output = waiting(Command(resume="continue"))

    assert (output["status"], output["degraded"], waiting.pages) == ("completed", [], sound)
    assert CANARY not in str(output) + pause["message"]


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].is_final])
def test_where_nobody_can_come_back_a_refusal_costs_the_abstracts_and_one_request(
    run: Make, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    ended = with_fault(run, name, every=True, max_concurrency=1)
    output = ended()

    assert_no_page_is_lost(ended, output, caplog)
    assert len(ended.requests) == 1, "what refuses one question refuses all, also of later batches"
    (note,) = output["degraded"]
    assert CASES[name].names in note


def test_a_server_that_is_not_there_costs_the_abstracts_and_is_named(
    run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ADDRESS, f"http://127.0.0.1:{closed_port()}/v1")
    ended = run()
    output = ended()

    assert [page["text"] for page in ended.pages] == TEXTS
    assert all(ADDRESS in note for note in output["degraded"])


def test_a_second_fault_after_an_answer_pays_for_no_window_twice(run: Make, sound: list[Page]) -> None:
    seen: list[str] = []

    def answer(request: ChatRequest) -> Reply | Fault:
        seen.append(str(request.messages[1]["content"]))
        return CASES["500"].fault(request) if seen.count(seen[-1]) == 1 else judge(request)

    ended = run(answer)

    assert (ended()["degraded"], ended.pages) == ([], sound)
    assert sorted(map(seen.count, set(seen))) == [2, 2, 2]


def test_windows_of_a_batch_are_asked_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(judge, latency=0.2) as server:
        monkeypatch.setenv(ADDRESS, server.url)
        ended = Run(server, judge, page_batch=128, abstract_window=1_500, max_concurrency=6)
        output = ended()

        assert output["usage"]["calls"] == 6
        assert server.most_at_once == 6
