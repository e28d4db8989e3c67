"""The Query Graph's reducer: whatever edits arrive, in whatever order, the graph stays a graph."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_memory_bank.state import query_graph
from agentic_memory_bank.state.query_graph import (
    Conflict,
    GraphEdit,
    MemoryNode,
    QueryGraph,
    apply_graph_edits,
    join_anchors,
    neighbours,
    open_conflicts,
)

IDS = [f"n{i}" for i in range(7)]
ids = st.sampled_from(IDS)


def node(node_id: str, *, entry: str = "", start: int = 0, end: int = 10, at: str = "2026") -> MemoryNode:
    return {
        "id": node_id,
        "summary": f"what {node_id} says",
        "context": f"about {node_id}",
        "keywords": [node_id],
        "embedding": None,
        "created_at": at,
        "anchors": [{"entry": entry or f"e-{node_id}", "start": start, "end": end}],
        "provenance": {"sources": [node_id], "task": None, "merged_from": []},
        "history": [],
    }


def clash(*members: str, name: str = "c") -> Conflict:
    claims = [{"node": m, "value": m, "quote": m, "anchor": {"entry": f"e-{m}", "start": 0, "end": 1}} for m in members]
    return {
        "id": name,
        "nodes": list(members),
        "contradictions": [{"kind": "number", "reason": "they differ", "claims": claims}],
        "status": "open",
        "opened_at": "2026",
        "settled_at": None,
    }


def graph_of(*edits: GraphEdit) -> QueryGraph:
    return apply_graph_edits({}, [edits])


@st.composite
def edits(draw: st.DrawFn) -> GraphEdit:
    kind = draw(
        st.sampled_from(["put", "relate", "unrelate", "merge", "forget", "conflict", "revise", "settle", "embed"])
    )
    some = draw(st.lists(ids, min_size=1, max_size=4))
    match kind:
        case "put":
            return query_graph.put(node(some[0]))
        case "relate":
            return query_graph.relate((a, b) for a in some for b in some)
        case "unrelate":
            return query_graph.unrelate([(some[0], some[-1])])
        case "merge":
            return query_graph.merge(some, node(f"m-{'-'.join(sorted(set(some)))}"))
        case "forget":
            return query_graph.forget(some)
        case "conflict":
            return query_graph.conflict(clash(*some, name=f"c-{'-'.join(some)}"))
        case "revise":
            return query_graph.revise(some[0], "new context", ["new"], "key", "2027")
        case "embed":
            return query_graph.embed(dict.fromkeys(some, "key"))
        case _:
            return query_graph.settle({**clash(*some, name=f"c-{'-'.join(some)}"), "status": "settled"})


batches = st.lists(st.lists(edits(), max_size=6), max_size=6)


@given(batches)
def test_edges_stay_symmetric_without_loops_doubles_or_dangling_ends(writes: list[list[GraphEdit]]) -> None:
    graph = apply_graph_edits({}, writes)

    nodes, related = graph.get("nodes", {}), graph.get("related", {})
    assert set(related) == set(nodes)
    for a, others in related.items():
        assert a not in others
        assert len(others) == len(set(others))
        assert all(b in nodes and a in related[b] for b in others)


@given(batches)
def test_conflicts_that_are_not_settled_name_live_memories_and_share_none(writes: list[list[GraphEdit]]) -> None:
    graph = apply_graph_edits({}, writes)

    unsettled = [c for c in graph.get("conflicts", {}).values() if c["status"] != "settled"]
    named = [n for c in unsettled for n in c["nodes"]]
    assert all(n in graph["nodes"] for n in named)
    assert all(c["nodes"] for c in unsettled)
    assert len(named) == len(set(named))


def test_two_conflicts_whose_memories_are_merged_are_one() -> None:
    put = [query_graph.put(node(name)) for name in ("a", "b", "c", "d")]
    conflicts = [query_graph.conflict(clash("a", "c", name="c1")), query_graph.conflict(clash("b", "d", name="c2"))]

    graph = apply_graph_edits({}, [[*put, *conflicts, query_graph.merge(["a", "b"], node("m"))]])

    (conflict,) = graph["conflicts"].values()
    assert sorted(conflict["nodes"]) == ["c", "d", "m"]
    assert len(conflict["contradictions"]) == 2


@given(batches, st.integers(0, 6))
def test_folding_in_batches_gives_what_folding_at_once_gives(writes: list[list[GraphEdit]], cut: int) -> None:
    at_once = apply_graph_edits({}, writes)

    in_two = apply_graph_edits(apply_graph_edits({}, writes[:cut]), writes[cut:])

    assert in_two == at_once


@given(batches, st.lists(edits(), max_size=6))
def test_folding_leaves_the_graph_before_it_untouched(writes: list[list[GraphEdit]], more: list[GraphEdit]) -> None:
    before = apply_graph_edits({}, writes)
    kept = copy.deepcopy(before)

    apply_graph_edits(before, [more])

    assert before == kept


@given(batches)
def test_merging_never_loses_raw_text(writes: list[list[GraphEdit]]) -> None:
    without_forgetting = [[e for e in batch if e["op"] != "forget"] for batch in writes]
    graph: QueryGraph = {}
    reachable: set[str] = set()
    for batch in without_forgetting:
        for edit in batch:
            graph = apply_graph_edits(graph, [[edit]])
            now = {a["entry"] for n in graph["nodes"].values() for a in n["anchors"]}
            if edit["op"] == "merge":
                assert reachable <= now
            reachable = now


def test_what_is_deleted_leaves_no_dangling_neighbour() -> None:
    graph = graph_of(query_graph.put(node("a")), query_graph.put(node("b")), query_graph.relate([("a", "b")]))
    assert (neighbours(graph, "a"), neighbours(graph, "b")) == (["b"], ["a"])

    graph = apply_graph_edits(graph, [[query_graph.forget(["a"])]])

    assert list(graph["nodes"]) == ["b"]
    assert neighbours(graph, "b") == []


def test_a_merged_memory_inherits_edges_once_and_none_to_its_members() -> None:
    graph = graph_of(
        *(query_graph.put(node(i)) for i in "abcd"),
        query_graph.relate([("a", "b"), ("b", "c"), ("b", "d"), ("a", "c")]),
    )

    graph = apply_graph_edits(graph, [[query_graph.merge(["a", "b"], node("h"))]])

    assert sorted(graph["nodes"]) == ["c", "d", "h"]
    assert sorted(neighbours(graph, "h")) == ["c", "d"]
    assert neighbours(graph, "c") == ["h"]


@given(batches, st.lists(ids, min_size=2, max_size=4, unique=True))
def test_a_merge_inherits_the_neighbours_of_all_members_minus_the_members(
    writes: list[list[GraphEdit]], members: list[str]
) -> None:
    before = apply_graph_edits({}, writes)
    live = [m for m in members if m in before.get("nodes", {})]

    after = apply_graph_edits(before, [[query_graph.merge(members, node("heir"))]])

    if len(live) >= 2:
        expected = {n for m in live for n in neighbours(before, m)} - set(live)
        assert set(neighbours(after, "heir")) == expected
        assert not set(live) & set(after["nodes"])


def test_the_order_of_merges_does_not_change_the_raw_text_that_is_reached() -> None:
    start = graph_of(*(query_graph.put(node(i)) for i in "abc"))
    one_way = [query_graph.merge(["a", "b"], node("h")), query_graph.merge(["h", "c"], node("i"))]
    other_way = [query_graph.merge(["b", "c"], node("h")), query_graph.merge(["a", "h"], node("i"))]

    reached = [
        {a["entry"] for n in apply_graph_edits(start, [merges])["nodes"].values() for a in n["anchors"]}
        for merges in (one_way, other_way)
    ]

    assert reached[0] == reached[1]


def test_a_merge_with_fewer_than_two_live_members_does_nothing() -> None:
    graph = graph_of(query_graph.put(node("a")))

    assert apply_graph_edits(graph, [[query_graph.merge(["a", "gone"], node("h"))]]) == graph


def test_a_refresh_replaces_values_and_keeps_the_earlier_ones() -> None:
    graph = graph_of(query_graph.put(node("a")))

    graph = apply_graph_edits(graph, [[query_graph.revise("a", "new", ["k"], "key", "2027")]])

    refreshed = graph["nodes"]["a"]
    assert (refreshed["context"], refreshed["keywords"], refreshed["embedding"]) == ("new", ["k"], "key")
    assert refreshed["history"] == [{"at": "2027", "context": "about a", "keywords": ["a"]}]


def test_conflicts_that_share_a_memory_become_one_group() -> None:
    graph = graph_of(
        *(query_graph.put(node(i)) for i in "abc"),
        query_graph.conflict(clash("a", "b", name="c1")),
        query_graph.conflict(clash("b", "c", name="c2")),
    )

    (group,) = open_conflicts(graph)
    assert sorted(group["nodes"]) == ["a", "b", "c"]
    assert len(group["contradictions"]) == 2


def test_new_evidence_opens_a_disputed_conflict_again() -> None:
    graph = graph_of(
        *(query_graph.put(node(i)) for i in "abc"),
        query_graph.conflict(clash("a", "b", name="c1")),
        query_graph.settle({**clash("a", "b", name="c1"), "status": "disputed"}),
    )
    assert open_conflicts(graph) == []

    graph = apply_graph_edits(graph, [[query_graph.conflict(clash("b", "c", name="c2"))]])

    assert [c["id"] for c in open_conflicts(graph)] == ["c1"]


def test_a_conflict_follows_a_memory_that_is_merged() -> None:
    graph = graph_of(*(query_graph.put(node(i)) for i in "abc"), query_graph.conflict(clash("a", "b")))

    graph = apply_graph_edits(graph, [[query_graph.merge(["b", "c"], node("h"))]])

    (group,) = open_conflicts(graph)
    assert group["nodes"] == ["a", "h"]
    assert [claim["node"] for claim in group["contradictions"][0]["claims"]] == ["a", "h"]


def test_an_edit_of_an_unknown_kind_or_about_unknown_memories_changes_nothing() -> None:
    graph = graph_of(query_graph.put(node("a")))
    strange: GraphEdit = {"v": 99, "op": "put"}
    gone = [query_graph.relate([("a", "x")]), query_graph.revise("x", "c", [], None, "2027"), query_graph.forget(["x"])]

    assert apply_graph_edits(graph, [[strange, *gone]]) == graph


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 30), st.integers(1, 10)), max_size=12))
def test_joined_anchors_cover_the_same_characters_without_overlap(spans: list[tuple[str, int, int]]) -> None:
    anchors = [{"entry": e, "start": s, "end": s + n} for e, s, n in spans]

    joined = join_anchors(anchors)  # type: ignore[arg-type]

    def characters(of: list) -> list[tuple[str, int]]:
        return [(a["entry"], i) for a in of for i in range(a["start"], a["end"])]

    assert sorted(characters(joined)) == sorted(set(characters(anchors)))


def test_networkx_sees_the_memories_and_what_is_related() -> None:
    pytest.importorskip("networkx")
    view = query_graph.to_networkx(
        graph_of(*(query_graph.put(node(one)) for one in IDS[:3]), query_graph.relate([("n0", "n1")]))
    )

    assert dict(view.nodes(data="summary")) == {one: f"what {one} says" for one in IDS[:3]}
    assert list(view.edges) == [("n0", "n1")]
