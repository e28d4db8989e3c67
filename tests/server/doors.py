"""The seven graphs over `/mcp` and A2A by the official clients, in each mode of who asks: what passed, or why not.

`make doors` prints the table; it starts a server of langgraph.json for each mode, on loopback.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid5

import httpx
import httpx2
from a2a.client import ClientConfig, create_client
from a2a.helpers import get_stream_response_text, new_data_part, new_message, new_text_part
from a2a.types import Role, SendMessageRequest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agentic_memory_bank.runs.server import new_token

from .conftest import NAMESPACE, USER, serving

GRAPHS: Final = ("memory_bank", "memorizer", "researcher", "recall", "remember", "conversation", "react_mem")
MODES: Final = ("local", "proxy", "token", "none")
ASKED: Final = "What is my heron called?"
TEXT: Final = "My heron is called Igor."
_OF_A_USER: Final = ("recall", "remember", "conversation", "react_mem")
_EXPECTED: Final = {"memorizer": "1", "remember": "waiting"}
"""What an answer holds, where it is not the name of the heron: the pages that were kept, how many turns wait."""


class Served(NamedTuple):
    """A server of one mode: who asks it, and somebody else, if others are let in at all."""

    mode: str
    url: str
    asking: Mapping[str, str]
    other: Mapping[str, str] | None


class Row(NamedTuple):
    """What became of one graph in one mode: empty where all passed, else why not."""

    mode: str
    graph: str
    mcp: str
    a2a: str


@contextmanager
def served(mode: str, folder: Path) -> Iterator[Served]:
    """Start a server of a mode, with a memory and a page of who asks."""
    given: dict[str, str] = {"MEMORY_BANK_RECALL_TIMEOUT": "30"}
    asking: dict[str, str] = {}
    other: dict[str, str] | None = None
    if mode == "proxy":
        asking, other = {USER: "ann"}, {USER: "bob"}
    if mode == "token":
        made = [new_token(name) for name in ("ann", "bob")]
        file = folder / "tokens"
        file.touch(mode=0o600)
        file.write_text("".join(f"{line}\n" for _, line in made))
        asking, other = ({"Authorization": f"Bearer {token}"} for token, _ in made)
        given["MEMORY_BANK_TOKENS"] = str(file)
    if mode != "none":
        given["MEMORY_BANK_AUTH"] = mode
    with serving(folder, without=("auth",) if mode == "none" else (), **given) as server:
        if mode != "none":
            httpx.post(f"{server.url}/v1/memory", json={"content": TEXT}, headers=asking, timeout=60).raise_for_status()
        yield Served(mode, server.url, asking, other)


def asked(graph: str) -> dict[str, Any]:
    """What a graph is given: what it is asked, or what it is to keep."""
    if graph == "memory_bank":
        return {"messages": ASKED, "documents": [TEXT]}
    return {"messages": TEXT if graph == "memorizer" else ASKED}


async def over_mcp(url: str, headers: Mapping[str, str], graph: str) -> str:
    """Call a graph by `mcp`, and read its JSON; an error is its reason."""
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=120) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        if graph not in {tool.name for tool in (await client.list_tools()).tools}:
            return "it is not among the tools"
        done = await client.call_tool(graph, asked(graph))
        found: Any = done.structured_content
        if done.is_error:
            return str(getattr(done.content[0], "text", done))
    told = ("answer", "block", "pages", "receipt", "messages")
    return str({name: found[name] for name in told if found.get(name)})


async def over_a2a(url: str, headers: Mapping[str, str], graph: str) -> str:
    """Send the agent of a graph a message by `a2a-sdk`, and hear its answer."""
    given = asked(graph)
    parts = [new_text_part(given.pop("messages")), *([new_data_part(given)] if given else [])]
    request = SendMessageRequest(message=new_message(parts, role=Role.ROLE_USER))
    card = f"/.well-known/agent-card.json?assistant_id={uuid5(NAMESPACE, graph)}"
    async with httpx.AsyncClient(headers=dict(headers), timeout=120) as http:
        config = ClientConfig(streaming=False, httpx_client=http)
        async with await create_client(url, config, relative_card_path=card) as client:
            events = [get_stream_response_text(event) or str(event) async for event in client.send_message(request)]
    return " ".join(events)


async def tried(server: Served, graph: str, call: Callable[..., Awaitable[str]]) -> str:
    """Why a graph does not do what it should over a door; empty where it does."""
    try:
        said = await call(server.url, server.asking, graph)
    except Exception as fault:  # whatever a client raises is a row of the table
        return f"{type(fault).__name__}: {fault}"[:200]
    if server.mode == "none" and graph in _OF_A_USER:  # nobody is known, and a client can name nobody
        return "" if "NoUser" in said or "Nobody is named" in said else f"said: {said[:160]}"
    expected = _EXPECTED.get(graph, "Igor")
    if expected not in said:
        return f"said: {said[:160]}"
    if server.other is not None and graph in ("researcher", "recall", "conversation", "react_mem"):
        heard = await call(server.url, server.other, graph)
        return f"another user heard: {heard[:160]}" if "Igor" in heard else ""
    return ""


async def rows(server: Served, graphs: Sequence[str] = GRAPHS) -> list[Row]:
    """Try graphs over both doors, in their order: what one keeps another finds."""
    return [
        Row(server.mode, graph, await tried(server, graph, over_mcp), await tried(server, graph, over_a2a))
        for graph in graphs
    ]


def main() -> None:
    """Print the table; exit with 1 where anything failed."""
    found: list[Row] = []
    for mode in MODES:
        with tempfile.TemporaryDirectory() as folder, served(mode, Path(folder)) as server:
            found += asyncio.run(rows(server))
    lines = ["| mode | graph | `/mcp`, by `mcp` | A2A, by `a2a-sdk` |", "|---|---|---|---|"]
    lines += [f"| {row.mode} | {row.graph} | {row.mcp or 'passed'} | {row.a2a or 'passed'} |" for row in found]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.exit(any(row.mcp or row.a2a for row in found))


if __name__ == "__main__":
    main()
