"""How well pairs of texts are judged by the product's own stages: contradictions, true merges, no confusion.

Each pair is put through structure, embed, retrieve (with its gate) and analyze_conflict of the memory bank: the first
text as a memory that is there, the second as a fresh one. `score.py` of the evaluation folder is the judge.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.extractive import ExtractiveEngine
from agentic_memory_bank.nodes.memory_bank.analyze_conflict import analyze_conflict
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.embed import embed
from agentic_memory_bank.nodes.memory_bank.retrieve import retrieve
from agentic_memory_bank.nodes.memory_bank.structure import structure
from agentic_memory_bank.state.memory_bank import MemoryBankState
from agentic_memory_bank.state.query_graph import apply_graph_edits
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.search.bank_index import IndexPool, MemoryIndex, embedded_texts

NOW = "2026-01-01T00:00:00.000000Z"
MOST_MERGED_CONTRADICTIONS = 0.05
LEAST_MERGES_FOUND = 0.40
MOST_FALSE_ALARMS = 0.08
LEAST_CONFLICTS_FOUND = {"number": 0.75, "date": 0.60, "negation": 0.70}


def main() -> int:
    """Judge all pairs and print the scorer's tables and the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="the evaluation folder")
    parser.add_argument("--cache", type=Path, help="a file that keeps vectors between runs")
    given = parser.parse_args()
    encoder = Encoder(cache=given.cache)
    deps = BankDeps(engine=ExtractiveEngine(encoder), encoder=encoder, indexes=IndexPool(partial(MemoryIndex, encoder)))
    met = True
    for task, wanted in (("conflict", "conflict"), ("merge", "merge")):
        for file in sorted((given.eval / task).glob("pairs.*.jsonl")):
            pairs = _rows(file)
            states = [_structured(pair, deps) for pair in pairs]
            encoder.vectors([text for state in states for text in _texts(state)])
            judged = {pair["pid"]: _judge(state, deps) for pair, state in zip(pairs, states, strict=True)}
            _show(given.eval, file, {pid: found == wanted for pid, found in judged.items()})
            met &= _conflict_targets(pairs, judged) if task == "conflict" else _merge_targets(pairs, judged)
    return 0 if met else 1


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def _texts(state: MemoryBankState) -> list[str]:
    """What is embedded of the memories of a pair: here, that of all pairs together."""
    nodes, tree = state["query_graph"]["nodes"].values(), state["interaction_tree"]
    return [text for node in nodes for text in embedded_texts(node, tree)]


def _structured(pair: dict[str, Any], deps: BankDeps) -> MemoryBankState:
    state = _state(pair)
    return _after(state, structure(state, Runtime(context=Settings()), deps))


def _judge(state: MemoryBankState, deps: BankDeps) -> str:
    """What the stages make of a pair: `conflict`, `merge` or nothing."""
    runtime: Runtime[Settings] = Runtime(context=Settings())
    for stage in (embed, retrieve):
        state = _after(state, stage(state, runtime, deps))
    if not state["candidates"]:
        return ""
    found = _after(state, analyze_conflict(state, runtime, deps))
    if found["query_graph"]["conflicts"]:
        return "conflict"
    return "merge" if found["merging"] else ""


def _state(pair: dict[str, Any]) -> MemoryBankState:
    entries = {side: _entry(side, pair[side]) for side in ("a", "b")}
    topics = [
        {"anchors": [{"entry": side, "start": 0, "end": len(pair[side])}], "context": "", "keywords": []}
        for side in ("a", "b")
    ]
    state: dict[str, Any] = {
        "now": NOW,
        "insight_doc": {"id": pair["pid"], "goal": ""},
        "interaction_tree": {"entries": entries, "merges": []},
        "query_graph": {},
        "topics": topics,
    }
    return state  # type: ignore[return-value]


def _entry(name: str, text: str) -> dict[str, Any]:
    return {
        "id": name,
        "kind": "document",
        "text": text,
        "created_at": NOW,
        "source": name,
        "metadata": {},
        "tool_calls": [],
        "attachments": [],
    }


def _after(state: MemoryBankState, update: Any) -> MemoryBankState:
    """What LangGraph does with a stage's update."""
    merged: dict[str, Any] = {**state, **update}
    if "query_graph" in update:
        merged["query_graph"] = apply_graph_edits(state["query_graph"], [update["query_graph"]])
    return merged  # type: ignore[return-value]


def _show(folder: Path, file: Path, predictions: dict[str, bool]) -> None:
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run.jsonl"
        lines = (json.dumps({"pid": pid, "pred": found}) for pid, found in predictions.items())
        run.write_text("\n".join(lines), encoding="utf-8")
        for by in ("source", "type" if "conflict" in str(file) else "kind"):
            command = [sys.executable, folder / "score.py", "pairs", "--pairs", file, "--run", run, "--by", by]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            sys.stdout.write(f"{file.parent.name} {file.name} by {by}\n{done.stdout}\n")


def _conflict_targets(pairs: list[dict[str, Any]], judged: dict[str, str]) -> bool:
    met = True
    for kind, least in LEAST_CONFLICTS_FOUND.items():
        of_kind = [p for p in pairs if p["label"] == "contradict" and p["type"] == kind]
        met &= _target(f"conflicts: recall on {kind}", _share(of_kind, judged, "conflict"), least=least)
    harmless = [p for p in pairs if p["label"] == "not"]
    return met & _target("conflicts: false alarms", _share(harmless, judged, "conflict"), most=MOST_FALSE_ALARMS)


def _merge_targets(pairs: list[dict[str, Any]], judged: dict[str, str]) -> bool:
    edits = [p for p in pairs if not p["merge"] and p["source"] in ("breaking_nli", "cdconv_u")]
    same = [p for p in pairs if p["merge"]]
    kept = _target("merges: contradicting edits", _share(edits, judged, "merge"), most=MOST_MERGED_CONTRADICTIONS)
    return _target("merges: recall", _share(same, judged, "merge"), least=LEAST_MERGES_FOUND) and kept


def _share(pairs: list[dict[str, Any]], judged: dict[str, str], wanted: str) -> float:
    return sum(judged[p["pid"]] == wanted for p in pairs) / max(1, len(pairs))


def _target(name: str, value: float, *, least: float | None = None, most: float | None = None) -> bool:
    met = (least is None or value >= least) and (most is None or value <= most)
    bound = f"at least {least:.2f}" if least is not None else f"at most {most:.2f}"
    sys.stdout.write(f"{'pass' if met else 'FAIL'}  {name}: {value:.3f} ({bound})\n")
    return met


if __name__ == "__main__":
    sys.exit(main())
