"""The saved state of a memory bank, edited by hand: whole layers, edits, another question; the rest is refused."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank.engines.extractive import ExtractiveEngine
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.state import query_graph
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.testing import TickingClock
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

CONFIG: Any = {"configurable": {"thread_id": "t"}}
WIDE, SOUP = "How wide is the mirror?", "What does the canteen serve?"
DOCUMENTS = ["The mirror is 8.2 metres wide.", "The canteen serves fish soup on Fridays."]


@pytest.fixture
def bank() -> Any:
    """A memory bank that answered once."""
    embeddings = HashEmbeddings()
    graph = build_memory_bank(
        engine=ExtractiveEngine(Encoder(embeddings)),
        embeddings=embeddings,
        clock=TickingClock(),
        checkpointer=InMemorySaver(),
    )
    graph.invoke({"question": WIDE, "documents": DOCUMENTS}, CONFIG)
    return graph


def layer(bank: Any, name: str) -> Any:
    return deepcopy(bank.get_state(CONFIG).values[name])


def test_a_whole_query_graph_takes_the_place_of_what_was_there(bank: Any) -> None:
    graph = layer(bank, "query_graph")
    first, second = graph["nodes"]
    graph["nodes"][first]["summary"] = "The mirror is wide."

    bank.update_state(CONFIG, {"query_graph": graph})

    nodes = layer(bank, "query_graph")["nodes"]
    assert nodes[first]["summary"] == "The mirror is wide."
    assert nodes[first]["embedding"] is None  # it was that of other words
    assert nodes[second]["embedding"]
    bank.invoke({"question": WIDE}, CONFIG)
    assert layer(bank, "query_graph")["nodes"][first]["summary"] == "The mirror is wide."


def test_a_memory_that_is_taken_out_is_gone(bank: Any) -> None:
    graph = layer(bank, "query_graph")
    first = next(iter(graph["nodes"]))
    del graph["nodes"][first], graph["related"][first]
    graph["related"] = {node_id: [] for node_id in graph["related"]}

    bank.update_state(CONFIG, {"query_graph": graph})

    assert first not in layer(bank, "query_graph")["nodes"]


def test_a_list_of_edits_is_folded_in(bank: Any) -> None:
    first, second = layer(bank, "query_graph")["nodes"]

    bank.update_state(CONFIG, {"query_graph": [query_graph.relate([(first, second)])]})

    assert layer(bank, "query_graph")["related"][first] == [second]


def test_edits_may_name_what_those_before_them_make(bank: Any) -> None:
    graph = layer(bank, "query_graph")
    (first_id, *_), made = graph["nodes"], {**next(iter(graph["nodes"].values())), "id": "new"}

    bank.update_state(CONFIG, {"query_graph": [query_graph.put(made), query_graph.relate([("new", first_id)])]})

    assert layer(bank, "query_graph")["related"]["new"] == [first_id]


def test_a_whole_insight_doc_takes_the_place_of_what_was_there(bank: Any) -> None:
    doc = layer(bank, "insight_doc")
    doc["completed"][0]["learned"] = "Nothing."

    bank.update_state(CONFIG, {"insight_doc": doc})

    assert layer(bank, "insight_doc")["completed"][0]["learned"] == "Nothing."


def test_entries_are_taken_out_of_a_whole_interaction_tree_and_added_to_it(bank: Any) -> None:
    tree = layer(bank, "interaction_tree")
    gone, kept = tree["entries"]
    tree["entries"]["e000000000000"] = {**tree["entries"].pop(gone), "id": "e000000000000"}

    bank.update_state(CONFIG, {"interaction_tree": tree})

    assert list(layer(bank, "interaction_tree")["entries"]) == [kept, "e000000000000"]


@pytest.mark.parametrize("node", [None, "adapter_out", "execute", "__start__"])
def test_another_question_is_asked_wherever_it_is_written(bank: Any, node: str | None) -> None:
    forked = bank.update_state(CONFIG, {"question": SOUP}, as_node=node)

    result = bank.invoke(None, forked)

    assert result["insight_doc"]["goal"] == SOUP
    assert result["answer"] == DOCUMENTS[1]


@pytest.mark.parametrize("after", range(13))
def test_every_step_can_be_forked_with_another_question(bank: Any, after: int) -> None:
    step = list(bank.get_state_history(CONFIG))[-1 - after]

    result = bank.invoke(None, bank.update_state(step.config, {"question": SOUP}))

    assert result["insight_doc"]["goal"] == SOUP
    assert result["answer"] == DOCUMENTS[1]


def test_another_goal_is_another_question(bank: Any) -> None:
    doc = {**layer(bank, "insight_doc"), "goal": SOUP}

    result = bank.invoke(None, bank.update_state(CONFIG, {"insight_doc": doc}))

    assert result["answer"] == DOCUMENTS[1]
    assert [goal["goal"] for goal in result["insight_doc"]["archived"]] == [WIDE]


def test_a_question_beside_what_is_as_it_was_is_asked(bank: Any) -> None:
    values = {name: value for name, value in bank.get_state(CONFIG).values.items() if name != "messages"}

    result = bank.invoke(None, bank.update_state(CONFIG, {**values, "question": SOUP}))

    assert result["answer"] == DOCUMENTS[1]


Changed = Callable[[Any], Any]


def without_a_node(values: Any) -> Any:
    nodes = values["query_graph"]["nodes"]
    return {"query_graph": {**values["query_graph"], "nodes": {}, "related": {id: [] for id in nodes}}}


def one_way(values: Any) -> Any:
    first, second = values["query_graph"]["nodes"]
    return {"query_graph": {**values["query_graph"], "related": {first: [second], second: []}}}


def under_another_id(values: Any) -> Any:
    nodes = values["query_graph"]["nodes"]
    return {"query_graph": {**values["query_graph"], "nodes": {"n1": next(iter(nodes.values()))}, "related": {}}}


def in_other_words(values: Any) -> Any:
    tree = values["interaction_tree"]
    entries = {id: {**entry, "text": "Other words."} for id, entry in tree["entries"].items()}
    return {"interaction_tree": {**tree, "entries": entries}}


def with_more_than_a_goal(values: Any) -> Any:
    return {"insight_doc": {**values["insight_doc"], "goal": SOUP, "completed": []}}


def first(values: Any) -> str:
    return next(iter(values["query_graph"]["nodes"]))


def new(values: Any) -> Any:
    return {**values["query_graph"]["nodes"][first(values)], "id": "new"}


def conflict_of(nodes: list[str]) -> Any:
    return {"id": "c", "nodes": nodes, "contradictions": [], "status": "open", "opened_at": "now", "settled_at": None}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda _: {"query_graph": "junk"}, "as a whole, as it is read, or as a list of edits"),
        (lambda _: {"query_graph": {"memories": {}}}, "cannot be written at memories"),
        (lambda _: {"query_graph": {"nodes": {"n1": {"id": "n1"}}}}, "cannot be written at nodes.n1.summary"),
        (lambda _: {"query_graph": [{"v": 1, "op": "zap"}]}, "cannot be written at op"),
        (lambda _: {"query_graph": [{"v": 1, "op": "put"}]}, "'put' needs node"),
        (lambda _: {"insight_doc": [{"v": 1, "op": "open"}]}, "'open' needs goal, id"),
        (lambda _: {"insight_doc": {"goal": 7}}, "cannot be written at goal"),
        (lambda _: {"memories": []}, "'memories' shows what query_graph holds"),
        (lambda _: {"status": "excellent"}, "status cannot be written"),
        (lambda _: {"question": " "}, "question"),
        (lambda _: {"question": SOUP, "status": "running"}, "by itself"),
        (lambda _: {"query_graph": [query_graph.relate([("n1", "n2")])]}, "'relate' names 'n1', 'n2', which is no"),
        (lambda values: {"query_graph": [query_graph.relate([(first(values), first(values))])]}, "pairs of two"),
        (lambda _: {"query_graph": [query_graph.embed({"n1": "key"})]}, "'embed' names 'n1'"),
        (lambda _: {"query_graph": [query_graph.revise("n1", "", [], None, "now")]}, "'revise' names 'n1'"),
        (lambda values: {"query_graph": [query_graph.merge([first(values)], new(values))]}, "two memories or more"),
        (lambda values: {"query_graph": [query_graph.merge([first(values), "n1"], new(values))]}, "'merge' names 'n1'"),
        (lambda _: {"query_graph": [query_graph.forget(["n1"])]}, "'forget' names 'n1'"),
        (lambda values: {"query_graph": [query_graph.forget([first(values)])] * 2}, "'forget' names"),
        (lambda _: {"query_graph": [query_graph.settle(conflict_of([]))]}, "a conflict that is not there"),
        (lambda _: {"query_graph": [query_graph.conflict(conflict_of(["n1"]))]}, "'conflict' names 'n1'"),
        (without_a_node, "which is no memory"),
        (one_way, "not the other way round"),
        (under_another_id, "has the id"),
        (in_other_words, "raw text is never rewritten"),
        (with_more_than_a_goal, "by itself"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_changes(bank: Any, change: Changed, why: str) -> None:
    before = bank.get_state(CONFIG)

    with pytest.raises(InputError, match=why):
        bank.update_state(CONFIG, change(deepcopy(before.values)))

    assert bank.get_state(CONFIG) == before
