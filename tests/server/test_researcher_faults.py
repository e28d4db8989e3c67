"""Every fault of a model server at every judgement of research: nothing that was found is lost, and nothing made up."""

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentic_memory_bank.engines.llm import models, retry
from agentic_memory_bank.graph.researcher import build_researcher
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.testing import ChatRequest, Fault, ModelServer, Reply, ScriptedJudge, closed_port, refusing
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.store import page_id
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
FINAL = [name for name in CASES if CASES[name].is_final]
HARMLESS = [name for name in CASES if CASES[name].is_harmless]
LASTING = [name for name in CASES if not (CASES[name].is_final or CASES[name].is_harmless)]

STAGES = {"plan_searches": "plan", "gather": "integrate", "reflect": "reflect", "respond": "answer"}
"""The judgements, and the stages that ask for them."""
TOGETHER = (("plan_searches", "gather", "respond"), ("reflect",))
"""Judgements that are asked for though the others of their group fail."""

QUESTION = "Who keeps the key of the lighthouse?"
NEXT = "Who is the harbour master of Aldport?"
TEXTS = (
    "The key of the lighthouse is kept by the harbour master.",
    "The harbour master of Aldport is Ida Lindqvist.",
    "Rope Street was paved in 1881.",
)

Answered = Callable[[ChatRequest], Reply | Fault]


def _gather(prompt: str) -> dict[str, Any]:
    return {**ScriptedJudge._gather(prompt), "is_enough": "Ida" in prompt}


def _plan(_: str) -> dict[str, Any]:
    return {"searches": [{"request": 1, "keywords": ["Aldport"], "queries": [NEXT], "pages": []}]}


def _respond(prompt: str) -> dict[str, Any]:
    said = re.findall(r"<excerpt[^>]*>(.*?)</excerpt>", prompt)
    quotes = [{"excerpt": number, "words": words} for number, words in enumerate(said, 1)]
    return {"is_found": True, "answer": "Ida Lindqvist does.", "quotes": quotes}


judge = ScriptedJudge(
    gather=_gather,
    reflect=lambda _: {"is_enough": False, "requests": [NEXT]},
    plan_searches=_plan,
    respond=_respond,
)
"""The model that judges as it should: it needs two rounds, and so all judgements."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)
    monkeypatch.setattr(models, "_KNOWN_MODES", {})
    monkeypatch.setattr(faults.scenario, "judge", judge)  # what the cases spoil is what this model would have said
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


def _page(text: str) -> Page:
    said = {"id": page_id(text), "title": "", "abstract": text, "text": text, "source": "", "metadata": {}}
    return {**said, "created_at": "", "expires_at": None}  # type: ignore[typeddict-item]


class Run:
    """A researcher that asks a server, over a memory of a few pages."""

    def __init__(self, server: ModelServer, script: Answered = judge, *, saved: bool = True, **settings: Any) -> None:
        self.server, self.script = server, script
        stores = PageStores(in_memory=True)
        self.pages = stores.of("m").put([_page(text) for text in TEXTS]).added
        self._researcher = build_researcher(
            stores=stores,
            embeddings=HashEmbeddings(),
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            checkpointer=InMemorySaver() if saved else None,
        )
        self._config: Any = {"configurable": {"thread_id": "t"}} if saved else {}
        self._settings: Any = {
            **{"model": "local:test", "research_timeout": 60.0, "longest_wait": 2.0},
            **{"research_pages": 1, "research_rounds": 2, **settings},
        }

    def __call__(self, given: Any = None) -> dict[str, Any]:
        asked: Any = given or {"request": QUESTION, "memory": "m"}
        return self._researcher.invoke(asked, self._config, context=self._settings)

    @property
    def state(self) -> dict[str, Any]:
        return self._researcher.get_state(self._config).values if self._config else {}

    @property
    def kinds(self) -> Counter[str]:
        """How often each judgement was asked for."""
        return Counter(map(judge.kind_of, self.server.chats))

    def requests(self, kind: str) -> Counter[str]:
        """How many requests each question of a kind took."""
        asked = [request for request in self.server.chats if judge.kind_of(request) == kind]
        return Counter(str(request.messages[1]["content"]) for request in asked)


Make = Callable[..., Run]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    made: list[Run] = []
    with ModelServer(lambda request: made[0].script(request)) as server:
        monkeypatch.setenv(ADDRESS, server.url)

        def make(script: Answered = judge, **options: Any) -> Run:
            server.reset()
            made[:] = [Run(server, script, **options)]
            return made[0]

        yield make


@pytest.fixture(scope="module")
def sound() -> dict[str, Any]:
    """What a run without faults comes to."""
    with pytest.MonkeyPatch.context() as patch, ModelServer(judge) as server:
        patch.setenv(ADDRESS, server.url)
        whole = Run(server)
        output = whole()
    assert whole.kinds == {"gather": 2, "reflect": 1, "plan_searches": 1, "respond": 1}
    assert (output["status"], output["degraded"], output["usage"]["calls"]) == ("answered", [], 5)
    assert [source["quote"] for source in output["sources"]] == list(TEXTS[:2])
    return told(output)


def told(output: dict[str, Any]) -> dict[str, Any]:
    """What a run comes to, whatever it took."""
    return {key: value for key, value in output.items() if key not in ("usage", "degraded")}


def with_fault(make: Make, kinds: Sequence[str], name: str, *, every: bool, **options: Any) -> Run:
    """A run in which some judgements fail, the first time that they are asked for or each time."""
    case = CASES[name]
    left = set(kinds)

    def answer(request: ChatRequest) -> Reply | Fault:
        kind = judge.kind_of(request)
        if kind not in left:
            return judge(request)
        if not every:
            left.discard(kind)
        return case.fault(request)

    slow = {"research_timeout": faults.SHORT} if case.is_slow else {}
    script = refusing(answer, "json_schema") if case.mode == "function_calling" else answer
    return make(script, **slow, **options)


def assert_nothing_is_lost_or_made_up(
    ended: Run, output: dict[str, Any], kinds: Sequence[str], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What holds after every fault."""
    assert CANARY not in f"{output} {ended.state} {caplog.text}"
    assert "__interrupt__" not in output
    assert {source["quote"] for source in output["sources"]} <= set(TEXTS)
    assert {page for finding in output["findings"] for page in finding["pages"]} <= set(ended.pages)
    assert {text for finding in output["findings"] for text in [finding["text"]]} <= set(TEXTS)
    assert output["usage"]["calls"] == len(ended.server.chats), "what failed was paid for, too"
    on_the_way = CASES[name].mode == "function_calling"
    for kind in STAGES:
        asked = max(ended.requests(kind).values(), default=0) - (kind == "gather" and on_the_way)
        assert asked <= (2 if kind in kinds else 1), kind


def assert_they_failed(output: dict[str, Any], kinds: Sequence[str], name: str) -> None:
    """What a run says that had to do without some judgements."""
    noted = {note.partition(":")[0] for note in output["degraded"]}
    stages = {STAGES[kind] for kind in kinds}
    assert noted & stages
    assert noted <= stages | {"answer"}, "what is judged offline may leave less for the answer"
    own = [note for note in output["degraded"] if note.partition(":")[0] in stages]
    assert all(any(kind in note for kind in faults.TYPES) for note in own)
    assert any(CASES[name].names in note for note in own)
    assert output["status"] in ("answered", "partial")
    assert output["answer"]
    assert output["sources"]


@pytest.mark.parametrize("name", [name for name in CASES if not CASES[name].is_final])
def test_a_fault_on_the_first_call_of_each_judgement_changes_nothing(
    run: Make, sound: dict[str, Any], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    ended = with_fault(run, list(STAGES), name, every=False)
    output = ended()

    assert_nothing_is_lost_or_made_up(ended, output, list(STAGES), name, caplog)
    assert (output["degraded"], told(output)) == ([], sound)
    if name not in HARMLESS:
        assert all(max(ended.requests(kind).values()) >= 2 for kind in STAGES)


@pytest.mark.parametrize(("name", "kinds"), faults.crossed(LASTING, TOGETHER))
def test_a_fault_on_every_call_costs_those_judgements_and_nothing_else(
    run: Make, name: str, kinds: Sequence[str], caplog: pytest.LogCaptureFixture
) -> None:
    ended = with_fault(run, kinds, name, every=True)
    output = ended()

    assert_nothing_is_lost_or_made_up(ended, output, kinds, name, caplog)
    assert_they_failed(output, kinds, name)


@pytest.mark.parametrize("name", ["500", "prose"])
@pytest.mark.parametrize("kind", STAGES)
def test_a_judgement_that_fails_alone_costs_itself(
    run: Make, sound: dict[str, Any], kind: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    ended = with_fault(run, [kind], name, every=True)
    output = ended()

    assert_nothing_is_lost_or_made_up(ended, output, [kind], name, caplog)
    assert_they_failed(output, [kind], name)
    if kind == "respond":
        assert output["findings"] == sound["findings"]
    if kind == "plan_searches":
        assert output["sources"] == sound["sources"], "the requests as they stand found the same"


@pytest.mark.parametrize("name", HARMLESS)
def test_a_habit_that_can_be_read_costs_nothing(run: Make, sound: dict[str, Any], name: str) -> None:
    ended = with_fault(run, list(STAGES), name, every=True)
    output = ended()

    assert (output["degraded"], told(output), ended.kinds.total()) == ([], sound, 5)


@pytest.mark.parametrize(("name", "kind"), faults.crossed(FINAL, [*STAGES]))
def test_a_refusal_is_named_and_the_run_waits_and_pays_for_nothing_twice(
    run: Make, sound: dict[str, Any], name: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = with_fault(run, [kind], name, every=True)
    (pause,) = (interrupt.value for interrupt in waiting()["__interrupt__"])
    assert pause["reason"] == "refused"
    assert CASES[name].names in pause["message"]
    assert waiting.kinds[kind] == 1

    waiting.script = judge
    output = waiting(Command(resume="continue"))

    assert (output["degraded"], told(output)) == ([], sound)
    assert waiting.kinds.total() == 5 + 1, "the one that was refused is sent again, and no other"
    assert output["usage"]["calls"] == 5 + 1
    assert CANARY not in f"{output} {waiting.state} {pause} {caplog.text}"


@pytest.mark.parametrize("decision", ["finish", "stop"])
@pytest.mark.parametrize("kind", STAGES)
def test_a_run_that_was_refused_can_be_ended_without_the_model(run: Make, kind: str, decision: str) -> None:
    waiting = with_fault(run, [kind], "401", every=True)
    waiting()
    asked = waiting.kinds.total()

    output = waiting(Command(resume=decision))

    assert waiting.kinds.total() == asked
    assert output["status"] in (("answered", "partial") if decision == "finish" else ("stopped",))
    assert output["sources"]
    assert [note.partition(":")[0] for note in output["degraded"]] == ["refused"]


@pytest.mark.parametrize("name", FINAL)
def test_where_nobody_can_come_back_a_refusal_ends_the_run_as_failed_and_is_named(
    run: Make, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    ended = with_fault(run, list(STAGES), name, every=True, saved=False)
    output = ended()

    assert (output["status"], output["answer"]) == ("failed", "")
    assert all(CASES[name].names in note for note in output["degraded"])
    assert max(ended.kinds.values()) == 1
    assert output["usage"]["calls"] == ended.kinds.total()
    assert CANARY not in f"{output} {caplog.text}"


def test_a_server_that_is_not_there_is_named(run: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS, f"http://127.0.0.1:{closed_port()}/v1")
    output = run()()

    assert output["answer"], "the offline engine answers"
    assert all(ADDRESS in note for note in output["degraded"])


@pytest.mark.parametrize("kind", STAGES)
def test_numbers_that_name_nothing_are_dropped(run: Make, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    def answer(request: ChatRequest) -> Reply | Fault:
        return faults.edited(faults.wrongly_numbered)(request) if judge.kind_of(request) == kind else judge(request)

    ended = run(answer)
    output = ended()

    assert_nothing_is_lost_or_made_up(ended, output, [kind], "prose", caplog)
    assert output["status"] in ("answered", "partial"), "quotes are found by their words alone"
