"""`langgraph dev` servers for the tests of this folder, each started once, in a folder of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4, uuid5

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

ROOT = Path(__file__).parents[2]
SLOW = Path(__file__).with_name("slow_graph.py")
SECONDS_TO_START = 300
USER = "x-authz-user-id"
NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")  # LangGraph's server makes ids of assistants with it


class Server(NamedTuple):
    """A running server: where it is, what it says, and where it keeps things."""

    url: str
    log: Path
    home: Path

    def as_user(self, user: str) -> SyncLangGraphClient:
        """LangGraph's own client, for one user."""
        return get_sync_client(url=self.url, headers={USER: user})

    def request(self, user: str, method: str, path: str, **more: Any) -> httpx.Response:
        """One request of a user's."""
        headers = {USER: user, **more.pop("headers", {})}
        return httpx.request(method, f"{self.url}{path}", headers=headers, timeout=60, **more)

    def called(self, user: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool of `/mcp` gives a user."""
        params = {"name": tool, **({"context": c} if (c := arguments.pop("context", None)) else {})}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "arguments": arguments}}
        accept = {"Accept": "application/json, text/event-stream"}
        answer = self.request(user, "POST", "/mcp", json=asked, headers=accept)
        answer.raise_for_status()
        return answer.json()

    def sent(self, user: str, graph: str, *parts: dict[str, Any], **message: Any) -> dict[str, Any]:
        """What the assistant of a graph answers a user over A2A."""
        assistant = uuid5(NAMESPACE, graph)
        more = {"context": c} if (c := message.pop("context", None)) else {}
        said = {"role": "user", "messageId": uuid4().hex, "parts": parts, **message}
        asked = {"jsonrpc": "2.0", "id": "1", "method": "message/send", "params": {"message": said, **more}}
        answer = self.request(user, "POST", f"/a2a/{assistant}", json=asked, headers={"Accept": "application/json"})
        answer.raise_for_status()
        return answer.json()


@contextmanager
def serving(
    folder: Path, arguments: Sequence[str] = (), without: Sequence[str] = (), **environment: str
) -> Iterator[Server]:
    """A server of langgraph.json as it stands, or without some of it, with one more graph that is slow on purpose."""
    config = json.loads((ROOT / "langgraph.json").read_text())
    config = {name: value for name, value in config.items() if name not in without}
    config["dependencies"] = [str(ROOT)]
    for graph in config["graphs"].values():
        graph["path"] = str(ROOT / graph["path"])
    config["graphs"]["slow"] = {"path": f"{SLOW}:graph"}
    (folder / "langgraph.json").write_text(json.dumps(config))
    port = free_port()
    log = folder / "server.log"
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    command += arguments
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment_of(folder) | environment,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        wait_for(process, f"http://127.0.0.1:{port}/ok", log)
        yield Server(f"http://127.0.0.1:{port}", log, folder / "home")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Start servers of a module's own, by their variables; they end with the module."""
    with ExitStack() as stack:
        yield lambda **environment: stack.enter_context(serving(tmp_path_factory.mktemp("server"), **environment))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with nothing set up: one user, on this machine."""
    with serving(tmp_path_factory.mktemp("server")) as served:
        yield served


@pytest.fixture(scope="session")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server behind a proxy, which the tests stand in for: the header `x-authz-user-id` says who asks."""
    with serving(tmp_path_factory.mktemp("proxied"), MEMORY_BANK_AUTH="proxy", MEMORY_BANK_RECALL_TIMEOUT="10") as one:
        yield one  # a busy machine is no reason to recall nothing


@pytest.fixture(scope="session")
def client(server: Server) -> Iterator[SyncLangGraphClient]:
    """LangGraph's own client of the server."""
    with get_sync_client(url=server.url) as client:
        yield client


def environment_of(folder: Path) -> dict[str, str]:
    """No key, no proxy, nothing of the person's: only what a program needs to run."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MEMORY_BANK_HOME": str(folder / "home"),
        "HF_HUB_OFFLINE": "1",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
    }


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    """Wait until a server answers, or fail with the end of its log."""
    limit = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < limit and process.poll() is None:
        try:
            if httpx.get(url, timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    pytest.fail(f"the server did not start:\n{log.read_text()[-3000:]}")
