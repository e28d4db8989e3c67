"""Stage 7: which memories belong together, and what are they about now?"""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import Link, Pairing, Refresh
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.views import pair_key
from agentic_memory_bank.state import query_graph
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate
from agentic_memory_bank.state.query_graph import Judgement
from agentic_memory_bank.state.settings import Settings


def analyze_related(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Draw `related` edges and refresh context and keywords of both ends, with the names of their vectors."""
    pairings = clear_pairings(state, runtime, deps)
    asked = {(p.fresh.id, candidate.id) for p in pairings for candidate in p.candidates}
    links = [ln for ln in deps.engine.find_related(pairings) if (ln.fresh, ln.existing) in asked] if pairings else []
    runtime.stream_writer({"stage": "analyze_related", "related": len(links)})
    nodes = state["query_graph"]["nodes"]
    judged: dict[str, Judgement] = {pair_key(nodes[a], nodes[b]): "unrelated" for a, b in sorted(asked)}
    judged |= {pair_key(nodes[link.fresh], nodes[link.existing]): "related" for link in links}
    edits = [
        query_graph.relate((link.fresh, link.existing) for link in links),
        *deps.refresh(state, _updates(links)),
        query_graph.judge(judged),
    ]
    return {"query_graph": edits if asked else [], "candidates": {}}


def clear_pairings(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> list[Pairing]:
    """The candidate pairs that are neither conflict nor merge."""
    graph = state["query_graph"]
    nodes, judged = graph["nodes"], graph.get("judged", {})
    clear = {
        fresh_id: [
            c for c in candidate_ids if c in nodes and judged.get(pair_key(nodes[fresh_id], nodes[c])) == "clear"
        ]
        for fresh_id, candidate_ids in state["candidates"].items()
    }
    return deps.pairings(state, runtime, clear)


def _updates(links: Sequence[Link]) -> dict[str, Refresh]:
    return {
        node_id: refresh
        for link in links
        for node_id, refresh in link.updates.items()
        if node_id in (link.fresh, link.existing)
    }
