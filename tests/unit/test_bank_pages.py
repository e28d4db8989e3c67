"""The memories of a bank as pages: what is searched is what the bank holds now, after merges and time travel too."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from agentic_memory_bank.state.interaction_tree import (
    Anchor,
    Entry,
    InteractionTree,
    append,
    apply_tree_edits,
    forget_entries,
    text_of,
)
from agentic_memory_bank.state.pages import PageSearch
from agentic_memory_bank.state.query_graph import (
    GraphEdit,
    MemoryNode,
    QueryGraph,
    apply_graph_edits,
    forget,
    merge,
    put,
    relate,
    revise,
)
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.bank_pages import BankLibraries, BankPages

TEXTS = {
    "e1": "Alva Lind built the lighthouse of Norrvik.",
    "e2": "The lighthouse of Norrvik is 31 metres high.",
    "e3": "The bakery opens at six.",
}


def entry(name: str, text: str, **metadata: Any) -> Entry:
    return {
        "id": name,
        "kind": "document",
        "text": text,
        "created_at": "2026-01-01T00:00:00.000000Z",
        "source": f"{name}.txt",
        "metadata": metadata,
        "tool_calls": [],
        "attachments": [],
    }


def whole(name: str) -> Anchor:
    return {"entry": name, "start": 0, "end": len(TEXTS[name])}


def node(name: str, *anchors: Anchor, summary: str = "", context: str = "A village.") -> MemoryNode:
    return {
        "id": name,
        "summary": summary or f"Summary of {name}.",
        "context": context,
        "keywords": [],
        "embedding": None,
        "created_at": "2026-01-01T00:00:00.000000Z",
        "anchors": list(anchors),
        "provenance": {"sources": sorted({f"{a['entry']}.txt" for a in anchors}), "task": None, "merged_from": []},
        "history": [],
    }


def graph_of(*edits: GraphEdit, before: QueryGraph | None = None) -> QueryGraph:
    return apply_graph_edits(before or {}, [list(edits)])


@pytest.fixture
def tree() -> InteractionTree:
    return apply_tree_edits({}, [[append(entry(name, text)) for name, text in TEXTS.items()]])


@pytest.fixture
def graph() -> QueryGraph:
    return graph_of(*(put(node(f"n{name[1]}", whole(name))) for name in TEXTS))


def texts(pages: BankPages) -> list[str]:
    return sorted(page["text"] for page in pages.changes().put)


def test_each_memory_is_a_page_with_its_summary_above_its_raw_text(graph: QueryGraph, tree: InteractionTree) -> None:
    put_now = BankPages(graph, tree).changes().put

    assert [page["abstract"] for page in put_now] == ["Summary of n1.", "Summary of n2.", "Summary of n3."]
    assert [page["text"] for page in put_now] == list(TEXTS.values())
    assert {page["title"] for page in put_now} == {"A village."}
    assert [page["source"] for page in put_now] == ["e1.txt", "e2.txt", "e3.txt"]


@pytest.mark.parametrize("context", ["", "   ", "A long context. " * 20])
def test_a_memory_without_a_short_context_is_called_by_its_source(tree: InteractionTree, context: str) -> None:
    pages = BankPages(graph_of(put(node("n1", whole("e1"), context=context))), tree)

    assert [page["title"] for page in pages.changes().put] == ["e1.txt"]


def test_a_page_has_the_date_of_its_source_where_it_is_known(graph: QueryGraph, tree: InteractionTree) -> None:
    dated = apply_tree_edits(tree, [[forget_entries(["e1"]), append(entry("e1", TEXTS["e1"], date="2024-05-07"))]])

    dates = [page["metadata"].get("date") for page in BankPages(graph, dated).changes().put]
    assert dates == ["2024-05-07", None, None]


def test_all_stretches_of_a_memory_are_on_its_page_and_a_quote_leads_back_to_each(tree: InteractionTree) -> None:
    pages = BankPages(graph_of(put(node("n1", whole("e1"), whole("e2")))), tree)
    (page,) = pages.changes().put

    assert page["text"] == f"{TEXTS['e1']}\n\n{TEXTS['e2']}"
    at = page["text"].index("31 metres")
    (place,) = pages.places(page["id"], at, at + 9)
    assert (place.node, place.anchor["entry"]) == ("n1", "e2")
    assert text_of(tree, place.anchor) == "31 metres"
    both = pages.places(page["id"], at - 35, at + 9)
    assert [one.anchor["entry"] for one in both] == ["e1", "e2"]
    assert [text_of(tree, one.anchor) for one in pages.places(page["id"])] == [TEXTS["e1"], TEXTS["e2"]]


def test_words_of_an_unknown_page_come_from_nowhere(graph: QueryGraph, tree: InteractionTree) -> None:
    assert BankPages(graph, tree).places("b0", 0, 9) == []


def test_what_a_validation_refuted_is_blank_and_places_stay(tree: InteractionTree) -> None:
    wrong = {"entry": "e2", "start": TEXTS["e2"].index("31"), "end": len(TEXTS["e2"])}
    pages = BankPages(graph_of(put(node("n1", whole("e1"), whole("e2")))), tree, [wrong])
    (page,) = pages.changes().put

    assert "31" not in page["text"]
    assert page["text"].rstrip() == f"{TEXTS['e1']}\n\nThe lighthouse of Norrvik is"
    assert len(page["text"]) == len(TEXTS["e1"]) + 2 + len(TEXTS["e2"])


@pytest.mark.parametrize(
    "change",
    [
        revise("n1", "Another context.", [], None, "2026"),
        put(node("n1", whole("e1"), summary="Another summary.")),
        put(node("n1", whole("e1"), whole("e3"))),
    ],
    ids=["context", "summary", "raw text"],
)
def test_a_memory_that_changed_is_a_new_page_and_the_old_one_is_gone(
    graph: QueryGraph, tree: InteractionTree, change: GraphEdit
) -> None:
    pages = BankPages(graph, tree)
    first = pages.changes()
    old = next(page for page in first.put if page["metadata"]["node"] == "n1")

    pages.follow(graph_of(change, before=graph), tree)
    news = pages.changes(first.sequence)

    assert [page["metadata"]["node"] for page in news.put] == ["n1"]
    assert news.removed == [old["id"]]
    assert pages.get([old["id"]]) == []


def test_an_edge_changes_no_page(graph: QueryGraph, tree: InteractionTree) -> None:
    pages = BankPages(graph, tree)
    first = pages.changes()

    pages.follow(graph_of(relate([("n1", "n2")]), before=graph), tree)

    assert pages.changes(first.sequence) == (first.sequence, [], [])


def test_a_merge_puts_one_page_in_the_place_of_two(graph: QueryGraph, tree: InteractionTree) -> None:
    pages = BankPages(graph, tree)
    first = pages.changes()

    pages.follow(graph_of(merge(["n1", "n2"], node("n9")), before=graph), tree)
    news = pages.changes(first.sequence)

    assert [page["metadata"]["node"] for page in news.put] == ["n9"]
    assert len(news.removed) == 2
    assert texts(pages) == sorted([f"{TEXTS['e1']}\n\n{TEXTS['e2']}", TEXTS["e3"]])


def test_after_time_travel_the_pages_are_those_of_that_time_under_their_old_ids(
    graph: QueryGraph, tree: InteractionTree
) -> None:
    pages = BankPages(graph, tree)
    before = pages.changes()
    pages.follow(graph_of(merge(["n1", "n2"], node("n9")), before=graph), tree)
    merged = pages.changes(before.sequence)

    pages.follow(graph, tree)
    back = pages.changes(merged.sequence)

    assert {page["id"] for page in pages.changes().put} == {page["id"] for page in before.put}
    assert {page["id"] for page in back.put} == set(merged.removed)
    assert back.removed == [page["id"] for page in merged.put]


def test_a_page_that_went_and_came_back_between_two_looks_is_not_among_those_that_went(
    graph: QueryGraph, tree: InteractionTree
) -> None:
    pages = BankPages(graph, tree)
    pages.follow({}, tree)
    pages.follow(graph, tree)

    assert len(pages.changes().put) == 3
    assert pages.changes().removed == []


def test_the_same_memory_has_the_same_ids_in_every_process_and_another_source_another_identity(
    graph: QueryGraph, tree: InteractionTree
) -> None:
    one, other = BankPages(graph, tree), BankPages(graph, tree)
    identity = one.identity

    one.follow({}, tree)
    one.follow(graph, tree)

    assert [page["id"] for page in one.changes().put] == [page["id"] for page in other.changes().put]
    assert one.identity == identity != other.identity


def test_forgotten_text_is_on_no_page(graph: QueryGraph, tree: InteractionTree) -> None:
    pages = BankPages(graph, tree)

    pages.follow(graph, apply_tree_edits(tree, [[forget_entries(["e1"])]]))

    assert texts(pages) == sorted([TEXTS["e2"], TEXTS["e3"]])


edit = st.one_of(
    st.builds(
        lambda i, names: put(node(f"n{i}", *map(whole, names))),
        st.integers(1, 5),
        st.lists(st.sampled_from(sorted(TEXTS)), min_size=1, max_size=2, unique=True),
    ),
    st.builds(
        lambda a, b, c: merge([f"n{a}", f"n{b}"], node(f"n{c}")),
        st.integers(1, 5),
        st.integers(1, 5),
        st.integers(1, 5),
    ),
    st.builds(lambda i: forget([f"n{i}"]), st.integers(1, 5)),
    st.builds(lambda i, c: revise(f"n{i}", c, [], None, "2026"), st.integers(1, 5), st.sampled_from(["x", "y"])),
)


@trials(max_examples=60, deadline=None)
@given(st.lists(st.tuples(edit, st.booleans(), st.booleans()), max_size=12))
def test_whoever_follows_the_changes_holds_the_pages_of_the_graph_whatever_happens(steps: Any) -> None:
    raw = apply_tree_edits({}, [[append(entry(name, text)) for name, text in TEXTS.items()]])
    now: QueryGraph = {}
    earlier: list[QueryGraph] = [{}]
    pages, held, sequence = BankPages(now, raw), dict[str, Any](), 0
    for change, goes_back, looks in steps:
        now = earlier[len(earlier) // 2] if goes_back else apply_graph_edits(now, [[change]])
        earlier.append(now)
        pages.follow(now, raw)
        if not looks:
            continue
        news = pages.changes(sequence)
        held.update((page["id"], page) for page in news.put)
        for gone in news.removed:
            held.pop(gone, None)
        sequence = news.sequence
        assert held == {page["id"]: page for page in BankPages(now, raw).changes().put}


# --- libraries ---------------------------------------------------------------------------------------------------


@pytest.fixture
def libraries() -> BankLibraries:
    return BankLibraries(Encoder(HashEmbeddings()), size=2)


def found(libraries: BankLibraries, thread: str, graph: QueryGraph, tree: InteractionTree, words: str) -> list[str]:
    with libraries.lent(thread, graph, tree) as (pages, library):
        ((*hits,),) = library.search([PageSearch(words)], 5, Settings())
        return [page["metadata"]["node"] for page in pages.get(hit.page for hit in hits)]


def test_a_search_finds_what_the_bank_holds_now(
    libraries: BankLibraries, graph: QueryGraph, tree: InteractionTree
) -> None:
    merged = graph_of(merge(["n1", "n2"], node("n9")), before=graph)

    assert found(libraries, "t", graph, tree, "Who built the lighthouse?")[0] == "n1"
    assert found(libraries, "t", merged, tree, "Who built the lighthouse?")[0] == "n9"
    assert found(libraries, "t", graph, tree, "Who built the lighthouse?")[0] == "n1"
    assert found(libraries, "t", {}, tree, "Who built the lighthouse?") == []


def test_a_fork_that_searches_at_the_same_time_sees_its_own_memory(
    libraries: BankLibraries, graph: QueryGraph, tree: InteractionTree
) -> None:
    merged = graph_of(merge(["n1", "n2"], node("n9")), before=graph)
    found(libraries, "t", graph, tree, "lighthouse")

    with libraries.lent("t", graph, tree) as (pages, library):
        assert found(libraries, "t", merged, tree, "lighthouse")[0] == "n9"
        assert len(library) == 3
        assert texts(pages) == sorted(TEXTS.values())


def test_what_was_encoded_once_is_not_encoded_again(
    graph: QueryGraph, tree: InteractionTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    embeddings = HashEmbeddings()
    make: Callable[[list[str]], Any] = embeddings.embed_documents

    def counted(words: list[str]) -> Any:
        encoded.extend(words)
        return make(words)

    monkeypatch.setattr(embeddings, "embed_documents", counted)
    libraries = BankLibraries(Encoder(embeddings))
    for _ in range(3):
        with libraries.lent("t", graph, tree):
            pass
    with libraries.lent("another", graph, tree):
        pass

    assert encoded
    assert len(encoded) == len(set(encoded))


def test_libraries_are_bounded_and_kept_after_an_error(
    libraries: BankLibraries, graph: QueryGraph, tree: InteractionTree
) -> None:
    with pytest.raises(RuntimeError), libraries.lent("t", graph, tree) as (pages, _):
        raise RuntimeError

    with libraries.lent("t", graph, tree) as (again, _):
        assert again is pages
    for thread in ("a", "b", "c"):
        with libraries.lent(thread, graph, tree):
            pass
    with libraries.lent("t", graph, tree) as (anew, _):
        assert anew is not pages
