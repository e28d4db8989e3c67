"""Runs memory banks with a chat model in forked children that kill themselves in the midst of their requests.

Started once: it imports everything, then reads orders from stdin, one JSON object a line, and answers each with a line.
"""

import gc
import json
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentic_memory_bank import runs
from agentic_memory_bank.engines.llm import meter
from agentic_memory_bank.engines.openai_client import openai_client
from agentic_memory_bank.testing import ModelServer, ScriptedJudge
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

SUBJECTS = [
    "harbour",
    "market",
    "bridge",
    "lighthouse",
    "museum",
    "station",
    "library",
    "lighthouse",
    "theatre",
    "canal",
    "school",
    "mill",
]
DOCUMENTS = [
    f"The {name} of Aldport has the number {len(name)}. " + f"The {name} is much loved. " * (20 + i)
    for i, name in enumerate(SUBJECTS)
]
SETTINGS = {
    "model": "local:test",
    "gate_english": -1,
    "classify_window": 240,
    "structure_window": 240,
    "max_concurrency": 4,
}
OPTIONS: dict[str, Any] = {
    "embeddings": HashEmbeddings(),
    "clock": lambda: datetime(2026, 1, 1, tzinfo=UTC),
}


def die_after(requests: int, seconds: float) -> None:
    """Kill this process so many seconds after it begins a request of that number."""
    begun, lock = iter(range(1, 1_000_000)), threading.Lock()
    calling: Callable[..., AbstractContextManager[None]] = meter.Meter.calling

    def counted(self: meter.Meter, *given: Any) -> AbstractContextManager[None]:
        with lock:
            number = next(begun)
        if number == requests:
            threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return calling(self, *given)

    meter.Meter.calling = counted  # type: ignore[method-assign]


def carry_out(order: dict[str, Any]) -> dict[str, Any]:
    """Run or resume, and say what came of it."""
    home, options = Path(order["home"]), {**OPTIONS, "thread": order.get("thread", "t")}
    if order.get("database"):
        os.environ["MEMORY_BANK_DATABASE_URL"] = order["database"]
    os.environ |= {"MEMORY_BANK_LOCAL_BASE_URL": order["url"], "MEMORY_BANK_HOME": str(home)}
    if order.get("die"):
        die_after(*order["die"])
    export = home / "memory.json"
    if order["do"] == "resume":
        output = runs.resume(decision=order.get("decision", "continue"), **options)
    else:
        chosen = {**SETTINGS, **order.get("settings", {})}
        question = "Which number has the bridge of Aldport?"
        output = runs.run(question, documents=DOCUMENTS, settings=chosen, keep=True, export=export, **options)
    memory = json.loads(export.read_text())["memory"] if export.exists() else None
    return {"output": output, "memory": memory}


def child(order: dict[str, Any]) -> None:
    """Carry out an order, and write its report."""
    try:
        report = carry_out(order)
    except BaseException:
        report = {"crashed": traceback.format_exc()}
    Path(order["report"]).write_text(json.dumps(report))
    os._exit(0)


def warm_up() -> None:
    """Run once here, so that what is imported on first use is there for every child; its connections are not."""
    with tempfile.TemporaryDirectory() as folder, ModelServer(ScriptedJudge()) as server:
        carry_out({"do": "run", "home": folder, "url": server.url})
    openai_client.cache_clear()


def serve() -> None:
    """Carry out what is ordered, one after the other."""
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            child(json.loads(line))
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(json.dumps({"killed": os.WIFSIGNALED(status)}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    warm_up()
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page of the warm process
    serve()
