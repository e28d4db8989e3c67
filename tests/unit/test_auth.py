"""The auth handler of langgraph.json: who asks in each mode, and what is theirs."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from langgraph_sdk import Auth

from agentic_memory_bank.runs.auth import build_auth, identifier, is_loopback
from agentic_memory_bank.runs.server import TokenFile, new_token
from agentic_memory_bank.state.errors import InputError, SettingsError

HERE = ("127.0.0.1", 2024)
STUDIO = "https://smith.langchain.com"


def scope(*headers: tuple[str, str], server: tuple[str, int] | None = HERE, host: str = "127.0.0.1:2024") -> Any:
    """A request as a server sees it."""
    named = [] if any(name == "host" for name, _ in headers) else [("host", host)]
    return {
        "type": "http",
        "server": server,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in (*named, *headers)],
    }


def refused(mode: dict[str, str], request: Any) -> int:
    with pytest.raises(Auth.exceptions.HTTPException) as caught:
        identifier(mode)(request)
    assert caught.value.detail
    return caught.value.status_code


# --- proxy ---------------------------------------------------------------------------------------------------------

PROXY = {"MEMORY_BANK_AUTH": "proxy"}


def test_behind_a_proxy_the_header_says_who_asks() -> None:
    assert identifier(PROXY)(scope(("x-authz-user-id", "ann"))) == "ann"
    assert identifier(PROXY)(scope(("X-Authz-User-Id", " ann@x.org "))) == "ann@x.org"


@pytest.mark.parametrize("headers", [[], [("x-authz-user-id", "")], [("authorization", "Bearer ann")]])
def test_behind_a_proxy_nobody_is_refused(headers: list[tuple[str, str]]) -> None:
    assert refused(PROXY, scope(*headers)) == 401


@pytest.mark.parametrize("name", ["a b", "a,b", "é", "a\tb", "x" * 600])
def test_behind_a_proxy_a_name_is_plain(name: str) -> None:
    assert refused(PROXY, scope(("x-authz-user-id", name))) == 403


def test_two_names_are_nobodys() -> None:
    twice = (("x-authz-user-id", "ann"), ("X-Authz-User-Id", "bob"))

    assert refused(PROXY, scope(*twice)) == 403


# --- token ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.touch(mode=0o600)
    return path


def bearing(token: str, *more: tuple[str, str]) -> Any:
    return scope(("authorization", f"Bearer {token}"), *more)


def test_whoever_has_a_token_is_known_by_it_and_nobody_else(file: Path) -> None:
    (ann, one), (bob, other) = new_token("ann"), new_token("bob")
    file.write_text(f"# users\n\n{one}\n{other}  # left in May\n")
    mode = {"MEMORY_BANK_AUTH": "token", "MEMORY_BANK_TOKENS": str(file)}
    who = identifier(mode)

    assert (who(bearing(ann)), who(bearing(bob))) == ("ann", "bob")
    assert who(scope(("authorization", f"bearer  {ann} "))) == "ann"
    assert who(bearing(ann, ("x-authz-user-id", "ann"))) == "ann"
    assert ann not in file.read_text()
    assert refused(mode, bearing(ann, ("x-authz-user-id", "bob"))) == 403
    for headers in ([], [("authorization", "")], [("authorization", "Bearer")], [("authorization", ann)]):
        assert refused(mode, scope(*headers)) == 401
    for wrong in ("", "x", ann[:-1], ann + "x", one.split()[1], "ann", "é"):
        assert refused(mode, bearing(wrong)) == 401
    assert refused(mode, scope(("authorization", f"Basic {ann}"))) == 401
    assert refused(mode, scope(("x-authz-user-id", "ann"))) == 401


def test_the_file_of_tokens_is_read_again_when_it_changes(file: Path) -> None:
    ann, line = new_token("ann")
    file.write_text(line)
    tokens = TokenFile(file)
    assert tokens.user_of(ann) == "ann"

    file.write_text("")
    assert tokens.user_of(ann) is None
    ann, line = new_token("ann")
    file.write_text(line)
    assert tokens.user_of(ann) == "ann"


@pytest.mark.parametrize("line", ["ann", "ann secret", "ann " + "x" * 64, "a b " + "0" * 64, "é " + "0" * 64])
def test_a_line_that_says_nothing_keeps_the_server_from_starting(file: Path, line: str) -> None:
    file.write_text(f"# one\n{line}\n")

    with pytest.raises(SettingsError, match="Line 2"):
        build_auth({"MEMORY_BANK_AUTH": "token", "MEMORY_BANK_TOKENS": str(file)})


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_a_file_that_others_may_write_is_not_believed(file: Path) -> None:
    file.chmod(0o620)
    with pytest.raises(SettingsError, match="chmod go-w"):
        TokenFile(file).users()
    file.chmod(0o644)
    assert TokenFile(file).users() == {}


@pytest.mark.parametrize(
    "mode",
    [
        {"MEMORY_BANK_AUTH": "none"},
        {"MEMORY_BANK_AUTH": "token"},
        {"MEMORY_BANK_AUTH": "token", "MEMORY_BANK_TOKENS": "/nowhere/at/all"},
        {"MEMORY_BANK_ALLOW_REMOTE": "perhaps"},
    ],
)
def test_variables_that_make_no_sense_keep_the_server_from_starting(mode: dict[str, str]) -> None:
    with pytest.raises(SettingsError):
        build_auth(mode)


def test_a_token_is_made_for_a_plain_name_only() -> None:
    assert new_token("ann")[0] != new_token("ann")[0]
    assert len(new_token("ann")[0]) >= 43
    with pytest.raises(InputError):
        new_token("ann b")


# --- local ---------------------------------------------------------------------------------------------------------


def test_on_this_machine_everybody_is_the_one_user() -> None:
    assert identifier({})(scope()) == "me"
    assert identifier({"MEMORY_BANK_USER": "ann"})(scope()) == "ann"
    assert identifier({})(scope(server=("::1", 2024), host="[::1]:2024")) == "me"
    assert identifier({})(scope(host="localhost:2024")) == "me"
    assert identifier({})(scope(("x-authz-user-id", "me"))) == "me"


@pytest.mark.parametrize(
    "request_",
    [
        scope(server=("192.168.1.5", 2024), host="192.168.1.5:2024"),
        scope(server=("10.0.0.5", 2024)),
        scope(server=("0.0.0.0", 2024)),
        scope(server=("::ffff:10.0.0.5", 2024)),
        scope(server=None),
        scope(host="rebound.example:2024"),
        scope(host="127.0.0.1.rebound.example"),
        scope(host=""),
        scope(host="[::1"),
        scope(("x-forwarded-for", "203.0.113.7")),
        scope(("forwarded", "for=203.0.113.7")),
        scope(("host", "127.0.0.1"), ("host", "rebound.example")),
        scope(("x-authz-user-id", "bob")),
    ],
    ids=lambda one: str(one["server"]) + str(one["headers"][0][1]),
)
def test_whoever_is_not_on_this_machine_is_refused(request_: Any) -> None:
    assert refused({}, request_) == 403


@pytest.mark.parametrize("origin", [STUDIO, "https://eu.smith.langchain.com", "http://localhost:3000", "http://[::1]"])
def test_pages_of_studio_and_of_this_machine_may_ask(origin: str) -> None:
    assert identifier({})(scope(("origin", origin))) == "me"


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "https://smith.langchain.com.evil.example",
        "http://smith.langchain.com",
        "file://",
    ],
)
def test_pages_of_other_sites_may_not_ask(origin: str) -> None:
    assert refused({}, scope(("origin", origin))) == 403
    assert refused({"MEMORY_BANK_ALLOW_REMOTE": "true"}, scope(("origin", origin))) == 403


def test_the_operator_may_say_otherwise() -> None:
    from_afar = scope(server=("10.0.0.5", 2024), host="bank.example")
    allowed = {"MEMORY_BANK_ALLOW_REMOTE": "true"}
    assert identifier(allowed)(from_afar) == "me"
    own = scope(("origin", "http://bank.example"), server=("10.0.0.5", 2024), host="bank.example")
    assert identifier(allowed)(own) == "me"

    named = {"MEMORY_BANK_ORIGINS": "https://studio.example/ , https://other.example"}
    assert identifier(named)(scope(("origin", "https://studio.example"))) == "me"
    assert refused(named, scope(("origin", STUDIO))) == 403


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        *(("127.0.0.1", True), ("127.8.9.10", True), ("::1", True), ("::ffff:127.0.0.1", True), ("localhost", True)),
        *(("a.localhost", True), ("0.0.0.0", False), ("::", False), ("localhost.evil.example", False), ("", False)),
        *(("10.0.0.1", False), ("evil.example", False), ("::ffff:10.0.0.1", False), ("2130706433", False)),
    ],
)
def test_this_machine_is_known_by_its_own_addresses(host: str, is_here: bool) -> None:
    assert is_loopback(host) is is_here


# --- what is theirs --------------------------------------------------------------------------------------------------

AUTH = build_auth(PROXY)


def asked(resource: str, action: str, value: Any, user: str = "ann") -> Any:
    """What the handler that LangGraph's server would choose says."""
    handlers = cast(Any, AUTH)._handlers
    handler = handlers.get((resource, "*"), cast(Any, AUTH)._global_handlers)[-1]
    ctx = SimpleNamespace(user=SimpleNamespace(identity=user), permissions=[], resource=resource, action=action)
    return asyncio.run(handler(ctx=ctx, value=value))


@pytest.mark.parametrize("resource", ["threads", "assistants", "crons"])
@pytest.mark.parametrize("action", ["create", "update"])
def test_what_is_made_has_its_owner_whatever_the_client_says(resource: str, action: str) -> None:
    value = {"metadata": {"owner": "bob", "topic": "tea"}}

    assert asked(resource, action, value) == {"owner": "ann"}
    assert value["metadata"] == {"owner": "ann", "topic": "tea"}


@pytest.mark.parametrize("action", ["create", "read", "update", "delete", "search", "create_run"])
def test_nobody_sees_what_is_anothers(action: str) -> None:
    for resource in ("threads", "crons"):
        assert asked(resource, action, {}) == {"owner": "ann"}


def test_assistants_of_the_system_are_everybodys_to_use_and_nobodys_to_change() -> None:
    for action in ("read", "search"):
        assert asked("assistants", action, {}) == {"$or": [{"owner": "ann"}, {"created_by": "system"}]}
    for action in ("update", "delete"):
        assert asked("assistants", action, {}) == {"owner": "ann"}
    for action in ("create", "update"):
        with pytest.raises(Auth.exceptions.HTTPException):
            asked("assistants", action, {"metadata": {"created_by": "system"}})


@pytest.mark.parametrize("action", ["put", "get", "search", "delete", "list_namespaces"])
def test_the_store_is_closed(action: str) -> None:
    assert asked("store", action, {}) is False


@pytest.mark.parametrize(
    "given",
    [{"user": "bob"}, {"user_id": "bob"}, {"recal_limit": 3}, {"allow_private_addresses": True}, {"recall_limit": 0}],
    ids=str,
)
def test_a_context_that_is_not_the_clients_to_say_is_refused_at_every_door(given: dict[str, Any]) -> None:
    runs: Any = {"kwargs": {"context": given}}
    doors = [("threads", "create_run", runs)]
    for action in ("create", "update"):
        doors += [
            ("crons", action, {"payload": one}) for one in ({"context": given}, {"config": {"configurable": given}})
        ]
        doors += [("assistants", action, one) for one in ({"context": given}, {"config": {"configurable": given}})]

    for resource, action, value in doors:
        with pytest.raises(Auth.exceptions.HTTPException) as caught:
            asked(resource, action, value)
        assert caught.value.status_code == 422
        assert [*given][0].replace("_id", "") in caught.value.detail


def test_what_the_server_itself_puts_into_a_context_is_no_clients_fault() -> None:
    own = {
        "thread_id": "t",
        "cron_id": "c",
        "langgraph_auth_user": object(),
        "__x__": 1,
        "x-trace": "y",
        "user_id": "ann",
    }

    assert asked("threads", "create_run", {"kwargs": {"context": own}}) == {"owner": "ann"}
