"""The routes of the memory operations, `/v1/memory`, as an HTTP app that langgraph.json names for LangGraph's server.

Only a server loads this: Starlette comes with it. Whatever blocks is done on threads. A request that names no project
means those of all projects where it reads or erases, and none where it stores; an empty `project_id` means the memories
without a project.
"""

import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, cast

from langgraph.store.base import BaseStore
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentic_memory_bank.runs.memories import Concerned, Least, Memories
from agentic_memory_bank.runs.serving import USER_HEADER, brought_store, is_plain, requesting
from agentic_memory_bank.state.errors import (
    EmbeddingError,
    EngineError,
    InputError,
    MemoryBankError,
    NoUserError,
    SettingsError,
    StorageError,
    UnknownMemoryError,
)
from agentic_memory_bank.state.records import TYPES, Record, RecordType
from agentic_memory_bank.tools.memories.event_log import underneath

LIMIT: Final = 20
"""How many memories a listing has, unless asked for another number."""
MOST: Final = 100
"""How many it has at most, whatever is asked for."""
LONGEST: Final = 262_144
"""Longest body of a request, in bytes."""

_LOG: Final = logging.getLogger(__name__)
_UNSET: Final = object()


class Refusal(Exception):
    """A request is answered with an error.

    Args:
        status: Of the answer, as HTTP counts.
        code: Names the kind of error to programs.
        message: Tells people what went wrong and what to do.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for, and on whose behalf."""

    user: str
    id: str
    given: Mapping[str, Any]
    """The parameters of the address, or else the fields of the body."""


Operation = Callable[[Memories, Asked], Mapping[str, Any]]


class _Route(NamedTuple):
    """One operation on the way from a request to its answer."""

    method: str
    path: str
    operation: Operation
    takes: frozenset[str]
    refused_as: str
    """The code of what the memories themselves refuse."""
    status: int = 200


def build_app(memories: Memories | None = None) -> Starlette:
    """The routes as an app of their own.

    Args:
        memories: What is worked on. Default: the memories in the store of the server around the app, or else in the
            file.
    """
    served = _Served(memories)

    @asynccontextmanager
    async def closing(_: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(served.close)

    routes = [Route(r.path, _endpoint(r, served), methods=[r.method]) for r in _ROUTES]
    return Starlette(routes=routes, lifespan=closing)


# --- operations ----------------------------------------------------------------------------------------------------


def _store(memories: Memories, asked: Asked) -> Mapping[str, Any]:
    """Keep a memory as it is said."""
    given = asked.given
    about: dict[str, Any] = {name: given[name] for name in ("subject", "attribute") if name in given}
    about["project"] = _project(given) or ""
    if "type" in given:
        about["type"] = _type(given["type"])
    if "importance" in given:
        about["importance"] = _share(given["importance"], "importance")
    if given.get("expires_at") is not None:
        about["expires_at"] = _moment(given["expires_at"])
    return _item(memories.store(_text(given, "content"), user=asked.user, **about), asked.user)


def _search(memories: Memories, asked: Asked) -> Mapping[str, Any]:
    """Find the memories that fit a query best."""
    given = asked.given
    found = memories.retrieve(
        _text(given, "query"),
        user=asked.user,
        project=_project(given),
        types=_types(given.get("types", _UNSET)),
        limit=_limit(given["limit"]) if "limit" in given else None,
        threshold=_threshold(given["threshold"]) if "threshold" in given else "default",
    )
    return {"memories": [{**_item(one.record, asked.user), "similarity": one.cosine} for one in found]}


def _list(memories: Memories, asked: Asked) -> Mapping[str, Any]:
    """Show memories, newest first, some at a time."""
    given = asked.given
    limit = _limit(given.get("limit", LIMIT))
    types = _types(given.get("type", _UNSET))
    listing = memories.list(
        user=asked.user, project=_project(given), types=types, limit=limit, cursor=given.get("cursor")
    )
    return {"memories": _items(listing.records, asked.user), "limit": limit, "cursor": listing.cursor}


def _get(memories: Memories, asked: Asked) -> Mapping[str, Any]:
    """Show one memory with its history."""
    return _item(memories.get(asked.id, user=asked.user), asked.user)


def _update(memories: Memories, asked: Asked) -> Mapping[str, Any]:
    """Change what a memory says; its earlier words go to its history."""
    return _item(memories.update(asked.id, _text(asked.given, "content"), user=asked.user), asked.user)


def _delete(memories: Memories, asked: Asked) -> Mapping[str, Any]:
    """Erase a memory with its history and all that was drawn from it."""
    memories.get(asked.id, user=asked.user)
    return _erased(memories.forget([asked.id], user=asked.user))


def _delete_scope(memories: Memories, asked: Asked) -> Mapping[str, Any]:
    """Erase all memories of the user, or those of a project, of some types, or both."""
    project, types = _project(asked.given), _types(asked.given.get("type", _UNSET))
    forget = partial(memories.forget_scope, user=asked.user, project=project)
    return _erased([id for type in types or (None,) for id in forget(type=type)])


def _forget(memories: Memories, asked: Asked) -> Mapping[str, Any]:
    """Show what concerns a description, or goes with some ids; with `ids` and `confirm`, erase just these."""
    confirm, ids = asked.given.get("confirm", False), _ids(asked.given)
    if not isinstance(confirm, bool):
        _refuse("INVALID_CONFIRM", "`confirm` is true or false.")
    if ids is None and confirm:
        _refuse("INVALID_IDS", "A description alone erases nothing. Send the `ids` that it shows, and `confirm`: true.")
    if ids is None:
        about = _text(asked.given, "about")
        shown = memories.concerning(about, user=asked.user, project=_project(asked.given))
        return _to_be_erased(shown, asked.user)
    try:
        if confirm:
            return _erased(memories.forget(ids, user=asked.user))
        return _to_be_erased(memories.reach(ids, user=asked.user), asked.user)
    except InputError as error:
        raise Refusal(400, "INVALID_IDS", str(error)) from None


def _to_be_erased(shown: Concerned, user: str) -> Mapping[str, Any]:
    cut = [{**_item(one.record, user), "id": one.id, "gone": one.gone, "left": one.left} for one in shown.cut]
    return {
        "success": False,
        "message": "Nothing is erased yet. Send these `ids`, or some of them, and `confirm`: true to erase them.",
        "ids": shown.ids,
        "memories": _items(shown.found, user),
        "drawn": _items(shown.drawn, user),
        "cut": cut,
    }


def _consolidate(memories: Memories, asked: Asked) -> Mapping[str, Any]:
    """Draw together memories that say the same, or refine or correct each other."""
    return {"memories": _items(memories.consolidate(user=asked.user, project=_project(asked.given)), asked.user)}


def _reflect(memories: Memories, asked: Asked) -> Mapping[str, Any]:
    """Draw insights from what recurs; each names the memories it rests on."""
    return {"memories": _items(memories.reflect(user=asked.user, project=_project(asked.given) or ""), asked.user)}


_SCOPE: Final = frozenset(("user_id", "project_id"))
_ROUTES: Final[Sequence[_Route]] = (
    _Route(
        "POST",
        "/v1/memory",
        _store,
        _SCOPE | {"content", "type", "importance", "subject", "attribute", "expires_at"},
        "INVALID_CONTENT",
        201,
    ),
    _Route("GET", "/v1/memory", _list, _SCOPE | {"type", "limit", "cursor"}, "INVALID_CURSOR"),
    _Route("DELETE", "/v1/memory", _delete_scope, _SCOPE | {"type"}, "INVALID_SCOPE"),
    _Route("POST", "/v1/memory/search", _search, _SCOPE | {"query", "types", "limit", "threshold"}, "INVALID_QUERY"),
    _Route("POST", "/v1/memory/forget", _forget, _SCOPE | {"about", "ids", "confirm"}, "INVALID_ABOUT"),
    _Route("POST", "/v1/memory/consolidate", _consolidate, _SCOPE, "INVALID_SCOPE"),
    _Route("POST", "/v1/memory/reflect", _reflect, _SCOPE, "INVALID_SCOPE"),
    _Route("GET", "/v1/memory/{id:path}", _get, frozenset(("user_id",)), "INVALID_MEMORY_ID"),
    _Route("PUT", "/v1/memory/{id:path}", _update, frozenset(("user_id", "content")), "INVALID_CONTENT"),
    _Route("DELETE", "/v1/memory/{id:path}", _delete, frozenset(("user_id",)), "INVALID_MEMORY_ID"),
)


# --- requests and answers ------------------------------------------------------------------------------------------


class _Served:
    """The memories in each store that a server brings; usually there is one."""

    def __init__(self, given: Memories | None) -> None:
        self._given = given
        self._lock = threading.Lock()
        self._found: dict[BaseStore | None, Memories] = {}

    async def store(self) -> BaseStore | None:
        brought = None if self._given is not None else await brought_store()
        return None if brought is None else underneath(brought)

    def memories(self, store: BaseStore | None) -> Memories:
        if self._given is not None:
            return self._given
        with self._lock:
            if store not in self._found:
                self._found[store] = Memories(store)
            return self._found[store]

    def close(self) -> None:
        with self._lock:
            for memories in self._found.values():
                memories.close()


def _endpoint(route: _Route, served: _Served) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            asked = await _asked(request, route.takes)
            store = await served.store()
            content = await run_in_threadpool(lambda: route.operation(served.memories(store), asked))
        except Refusal as refusal:
            return _refused(refusal)
        except MemoryBankError as error:
            return _refused(_refusal_of(error, route.refused_as))
        return _json(content, route.status)

    answer.__doc__ = json.dumps({"summary": route.operation.__doc__, "tags": ["Memory"]})  # read by /openapi.json
    return answer


def _refusal_of(error: MemoryBankError, refused_as: str) -> Refusal:
    match error:
        case NoUserError():
            return Refusal(401, "MISSING_USER_ID", str(error))
        case UnknownMemoryError():
            return Refusal(404, "NOT_FOUND", "This user has no such memory.")
        case InputError():
            return Refusal(400, refused_as, str(error))
        case StorageError() | EmbeddingError() | SettingsError() | EngineError():
            _LOG.warning("A request for memories failed: %s", error)
            code = "MODEL_NOT_AVAILABLE" if isinstance(error, EngineError) else "MEMORY_NOT_AVAILABLE"
            return Refusal(503, code, "The memory is not available now. The log of the server says why; try again.")
        case _:
            raise error


async def _asked(request: Request, takes: frozenset[str]) -> Asked:
    """What a request asks for, checked as far as that goes without the memories."""
    parameters = _parameters(request)
    body = await _body(request) if request.method != "GET" else {}
    if body and request.method == "DELETE":  # whoever names a scope there would have everything erased
        _refuse("INVALID_BODY", "What is to be erased stands in the address: ?project_id=... and type=...")
    try:
        user = requesting(request.scope, request.headers.get(USER_HEADER), _claimed(parameters, body))
    except NoUserError:
        raise
    except InputError as error:
        raise Refusal(400, "INVALID_USER_ID", str(error)) from None
    given = body if request.method in ("POST", "PUT") else parameters
    others = {} if given is parameters else parameters
    if unknown := sorted((given.keys() - takes) | (others.keys() - {"user_id"})):
        _refuse("INVALID_PARAMETER", f"There is no {unknown[0]!r} here. There is {', '.join(sorted(takes))}.")
    id = _id(request) if "id" in request.path_params else ""
    return Asked(user, id, given)


def _id(request: Request) -> str:
    id = str(request.path_params["id"])
    if not is_plain(id) or not str(request.scope["path"]).endswith(id):  # a line break at the end matches no `.*`
        _refuse("INVALID_MEMORY_ID", "The id of a memory is made of letters, digits and `._@:/$-`.")
    return id


def _parameters(request: Request) -> dict[str, str]:
    pairs = request.query_params.multi_items()
    if len({name for name, _ in pairs}) < len(pairs):
        _refuse("INVALID_PARAMETER", "A parameter is given twice. Give each once; types are parted by commas.")
    return dict(pairs)


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object of a request; nothing at all counts as an empty one."""
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > LONGEST:
            _refuse("INVALID_BODY", f"The body of a request has at most {LONGEST:,} bytes. Send it in parts.")
    try:
        found: Any = json.loads(received) if received.strip() else {}
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        _refuse("INVALID_BODY", "The body of this request is an object as JSON.")
    return cast("dict[str, Any]", found)


def _claimed(parameters: Mapping[str, str], body: Mapping[str, Any]) -> str | None:
    """Whom the request itself names; it may do so in its address or its body, but not two different ones."""
    named = [source["user_id"] for source in (parameters, body) if source.get("user_id") not in (None, "")]
    if any(not isinstance(name, str) for name in named) or len(set(named)) > 1:
        raise Refusal(400, "INVALID_USER_ID", "`user_id` is a text, and the same wherever it is given.")
    return named[0] if named else None


def _refuse(code: str, message: str) -> NoReturn:
    raise Refusal(400, code, message)


def _refused(refusal: Refusal) -> Response:
    told = {"code": refusal.code, "message": str(refusal), "timestamp": datetime.now(UTC).isoformat(timespec="seconds")}
    return _json({"error": told}, refusal.status)


def _json(content: Mapping[str, Any], status: int) -> Response:
    return Response(json.dumps(content), status, media_type="application/json")  # ASCII: any text can be sent


# --- what is given and shown ---------------------------------------------------------------------------------------


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        _refuse(f"INVALID_{name.upper()}", f"`{name}` is a text that is not blank.")
    return value


def _ids(given: Mapping[str, Any]) -> Sequence[str] | None:
    value = given.get("ids")
    if value is not None and not (
        isinstance(value, list) and all(isinstance(id, str) for id in cast("list[Any]", value))
    ):
        _refuse("INVALID_IDS", "`ids` is a list of ids, as they are shown.")
    return cast("Sequence[str] | None", value)


def _project(given: Mapping[str, Any]) -> str | None:
    value = given.get("project_id")
    if value is not None and not isinstance(value, str):
        _refuse("INVALID_PROJECT_ID", "`project_id` is a text.")
    return value


def _type(value: object) -> RecordType:
    if value not in TYPES:
        _refuse("INVALID_TYPE", f"There is no type of memory {value!r}. Use {', '.join(TYPES)}.")
    return value


def _types(value: object) -> Sequence[RecordType] | None:
    """Types as a list, or as a text parted by commas; an empty one is an error, since it could mean all."""
    if value is _UNSET or value is None:
        return None
    names: object = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list) or not names:
        _refuse("INVALID_TYPE", f"Name some of the types {', '.join(TYPES)}, or leave them out for all.")
    return [_type(name) for name in cast("list[object]", names)]


def _limit(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        _refuse("INVALID_LIMIT", f"A limit is a whole number from 1; more than {MOST} are not sent at once.")
    return min(value, MOST)


def _threshold(value: object) -> Least:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1:
        _refuse("INVALID_THRESHOLD", "A threshold is a cosine from -1 to 1, or null for none.")
    return float(value)


def _share(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        _refuse(f"INVALID_{name.upper()}", f"`{name}` is a number from 0 to 1.")
    return float(value)


def _moment(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(cast(str, value))
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):  # the last: no year of UTC has it
        pass
    _refuse("INVALID_EXPIRES_AT", "A memory ends at a time with its zone, such as 2030-01-31T12:00:00Z.")


def _items(records: Sequence[Record], user: str) -> list[Mapping[str, Any]]:
    return [_item(record, user) for record in records]


def _item(record: Record, user: str) -> Mapping[str, Any]:
    """A memory as it is sent."""
    return {
        "id": record["id"],
        "type": record["type"],
        "content": record["text"],
        "user_id": user,
        "project_id": record["project"],
        "source": _origin(record),
        "sources": record["sources"],
        "importance": record["importance"],
        "trust": record["trust"],
        "access_count": record["access_count"],
        "created_at": record["created_at"],
        "updated_at": record["updated_at"],
        "expires_at": record["expires_at"],
        "replaced_by": record["replaced_by"],
        "contradicts": record["contradicts"],
        "history": record["history"],
    }


def _origin(record: Record) -> str:
    if record["evidence"]:
        return "reflection"
    return "conversation" if any(source["conversation"] for source in record["sources"]) else "explicit"


def _erased(ids: Sequence[str]) -> Mapping[str, Any]:
    return {"success": True, "message": f"Memories erased: {len(ids)}.", "deleted": list(ids)}


app: Final = build_app()
"""What `http.app` in langgraph.json names."""
