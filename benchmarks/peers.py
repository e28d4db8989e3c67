"""How fast and how large are this package's index and its peers, each as its documentation shows it, in one run?

    python benchmarks/peers.py [--sizes 10000,100000] [--peers ours,flat,...] [--python ENVIRONMENT/bin/python]

All get the same texts and vectors, the *themes* of `many_items.py`, each peer in a process of its own, of one thread
where it lets itself be told: filled in batches, asked for ten items, and given one item more, which the next search has
to find. Ours searches words and meaning at once; faiss,
LangGraph's stores, Chroma, LanceDB and sqlite-vec search vectors alone, tantivy words alone. Recall is the share of the
ten that an exact search of the same lane finds: of vectors, or for ours of its own exact ranking.

Peers are looked for in the environment that `--python` names, which may be one of their own (`pip install tantivy
chromadb lancedb sqlite-vec langgraph-checkpoint-sqlite faiss-cpu`); who is not there is left out with a sentence.
Times are CPU of the process with all its threads, and on the clock in brackets: ratios are of the former.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from many_items import items  # a benchmark, too
from retrieval_scale import DIMENSIONS, K

SEARCHES: Final = 40
ADDED: Final = 10
BATCH: Final = 1_000
SECONDS: Final = 30.0
"""Of one peer's searches, and of its additions; three are made at least."""


class Peer(Protocol):
    """What is measured; items are known by their number."""

    def fill(self, first: int, texts: Sequence[str], vectors: Any) -> None:
        """Add a batch of items."""
        ...

    def ready(self) -> None:
        """Do what the documentation asks for after filling."""
        ...

    def search(self, text: str, vector: Any) -> Sequence[int]:
        """The ten best items."""
        ...


class Base:
    """What most peers need not do."""

    words = False
    """Whether it searches words instead of vectors."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ready(self) -> None:
        """Nothing is asked for."""


class Ours(Base):
    """`HybridIndex`, written to a file and opened from there, as a process serves it."""

    def __init__(self, folder: Path) -> None:
        from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
        from agentic_memory_bank.tools.text.terms import tokenize

        super().__init__(folder)
        self._make, self._tokenize = HybridIndex, tokenize
        self._index = HybridIndex()

    def fill(self, first: int, texts: Sequence[str], vectors: Any) -> None:
        """Add a batch of items."""
        for place, text in enumerate(texts):
            self._index.put(str(first + place), self._tokenize(text), vectors[place])

    def ready(self) -> None:
        """Keep it in a file."""
        from agentic_memory_bank.tools.storage.section_file import SectionFile, write_sections

        write_sections(self.folder / "index", {}, self._index.arrays())
        self.exact = self._index
        self._index = self._make(SectionFile(self.folder / "index"))

    def search(self, text: str, vector: Any) -> Sequence[int]:
        """The ten best items."""
        return [int(hit.id) for hit in self._index.search(self._tokenize(text), vector, K)]

    def truth(self, text: str, vector: Any) -> Sequence[int]:
        """The ten best items by the exact ranking."""
        return [int(hit.id) for hit in self.exact.search(self._tokenize(text), vector, K)]


class Flat(Base):
    """faiss's `IndexFlatIP`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        faiss: Any = import_module("faiss")
        self._index = self._made(faiss)

    def _made(self, faiss: Any) -> Any:
        return faiss.IndexFlatIP(DIMENSIONS)

    def fill(self, first: int, texts: Sequence[str], vectors: Any) -> None:
        """Add a batch of items."""
        self._index.add(vectors)

    def search(self, text: str, vector: Any) -> Sequence[int]:
        """The ten best items."""
        return self._index.search(vector[None], K)[1][0].tolist()


class Hnsw(Flat):
    """faiss's `IndexHNSWFlat` with 32 links, as its wiki has it."""

    def _made(self, faiss: Any) -> Any:
        return faiss.IndexHNSWFlat(DIMENSIONS, 32, faiss.METRIC_INNER_PRODUCT)


class Tantivy(Base):
    """tantivy's full-text search; a commit and a reload make what was added seen."""

    words = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._tantivy: Any = import_module("tantivy")
        builder = self._tantivy.SchemaBuilder()
        builder.add_text_field("body", stored=False)
        builder.add_unsigned_field("number", stored=True)
        self._index = self._tantivy.Index(builder.build(), path=str(folder))
        self._writer = self._index.writer()

    def fill(self, first: int, texts: Sequence[str], vectors: Any) -> None:
        """Add a batch of items."""
        for place, text in enumerate(texts):
            self._writer.add_document(self._tantivy.Document(body=text, number=first + place))
        self._writer.commit()
        self._index.reload()

    def search(self, text: str, vector: Any) -> Sequence[int]:
        """The ten best items."""
        searcher = self._index.searcher()
        found = searcher.search(self._index.parse_query(text, ["body"]), K).hits
        return [searcher.doc(place)["number"][0] for _, place in found]


class GivenVectors:
    """Vectors of texts for stores that embed by themselves."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """Look the vectors up; `SqliteStore` embeds the whole item, whatever `fields` says."""
        plain = [json.loads(text)["text"] if text.startswith("{") else text for text in texts]
        return [self.known[text].tolist() for text in plain]


class Memory(Base):
    """LangGraph's `InMemoryStore` with an index."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._given = GivenVectors()
        index: Any = {"dims": DIMENSIONS, "embed": self._given, "fields": ["text"]}
        self._store = self._made(index)

    def _made(self, index: Any) -> Any:
        return import_module("langgraph.store.memory").InMemoryStore(index=index)

    def fill(self, first: int, texts: Sequence[str], vectors: Any) -> None:
        """Add a batch of items."""
        put = import_module("langgraph.store.base").PutOp
        self._given.known.update(zip(texts, vectors, strict=True))
        self._store.batch([put(("items",), str(first + n), {"text": text}) for n, text in enumerate(texts)])

    def search(self, text: str, vector: Any) -> Sequence[int]:
        """The ten best items."""
        self._given.known[text] = vector
        return [int(item.key) for item in self._store.search(("items",), query=text, limit=K)]


class Sqlite(Memory):
    """LangGraph's `SqliteStore` with an index, on a file."""

    def _made(self, index: Any) -> Any:
        self._opened = import_module("langgraph.store.sqlite").SqliteStore.from_conn_string(
            str(self.folder / "store.sqlite"), index=index
        )
        store = self._opened.__enter__()
        store.setup()
        return store


class Chroma(Base):
    """Chroma's `PersistentClient` with vectors given, by cosine."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        client = import_module("chromadb").PersistentClient(path=str(folder))
        self._items = client.create_collection("items", configuration={"hnsw": {"space": "cosine"}})

    def fill(self, first: int, texts: Sequence[str], vectors: Any) -> None:
        """Add a batch of items."""
        ids = [str(first + n) for n in range(len(texts))]
        self._items.add(ids=ids, documents=list(texts), embeddings=vectors)

    def search(self, text: str, vector: Any) -> Sequence[int]:
        """The ten best items."""
        return [int(id) for id in self._items.query(query_embeddings=[vector], n_results=K)["ids"][0]]


class Lance(Base):
    """LanceDB's table of vectors without an index, which goes through all of them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._db: Any = import_module("lancedb").connect(str(folder))
        self._table: Any = None

    def fill(self, first: int, texts: Sequence[str], vectors: Any) -> None:
        """Add a batch of items."""
        rows = [{"number": first + n, "text": text, "vector": vectors[n]} for n, text in enumerate(texts)]
        if self._table is None:
            self._table = self._db.create_table("items", rows)
        else:
            self._table.add(rows)

    def ready(self) -> None:
        """Put its small files together."""
        self._table.optimize()

    def search(self, text: str, vector: Any) -> Sequence[int]:
        """The ten best items."""
        return [row["number"] for row in self._table.search(vector).metric("cosine").limit(K).to_list()]


class SqliteVec(Base):
    """sqlite-vec's `vec0` table, on a file."""

    def __init__(self, folder: Path) -> None:
        import sqlite3

        super().__init__(folder)
        self._db = sqlite3.connect(folder / "vec.sqlite")
        self._db.enable_load_extension(True)
        import_module("sqlite_vec").load(self._db)
        self._db.execute(f"CREATE VIRTUAL TABLE items USING vec0(embedding float[{DIMENSIONS}] distance_metric=cosine)")

    def fill(self, first: int, texts: Sequence[str], vectors: Any) -> None:
        """Add a batch of items."""
        rows = [(first + n, vectors[n].tobytes()) for n in range(len(texts))]
        with self._db:
            self._db.executemany("INSERT INTO items(rowid, embedding) VALUES (?, ?)", rows)

    def search(self, text: str, vector: Any) -> Sequence[int]:
        """The ten best items."""
        wanted = "SELECT rowid FROM items WHERE embedding MATCH ? AND k = ? ORDER BY distance"
        return [row[0] for row in self._db.execute(wanted, (vector.tobytes(), K))]


PEERS: Final[dict[str, tuple[str, str, Callable[[Path], Any]]]] = {
    "ours": ("HybridIndex, words and vectors", "agentic_memory_bank", Ours),
    "flat": ("faiss flat", "faiss", Flat),
    "hnsw": ("faiss HNSW", "faiss", Hnsw),
    "tantivy": ("tantivy, words", "tantivy", Tantivy),
    "memory": ("LangGraph InMemoryStore", "langgraph.store.memory", Memory),
    "sqlite": ("LangGraph SqliteStore", "langgraph.store.sqlite", Sqlite),
    "chroma": ("Chroma", "chromadb", Chroma),
    "lance": ("LanceDB", "lancedb", Lance),
    "vec": ("sqlite-vec", "sqlite_vec", SqliteVec),
}


def measure(name: str, size: int) -> dict[str, Any]:
    """Build one peer and time it, in this process."""
    texts, vectors = drawn(size, 7)
    asked, new = (list(zip(*drawn(count, seed), strict=True)) for count, seed in ((SEARCHES, 11), (ADDED, 13)))
    asked = [(" ".join(text.split()[:8]), vector) for text, vector in asked]
    before = resident()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # tantivy merges in the background
        begun, used = time.perf_counter(), time.process_time()
        peer = PEERS[name][2](Path(folder))
        for start in range(0, size, BATCH):
            peer.fill(start, texts[start : start + BATCH], vectors[start : start + BATCH])
        peer.ready()
        filled = [time.process_time() - used, time.perf_counter() - begun]
        peer.search(*asked[0])
        search, found = timed([partial(peer.search, *one) for one in asked])
        if name == "ours":
            truth = [peer.truth(*one) for one in asked[: len(found)]]
        else:
            truth = [np.argsort(-(vectors @ vector))[:K].tolist() for _, vector in asked[: len(found)]]
        shares = [len(set(one) & set(best)) / K for one, best in zip(found, truth, strict=True)]

        def added(place: int) -> bool:
            text, vector = new[place]
            peer.fill(size + place, [text], vector[None])
            return peer.search(text, vector)[0] == size + place

        add, seen = timed([partial(added, place) for place in range(ADDED)])
        told = {"fill": filled, "search": search, "add": add, "seen": sum(seen) / len(seen)}
        told |= {"recall": None if getattr(peer, "words", False) else sum(shares) / len(shares)}
        told |= {"resident": resident() - before}
        disk = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6
    return {**told, "disk": disk}


def drawn(count: int, seed: int) -> tuple[list[str], Any]:
    """Texts, and their vectors of length one."""
    _, terms, vectors = zip(*items(count, "themes", seed), strict=True)
    matrix = np.stack(vectors)
    return [" ".join(words) for words in terms], matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def timed(calls: Sequence[Callable[[], Any]]) -> tuple[list[float], list[Any]]:
    """Milliseconds of the middle call, of the processor and on the clock, and what they returned."""
    taken: list[tuple[float, float]] = []
    found: list[Any] = []
    for call in calls:
        used, begun = time.process_time(), time.perf_counter()
        found.append(call())
        taken.append(((time.process_time() - used) * 1_000, (time.perf_counter() - begun) * 1_000))
        if len(taken) >= 3 and sum(clock for _, clock in taken) > SECONDS * 1_000:
            break
    return np.median(taken, axis=0).tolist(), found


def resident() -> float:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(argv: list[str] | None = None) -> int:
    """Measure every peer at every size, and print a table with ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10000,100000", help="items, comma-separated")
    parser.add_argument("--peers", default=",".join(PEERS), help="which, comma-separated; ratios are to the first")
    parser.add_argument("--python", default=sys.executable, help="the Python in whose environment the peers are")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    sizes = [int(size) for size in given.sizes.split(",")]
    if given.child:
        task, _, name = given.child.partition(":")
        told = measure(name, sizes[0]) if task == "measure" else is_there(PEERS[name][1])
        sys.stdout.write("\n" + json.dumps(told) + "\n")
        return 0
    from research_calls import machine

    say(f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {machine()}, load {os.getloadavg()[0]:.1f}")
    there: list[str] = []
    for name in given.peers.split(","):
        if child(given.python, f"look:{name}", sizes[0]):
            there.append(name)
        else:
            say(f"{PEERS[name][0]} is left out: {PEERS[name][1]} is not installed.")
    for size in sizes:
        compare(given.python, there, size)
    return 0


def is_there(module: str) -> bool:
    """Whether a module can be imported here."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def compare(python: str, names: Sequence[str], size: int) -> None:
    """Print the figures of one size."""
    say(f"\n{size:,} items, ms of CPU (clock); times ours: search, add + search")
    first: dict[str, Any] = {}
    for name in names:
        row = child(python, f"measure:{name}", size)
        if row is None:
            continue
        first = first or row
        ratios = ", ".join(f"{row[kind][0] / first[kind][0]:.2f}" for kind in ("search", "add"))
        recall = "     " if row["recall"] is None else f"{row['recall']:.3f}"
        say(
            f"{PEERS[name][0]:<31} search {pair(row['search'])}  add + search {pair(row['add'])} "
            f"({row['seen']:.0%} seen)  recall {recall}  fill {row['fill'][0]:.1f} s ({row['fill'][1]:.1f})  "
            f"{row['resident']:,.0f} MB, disk {row['disk']:,.0f} MB  x {ratios}"
        )


def pair(taken: Sequence[float]) -> str:
    """A time of the processor, and on the clock."""
    return f"{taken[0]:.2f} ({taken[1]:.2f})"


def child(python: str, task: str, size: int) -> Any:
    """What a process of its own says; None where it failed."""
    command = [python, __file__, "--child", task, "--sizes", str(size)]
    alone = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=alone)
    if done.returncode:
        say(f"{task}: {(done.stderr.strip() or 'failed').splitlines()[-1][:200]}")
        return None
    return json.loads(done.stdout.splitlines()[-1])


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
