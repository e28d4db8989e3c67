"""Does one index hold from a thousand to a million items: how fast, how large, and how much like the exact ranking?

    python benchmarks/many_items.py [--sizes 1000,10000,100000,1000000] [--vectors themes,hashes] [--hnsw 100000]

An index is written to its file by one process, which also notes what the exact search finds; another one opens it and
is measured: opening, hybrid searches for 10 items, an item more and the search that must see it, searches among a
seventh and a thousandth of the items, memory. Texts have 40 words of a Zipf vocabulary. *themes* are vectors like those
of texts: each a mixture of one of 2,000 themes, a second one and something of its own; *hashes* are those of
`HashEmbeddings` of the texts. Beside it stand faiss's flat index and, up to `--hnsw` items, its HNSW with scalar
quantisation, alone, in the process that wrote: they know no words, no filters and no removals.

Times are those of the processor, which other programs leave alone, with the time on the clock in brackets.
The exit status says whether every bar holds.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from _bars import holds  # beside this
from retrieval_scale import DIMENSIONS, VOCABULARY, WORDS, K, word  # a benchmark, too

from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
from agentic_memory_bank.tools.search.near_vectors import NEAR_FROM
from agentic_memory_bank.tools.storage.section_file import SectionFile, write_sections

CHUNK: Final = 20_000
QUERIES: Final = 60
THEMES: Final = 2_000
BARS: Final = {"search": 20.0, "add + search": 30.0, "open": 2_000.0, "resident": 1_500.0}
"""Milliseconds, and megabytes, at most."""
RECALL: Final = 0.98
EXPONENT: Final = 0.6
"""At most, of searching above the threshold."""
Items = Iterator[tuple[str, list[str], Any]]


def items(count: int, kind: str, seed: int) -> Items:
    """Ids, terms and vectors; the first ones are the same for every count."""
    themes = np.random.default_rng(1).standard_normal((THEMES, DIMENSIONS), np.float32) / math.sqrt(DIMENSIONS)
    weights = 1 / np.arange(1, VOCABULARY + 1) ** 1.07
    words = np.array([word(number) for number in range(VOCABULARY)], object)
    for start in range(0, count, CHUNK):
        draw = np.random.default_rng([seed, start])
        texts = words[draw.choice(VOCABULARY, (CHUNK, WORDS), p=weights / weights.sum())].tolist()
        some = min(CHUNK, count - start)
        if kind == "hashes":
            vectors = HashEmbeddings(DIMENSIONS).embed_documents([" ".join(text) for text in texts[:some]])
        else:
            first, second = (themes[draw.zipf(1.3, CHUNK) % THEMES], themes[draw.integers(0, THEMES, CHUNK)])
            own = draw.standard_normal((CHUNK, DIMENSIONS), np.float32) / math.sqrt(DIMENSIONS)
            vectors = 0.6 * first + 0.35 * second + 0.7 * own
        for place in range(some):
            yield f"{seed}-{start + place}", texts[place], np.asarray(vectors[place], np.float32)


def write(folder: Path, size: int, kind: str, hnsw: int) -> dict[str, Any]:
    """Fill an index, note what the exact search finds, and write its file."""
    begun, index = time.process_time(), HybridIndex()
    for id, terms, vector in items(size, kind, 7):
        index.put(id, terms, vector)
    told: dict[str, Any] = {"fill": time.process_time() - begun}
    asked = list(items(QUERIES, kind, 11))
    exact = partial(index.search, k=K)
    truth = [[hit.id for hit in exact(terms[:8], vector)] for _, terms, vector in asked]
    inside = [[hit.id for hit in exact(t[:8], v, within=sevenths(size))] for _, t, v in asked[:9]]
    told["exact"] = timed([partial(exact, terms[:8], vector) for _, terms, vector in asked[:20]])
    begun = time.process_time()
    write_sections(folder / "index", {}, index.arrays())
    told |= {"write": time.process_time() - begun, "bytes": (folder / "index").stat().st_size}
    (folder / "told.json").write_text(json.dumps({"truth": truth, "inside": inside}))
    del index
    return told | alone(SectionFile(folder / "index")["matrix"], np.stack([v for _, _, v in asked]), hnsw)


def alone(matrix: Any, queries: Any, hnsw: int) -> dict[str, Any]:
    """The searches of faiss alone."""
    faiss: Any = import_module("faiss")
    peers: dict[str, Any] = {"flat": faiss.IndexFlatIP(DIMENSIONS)}
    if len(matrix) <= hnsw:
        peers["hnsw"] = faiss.IndexHNSWSQ(DIMENSIONS, faiss.ScalarQuantizer.QT_8bit, 32, faiss.METRIC_INNER_PRODUCT)
    told: dict[str, Any] = {}
    unit = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    for name, peer in peers.items():
        peer.train(np.array(matrix[:20_000]))
        for start in range(0, len(matrix), CHUNK):
            peer.add(np.array(matrix[start : start + CHUNK]))
        if name == "hnsw":
            peer.hnsw.efSearch = 128
        told[name] = timed([partial(peer.search, query[None], K) for query in unit])
    return told


def read(folder: Path, size: int, kind: str) -> dict[str, Any]:
    """Open the file, as a new process does, and measure."""
    asked, added = list(items(QUERIES, kind, 11)), list(items(QUERIES, kind, 13))
    noted, opened = json.loads((folder / "told.json").read_text()), list[HybridIndex]()
    told: dict[str, Any] = {"open": timed([lambda: opened.append(HybridIndex(SectionFile(folder / "index")))])}
    index = opened[0]
    index.search(asked[0][1][:8], asked[0][2], K)
    told["search"] = timed([partial(index.search, terms[:8], vector, K) for _, terms, vector in asked])
    found = [[hit.id for hit in index.search(terms[:8], vector, K)] for _, terms, vector in asked]
    told["recall"] = recall(found, noted["truth"])
    within = sevenths(size)
    inside = [[hit.id for hit in index.search(t[:8], v, K, within=within)] for _, t, v in asked[:9]]
    told["recall within a seventh"] = recall(inside, noted["inside"])
    told["within a seventh"] = timed([partial(index.search, t[:8], v, K, within=within) for _, t, v in asked[:9]])
    few = within[::143]
    told["within a thousandth"] = timed([partial(index.search, t[:8], v, K, within=few) for _, t, v in asked[:9]])

    def add(id: str, terms: Sequence[str], vector: Any) -> None:
        index.put(id, terms, vector)
        assert index.search(terms, vector, K)[0].id == id

    told["add + search"] = timed([partial(add, *one) for one in added])
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return told | {"resident": [pages * os.sysconf("SC_PAGE_SIZE") / 1e6] * 2}


def sevenths(size: int) -> list[str]:
    """The ids of each seventh item."""
    return [f"7-{number}" for number in range(0, size, 7)]


def recall(found: Sequence[Sequence[str]], truth: Sequence[Sequence[str]]) -> float:
    """The share of the best that is found."""
    shares = [len(set(one) & set(best)) / len(best) for one, best in zip(found, truth, strict=True) if best]
    return sum(shares) / len(shares)


def timed(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """Milliseconds of the middle call: of the processor, and on the clock."""
    taken: list[tuple[float, float]] = []
    for call in calls:
        used, begun = time.process_time(), time.perf_counter()
        call()
        taken.append(((time.process_time() - used) * 1_000, (time.perf_counter() - begun) * 1_000))
    return np.median(taken, axis=0).tolist()


def main(argv: list[str] | None = None) -> int:
    """Measure every size; the exit status says whether every bar holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000,1000000", help="items, comma-separated")
    parser.add_argument("--vectors", default="themes,hashes", help="kinds of vectors, comma-separated")
    parser.add_argument("--hnsw", type=int, default=100_000, help="most items that faiss's HNSW is built from")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    sizes = [int(size) for size in given.sizes.split(",")]
    if given.child:
        task, folder = given.child
        done = write(Path(folder), sizes[0], given.vectors, given.hnsw) if task == "write" else None
        sys.stdout.write(json.dumps(done or read(Path(folder), sizes[0], given.vectors)))
        return 0
    from research_calls import machine

    say(f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {machine()}")
    met = [compare(sizes, kind, given.hnsw) for kind in given.vectors.split(",")]
    return 0 if all(met) else 1


def compare(sizes: Sequence[int], kind: str, hnsw: int) -> bool:
    """Print the figures of one kind of vectors; whether the bars hold."""
    rows: dict[int, dict[str, Any]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            rows[size] = row = {**child("write", folder, size, kind, hnsw), **child("read", folder, size, kind, hnsw)}
        say(
            f"\n{size:,} items, {kind}: filled in {row['fill']:.1f} s, written in {row['write']:.1f} s, "
            f"{row['bytes'] / 1e6:,.0f} MB"
        )
        for name in ("open", "search", "add + search", "within a seventh", "within a thousandth", "resident"):
            bar = f"  at most {BARS[name]:,.0f}: {verdict(row[name][0] <= BARS[name])}" if name in BARS else ""
            say(f"  {name:<20}{row[name][0]:>10.2f} ({row[name][1]:.2f}){bar}")
        say(
            f"  recall@{K} of the exact ranking {row['recall']:.3f}, within a seventh "
            f"{row['recall within a seventh']:.3f}  at least {RECALL}: {verdict(row['recall'] >= RECALL)}"
        )
        for name in ("exact", "flat", "hnsw"):
            if name in row:
                say(
                    f"  {name + ' alone' if name != 'exact' else 'exact search':<20}{row[name][0]:>10.2f} "
                    f"({row[name][1]:.2f}), {row[name][0] / row['search'][0]:.1f} times the search"
                )
    for name in ("fill", "write", "open", "search", "add + search"):
        say(f"growth of {name}: " + ", ".join(growth(rows, name)))
    above = [size for size in sizes if size >= NEAR_FROM]
    met = [
        holds(
            f"growth of search, {small:,} to {large:,} items",
            round(exponent(rows, "search", small, large), 2),
            most=EXPONENT,
        )
        for small, large in pairwise(above)
    ]
    met += [row["recall"] >= RECALL and all(row[name][0] <= bar for name, bar in BARS.items()) for row in rows.values()]
    return all(met)


def growth(rows: dict[int, dict[str, Any]], name: str) -> Iterator[str]:
    """The exponent of a time between each size and the next."""
    for small, large in pairwise(rows):
        yield f"{small:,} to {large:,}: {exponent(rows, name, small, large):.2f}"


def exponent(rows: dict[int, dict[str, Any]], name: str, small: int, large: int) -> float:
    """How a time grows from one size to another: 1 where it is as the size."""
    first, last = (np.ravel(rows[size][name])[0] for size in (small, large))
    return math.log(last / first) / math.log(large / small)


def verdict(is_met: bool) -> str:
    """A bar that holds, or does not."""
    return "pass" if is_met else "FAIL"


def child(task: str, folder: str, size: int, kind: str, hnsw: int) -> dict[str, Any]:
    """What a process of its own says."""
    command = [sys.executable, __file__, "--child", task, folder, "--sizes", str(size), "--vectors", kind]
    done = subprocess.run([*command, "--hnsw", str(hnsw)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{task} failed at {size} items:\n{done.stderr[-2_000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
