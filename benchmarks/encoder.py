"""The default embedding model in ONNX Runtime beside the same weights in sentence-transformers: speed and vectors.

Usage: `.venv/bin/python benchmarks/encoder.py --eval DIR [--texts 400]`
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings

PARAGRAPH = 1_200
"""Characters of a paragraph."""


class Spent(NamedTuple):
    """What encoding took."""

    wall: float
    cpu: float
    vectors: Any


def rows(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def texts(folder: Path, most: int) -> dict[str, list[str]]:
    """What is encoded: turns of dialogues, paragraphs of papers and meetings, and Chinese paragraphs."""
    talks = (talk for row in rows(folder / "everyday" / "dialogues.dev.jsonl") for talk in row["conversations"])
    turns = [text for talk in talks for _, text in talk["turns"]]
    pages = [row["text"][:PARAGRAPH] for row in rows(folder / "longdoc" / "pages.dev.jsonl")]
    chinese = [row["text"] for row in rows(folder / "cmrc_zh" / "corpus.jsonl")]
    return {"turns": turns[:most], "paragraphs": pages[:most], "Chinese": chinese[:most]}


def encoded(model: LocalEmbeddings, wanted: list[str]) -> Spent:
    """Encode texts, with the model loaded before the clock runs."""
    model.encode(["."])
    wall, cpu = time.perf_counter(), time.process_time()
    vectors = model.encode(wanted)
    return Spent(time.perf_counter() - wall, time.process_time() - cpu, vectors)


def compared(wanted: list[str], threads: int, repetitions: int) -> dict[str, float]:
    """Both models on the same texts, in turns; the best time of each counts, since noise only adds."""
    ours, theirs = LocalEmbeddings(threads=threads), LocalEmbeddings(threads=threads, backend="pytorch")
    pairs = [(encoded(ours, wanted), encoded(theirs, wanted)) for _ in range(repetitions)]
    cosines = np.sum(pairs[0][0].vectors * pairs[0][1].vectors, axis=1, dtype=np.float64)
    best = [[min(getattr(pair[side], what) for pair in pairs) for what in ("wall", "cpu")] for side in (0, 1)]
    return {
        "texts": len(wanted),
        "onnx_cpu_seconds": round(best[0][1], 2),
        "sentence_transformers_cpu_seconds": round(best[1][1], 2),
        "times_as_fast_cpu": round(best[1][1] / best[0][1], 2),
        "times_as_fast_wall": round(best[1][0] / best[0][0], 2),
        "least_cosine": round(float(cosines.min()), 7),
        "mean_cosine": round(float(cosines.mean()), 7),
    }


def main() -> None:
    """Print the comparison for one core up to all of them; fail where a vector differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eval", type=Path, required=True, help="the folder of evaluation data")
    parser.add_argument("--texts", type=int, default=400, help="how many of each kind")
    parser.add_argument("--repetitions", type=int, default=2)
    given = parser.parse_args()
    wanted, cores = texts(given.eval, given.texts), len(os.sched_getaffinity(0))
    report = {
        f"{kind}, {threads} thread{'s' * (threads > 1)}": compared(some, threads, given.repetitions)
        for threads in sorted({1, cores})
        for kind, some in wanted.items()
    }
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    if min(row["least_cosine"] for row in report.values()) < 0.99999:
        sys.exit("A vector is not the one that sentence-transformers makes.")


if __name__ == "__main__":
    main()
