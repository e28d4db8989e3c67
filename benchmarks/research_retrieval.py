"""How much of the evidence does the research index find, without a model? Multi-hop, long documents, meetings, padding.

    python benchmarks/research_retrieval.py --eval DIR [--cache DIR] [--half dev] [--fusion score]

DIR is the folder of evaluation data; its own `score.py` is the judge. What is searched is the product's `PageIndex`
with the question alone, at the product's settings: one index for the pool of paragraphs, one for each meeting or
document. With `--cache`, vectors are kept in that folder for the next time. The exit status says whether all targets
were reached.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agentic_memory_bank.state.pages import Page, PageSearch
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.pages.index import PageIndex

Row = dict[str, Any]
Table = dict[str, dict[str, float]]

SIZES = (50, 200, 800)
"""Paragraphs in the documents that the same questions are asked of."""

MAY_LOSE = 0.05
"""How much of R@5 may go from the smallest of these documents to the largest."""

SHOWN = 10
"""How many pages a search brings."""


@dataclass(frozen=True)
class Target:
    """A figure to reach: row and metric of the table that `score.py` makes."""

    metric: str
    least: float
    row: str = "ALL"


@dataclass(frozen=True)
class Set:
    """Questions over pages, and what is to be reached on them."""

    name: str
    folder: str
    pages: str
    targets: tuple[Target, ...]
    by: str = "type"
    titles: bool = True


SETS = (
    Set(
        "multihop",
        "multihop",
        "corpus",
        (Target("R@5", 0.86), Target("R@10", 0.90), Target("R@5", 0.60, "dataset=musique")),
        by="dataset",
    ),
    Set("multihop, titles withheld", "multihop", "corpus", (Target("R@5", 0.72),), by="dataset", titles=False),
    Set("longdoc", "longdoc", "pages.{half}", (Target("R@5", 0.64),)),
    Set("qmsum", "qmsum", "pages.{half}", (Target("R@10", 0.69),)),
)


def main(argv: list[str] | None = None) -> int:
    """Measure each set and print the judge's tables. The exit status says whether all targets were reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data, with score.py")
    parser.add_argument("--cache", type=Path, help="folder to keep vectors in")
    parser.add_argument("--half", default="dev", help="which half's files to read (default: dev)")
    parser.add_argument("--fusion", choices=("score", "rrf"), default="score", help="how the lanes are fused")
    parser.add_argument("--only", default="", help="measure sets whose name begins with this")
    arguments = parser.parse_args(argv)
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.eval, arguments.half, arguments.cache, arguments.fusion, Path(folder))
        verdicts = [v for one in SETS if one.name.startswith(arguments.only) for v in bench.measure(one)]
        if "padded".startswith(arguments.only):
            verdicts.append(bench.measure_padding())
    sys.stdout.write("\n" + "\n".join(line for line, _ in verdicts) + "\n")
    return 0 if all(passed for _, passed in verdicts) else 1


class Bench:
    """The data, the product, and the judge."""

    def __init__(
        self, data: Path, half: str, cache: Path | None, fusion: Literal["score", "rrf"], folder: Path
    ) -> None:
        self._data, self._half, self._folder = data, half, folder
        self._encoder = Encoder(cache=cache / "vectors.sqlite" if cache else None)
        self._settings = Settings(research_fusion=fusion)

    def measure(self, one: Set) -> Iterator[tuple[str, bool]]:
        """Ask all questions of a set, print the judge's table, and give a verdict for each target."""
        queries = self._data / one.folder / f"queries.{self._half}.jsonl"
        pages = _rows(self._data / one.folder / f"{one.pages.format(half=self._half)}.jsonl")
        groups: defaultdict[str, list[Row]] = defaultdict(list)
        for row in pages:
            groups[row["group"]].append(row)
        asked: defaultdict[str, list[Row]] = defaultdict(list)
        for query in _rows(queries):
            asked[query["group"]].append(query)
        run: list[Row] = []
        timer = Timer()
        for group, members in asked.items():
            index = self._index(_pages(groups[group], titles=one.titles))
            run += self._answers(index, members, timer)
        table = self._judged(one.name, queries, run, one.by)
        sys.stdout.write(f"{timer.milliseconds:.1f} ms a search, {len(pages)} pages in {len(groups)} indexes\n\n")
        for target in one.targets:
            reached = table[target.row][target.metric]
            yield _verdict(f"{one.name} {target.row}: {target.metric}", reached, target.least)

    def measure_padding(self) -> tuple[str, bool]:
        """Ask the same questions of ever longer documents; the verdict is on what the longest costs.

        The questions are those of the smallest documents of `longctx`, which are filled up from the pool. (The larger
        documents of `longctx` have other questions; what is found of those is printed, too.)
        """
        rows = _rows(self._data / "multihop/corpus.jsonl")
        corpus = {row["id"]: row for row in rows}
        filling = sorted(corpus, key=lambda id: hashlib.sha256(f"padding:{id}".encode()).digest())
        questions = _rows(self._data / f"multihop/longctx.{self._half}.jsonl")
        smallest = [q for q in questions if len(q["order"]) == SIZES[0]]
        reached: list[float] = []
        for size in SIZES:
            padded = [{**q, "order": list(dict.fromkeys([*q["order"], *filling]))[:size]} for q in smallest]
            reached.append(self._padded(f"the same questions, padded to {size}", padded, corpus))
            if size > SIZES[0]:
                own = [q for q in questions if len(q["order"]) == size]
                self._padded(f"the questions that longctx has at {size}", own, corpus)
        return _verdict(f"padded: R@5 at {SIZES[-1]} less that at {SIZES[0]}", reached[-1] - reached[0], -MAY_LOSE)

    def _padded(self, name: str, questions: Sequence[Row], corpus: Mapping[str, Row]) -> float:
        timer, run = Timer(), list[Row]()
        for query in questions:
            index = self._index(_pages([corpus[id] for id in query["order"]], titles=True))
            run += self._answers(index, [query], timer)
        table = self._judged(name, self._written("padded", questions), run, "type")
        sys.stdout.write(f"{timer.milliseconds:.1f} ms a search\n\n")
        return table["ALL"]["R@5"]

    def _index(self, pages: Sequence[Page]) -> PageIndex:
        index = PageIndex(self._encoder)
        index.put(pages)
        return index

    def _answers(self, index: PageIndex, queries: Sequence[Row], timer: "Timer") -> list[Row]:
        self._encoder.vectors([query["query"] for query in queries])
        return [{"qid": query["qid"], "ranked": timer.ranked(index, query, self._settings)} for query in queries]

    def _judged(self, name: str, queries: Path, run: Sequence[Row], by: str) -> Table:
        answers = self._written("run", run)
        judge = [sys.executable, str(self._data / "score.py"), "retrieval"]
        judge += ["--queries", str(queries), "--run", str(answers), "--by", by]
        table = subprocess.run(judge, check=True, capture_output=True, text=True).stdout
        sys.stdout.write(f"{name}\n{table}")
        return json.loads(subprocess.run([*judge, "--json"], check=True, capture_output=True, text=True).stdout)

    def _written(self, name: str, rows: Iterable[Mapping[str, Any]]) -> Path:
        path = self._folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")
        return path


class Timer:
    """Counts searches and their time, vectors of the questions aside."""

    def __init__(self) -> None:
        self._seconds, self._count = 0.0, 0

    @property
    def milliseconds(self) -> float:
        """Mean time of a search."""
        return 1_000 * self._seconds / max(1, self._count)

    def ranked(self, index: PageIndex, query: Row, settings: Settings) -> list[str]:
        """The ids of the pages that a question finds, best first."""
        begin = time.perf_counter()
        hits = index.search(PageSearch(query["query"]), SHOWN, settings)
        self._seconds += time.perf_counter() - begin
        self._count += 1
        return [hit.page for hit in hits]


def _pages(rows: Sequence[Row], *, titles: bool) -> list[Page]:
    """Rows of a pool are pages of their own; those with an order are the parts of one document."""
    return [
        {
            "id": row["id"],
            "title": row.get("title", "") if titles else "",
            "abstract": "",
            "text": row["text"],
            "source": row["group"],
            "metadata": {"part": row["order"], "parts": len(rows)} if "order" in row else {},
            "created_at": "",
            "expires_at": None,
        }
        for row in rows
    ]


def _verdict(name: str, reached: float, least: float) -> tuple[str, bool]:
    passed = reached >= least
    return f"{'pass' if passed else 'FAIL'}  {name} {reached:.4f}, target {least:.2f}", passed


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


if __name__ == "__main__":
    raise SystemExit(main())
