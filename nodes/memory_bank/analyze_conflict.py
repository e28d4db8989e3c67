"""Stage 6: does anything new contradict what is remembered, or say it again?"""

from collections.abc import Sequence
from itertools import product
from typing import Final

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import ClaimSpan, Pairing, Relation
from agentic_memory_bank.engines.extractive import differ
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.views import anchor_of, digest, memory_views, pair_key
from agentic_memory_bank.state import query_graph
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate
from agentic_memory_bank.state.query_graph import Conflict, ContradictingClaim, Contradiction, Judgement, MemoryNode
from agentic_memory_bank.state.settings import Settings

MOST_MERGED: Final = 100
"""How many memories are made one at a time; what is left is compared with the one that comes of it."""


def analyze_conflict(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Report contradictions, which stay open until a validation settles them, and groups that say the same.

    Per pair, conflict comes before merge. A memory in conflict is not merged before the conflict is settled.
    """
    nodes = state["query_graph"]["nodes"]
    pairings = unjudged_pairings(state, runtime, deps)
    relations = _known(deps.engine.find_conflicts(pairings), pairings) if pairings else []
    conflicts = [_conflict(state, r) for r in relations if r.relation == "conflict"]
    in_conflict = {node_id for conflict in conflicts for node_id in conflict["nodes"]}
    merging = [(r.fresh, r.existing) for r in relations if r.relation == "merge"]
    agreeing = _agreeing(state, [pair for pair in merging if in_conflict.isdisjoint(pair)])
    together = {node_id: number for number, group in enumerate(agreeing) for node_id in group}
    judged: dict[str, Judgement] = {pair_key(nodes[f], nodes[c]): "clear" for f, c in _pairs(pairings)}
    for relation in relations:
        if relation.relation == "unjudged":
            judged.pop(pair_key(nodes[relation.fresh], nodes[relation.existing]), None)
            continue
        deferred = relation.relation == "merge" and not (
            relation.fresh in together and together[relation.fresh] == together.get(relation.existing)
        )
        judged[pair_key(nodes[relation.fresh], nodes[relation.existing])] = "clear" if deferred else relation.relation
    runtime.stream_writer({"stage": "analyze_conflict", "conflicts": len(conflicts), "merges": len(agreeing)})
    edits = [query_graph.conflict(conflict) for conflict in conflicts]
    return {"query_graph": [query_graph.judge(judged), *edits] if judged else [], "merging": agreeing}


def unjudged_pairings(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> list[Pairing]:
    """The candidate pairs about which neither conflict nor merge was asked yet."""
    graph = state["query_graph"]
    nodes, judged = graph["nodes"], graph.get("judged", {})
    asked = {
        fresh_id: [c for c in candidate_ids if pair_key(nodes[fresh_id], nodes[c]) not in judged]
        for fresh_id, candidate_ids in state["candidates"].items()
    }
    return deps.pairings(state, runtime, asked)


def _pairs(pairings: Sequence[Pairing]) -> list[tuple[str, str]]:
    return [(pairing.fresh.id, candidate.id) for pairing in pairings for candidate in pairing.candidates]


def _known(relations: Sequence[Relation], pairings: Sequence[Pairing]) -> list[Relation]:
    """Drop what names a pair that was not asked about, and a merge where there is a conflict."""
    asked = set(_pairs(pairings))
    real = [r for r in relations if (r.fresh, r.existing) in asked]
    contradicting = {(r.fresh, r.existing) for r in real if r.relation == "conflict"}
    return [r for r in real if r.relation == "conflict" or (r.fresh, r.existing) not in contradicting]


def _agreeing(state: MemoryBankState, pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The connected groups of pairs, in order of first appearance, of whose members rules see no two differ.

    Whoever judged, a merge is compared before it is made: a pair that would bring together what differs stays apart.
    """
    texts = {view.id: view.text for view in memory_views(state, dict.fromkeys(i for pair in pairs for i in pair))}
    found: dict[str, list[str]] = {}
    for a, b in pairs:
        first, second = found.get(a, [a]), found.get(b, [b])
        if first is second or len(first) + len(second) > MOST_MERGED:
            continue
        sides = {texts[x] for x in first}, {texts[y] for y in second}
        if not any(differ(x, y) for x, y in product(*sides) if x != y):
            joined = [*first, *second]
            found.update(dict.fromkeys(joined, joined))
    return list({id(group): group for group in found.values()}.values())


def _conflict(state: MemoryBankState, relation: Relation) -> Conflict:
    nodes, tree = state["query_graph"]["nodes"], state["interaction_tree"]
    ends = memory_views(state, [relation.fresh, relation.existing])
    whole = tuple(ClaimSpan("", (0, len(end.text))) for end in ends)
    claims: list[ContradictingClaim] = []
    for node_id, said in zip((relation.fresh, relation.existing), relation.claims or whole, strict=True):
        anchor = anchor_of(nodes[node_id], said.span)
        quote = tree["entries"][anchor["entry"]]["text"][anchor["start"] : anchor["end"]].strip()
        claims.append({"node": node_id, "value": said.value, "quote": quote, "anchor": anchor})
    announced = claims[relation.announced] if relation.announced is not None else None
    claims.sort(key=lambda claim: _arrival(nodes[claim["node"]]))
    contradiction: Contradiction = {"kind": relation.kind, "reason": relation.reason, "claims": claims}
    if announced:
        contradiction["announced"] = claims.index(announced)
    return {
        "id": "c" + digest(*sorted(f"{c['anchor']}" for c in claims))[:12],
        "nodes": [claim["node"] for claim in claims],
        "contradictions": [contradiction],
        "status": "open",
        "opened_at": state["now"],
        "settled_at": None,
    }


def _arrival(node: MemoryNode) -> tuple[str, str]:
    return node["created_at"], node["id"]
