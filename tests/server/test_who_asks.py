"""Who can do what on a server of langgraph.json as it stands: with nothing set up, behind a proxy, and with tokens."""

import json
import re
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import NotFoundError, PermissionDeniedError

from agentic_memory_bank.runs.server import new_token

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

GRAPHS = ("memory_bank", "memorizer", "researcher", "recall", "remember", "conversation", "react_mem")
STUDIO = {"Origin": "https://smith.langchain.com", "x-auth-scheme": "langsmith"}


def text(said: str) -> dict[str, Any]:
    return {"kind": "text", "text": said}


def told(answer: dict[str, Any]) -> str:
    """What an agent said over A2A."""
    return " ".join(part["text"] for artifact in answer["result"]["artifacts"] for part in artifact["parts"])


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit, "It was not done in time."
        time.sleep(0.2)


# --- local: nothing is set up ------------------------------------------------------------------------------------


def test_with_nothing_set_up_there_is_one_user_and_every_door_is_open_to_them(server: Any) -> None:
    made = httpx.post(f"{server.url}/v1/memory", json={"content": "My kite is red."}, timeout=60)
    asked = {"assistant_id": "recall", "input": {"messages": "Which colour is my kite?"}}

    assert (made.status_code, made.json()["user_id"]) == (201, "me")
    assert "red" in httpx.post(f"{server.url}/runs/wait", json=asked, timeout=60).json()["block"]
    assert "red" in str(server.called("me", "recall", messages="Which colour is my kite?"))
    assert "red" in told(server.sent("me", "recall", text("Which colour is my kite?")))


def test_studio_works_with_nothing_set_up(server: Any) -> None:
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    assert httpx.options(f"{server.url}/threads", headers={**STUDIO, **preflight}).status_code == 200

    with get_sync_client(url=server.url, headers=STUDIO) as studio:
        assert {one["graph_id"] for one in studio.assistants.search(limit=100)} >= set(GRAPHS)
        thread = studio.threads.create()["thread_id"]
        answer: Any = studio.runs.wait(thread, "conversation", input={"messages": [{"role": "user", "content": "Hi"}]})
        assert answer["messages"]
        assert studio.threads.get(thread)["metadata"]["owner"] == "me"
        assert studio.threads.get_history(thread)
        assert thread in {one["thread_id"] for one in studio.threads.search(limit=100)}
        form: Any = studio.assistants.get_schemas(studio.assistants.search(graph_id="memory_bank")[0]["assistant_id"])
        assert {"k", "memory_tokens"} <= set(form["context_schema"]["properties"])
        assert "allow_private_addresses" not in form["context_schema"]["properties"]


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_form_of_each_graph_is_short_and_says_what_each_field_is(server: Any, graph: str) -> None:
    with get_sync_client(url=server.url, headers=STUDIO) as studio:
        form: Any = studio.assistants.get_schemas(studio.assistants.search(graph_id=graph)[0]["assistant_id"])

    context, given = form["context_schema"]["properties"], form["input_schema"]["properties"]
    assert 0 < len(context) <= 25
    assert form["config_schema"]["properties"] == context
    assert graph == "memory_bank" or next(iter(context)) == "user"
    assert all(field["description"] for field in (*context.values(), *given.values()))
    assert form["input_schema"].get("required") or any("Required" in field["description"] for field in given.values())


@pytest.mark.parametrize(
    "headers",
    [
        {"x-authz-user-id": "bob"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Host": "rebound.example"},
        {"X-Forwarded-For": "203.0.113.7"},
        {**STUDIO, "Host": "rebound.example"},
    ],
    ids=str,
)
def test_on_this_machine_nobody_else_is_answered(server: Any, headers: dict[str, str]) -> None:
    doors = [
        ("GET", "/v1/memory", None),
        ("GET", "/v1/memory/view", None),
        ("POST", "/threads/search", {}),
        ("POST", "/runs/wait", {"assistant_id": "recall", "input": {"messages": "Which colour is my kite?"}}),
        ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ]
    for method, path, body in doors:
        answer = httpx.request(method, server.url + path, json=body, headers={"Accept": "application/json", **headers})
        assert answer.status_code == 403, path
        assert "kite" not in answer.text


@pytest.mark.parametrize("graph", GRAPHS)
def test_on_this_machine_too_a_context_that_names_somebody_else_is_an_error(server: Any, graph: str) -> None:
    body = {"assistant_id": graph, "input": {"messages": "Hello"}, "context": {"user": "bob"}}

    answer = httpx.post(f"{server.url}/runs/wait", json=body, timeout=60)

    assert (answer.status_code, "not the one who is authenticated" in answer.text) == (422, True)


def test_a_server_that_others_can_reach_answers_this_machine_alone(serve: Any) -> None:
    afar = _own_address()
    if afar is None:
        pytest.skip("this machine has no address but loopback")
    port = serve(arguments=("--host", "0.0.0.0")).url.rsplit(":", 1)[1]

    refused = httpx.get(f"http://{afar}:{port}/v1/memory")
    here = httpx.get(f"http://127.0.0.1:{port}/v1/memory", timeout=60)

    assert (refused.status_code, here.status_code) == (403, 200)
    assert "MEMORY_BANK_AUTH" in refused.json()["detail"]


def _own_address() -> str | None:
    """An address of this machine that is not loopback. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        found = probe.getsockname()[0]
    return None if found.startswith("127.") else found


# --- proxy -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_graph_works_over_mcp_for_who_is_named(proxied: Any, graph: str) -> None:
    proxied.request("mia", "POST", "/v1/memory", json={"content": "My heron is called Igor."})

    answer = proxied.called("mia", graph, messages="My heron is called Igor. What is my heron called?")

    (part,) = answer["result"]["content"]
    found = json.loads(part["text"])
    assert not answer["result"].get("isError"), part
    assert {"memory_bank": "status", "memorizer": "pages", "researcher": "status"}.get(graph, "receipt") in found or (
        "Igor" in str(found["messages"][-1]["content"])
    )


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_graph_works_over_a2a_for_who_is_named(proxied: Any, graph: str) -> None:
    proxied.request("noa", "POST", "/v1/memory", json={"content": "My heron is called Igor."})
    if graph == "researcher":
        proxied.sent("noa", "memorizer", text("The heron of Noa is called Igor."))
    documents = {"kind": "data", "data": {"documents": ["The heron of Noa is called Igor."]}}

    answer = told(
        proxied.sent("noa", graph, text("What is my heron called?"), *([documents] * (graph == "memory_bank")))
    )

    expected = {"memorizer": "Pages kept: 1", "remember": "waiting"}.get(graph, "Igor")
    assert expected in answer


def test_what_one_user_says_in_messages_another_never_hears(proxied: Any) -> None:
    proxied.sent("ora", "memorizer", text("The safe of Ora opens with 47115."))
    proxied.called("ora", "conversation", messages="The name of my owl is Archimedes.")
    until(lambda: "Archimedes" in proxied.request("ora", "GET", "/v1/memory").text)

    assert "47115" in told(proxied.sent("ora", "researcher", text("What opens the safe of Ora?")))
    for graph in ("researcher", "conversation", "recall", "react_mem"):
        for question in ("What opens the safe of Ora?", "What is the name of my owl?"):
            heard = str(proxied.sent("pip", graph, text(question))) + str(
                proxied.called("pip", graph, messages=question)
            )
            assert not {"47115", "Archimedes"} & set(re.findall(r"\w+", heard))


def test_threads_runs_and_assistants_are_their_owners_whatever_a_client_writes(proxied: Any) -> None:
    with proxied.as_user("ann") as ann, proxied.as_user("bob") as bob:
        thread = ann.threads.create(metadata={"owner": "bob"})["thread_id"]
        ann.threads.update(thread, metadata={"owner": "bob"})
        assistant = ann.assistants.create("recall", metadata={"owner": "bob"}, name="mine")["assistant_id"]
        ann.runs.wait(thread, assistant, input={"messages": "Hello"}, metadata={"owner": "bob"})

        assert ann.threads.get(thread)["metadata"]["owner"] == "ann"
        assert thread not in {one["thread_id"] for one in bob.threads.search(limit=1000)}
        assert assistant not in {one["assistant_id"] for one in bob.assistants.search(limit=1000)}
        for seen in (
            bob.threads.get,
            bob.threads.get_state,
            bob.threads.get_history,
            bob.threads.delete,
            bob.runs.list,
        ):
            with pytest.raises(NotFoundError):
                seen(thread)
        for seen in (bob.assistants.get, bob.assistants.delete, bob.assistants.get_schemas):
            with pytest.raises(NotFoundError):
                seen(assistant)
        with pytest.raises(PermissionDeniedError):
            bob.assistants.create("recall", metadata={"created_by": "system"})


def test_a_thread_is_exported_for_its_owner_alone(proxied: Any) -> None:
    asked = {"question": "Where is the key?", "documents": ["The key is under the third stone."]}
    with proxied.as_user("ann") as ann:
        thread, other = (ann.threads.create()["thread_id"] for _ in range(2))
        ann.runs.wait(thread, "memory_bank", input=asked)
        ann.runs.wait(other, "recall", input={"messages": "Hello"})
    export = f"/v1/threads/{thread}/export"

    assert "third stone" in proxied.request("ann", "GET", export).text
    for user, path in (("bob", export), ("ann", f"/v1/threads/{other}/export"), ("ann", "/v1/threads/none/export")):
        refused = proxied.request(user, "GET", path)
        assert (refused.status_code, refused.json().get("error", {}).get("code")) == (404, "NOT_FOUND"), path
    assert httpx.get(f"{proxied.url}{export}", timeout=60).status_code == 401
    with proxied.as_user("ann") as ann:
        ann.threads.delete(thread)
    assert proxied.request("ann", "GET", export).status_code == 404


def test_a_cron_acts_for_who_made_it(proxied: Any) -> None:
    said = {"messages": [{"role": "user", "content": "My cron is called Chronos."}], "end": True}
    with proxied.as_user("ann") as ann, proxied.as_user("bob") as bob:
        cron = ann.crons.create("remember", schedule="* * * * * *", input=said, metadata={"owner": "bob"})["cron_id"]
        try:
            assert cron not in str(bob.crons.search())
            with pytest.raises(NotFoundError):
                bob.crons.delete(cron)
            until(lambda: "Chronos" in proxied.request("ann", "GET", "/v1/memory").text)
        finally:
            ann.crons.delete(cron)
    assert "Chronos" not in proxied.request("bob", "GET", "/v1/memory").text


@pytest.mark.parametrize("graph", GRAPHS)
def test_bad_input_and_a_bad_context_are_errors_of_ours(proxied: Any, graph: str) -> None:
    bad: list[Any] = [{}, {"messages": 5}, {"messages": [{"x": 1}]}, "text", [1]]
    with proxied.as_user("quin") as client, ThreadPoolExecutor(len(bad)) as threads:
        answers = threads.map(lambda given: client.runs.wait(None, graph, input=given, raise_error=False), bad)
        found: list[Any] = [answer["__error__"] for answer in answers]
    assert [error["error"] for error in found] == ["InputError"] * len(bad), bad
    assert all(len(error["message"]) > 20 for error in found)
    for context, said in (({"recal_limit": 3}, "`recall_limit`"), ({"recall_limit": 0}, "recall_limit")):
        body = {"assistant_id": graph, "input": {"messages": "Hello"}, "context": context}
        answer = proxied.request("quin", "POST", "/runs/wait", json=body)
        assert (answer.status_code, said in answer.json()["detail"]) == (422, True)


# --- token -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bearers(serve: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, dict[str, str]]:
    """A server with tokens: its address, the file, and the tokens of two users."""
    made = {name: new_token(name) for name in ("ann", "bob")}
    file = tmp_path_factory.mktemp("tokens") / "tokens"
    file.touch(mode=0o600)
    file.write_text("".join(f"{line}\n" for _, line in made.values()))
    server = serve(MEMORY_BANK_AUTH="token", MEMORY_BANK_TOKENS=str(file))
    return server.url, file, {name: token for name, (token, _) in made.items()}


def test_whoever_has_a_token_is_its_user_until_the_line_is_taken_out(bearers: Any) -> None:
    url, file, tokens = bearers

    def contents(token: str, path: str = "/v1/memory", **headers: str) -> httpx.Response:
        return httpx.get(url + path, headers={"Authorization": f"Bearer {token}", **headers}, timeout=60)

    said = {"content": "My kite is red."}
    httpx.post(f"{url}/v1/memory", json=said, headers={"Authorization": f"Bearer {tokens['ann']}"}, timeout=60)

    assert "kite" in contents(tokens["ann"]).text
    assert contents(tokens["bob"]).json()["memories"] == []
    assert "kite" in contents(tokens["ann"], "/v1/memory/view").text
    assert "kite" not in contents(tokens["bob"], "/v1/memory/view").text
    assert {contents("nonsense", path).status_code for path in ("/v1/memory", "/v1/memory/view")} == {401}
    assert httpx.get(f"{url}/v1/memory", headers={"x-authz-user-id": "ann"}).status_code == 401
    assert httpx.post(f"{url}/threads/search", json={}, headers=STUDIO).status_code == 401
    assert contents(tokens["bob"], **{"x-authz-user-id": "ann"}).status_code == 403
    file.write_text("")
    assert contents(tokens["ann"]).status_code == 401
