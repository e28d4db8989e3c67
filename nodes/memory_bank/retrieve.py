"""Stage 5: which memories may contradict, repeat or touch the fresh ones?"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.extractive import contradictions
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.views import document_name, pair_key, raw_text
from agentic_memory_bank.state.interaction_tree import InteractionTree
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate
from agentic_memory_bank.state.query_graph import MemoryNode, QueryGraph, memory_text, neighbours
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.long_work import with_progress
from agentic_memory_bank.tools.search import gate
from agentic_memory_bank.tools.search.scoring import Hit

_SETTLED = frozenset({"related", "unrelated", "conflict", "merge"})


def retrieve(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Search candidates for all fresh memories together; each meets the older ones and the fresh ones before it.

    Left out: neighbours it has already, memories it is in conflict with, pairs that were judged, and pairs too
    unlike to be worth a judgement.
    """
    graph, tree, settings = state["query_graph"], state["interaction_tree"], Settings.of(runtime)
    fresh = [node_id for node_id in state["fresh"] if node_id in graph["nodes"]]
    opponents = _opponents(graph)
    wanted = [(node_id, {*neighbours(graph, node_id), *opponents.get(node_id, ())}) for node_id in fresh]
    found = deps.index(state, runtime).similar(graph, tree, wanted, settings, in_turn=True)
    candidates = {
        node_id: [hit.id for hit in hits if _is_worth_judging(graph, tree, node_id, hit, settings)]
        for (node_id, _), hits in zip(wanted, found, strict=True)
    }
    near = [(node_id, [hit.id for hit in hits]) for (node_id, _), hits in zip(wanted, found, strict=True)]
    for first, second in suspected(graph, tree, near):
        _add(graph, candidates, first, second)
    candidates = {node_id: passed for node_id, passed in candidates.items() if passed}
    runtime.stream_writer({"stage": "retrieve", "pairs": sum(map(len, candidates.values()))})
    return {"candidates": candidates, "fresh": fresh}


def _add(graph: QueryGraph, candidates: dict[str, list[str]], first: str, second: str) -> None:
    """Pair two memories, once, under one of them that is fresh; not where they were judged."""
    fresh = next((node_id for node_id in (first, second) if node_id in candidates), None)
    if fresh is None or first in candidates.get(second, ()) or second in candidates.get(first, ()):
        return
    if graph.get("judged", {}).get(pair_key(graph["nodes"][first], graph["nodes"][second])) not in _SETTLED:
        candidates[fresh].append(second if fresh == first else first)


def _opponents(graph: QueryGraph) -> dict[str, set[str]]:
    """For each memory, those it is in open or disputed conflict with: not judged again without new evidence."""
    opponents: dict[str, set[str]] = {}
    for conflict in graph.get("conflicts", {}).values():
        if conflict["status"] != "settled":
            for node_id in conflict["nodes"]:
                opponents.setdefault(node_id, set()).update(conflict["nodes"])
    return opponents


def _is_worth_judging(graph: QueryGraph, tree: InteractionTree, node_id: str, hit: Hit, settings: Settings) -> bool:
    fresh, candidate = graph["nodes"][node_id], graph["nodes"][hit.id]
    if graph.get("judged", {}).get(pair_key(fresh, candidate)) in _SETTLED:
        return False
    texts = memory_text(fresh), memory_text(candidate)
    if gate.passes(*texts, hit.cosine, english=settings.gate_english, chinese=settings.gate_chinese):
        return True
    # a summary may leave out just the name that both speak of
    return gate.shares_marks(raw_text(fresh, tree), raw_text(candidate, tree))


MOST_DOCUMENTS = 8
"""How many documents one new document is read against."""
_Owners = Mapping[str, Sequence[tuple[int, int, str]]]


def suspected(
    graph: QueryGraph, tree: InteractionTree, found: Iterable[tuple[str, Sequence[str]]]
) -> Iterator[tuple[str, str]]:
    """Pairs of memories that hold the two sides of a contradiction between documents.

    Two documents are read against each other where the search paired any of their memories; one that was forgotten is
    read no more.

    Args:
        found: Fresh memories, each with those that the search found for it.
    """
    nodes, entries = graph["nodes"], tree["entries"]
    met: dict[str, list[str]] = {}
    for node_id, others in found:
        for entry in {anchor["entry"] for anchor in nodes[node_id]["anchors"]}.intersection(entries):
            there = (a["entry"] for i in others for a in nodes[i]["anchors"] if a["entry"] in entries)
            met.setdefault(entry, []).extend(there)
    owners = _owners(nodes.values())
    for entry, others in with_progress(list(met.items()), "read"):
        for other in [o for o in dict.fromkeys(others) if o != entry][:MOST_DOCUMENTS]:
            sides = [(document_name(entries[i]["source"]), entries[i]["text"]) for i in (entry, other)]
            for one in contradictions(sides[0], sides[1]):
                first = _owner(owners, entry, one.first.start, one.first.end)
                second = _owner(owners, other, one.second.start, one.second.end)
                if first and second and first != second:
                    yield first, second


def _owners(nodes: Iterable[MemoryNode]) -> _Owners:
    owners: dict[str, list[tuple[int, int, str]]] = {}
    for node in nodes:
        for anchor in node["anchors"]:
            owners.setdefault(anchor["entry"], []).append((anchor["start"], anchor["end"], node["id"]))
    return owners


def _owner(owners: _Owners, entry: str, start: int, end: int) -> str | None:
    """The memory that holds most of a stretch of a document."""
    held = [(min(high, end) - max(low, start), node_id) for low, high, node_id in owners.get(entry, ())]
    size, owner = max(held, default=(0, ""))
    return owner if size > 0 else None
