"""What memory adds to the first call of an agent's model: 5,000 facts and 1,000 episodes of one user.

Embedding is left out: the queries are embedded before, and the vectors are made of hashes, of the usual length. Then
the same over a store that sleeps before each answer: facts, episodes and the conversation together are to take little
more than one sleep.

*Cold* is the first recall of a process that has just begun, of a user with 20,000 facts in a file of ours: first as all
events are read, since no index is kept yet, then with the index that was kept, each the median of three processes. It
is to find something, and to take less than its bar of the time that the process computes. `--growth 1000,10000,100000`
prints how filling, the first recall and an export grow with the number of facts. Bytes on the disk are
those of the index; bytes in memory are those that the process has for itself, mapped files left out.
"""

import argparse
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from _bars import holds  # beside this
from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.graph.four_tier import FourTierMemory
from agentic_memory_bank.nodes.deps import Owner
from agentic_memory_bank.nodes.react_mem import episodes
from agentic_memory_bank.nodes.react_mem.deps import Scope
from agentic_memory_bank.nodes.react_mem.recall import query_of, recall_for_agent
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.tools.concurrency.circuit_breaker import circuit_breaker_of
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

FACTS, EPISODES, QUERIES = 5_000, 1_000, 200
MOST, MOST_ASLEEP = 0.050, 0.150
"""Seconds: p95 of what is added, and of both tiers together over a store that sleeps."""
SLEEP = 0.1
COLD_FACTS, COLD_RUNS = 20_000, 3
PATIENCE, COLD_TRIES = 600, 10
MOST_COLD = 0.300
"""Seconds that the first recall of a process may compute."""
_WORDS = [a + b + c + d for a in "bcdfghjk" for b in "aeiou" for c in "lmnprst" for d in ("a", "en", "or", "ik")]


class Sleeping(BaseStore):
    """A store that sleeps before each answer; several may ask at once."""

    def __init__(self) -> None:
        self.inner, self.seconds = InMemoryStore(), 0.0

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Sleep, and answer."""
        time.sleep(self.seconds)
        return self.inner.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same."""
        return self.batch(ops)


def _sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


def _filled(store: BaseStore, chance: random.Random) -> FourTierMemory:
    stores = RecordStores(store, Encoder(HashEmbeddings(384)))
    records = stores.of()
    facts: list[Any] = [{"text": f"The user {_sentence(chance, 9)}."} for _ in range(FACTS)]
    done: Any = {"id": "", "outcome": "It is done.", "lesson": "What worked.", "steps": ["a", "b"], "at": ""}
    tasks = [episodes.draft({**done, "goal": _sentence(chance, 9)}, "c", [], "") for _ in range(EPISODES)]
    for start in range(0, len(facts), 1_000):
        records.store_many("u", facts[start : start + 1_000])
    records.store_many("u", tasks)
    return FourTierMemory(stores=stores)


def _timed(memory: FourTierMemory, scope: Scope, query: str) -> float:
    messages: list[Any] = [HumanMessage(query)]
    text = query_of(memory.deps, messages)
    memory.deps.stores.encoder.vectors([text, episodes.goal(text)])
    begun = time.perf_counter()
    found = recall_for_agent(memory.deps, scope, messages, "i")
    taken = time.perf_counter() - begun
    circuit_breaker_of(memory.deps.stores).flush(
        10
    )  # that it was used is noted behind an invocation, not beside the next one
    if found["degraded"]:
        raise SystemExit(f"Memory was out of reach: {found['degraded']}")
    return taken


def measure() -> dict[str, float]:
    """The figures, in seconds."""
    chance, store = random.Random(3), Sleeping()
    memory = _filled(store, chance)
    scope = Scope(Owner("u", ""), "c", MemoryContext(user="u", recall_timeout=10, memory_quota=100_000))
    queries = [_sentence(chance, 9) for _ in range(QUERIES + 10)]
    for query in queries[QUERIES:]:
        _timed(memory, scope, query)
    taken = sorted(_timed(memory, scope, query) for query in queries[:QUERIES])
    memory.flush()
    store.seconds = SLEEP
    asleep = sorted(_timed(memory, scope, query) for query in queries[:10])
    return {
        "facts": FACTS,
        "episodes": EPISODES,
        "median": round(statistics.median(taken), 4),
        "p95": round(taken[int(0.95 * len(taken))], 4),
        "asleep_median": round(statistics.median(asleep), 4),
        "asleep_longest": round(asleep[-1], 4),
    }


def _fill_file(folder: Path, count: int) -> None:
    chance, store = random.Random(3), SqliteRecordStore(folder / "memories.sqlite")
    records = RecordStore(store, Encoder(HashEmbeddings(384)), quota=None)
    for start in range(0, count, 1_000):
        made = range(min(1_000, count - start))
        records.store_many("u", [{"text": f"The user {_sentence(chance, 9)}."} for _ in made])
    store.close()


def _export(folder: Path) -> dict[str, float]:
    """What this process computes to hand over all events of the user."""
    records = RecordStore(SqliteRecordStore(folder / "memories.sqlite"), Encoder(HashEmbeddings(384)))
    records.export_events("another")  # what is loaded by then is no part of it
    records.search("u", "Who am I?")
    computed = time.process_time()
    count = len(records.export_events("u"))
    return {"cpu": time.process_time() - computed, "events": count}


def _first_recall(folder: Path) -> dict[str, float]:
    """What the first recall of this process takes."""
    stores = RecordStores(SqliteRecordStore(folder / "memories.sqlite"), Encoder(HashEmbeddings(384)))
    memory, query = FourTierMemory(stores=stores), _sentence(random.Random(5), 9)
    stores.encoder.vectors([query, episodes.goal(query)])
    scope = Scope(Owner("u", ""), "c", MemoryContext(user="u", recall_timeout=60, memory_quota=100_000))
    own, computed, begun = _own_bytes(), time.process_time(), time.perf_counter()
    found = recall_for_agent(memory.deps, scope, [HumanMessage(query)], "i")
    taken = {"cpu": time.process_time() - computed, "wall": time.perf_counter() - begun}
    taken |= {"found": len(found["facts"]), "bytes": _own_bytes() - own}
    stores.of().flush(PATIENCE)  # the index is kept behind a recall
    for _ in range(COLD_TRIES):
        if list((folder / "memories.indexes").glob("*.index")):
            break
        time.sleep(1.0)  # uses were being written meanwhile
        stores.of().search("u", query)
        stores.of().flush(PATIENCE)
    return taken


def _own_bytes() -> int:
    status = Path("/proc/self/status")
    found = re.search(r"RssAnon:\s*(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1_024 if found else 0


def measure_cold(count: int) -> dict[str, float]:
    """The first recall of processes that have just begun, without a kept index and with one."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        computed = time.process_time()
        _fill_file(folder, count)
        filled = time.process_time() - computed
        kept = folder / "memories.indexes"
        without = []
        for _ in range(COLD_RUNS):
            shutil.rmtree(kept, ignore_errors=True)
            without.append(_in_new_process(folder))
        size = sum(file.stat().st_size for file in kept.glob("*.index"))
        with_it = [_in_new_process(folder) for _ in range(COLD_RUNS)]
        exported = _in_new_process(folder, "--export-in")
    found = {
        f"{name}_{part}": _median(runs, part)
        for name, runs in (("unkept", without), ("cold", with_it))
        for part in ("cpu", "wall")
    }
    return {
        "cold_facts": count,
        "fill_cpu": round(filled, 4),
        "export_cpu": round(exported["cpu"], 4),
        **found,
        "cold_found": min(run["found"] for run in with_it),
        "bytes_on_disk": round(size / count),
        "unkept_bytes_in_memory": round(_median(without, "bytes") / count),
        "bytes_in_memory": round(_median(with_it, "bytes") / count),
    }


def _median(runs: list[dict[str, float]], part: str) -> float:
    return round(statistics.median(run[part] for run in runs), 4)


def growth(counts: Sequence[int]) -> None:
    """Print how filling, the first recall and an export grow: 1 where they are as the number of facts."""
    rows = {count: measure_cold(count) for count in counts}
    for name in ("fill_cpu", "cold_cpu", "unkept_cpu", "export_cpu", "bytes_on_disk"):
        for small, large in pairwise(counts):
            exponent = math.log(rows[large][name] / rows[small][name]) / math.log(large / small)
            told = f"{rows[small][name]:g} to {rows[large][name]:g}"
            sys.stdout.write(f"growth of {name}, {small:,} to {large:,} facts: {exponent:.2f} ({told})\n")


def _in_new_process(folder: Path, what: str = "--first-recall-in") -> dict[str, float]:
    command = [sys.executable, __file__, what, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    return json.loads(done.stdout)


def main() -> int:
    """Print the figures; 1 where memory takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", help="not used: the memories are made up")
    parser.add_argument("--cold", action="store_true", help="measure the first recall of a process alone")
    parser.add_argument("--facts", type=int, default=COLD_FACTS, help="how many facts that user has")
    parser.add_argument("--growth", help="numbers of facts, comma-separated: how what is cold grows, and nothing else")
    parser.add_argument("--first-recall-in", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--export-in", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.first_recall_in:
        sys.stdout.write(json.dumps(_first_recall(given.first_recall_in)))
        return 0
    if given.export_in:
        sys.stdout.write(json.dumps(_export(given.export_in)))
        return 0
    if given.growth:
        growth([int(count) for count in given.growth.split(",")])
        return 0
    found = measure_cold(given.facts) | ({} if given.cold else measure())
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    met = [
        holds(f"first recall of a process at {given.facts:,} facts, s of CPU", found["cold_cpu"], most=MOST_COLD),
        holds("memories that it finds", found["cold_found"], least=1),
    ]
    if not given.cold:
        met += [
            holds("p95 of what memory adds to an invocation, s", found["p95"], most=MOST),
            holds(f"the same over a store that sleeps {SLEEP} s, median", found["asleep_median"], most=MOST_ASLEEP),
        ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
