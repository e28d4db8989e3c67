"""Many runs at once, each with several requests to a chat model at once: none waits for another for ever."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.testing import ChatRequest, ModelServer, ScriptedJudge, http_error
from agentic_memory_bank.testing.faults import Outcome
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

ROOT = Path(__file__).parents[2]
GRAPH = Path(__file__).with_name("model_graph.py")
RUNS = 12
CALLS = 4
"""Requests of one stage of one run at the same time."""
LATENCY = 0.3
LIMIT = 300.0
"""Seconds after which what has not ended hangs."""
SUBJECTS = ["harbour", "market", "bridge", "tower"]
SETTINGS = {"model": "local:test", "classify_window": 240, "structure_window": 240, "max_concurrency": CALLS}
QUESTION = "When was the bridge of Aldport opened?"
_JUDGE = ScriptedJudge()
_KEY_IS_WRONG = threading.Event()


def documents(run: int) -> list[dict[str, str]]:
    return [
        {"text": f"The {name} of Aldport was opened in {1900 + run}. " + "It is loved. " * 30, "source": name}
        for name in SUBJECTS
    ]


def _said(request: ChatRequest) -> Outcome:
    return http_error(401, "wrong key") if _KEY_IS_WRONG.is_set() else _JUDGE(request)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """A model that takes its time, and the variables that name it."""
    with pytest.MonkeyPatch.context() as patch, ModelServer(_said, latency=LATENCY) as server:
        for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
            patch.delenv(name)
        yield server


@pytest.fixture
def _named(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", model.url)
    model.reset()


@pytest.mark.usefixtures("_named")
@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["without a saver", "with a saver"])
async def test_twelve_runs_of_four_parallel_calls_each_all_end_under_ainvoke(model: ModelServer, saver: Any) -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings(), checkpointer=saver)
    context: Any = SETTINGS

    async def run(number: int) -> dict[str, Any]:
        config: Any = {"configurable": {"thread_id": f"t{number}"}}
        return await bank.ainvoke({"question": QUESTION, "documents": documents(number)}, config, context=context)

    results = await asyncio.wait_for(asyncio.gather(*map(run, range(RUNS))), LIMIT)

    assert [result["status"] for result in results] == ["completed"] * RUNS
    assert [f"in {1900 + number}" in result["answer"] for number, result in enumerate(results)] == [True] * RUNS
    assert {result["usage"]["calls"] for result in results} == {results[0]["usage"]["calls"]}
    assert model.most_at_once > CALLS


# --- langgraph dev -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SyncLangGraphClient, Path]]:
    """A client of `langgraph dev` over a graph whose model the environment names, and the server's log."""
    folder = tmp_path_factory.mktemp("models")
    config = {"dependencies": [str(ROOT)], "graphs": {"judged": {"path": f"{GRAPH}:graph"}}}
    (folder / "langgraph.json").write_text(json.dumps(config))
    log, port = folder / "server.log", _free_port()
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    command += ["--n-jobs-per-worker", str(RUNS)]  # all at once
    with log.open("wb") as out:
        environment = _environment(folder, model.url)
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out, start_new_session=True)
    try:
        _wait(process, f"http://127.0.0.1:{port}/ok", log)
        with get_sync_client(url=f"http://127.0.0.1:{port}") as client:
            yield client, log
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def _environment(folder: Path, url: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
        "MEMORY_BANK_LOCAL_BASE_URL": url,
        "MEMORY_BANK_CLIENT_SETTINGS": "default,budget_calls",
        **{f"MEMORY_BANK_{name.upper()}": str(value) for name, value in SETTINGS.items()},
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    limit = time.monotonic() + 300
    while time.monotonic() < limit and process.poll() is None:
        try:
            if httpx.get(url, timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    pytest.fail(f"langgraph dev did not start:\n{log.read_text()[-3000:]}")


def test_twelve_runs_of_four_parallel_calls_each_all_end_under_langgraph_dev(model: ModelServer, served: Any) -> None:
    client, log = served
    model.reset()
    threads = [client.threads.create()["thread_id"] for _ in range(RUNS)]
    given = [{"question": QUESTION, "documents": documents(number)} for number in range(RUNS)]
    runs = [client.runs.create(t, "judged", input=i)["run_id"] for t, i in zip(threads, given, strict=True)]

    limit = time.monotonic() + LIMIT
    states = ["pending"] * RUNS
    while time.monotonic() < limit and any(state in ("pending", "running") for state in states):
        time.sleep(0.3)
        states = [client.runs.get(t, r)["status"] for t, r in zip(threads, runs, strict=True)]

    assert states == ["success"] * RUNS
    answers = [client.threads.get_state(thread)["values"]["answer"] for thread in threads]
    assert [f"in {1900 + number}" in answer for number, answer in enumerate(answers)] == [True] * RUNS
    assert model.most_at_once > CALLS
    assert "Blocking" not in log.read_text()


def test_a_run_under_langgraph_dev_pauses_at_its_budget_and_goes_on(model: ModelServer, served: Any) -> None:
    client, _ = served
    model.reset()
    thread = client.threads.create()["thread_id"]
    given = {"question": QUESTION, "documents": documents(50)}

    client.runs.wait(thread, "judged", input=given, context={"budget_calls": 3})
    paused = client.threads.get_state(thread)
    asked = model.count
    ended = client.runs.wait(thread, "judged", command={"resume": {"budget_calls": 100}}, context={"budget_calls": 3})

    assert paused["interrupts"][0]["value"]["reason"] == "calls"
    assert asked == 3
    assert ended["status"] == "completed"
    assert ended["usage"]["calls"] == model.count


@pytest.mark.parametrize("decision", ["continue", "stop"])
def test_a_run_under_langgraph_dev_that_was_refused_waits_and_goes_on_as_decided(
    model: ModelServer, served: Any, decision: str
) -> None:
    client, _ = served
    model.reset()
    thread = client.threads.create()["thread_id"]
    given = {"question": QUESTION, "documents": documents(60)}
    again = {"command": {"resume": "continue"}}

    _KEY_IS_WRONG.set()
    try:
        client.runs.wait(thread, "judged", input=given)
        client.runs.wait(thread, "judged", **again)
    finally:
        _KEY_IS_WRONG.clear()
    paused, asked = client.threads.get_state(thread), model.count
    ended = client.runs.wait(thread, "judged", command={"resume": decision})

    assert paused["interrupts"][0]["value"]["reason"] == "refused"
    assert 2 <= asked <= 2 * CALLS
    assert ended["status"] == ("completed" if decision == "continue" else "stopped")
    assert (model.count > asked) == (decision == "continue")
