"""Carries out the full run in forked children that kill themselves at a chosen moment, with model and web outside.

Started once: it imports everything, then reads orders from stdin, one JSON object a line, and answers each with a line.
A child passes named moments and writes them down; an order names the one at which it dies, or the number of a request
and how many seconds into it.
"""

import gc
import json
import logging
import os
import sys
import tempfile
import traceback
from functools import wraps
from pathlib import Path
from typing import Any

import full_script
from driver import STAGES, TRAP, around, watch_saver
from paid_driver import OPTIONS, die_after

import agentic_memory_bank.graph.memory_bank as graph_module
from agentic_memory_bank import runs
from agentic_memory_bank.engines.llm import meter
from agentic_memory_bank.engines.llm.answers import AnswerStore
from agentic_memory_bank.engines.openai_client import openai_client
from agentic_memory_bank.runs import run_steps
from agentic_memory_bank.runs.export import memory_digest
from agentic_memory_bank.testing import ModelServer
from agentic_memory_bank.tools.documents.attachments import AttachmentStore
from agentic_memory_bank.tools.web import search

ASKED = {
    "full": {
        "question": full_script.QUESTION,
        "documents": full_script.SOURCES,
        "attachments": [full_script.ATTACHED],
    },
    "again": {"question": full_script.AGAIN},
}
"""The full run, and a second question on its thread, whose one step fails."""


def watch() -> None:
    """Moments around saver, stages, requests, tools and files."""
    watch_saver()
    for name in STAGES:
        watch_stage(name)
    around(AnswerStore, "note", "answer kept")
    around(AnswerStore, "keep_result", "result kept")
    for name in ("stage", "keep", "release"):
        around(AttachmentStore, name, f"file {name}")
    around(run_steps, "write_export")
    asking = meter.Meter.calling

    def asked(self: meter.Meter, *given: Any) -> Any:
        TRAP.reach("ask")
        return asking(self, *given)

    meter.Meter.calling = asked  # type: ignore[method-assign]


def watch_stage(name: str) -> None:
    """Moments when a stage begins and ends; it keeps its name, by which it is known."""
    stage = getattr(graph_module, name)

    @wraps(stage)
    def outer(*given: Any, **named: Any) -> Any:
        TRAP.reach(f"enter {name}")
        update = stage(*given, **named)
        TRAP.reach(f"leave {name}")
        return update

    setattr(graph_module, name, outer)


def carry_out(order: dict[str, Any]) -> dict[str, Any]:
    """Run or resume, and say what came of it."""
    home = Path(order["home"])
    os.environ |= {"MEMORY_BANK_LOCAL_BASE_URL": order["url"], "MEMORY_BANK_HOME": str(home)}
    os.environ["SERPER_API_KEY"] = "of-nobody"
    search._Serper.address = order["search"]
    export = home / f"{order['scenario']}.json"
    if order["do"] == "resume":
        output = runs.resume("t", **OPTIONS)
    else:
        asked = ASKED[order["scenario"]]
        output = runs.run(**asked, settings=full_script.SETTINGS, keep=True, export=export, thread="t", **OPTIONS)
    memory = json.loads(export.read_text())["memory"] if export.exists() else {}
    return {"output": output, "memory": memory, "digest": memory_digest(memory)}


def child(order: dict[str, Any]) -> None:
    """Carry out an order, and write its report."""
    report = Path(order["report"])
    at = order.get("at")
    TRAP.set(tuple(at) if at else None, report.with_suffix(".trace"))
    if order.get("die"):
        die_after(*order["die"])
    try:
        done = carry_out(order)
    except BaseException:
        done = {"crashed": traceback.format_exc()}
    report.write_text(json.dumps(done))
    os._exit(0)


def warm_up() -> None:
    """Run once here, so that what is imported on first use is there for every child; its connections are not."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ModelServer(full_script.judge) as server,
        full_script.serve_web() as web,
    ):
        carry_out({"do": "run", "scenario": "full", "home": folder, "url": server.url, "search": web.search})
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
    logging.disable(logging.CRITICAL)  # one step fails on purpose
    watch()
    warm_up()
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page of the warm process
    serve()
