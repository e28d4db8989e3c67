"""Exports the memory bank of a thread of LangGraph's server, whose state only names texts and memories.

Whose thread it is, the server itself is asked, as the client that wants the export: by a request within the process.
"""

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final
from uuid import UUID

import httpx
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.runs.export import exported
from agentic_memory_bank.runs.http_requests import RequestRefused
from agentic_memory_bank.tools.embeddings.encoder import Encoder

_OF_THE_BODY: Final = (b"content-length", b"content-type", b"transfer-encoding")


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
    within = httpx.ASGITransport(_server("langgraph_api.server").app)
    headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _OF_THE_BODY]
    async with httpx.AsyncClient(transport=within, base_url=str(request.base_url)) as client:
        answer = await client.get(f"/threads/{thread}", headers=headers)
    if answer.status_code != 200:
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
