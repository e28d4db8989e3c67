"""What do memories cost on Milvus Lite: forgetting one of many, and candidates by its vectors beside our own search?

    python benchmarks/milvus_memories.py [--memories 10000]

Milvus Lite leaves deleted rows in its files, so what is left beside them is copied. *Ours* is the same forgetting in a
store in memory, which copies nothing: the plan of what goes with a memory, the index, the events. *Candidates* are what
`MilvusRecordStore.candidates` finds among the vectors that it keeps with `dense`; *search* is that of the process's
index, with keywords, filters and exact scores.

Times are those of the processor, which other programs leave alone. The exit status says whether the bar holds.
"""

import argparse
import importlib.util
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from _bars import holds  # beside this
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from memory_latency import _WORDS as WORDS  # pyright: ignore[reportPrivateUsage]  # a benchmark, too

from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import user_hash
from agentic_memory_bank.tools.storage.milvus_store import MilvusRecordStore

MOST: Final = 300.0
"""Milliseconds of forgetting."""
TIMES: Final = 5
FILLED: Final = 1_000


def filled(store: BaseStore, count: int) -> RecordStore:
    """A store with the memories of one user."""
    chance, records = random.Random(7), RecordStore(store, Encoder(HashEmbeddings(384)), quota=None)
    drafts: list[Any] = [{"text": f"The user {' '.join(chance.choices(WORDS, k=9))} {n}."} for n in range(count)]
    for start in range(0, count, FILLED):
        records.store_many("ana", drafts[start : start + FILLED])
    records.flush(600)
    return records


def forgetting(records: RecordStore) -> float:
    """Milliseconds of forgetting one memory."""
    ids = [record["id"] for record in records.list("ana", limit=TIMES).records]
    return timed([lambda id=id: records.delete("ana", [id]) for id in ids])


def timed(calls: list[Callable[[], Any]]) -> float:
    """Milliseconds of the processor that the middle call takes, without what is done behind it."""
    taken: list[float] = []
    for call in calls:
        begun = time.thread_time()
        call()
        taken.append((time.thread_time() - begun) * 1_000)
    return statistics.median(taken)


def main() -> int:
    """Print the figures; 1 where the bar does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    count = parser.parse_args().memories
    if not importlib.util.find_spec("milvus_lite"):
        sys.stdout.write('Milvus Lite is not here (pip install "agentic-memory-bank[milvus]"): not measured.\n')
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MEMORY_BANK_HOME"] = f"{folder}/home"
        say(f"{count:,} memories, milliseconds of CPU; load {os.getloadavg()[0]:.1f}")
        say(f"forgetting one in memory, which is ours everywhere: {forgetting(filled(InMemoryStore(), count)):.0f}")
        with closing(MilvusRecordStore(Path(folder) / "plain")) as store:
            records = filled(store, count)
            taken = forgetting(records)
            say(f"forgetting one on Milvus Lite: {taken:.0f}")
            asked = " ".join(WORDS[:3])
            say(f"a whole search: {timed([lambda: records.search('ana', asked, limit=10)] * TIMES):.0f}")
        with closing(MilvusRecordStore(Path(folder) / "dense", dense=True)) as store:
            filled(store, count)
            encoder = Encoder(HashEmbeddings(384))
            vector, model = encoder.vector(asked).tolist(), encoder.model
            near = timed([lambda: store.candidates(user_hash("ana"), vector, 10, model=model)] * TIMES)
            say(f"ten candidates by Milvus Lite: {near:.0f}")
    return 0 if holds(f"forgetting among {count:,} on Milvus Lite, ms", round(taken), most=MOST) else 1


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
