"""How much of the evidence does the index find? LoCoMo turns and sessions, multi-hop passages, Chinese sentences.

    python benchmarks/retrieval_quality.py --eval DIR [--cache DIR]

DIR is the folder of evaluation data; its own `score.py` is the judge. Tokenizer, encoder, index and settings are the
product's, all at their defaults. With `--cache`, vectors are kept in that folder for the next time.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings import Encoder
from agentic_memory_bank.tools.retrieval import HybridIndex, Query, alpha_for
from agentic_memory_bank.tools.text import tokenize

Row = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """One figure to reach: a set of questions over a set of units, and the metric of `score.py` that counts."""

    name: str
    queries: str
    units: str
    metric: str
    least: float
    gold: str = "gold"
    exclude: str = ""
    group_by: str | None = None


TARGETS = (
    Target("LoCoMo turns", "locomo/queries", "locomo/turns.{half}", "R@10", 0.66, exclude="adversarial"),
    Target(
        "LoCoMo sessions",
        "locomo/queries",
        "locomo/turns.{half}",
        "R@10",
        0.93,
        gold="gold_sessions",
        exclude="adversarial",
        group_by="session",
    ),
    Target("multihop", "multihop/queries", "multihop/corpus", "R@5", 0.69),
    Target("CMRC sentences", "cmrc_zh/queries", "cmrc_zh/sentences", "R@10", 0.82, gold="gold_sentences"),
)


def main(argv: list[str] | None = None) -> int:
    """Measure each target and print the judge's tables. The exit status says whether all were reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data, with score.py")
    parser.add_argument("--cache", type=Path, help="folder to keep vectors in")
    parser.add_argument("--half", default="dev", help="which half's files to read (default: dev)")
    arguments = parser.parse_args(argv)
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    encoder = Encoder(cache=arguments.cache / "vectors.sqlite" if arguments.cache else None)
    with tempfile.TemporaryDirectory() as folder:
        verdicts = [_measure(target, arguments.eval, arguments.half, encoder, Path(folder)) for target in TARGETS]
    sys.stdout.write("\n" + "\n".join(line for line, _ in verdicts) + "\n")
    return 0 if all(passed for _, passed in verdicts) else 1


def _measure(target: Target, data: Path, half: str, encoder: Encoder, folder: Path) -> tuple[str, bool]:
    queries = data / f"{target.queries}.{half}.jsonl"
    run = folder / "run.jsonl"
    with run.open("w", encoding="utf8") as file:
        for row in _answers(target, _rows(queries), _rows(data / f"{target.units.format(half=half)}.jsonl"), encoder):
            file.write(json.dumps(row) + "\n")
    judge = [sys.executable, str(data / "score.py"), "retrieval", "--queries", str(queries), "--run", str(run)]
    judge += ["--gold", target.gold, "--exclude", target.exclude]
    table = subprocess.run(judge, check=True, capture_output=True, text=True).stdout
    sys.stdout.write(f"{target.name}\n{table}\n")
    figures = json.loads(subprocess.run([*judge, "--json"], check=True, capture_output=True, text=True).stdout)
    reached = figures["ALL"][target.metric]
    passed = reached >= target.least
    verdict = "pass" if passed else "FAIL"
    return f"{verdict}  {target.name}: {target.metric} {reached:.4f}, target {target.least:.2f}", passed


def _answers(target: Target, queries: list[Row], units: list[Row], encoder: Encoder) -> Iterator[Row]:
    """Rank the units of each query's group; units of one session answer for it, each session ranked by its best."""
    settings = Settings()
    indexes = _indexes(units, encoder)
    name_of = _naming(target, units)
    depth = len(units) if target.group_by else 10
    vectors = encoder.vectors([query["query"] for query in queries])
    for query, vector in zip(queries, vectors, strict=True):
        text = query["query"]
        wanted = Query(tokenize(text), vector, alpha_for(text, settings.alpha, settings.alpha_zh))
        hits = indexes[query["group"]].search_many([wanted], depth)[0]
        ranked = list(dict.fromkeys(name_of(hit.id) for hit in hits))
        yield {"qid": query["qid"], "ranked": ranked[:10]}


def _indexes(units: list[Row], encoder: Encoder) -> dict[str, HybridIndex]:
    indexes: dict[str, HybridIndex] = {}
    vectors = encoder.vectors([_text(unit) for unit in units])
    for unit, vector in zip(units, vectors, strict=True):
        keywords = unit.get("title", "")
        terms = tokenize(f"{_text(unit)}\n{keywords}")
        indexes.setdefault(unit["group"], HybridIndex()).put(unit["id"], terms, vector)
    return indexes


def _text(unit: Row) -> str:
    """What is remembered of a unit: who said it, and what a shared picture shows; a passage below its title."""
    if "speaker" in unit:
        return " ".join(filter(None, (f"{unit['speaker']}: {unit['text']}", unit.get("caption"))))
    return "\n".join(filter(None, (unit.get("title"), unit["text"])))


def _naming(target: Target, units: list[Row]) -> Callable[[str], str]:
    if target.group_by is None:
        return str
    owners = {unit["id"]: unit[target.group_by] for unit in units}
    return owners.__getitem__


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


if __name__ == "__main__":
    raise SystemExit(main())
