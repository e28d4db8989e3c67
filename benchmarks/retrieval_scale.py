"""How fast and how large is the index beside its peers, at growing sizes, with the same texts and vectors?

    python benchmarks/retrieval_scale.py [--sizes 1000,10000,100000] [--peers index,store,ensemble,mem0]

Each peer runs in a process of its own. Texts are drawn from a Zipf vocabulary and vectors are random unit vectors, both
from a fixed seed; embedding is a look-up, so that nobody's figure contains it. A search takes a text and returns 10
items; "add + search" is one new item followed by one search that must see it.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from _bars import holds  # beside this
from langchain_core.embeddings import Embeddings

DIMENSIONS = 384
VOCABULARY = 50_000
WORDS = 40
SECONDS_PER_PEER = 20.0
K = 10
NEEDED = {"ensemble": ("rank_bm25", "rank-bm25"), "mem0": ("mem0", "mem0ai qdrant-client")}


class Data:
    """Texts with vectors, and queries with vectors, the same for every peer."""

    def __init__(self, size: int, queries: int = 50) -> None:
        generator = np.random.default_rng(7)
        weights = 1 / np.arange(1, VOCABULARY + 1) ** 1.07
        draws = generator.choice(VOCABULARY, (size + 2 * queries, WORDS), p=weights / weights.sum())
        words = np.array([word(number) for number in range(VOCABULARY)], object)
        texts = [" ".join(words[row]) for row in draws]
        vectors = generator.standard_normal((len(texts), DIMENSIONS), np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self.texts, self.new = texts[:size], texts[size : size + queries]
        self.queries = [" ".join(text.split()[:8]) for text in texts[size + queries :]]
        names = [*self.texts, *self.new, *self.queries]
        self.rows = {name: row for row, name in enumerate(names)}
        self.vectors = vectors


def word(number: int) -> str:
    """A pronounceable word of its own for each number, which no stemmer and no stop list touches."""
    syllables = ""
    while number or not syllables:
        number, rest = divmod(number, 100)
        syllables += "bcdfghjklmnprtvwxzqk"[rest // 5] + "aeiou"[rest % 5]
    return syllables + "kx"


class Known(Embeddings):
    """Looks vectors up instead of computing them."""

    def __init__(self, data: Data) -> None:
        self._data = data

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text of the data."""
        return self._data.vectors[self._data.rows[text]].tolist()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts of the data."""
        return [self.embed_query(text) for text in texts]


class Peer(Protocol):
    """What is measured: built from all texts, then asked and added to."""

    def search(self, text: str) -> Sequence[Any]:
        """Find the best items for a text."""
        ...

    def add(self, text: str) -> None:
        """Add an item that the next search must see."""
        ...


class OurIndex:
    """`HybridIndex`, with the product's tokenizer inside the time."""

    def __init__(self, data: Data) -> None:
        from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
        from agentic_memory_bank.tools.text.terms import tokenize

        self._index, self._tokenize, self._data = HybridIndex(), tokenize, data
        for text in data.texts:
            self.add(text)

    def search(self, text: str) -> Sequence[Any]:
        """Find the best items for a text."""
        return self._index.search(self._tokenize(text), self._vector(text), K)

    def add(self, text: str) -> None:
        """Add an item that the next search must see."""
        self._index.put(text, self._tokenize(text), self._vector(text))

    def _vector(self, text: str) -> Any:
        return self._data.vectors[self._data.rows[text]]


class Store:
    """LangGraph's `InMemoryStore` with its vector search."""

    def __init__(self, data: Data) -> None:
        from langgraph.store.base import PutOp
        from langgraph.store.memory import InMemoryStore

        self._store = InMemoryStore(index={"dims": DIMENSIONS, "embed": Known(data), "fields": ["text"]})
        for start in range(0, len(data.texts), 1_000):
            batch = data.texts[start : start + 1_000]
            self._store.batch([PutOp(("memories",), text, {"text": text}) for text in batch])

    def search(self, text: str) -> Sequence[Any]:
        """Find the best items for a text."""
        return self._store.search(("memories",), query=text, limit=K)

    def add(self, text: str) -> None:
        """Add an item that the next search must see."""
        self._store.put(("memories",), text, {"text": text})


class Ensemble:
    """LangChain's `EnsembleRetriever` over `BM25Retriever` and FAISS; BM25Retriever is built anew for an addition."""

    def __init__(self, data: Data) -> None:
        from langchain_community.vectorstores import FAISS

        self._known, self._texts = Known(data), list(data.texts)
        pairs = zip(data.texts, data.vectors[: len(data.texts)], strict=True)
        self._vectors = FAISS.from_embeddings(pairs, self._known)  # pyright: ignore[reportArgumentType]
        self._combine()

    def _combine(self) -> None:
        from langchain_classic.retrievers import EnsembleRetriever
        from langchain_community.retrievers import BM25Retriever

        lanes = [BM25Retriever.from_texts(self._texts, k=K), self._vectors.as_retriever(search_kwargs={"k": K})]
        self._ensemble = EnsembleRetriever(retrievers=lanes, weights=[0.5, 0.5])

    def search(self, text: str) -> Sequence[Any]:
        """Find the best items for a text."""
        return self._ensemble.invoke(text)[:K]

    def add(self, text: str) -> None:
        """Add an item that the next search must see."""
        self._texts.append(text)
        self._vectors.add_texts([text])
        self._combine()


class Mem0:
    """mem0's `Memory` over its local Qdrant; filled through its vector store in bulk, which is the faster way."""

    def __init__(self, data: Data) -> None:
        self._folder = tempfile.TemporaryDirectory()
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=self._folder.name, OPENAI_API_KEY="unused")
        from mem0 import Memory  # pyright: ignore[reportMissingImports]

        place = {"path": f"{self._folder.name}/q", "on_disk": True, "embedding_model_dims": DIMENSIONS}
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": {**place, "collection_name": "memories"}},
                "embedder": {"provider": "langchain", "config": {"model": Known(data)}},
            }
        )
        for start in range(0, len(data.texts), 1_000):
            self._fill(data.texts[start : start + 1_000], data.vectors[start : start + 1_000], start)

    def _fill(self, texts: list[str], vectors: Any, start: int) -> None:
        payloads = [{"data": text, "user_id": "u", "hash": str(start + i)} for i, text in enumerate(texts)]
        ids = [f"00000000-0000-4000-8000-{start + i:012d}" for i in range(len(texts))]
        self._memory.vector_store.insert(vectors=vectors.tolist(), payloads=payloads, ids=ids)

    def search(self, text: str) -> Sequence[Any]:
        """Find the best items for a text."""
        return self._memory.search(text, filters={"user_id": "u"}, top_k=K)["results"]

    def add(self, text: str) -> None:
        """Add an item that the next search must see."""
        self._memory.add(text, user_id="u", infer=False)


PEERS: dict[str, tuple[str, Callable[[Data], Peer]]] = {
    "index": ("HybridIndex", OurIndex),
    "store": ("InMemoryStore", Store),
    "ensemble": ("EnsembleRetriever", Ensemble),
    "mem0": ("mem0 + Qdrant local", Mem0),
}

LARGE = 100_000
"""Items from which the bars hold."""
FASTER = {"store": 250.0, "ensemble": 8.0, "mem0": 250.0}
"""How many times as fast as a peer a search has to be."""
MOST_ADDED = 30.0
"""Milliseconds of adding a memory and searching."""


def measure(peer: str, size: int) -> dict[str, float]:
    """Build one peer and time it, in this process."""
    data = Data(size)
    before = _resident()
    began = time.perf_counter()
    built = PEERS[peer][1](data)
    seconds = time.perf_counter() - began
    grown = _resident() - before
    built.search(data.queries[0])
    searches = _timed([partial(built.search, query) for query in data.queries[1:]])
    added = [partial(_add_and_search, built, text) for text in data.new]
    return {
        "build_s": seconds,
        "p50_ms": float(np.percentile(searches, 50)),
        "p95_ms": float(np.percentile(searches, 95)),
        "add_search_ms": float(np.percentile(_timed(added), 50)),
        "memory_mb": grown,
        "searches": len(searches),
    }


def _add_and_search(peer: Peer, text: str) -> None:
    peer.add(text)
    peer.search(text)


def _timed(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """Milliseconds of each call, as many calls as fit the time of a peer, three at least."""
    taken: list[float] = []
    for call in calls:
        began = time.perf_counter()
        call()
        taken.append((time.perf_counter() - began) * 1_000)
        if len(taken) >= 3 and sum(taken) > SECONDS_PER_PEER * 1_000:
            break
    return taken


def _resident() -> float:
    """Megabytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(argv: list[str] | None = None) -> int:
    """Measure every peer at every size and print a table, then how many times faster the index is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="items, comma-separated")
    parser.add_argument("--peers", default=",".join(PEERS), help="which, comma-separated; the first is compared")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    sizes = [int(size) for size in arguments.sizes.split(",")]
    if arguments.child:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # langchain_community announces its end on import
            sys.stdout.write("\n" + json.dumps(measure(arguments.child, sizes[0])) + "\n")
        return 0
    peers = [peer for peer in arguments.peers.split(",") if _is_installed(peer)]
    met = [_compare(size, peers) for size in sizes]
    return 0 if all(met) else 1


def _is_installed(peer: str) -> bool:
    """Whether a peer can be measured; says what to install when it cannot."""
    module, packages = NEEDED.get(peer, ("numpy", ""))
    if importlib.util.find_spec(module):
        return True
    sys.stdout.write(f"{PEERS[peer][0]} is left out; to include it: pip install {packages}\n")
    return False


def _compare(size: int, peers: list[str]) -> bool:
    """Print the figures of one size; whether the bars hold, which are for the largest one."""
    head = f"{'items':>8} {'peer':<22}" + "".join(f"{name:>15}" for name in ("p50 ms", "p95 ms", "add+search ms"))
    sys.stdout.write(f"\n{head}{'build s':>10}{'memory MB':>11}{'searches':>10}\n")
    figures: dict[str, dict[str, float]] = {}
    for peer in peers:
        row = figures[peer] = _in_child(peer, size)
        times = "".join(f"{row[name]:>15.2f}" for name in ("p50_ms", "p95_ms", "add_search_ms"))
        rest = f"{row['build_s']:>10.1f}{row['memory_mb']:>11.0f}{row['searches']:>10.0f}"
        sys.stdout.write(f"{size:>8} {PEERS[peer][0]:<22}{times}{rest}\n")
        sys.stdout.flush()
    ours, met = figures[peers[0]], list[bool]()
    if size >= LARGE:
        met.append(holds(f"add + search at {size:,}, ms", round(ours["add_search_ms"], 2), most=MOST_ADDED))
    for peer in peers[1:]:
        search, add = (figures[peer][name] / ours[name] for name in ("p50_ms", "add_search_ms"))
        name = PEERS[peers[0]][0]
        sys.stdout.write(f"{name} over {PEERS[peer][0]}: search {search:.1f} x, add + search {add:.1f} x faster\n")
        if size >= LARGE and peer in FASTER:
            said = f"times as fast as {PEERS[peer][0]} at {size:,}"
            met.append(holds(said, round(search, 1), least=FASTER[peer]))
    return all(met)


def _in_child(peer: str, size: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", peer, "--sizes", str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{PEERS[peer][0]} failed at {size} items:\n{done.stderr[-2_000:]}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    raise SystemExit(main())
