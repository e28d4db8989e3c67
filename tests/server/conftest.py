"""A `langgraph dev` server for the tests of this folder, started once, in a folder of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

ROOT = Path(__file__).parents[2]
SLOW = Path(__file__).with_name("slow_graph.py")
SECONDS_TO_START = 90


class Server(NamedTuple):
    """A running server: where it is, and what it says."""

    url: str
    log: Path


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server of langgraph.json as it stands, with one more graph that is slow on purpose."""
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield server


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Start the server in a folder, and stop it; the attacks start theirs in this way, too."""
    config = json.loads((ROOT / "langgraph.json").read_text())
    config["dependencies"] = [str(ROOT)]
    for graph in config["graphs"].values():
        graph["path"] = str(ROOT / graph["path"])
    config["graphs"]["slow"] = {"path": f"{SLOW}:graph"}
    (folder / "langgraph.json").write_text(json.dumps(config))
    port = _free_port()
    log = folder / "server.log"
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=_environment(folder), stdout=out, stderr=out, start_new_session=True
        )
    try:
        _wait(process, f"http://127.0.0.1:{port}/ok", log)
        yield Server(f"http://127.0.0.1:{port}", log)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


@pytest.fixture(scope="session")
def client(server: Server) -> Iterator[SyncLangGraphClient]:
    """LangGraph's own client of the server."""
    with get_sync_client(url=server.url) as client:
        yield client


def _environment(folder: Path) -> dict[str, str]:
    """No key, no proxy, nothing of the person's: only what a program needs to run."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "HF_HUB_OFFLINE": "1",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    limit = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < limit and process.poll() is None:
        try:
            if httpx.get(url, timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    pytest.fail(f"langgraph dev did not start:\n{log.read_text()[-3000:]}")
