"""A server at home is asked for what it bears, waited for in a queue of ours, and told of in `doctor`."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agentic_memory_bank.engines import local_server
from agentic_memory_bank.engines.local_server import ServerReport, learn_limits, report_of
from agentic_memory_bank.engines.openai_client import chat_model
from agentic_memory_bank.state import model_table
from agentic_memory_bank.state.model_table import ServerLimits
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ModelServer, Reply
from agentic_memory_bank.testing.model_http import ScriptedModel
from agentic_memory_bank.testing.replies import Response, json_response

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]
NAME = "local:scripted"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(local_server, "_ASKED", {})
    monkeypatch.setattr(local_server, "_FIRST", {})
    monkeypatch.setattr(model_table, "_LIMITS", {})
    with ModelServer(Reply("Yes."), latency=0.2) as server:
        monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", server.url)
        yield server


def test_who_closes_the_client_of_one_role_leaves_the_others_theirs(server: ModelServer) -> None:
    one, other = (chat_model(Settings(model=NAME).role(role)) for role in ("classify", "structure"))

    one.root_client.close()

    assert [client.invoke("Is it so?").text for client in (one, other)] == ["Yes.", "Yes."]


def says(monkeypatch: pytest.MonkeyPatch, pages: dict[str, Any]) -> None:
    """Have the server say so under some paths."""
    looked = ScriptedModel.look_up

    def look_up(self: ScriptedModel, path: str) -> Response:
        return json_response(pages[path]) if path in pages else looked(self, path)

    monkeypatch.setattr(ScriptedModel, "look_up", look_up)


@pytest.mark.parametrize(
    ("entry", "more", "limits"),
    [
        ({"owned_by": "llamacpp", "meta": {"n_ctx": 8192}}, {"/props": {"total_slots": 2}}, ServerLimits(8192, 2)),
        ({"owned_by": "vllm", "max_model_len": 4096}, {}, ServerLimits(4096)),
        (
            {"owned_by": "library"},
            {"/api/ps": {"models": [{"name": "scripted", "context_length": 4096}]}},
            ServerLimits(4096),
        ),
        ({"owned_by": "x", "meta": None, "max_model_len": "many"}, {}, ServerLimits()),
    ],
    ids=["llama.cpp", "vLLM", "Ollama", "no number"],
)
def test_window_and_requests_at_once_are_what_the_server_says(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, entry: Any, more: Any, limits: ServerLimits
) -> None:
    says(monkeypatch, {"/v1/models": {"data": [{"id": "scripted", **entry}]}, **more})

    learn_limits(NAME)

    row = Settings(model=NAME).role("classify")
    assert report_of(NAME).limits == limits
    assert (row.window, row.concurrency) == (limits.context or 32_000, limits.slots or 1)
    assert Settings(model=NAME, window=2_000, max_concurrency=4).role("classify").concurrency == 4


@pytest.mark.parametrize("said", [[], "x", {"data": {}}, {"data": [1, {"id": None}]}, None])
def test_a_server_that_says_anything_else_is_asked_as_before(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, said: Any
) -> None:
    says(monkeypatch, {"/v1/models": said})

    learn_limits(NAME)

    assert Settings(model=NAME).role("classify").window == 32_000


def test_a_server_that_does_not_answer_is_asked_by_one_of_all_and_waited_for_once(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    may_answer, is_asked = threading.Event(), threading.Event()

    def slow(model: str) -> ServerReport:
        asked.append(model)
        is_asked.set()
        assert may_answer.wait(60)
        return ServerReport(answers=False, models=(), limits=ServerLimits())

    monkeypatch.setattr(local_server, "report_of", slow)
    waiting = [threading.Thread(target=learn_limits, args=(NAME,)) for _ in range(4)]
    for one in waiting:
        one.start()
    assert is_asked.wait(60)
    assert not local_server._LOCK.locked()
    may_answer.set()
    for one in waiting:
        one.join()
    assert asked == [NAME]

    may_answer.clear()
    for key in local_server._ASKED:  # a minute later
        local_server._ASKED[key] = 0.0
    learn_limits(NAME)
    learn_limits(NAME)
    may_answer.set()
    for thread in [one for one in threading.enumerate() if one.name == "memories-limits"]:
        thread.join()
    assert asked == [NAME, NAME]


def test_a_request_waits_for_its_turn_without_losing_time_of_its_own(server: ModelServer) -> None:
    client = chat_model(Settings(model=NAME, timeout=60).role("classify"))
    answers: list[str] = []
    asking = [threading.Thread(target=lambda: answers.append(client.invoke("Is it?").text)) for _ in range(3)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()

    assert (answers, server.most_at_once) == (["Yes."] * 3, 1)


def test_a_streamed_answer_that_nobody_reads_on_gives_its_place_back(server: ModelServer) -> None:
    client = chat_model(Settings(model=NAME, timeout=60).role("plan"))

    for _ in range(3):
        pieces = client.stream("Is it?")
        next(pieces)
        pieces.close()  # type: ignore[attr-defined]

    assert client.invoke("Is it?").text == "Yes."


def test_one_number_for_all_roles_and_one_for_each() -> None:
    table = Settings(window=8_000, output=300, timeout=600, plan_timeout=30, plan_window=4_000)

    assert [(row.window, row.output, row.timeout) for row in map(table.role, ("classify", "plan", "rewrite"))] == [
        (8_000, 300, 600.0),
        (4_000, 300, 30.0),
        (8_000, 100, 5.0),
    ]
