"""How much of the evidence does the index find? LoCoMo turns and sessions, multi-hop passages, Chinese sentences.

    python benchmarks/retrieval_quality.py --eval DIR [--cache DIR]

DIR is the folder of evaluation data; its own `score.py` is the judge. What is searched is the product's `MemoryIndex`
at the product's settings, over a graph with one memory for each session of a dialogue or paragraph; a Chinese sentence
is a passage of its paragraph. With `--cache`, vectors are kept in that folder for the next time.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentic_memory_bank.state.interaction_tree import Anchor, Entry, InteractionTree
from agentic_memory_bank.state.query_graph import MemoryNode, QueryGraph
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.search.bank_index import MemoryIndex

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
    of_sessions: bool = False


TARGETS = (
    Target("LoCoMo turns", "locomo/queries", "locomo/turns.{half}", "R@10", 0.76, exclude="adversarial"),
    Target(
        "LoCoMo sessions",
        "locomo/queries",
        "locomo/turns.{half}",
        "R@10",
        0.93,
        gold="gold_sessions",
        exclude="adversarial",
        of_sessions=True,
    ),
    Target("multihop", "multihop/queries", "multihop/corpus", "R@5", 0.87),
    Target("CMRC sentences", "cmrc_zh/queries", "cmrc_zh/sentences", "R@10", 0.95, gold="gold_sentences"),
)


def main(argv: list[str] | None = None) -> int:
    """Measure each target and print the judge's tables. The exit status says whether all were reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data, with score.py")
    parser.add_argument("--cache", type=Path, help="folder to keep vectors in")
    parser.add_argument("--only", default="", help="measure targets whose name begins with this")
    parser.add_argument("--half", default="dev", help="which half's files to read (default: dev)")
    arguments = parser.parse_args(argv)
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    encoder = Encoder(cache=arguments.cache / "vectors.sqlite" if arguments.cache else None)
    with tempfile.TemporaryDirectory() as folder:
        wanted = [target for target in TARGETS if target.name.startswith(arguments.only)]
        verdicts = [_measure(target, arguments.eval, arguments.half, encoder, Path(folder)) for target in wanted]
    sys.stdout.write("\n" + "\n".join(line for line, _ in verdicts) + "\n")
    return 0 if all(passed for _, passed in verdicts) else 1


def _measure(target: Target, data: Path, half: str, encoder: Encoder, folder: Path) -> tuple[str, bool]:
    queries = data / f"{target.queries}.{half}.jsonl"
    run = folder / "run.jsonl"
    with run.open("w", encoding="utf8") as file:
        for row in answers(target, _rows(queries), _rows(data / f"{target.units.format(half=half)}.jsonl"), encoder):
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


@dataclass
class _Bank:
    """The memory of one group: its index, and for each entry the offsets at which its units start."""

    index: MemoryIndex
    starts: dict[str, list[int]] = field(default_factory=dict)
    units: dict[str, list[str]] = field(default_factory=dict)

    def unit_at(self, anchor: Anchor) -> str:
        """The unit that a passage stands in."""
        return self.units[anchor["entry"]][bisect_right(self.starts[anchor["entry"]], anchor["start"]) - 1]


def answers(target: Target, queries: list[Row], units: list[Row], encoder: Encoder) -> Iterator[Row]:
    """Rank the sessions or the units of each query's group."""
    settings = Settings()
    banks = _banks(units, encoder)
    encoder.vectors([query["query"] for query in queries])
    for query in queries:
        bank, text = banks[query["group"]], query["query"]
        if target.of_sessions:
            ranked = [node_id for node_id, _ in bank.index.search_memories(text, 10, settings)]
        else:
            found = bank.index.search_passages(text, 20, settings)
            ranked = list(dict.fromkeys(bank.unit_at(anchor) for _, _, anchor in found))[:10]
        yield {"qid": query["qid"], "ranked": ranked}


def _banks(units: list[Row], encoder: Encoder) -> dict[str, _Bank]:
    """The memory of each group: one entry and one memory for each session or paragraph, or unit that is in none."""
    groups: dict[str, dict[str, list[Row]]] = {}
    for unit in units:
        entry = unit.get("session") or unit.get("paragraph") or unit["id"]
        groups.setdefault(unit["group"], {}).setdefault(entry, []).append(unit)
    return {group: _bank(members, encoder) for group, members in groups.items()}


def _bank(entries: dict[str, list[Row]], encoder: Encoder) -> _Bank:
    bank = _Bank(MemoryIndex(encoder))
    graph: QueryGraph = {"nodes": {}}
    tree: InteractionTree = {"entries": {}}
    for entry_id, members in entries.items():
        text = ""
        for unit in members:
            bank.starts.setdefault(entry_id, []).append(len(text))
            bank.units.setdefault(entry_id, []).append(unit["id"])
            text += _text(unit) + "\n\n"
        tree["entries"][entry_id] = _entry(entry_id, text)
        graph["nodes"][entry_id] = _node(entry_id, len(text))
    bank.index.follow(graph, tree)
    return bank


def _entry(id: str, text: str) -> Entry:
    return {
        "id": id,
        "kind": "document",
        "text": text,
        "created_at": "",
        "source": "",
        "metadata": {},
        "tool_calls": [],
        "attachments": [],
    }


def _node(id: str, length: int) -> MemoryNode:
    """A memory that says nothing of its own, so that raw text alone is measured."""
    return {
        "id": id,
        "summary": "",
        "context": "",
        "keywords": [],
        "embedding": None,
        "created_at": "",
        "anchors": [{"entry": id, "start": 0, "end": length}],
        "provenance": {"sources": [], "task": None, "merged_from": []},
        "history": [],
    }


def _text(unit: Row) -> str:
    """What is remembered of a unit: who said it, and what a shared picture shows; a passage below its title."""
    if "speaker" in unit:
        said = " ".join(filter(None, (f"{unit['speaker']}: {unit['text']}", unit.get("caption"))))
        return " ".join(said.split())
    return "\n".join(filter(None, (unit.get("title"), unit["text"])))


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


if __name__ == "__main__":
    raise SystemExit(main())
