"""How fast are memories added and found beside other stores of memories, and what does recalling add to a request?

    python benchmarks/memory_speed.py [--sizes 1000,10000,100000] [--peers records,langmem,mem0,memory] [--cache DIR]

Memories of 100 users, in a process of its own for each peer and size; the same texts (40 words of a Zipf vocabulary)
and the same vectors, which are looked up, so that nobody's figure contains embedding. What is compared:

records  This package's `RecordStore` on its own file: `store` and `search`, by keywords and meaning. Each addition is
         one transaction on the disk.
langmem  LangMem's `MemoryStoreManager`, without what needs a model: `put` and `search`, on LangGraph's `InMemoryStore`.
         (`invoke` has a model draw memories; nothing of that is compared.)
mem0     mem0's `Memory` on its local Qdrant and its file of changes: `add(infer=False)`, which asks no model, and
         `search`.
memory   LangGraph's `InMemoryStore` with its vector search: `put` and `search`. Nothing is on the disk.

*search* is one query of one user, which brings 10 memories, everything being warm, as in a process that serves; *add*
is one memory; *next* is the search right after it by the same user; *first* is the first search of a user in a process
that has just opened the files. A peer is filled in bulk, which is not compared. What takes long is timed for fewer
operations than the others, and mem0, whose filling takes long, with fewer memories: the last column has the numbers.

*Recall* is the product's whole graph, offline and warm, for a user with 10,000 memories; there the vectors are real,
and that of the message is made anew each time. Its target alone decides on the exit status.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from retrieval_scale import DIMENSIONS, Data, Known  # a benchmark, too

USERS: Final = 100
OPERATIONS: Final = 200
"""Searches and additions that are timed, as far as the time allows."""
SECONDS: Final = 20.0
"""Time after which no further operation of a kind is timed, once there are three."""
FILL_SECONDS: Final = 90.0
"""Time after which a peer gets no more memories; it is then measured with those that it has."""
K: Final = 10
RECALLED_FROM: Final = 10_000
MOST_ADDED: Final = 50.0
"""Milliseconds that recalling may add to a request, at p50."""
COLUMNS: Final = ("search", "add", "next", "first")

Times = list[float]


class Peer(Protocol):
    """What is measured: filled with all texts, then asked and added to."""

    def search(self, user: str, text: str) -> Sequence[Any]:
        """Find the best memories of a user."""
        ...

    def add(self, user: str, text: str) -> None:
        """Keep a memory that the next search must see."""
        ...

    def reopened(self) -> "Peer | None":
        """The same memories, as a new process finds them; None where nothing outlives the process."""
        ...


class Records:
    """This package's store of memories."""

    def __init__(self, data: Data, folder: Path, *, is_filled: bool = False) -> None:
        from agentic_memory_bank.tools.embeddings.encoder import Encoder
        from agentic_memory_bank.tools.memories.record_store import RecordStore
        from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

        self._data, self._folder = data, folder
        self._file = SqliteRecordStore(folder / "memories.sqlite")
        self._records = RecordStore(self._file, Encoder(Known(data)))
        for user, texts in {} if is_filled else _by_user(data).items():
            self._records.store_many(user, [{"text": text} for text in texts])

    def search(self, user: str, text: str) -> Sequence[Any]:
        """Find the best memories of a user."""
        return self._records.search(user, text, limit=K)

    def add(self, user: str, text: str) -> None:
        """Keep a memory that the next search must see."""
        self._records.store(user, text)

    def reopened(self) -> Peer:
        """The same memories, as a new process finds them."""
        self._file.close()
        return Records(self._data, self._folder, is_filled=True)


class Store:
    """A store of LangGraph's, filled and asked as it is."""

    def __init__(self, data: Data, folder: Path) -> None:
        from langgraph.store.base import PutOp

        self._data, self._folder, self._store = data, folder, self._opened(data, folder)
        for user, texts in _by_user(data).items():
            for start in range(0, len(texts), 1_000):
                batch = texts[start : start + 1_000]
                self._store.batch([PutOp(("memories", user), text[:80], self._value(text)) for text in batch])

    def _opened(self, data: Data, folder: Path) -> Any:
        from langgraph.store.memory import InMemoryStore

        return InMemoryStore(index={"dims": DIMENSIONS, "embed": Known(data), "fields": ["content"]})

    def _value(self, text: str) -> dict[str, Any]:
        return {"content": text}

    def search(self, user: str, text: str) -> Sequence[Any]:
        """Find the best memories of a user."""
        return self._store.search(("memories", user), query=text, limit=K)

    def add(self, user: str, text: str) -> None:
        """Keep a memory that the next search must see."""
        self._store.put(("memories", user), text[:80], self._value(text))

    def reopened(self) -> Peer | None:
        """Nothing outlives the process."""
        return None


class LangMem(Store):
    """LangMem's manager of a store; its model is never asked."""

    def __init__(self, data: Data, folder: Path) -> None:
        from langchain_core.language_models.fake_chat_models import FakeListChatModel
        from langmem import create_memory_store_manager  # pyright: ignore[reportMissingImports]

        class Silent(FakeListChatModel):
            """A model that takes tools, since the manager hands it some."""

            def bind_tools(self, *_: Any, **__: Any) -> Any:
                return self

        super().__init__(data, folder)
        space = ("memories", "{langgraph_user_id}")
        self._manager: Any = create_memory_store_manager(Silent(responses=[]), namespace=space, store=self._store)

    def _value(self, text: str) -> dict[str, Any]:
        return {"kind": "Memory", "content": {"content": text}}

    def _opened(self, data: Data, folder: Path) -> Any:
        from langgraph.store.memory import InMemoryStore

        return InMemoryStore(index={"dims": DIMENSIONS, "embed": Known(data), "fields": ["content.content"]})

    def search(self, user: str, text: str) -> Sequence[Any]:
        """Find the best memories of a user."""
        return self._manager.search(query=text, limit=K, config={"configurable": {"langgraph_user_id": user}})

    def add(self, user: str, text: str) -> None:
        """Keep a memory that the next search must see."""
        place = {"configurable": {"langgraph_user_id": user}}
        self._manager.put(text[:80], self._value(text), config=place)


class Mem0:
    """mem0's `Memory` over its local Qdrant; filled through its vector store in bulk, which is the faster way."""

    def __init__(self, data: Data, folder: Path, *, is_filled: bool = False) -> None:
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder), OPENAI_API_KEY="unused")
        from mem0 import Memory  # pyright: ignore[reportMissingImports]

        self._data, self._folder = data, folder
        place = {"path": f"{folder}/q", "on_disk": True, "embedding_model_dims": DIMENSIONS}
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": {**place, "collection_name": "memories"}},
                "embedder": {"provider": "langchain", "config": {"model": Known(data)}},
                "history_db_path": f"{folder}/history.sqlite",
            }
        )
        self.held, began = 0, time.perf_counter()
        while not is_filled and self.held < len(data.texts) and time.perf_counter() - began < FILL_SECONDS:
            texts = data.texts[self.held : self.held + 500]
            self._fill(texts, data.vectors[self.held : self.held + 500], self.held)
            self.held += len(texts)

    def _fill(self, texts: list[str], vectors: Any, start: int) -> None:
        payloads = [{"data": text, "user_id": _user(start + i), "hash": str(start + i)} for i, text in enumerate(texts)]
        ids = [f"00000000-0000-4000-8000-{start + i:012d}" for i in range(len(texts))]
        self._memory.vector_store.insert(vectors=vectors[: len(texts)].tolist(), payloads=payloads, ids=ids)

    def search(self, user: str, text: str) -> Sequence[Any]:
        """Find the best memories of a user."""
        return self._memory.search(text, filters={"user_id": user}, top_k=K)["results"]

    def add(self, user: str, text: str) -> None:
        """Keep a memory that the next search must see."""
        self._memory.add(text, user_id=user, infer=False)

    def reopened(self) -> Peer:
        """The same memories, as a new process finds them."""
        self._memory.vector_store.client.close()
        return Mem0(self._data, self._folder, is_filled=True)


PEERS: Final[dict[str, tuple[str, Callable[[Data, Path], Peer], tuple[str, ...]]]] = {
    "records": ("RecordStore, SQLite", Records, ()),
    "langmem": ("LangMem put/search", LangMem, ("langmem",)),
    "mem0": ("mem0 infer=False", Mem0, ("mem0ai", "qdrant-client")),
    "memory": ("InMemoryStore", Store, ("langgraph",)),
}


def _user(row: int) -> str:
    return f"user-{row % USERS}"


def _by_user(data: Data) -> dict[str, list[str]]:
    return {_user(first): data.texts[first::USERS] for first in range(min(USERS, len(data.texts)))}


def measure(peer: str, size: int) -> dict[str, Times]:
    """Fill one peer and time it, in this process: milliseconds of each operation."""
    data = Data(size, OPERATIONS)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        built = PEERS[peer][1](data, Path(folder))
        filled = (time.perf_counter() - began) * 1_000
        held = float(getattr(built, "held", size))
        for user in range(USERS):
            if (time.perf_counter() - began) * 1_000 < filled + SECONDS * 1_000:
                built.search(_user(user), data.queries[0])
        searches = _timed([partial(built.search, _user(i), query) for i, query in enumerate(data.queries)])
        adds, after = Times(), Times()
        for number, text in enumerate(data.new):
            adds += _timed([partial(built.add, _user(7 * number), text)])
            after += _timed([partial(built.search, _user(7 * number), text)])
            if len(adds) >= 3 and sum(adds) + sum(after) > SECONDS * 1_000:
                break
        first = _first(built, data)
        return {"held": [held], "fill": [filled], "search": searches, "add": adds, "next": after, "first": first}


def _first(built: Peer, data: Data) -> Times:
    """The first search of each user after the files were opened; the first of all opens them."""
    began = time.perf_counter()
    again = built.reopened()
    if again is None:
        return []
    opening = (time.perf_counter() - began) * 1_000
    times = _timed([partial(again.search, _user(user), data.queries[user]) for user in range(USERS)])
    return [times[0] + opening, *times[1:]]


def _timed(calls: Sequence[Callable[[], Any]]) -> Times:
    """Milliseconds of each call, as many calls as fit the time, three at least."""
    taken = Times()
    for call in calls:
        began = time.perf_counter()
        call()
        taken.append((time.perf_counter() - began) * 1_000)
        if len(taken) >= 3 and sum(taken) > SECONDS * 1_000:
            break
    return taken


# --- recalling -----------------------------------------------------------------------------------------------------


def recalling(cache: Path | None) -> bool:
    """Time the whole graph that recalls, for a user with many memories. Returns whether it is fast enough."""
    from agentic_memory_bank.graph.recall import build_recall
    from agentic_memory_bank.tools.embeddings.encoder import Encoder
    from agentic_memory_bank.tools.embeddings.models import local_embeddings
    from agentic_memory_bank.tools.memories.stores import RecordStores
    from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

    memories, questions = _purchases(RECALLED_FROM, OPERATIONS)
    with tempfile.TemporaryDirectory() as folder:
        filling = Encoder(local_embeddings(), cache=cache)
        file = SqliteRecordStore(Path(folder) / "memories.sqlite")
        RecordStores(file, filling).of().store_many("ana", [{"text": text} for text in memories])
        stores = RecordStores(file, Encoder(local_embeddings()))  # nothing of the messages is known beforehand
        graph, outcomes = build_recall(stores=stores), Counter[str]()

        def ask(question: str) -> None:
            said: Any = {"messages": [{"role": "user", "content": question}]}
            whose: Any = {"user": "ana"}
            outcomes[graph.invoke(said, context=whose)["receipt"]["outcome"]] += 1

        search = partial(stores.of().search, "ana", limit=5)
        begun = _timed([partial(search, questions[0])])[0]  # what recalls waits for a second, and goes on without
        ask(questions[0])
        outcomes.clear()
        used = time.process_time()
        whole = _timed([partial(ask, question) for question in questions[1:]])
        used = (time.process_time() - used) * 1_000 / len(whole)
        alone = _timed([partial(search, f"{question} Please.") for question in questions[1:]])
        encoder = Encoder(local_embeddings())
        embedding = _timed([partial(encoder.vector, question) for question in questions[1:]])
    _say(f"\nrecall, {RECALLED_FROM:,} memories: {_spread(whole)} ms p50/p95 ({len(whole)} messages, {dict(outcomes)})")
    _say(
        f"  of which the search of the store {_spread(alone)}, of which the vector of the message {_spread(embedding)}"
    )
    _say(f"  time of the processor for a message: {used:.1f}; more than that is waiting, where the machine is busy")
    _say(f"  the first search of a process, which loads the index and the model: {begun:,.0f}")
    middle = float(np.percentile(whole, 50))
    met = middle <= MOST_ADDED and outcomes["used"] > len(whole) / 2
    _say(f"{'pass' if met else 'FAIL'}  recall, offline and warm: p50 {middle:.1f} ms, target {MOST_ADDED:.0f}")
    return met


def _purchases(count: int, asked: int) -> tuple[list[str], list[str]]:
    """What somebody has bought where, in as many sentences, and questions for some of it."""
    draw = random.Random(7)
    people = ["sister", "brother", "cousin", "neighbour", "colleague", "uncle", "aunt", "friend"]
    names = ["Ana", "Ben", "Carla", "Deniz", "Emil", "Fatma", "Goran", "Hana", "Ivo", "Jana", "Karl", "Lena", "Milo"]
    things = ["bicycle", "guitar", "camera", "tent", "kettle", "carpet", "telescope", "violin", "lamp", "jacket"]
    places = ["Lisbon", "Graz", "Oslo", "Turin", "Porto", "Ghent", "Bern", "Cork", "Split", "Riga", "Kyoto", "Lima"]
    memories: dict[str, str] = {}
    while len(memories) < count:
        who, name, what, place = (draw.choice(words) for words in (people, names, things, places))
        paid, year = draw.randrange(10, 5_000), draw.randrange(1990, 2026)
        text = f"My {who} {name} bought a {what} in {place} in {year} and paid {paid} euros for it."
        memories[text] = f"How much did my {who} {name} pay for the {what} from {place} in {year}?"
    return list(memories), list(dict.fromkeys(memories.values()))[:: count // asked][: asked + 1]


# --- comparing -----------------------------------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    """Measure every peer at every size, then recalling. The exit status says whether recalling is fast enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="memories of all users, comma-separated")
    parser.add_argument("--peers", default=",".join(PEERS), help="which, comma-separated; the first is compared")
    parser.add_argument("--cache", type=Path, help="folder to keep the vectors of `recall` in")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    sizes = [int(size) for size in arguments.sizes.split(",") if size]
    if arguments.child:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries of others
            _say("\n" + json.dumps(measure(arguments.child, sizes[0])))
        return 0
    from research_calls import machine

    _say(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {machine()}")
    peers = [peer for peer in arguments.peers.split(",") if peer and _is_installed(peer)]
    for size in sizes:
        _compare(size, peers)
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    return 0 if recalling(arguments.cache and arguments.cache / "vectors.sqlite") else 1


def _is_installed(peer: str) -> bool:
    """Whether a peer can be measured; says in which version, or what to install when it cannot."""
    name, _, packages = PEERS[peer]
    try:
        versions = [f"{package} {importlib.metadata.version(package)}" for package in packages]
    except importlib.metadata.PackageNotFoundError:
        _say(f"{name} is left out; to include it: pip install {' '.join(packages)}")
        return False
    _say(f"{name}: {', '.join(versions) or 'this package'}")
    return True


def _compare(size: int, peers: Sequence[str]) -> None:
    head = "".join(f"{f'{column} p50/p95 ms':>23}" for column in COLUMNS)
    _say(f"\n{size:,} memories of {USERS} users\n{'':<20}{head}{'fill s':>9}  operations")
    figures: dict[str, dict[str, Times]] = {}
    for peer in peers:
        row = figures[peer] = _in_child(peer, size)
        times = "".join(f"{_spread(row[column]):>23}" for column in COLUMNS)
        counts = "/".join(str(len(row[column])) for column in COLUMNS)
        fewer = f", of {row['held'][0]:,.0f} memories" if row["held"][0] < size else ""
        _say(f"{PEERS[peer][0]:<20}{times}{row['fill'][0] / 1_000:>9.1f}  {counts}{fewer}")
    for peer in peers[1:]:
        factors = [
            f"{column} {np.median(figures[peer][column]) / np.median(figures[peers[0]][column]):.1f} x"
            for column in COLUMNS
            if figures[peer][column]
        ]
        _say(f"{PEERS[peers[0]][0]} is so many times faster than {PEERS[peer][0]}: {', '.join(factors)}")


def _spread(times: Times) -> str:
    return f"{np.percentile(times, 50):.2f}/{np.percentile(times, 95):.2f}" if times else "-"


def _in_child(peer: str, size: int) -> dict[str, Times]:
    command = [sys.executable, __file__, "--child", peer, "--sizes", str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{PEERS[peer][0]} failed at {size} memories:\n{done.stderr[-2_000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
