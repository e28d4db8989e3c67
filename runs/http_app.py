"""The HTTP app with the routes of `/v1/memory`, which langgraph.json names for LangGraph's server.

Only a server loads this: Starlette comes with it. Whatever blocks is done on threads. A request that names no project
means those of all projects where it reads or erases, and none where it stores; an empty `project_id` means the memories
without a project.
"""

import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple

from langgraph.store.base import BaseStore
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentic_memory_bank.runs.http_requests import (
    UNSET,
    MemoryRequest,
    RequestRefused,
    ids_of,
    limit_of,
    memories_json,
    memory_json,
    moment_of,
    project_of,
    read_request,
    refuse,
    share_of,
    text_of,
    threshold_of,
    type_of,
    types_of,
)
from agentic_memory_bank.runs.mcp_graphs import McpGraphs
from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.runs.server import brought_store
from agentic_memory_bank.runs.thread_export import thread_export
from agentic_memory_bank.runs.viewer.page import headers, page
from agentic_memory_bank.runs.viewer.users import user_snapshot
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
from agentic_memory_bank.tools.memories.deletion import DeletionPreview
from agentic_memory_bank.tools.memories.store_adapter import underneath

LIMIT: Final = 20
"""How many memories a listing has by default."""

_LOG: Final = logging.getLogger(__name__)
Operation = Callable[[Memories, MemoryRequest], "Mapping[str, Any] | Response"]


class _Route(NamedTuple):
    """Takes one operation from a request to its answer."""

    method: str
    path: str
    operation: Operation
    takes: frozenset[str]
    refused_as: str
    """Code of the error for what `Memories` refuses."""
    status: int = 200


def build_app(memories: Memories | None = None) -> Starlette:
    """Build the app.

    Args:
        memories: The memories to serve. Default: those in the store of the server around the app, or else in the file.
    """
    served = _Served(memories)

    @asynccontextmanager
    async def closing(_: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(served.close)

    routes = [Route(r.path, _endpoint(r, served), methods=[r.method]) for r in _ROUTES]
    routes += [Route("/v1/threads/{id}/export", _export, methods=["GET"]), Route("/mcp", McpGraphs())]
    return Starlette(routes=routes, lifespan=closing)


# --- operations ----------------------------------------------------------------------------------------------------


def _store(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """Store a memory as it is given."""
    given = asked.given
    about: dict[str, Any] = {name: given[name] for name in ("subject", "attribute") if name in given}
    about["project"] = project_of(given) or ""
    if "type" in given:
        about["type"] = type_of(given["type"])
    if "importance" in given:
        about["importance"] = share_of(given["importance"], "importance")
    if given.get("expires_at") is not None:
        about["expires_at"] = moment_of(given["expires_at"])
    return memory_json(memories.store(text_of(given, "content"), user=asked.user, **about), asked.user)


def _search(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """Search memories, best first."""
    given = asked.given
    found = memories.search(
        text_of(given, "query"),
        user=asked.user,
        project=project_of(given),
        types=types_of(given.get("types", UNSET)),
        limit=limit_of(given["limit"]) if "limit" in given else None,
        threshold=threshold_of(given["threshold"]) if "threshold" in given else "default",
    )
    return {"memories": [{**memory_json(one.record, asked.user), "similarity": one.cosine} for one in found]}


def _list(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """List memories, newest first, a page at a time."""
    given = asked.given
    limit = limit_of(given.get("limit", LIMIT))
    types = types_of(given.get("type", UNSET))
    listing = memories.list(
        user=asked.user, project=project_of(given), types=types, limit=limit, cursor=given.get("cursor")
    )
    return {"memories": memories_json(listing.records, asked.user), "limit": limit, "cursor": listing.cursor}


def _get(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """Get a memory with its history."""
    return memory_json(memories.get(asked.id, user=asked.user), asked.user)


def _update(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """Change the text of a memory, whose earlier text goes to its history, or whether it is pinned, or both."""
    pinned: Any = asked.given.get("pinned")
    if pinned is not None and not isinstance(pinned, bool):
        refuse("INVALID_PINNED", "`pinned` is true or false.")
    if "content" in asked.given or pinned is None:
        memories.update(asked.id, text_of(asked.given, "content"), user=asked.user)
    if pinned is not None:
        memories.pin(asked.id, user=asked.user, pinned=pinned)
    return _get(memories, asked)


def _delete(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """Delete a memory with its history and all that was derived from it."""
    memories.get(asked.id, user=asked.user)
    return _erased(memories.delete([asked.id], user=asked.user))


def _delete_scope(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """Delete all memories of the user, or those of a project, of some types, or both."""
    project, types = project_of(asked.given), types_of(asked.given.get("type", UNSET))
    forget = partial(memories.delete_all, user=asked.user, project=project)
    return _erased([id for type in types or (None,) for id in forget(type=type)])


def _forget(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """Preview the deletion of what a description is about, or of ids; with `ids` and `confirm`, delete just these."""
    confirm, ids = asked.given.get("confirm", False), ids_of(asked.given)
    if not isinstance(confirm, bool):
        refuse("INVALID_CONFIRM", "`confirm` is true or false.")
    if ids is None and confirm:
        refuse("INVALID_IDS", "A description alone erases nothing. Send the `ids` that it shows, and `confirm`: true.")
    if ids is None:
        about = text_of(asked.given, "about")
        shown = memories.preview_delete_about(about, user=asked.user, project=project_of(asked.given))
        return _to_be_erased(shown, asked.user)
    try:
        if confirm:
            return _erased(memories.delete(ids, user=asked.user))
        return _to_be_erased(memories.preview_delete(ids, user=asked.user), asked.user)
    except InputError as error:
        raise RequestRefused(400, "INVALID_IDS", str(error)) from None


def _to_be_erased(shown: DeletionPreview, user: str) -> Mapping[str, Any]:
    cut = [
        {**memory_json(one.record, user), "id": one.id, "gone": one.removed, "left": one.remaining}
        for one in shown.redacted
    ]
    return {
        "success": False,
        "message": "Nothing is erased yet. Send these `ids`, or some of them, and `confirm`: true to erase them.",
        "ids": shown.ids,
        "memories": memories_json(shown.matched, user),
        "drawn": memories_json(shown.derived, user),
        "cut": cut,
    }


def _mode(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """Say whether the user, or a conversation, wants a memory."""
    return {"mode": memories.mode(user=asked.user, **_conversation(asked.given))}


def _switch(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """Switch memory on or off for the user, or for a conversation: `on`, `recall` (nothing is stored) or `off`."""
    mode: Any = text_of(asked.given, "mode")
    return {"mode": memories.switch(mode, user=asked.user, **_conversation(asked.given))}


def _conversation(given: Mapping[str, Any]) -> Mapping[str, Any]:
    named = text_of(given, "conversation_id") if given.get("conversation_id") is not None else None
    return {"project": project_of(given) or "", "conversation_id": named}


def _consolidate(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """Merge memories that repeat, refine or correct each other."""
    return {
        "memories": memories_json(memories.consolidate(user=asked.user, project=project_of(asked.given)), asked.user)
    }


def _reflect(memories: Memories, asked: MemoryRequest) -> Mapping[str, Any]:
    """Derive insights from what recurs; each names the memories it rests on."""
    return {
        "memories": memories_json(memories.reflect(user=asked.user, project=project_of(asked.given) or ""), asked.user)
    }


def _view(memories: Memories, asked: MemoryRequest) -> Response:
    """Show the user's memories as a page that changes nothing; a `question` shows what that message recalls."""
    question = text_of(asked.given, "question") if "question" in asked.given else None
    html = page(user_snapshot(memories, asked.user, question)).encode("utf-8", "replace")
    return Response(html, headers=headers(), media_type="text/html")


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
    _Route("GET", "/v1/memory/switch", _mode, _SCOPE | {"conversation_id"}, "INVALID_SCOPE"),
    _Route("PUT", "/v1/memory/switch", _switch, _SCOPE | {"conversation_id", "mode"}, "INVALID_MODE"),
    _Route("GET", "/v1/memory/view", _view, frozenset(("user_id",)), "INVALID_USER_ID"),
    _Route("POST", "/v1/memory/view", _view, frozenset(("user_id", "question")), "INVALID_QUESTION"),
    _Route("GET", "/v1/memory/{id:path}", _get, frozenset(("user_id",)), "INVALID_MEMORY_ID"),
    _Route("PUT", "/v1/memory/{id:path}", _update, frozenset(("user_id", "content", "pinned")), "INVALID_CONTENT"),
    _Route("DELETE", "/v1/memory/{id:path}", _delete, frozenset(("user_id",)), "INVALID_MEMORY_ID"),
)


# --- requests and answers ------------------------------------------------------------------------------------------


class _Served:
    """Keeps one `Memories` for each store that a server brings; usually there is one."""

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
            asked = await read_request(request, route.takes)
            store = await served.store()
            content = await run_in_threadpool(lambda: route.operation(served.memories(store), asked))
        except RequestRefused as refusal:
            return _refused(refusal)
        except MemoryBankError as error:
            return _refused(_refusal_of(error, route.refused_as))
        return content if isinstance(content, Response) else _json(content, route.status)

    answer.__doc__ = json.dumps({"summary": route.operation.__doc__, "tags": ["Memory"]})  # read by /openapi.json
    return answer


async def _export(request: Request) -> Response:
    try:
        return Response(await thread_export(request), media_type="application/json")
    except RequestRefused as refusal:
        return _refused(refusal)


_export.__doc__ = json.dumps({"summary": "Export the memory bank of a thread.", "tags": ["Memory"]})


def _refusal_of(error: MemoryBankError, refused_as: str) -> RequestRefused:
    match error:
        case NoUserError():
            return RequestRefused(401, "MISSING_USER_ID", str(error))
        case UnknownMemoryError():
            return RequestRefused(404, "NOT_FOUND", "This user has no such memory.")
        case InputError():
            return RequestRefused(400, refused_as, str(error))
        case StorageError() | EmbeddingError() | SettingsError() | EngineError():
            _LOG.warning("A request for memories failed: %s", error)
            code = "MODEL_NOT_AVAILABLE" if isinstance(error, EngineError) else "MEMORY_NOT_AVAILABLE"
            return RequestRefused(
                503, code, "The memory is not available now. The log of the server says why; try again."
            )
        case _:
            raise error


def _refused(refusal: RequestRefused) -> Response:
    told = {"code": refusal.code, "message": str(refusal), "timestamp": datetime.now(UTC).isoformat(timespec="seconds")}
    return _json({"error": told}, refusal.status)


def _json(content: Mapping[str, Any], status: int) -> Response:
    return Response(json.dumps(content), status, media_type="application/json")  # ASCII: any text can be sent


# --- what is given and shown ---------------------------------------------------------------------------------------


def _erased(ids: Sequence[str]) -> Mapping[str, Any]:
    return {"success": True, "message": f"Memories erased: {len(ids)}.", "deleted": list(ids)}


app: Final = build_app()
"""The object that `http.app` in langgraph.json names."""
