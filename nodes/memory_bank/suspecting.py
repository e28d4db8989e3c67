"""Which memories does a reading of whole documents say contradict each other, though no search would pair them?"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from agentic_memory_bank.engines.extractive import contradictions
from agentic_memory_bank.state.interaction_tree import InteractionTree
from agentic_memory_bank.state.query_graph import MemoryNode, QueryGraph

MOST_DOCUMENTS = 8
"""How many documents one new document is read against."""
_Owners = Mapping[str, Sequence[tuple[int, int, str]]]


def suspected(
    graph: QueryGraph, tree: InteractionTree, found: Iterable[tuple[str, Sequence[str]]]
) -> Iterator[tuple[str, str]]:
    """Pairs of memories that hold the two sides of a contradiction between documents.

    Two documents are read against each other where the search paired any of their memories.

    Args:
        graph: The Query Graph, which holds the memories.
        tree: The Interaction Tree, which holds the documents.
        found: Fresh memories, each with those that the search found for it.
    """
    nodes, entries = graph["nodes"], tree["entries"]
    met: dict[str, list[str]] = {}
    for node_id, others in found:
        for entry in {anchor["entry"] for anchor in nodes[node_id]["anchors"]}:
            met.setdefault(entry, []).extend(a["entry"] for i in others for a in nodes[i]["anchors"])
    owners = _owners(nodes.values())
    for entry, others in met.items():
        for other in [o for o in dict.fromkeys(others) if o != entry][:MOST_DOCUMENTS]:
            sides = [(entries[i]["source"], entries[i]["text"]) for i in (entry, other)]
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
