"""The graphs of a server as tools at `/mcp`, whose results are JSON and whose errors have their reasons.

LangGraph's server (langgraph-api 0.16) answers a call with the output as Python writes it, and with the bare name of an
error. Only calls are answered here, by a run of who asks; all else at `/mcp` is the server's own.
"""

import json
import re
import sys
from collections.abc import Mapping
from typing import Any, Final, cast

import httpx
from langgraph_sdk import get_client
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

_INVALID: Final = -32602
"""JSON-RPC's code for parameters that cannot be used."""
_MOST: Final = 1_000
"""Assistants that are looked through for the name of a tool, as the server does."""
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_\-.]")
_LONGEST_NAME: Final = 128


class McpGraphs:
    """Answers at `/mcp` of LangGraph's server; anywhere else, or where `disable_mcp` is set, there is nothing."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as whoever was authenticated."""
        server = sys.modules.get("langgraph_api.api.mcp")
        config = sys.modules.get("langgraph_api.config")
        if server is None or (getattr(config, "HTTP_CONFIG", None) or {}).get("disable_mcp"):
            await Response("Not Found", 404)(scope, receive, send)
            return
        (own,) = server.mcp_routes

        async def answer(request: Request) -> Response:
            called = await _call_in(request) if request.method == "POST" else None
            return await own.endpoint(request) if called is None else JSONResponse(await _called(request, called))

        # A route of the server's kind: the calls within are then made for who asks, and not for nobody.
        await type(own)(own.path, answer, methods=sorted(own.methods)).handle(scope, receive, send)


async def _call_in(request: Request) -> Mapping[str, Any] | None:
    """The call of a tool, if the request is one in good form."""
    try:
        given: object = json.loads(await request.body())
    except ValueError:
        return None
    message = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
    is_call = message.get("jsonrpc") == "2.0" and message.get("method") == "tools/call"
    accepted = request.headers.get("accept", "")
    is_heard = "application/json" in accepted or "text/event-stream" in accepted
    return message if is_call and is_heard and message.get("id") is not None else None


async def _called(request: Request, message: Mapping[str, Any]) -> dict[str, Any]:
    """What a call is answered with."""
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    params = message.get("params")
    given = cast("Mapping[str, Any]", params) if isinstance(params, Mapping) else {}
    client, headers = get_client(url=None), dict(request.headers)
    found = await client.assistants.search(limit=_MOST, headers=headers)
    named = [one["assistant_id"] for one in found if tool_name(one["name"]) == given.get("name")]
    if len(named) != 1:
        what = f"Unknown tool: {given.get('name')}" if not named else "Multiple tools found with the same name."
        return {**answer, "error": {"code": _INVALID, "message": what}}
    try:
        value: Any = await client.runs.wait(
            None,
            named[0],
            input=given.get("arguments") or {},
            context=given.get("context"),
            headers=headers,
            raise_error=False,
        )
    except httpx.HTTPStatusError as refused:
        return {**answer, "result": _failed(_reason(refused))}
    if isinstance(value, dict) and "__error__" in value:
        return {**answer, "result": _failed("{error}: {message}".format_map(value["__error__"]))}
    text = {"type": "text", "text": json.dumps(value, ensure_ascii=False)}
    structured = {"structuredContent": value} if isinstance(value, dict) else {}
    return {**answer, "result": {"content": [text], **structured, "isError": False}}


def tool_name(assistant: str) -> str:
    """Name the tool of an assistant, as the server lists it."""
    return _NOT_IN_NAMES.sub("", "_".join(assistant.split()))[:_LONGEST_NAME]


def _failed(reason: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": reason}], "isError": True}


def _reason(refused: httpx.HTTPStatusError) -> str:
    """Why the server refuses a run: a context that names somebody else, say."""
    try:
        return str(refused.response.json()["detail"])
    except (ValueError, KeyError, TypeError, httpx.StreamError):
        return str(refused)
