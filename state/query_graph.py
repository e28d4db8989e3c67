"""The Query Graph: memories, the `related` edges between them, and which of them contradict each other."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from typing_extensions import TypedDict

from agentic_memory_bank.state.interaction_tree import Anchor

if TYPE_CHECKING:
    import networkx

Judgement = Literal["clear", "related", "unrelated", "conflict", "merge"]
"""Judgement of two memories. `clear`: neither conflict nor merge, and not yet asked whether they are related."""


class Revision(TypedDict):
    """The context and keywords a memory had before they were refreshed."""

    at: str
    context: str
    keywords: list[str]


class Provenance(TypedDict):
    """Where a memory comes from: the sources of its raw text, the task that yielded it, what it was merged from."""

    sources: list[str]
    task: str | None
    merged_from: list[str]


class MemoryNode(TypedDict):
    """One memory: a topic in a few sentences that points at the raw text it stands for."""

    id: str
    summary: str
    context: str
    """One sentence: what this memory is about."""
    keywords: list[str]
    embedding: str | None
    """A fingerprint of what its vector is made of: its raw text, and what it says in other words."""
    created_at: str
    anchors: list[Anchor]
    provenance: Provenance
    history: list[Revision]


class ContradictingClaim(TypedDict):
    """One side of a contradiction: which memory says what, word for word, and where it stands."""

    node: str
    value: str
    quote: str
    anchor: Anchor


class Contradiction(TypedDict):
    """Two claims that cannot both be true, and what validation made of them."""

    kind: str
    reason: str
    claims: list[ContradictingClaim]
    announced: NotRequired[int]
    """Which claim the texts themselves put in the place of the other: a correction, an amendment."""
    outcome: NotRequired[Literal["holds", "integrate", "neither", "inconclusive"]]
    winner: NotRequired[int | None]
    statement: NotRequired[str]
    """What is true instead, where neither claim alone says it."""
    explanation: NotRequired[str]
    evidence: NotRequired[list[Anchor]]


class Conflict(TypedDict):
    """A group of memories that contradict each other: a status between memories, never an edge."""

    id: str
    nodes: list[str]
    contradictions: list[Contradiction]
    status: Literal["open", "settled", "disputed"]
    opened_at: str
    settled_at: str | None


class QueryGraph(TypedDict, total=False):
    """Memories by id, their undirected neighbours, the conflicts, and the pairs that were judged already."""

    nodes: dict[str, MemoryNode]
    related: dict[str, list[str]]
    conflicts: dict[str, Conflict]
    judged: dict[str, Judgement]


class GraphEdit(TypedDict):
    """One change of the Query Graph. `v` is the version of the edit's form; old forms fold forever."""

    v: int
    op: Literal["put", "relate", "unrelate", "embed", "revise", "merge", "forget", "conflict", "settle", "judge"]
    node: NotRequired[MemoryNode]
    ids: NotRequired[list[str]]
    pairs: NotRequired[list[list[str]]]
    keys: NotRequired[dict[str, str]]
    id: NotRequired[str]
    context: NotRequired[str]
    keywords: NotRequired[list[str]]
    embedding: NotRequired[str | None]
    at: NotRequired[str]
    conflict: NotRequired[Conflict]
    judged: NotRequired[dict[str, Judgement]]


def put(node: MemoryNode) -> GraphEdit:
    """Add a memory, or replace the one of the same id (its edges stay)."""
    return {"v": 1, "op": "put", "node": node}


def relate(pairs: Iterable[tuple[str, str]]) -> GraphEdit:
    """Draw `related` edges. Edges to unknown memories and to oneself are not drawn."""
    return {"v": 1, "op": "relate", "pairs": [list(pair) for pair in pairs]}


def unrelate(pairs: Iterable[tuple[str, str]]) -> GraphEdit:
    """Remove `related` edges."""
    return {"v": 1, "op": "unrelate", "pairs": [list(pair) for pair in pairs]}


def embed(keys: dict[str, str]) -> GraphEdit:
    """Set the key of each memory's vector."""
    return {"v": 1, "op": "embed", "keys": keys}


def revise(node_id: str, context: str, keywords: Sequence[str], embedding: str | None, at: str) -> GraphEdit:
    """Update context and keywords of a memory; the earlier values go to its history."""
    return {
        "v": 1,
        "op": "revise",
        "id": node_id,
        "context": context,
        "keywords": list(keywords),
        "embedding": embedding,
        "at": at,
    }


def merge(ids: Sequence[str], node: MemoryNode) -> GraphEdit:
    """Put one memory in the place of several: it inherits their edges, and their raw text through its anchors."""
    return {"v": 1, "op": "merge", "ids": list(ids), "node": node}


def forget(ids: Sequence[str]) -> GraphEdit:
    """Remove memories with their edges."""
    return {"v": 1, "op": "forget", "ids": list(ids)}


def conflict(found: Conflict) -> GraphEdit:
    """Open a conflict. Conflicts that are not settled and share a memory become one group (union-find)."""
    return {"v": 1, "op": "conflict", "conflict": found}


def settle(validated: Conflict) -> GraphEdit:
    """Replace a conflict by the same conflict with its verdict."""
    return {"v": 1, "op": "settle", "conflict": validated}


def judge(judged: dict[str, Judgement]) -> GraphEdit:
    """Record the judgements of pairs, by `pair_key`, so that no pair is judged twice."""
    return {"v": 1, "op": "judge", "judged": judged}


class _Draft:
    """The graph while edits are folded: the outer mappings are copies, inner values are replaced, never changed."""

    def __init__(self, graph: QueryGraph) -> None:
        self.nodes = dict(graph.get("nodes", {}))
        self.related = dict(graph.get("related", {}))
        self.conflicts = dict(graph.get("conflicts", {}))
        self._judged = graph.get("judged", {})
        self._judged_copied = False

    def apply(self, edit: GraphEdit) -> None:
        match edit:
            case {"op": "put", "node": {"id": str()} as node}:
                self.nodes[node["id"]] = node
                self.related.setdefault(node["id"], [])
            case {"op": "relate", "pairs": pairs}:
                for a, b in pairs:
                    self._link(a, b)
            case {"op": "unrelate", "pairs": pairs}:
                for a, b in pairs:
                    self._unlink(a, b)
            case {"op": "embed", "keys": keys}:
                for node_id, key in keys.items():
                    if node_id in self.nodes:
                        self.nodes[node_id] = {**self.nodes[node_id], "embedding": key}
            case {"op": "judge", "judged": judged}:
                self._remember(judged)
            case _:
                self._apply_rest(edit)

    def _apply_rest(self, edit: GraphEdit) -> None:
        match edit:
            case {"op": "revise", "id": node_id, "context": context, "keywords": keywords, "at": at}:
                self._revise(node_id, context, keywords, edit.get("embedding"), at)
            case {"op": "merge", "ids": ids, "node": node}:
                self._merge(ids, node)
            case {"op": "forget", "ids": ids}:
                for node_id in ids:
                    self._drop(node_id)
                self._rename({node_id: None for node_id in ids})
            case {"op": "conflict", "conflict": found}:
                self._open(found)
            case {"op": "settle", "conflict": validated}:
                if validated["id"] in self.conflicts:
                    self.conflicts[validated["id"]] = validated
            case _:
                pass

    def finish(self) -> QueryGraph:
        return {"nodes": self.nodes, "related": self.related, "conflicts": self.conflicts, "judged": self._judged}

    def _link(self, a: str, b: str) -> None:
        if a == b or a not in self.nodes or b not in self.nodes or b in self.related[a]:
            return
        self.related[a] = [*self.related[a], b]
        self.related[b] = [*self.related[b], a]

    def _unlink(self, a: str, b: str) -> None:
        for one, other in ((a, b), (b, a)):
            if one in self.related:
                self.related[one] = [n for n in self.related[one] if n != other]

    def _drop(self, node_id: str) -> None:
        for neighbour in self.related.pop(node_id, []):
            self._unlink(node_id, neighbour)
        self.nodes.pop(node_id, None)

    def _revise(self, node_id: str, context: str, keywords: list[str], embedding: str | None, at: str) -> None:
        node = self.nodes.get(node_id)
        if node is None or (node["context"] == context and node["keywords"] == keywords):
            return
        before: Revision = {"at": at, "context": node["context"], "keywords": node["keywords"]}
        self.nodes[node_id] = {
            **node,
            "context": context,
            "keywords": keywords,
            "embedding": embedding,
            "history": [*node["history"], before],
        }

    def _merge(self, ids: list[str], node: MemoryNode) -> None:
        """Replace `ids` by `node`. Needs two live ones; keeps every anchor of every one."""
        new_id = node["id"]
        live = [i for i in dict.fromkeys(ids) if i in self.nodes and i != new_id]
        if len(live) < 2:
            return
        heirs = dict.fromkeys(n for i in live for n in self.related[i] if n not in live and n != new_id)
        anchors = join_anchors(node["anchors"], *(self.nodes[i]["anchors"] for i in live))
        for old in live:
            self._drop(old)
        self.nodes[new_id] = {**node, "anchors": anchors}
        self.related.setdefault(new_id, [])
        for neighbour in heirs:
            self._link(new_id, neighbour)
        self._rename(dict.fromkeys(live, new_id))

    def _rename(self, heirs: dict[str, str | None]) -> None:
        """Let conflicts follow their memories: dropped without a contradiction, joined where they now share one."""
        followed: list[str] = []
        for conflict_id, found in list(self.conflicts.items()):
            if found["status"] == "settled" or not any(n in heirs for n in found["nodes"]):
                continue
            nodes = [n for n in dict.fromkeys(heirs.get(n, n) for n in found["nodes"]) if n is not None]
            contradictions = [c for c in (_follow(c, heirs) for c in found["contradictions"]) if c]
            if not nodes or not contradictions:
                del self.conflicts[conflict_id]
            else:
                self.conflicts[conflict_id] = {**found, "nodes": nodes, "contradictions": contradictions}
                followed.append(conflict_id)
        for conflict_id in followed:
            if group := self.conflicts.get(conflict_id):
                for other in self._touching(group["nodes"])[1:]:
                    group = _join(group, self.conflicts.pop(other["id"]))
                self.conflicts[group["id"]] = group

    def _touching(self, nodes: Sequence[str]) -> list[Conflict]:
        """The conflicts that are not settled and share a memory with these."""
        return [
            c for c in self.conflicts.values() if c["status"] != "settled" and not set(nodes).isdisjoint(c["nodes"])
        ]

    def _open(self, found: Conflict) -> None:
        nodes = [n for n in dict.fromkeys(found["nodes"]) if n in self.nodes]
        if not nodes or found["id"] in self.conflicts:
            return
        group: Conflict = {**found, "nodes": nodes}
        for other in self._touching(nodes):
            del self.conflicts[other["id"]]
            group = _join(other, group)
        self.conflicts[group["id"]] = group

    def _remember(self, judged: dict[str, Judgement]) -> None:
        if not self._judged_copied:
            self._judged, self._judged_copied = dict(self._judged), True
        self._judged.update(judged)


def apply_graph_edits(graph: QueryGraph, updates: Iterable[Sequence[GraphEdit]]) -> QueryGraph:
    """Fold edits into a new graph. Total: an edit that cannot apply changes nothing.

    Whatever the edits, edges stay symmetric and without loops, and no edge or open conflict names a memory
    that is gone.
    """
    draft = _Draft(graph)
    for edits in updates:
        for edit in edits:
            draft.apply(edit)
    return draft.finish()


def _follow(contradiction: Contradiction, heirs: dict[str, str | None]) -> Contradiction | None:
    claims: list[ContradictingClaim] = []
    for claim in contradiction["claims"]:
        heir = heirs.get(claim["node"], claim["node"])
        if heir is None:
            return None
        claims.append({**claim, "node": heir})
    return {**contradiction, "claims": claims}


def _join(older: Conflict, newer: Conflict) -> Conflict:
    return {
        **older,
        "nodes": list(dict.fromkeys([*older["nodes"], *newer["nodes"]])),
        "contradictions": older["contradictions"]
        + [c for c in newer["contradictions"] if c not in older["contradictions"]],
        "status": "open",
        "settled_at": None,
    }


def join_anchors(*several: Sequence[Anchor]) -> list[Anchor]:
    """Unite anchors: in the order in which their entries first appear, by position, touching ones joined."""
    by_entry: dict[str, list[tuple[int, int]]] = {}
    for anchors in several:
        for anchor in anchors:
            by_entry.setdefault(anchor["entry"], []).append((anchor["start"], anchor["end"]))
    joined: list[Anchor] = []
    for entry, spans in by_entry.items():
        for start, end in sorted(spans):
            last = joined[-1] if joined else None
            if last and last["entry"] == entry and start <= last["end"]:
                joined[-1] = {**last, "end": max(last["end"], end)}
            else:
                joined.append({"entry": entry, "start": start, "end": end})
    return joined


def covers(parts: Sequence[Anchor], whole: Sequence[Anchor]) -> bool:
    """Ask whether the parts together hold every character of the whole."""
    held = join_anchors(parts)
    return all(
        any(p["entry"] == a["entry"] and p["start"] <= a["start"] and a["end"] <= p["end"] for p in held) for a in whole
    )


def neighbours(graph: QueryGraph, node_id: str) -> list[str]:
    """List the memories related to this one, in the order in which the edges were made."""
    return graph.get("related", {}).get(node_id, [])


def open_conflicts(graph: QueryGraph) -> list[Conflict]:
    """List the conflicts that wait for validation, oldest first; each is a group that shares no memory with another."""
    return [c for c in graph.get("conflicts", {}).values() if c["status"] == "open"]


def memory_text(node: MemoryNode) -> str:
    """What a memory says: its summary, and of its context and keywords what the summary leaves out."""
    said = node["summary"].casefold()
    lines = [node["summary"]]
    if node["context"].casefold() not in said:
        lines.append(node["context"])
        said += node["context"].casefold()
    if unsaid := [keyword for keyword in node["keywords"] if keyword.casefold() not in said]:
        lines.append(", ".join(unsaid))
    return "\n".join(lines)


def to_networkx(graph: QueryGraph) -> "networkx.Graph[Any]":
    """Give the graph to networkx (`pip install networkx`): memories as node attributes, `related` as edges."""
    import networkx

    view: networkx.Graph[Any] = networkx.Graph()
    view.add_nodes_from((node_id, dict(node)) for node_id, node in graph.get("nodes", {}).items())
    view.add_edges_from((a, b) for a, others in graph.get("related", {}).items() for b in others)
    return view
