"""The routes of the memory operations: what they take, what they answer, and to whom."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from agentic_memory_bank.runs import server
from agentic_memory_bank.runs.http_app import build_app
from agentic_memory_bank.runs.http_requests import LONGEST
from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.state.errors import EngineError, SettingsError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

ANN, BOB = {"x-authz-user-id": "ann"}, {"x-authz-user-id": "bob"}
ITEM = {
    "id",
    "type",
    "content",
    "user_id",
    "source",
    "importance",
    "access_count",
    "created_at",
    "updated_at",
}
BODIES = {"POST", "PUT"}


class Broken(InMemoryStore):
    """A store whose database is gone."""

    def batch(self, ops: Any) -> Any:
        raise ConnectionError("no route to postgres://u:secret@db")


@pytest.fixture
def memories() -> Iterator[Memories]:
    with Memories(store=InMemoryStore(), embeddings=HashEmbeddings()) as made:
        yield made


@pytest.fixture
def http(memories: Memories) -> TestClient:
    return TestClient(build_app(memories))


@pytest.fixture
def authenticated(memories: Memories) -> Callable[[str], TestClient]:
    """A client whom a server around the routes has authenticated."""

    def of(user: str, is_authenticated: bool = True) -> TestClient:
        app: ASGIApp = build_app(memories)

        async def around(scope: Any, receive: Any, send: Any) -> None:
            who = SimpleNamespace(identity=user, is_authenticated=is_authenticated)
            await app({**scope, "user": who}, receive, send)

        return TestClient(around)

    return of


def stored(http: TestClient, content: str, headers: Mapping[str, str] = ANN, **more: Any) -> dict[str, Any]:
    answer = http.post("/v1/memory", headers=headers, json={"content": content, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def contents(http: TestClient, headers: Mapping[str, str] = ANN, query: str = "") -> list[str]:
    answer = http.get(f"/v1/memory{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return [item["content"] for item in answer.json()["memories"]]


def refused(answer: Any) -> tuple[int, str]:
    error = answer.json()["error"]
    assert error["message"]
    assert datetime.fromisoformat(error["timestamp"]).tzinfo
    return answer.status_code, error["code"]


# --- life cycle --------------------------------------------------------------------------------------------------


def test_a_memory_is_stored_shown_changed_and_erased(http: TestClient) -> None:
    made = stored(http, "I drive a blue Volvo.", importance=0.8)
    path = f"/v1/memory/{made['id']}"

    assert made.keys() >= ITEM
    assert (made["type"], made["user_id"], made["source"], made["importance"]) == ("semantic", "ann", "explicit", 0.8)
    assert http.get(path, headers=ANN).json() == made
    changed = http.put(path, headers=ANN, json={"content": "I drive a red Saab."}).json()
    assert (changed["id"], changed["content"]) == (made["id"], "I drive a red Saab.")
    assert [wording["text"] for wording in changed["history"]] == ["I drive a blue Volvo."]
    assert changed["updated_at"] > changed["created_at"] == made["created_at"]
    erased = http.delete(path, headers=ANN).json()
    assert (erased["success"], erased["deleted"]) == (True, [made["id"]])
    assert refused(http.get(path, headers=ANN)) == (404, "NOT_FOUND")
    assert refused(http.delete(path, headers=ANN)) == (404, "NOT_FOUND")
    assert refused(http.put(path, headers=ANN, json={"content": "Again."})) == (404, "NOT_FOUND")


def test_a_memory_is_pinned_and_pinned_no_longer(http: TestClient) -> None:
    path = f"/v1/memory/{stored(http, 'I drive a blue Volvo.')['id']}"

    assert http.put(path, headers=ANN, json={"pinned": True}).json()["pinned_at"]
    both = http.put(path, headers=ANN, json={"content": "I drive a red Saab.", "pinned": False}).json()
    assert (both["content"], both["pinned_at"]) == ("I drive a red Saab.", None)
    assert refused(http.put(path, headers=BOB, json={"pinned": True})) == (404, "NOT_FOUND")


def test_memory_is_switched_off_and_on_for_a_user_or_a_conversation(http: TestClient) -> None:
    path = "/v1/memory/switch"
    assert http.get(path, headers=ANN).json() == {"mode": "on"}
    assert http.put(path, headers=ANN, json={"mode": "recall", "conversation_id": "c"}).json() == {"mode": "recall"}
    assert http.get(path, headers=ANN).json() == {"mode": "on"}
    assert http.get(f"{path}?conversation_id=c", headers=ANN).json() == {"mode": "recall"}

    assert http.put(path, headers=ANN, json={"mode": "off"}).json() == {"mode": "off"}
    assert refused(http.post("/v1/memory", headers=ANN, json={"content": "I sail."})) == (400, "INVALID_CONTENT")
    assert refused(http.put(path, headers=ANN, json={"mode": "maybe"})) == (400, "INVALID_MODE")
    assert http.put(path, headers=ANN, json={"mode": "on"}).json() == {"mode": "on"}
    stored(http, "I sail.")


def test_a_changed_memory_is_found_by_its_new_words(http: TestClient) -> None:
    made = stored(http, "The capital of the plan is Lisbon.")
    stored(http, "Cats sleep all day.")
    http.put(f"/v1/memory/{made['id']}", headers=ANN, json={"content": "The zebra budget is 40 euros."})

    found = http.post("/v1/memory/search", headers=ANN, json={"query": "zebra budget", "limit": 1}).json()["memories"]

    assert [item["content"] for item in found] == ["The zebra budget is 40 euros."]
    assert -1 <= found[0]["similarity"] <= 1


def test_times_are_those_of_rfc_3339(http: TestClient) -> None:
    made = stored(http, "A note.", expires_at="2999-01-31T12:00:00+01:00")

    assert all(datetime.fromisoformat(made[name]).tzinfo for name in ("created_at", "updated_at"))
    assert made["expires_at"] == "2999-01-31T11:00:00.000000Z"


def test_a_memory_that_was_known_is_not_stored_twice(http: TestClient) -> None:
    assert stored(http, "A note.")["id"] == stored(http, "A note.")["id"]
    assert contents(http) == ["A note."]


def test_any_text_is_kept_and_sent(http: TestClient) -> None:
    made = http.post(
        "/v1/memory", headers=ANN, content=rb'{"content": "\u4f60\u597d \ud800 \ud83d\ude00", "project_id": "\u00fc"}'
    )

    assert made.status_code == 201
    assert made.json()["content"].startswith("你好")
    assert contents(http, query="?project_id=%C3%BC") == [made.json()["content"]]


# --- listing -----------------------------------------------------------------------------------------------------


def test_nothing_is_listed_where_nothing_is_kept(http: TestClient) -> None:
    assert http.get("/v1/memory", headers=ANN).json() == {"memories": [], "limit": 20, "cursor": None}


def test_a_listing_has_twenty_unless_asked_and_never_more_than_a_hundred(memories: Memories, http: TestClient) -> None:
    for number in range(110):
        memories.store(f"Note {number}.", user="ann")

    assert len(contents(http)) == 20
    assert len(contents(http, query="?limit=3")) == 3
    capped = http.get("/v1/memory?limit=5000", headers=ANN).json()
    assert (len(capped["memories"]), capped["limit"]) == (100, 100)
    rest = http.get("/v1/memory", headers=ANN, params={"limit": 100, "cursor": capped["cursor"]}).json()
    assert (len(rest["memories"]), rest["cursor"]) == (10, None)
    assert rest["memories"][-1]["content"] == "Note 0."


def test_types_and_projects_choose_what_is_listed(http: TestClient) -> None:
    stored(http, "A fact.")
    stored(http, "A way.", type="procedural")
    stored(http, "A day.", type="episodic", project_id="p")

    assert contents(http, query="?type=procedural") == ["A way."]
    assert contents(http, query="?type=procedural,%20episodic") == ["A day.", "A way."]
    assert contents(http, query="?project_id=p") == ["A day."]
    assert contents(http, query="?project_id=") == ["A way.", "A fact."]
    found = http.post("/v1/memory/search", headers=ANN, json={"query": "a", "types": ["semantic"], "threshold": None})
    assert [item["content"] for item in found.json()["memories"]] == ["A fact."]


# --- the page ----------------------------------------------------------------------------------------------------


def shown_on(page: str) -> dict[str, Any]:
    return json.loads(page.partition('id="shown">')[2].partition("</script>")[0])


def test_the_page_shows_who_asks_their_own_memories(http: TestClient) -> None:
    stored(http, "My sister Nora plays the cello.", project_id="music")
    stored(http, "Bob hides <script>his</script> key under the mat.", headers=BOB)

    page = http.get("/v1/memory/view", headers=ANN)
    shown = shown_on(page.text)

    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert [one["text"] for one in shown["snapshot"]["records"]] == ["My sister Nora plays the cello."]
    assert (shown["snapshot"]["name"], shown["live"]) == ("ann", False)
    assert "<script>his" not in http.get("/v1/memory/view", headers=BOB).text


def test_the_page_shows_what_a_message_recalls_that_stands_in_no_address(http: TestClient) -> None:
    stored(http, "My sister Nora plays the cello.")
    asked = {"question": "What does my sister Nora play?"}

    recalled = shown_on(http.post("/v1/memory/view", headers=ANN, json=asked).text)["snapshot"]["recall"]

    assert (recalled["question"], len(recalled["shown"])) == (asked["question"], 1)
    assert refused(http.get("/v1/memory/view", headers=ANN, params=asked)) == (400, "INVALID_PARAMETER")
    assert refused(http.post("/v1/memory/view", headers=ANN, json={"question": " "})) == (400, "INVALID_QUESTION")


def test_the_page_is_for_one_reader_and_may_load_nothing(http: TestClient) -> None:
    headers = http.get("/v1/memory/view", headers=ANN).headers
    policy = headers["content-security-policy"]

    assert all(part in policy for part in ("default-src 'none'", "connect-src 'none'", "frame-ancestors 'none'"))
    assert (headers["cache-control"], headers["cross-origin-resource-policy"]) == ("no-store", "same-origin")


def test_no_page_is_shown_to_nobody_or_of_somebody_else(
    http: TestClient, authenticated: Callable[[str], TestClient]
) -> None:
    stored(http, "My safe opens with 47115.", headers=BOB)

    assert http.get("/v1/memory/view").status_code == 401
    assert authenticated("ann").get("/v1/memory/view?user_id=bob").status_code == 400
    assert "47115" not in authenticated("ann").get("/v1/memory/view").text


# --- erasing -----------------------------------------------------------------------------------------------------


def test_a_scope_is_erased_and_may_be_erased_again(http: TestClient) -> None:
    stored(http, "A fact.")
    stored(http, "A way.", type="procedural")
    stored(http, "A day.", type="episodic", project_id="p")

    assert len(http.delete("/v1/memory?type=semantic,procedural&project_id=p", headers=ANN).json()["deleted"]) == 0
    assert len(http.delete("/v1/memory?type=semantic,episodic", headers=ANN).json()["deleted"]) == 2
    assert contents(http) == ["A way."]
    for left in (1, 0):
        answer = http.delete("/v1/memory", headers=ANN)
        assert (answer.status_code, answer.json()["success"], len(answer.json()["deleted"])) == (200, True, left)


def test_a_project_is_erased_alone(http: TestClient) -> None:
    for project in ("", "p", "pp"):
        stored(http, f"In {project!r}.", project_id=project)

    http.delete("/v1/memory?project_id=p", headers=ANN)
    assert contents(http) == ["In 'pp'.", "In ''."]
    http.delete("/v1/memory?project_id=", headers=ANN)
    assert contents(http) == ["In 'pp'."]


def test_what_concerns_a_description_is_shown_before_it_is_erased(http: TestClient) -> None:
    stored(http, "My sister Ada lives in Turin.")
    stored(http, "I like tea.")

    shown = http.post("/v1/memory/forget", headers=ANN, json={"about": "Ada"}).json()
    assert (shown["success"], [item["content"] for item in shown["memories"]]) == (
        False,
        ["My sister Ada lives in Turin."],
    )
    assert len(contents(http)) == 2
    assert shown["ids"] == [shown["memories"][0]["id"]]
    refused = http.post("/v1/memory/forget", headers=ANN, json={"about": "Ada", "confirm": True})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "INVALID_IDS")
    assert len(contents(http)) == 2, "a description alone never erases"
    assert http.post("/v1/memory/forget", headers=ANN, json={"ids": shown["ids"]}).json()["ids"] == shown["ids"]
    done = http.post("/v1/memory/forget", headers=ANN, json={"ids": shown["ids"], "confirm": True}).json()
    assert (done["success"], done["deleted"]) == (True, [shown["memories"][0]["id"]])
    assert "Ada" not in json.dumps(done)
    assert contents(http) == ["I like tea."]


@pytest.mark.parametrize(
    "query", ["?types=semantic", "?project=p", "?type=", "?type=semantic,", "?type=semantic&type=x"]
)
def test_a_misspelled_scope_erases_nothing(http: TestClient, query: str) -> None:
    stored(http, "A fact.")

    assert http.delete(f"/v1/memory{query}", headers=ANN).status_code == 400
    assert http.delete("/v1/memory/", headers=ANN).status_code == 400
    assert contents(http) == ["A fact."]


def test_memories_are_drawn_together_and_insights_drawn(http: TestClient) -> None:
    for text in ("Budget: 10,000 dollars.", "Budget is now 12,000 dollars."):
        stored(http, text)

    for operation in ("consolidate", "reflect"):
        answer = http.post(f"/v1/memory/{operation}", headers=ANN)
        assert answer.status_code == 200
        assert isinstance(answer.json()["memories"], list)


# --- whose memories ----------------------------------------------------------------------------------------------


def every_request(id: str) -> list[tuple[str, str, dict[str, Any] | None]]:
    return [
        ("POST", "/v1/memory", {"content": "A note."}),
        ("GET", "/v1/memory", None),
        ("DELETE", "/v1/memory", None),
        ("POST", "/v1/memory/search", {"query": "note"}),
        ("POST", "/v1/memory/forget", {"about": "note"}),
        ("POST", "/v1/memory/consolidate", {}),
        ("POST", "/v1/memory/reflect", {}),
        ("GET", f"/v1/memory/{id}", None),
        ("PUT", f"/v1/memory/{id}", {"content": "Other."}),
        ("DELETE", f"/v1/memory/{id}", None),
    ]


@pytest.mark.parametrize("number", range(10))
def test_a_request_that_names_nobody_gets_nothing(http: TestClient, number: int) -> None:
    method, path, body = every_request(stored(http, "A secret note.")["id"])[number]
    for named in ({}, {"x-authz-user-id": ""}):
        answer = http.request(method, path, json=body, headers=named)
        assert refused(answer) == (401, "MISSING_USER_ID")
        assert "secret" not in answer.text

    assert contents(http) == ["A secret note."]


@pytest.mark.parametrize("number", range(10))
def test_no_route_shows_or_changes_what_is_of_another_user(http: TestClient, number: int) -> None:
    made = stored(http, "The secret note of Ann.")
    method, path, body = every_request(made["id"])[number]
    body = body and {**body, **({"confirm": True} if "about" in body else {})}

    answer = http.request(method, path, json=body, headers=BOB)

    assert "secret" not in answer.text
    assert http.get(f"/v1/memory/{made['id']}", headers=ANN).json() == made
    if made["id"] in path:
        assert refused(answer) == (404, "NOT_FOUND")


def test_the_header_beats_what_the_request_says(http: TestClient) -> None:
    stored(http, "A note.")

    assert contents(http, ANN, "?user_id=bob") == ["A note."]
    assert contents(http, BOB, "?user_id=ann") == []
    assert stored(http, "Another.", BOB, user_id="ann")["user_id"] == "bob"


def test_without_a_header_the_request_says_who_asks(http: TestClient) -> None:
    assert stored(http, "A note.", {}, user_id="ann")["user_id"] == "ann"
    assert contents(http, {}, "?user_id=ann") == ["A note."]
    both = http.post("/v1/memory?user_id=ann", json={"content": "A note.", "user_id": "bob"})
    assert refused(both) == (400, "INVALID_USER_ID")


def test_who_is_authenticated_needs_no_name_and_can_be_no_other(authenticated: Callable[..., TestClient]) -> None:
    ann = authenticated("auth0|ann")
    assert stored(ann, "A note.", {})["user_id"] == "auth0|ann"

    for headers, query in ((BOB, ""), ({}, "?user_id=bob"), ({"x-authz-user-id": "auth0|ann"}, "?user_id=bob")):
        assert refused(ann.get(f"/v1/memory{query}", headers=headers)) == (400, "INVALID_USER_ID")
    assert refused(ann.post("/v1/memory", json={"content": "A lie.", "user_id": "bob"})) == (400, "INVALID_USER_ID")
    assert contents(ann, {"x-authz-user-id": "auth0|ann"}, "?user_id=auth0|ann") == ["A note."]
    assert contents(authenticated("bob"), {}) == []


@pytest.mark.parametrize("settings", [{"LANGGRAPH_AUTH": {"path": "x"}}, {"LANGGRAPH_AUTH_TYPE": "langsmith"}])
def test_a_server_with_accounts_believes_no_header(
    http: TestClient,
    authenticated: Callable[..., TestClient],
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
) -> None:
    stored(http, "A note.")
    monkeypatch.setitem(sys.modules, "langgraph_api.config", SimpleNamespace(**settings))

    for client in (http, authenticated("ann", False)):
        assert refused(client.get("/v1/memory?user_id=ann", headers=ANN)) == (401, "MISSING_USER_ID")
    assert contents(authenticated("ann"), {}) == ["A note."]


@pytest.mark.parametrize("user", ["ann@example.org", "team/ann", "tenant:ann", "a-b_c.d$1", "1"])
def test_names_of_many_shapes_are_users_and_ids(http: TestClient, user: str) -> None:
    assert stored(http, "A note.", {"x-authz-user-id": user})["user_id"] == user
    assert contents(http, {}, f"?user_id={user}") == ["A note."]
    assert refused(http.get(f"/v1/memory/{user}", headers=ANN)) == (404, "NOT_FOUND")


@pytest.mark.parametrize("name", ['a" or 1==1', "a'b", "a;b", "a b", "a*", "(a)", "a%00", "a%0a", "%E4", "x" * 600])
def test_names_that_could_be_more_than_names_are_refused(http: TestClient, name: str) -> None:
    assert refused(http.get(f"/v1/memory?user_id={name}")) == (400, "INVALID_USER_ID")
    assert refused(http.get(f"/v1/memory/{name}", headers=ANN)) == (400, "INVALID_MEMORY_ID")
    if name.isprintable() and "%" not in name:
        assert refused(http.get("/v1/memory", headers={"x-authz-user-id": name})) == (400, "INVALID_USER_ID")


def test_a_scope_in_the_body_of_a_deletion_is_refused_and_nothing_is_erased(http: TestClient) -> None:
    http.post("/v1/memory", json={"content": "My dog is called Rex."}, headers=ANN)

    answer = http.request("DELETE", "/v1/memory", json={"project_id": "work"}, headers=ANN)

    assert refused(answer) == (400, "INVALID_BODY")
    assert len(http.get("/v1/memory", headers=ANN).json()["memories"]) == 1
    assert http.request("DELETE", "/v1/memory", json={}, headers=ANN).status_code == 200


# --- errors ------------------------------------------------------------------------------------------------------

REFUSED: list[tuple[str, str, Any, str]] = [
    ("GET", "/v1/memory?type=wrong", None, "INVALID_TYPE"),
    ("GET", "/v1/memory?type=semantic,wrong", None, "INVALID_TYPE"),
    ("DELETE", "/v1/memory?type=semantic,wrong", None, "INVALID_TYPE"),
    ("GET", "/v1/memory?limit=0", None, "INVALID_LIMIT"),
    ("GET", "/v1/memory?limit=-1", None, "INVALID_LIMIT"),
    ("GET", "/v1/memory?limit=ten", None, "INVALID_LIMIT"),
    ("GET", "/v1/memory?limit=1.5", None, "INVALID_LIMIT"),
    ("GET", "/v1/memory?limit=", None, "INVALID_LIMIT"),
    ("GET", "/v1/memory?limit=%D9%A3", None, "INVALID_LIMIT"),
    ("GET", f"/v1/memory?limit={'9' * 5000}", None, "INVALID_LIMIT"),
    ("GET", "/v1/memory?cursor=x", None, "INVALID_CURSOR"),
    ("GET", "/v1/memory?sort=up", None, "INVALID_PARAMETER"),
    ("GET", "/v1/memory?limit=1&limit=2", None, "INVALID_PARAMETER"),
    ("POST", "/v1/memory?type=semantic", {"content": "A note."}, "INVALID_PARAMETER"),
    ("POST", "/v1/memory", {}, "INVALID_CONTENT"),
    ("POST", "/v1/memory", {"content": " \n"}, "INVALID_CONTENT"),
    ("POST", "/v1/memory", {"content": 5}, "INVALID_CONTENT"),
    ("POST", "/v1/memory", {"content": "x" * 16_385}, "INVALID_CONTENT"),
    ("POST", "/v1/memory", {"content": "A note.", "type": "wrong"}, "INVALID_TYPE"),
    ("POST", "/v1/memory", {"content": "A note.", "type": ["semantic"]}, "INVALID_TYPE"),
    ("POST", "/v1/memory", {"content": "A note.", "importance": 2}, "INVALID_IMPORTANCE"),
    ("POST", "/v1/memory", {"content": "A note.", "importance": True}, "INVALID_IMPORTANCE"),
    ("POST", "/v1/memory", {"content": "A note.", "expires_at": "soon"}, "INVALID_EXPIRES_AT"),
    ("POST", "/v1/memory", {"content": "A note.", "expires_at": "2999-01-31"}, "INVALID_EXPIRES_AT"),
    ("POST", "/v1/memory", {"content": "A note.", "expires_at": "9999-12-31T23:59:59-14:00"}, "INVALID_EXPIRES_AT"),
    ("POST", "/v1/memory", {"content": "A note.", "project_id": 1}, "INVALID_PROJECT_ID"),
    ("POST", "/v1/memory", {"content": "A note.", "subject": 1}, "INVALID_CONTENT"),
    ("POST", "/v1/memory", {"content": "A note.", "trust": 1}, "INVALID_PARAMETER"),
    ("POST", "/v1/memory", {"content": "A note.", "user_id": 1}, "INVALID_USER_ID"),
    ("POST", "/v1/memory", [], "INVALID_BODY"),
    ("POST", "/v1/memory", b"{", "INVALID_BODY"),
    ("POST", "/v1/memory", b"\xff", "INVALID_BODY"),
    ("POST", "/v1/memory", b"[" * 100_000, "INVALID_BODY"),
    ("POST", "/v1/memory", b'{"content": "A note.", "importance": NaN}', "INVALID_IMPORTANCE"),
    ("POST", "/v1/memory", b" " * (LONGEST + 1), "INVALID_BODY"),
    ("PUT", "/v1/memory/m1", {}, "INVALID_CONTENT"),
    ("PUT", "/v1/memory/m1", {"pinned": "yes"}, "INVALID_PINNED"),
    ("PUT", "/v1/memory/m1", {"content": "A note.", "type": "semantic"}, "INVALID_PARAMETER"),
    ("POST", "/v1/memory/search", {"query": ""}, "INVALID_QUERY"),
    ("POST", "/v1/memory/search", {"query": "a", "types": "wrong"}, "INVALID_TYPE"),
    ("POST", "/v1/memory/search", {"query": "a", "types": []}, "INVALID_TYPE"),
    ("POST", "/v1/memory/search", {"query": "a", "types": 3}, "INVALID_TYPE"),
    ("POST", "/v1/memory/search", {"query": "a", "limit": True}, "INVALID_LIMIT"),
    ("POST", "/v1/memory/search", {"query": "a", "threshold": 1.1}, "INVALID_THRESHOLD"),
    ("POST", "/v1/memory/search", {"query": "a", "threshold": "high"}, "INVALID_THRESHOLD"),
    ("POST", "/v1/memory/forget", {}, "INVALID_ABOUT"),
    ("POST", "/v1/memory/forget", {"about": "?!"}, "INVALID_ABOUT"),
    ("POST", "/v1/memory/forget", {"about": "note", "confirm": "yes"}, "INVALID_CONFIRM"),
    ("POST", "/v1/memory/forget", {"about": "note", "confirm": True}, "INVALID_IDS"),
    ("POST", "/v1/memory/forget", {"ids": "m1", "confirm": True}, "INVALID_IDS"),
    ("POST", "/v1/memory/forget", {"ids": [1], "confirm": True}, "INVALID_IDS"),
    ("POST", "/v1/memory/reflect", {"project_id": 3}, "INVALID_PROJECT_ID"),
]


@pytest.mark.parametrize(("method", "path", "body", "code"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_has_no_meaning_is_refused_by_name(http: TestClient, method: str, path: str, body: Any, code: str) -> None:
    given = {"content": body} if isinstance(body, bytes) else {"json": body} if method in BODIES else {}

    assert refused(http.request(method, path, headers=ANN, **given)) == (400, code)
    assert contents(http) == []


@pytest.mark.parametrize("number", range(10))
def test_a_store_that_is_gone_is_said_to_be_and_its_secrets_are_kept(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    http = TestClient(build_app(Memories(store=Broken(), embeddings=HashEmbeddings())))
    method, path, body = every_request("m1")[number]

    answer = http.request(method, path, json=body, headers=ANN)

    assert refused(answer) == (503, "MEMORY_NOT_AVAILABLE")
    assert "postgres" not in answer.text
    assert any("ConnectionError" in line for line in caplog.messages)
    assert not any("ann" in line for line in caplog.messages)


def test_a_model_that_fails_is_told_from_a_store_that_does(
    http: TestClient, memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(**_: Any) -> None:
        raise EngineError("The model is silent.")

    monkeypatch.setattr(memories, "reflect", failing)

    assert refused(http.post("/v1/memory/reflect", headers=ANN)) == (503, "MODEL_NOT_AVAILABLE")


# --- which store -------------------------------------------------------------------------------------------------


def test_without_a_server_the_memories_are_in_the_file(home: Any) -> None:
    with TestClient(build_app()) as http:
        assert contents(http) == []
        answer = http.post("/v1/memory/forget", headers=ANN, json={"about": "x"})
    assert answer.json()["memories"] == []
    assert not home.exists() or not [*home.rglob("*.sqlite")]  # nothing was put yet


def test_the_store_of_the_server_is_asked_for_on_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = [InMemoryStore(), InMemoryStore()]
    turn = iter([0, 1, 0])

    async def get_store() -> InMemoryStore:
        return stores[next(turn)]

    monkeypatch.setitem(sys.modules, "langgraph_api.store", SimpleNamespace(get_store=get_store))
    monkeypatch.setattr("agentic_memory_bank.runs.http_app.Memories", lambda s: Memories(s, HashEmbeddings()))
    http = TestClient(build_app())

    stored(http, "A note.")

    assert contents(http) == []
    assert contents(http) == ["A note."]


def test_the_store_for_a_server_is_the_file_of_the_command_line(home: Any) -> None:
    server.store.cache_clear()
    store = server.store()

    assert isinstance(store, SqliteRecordStore)
    assert store.path.parent == home
    assert server.store() is store
    server.store.cache_clear()


def test_memories_are_not_left_in_a_container_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    server.store.cache_clear()
    monkeypatch.setenv("LANGSMITH_LANGGRAPH_API_VARIANT", "licensed")
    assert server.store()  # the tests' own home is named
    server.store.cache_clear()
    monkeypatch.delenv("MEMORY_BANK_HOME")

    with pytest.raises(SettingsError, match="MEMORY_BANK_HOME"):
        server.store()


def test_threads_are_exported_by_a_server_alone(http: TestClient) -> None:
    answer = http.get("/v1/threads/6ba7b821-9dad-11d1-80b4-00c04fd430c8/export", headers=ANN)

    assert refused(answer) == (501, "NO_THREADS")


def test_the_routes_are_in_the_description_of_the_server(http: TestClient) -> None:
    from starlette.schemas import SchemaGenerator

    paths = SchemaGenerator({"openapi": "3.1.0"}).get_schema(routes=build_app().routes)["paths"]

    told = {path: {method: about["summary"] for method, about in methods.items()} for path, methods in paths.items()}
    assert set(told["/v1/memory/{id}"]) == {"get", "put", "delete"}
    assert all(summary for methods in told.values() for summary in methods.values())
