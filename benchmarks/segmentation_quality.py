"""How well topic changes are found: the product's `segment`, one setting for all, judged by `score.py` of the set."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from agentic_memory_bank.engines.extractive.summarising.segmentation import segment
from agentic_memory_bank.tools.embeddings.encoder import Encoder

TARGET_PK = 0.31
"""Highest Pk over all documents that passes."""


def main() -> int:
    """Segment all documents and print the scorer's table and whether the target is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eval", type=Path, required=True, help="the evaluation folder")
    parser.add_argument("--cache", type=Path, help="a file that keeps vectors between runs")
    given = parser.parse_args()
    encoder = Encoder(cache=given.cache)
    met = True
    for file in sorted((given.eval / "segmentation").glob("docs.*.jsonl")):
        met &= _judged(given.eval / "score.py", file, _segmented(_rows(file), encoder))
    return 0 if met else 1


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def _segmented(docs: list[dict[str, Any]], encoder: Encoder) -> list[dict[str, Any]]:
    vectors = encoder.vectors([unit for doc in docs for unit in doc["units"]])
    borders = np.cumsum([len(doc["units"]) for doc in docs])[:-1]
    return [
        {"id": doc["id"], "segments": segment(doc["units"], own)}
        for doc, own in zip(docs, np.split(vectors, borders), strict=True)
    ]


def _judged(scorer: Path, file: Path, run: list[dict[str, Any]]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder, "run.jsonl")
        answers.write_text("".join(json.dumps(row) + "\n" for row in run), encoding="utf-8")
        command = [sys.executable, str(scorer), "segments", "--docs", str(file), "--run", str(answers)]
        table = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        scores = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True, text=True).stdout)
    reached = scores["ALL"]["Pk"]
    met = reached <= TARGET_PK
    sys.stdout.write(f"{file.name}\n{table}")
    sys.stdout.write(f"{'pass' if met else 'FAIL'}  Pk over all {reached:.3f}, at most {TARGET_PK}\n")
    return met


if __name__ == "__main__":
    raise SystemExit(main())
