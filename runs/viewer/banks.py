"""The snapshot of a bank: a thread's memories, contradictions and answer in their texts, and its run step by step."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final, cast

from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.runs.export import read_state
from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.runs.homes import home_at, saver_of
from agentic_memory_bank.runs.settling import BY_HAND
from agentic_memory_bank.runs.viewer.snapshot import (
    BankSnapshot,
    BrowserPlaces,
    ShownContradiction,
    ShownMemory,
    ShownPlace,
    ShownQuote,
    ShownStep,
    ShownText,
    shown_answer,
)
from agentic_memory_bank.state.interaction_tree import Anchor, Entry, InteractionTree, current_id, text_of
from agentic_memory_bank.state.memory_bank import MemoryBankState
from agentic_memory_bank.state.query_graph import Conflict, Contradiction, MemoryNode

MOST_STEPS: Final = 500
"""Steps of a run that are shown, the latest: each is read with the whole state of its time."""

Nodes = dict[str, MemoryNode]


def bank_snapshot(thread: str, home: str | Path | None = None) -> BankSnapshot:
    """Take the snapshot of a thread.

    Raises:
        UnknownThreadError: Nothing is known of the thread.
        StorageError: It cannot be read.
    """
    state = read_state(thread, home=home)
    steps, merged_away = _history(thread, home_at(home))
    return _Bank(state, merged_away).snapshot(thread, steps)


class _Bank:
    """A state with the memories that were merged away since, and the units of each text."""

    def __init__(self, state: MemoryBankState, merged_away: Nodes) -> None:
        self._state = state
        self._tree: InteractionTree = state.get("interaction_tree", {})
        self._entries: dict[str, Entry] = self._tree.get("entries", {})
        self._graph = state.get("query_graph", {})
        self._nodes: Nodes = self._graph.get("nodes", {})
        self._merged_away = {id: node for id, node in merged_away.items() if id not in self._nodes}
        self._units = {id: BrowserPlaces(entry["text"]) for id, entry in self._entries.items()}

    def snapshot(self, thread: str, steps: list[ShownStep]) -> BankSnapshot:
        state, doc = self._state, self._state.get("insight_doc", {})
        quotes = [self._quote(cast(Anchor, source)) for source in state.get("sources", []) if source.get("entry")]
        goal = doc.get("goal", "")
        return {
            "kind": "bank",
            "name": thread,
            "answer": shown_answer(goal, state.get("answer", ""), state.get("status", "running"), quotes),
            "texts": {id: _text(entry) for id, entry in self._entries.items()},
            "memories": [self._memory(node) for node in (*self._nodes.values(), *self._merged_away.values())],
            "edges": [list(pair) for pair in _pairs(self._graph.get("related", {}))],
            "contradictions": list(self._contradictions()),
            "merges": self._tree.get("merges", []),
            "tasks": [task for goal in doc.get("archived", []) for task in goal["completed"]]
            + doc.get("completed", []),
            "steps": steps,
            "usage": state.get("usage", {}),
            "degraded": state.get("degraded", []),
        }

    def _place(self, anchor: Anchor) -> ShownPlace:
        units = self._units.get(anchor["entry"]) or BrowserPlaces("")
        return {"text": anchor["entry"], "start": units(anchor["start"]), "end": units(anchor["end"])}

    def _quote(self, anchor: Anchor) -> ShownQuote:
        return {**self._place(anchor), "quote": text_of(self._tree, anchor)}

    def _memory(self, node: MemoryNode) -> ShownMemory:
        return {
            "id": node["id"],
            "summary": node["summary"],
            "context": node["context"],
            "keywords": node["keywords"],
            "sources": node["provenance"]["sources"],
            "at": node["created_at"],
            "places": [self._place(anchor) for anchor in node["anchors"] if anchor["entry"] in self._entries],
            "merged_from": node["provenance"]["merged_from"],
            "into": None if node["id"] in self._nodes else current_id(self._tree, node["id"]),
            "history": [dict(revision) for revision in node["history"]],
        }

    def _contradictions(self) -> Iterator[ShownContradiction]:
        for conflict in self._graph.get("conflicts", {}).values():
            for position, contradiction in enumerate(conflict["contradictions"]):
                yield self._contradiction(conflict, position, contradiction)

    def _contradiction(self, conflict: Conflict, position: int, found: Contradiction) -> ShownContradiction:
        outcome = found.get("outcome", "")
        return {
            "id": f"{conflict['id']}.{position}",
            "conflict": conflict["id"],
            "position": position,
            "status": "settled" if outcome not in ("", "inconclusive") else conflict["status"],
            "kind": found["kind"],
            "reason": found["reason"],
            "claims": [
                {**self._quote(claim["anchor"]), "value": claim["value"], "memory": claim["node"]}
                for claim in found["claims"]
            ],
            "outcome": outcome,
            "winner": found.get("winner"),
            "statement": found.get("statement", ""),
            "explanation": found.get("explanation", ""),
            "evidence": [self._quote(anchor) for anchor in found.get("evidence", [])],
            "announced": found.get("announced") is not None,
            "by_hand": found.get("explanation", "").startswith(BY_HAND),
        }


def _text(entry: Entry) -> ShownText:
    known = entry["metadata"]
    page = known.get("page")
    return {
        "source": entry["source"],
        "title": str(known.get("title") or ""),
        "kind": entry["kind"],
        "at": str(known.get("date") or entry["created_at"]),
        "page": page if isinstance(page, int) else None,
        "text": entry["text"],
        "abstract": "",
    }


# --- the run, step by step -----------------------------------------------------------------------------------------


def _history(thread: str, home: Home) -> tuple[list[ShownStep], Nodes]:
    """Read what each step of a run changed, and every memory that was there at some time."""
    seen: Nodes = {}
    with saver_of(home, thread) as saver:
        history = build_memory_bank(checkpointer=saver).get_state_history(
            {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        )
        moments = [_Moment(found) for found in islice(history, MOST_STEPS + 1)]
    moments.reverse()
    for moment in moments:
        seen.update(moment.nodes)
    return [after.since(before) for before, after in pairwise(moments) if before.next or after.is_by_hand], seen


class _Moment:
    """The state between two steps."""

    def __init__(self, found: Any) -> None:
        values: Mapping[str, Any] = found.values
        graph = values.get("query_graph") or {}
        self.is_by_hand: bool = (found.metadata or {}).get("source") == "update"
        self.next: Sequence[str] = [name for name in found.next if not name.startswith("__")]
        self.nodes: Nodes = graph.get("nodes", {})
        self._at: str = found.created_at or ""
        self._texts: Mapping[str, Any] = (values.get("interaction_tree") or {}).get("entries", {})
        self._edges = set(_pairs(graph.get("related", {})))
        self._conflicts = {id: conflict["status"] for id, conflict in graph.get("conflicts", {}).items()}
        usage = values.get("usage") or {}
        self._calls: int = usage.get("calls", 0)
        self._tokens: int = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)

    def since(self, before: "_Moment") -> ShownStep:
        """What the step between two moments changed."""
        calls, tokens = self._calls - before._calls, self._tokens - before._tokens
        return {
            "stage": "by hand" if self.is_by_hand else ", ".join(before.next),
            "at": self._at,
            "seconds": 0.0 if self.is_by_hand else _seconds(before._at, self._at),
            "texts": [id for id in self._texts if id not in before._texts],
            "memories": [id for id in self.nodes if id not in before.nodes],
            "gone": [id for id in before.nodes if id not in self.nodes],
            "edges": [list(pair) for pair in sorted(self._edges - before._edges)],
            "conflicts": {id: s for id, s in self._conflicts.items() if before._conflicts.get(id) != s},
            "calls": max(0, calls),
            "tokens": max(0, tokens),
        }


def _pairs(related: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    return ((one, other) for one, others in related.items() for other in others if one < other)


def _seconds(before: str, after: str) -> float:
    if not (before and after):
        return 0.0
    return round((datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds(), 3)
