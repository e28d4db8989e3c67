"""Memorizes in forked children that kill themselves at a chosen moment, and reports what they left behind.

Started once: it imports everything, then reads orders from stdin, one JSON object a line, and answers each with a line.
"""

import gc
import json
import os
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite import SqliteSaver

from agentic_memory_bank.graph.memorizer import build_memorizer
from agentic_memory_bank.runs.checkpoints import open_saver
from agentic_memory_bank.runs.page_runs import PageRunOptions, memorize
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ScriptedJudge
from agentic_memory_bank.testing.replies import ChatRequest
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages import store as page_store
from agentic_memory_bank.tools.pages.store import PageStore
from agentic_memory_bank.tools.pages.stores import PageStores

TEXTS = [f"Log entry {number}. " + f"Sensor{number % 9} read {number * 3} units. " * 12 for number in range(80)]
SETTINGS = {"page_batch": 10, "abstract_window": 4_000, "max_concurrency": 4}
NAME = "m"


class Paid(BaseChatModel):
    """A chat model that writes down each request before it answers."""

    ledger: str
    number: Any = None

    @property
    def _llm_type(self) -> str:
        return "paid"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        with open(self.ledger, "a") as ledger:
            ledger.write(json.dumps(str(messages[1].content)) + "\n")
        moment("request")
        roles = [{"role": m.type, "content": m.content} for m in messages]
        reply = ScriptedJudge()(ChatRequest({"messages": roles}))
        moment("answer")
        return ChatResult(generations=[ChatGeneration(message=AIMessage(json.dumps(reply.data)))])


_die: tuple[str, int] = ("", 0)
_seen: Counter[str] = Counter()


def moment(name: str) -> None:
    """Die here, if it is the moment."""
    _seen[name] += 1
    if _die == (name, _seen[name]):
        os.kill(os.getpid(), signal.SIGKILL)


def around(holder: Any, function: str, name: str) -> None:
    """Make the moments before and after a function."""
    real: Callable[..., Any] = getattr(holder, function)

    def watched(*given: Any, **options: Any) -> Any:
        moment(f"before {name}")
        result = real(*given, **options)
        moment(f"after {name}")
        return result

    setattr(holder, function, watched)


def carry_out(order: dict[str, Any]) -> dict[str, Any]:
    """Memorize all texts, or what is left of them."""
    home = Path(order["home"])
    home.mkdir(parents=True, exist_ok=True)
    ticks = count(order["begun"] * 1_000)
    given = PageRunOptions(
        models=Paid(ledger=str(home / "ledger")),
        embeddings=HashEmbeddings(),
        clock=lambda: datetime.fromtimestamp(next(ticks), UTC),
    )
    if order["how"] == "again":
        return dict(memorize(TEXTS, NAME, Settings(**SETTINGS), home, given))
    with open_saver(home / "checkpoints.sqlite") as saver:
        graph = build_memorizer(
            models=given.models,
            embeddings=given.embeddings,
            stores=PageStores(home),
            clock=given.clock,
            checkpointer=saver,
            answers=home / "answers.sqlite",
        )
        config: Any = {"configurable": {"thread_id": "t"}}
        state = graph.get_state(config)
        asked: Any = None if state.tasks else {"texts": TEXTS, "memory": NAME}
        if state.values.get("status") == "completed":
            return {key: state.values[key] for key in ("pages", "skipped", "status", "usage")}
        return dict(graph.invoke(asked, config, context=SETTINGS, durability="sync"))


def left_behind(home: Path) -> dict[str, Any]:
    """What is in the memory, and how often a model was asked."""
    store = PageStores(home).of(NAME)
    pages = [page for _, page in store.pages()]
    ledger = home / "ledger"
    events = 0
    if store.path and store.path.exists():
        connection = sqlite3.connect(store.path)
        events = connection.execute("SELECT COUNT(*) FROM events").fetchone()[0]
        connection.close()
    store.close()
    return {
        "texts": [page["text"] for page in pages],
        "abstracts": [page["abstract"] for page in pages],
        "events": events,
        "asked": ledger.read_text().splitlines() if ledger.exists() else [],
        "files": sorted(p.suffix for p in (home / "pages").iterdir()) if (home / "pages").exists() else [],
    }


def child(order: dict[str, Any]) -> None:
    """Carry out an order, and write its report."""
    global _die
    _die = tuple(order.get("die") or ("", 0))  # type: ignore[assignment]
    try:
        output = carry_out(order)
        report = {"output": output, "moments": dict(_seen), **left_behind(Path(order["home"]))}
    except BaseException:
        report = {"crashed": traceback.format_exc()}
    Path(order["report"]).write_text(json.dumps(report))
    os._exit(0)


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
    around(page_store, "insert", "insert")
    around(PageStore, "put", "put")
    around(SqliteSaver, "put", "checkpoint")
    around(SqliteSaver, "put_writes", "writes")
    with tempfile.TemporaryDirectory() as folder:
        for how in ("again", "resume"):
            carry_out({"home": f"{folder}/{how}", "how": how, "begun": 0})
    _seen.clear()
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page of the warm process
    serve()
