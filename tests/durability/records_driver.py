"""One of several processes that write the memories of one user at the same time; says what it has done, line by line.

Arguments: the store's file, the file of what is done, the number of this process, how many operations, when to begin.
"""

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from agentic_memory_bank.state.errors import UnknownMemoryError
from agentic_memory_bank.state.records import RecordFilter
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories import index_keeper
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

SHARED = 12
"""How many memories all processes revise, use and mark."""


class Writer:
    """Carries out operations at random and writes each down once it has returned."""

    def __init__(self, memories: RecordStore, done: Path, number: int) -> None:
        self.memories, self.number = memories, number
        self.chance = random.Random(number)
        self.lines = done.open("a", buffering=1)
        self.shared = [memories.store("ann", f"Shared fact {n}.").record["id"] for n in range(SHARED)]
        self.step = 0

    def work(self, count: int) -> None:
        kinds = [self.store, self.store, self.repeat, self.touch, self.touch, self.revise, self.supersede, self.forget]
        for _ in range(count):
            self.step += 1
            self.chance.choice(kinds)()

    def say(self, **what: Any) -> None:
        self.lines.write(json.dumps(what) + "\n")

    def store(self) -> None:
        text = f"Fact {self.step} of process {self.number}."
        self.memories.store("ann", text)
        self.say(stored=text)

    def repeat(self) -> None:
        text = f"Common fact {self.chance.randrange(60)}."
        self.memories.store("ann", text, source={"conversation": str(self.number), "turns": [], "quotes": []})
        self.say(stored=text, seen_by=str(self.number))

    def touch(self) -> None:
        ids = self.chance.sample(self.shared, 2)
        self.memories.count_use("ann", ids)
        assert self.memories.flush(60)
        self.say(touched=ids)

    def revise(self) -> None:
        id, text = self.chance.choice(self.shared[:8]), f"Wording {self.step} of process {self.number}."
        self.memories.update("ann", id, text)
        self.say(revised=id, text=text)

    def supersede(self) -> None:
        id, text = self.chance.choice(self.shared[8:]), f"Value {self.step} of process {self.number}."
        self.memories.supersede("ann", id, text)
        self.say(superseded=id, text=text)

    def forget(self) -> None:
        text = f"Secret {self.chance.randrange(8)}."
        id = self.memories.store("ann", text).record["id"]
        try:
            self.memories.update("ann", id, f"{text} Revised in {self.number}.")
        except UnknownMemoryError:  # the other process has just forgotten it
            self.say(too_late=id)
        self.memories.delete("ann", [id])
        self.say(forgotten=id)


def main() -> None:
    """Work, and say at last what this process sees."""
    place, done, number, count, begin = sys.argv[1:]
    index_keeper.FEWEST = 32  # so that files of indexes are written and followed all the time
    store = SqliteRecordStore(Path(place))
    memories = RecordStore(store, Encoder(HashEmbeddings(16)), quota=None)
    writer = Writer(memories, Path(done), int(number))
    time.sleep(max(0.0, float(begin) - time.time()))
    writer.work(int(count))
    writer.say(ended=True)
    sys.stdin.readline()
    with memories._users.opened(next(iter(memories.users()))) as shelf:
        writer.say(sees=dict(shelf.index.records), found=[hit.record["id"] for hit in searched(memories, shelf)])
    writer.lines.close()
    store.close()


def searched(memories: RecordStore, shelf: Any) -> Any:
    """What the index that was followed all the time finds."""
    vector = memories._encoder.vector("fact of process")
    wanted = {"limit": 50, "threshold": None, "alpha": 0.5}
    return shelf.index.search("fact of process", vector, RecordFilter(), "2026", **wanted)


if __name__ == "__main__":
    main()
