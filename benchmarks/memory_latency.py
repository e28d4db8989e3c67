"""What memory adds to the first call of an agent's model: 5,000 facts and 1,000 episodes of one user.

Embedding is left out: the queries are embedded before, and the vectors are made of hashes, of the usual length. Then
the same over a store that sleeps before each answer: facts, episodes and the conversation together are to take little
more than one sleep.

*Cold* is the first recall of a process that has just begun, of a user with 20,000 facts in a file of ours, and on a
Postgres that is started for it where there is one: first as all events are read, since no index is kept yet, then with
the index that was kept, each the median of three processes. With a kept index it is to find something within the usual
time for recalling, and to take less than its bar of the time that the process computes. `--growth 1000,10000,100000`
prints how filling, the first recall and an export grow with the number of facts. Bytes on the disk are
those of the index; bytes in memory are those that the process has for itself, mapped files left out.

*In time* are recalls in a process that has no index yet and takes seconds to make one, over a store that hangs, and
over one that fails, whose calls are counted: none is to take more than its bar on the clock, without what it waited for
a core that other programs had. *Bounded* is what a process has for itself more after it has searched memories of many
users, none of whom has a kept index, than before.
"""

import argparse
import gc
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from _bars import holds  # beside this
from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.graph.four_tier import FourTierMemory
from agentic_memory_bank.nodes.deps import Owner
from agentic_memory_bank.nodes.react_mem import episodes
from agentic_memory_bank.nodes.react_mem.deps import Scope
from agentic_memory_bank.nodes.react_mem.recall import query_of, recall_for_agent
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import StorageError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.circuit_breaker import CallFailed, CircuitBreaker, circuit_breaker_of
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories import index_keeper
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.stores import RecordStores, default_store

FACTS, EPISODES, QUERIES = 5_000, 1_000, 200
MOST, MOST_ASLEEP = 0.050, 0.150
"""Seconds: p95 of what is added, and of both tiers together over a store that sleeps."""
SLEEP = 0.1
COLD_FACTS, COLD_RUNS = 20_000, 3
PATIENCE, COLD_TRIES = 600, 10
MOST_COLD = 0.300
"""Seconds that the first recall of a process may compute."""
USUAL, MOST_LATE = 1.0, 1.1
"""Seconds: the usual time for recalling, and the longest that a recall may take on the clock then."""
TRIES, PAUSE = 3, 0.1
"""How often a store that fails is asked, and the least number of seconds between."""
BOUND_USERS, BOUND_FACTS, BOUND = 10, 4_000, 100
"""Users, memories of each, and the megabytes that all their indexes may take."""
SLACK: Final = 1.3
"""Of the bound: what Python keeps besides, and one index while it is made."""
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
    records.flush(60)  # the index of so much that is stored at once is kept in a file behind it, not beside a question
    gc.collect()  # and so is what the store in memory holds looked through, of which one on disk holds nothing
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
    memory.deps.stores.of().flush(60)  # what 200 invocations in a second have used is written before the store sleeps
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


def _fill_store(folder: Path, count: int, users: int = 1) -> dict[str, float]:
    """Store the facts of users; what it computes."""
    chance, computed, store = random.Random(3), time.process_time(), default_store()
    records = RecordStore(store, Encoder(HashEmbeddings(384)), quota=None)
    for user in range(users):
        for start in range(0, count, 1_000):
            made = range(min(1_000, count - start))
            records.store_many(_user(user), [{"text": f"The user {_sentence(chance, 9)}."} for _ in made])
    taken = time.process_time() - computed
    records.flush(PATIENCE)
    store.close()
    return {"cpu": taken}


def _user(number: int) -> str:
    return f"u{number}" if number else "u"


def _export(folder: Path) -> dict[str, float]:
    """What this process computes to hand over all events of the user."""
    records = RecordStore(default_store(), Encoder(HashEmbeddings(384)))
    records.export_events("another")  # what is loaded by then is no part of it
    records.search("u", "Who am I?")
    computed = time.process_time()
    count = len(records.export_events("u"))
    return {"cpu": time.process_time() - computed, "events": count}


def _first_recall(folder: Path) -> dict[str, float]:
    """What the first recall of this process takes."""
    stores = RecordStores(default_store(), Encoder(HashEmbeddings(384)))
    memory, query = FourTierMemory(stores=stores), _sentence(random.Random(5), 9)
    stores.encoder.vectors([query, episodes.goal(query)])
    limit = USUAL if _kept(folder) else PATIENCE
    scope = Scope(Owner("u", ""), "c", MemoryContext(user="u", recall_timeout=limit, memory_quota=100_000))
    own, computed, begun = _own_bytes(), time.process_time(), time.perf_counter()
    found = recall_for_agent(memory.deps, scope, [HumanMessage(query)], "i")
    taken = {"cpu": time.process_time() - computed, "wall": time.perf_counter() - begun}
    taken |= {"found": len(found["facts"]), "bytes": _own_bytes() - own}
    stores.of().flush(PATIENCE)  # the index is kept behind a recall
    for _ in range(COLD_TRIES):
        if _kept(folder):
            break
        time.sleep(1.0)  # uses were being written meanwhile
        stores.of().search("u", query)
        stores.of().flush(PATIENCE)
    return taken


def _kept(folder: Path) -> list[Path]:
    """The files of indexes."""
    return list(folder.rglob("*.index"))


def _own_bytes() -> int:
    status = Path("/proc/self/status")
    found = re.search(r"RssAnon:\s*(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1_024 if found else 0


def measure_cold(count: int, folder: Path, **environment: str) -> dict[str, float]:
    """The first recall of processes that have just begun, without a kept index and with one."""
    filled = _in_new_process("fill", folder, count, **environment)
    without = []
    for _ in range(COLD_RUNS):
        for file in _kept(folder):
            file.unlink()
        without.append(_in_new_process("first", folder, **environment))
    size = sum(file.stat().st_size for file in _kept(folder))
    with_it = [_in_new_process("first", folder, **environment) for _ in range(COLD_RUNS)]
    exported = _in_new_process("export", folder, **environment)
    found = {
        f"{name}_{part}": _median(runs, part)
        for name, runs in (("unkept", without), ("cold", with_it))
        for part in ("cpu", "wall")
    }
    return {
        "cold_facts": count,
        "fill_cpu": round(filled["cpu"], 4),
        "export_cpu": round(exported["cpu"], 4),
        **found,
        "cold_found": min(run["found"] for run in with_it),
        "bytes_on_disk": round(size / count),
        "unkept_bytes_in_memory": round(_median(without, "bytes") / count),
        "bytes_in_memory": round(_median(with_it, "bytes") / count),
    }


def _median(runs: list[dict[str, float]], part: str) -> float:
    return round(statistics.median(run[part] for run in runs), 4)


def growth(rows: dict[int, dict[str, float]]) -> None:
    """Print how filling, the first recall and an export grow: 1 where they are as the number of facts."""
    for name in ("fill_cpu", "cold_cpu", "unkept_cpu", "export_cpu", "bytes_on_disk"):
        for small, large in pairwise(rows):
            exponent = math.log(rows[large][name] / rows[small][name]) / math.log(large / small)
            told = f"{rows[small][name]:g} to {rows[large][name]:g}"
            sys.stdout.write(f"growth of {name}, {small:,} to {large:,} facts: {exponent:.2f} ({told})\n")


# --- in time, and bounded -------------------------------------------------------------------------------------------


def _in_time(folder: Path) -> dict[str, float]:
    """The longest recall while an index is made, and how many went without memory until it was there."""
    for file in _kept(folder):
        file.unlink()
    with Memories(default_store(), embeddings=HashEmbeddings(384)) as memories:
        memories.recall("Who am I?", user="another")  # what is loaded by then is no part of it
        taken, begun = list[float](), time.perf_counter()
        while not _recalled(memories, taken) and time.perf_counter() - begun < PATIENCE:
            pass
        return {"longest": max(taken), "without": len(taken) - 1, "seconds": time.perf_counter() - begun}


def _recalled(memories: Memories, taken: list[float]) -> bool:
    begun, waited = time.perf_counter(), _waited()
    found = memories.recall(f"What did I tell you about {_sentence(random.Random(5), 3)}?", user="u")
    taken.append(time.perf_counter() - begun - (_waited() - waited))
    return bool(found["memories"])


def _waited() -> float:
    """How long this thread has waited for a core that other programs had, in seconds."""
    status = Path("/proc/thread-self/schedstat")
    return int(status.read_text().split()[1]) / 1e9 if status.exists() else 0.0


class Spoiled(BaseStore):
    """A store that notes when it is asked, and then fails, or hangs."""

    def __init__(self) -> None:
        self.inner, self.asked, self.how = InMemoryStore(), list[float](), ""
        self.over = threading.Event()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer, fail or hang."""
        self.asked.append(time.perf_counter())
        if self.how == "hangs":
            self.over.wait(PATIENCE)
        if self.how:
            raise StorageError("The store is spoiled.")
        return self.inner.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same."""
        return self.batch(ops)


def _spoiled(how: str) -> dict[str, float]:
    """A call of a store that fails, or a recall over one that hangs."""
    store = Spoiled()
    with Memories(store, embeddings=HashEmbeddings(384)) as memories:
        memories.store("The user has a dog.", user="u")
        memories.recall("Which dog do I have?", user="u")
        memories.flush(PATIENCE)
        taken, store.how = list[float](), how
        _recalled(memories, taken)
        store.asked = []
        with suppress(CallFailed):
            CircuitBreaker().call(partial(memories.list, user="u"), USUAL)
        asked = list(store.asked)
        store.how = ""
        store.over.set()
    return {"longest": taken[0], "asked": len(asked), "pause": min((b - a for a, b in pairwise(asked)), default=0.0)}


def _bounded(folder: Path) -> dict[str, float]:
    """The most that a process takes for itself while it searches one user after another, in megabytes."""
    settings, chance = Settings(memory_index_megabytes=BOUND), random.Random(5)
    for file in _kept(folder):
        file.unlink()
    index_keeper.FEWEST = 10**9  # pyright: ignore[reportAttributeAccessIssue]  # an index in a file takes little
    records = RecordStore(default_store(), Encoder(HashEmbeddings(384)), settings=settings, quota=None)
    records.search("another", _sentence(chance, 3))
    own, most = _own_bytes(), list[int]()
    for user in range(BOUND_USERS):
        records.search(_user(user), _sentence(chance, 3))
        most.append(_own_bytes() - own)
    return {"first": most[0] / 1e6, "most": max(most) / 1e6}


def in_time(folder: Path, **environment: str) -> bool:
    """Whether recalls end in time, and a store that fails is asked again, where there is time."""
    making = _in_new_process("in-time", folder, **environment)
    sys.stdout.write(f"{making['without']:.0f} recalls went without memory in the first {making['seconds']:.1f} s\n")
    failing, hanging = _spoiled("fails"), _spoiled("hangs")
    return all(
        [
            holds("longest recall while an index is made, s", round(making["longest"], 3), most=MOST_LATE),
            holds("recall over a store that hangs, s", round(hanging["longest"], 3), most=MOST_LATE),
            holds("recall over a store that fails, s", round(failing["longest"], 3), most=MOST_LATE),
            holds("times that it was asked", failing["asked"], least=TRIES),
            holds("least pause between, s", round(failing["pause"], 4), least=PAUSE),
        ]
    )


def bounded(folder: Path) -> bool:
    """Whether indexes of many users take what they may."""
    _in_new_process("fill", folder, BOUND_FACTS, BOUND_USERS)
    found = _in_new_process("bounded", folder)
    one = f"{BOUND_USERS} users of {BOUND_FACTS:,} (one of them {found['first']:.0f})"
    return holds(f"MB for indexes of {one}, bounded by {BOUND}", round(found["most"]), most=SLACK * BOUND)


TASKS: Final[dict[str, Callable[[Path], dict[str, float]]]] = {
    "first": _first_recall,
    "export": _export,
    "in-time": _in_time,
    "bounded": _bounded,
}


def _in_new_process(task: str, folder: Path, *told: int, **environment: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", task, str(folder), *map(str, told)]
    own = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_BANK_")}
    own |= {"MEMORY_BANK_HOME": str(folder), **environment}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=own)
    return json.loads(done.stdout)


@contextmanager
def postgres() -> Iterator[dict[str, str]]:
    """The environment in which memories are kept in a database of one's own; empty where there is none."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    servers: Any = import_module("postgres_server")
    if (programs := servers.programs()) is None:
        yield {}
        return
    with servers.postgres_server(programs) as address:
        yield {"MEMORY_BANK_DATABASE_URL": address}


def cold(count: int) -> bool:
    """Measure what is cold, on a file and on Postgres, and what recalls take meanwhile."""
    met: list[bool] = []
    with postgres() as database:
        for where, environment in {"SQLite": {}, "Postgres": database}.items():
            if where == "Postgres" and not database:
                sys.stdout.write("No PostgreSQL server is here (apt-get install postgresql): not measured.\n")
                continue
            with tempfile.TemporaryDirectory() as folder:
                found = measure_cold(count, Path(folder), **environment)
                sys.stdout.write(f"{where}: {json.dumps(found)}\n")
                named = f"first recall of a process at {count:,} facts on {where}"
                met += [
                    holds(f"{named}, s of CPU", found["cold_cpu"], most=MOST_COLD),
                    holds("memories that it finds within a second", found["cold_found"], least=1),
                    in_time(Path(folder), **environment),
                ]
    with tempfile.TemporaryDirectory() as folder:
        met.append(bounded(Path(folder)))
    return all(met)


def main() -> int:
    """Print the figures; 1 where memory takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", help="not used: the memories are made up")
    parser.add_argument("--cold", action="store_true", help="measure what is cold alone")
    parser.add_argument("--facts", type=int, default=COLD_FACTS, help="how many facts that user has")
    parser.add_argument("--growth", help="numbers of facts, comma-separated: how what is cold grows, and nothing else")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        task, folder, *told = given.child
        done = _fill_store(Path(folder), *map(int, told)) if task == "fill" else TASKS[task](Path(folder))
        sys.stdout.write(json.dumps(done))
        return 0
    sys.stdout.write(f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, load {os.getloadavg()[0]:.1f}\n")
    if given.growth:
        rows: dict[int, dict[str, float]] = {}
        for count in map(int, given.growth.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                rows[count] = measure_cold(count, Path(folder))
        growth(rows)
        return 0
    met = [cold(given.facts)]
    if not given.cold:
        found = measure()
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        met += [
            holds("p95 of what memory adds to an invocation, s", found["p95"], most=MOST),
            holds(f"the same over a store that sleeps {SLEEP} s, median", found["asleep_median"], most=MOST_ASLEEP),
        ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
