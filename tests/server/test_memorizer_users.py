"""On a server with accounts, a memory belongs to who is authenticated, whatever a client writes into its request."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client

from agentic_memory_bank.tools.pages.stores import PageStores

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

ROOT = Path(__file__).parents[2]
AUTH = """
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def who(authorization: str | None) -> Auth.types.MinimalUserDict:
    if not authorization:
        raise Auth.exceptions.HTTPException(status_code=401, detail="Say who you are.")
    return {"identity": authorization.removeprefix("Bearer ")}
"""


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a server with accounts, and its home folder."""
    folder, port = tmp_path_factory.mktemp("accounts"), _port()
    (folder / "auth.py").write_text(AUTH)
    config = {
        "dependencies": [str(ROOT)],
        "graphs": {"memorizer": {"path": f"{ROOT}/graph/memorizer.py:graph"}},
        "auth": {"path": "./auth.py:auth"},
    }
    (folder / "langgraph.json").write_text(json.dumps(config))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MEMORY_BANK_HOME": str(folder / "home"),
        "HF_HUB_OFFLINE": "1",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
    }
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    log, address = folder / "log", f"http://127.0.0.1:{port}"
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out, start_new_session=True)
    try:
        limit = time.monotonic() + 300
        while time.monotonic() < limit and process.poll() is None:
            try:
                if httpx.get(f"{address}/ok", timeout=2).status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.2)
        else:
            pytest.fail(log.read_text()[-3_000:])
        yield address, folder / "home"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def memorize(address: str, user: str, text: str, **request: Any) -> dict[str, Any]:
    with get_sync_client(url=address, headers={"Authorization": f"Bearer {user}"}) as client:
        given = {"texts": [text], "memory": "notes"}
        return client.runs.wait(None, "memorizer", input=given, **request)  # type: ignore[return-value]


def test_users_of_a_server_share_no_memory(served: tuple[str, Path]) -> None:
    address, home = served
    for user in ("ann", "bob"):
        assert memorize(address, user, f"A note of {user}.")["status"] == "completed"

    kept = {u: [p["text"] for _, p in PageStores(home).of("notes", u).pages()] for u in ("ann", "bob", "")}
    assert kept == {"ann": ["A note of ann."], "bob": ["A note of bob."], "": []}


@pytest.mark.parametrize("place", ["config", "context"])
@pytest.mark.parametrize(
    "claim",
    [{"langgraph_auth_user_id": "ann"}, {"langgraph_auth_user": {"identity": "ann"}}],
    ids=lambda claim: [*claim][0],
)
def test_nobody_can_claim_to_be_somebody_else(served: tuple[str, Path], place: str, claim: dict[str, Any]) -> None:
    address, home = served
    before = PageStores(home).of("notes", "ann").pages()
    request: Any = {"config": {"configurable": claim}} if place == "config" else {"context": claim}
    with suppress(httpx.HTTPError):  # refused, or taken for what he is
        memorize(address, "mallory", f"A lie in {place} {[*claim]}.", **request)

    assert PageStores(home).of("notes", "ann").pages() == before


def test_a_name_is_no_path_on_the_server(served: tuple[str, Path]) -> None:
    address, home = served
    with get_sync_client(url=address, headers={"Authorization": "Bearer eve"}) as client:
        given = {"texts": ["A note."], "memory": "../../../escaped"}
        client.runs.wait(None, "memorizer", input=given)

    assert {file.parent for file in home.rglob("*") if file.is_file()} == {home / "pages"}
