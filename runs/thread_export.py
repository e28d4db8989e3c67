"""Exports the memory bank of a thread of LangGraph's server, whose state only names texts and memories.

Whose thread it is, the server itself is asked, as the client that wants the export: by a request within the process.
"""

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final
from uuid import UUID

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.runs.export import exported
from agentic_memory_bank.runs.http_requests import RequestRefused
from agentic_memory_bank.tools.embeddings.encoder import Encoder

_OF_WHO_ASKS: Final = ("type", "asgi", "http_version", "scheme", "headers", "client", "server", "state")
"""What a request within the process takes over from the one around it."""


async def thread_export(request: Request) -> bytes:
    """Write the memory bank of a thread as `import` takes it; files that texts came with are not in it.

    Raises:
        RequestRefused: There is no such thread for who asks, it holds no memory bank, or no server is around.
    """
    thread = _id(request)
    await _check_is_theirs(request, thread)
    saver = await _server("langgraph_api._checkpointer").get_checkpointer()
    bank = build_memory_bank().copy({"checkpointer": saver})
    state: Mapping[str, Any] = (await bank.aget_state({"configurable": {"thread_id": thread}})).values
    if not state.get("insight_doc", {}).get("id"):  # other graphs' checkpoints read as an empty bank
        raise RequestRefused(404, "NOT_FOUND", "This thread holds no memory bank.")
    return await run_in_threadpool(lambda: exported(state, Encoder().model))


def _id(request: Request) -> str:
    try:
        return str(UUID(str(request.path_params["id"])))
    except ValueError:
        raise _unknown() from None


async def _check_is_theirs(request: Request, thread: str) -> None:
    """Check that the server shows this thread to who asks, by whatever its auth says."""
    outer = request.scope
    path = f"{outer.get('root_path', '')}/threads/{thread}"
    scope = {name: outer[name] for name in _OF_WHO_ASKS if name in outer} | {
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": outer.get("app_root_path", ""),
    }
    told: list[int] = []

    async def receive() -> Mapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    await _server("langgraph_api.server").app(scope, receive, send)
    if told != [200]:
        raise _unknown()


def _unknown() -> RequestRefused:
    return RequestRefused(404, "NOT_FOUND", "This user has no such thread.")


def _server(name: str) -> ModuleType:
    """Find a module of the server that runs this; it is never loaded for this alone."""
    found = sys.modules.get(name)
    if found is None:
        raise RequestRefused(
            501, "NO_THREADS", "Threads are exported by LangGraph's server, which is not running here."
        )
    return found
