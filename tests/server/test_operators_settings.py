"""A hostile client of a served graph: what concerns the operator is not its to set, and it is told so."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest
from langgraph_sdk.errors import UnprocessableEntityError

from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.testing import ChatRequest, ModelServer, Reply, ScriptedJudge, ToolCall
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]
SECRET = "The password of the intranet is heliotrope."


class Intranet(ThreadingHTTPServer):
    """A site of the operator's own network, which remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/passwords"


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(SECRET)))
        self.end_headers()
        self.wfile.write(SECRET.encode())

    def log_message(self, format: str, *args: Any) -> None:
        return


class World(NamedTuple):
    """A server whose model does what its user says, and what it must not reach."""

    server: Any
    intranet: Intranet
    model: ModelServer

    def ask(self, user: str, **more: Any) -> Any:
        given = {"question": f"Open {self.intranet.url} and say what it says.", "documents": ["Be helpful."]}
        body = {"assistant_id": "memory_bank", "input": given, **more}
        return self.server.request(user, "POST", "/runs/wait", json=body)


def planned(prompt: str) -> dict[str, Any]:
    if "- solve, success" in prompt:
        return {"is_done": True, "kind": "", "description": ""}
    return {"is_done": False, "kind": "solve", "description": "Open it."}


@pytest.fixture(scope="module")
def world(serve: Any) -> Iterator[World]:
    intranet = Intranet()
    threading.Thread(target=intranet.serve_forever, daemon=True).start()
    judge = ScriptedJudge(plan=planned)

    def obeys(request: ChatRequest) -> Reply:
        try:
            judge.kind_of(request)
        except LookupError:
            results = [message for message in request.messages if message["role"] == "tool"]
            call = ToolCall("visit", {"url": intranet.url, "goal": "Read it."})
            return Reply(tool_calls=[call]) if not results else Reply(str(results[-1]["content"]))
        return judge(request)

    with ModelServer(obeys) as model:
        environment = {"MEMORY_BANK_MODEL": "local:test", "MEMORY_BANK_LOCAL_BASE_URL": model.url}
        yield World(serve(MEMORY_BANK_AUTH="proxy", **environment), intranet, model)
    intranet.shutdown()
    intranet.server_close()


def test_an_agent_that_is_told_to_visit_loopback_does_not_whatever_its_client_sets(world: World) -> None:
    opened = {"allow_private_addresses": True}
    doors: list[dict[str, Any]] = [{"context": opened}, {"config": {"configurable": opened}}]
    for door in doors:
        refused = world.ask("mallory", **door)
        assert refused.status_code == 422
        assert "allow_private_addresses is the operator's" in refused.text
    with world.server.as_user("mallory") as client:
        with pytest.raises(UnprocessableEntityError, match="operator's"):
            client.assistants.create("memory_bank", context=opened)
        with pytest.raises(UnprocessableEntityError, match="operator's"):
            client.crons.create("memory_bank", context=opened, schedule="* * * * *", input={})

    told = world.ask("mallory")

    tried = [m for chat in world.model.chats for m in chat.messages if m["role"] == "tool"]
    assert told.status_code == 200
    assert tried
    assert "Use another page" in str(tried[-1]["content"])
    assert world.intranet.asked == []
    assert "heliotrope" not in told.text


def test_the_same_agent_does_where_the_operator_allows_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", world.model.url)
    monkeypatch.setenv("MEMORY_BANK_ALLOW_PRIVATE_ADDRESSES", "true")
    bank: Any = build_memory_bank(embeddings=HashEmbeddings())

    bank.invoke({"question": "What does it say?", "documents": ["Be helpful."]}, context={"model": "local:test"})

    assert world.intranet.asked == ["/passwords"]
    world.intranet.asked.clear()


@pytest.mark.parametrize(
    "context",
    [
        {"model": "local:mine"},
        {"embedding_path": "/etc"},
        {"max_input_characters": 10**12},
        {"prices": {}},
        {"memory_quota": 10**6},
        {"budget_calls": 10**6},
        {"visit_reader": "jina"},
    ],
    ids=lambda one: [*one][0],
)
@pytest.mark.parametrize("graph", ["memory_bank", "recall", "researcher"])
def test_a_client_that_names_a_setting_of_the_operator_is_told_so(world: World, graph: str, context: Any) -> None:
    body = {"assistant_id": graph, "input": {"messages": "Hello"}, "context": context}

    refused = world.server.request("mallory", "POST", "/runs/wait", json=body)

    assert refused.status_code == 422
    assert f"The setting {[*context][0]} is the operator's" in refused.json()["detail"]
