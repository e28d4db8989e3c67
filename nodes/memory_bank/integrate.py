"""Stage 8: what is the one memory that stands for several that say the same, or that a validation settled?"""

from collections.abc import Mapping, Sequence
from typing import Final

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import Integration, MergeGroup, Span
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.views import digest, groups, losers, memory_views, span_of
from agentic_memory_bank.state import insight_doc, interaction_tree, query_graph
from agentic_memory_bank.state.interaction_tree import MergeEvent, MergeStrategy
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate, ValidationVerdict
from agentic_memory_bank.state.query_graph import Conflict, Contradiction, GraphEdit, MemoryNode, join_anchors
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.terms import tokenize

_HELD: Final = 0.9
"""Share of the words of a memory that another one has, from which that one says what it says."""


def integrate(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Merge groups of memories, and settle the conflict whose verdict arrived.

    The raw text of all members stays; the new memory inherits their edges, and its neighbours are refreshed. What
    a validation left open stays apart and is marked as disputed. The result goes back to be compared.
    """
    settled = _settle(state, state.get("verdict"))
    work = [*((ids, None) for ids in state["merging"]), *((ids, settled) for ids in _decided(settled))]
    arrival = {node_id: position for position, node_id in enumerate(state["query_graph"]["nodes"])}
    asked = [_group(state, ids, conflict, arrival) for ids, conflict in work]
    made = contract.integrations(deps.engine.integrate(asked), asked) if asked else []
    update = _Merging(state, deps, settled)
    done = [(group, said) for group, said in zip(asked, made, strict=True) if said]  # the others stay apart
    members = [[memory.id for memory in group.memories] for group, _ in done]
    cosines = deps.cosines(state, runtime, {first: others for first, *others in members})
    for group, said in done:
        update.add(group, said, cosines[group.memories[0].id])
    runtime.stream_writer({"stage": "integrate", "merged": len(done)})
    return update.finish()


class _Merging:
    """Collects the edits of one pass: memories merged, neighbours refreshed, events noted."""

    def __init__(self, state: MemoryBankState, deps: BankDeps, settled: Conflict | None) -> None:
        self._state, self._deps, self._settled = state, deps, settled
        self._graph: list[GraphEdit] = [query_graph.settle(settled)] if settled else []
        self._tree: list[interaction_tree.TreeEdit] = []
        self._gone: set[str] = set()
        self._fresh: list[str] = list(settled["nodes"]) if settled else []

    def add(self, group: MergeGroup, said: Integration, cosines: Sequence[float]) -> None:
        """Merge one group, whose first member was compared with the others."""
        ids = [m.id for m in group.memories]
        node = _merged(self._state, ids, said)
        inherited = {n.id for n in group.neighbours}
        updates = {node_id: refresh for node_id, refresh in said.neighbours.items() if node_id in inherited}
        self._graph += [query_graph.merge(ids, node), *self._deps.refresh(self._state, updates)]
        event: MergeEvent = {
            "node": node["id"],
            "merged": ids,
            "at": self._state["now"],
            "cause": group.cause,
            "description": said.description,
            "merge_strategy": _strategy(group),
        }
        if any(cosines):
            event["confidence"] = round(min(cosines), 2)
        self._tree.append(interaction_tree.merged(event))
        self._gone.update(ids)
        self._fresh.append(node["id"])

    def finish(self) -> MemoryBankUpdate:
        """The update: what was merged and what is left of the fresh memories goes on to be compared."""
        fresh = [i for i in dict.fromkeys([*self._state["fresh"], *self._fresh]) if i not in self._gone]
        return {
            "insight_doc": self._superseded(),
            "query_graph": self._graph,
            "interaction_tree": self._tree,
            "fresh": fresh,
            "candidates": {},
            "merging": [],
            "verdict": None,
        }

    def _superseded(self) -> list[insight_doc.InsightEdit]:
        """The tasks that yielded what a validation refuted no longer count as successes."""
        nodes, found = self._state["query_graph"]["nodes"], self._settled["contradictions"] if self._settled else []
        lost = [claim for c in found for claim in losers(c.get("outcome"), c.get("winner"), c["claims"])]
        tasks = [nodes[claim["node"]]["provenance"]["task"] for claim in lost if claim["node"] in nodes]
        return [insight_doc.supersede([task for task in dict.fromkeys(tasks) if task])] if any(tasks) else []


def _strategy(group: MergeGroup) -> MergeStrategy:
    """How a group becomes one, by whose words hold those of the others."""
    if group.cause == "conflict":
        return "verdict"
    words = [frozenset(tokenize(memory.text)) for memory in group.memories]
    holding = [all(len(one & other) >= _HELD * len(other) for other in words) for one in words]
    return "same" if all(holding) else "fuller" if any(holding) else "together"


def _settle(state: MemoryBankState, verdict: ValidationVerdict | None) -> Conflict | None:
    """The conflict with its verdict written in, or None when there is nothing to settle."""
    conflict = state["query_graph"].get("conflicts", {}).get(verdict["conflict"]) if verdict else None
    if verdict is None or conflict is None:
        return None
    contradictions = list(conflict["contradictions"])
    for position, outcome in enumerate(verdict["outcomes"][: len(contradictions)]):
        contradictions[position] = {
            **contradictions[position],
            "outcome": outcome["outcome"],
            "winner": outcome["winner"],
            "explanation": outcome["explanation"],
            "evidence": outcome["evidence"],
        }
        if outcome["statement"]:
            contradictions[position]["statement"] = outcome["statement"]
    is_open = any(c.get("outcome", "inconclusive") == "inconclusive" for c in contradictions)
    return {
        **conflict,
        "contradictions": contradictions,
        "status": "disputed" if is_open else "settled",
        "settled_at": state["now"],
    }


def _decided(conflict: Conflict | None) -> list[list[str]]:
    """The groups of memories joined by contradictions that were decided; what stays disputed stays apart."""
    if conflict is None:
        return []
    decided = [c for c in conflict["contradictions"] if c.get("outcome", "inconclusive") != "inconclusive"]
    disputed = {frozenset(cl["node"] for cl in c["claims"]) for c in conflict["contradictions"] if c not in decided}
    pairs = [
        (ends[0], ends[-1])
        for c in decided
        if len(set(ends := [claim["node"] for claim in c["claims"]])) > 1 and frozenset(ends) not in disputed
    ]
    return groups(pairs)


def _group(
    state: MemoryBankState, ids: Sequence[str], conflict: Conflict | None, arrival: Mapping[str, int]
) -> MergeGroup:
    graph = state["query_graph"]
    live = sorted((i for i in ids if i in graph["nodes"]), key=arrival.__getitem__)
    inherited = dict.fromkeys(n for i in live for n in query_graph.neighbours(graph, i) if n not in live)
    found = [c for c in conflict["contradictions"] if _within(c, live)] if conflict else []
    return MergeGroup(
        memories=memory_views(state, live),
        neighbours=memory_views(state, inherited),
        cause="conflict" if conflict else "merge",
        refuted=tuple(_refuted(state, found)),
        statements=tuple(c["statement"] for c in found if "statement" in c),
    )


def _within(contradiction: Contradiction, ids: Sequence[str]) -> bool:
    return all(claim["node"] in ids for claim in contradiction["claims"])


def _refuted(state: MemoryBankState, contradictions: Sequence[Contradiction]) -> list[tuple[str, Span]]:
    nodes = state["query_graph"]["nodes"]
    lost = [x for c in contradictions for x in losers(c.get("outcome"), c.get("winner"), c["claims"])]
    spans = [(claim["node"], span_of(nodes[claim["node"]], claim["anchor"])) for claim in lost]
    return [(node_id, span) for node_id, span in spans if span is not None]


def _merged(state: MemoryBankState, ids: Sequence[str], said: Integration) -> MemoryNode:
    nodes = [state["query_graph"]["nodes"][i] for i in ids]
    return {
        "id": "n" + digest("merge", *sorted(ids))[:12],
        "summary": said.summary,
        "context": said.context,
        "keywords": list(said.keywords),
        "embedding": None,
        "created_at": state["now"],
        "anchors": join_anchors(*(node["anchors"] for node in nodes)),
        "provenance": {
            "sources": list(dict.fromkeys(s for node in nodes for s in node["provenance"]["sources"])),
            "task": next((node["provenance"]["task"] for node in nodes if node["provenance"]["task"]), None),
            "merged_from": list(ids),
        },
        "history": [],
    }
