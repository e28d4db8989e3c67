"""`langgraph dev` behind a proxy, as langgraph.json stands: what one conversation is told, another one knows."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

GRAPHS = {
    "recall": ({"messages", "types", "limit", "threshold"}, {"memories", "block", "receipt"}),
    "remember": ({"messages", "conversation_id", "end"}, {"stored", "updated", "superseded", "receipt"}),
    "conversation": ({"messages", "conversation_id"}, {"messages", "conversation_id"}),
}
SECONDS = 120


class Served(NamedTuple):
    """A running server behind a proxy."""

    url: str
    home: Path
    log: Path

    def as_user(self, user: str) -> SyncLangGraphClient:
        return get_sync_client(url=self.url, headers={"x-authz-user-id": user})

    def request(self, user: str, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"x-authz-user-id": user, **more.pop("headers", {})}
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
def served(proxied: Any) -> Served:
    """The server of langgraph.json as it stands, behind a proxy."""
    return Served(proxied.url, proxied.home, proxied.log)


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

    refused = served.request(
        "mallory", "POST", "/runs/wait", json={"assistant_id": graph, "input": said, "context": {"user": "ann"}}
    )

    assert (refused.status_code, "not the one who is authenticated" in refused.text) == (422, True)
    answer = served.request("mallory", "GET", "/v1/memory", params={"user_id": "ann"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_USER_ID")
    assert not any("Lie" in text for text in served.contents("ann"))


def test_who_is_authenticated_may_name_himself(served: Served) -> None:
    said = {"messages": [{"role": "user", "content": "My parrot speaks Latin."}], "end": True}

    assert served.run("hal", "remember", said, context={"user": "hal"})["receipt"]["outcome"] == "remembered"
    assert served.contents("hal")


@pytest.mark.parametrize("path", ["/v1/memory", "/v1/memory/m1", "/v1/memory?user_id=ann"])
def test_nobody_gets_in_without_a_name(served: Served, path: str) -> None:
    answer = httpx.get(f"{served.url}{path}", headers={"Authorization": "Bearer ann"})

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


def test_nothing_the_server_says_is_of_a_blocking_call_or_of_what_was_said(served: Served) -> None:
    served.says("ann", "The secret of the tower is Rumpelstiltskin.")

    said = served.log.read_text()
    assert "Blocking" not in said
    assert "Rumpelstiltskin" not in said
