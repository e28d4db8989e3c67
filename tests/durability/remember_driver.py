"""Processes that remember a conversation, and kill themselves right after one of their writes if they are told which.

Arguments: for each of them, the store's file and the number of the write; 0 for none. They are children of this one,
one after the other. What is kept, and how it ended, is said of each in a line.
"""

import json
import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from langgraph.store.base import PutOp

from agentic_memory_bank.graph.remember import build_remember
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

SAID = ["I live in Berlin.", "Nice.", "My budget is $10,000.", "OK.", "I moved to Lisbon last month.", "Oh."]


class Killed(SqliteRecordStore):
    """A store whose process is killed after so many writes."""

    left = 0

    def batch(self, ops: Any) -> Any:
        ops = list(ops)
        done = super().batch(ops)
        self.left -= any(isinstance(op, PutOp) for op in ops)
        if self.left == 0 and any(isinstance(op, PutOp) for op in ops):
            os.kill(os.getpid(), signal.SIGKILL)
        return done


class Clock:
    """Always the same day."""

    now = datetime(2026, 5, 8, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now


def remember(place: Path, number: int) -> list[Any]:
    """Hand the conversation over, a turn more each time; what is kept."""
    store = Killed(place)
    store.left = number
    stores = RecordStores(store, Encoder(HashEmbeddings(16)), Clock())
    graph = build_remember(stores=stores, clock=Clock())
    context: Any = {"user": "ann", "remember_every": 2}
    for n in range(2, len(SAID) + 1, 2):
        messages = [(("user", "assistant")[m % 2], text) for m, text in enumerate(SAID[:n])]
        graph.invoke({"messages": messages, "conversation_id": "c"}, context=context)  # type: ignore[typeddict-item]
    kept = stores.of().list("ann", limit=100, replaced=True).records
    dump = sorted([r["id"], r["type"], r["text"], r["replaced_by"], r["sources"]] for r in kept)
    store.close()
    return dump


def main() -> None:
    """Have each done by a child."""
    for place, number in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        child = os.fork()
        if not child:
            sys.stdout.write(json.dumps(remember(Path(place), int(number))))
            sys.stdout.flush()
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"\t{ended}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
