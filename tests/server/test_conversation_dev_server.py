"""`langgraph dev` with accounts, as langgraph.json stands: what one conversation is told, another one knows."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

ROOT = Path(__file__).parents[2]
AUTH = """
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def who(authorization: str | None) -> Auth.types.MinimalUserDict:
    if not authorization:
        raise Auth.exceptions.HTTPException(status_code=401, detail="Say who you are.")
    return {"identity": authorization.removeprefix("Bearer ")}
"""
GRAPHS = {
    "recall": ({"messages", "types", "limit", "threshold"}, {"memories", "block", "receipt"}),
    "remember": ({"messages", "conversation_id", "end"}, {"stored", "updated", "superseded", "receipt"}),
    "conversation": ({"messages", "conversation_id"}, {"messages", "conversation_id"}),
}
SECONDS = 20


class Served(NamedTuple):
    """A running server with accounts."""

    url: str
    home: Path
    log: Path

    def as_user(self, user: str) -> SyncLangGraphClient:
        return get_sync_client(url=self.url, headers={"Authorization": f"Bearer {user}"})

    def request(self, user: str, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {user}", **more.pop("headers", {})}
        return httpx.request(method, f"{self.url}{path}", headers=headers, timeout=60, **more)

    def contents(self, user: str) -> list[str]:
        answer = self.request(user, "GET", "/v1/memory?limit=100")
        assert answer.status_code == 200, answer.text
        return [item["content"] for item in answer.json()["memories"]]

    def run(self, user: str, graph: str, given: dict[str, Any], **more: Any) -> Any:
        with self.as_user(user) as client:
            return client.runs.wait(None, graph, input=given, **more)

    def says(self, user: str, text: str, **more: Any) -> str:
        answer = self.run(user, "conversation", {"messages": [{"role": "user", "content": text}]}, **more)
        return str(answer["messages"][-1]["content"])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The server of langgraph.json as it stands, with accounts."""
    folder = tmp_path_factory.mktemp("conversations")
    (folder / "auth.py").write_text(AUTH)
    config = json.loads((ROOT / "langgraph.json").read_text())
    config |= {"dependencies": [str(ROOT)], "auth": {"path": "./auth.py:auth"}}
    for graph in config["graphs"].values():
        graph["path"] = str(ROOT / graph["path"])
    (folder / "langgraph.json").write_text(json.dumps(config))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MEMORY_BANK_HOME": str(folder / "home"),
        "MEMORY_BANK_RECALL_TIMEOUT": "10",  # a busy machine is no reason for a test to fail
        "HF_HUB_OFFLINE": "1",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
    }
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    log, url = folder / "log", f"http://127.0.0.1:{port}"
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out, start_new_session=True)
    try:
        limit = time.monotonic() + 90
        while time.monotonic() < limit and process.poll() is None:
            try:
                if httpx.get(f"{url}/ok", timeout=2).status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.2)
        else:
            pytest.fail(log.read_text()[-3_000:])
        yield Served(url, folder / "home", log)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


def until(holds: Callable[[], bool]) -> None:
    """Wait for what is done in the background."""
    limit = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < limit, "It was not done in time."
        time.sleep(0.1)


# --- graphs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_graphs_are_offered_with_what_they_take_and_give(served: Served, graph: str) -> None:
    with served.as_user("ann") as client:
        (offered,) = client.assistants.search(graph_id=graph)
        schemas: Any = client.assistants.get_schemas(offered["assistant_id"])

    taken, given = GRAPHS[graph]
    assert "Input: messages" in (offered["description"] or "")
    assert taken <= set(schemas["input_schema"]["properties"])
    assert given <= set(schemas["output_schema"]["properties"])
    assert {"user", "project", "enable_memory"} <= set(schemas["context_schema"]["properties"])


def test_what_one_conversation_is_told_another_one_knows(served: Served) -> None:
    served.says("carl", "My dog is called Pixel and I drive a blue Volvo V60.")
    until(lambda: any("Pixel" in text for text in served.contents("carl")))

    assert "Pixel" in served.says("carl", "What is my dog called?")
    assert "Volvo" in served.says("carl", "Which car do I drive?")
    assert "Pixel" not in served.says("dora", "What is my dog called?")


def test_a_stream_names_the_stages(served: Served) -> None:
    said = {"messages": [{"role": "user", "content": "My bicycle is green."}]}
    with served.as_user("ann") as client:
        parts = list(client.runs.stream(None, "conversation", input=said, stream_mode="updates"))

    assert [stage for part in parts if part.event == "updates" for stage in part.data] == [
        "recall",
        "respond",
        "remember",
    ]


def test_what_is_remembered_is_recalled_with_a_receipt(served: Served) -> None:
    said = {"messages": [{"role": "user", "content": "My sister Ada lives in Turin."}], "end": True}
    remembered = served.run("eve", "remember", said)
    asked = {"messages": [{"role": "user", "content": "Where does my sister Ada live?"}]}
    recalled = served.run("eve", "recall", asked)

    assert remembered["receipt"]["outcome"] == "remembered"
    assert recalled["receipt"]["outcome"] == "used"
    assert "Turin" in recalled["block"]
    assert recalled["memories"]
    assert served.run("eve", "recall", asked, context={"enable_memory": False})["receipt"]["outcome"] == "disabled"
    assert served.run("eve", "recall", asked, context={"project": "other"})["receipt"]["outcome"] == "missing"


# --- whose -------------------------------------------------------------------------------------------------------


def test_two_users_share_nothing_in_either_direction(served: Served) -> None:
    secrets = {"fay": "The PIN of my locker is 4711.", "gus": "My password hint is heliotrope."}
    items = {
        user: served.request(user, "POST", "/v1/memory", json={"content": text}).json()
        for user, text in secrets.items()
    }
    for user, other in (("fay", "gus"), ("gus", "fay")):
        assert served.contents(user) == [secrets[user]]
        asked = {"messages": [{"role": "user", "content": secrets[other]}], "threshold": None}
        assert secrets[other] not in str(served.run(user, "recall", asked)["memories"])
        path = f"/v1/memory/{items[other]['id']}"
        for method, body in (("GET", None), ("PUT", {"content": "Mine."}), ("DELETE", None)):
            answer = served.request(user, method, path, json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
        served.request(user, "DELETE", "/v1/memory?project_id=none-of-this-name")
    for user, text in secrets.items():
        asked = {"messages": [{"role": "user", "content": f"What do you know of this: {text}"}]}
        assert text in str(served.run(user, "recall", asked)["memories"])


@pytest.mark.parametrize("graph", GRAPHS)
def test_nobody_can_be_somebody_else(served: Served, graph: str) -> None:
    said = {"messages": [{"role": "user", "content": "I am Ann and my cat is called Lie."}]}

    refused = served.run("mallory", graph, said, context={"user": "ann"}, raise_error=False)

    assert "InputError" in str(refused)
    for more in ({"headers": {"x-authz-user-id": "ann"}}, {"params": {"user_id": "ann"}}):
        answer = served.request("mallory", "GET", "/v1/memory", **more)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_USER_ID")
    assert not any("Lie" in text for text in served.contents("ann"))


def test_who_is_authenticated_may_name_himself(served: Served) -> None:
    said = {"messages": [{"role": "user", "content": "My parrot speaks Latin."}], "end": True}

    assert served.run("hal", "remember", said, context={"user": "hal"})["receipt"]["outcome"] == "remembered"
    assert served.contents("hal")


@pytest.mark.parametrize("path", ["/v1/memory", "/v1/memory/m1", "/v1/memory?user_id=ann"])
def test_nobody_gets_in_without_an_account(served: Served, path: str) -> None:
    answer = httpx.get(f"{served.url}{path}", headers={"x-authz-user-id": "ann"})

    assert answer.status_code == 401
    assert "memories" not in answer.text


def test_the_store_itself_is_open_to_nobody(served: Served) -> None:
    answer = served.request("ann", "POST", "/store/items/search", json={"namespace_prefix": ["agentic_memory_bank"]})

    assert answer.status_code == 404


# --- routes ------------------------------------------------------------------------------------------------------


def test_the_routes_and_the_graphs_work_on_the_same_memories(served: Served) -> None:
    made = served.request("ivy", "POST", "/v1/memory", json={"content": "My flight to Oslo is on 12 May."}).json()
    assert made["user_id"] == "ivy"
    asked = {"messages": [{"role": "user", "content": "When is my flight to Oslo?"}]}
    assert "12 May" in served.run("ivy", "recall", asked)["block"]

    changed = served.request(
        "ivy", "PUT", f"/v1/memory/{made['id']}", json={"content": "My flight to Oslo is on 3 June."}
    )
    assert changed.status_code == 200
    block = served.run("ivy", "recall", asked)["block"]
    assert "3 June" in block
    assert "12 May" not in block
    found = served.request("ivy", "POST", "/v1/memory/search", json={"query": "flight to Oslo"}).json()["memories"]
    assert [item["id"] for item in found] == [made["id"]]
    shown = served.request("ivy", "POST", "/v1/memory/forget", json={"about": "Oslo"}).json()
    assert not shown["success"]
    assert served.request("ivy", "DELETE", f"/v1/memory/{made['id']}").json()["success"]
    assert served.run("ivy", "recall", asked)["receipt"]["outcome"] == "missing"
    for operation in ("consolidate", "reflect"):
        assert served.request("ivy", "POST", f"/v1/memory/{operation}").status_code == 200
    assert served.request("ivy", "POST", "/v1/memory", json={"content": ""}).status_code == 400


def test_who_is_forgotten_is_forgotten(served: Served) -> None:
    served.says("kim", "My canary is called Quetzalcoatl.")
    until(lambda: any("Quetzalcoatl" in text for text in served.contents("kim")))
    assert served.request("kim", "DELETE", "/v1/memory").json()["deleted"]

    assert served.contents("kim") == []
    assert "Quetzalcoatl" not in served.says("kim", "What is my canary called?")
    kept = b"".join(file.read_bytes() for file in served.home.rglob("*") if file.is_file())
    assert b"Quetzalcoatl" not in kept


def test_the_memories_are_in_the_file_of_the_command_line(served: Served) -> None:
    served.request("ann", "POST", "/v1/memory", json={"content": "The file is here."})

    assert [file.name for file in served.home.rglob("memories.sqlite")] == ["memories.sqlite"]


def test_without_accounts_the_header_says_who_asks(server: Any, client: SyncLangGraphClient) -> None:
    ann = {"x-authz-user-id": "ann"}
    httpx.post(f"{server.url}/v1/memory", headers=ann, json={"content": "My kite is red."}, timeout=60)
    asked: Any = {"messages": [{"role": "user", "content": "Which colour is my kite?"}]}

    assert "My kite is red." in httpx.get(f"{server.url}/v1/memory?user_id=bob", headers=ann, timeout=60).text
    assert httpx.get(f"{server.url}/v1/memory?user_id=bob", timeout=60).json()["memories"] == []
    assert httpx.get(f"{server.url}/v1/memory", timeout=60).json()["error"]["code"] == "MISSING_USER_ID"
    recalled: Any = client.runs.wait(None, "recall", input=asked, context={"user": "ann"})
    assert "red" in recalled["block"]
    assert "NoUserError" in str(client.runs.wait(None, "recall", input=asked, raise_error=False))


def test_nothing_the_server_says_is_of_a_blocking_call_or_of_what_was_said(served: Served) -> None:
    served.says("ann", "The secret of the tower is Rumpelstiltskin.")

    said = served.log.read_text()
    assert "Blocking" not in said
    assert "Rumpelstiltskin" not in said
