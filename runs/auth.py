"""The auth handler that langgraph.json names: who makes a request, and which threads and assistants are theirs.

MEMORY_BANK_AUTH   who asks
local              one user, MEMORY_BANK_USER, and only from this machine
proxy              the header x-authz-user-id, which a proxy in front of the server sets
token              whoever has the bearer token
"""

import asyncio
import ipaddress
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, cast
from urllib.parse import urlsplit

from langgraph_sdk import Auth

from agentic_memory_bank.runs.server import USER_HEADER, TokenFile, is_plain
from agentic_memory_bank.state.errors import InputError, SettingsError
from agentic_memory_bank.state.forms import check_given, of_clients

STUDIO: Final = ("https://smith.langchain.com", "https://eu.smith.langchain.com")
"""Origins of LangGraph Studio's pages."""
ME: Final = "me"
"""The one user of a server on this machine, unless `MEMORY_BANK_USER` says otherwise."""
OWNER: Final = "owner"
"""Key of the owner in the metadata of threads, assistants and crons."""

_SYSTEM: Final = "system"
_PROXIED: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host")
_OF_THE_SERVER: Final = frozenset(
    ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "graph_id", "assistant_id", "run_id", "cron_id")
)
"""Keys that LangGraph's server itself adds to a context."""

Scope = Mapping[str, Any]
"""ASGI scope of a request."""
Identify = Callable[[Scope], str]
"""Identifies who makes a request, or refuses it."""


def build_auth(environment: Mapping[str, str] | None = None) -> Auth:
    """Build the handler for `auth.path` in langgraph.json.

    Raises:
        SettingsError: A variable has no meaning, or lacks one that it needs.
    """
    identify = identifier({**os.environ} if environment is None else environment)
    of_clients()  # a name in it that is none is said when the server starts
    auth = Auth()

    @auth.authenticate
    async def who(scope: dict[str, Any]) -> Auth.types.MinimalUserDict:  # pyright: ignore[reportUnusedFunction]
        return {"identity": await asyncio.to_thread(identify, scope)}

    @auth.on
    async def nothing_else(ctx: Auth.types.AuthContext, value: Any) -> bool:  # pyright: ignore[reportUnusedFunction]
        return False

    auth.on.threads(_threads)
    auth.on.assistants(_assistants)
    auth.on.crons(_crons)
    return auth


# --- who asks ------------------------------------------------------------------------------------------------------


def identifier(environment: Mapping[str, str]) -> Identify:
    """Choose how users are identified, by `MEMORY_BANK_AUTH`.

    Raises:
        SettingsError: A variable has no meaning, or lacks one that it needs.
    """
    mode = environment.get("MEMORY_BANK_AUTH", "").strip() or "local"
    if mode == "proxy":
        return _of_proxy
    if mode == "token":
        return _Tokens(environment.get("MEMORY_BANK_TOKENS", "").strip())
    if mode == "local":
        return _Local(environment)
    raise SettingsError(f"MEMORY_BANK_AUTH is {mode!r}. It can be local, proxy or token.")


def _of_proxy(scope: Scope) -> str:
    named = _header(scope, USER_HEADER)
    if not named:
        _refuse(401, f"Nobody is named: the proxy in front of this server has to set the header {USER_HEADER}.")
    if not is_plain(named):
        _refuse(403, "A user is named by letters, digits and `._@:/$-`.")
    return named


class _Tokens:
    """Identifies users by their bearer tokens."""

    def __init__(self, path: str) -> None:
        if not path:
            raise SettingsError("MEMORY_BANK_AUTH=token needs MEMORY_BANK_TOKENS, the file of tokens.")
        self._file = TokenFile(Path(path).expanduser())
        self._file.users()  # a file that cannot be used is said when the server starts

    def __call__(self, scope: Scope) -> str:
        scheme, _, token = _header(scope, "authorization").partition(" ")
        user = self._file.user_of(token.strip()) if scheme.lower() == "bearer" and token.strip() else None
        if user is None:
            _refuse(401, "Nobody is known by this token. Send the header `Authorization: Bearer TOKEN`.")
        return _as(user, scope)


class _Local:
    """Identifies every program of this machine as the one user; refuses other machines and other sites' pages."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._user = environment.get("MEMORY_BANK_USER", "").strip() or ME
        remote = environment.get("MEMORY_BANK_ALLOW_REMOTE", "").strip().lower()
        if remote not in ("", "true", "false"):
            raise SettingsError("MEMORY_BANK_ALLOW_REMOTE is `true` or `false`.")
        self._is_open = remote == "true"
        named = environment.get("MEMORY_BANK_ORIGINS", "").split(",")
        self._origins = frozenset(o.strip().rstrip("/").lower() for o in named if o.strip()) or frozenset(STUDIO)

    def __call__(self, scope: Scope) -> str:
        host = _header(scope, "host")
        if not self._is_open:
            self._check_is_here(scope, host)
        origin = _header(scope, "origin")
        if origin and not self._is_known(origin.lower(), host):
            _refuse(403, "This server answers no page of this origin. The operator can add it to MEMORY_BANK_ORIGINS.")
        return _as(self._user, scope)

    def _check_is_here(self, scope: Scope, host: str) -> None:
        """Check that the request came to a loopback address, under its name, and through no proxy."""
        server: Sequence[Any] = scope.get("server") or ("",)
        named = _host(f"//{host}")
        if not (is_loopback(str(server[0])) and is_loopback(named)) or any(_header(scope, name) for name in _PROXIED):
            _refuse(
                403,
                "This server has one user, who is on its own machine. For others, set MEMORY_BANK_AUTH to `proxy` or "
                "`token`; MEMORY_BANK_ALLOW_REMOTE=true lets everybody be that user who reaches it.",
            )

    def _is_known(self, origin: str, host: str) -> bool:
        is_own = self._is_open and urlsplit(origin).netloc == host.lower()
        return origin in self._origins or is_loopback(_host(origin)) or is_own


def is_loopback(host: str) -> bool:
    """Ask whether a host is a loopback address or `localhost`."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _host(url: str) -> str:
    """Read the host of an address; empty where it is malformed."""
    try:
        found = urlsplit(url)
        is_plain_address = not (found.username or found.password or found.path or "@" in url or "\\" in url)
        return (found.hostname or "") if is_plain_address else ""
    except ValueError:
        return ""


def _as(user: str, scope: Scope) -> str:
    """Return the identified user, and refuse a request that names another."""
    if _header(scope, USER_HEADER) not in ("", user):
        _refuse(403, f"The header {USER_HEADER} names another user than the one who is authenticated. Leave it out.")
    return user


def _header(scope: Scope, name: str) -> str:
    """Read a header; one that is given twice is refused."""
    wanted = name.encode()
    said = [value for key, value in scope.get("headers", ()) if key.lower() == wanted]
    if len(said) > 1:
        _refuse(403, f"The header {name} is given more than once.")
    return said[0].decode("latin-1").strip(" \t") if said else ""


def _refuse(status: int, message: str) -> NoReturn:
    raise Auth.exceptions.HTTPException(status_code=status, detail=message)


# --- what is theirs ------------------------------------------------------------------------------------------------


async def _threads(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.FilterType:
    """Restrict threads and their runs to their owner."""
    user = ctx.user.identity
    if ctx.action == "create_run":
        _check(value.get("kwargs", {}).get("context"), user)
    return _owned(ctx, value)


async def _crons(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.FilterType:
    """Restrict crons to their owner; their context is checked when they are made."""
    payload: Mapping[str, Any] = value.get("payload") or {}
    _check_both(payload, ctx.user.identity)
    return _owned(ctx, value)


async def _assistants(ctx: Auth.types.AuthContext, value: Any) -> Any:
    """Restrict assistants to their owner; those of langgraph.json are for all to use and for nobody to change."""
    if ctx.action in ("create", "update"):
        if (value.get("metadata") or {}).get("created_by") == _SYSTEM:
            _refuse(403, "The assistants of the system are those of langgraph.json. Leave `created_by` out.")
        _check_both(value, ctx.user.identity)
    own = _owned(ctx, value)
    return {"$or": [own, {"created_by": _SYSTEM}]} if ctx.action in ("read", "search") else own


def _owned(ctx: Auth.types.AuthContext, value: Any) -> Any:
    """Write the owner into what is made or changed, whatever the client says, and filter what is seen by it."""
    own = {OWNER: ctx.user.identity}
    if ctx.action in ("create", "create_run", "update") and isinstance(value.get("metadata"), dict):
        value["metadata"].update(own)
    return own


def _check_both(given: Mapping[str, Any], user: str) -> None:
    config: Mapping[str, Any] = given.get("config") or {}
    for context in (given.get("context"), config.get("configurable")):
        _check(context, user)


def _check(context: object, user: str) -> None:
    """Check that a client's context has no setting of the operator."""
    if not isinstance(context, Mapping):
        return
    given = {str(k): v for k, v in cast("Mapping[object, Any]", context).items() if not _is_of_the_server(str(k))}
    if given.pop("user_id", None) not in (None, "", user):
        _refuse(422, "`user_id` is not the one who is authenticated. Leave it out.")
    try:
        check_given(given, user)
    except (InputError, SettingsError) as error:
        _refuse(422, str(error))


def _is_of_the_server(name: str) -> bool:
    return name in _OF_THE_SERVER or name.startswith(("__", "langgraph_")) or "-" in name  # the last: headers


auth: Final = build_auth()
"""The object that `auth.path` in langgraph.json names."""
