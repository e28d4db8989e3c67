"""Every fault of a model server at every judgement, on its first call and on every call (reliability.md, section B)."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentic_memory_bank.engines.llm import models, retry
from agentic_memory_bank.testing import (
    ChatRequest,
    Fault,
    Reply,
    ToolCall,
    closed_port,
    cut,
    drip,
    fenced,
    hang,
    http_error,
    no_choices,
    no_finish_reason,
    raw_body,
    refusing,
    reset,
    thinking,
)

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

CANARY = "zebra-canary"
"""What a fault writes; it may come up nowhere."""
SHORT = 1.0
"""Seconds that a request may take where the fault is slowness; what is asked beside it has to be answered in them."""


def _neighbour(name: str) -> ModuleType:
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = sys.modules[name] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


scenario = _neighbour("scenario")

Answered = Callable[[ChatRequest], Reply | Fault]


@dataclass(frozen=True)
class Case:
    """One fault."""

    fault: Answered
    is_final: bool = False
    """The request is not sent again."""
    is_harmless: bool = False
    """The answer can be read all the same."""
    is_slow: bool = False
    names: str = ""
    """What a person is told to check."""
    mode: str = "json_schema"


def spoiling(fault: Fault) -> Answered:
    """The fault, at the answer that would have been right."""
    return lambda request: replace(fault, reply=scenario.judge(request))


def error(status: int, **options: Any) -> Answered:
    return lambda _: http_error(status, f"{CANARY} says no.", **options)


def words(text: str, **options: Any) -> Answered:
    return lambda _: Reply(text, **options)


def edited(change: Callable[[dict[str, Any]], Any]) -> Answered:
    """The right answer, with its data changed."""
    return lambda request: Reply(data=change(scenario.judge(request).data))


def cut_short(request: ChatRequest) -> Reply:
    """Half of the right answer, and word of it."""
    settled = scenario.judge(request).settled(request)
    return Reply(str(settled.content)[:-9] + CANARY, finish_reason="length")


def called(name: str | None, arguments: str | None = None) -> Answered:
    """A call of a tool: of the right one with broken arguments, or of one that there is not with the right ones."""

    def answer(request: ChatRequest) -> Reply:
        given = scenario.judge(request).data if arguments is None else arguments
        return Reply(tool_calls=[ToolCall(name or request.tool_to_call(), given)])

    return answer


def wrongly_numbered(value: Any) -> Any:
    """The same data with numbers that name nothing."""
    if isinstance(value, dict):
        return {key: wrongly_numbered(item) for key, item in value.items()}
    if isinstance(value, list):
        return [wrongly_numbered(item) for item in value]
    return value + 900 if isinstance(value, int) and not isinstance(value, bool) else value


KEY, ADDRESS, MODEL = "MEMORY_BANK_LOCAL_API_KEY", "MEMORY_BANK_LOCAL_BASE_URL", "MEMORY_BANK_MODEL"
PAGE = f"<html><title>{CANARY}</title><body>{{}} Please log in.</body></html>".encode()
CASES = {
    "400": Case(error(400), is_final=True, names=MODEL),
    "401": Case(error(401), is_final=True, names=KEY),
    "402": Case(error(402), is_final=True, names=KEY),
    "403": Case(error(403), is_final=True, names=KEY),
    "404": Case(error(404), is_final=True, names=ADDRESS),
    "quota": Case(error(429, code="insufficient_quota"), is_final=True, names=KEY),
    "408": Case(error(408)),
    "409": Case(error(409)),
    "429": Case(error(429)),
    "429 with Retry-After": Case(error(429, headers={"retry-after": "0.01"})),
    "500": Case(error(500)),
    "502 with a page": Case(lambda _: raw_body(PAGE, "text/html", 502)),
    "503": Case(error(503)),
    "200 with a page": Case(lambda _: raw_body(PAGE, "text/html", 200)),
    "200 with an error": Case(lambda _: raw_body(b'{"error": {"message": "%s", "code": 429}}' % CANARY.encode())),
    "no JSON": Case(lambda _: raw_body(b'{"choices": [')),
    "reset": Case(lambda _: reset()),
    "timeout": Case(lambda _: hang(60), is_slow=True, names="_TIMEOUT"),
    "drip": Case(spoiling(drip(0.05)), is_slow=True, names="_TIMEOUT"),
    "cut": Case(spoiling(cut())),
    "no finish reason": Case(spoiling(no_finish_reason())),
    "no choices": Case(spoiling(no_choices())),
    "null choices": Case(spoiling(no_choices(null=True))),
    "null content": Case(lambda _: Reply(None)),
    "empty": Case(words("")),
    "length": Case(cut_short, names="_OUTPUT"),
    "length by tool": Case(
        lambda request: replace(called(None)(request), finish_reason="length"), mode="function_calling"
    ),
    "content filter": Case(words(f"{CANARY}, and so", finish_reason="content_filter")),
    "refusal": Case(lambda _: Reply(refusal=f"{CANARY}: I will not.")),
    "bad JSON": Case(words(f'{{"topics": [{CANARY}}}, "memories": [1, 2')),
    "prose": Case(words(f"Certainly! {CANARY}.")),
    "wrong schema": Case(words(f'{{"{CANARY}": "{CANARY}"}}')),
    "unknown tool": Case(called(CANARY), mode="function_calling"),
    "bad arguments": Case(called(None, f'{{"topics": "{CANARY}'), mode="function_calling"),
    "fenced": Case(lambda request: fenced(scenario.judge)(request), is_harmless=True),
    "thinking": Case(lambda request: thinking(scenario.judge)(request), is_harmless=True),
    "extra keys": Case(edited(lambda data: {**data, CANARY: CANARY}), is_harmless=True),
}


STAGES = {
    "find_conflicts": "analyze_conflict",
    "find_related": "analyze_related",
    "validate": "execute",
    "answer": "execute",
}
TOGETHER = (("classify", "structure", "find_related", "validate", "plan"), ("integrate", "answer"), ("find_conflicts",))
"""Judgements that are asked for though the others of their group fail."""
TYPES = ("ModelUnavailable", "ModelRefused", "AnswerRejected")


def crossed(names: Sequence[str], others: Sequence[Any]) -> list[Any]:
    """Each of the names with each of the others; all but one of the others for each name are left to `make attack`."""
    return [
        pytest.param(name, other, marks=() if at % len(others) == place else pytest.mark.attack)
        for at, name in enumerate(names)
        for place, other in enumerate(others)
    ]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)
    monkeypatch.setattr(models, "_KNOWN_MODES", {})
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with scenario.model(lambda url: monkeypatch.setenv(ADDRESS, url)) as model:
        yield model


@pytest.fixture(scope="module")
def sound() -> str:
    """The memory of a run without faults."""
    with pytest.MonkeyPatch.context() as patch, scenario.model(lambda url: patch.setenv(ADDRESS, url)) as model:
        ended = model.ask()
    assert set(ended.kinds) == set(scenario.KINDS)
    assert (ended.output["status"], ended.output["degraded"]) == ("completed", [])
    return ended.digest


def asked(model: Any, kinds: Sequence[str], case: Case, *, every: bool) -> Any:
    """The scenario with a fault; the requests for other judgements go well."""
    slow = {f"{role}_timeout": SHORT for role in scenario.ROLES} if case.is_slow else {}
    script = scenario.faulty(kinds, case.fault, every=every)
    return model.ask(refusing(script, "json_schema") if case.mode == "function_calling" else script, **slow)


def assert_it_was_survived(ended: Any, kinds: Sequence[str], case: Case, caplog: pytest.LogCaptureFixture) -> None:
    """What holds after every fault."""
    scenario.assert_memory_is_sound(ended.state)
    assert CANARY not in ended.text
    assert CANARY not in caplog.text
    assert "__interrupt__" not in ended.output
    most = 1 if case.is_harmless else 2
    on_the_way = sum(r.mode == "json_schema" for r in ended.asked) if case.mode == "function_calling" else 0
    assert on_the_way <= 1, "a refused form is asked for once"
    for kind in scenario.KINDS:
        requests = max(ended.requests(kind).values(), default=0) - (kind == "classify" and on_the_way)
        assert requests <= (most if kind in kinds else 1), kind


def assert_they_failed(ended: Any, kinds: Sequence[str], case: Case) -> None:
    """What a run says that had to do without some judgements."""
    said: list[str] = ended.output["degraded"]
    stages = {STAGES.get(kind, kind) for kind in kinds}
    assert {note.partition(":")[0] for note in said} == stages
    assert all(case.names in note for note in said)
    assert all(any(kind in note for kind in TYPES) for note in said), "what a client raises goes no further"
    assert ended.output["status"] == "completed", "the offline engine judges in the model's place"
    assert ended.output["answer"]


@pytest.mark.parametrize("name", [name for name in CASES if not CASES[name].is_final])
def test_a_fault_on_the_first_call_of_each_judgement_leaves_the_memory_as_without_it(
    model: Any, sound: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    ended = asked(model, scenario.KINDS, CASES[name], every=False)

    assert_it_was_survived(ended, scenario.KINDS, CASES[name], caplog)
    if not CASES[name].is_harmless:
        assert all(max(ended.requests(kind).values()) >= 2 for kind in scenario.KINDS)
    assert (ended.output["degraded"], ended.output["status"]) == ([], "completed")
    assert ended.digest == sound


@pytest.mark.parametrize(("kind", "name"), crossed(scenario.KINDS, [name for name in CASES if CASES[name].is_final]))
def test_what_has_to_be_mended_first_is_asked_once_and_named_and_the_run_waits_for_it(
    model: Any, sound: str, name: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = asked(model, [kind], CASES[name], every=True)

    (pause,) = (interrupt.value for interrupt in waiting.output["__interrupt__"])
    assert pause["reason"] == "refused"
    assert CASES[name].names in pause["message"]
    assert waiting.kinds[kind] == max(waiting.requests(kind).values()) == 1

    ended = model.go_on("continue")

    assert (ended.output["status"], ended.output["degraded"], ended.digest) == ("completed", [], sound)
    assert all(count == 1 for other in scenario.KINDS for count in ended.requests(other).values()), "asked again"
    assert CANARY not in waiting.text + ended.text + caplog.text


@pytest.mark.parametrize("kind", scenario.KINDS)
def test_a_run_that_was_refused_can_be_finished_without_the_model(model: Any, kind: str) -> None:
    asked(model, [kind], CASES["401"], every=True)

    ended = model.go_on("finish")

    scenario.assert_memory_is_sound(ended.state)
    assert ended.output["status"] == "completed"
    assert ended.output["answer"]
    assert [note.partition(":")[0] for note in ended.output["degraded"]] == ["refused"]
    assert len(ended.asked) == 0, "what nobody mended is not asked again"


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].is_final])
def test_where_nobody_can_come_back_a_refusal_ends_the_run_as_failed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scenario.model(lambda url: monkeypatch.setenv(ADDRESS, url), checkpointer=None) as model:
        ended = asked(model, scenario.KINDS, CASES[name], every=True)

    assert ended.output["status"] == "failed"
    assert all(CASES[name].names in note for note in ended.output["degraded"])
    assert max(ended.kinds.values()) == 1
    assert CANARY not in ended.text


@pytest.mark.parametrize(
    ("name", "kinds"),
    crossed([name for name in CASES if not (CASES[name].is_harmless or CASES[name].is_final)], TOGETHER),
)
def test_a_fault_on_every_call_costs_those_judgements_and_nothing_else(
    model: Any, name: str, kinds: Sequence[str], caplog: pytest.LogCaptureFixture
) -> None:
    ended = asked(model, kinds, CASES[name], every=True)

    assert_it_was_survived(ended, kinds, CASES[name], caplog)
    assert_they_failed(ended, kinds, CASES[name])


@pytest.mark.parametrize("name", ["500", "prose"])
@pytest.mark.parametrize("kind", scenario.KINDS)
def test_a_judgement_that_fails_alone_costs_itself(
    model: Any, kind: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    ended = asked(model, [kind], CASES[name], every=True)

    assert_it_was_survived(ended, [kind], CASES[name], caplog)
    assert_they_failed(ended, [kind], CASES[name])


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].is_harmless])
def test_a_habit_that_can_be_read_costs_nothing(
    model: Any, sound: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    ended = asked(model, scenario.KINDS, CASES[name], every=True)

    assert_it_was_survived(ended, scenario.KINDS, CASES[name], caplog)
    assert (ended.output["degraded"], ended.digest) == ([], sound)


def test_every_judgement_failing_on_every_call_keeps_the_raw_text_and_answers_as_without_a_model(model: Any) -> None:
    ended = asked(model, scenario.KINDS, CASES["500"], every=True)

    scenario.assert_memory_is_sound(ended.state)
    assert (ended.output["status"], bool(ended.output["answer"])) == ("completed", True)
    assert ended.output["degraded"]


def test_a_server_that_is_not_there_leaves_the_raw_text_and_the_address_to_check(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ADDRESS, f"http://127.0.0.1:{closed_port()}/v1")

    ended = model.ask()

    scenario.assert_memory_is_sound(ended.state)
    assert (ended.output["status"], bool(ended.output["answer"])) == ("completed", True)
    assert all(ADDRESS in said for said in ended.output["degraded"])


@pytest.mark.parametrize("kind", scenario.KINDS)
def test_numbers_that_name_nothing_are_dropped(model: Any, kind: str) -> None:
    ended = model.ask(scenario.faulty([kind], edited(wrongly_numbered), every=True))

    scenario.assert_memory_is_sound(ended.state)
    assert ended.output["status"] in ("completed", "completed_with_failures")
    assert max(ended.requests(kind).values()) <= 2
    if kind == "find_related":
        assert not any(ended.state["query_graph"].get("related", {}).values())
    if kind == "find_conflicts":
        assert {c["kind"] for c in ended.output["conflicts"]} <= {"number", "date", "name", "antonym", "negation"}


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_a_server_that_names_a_time_is_left_alone_for_so_long(model: Any, form: str) -> None:
    times: list[float] = []

    def crowded(request: ChatRequest) -> Reply | Fault:
        times.append(time.monotonic())
        named = "1" if form == "seconds" else format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
        return error(429, headers={"retry-after": named})(request)

    ended = model.ask(scenario.faulty(["classify"], crowded, every=True), longest_wait=5)

    assert ended.output["degraded"][0].startswith("classify: ModelUnavailable")
    waited = times[1] - times[0]
    assert len(times) == 2
    assert waited >= (1.0 if form == "seconds" else 0.5)


def test_a_server_that_asks_for_more_patience_than_allowed_has_failed(model: Any) -> None:
    case = Case(error(503, headers={"retry-after": "600"}))

    begun = time.monotonic()
    ended = asked(model, ["classify"], case, every=True)

    assert ended.requests("classify").total() == 1
    assert "600 s" in ended.output["degraded"][0]
    assert time.monotonic() - begun < 120


@pytest.mark.parametrize("fault", ["timeout", "drip"])
def test_a_request_takes_no_longer_than_it_may(model: Any, fault: str) -> None:
    slow = {"timeout": lambda _: hang(120), "drip": spoiling(drip(1.0))}[fault]
    begun = time.monotonic()

    ended = model.ask(scenario.faulty(["plan"], slow, every=True), plan_timeout=0.5, retries=0)

    assert [note.partition(":")[0] for note in ended.output["degraded"]] == ["plan"]
    assert time.monotonic() - begun < 60, "the answer takes two minutes"


@pytest.mark.parametrize("retries", [0, 3])
def test_a_failed_request_is_sent_again_as_often_as_is_set(model: Any, retries: int) -> None:
    ended = model.ask(scenario.faulty(["structure"], CASES["500"].fault, every=True), retries=retries)

    assert ended.requests("structure").total() == 1 + retries


def test_a_truncated_answer_is_counted_as_what_it_cost(model: Any) -> None:
    whole = model.ask().output["usage"]["roles"]["classify"]
    cut_once = asked(model, ["classify"], CASES["length"], every=False).output["usage"]["roles"]["classify"]

    assert cut_once["calls"] == 2
    assert cut_once["input_tokens"] > 2 * whole["input_tokens"], "the second request shows what was cut off"
    assert cut_once["output_tokens"] > whole["output_tokens"]
