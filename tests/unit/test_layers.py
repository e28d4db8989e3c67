"""The Insight Doc's and the Interaction Tree's reducers: history only grows, raw text is never rewritten."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from agentic_memory_bank.state import insight_doc, interaction_tree
from agentic_memory_bank.state.insight_doc import InsightDoc, InsightEdit, Task, apply_insight_edits
from agentic_memory_bank.state.interaction_tree import (
    Entry,
    InteractionTree,
    TreeEdit,
    apply_tree_edits,
    current_id,
    text_of,
)
from agentic_memory_bank.state.memory_bank import FEWEST_UPDATES, LayerChannel


def task(task_id: str) -> Task:
    return {"id": task_id, "kind": "search", "description": task_id, "conflict": None, "attachments": []}


def entry(entry_id: str, text: str) -> Entry:
    return {
        "id": entry_id,
        "kind": "document",
        "text": text,
        "created_at": "2026",
        "source": "test",
        "metadata": {},
        "tool_calls": [],
        "attachments": [],
    }


names = st.sampled_from(["t1", "t2", "t3"])
insight_edits = st.one_of(
    st.builds(insight_doc.plan, st.one_of(st.none(), names.map(task))),
    st.builds(insight_doc.finish, names, st.sampled_from(["success", "failure"]), st.just("learned")),
    st.builds(insight_doc.supersede, st.lists(names, max_size=2)),
    st.builds(insight_doc.open_goal, st.sampled_from(["d1", "d2"]), st.just("goal")),
)
tree_edits = st.one_of(
    st.builds(interaction_tree.append, st.builds(entry, names, st.text(max_size=5))),
    st.builds(
        interaction_tree.merged,
        st.builds(
            lambda a, b: {"node": a, "merged": [b], "at": "2026", "cause": "merge", "description": ""}, names, names
        ),
    ),
)


@given(st.lists(insight_edits, max_size=20))
def test_completed_tasks_only_grow_and_there_is_at_most_one_current_task(edits: list[InsightEdit]) -> None:
    doc: InsightDoc = {}
    for edit in edits:
        before = [t["id"] for g in doc.get("archived", []) for t in g["completed"]] + [
            t["id"] for t in doc.get("completed", [])
        ]
        doc = apply_insight_edits(doc, [[edit]])
        after = [t["id"] for g in doc.get("archived", []) for t in g["completed"]] + [
            t["id"] for t in doc.get("completed", [])
        ]
        assert after[: len(before)] == before
        assert doc.get("current") is None or isinstance(doc["current"], dict)


@given(st.lists(insight_edits, max_size=20), st.integers(0, 20))
def test_the_insight_doc_folds_alike_in_batches(edits: list[InsightEdit], cut: int) -> None:
    in_two = apply_insight_edits(apply_insight_edits({}, [edits[:cut]]), [edits[cut:]])

    assert in_two == apply_insight_edits({}, [edits])


@given(st.lists(tree_edits, max_size=20))
def test_raw_text_once_written_is_never_changed(edits: list[TreeEdit]) -> None:
    tree: InteractionTree = {}
    written: dict[str, Entry] = {}
    for edit in edits:
        tree = apply_tree_edits(tree, [[edit]])
        for entry_id, kept in tree["entries"].items():
            written.setdefault(entry_id, copy.deepcopy(kept))
        assert tree["entries"] == written


@given(st.lists(tree_edits, max_size=20), st.integers(0, 20))
def test_the_tree_folds_alike_in_batches(edits: list[TreeEdit], cut: int) -> None:
    in_two = apply_tree_edits(apply_tree_edits({}, [edits[:cut]]), [edits[cut:]])

    assert in_two == apply_tree_edits({}, [edits])


def test_an_insight_doc_survives_being_written_and_read() -> None:
    import json

    doc = apply_insight_edits({}, [[insight_doc.open_goal("d", "find out"), insight_doc.plan(task("t1"))]])
    doc = apply_insight_edits(doc, [[insight_doc.finish("t1", "success", "it is so"), insight_doc.plan(task("t2"))]])

    assert json.loads(json.dumps(doc)) == doc
    assert (doc["id"], doc["goal"], [t["status"] for t in doc["completed"]]) == ("d", "find out", ["success"])
    assert doc["current"] == task("t2")


def test_a_second_question_archives_the_first_with_its_tasks() -> None:
    doc = apply_insight_edits({}, [[insight_doc.open_goal("d1", "first"), insight_doc.plan(task("t1"))]])
    doc = apply_insight_edits(doc, [[insight_doc.finish("t1", "success", "known")]])

    doc = apply_insight_edits(doc, [[insight_doc.open_goal("d2", "second")]])

    assert (doc["goal"], doc["completed"]) == ("second", [])
    assert [(g["goal"], [t["id"] for t in g["completed"]]) for g in doc["archived"]] == [("first", ["t1"])]


def test_only_the_task_that_is_current_can_be_finished() -> None:
    doc = apply_insight_edits({}, [[insight_doc.open_goal("d", "g"), insight_doc.plan(task("t1"))]])

    assert apply_insight_edits(doc, [[insight_doc.finish("t2", "success", "")]]) == doc


def test_a_merged_memory_is_found_under_its_old_name() -> None:
    tree = apply_tree_edits(
        {},
        [
            [
                interaction_tree.merged(
                    {"node": "h", "merged": ["a", "b"], "at": "1", "cause": "merge", "description": ""}
                ),
                interaction_tree.merged(
                    {"node": "i", "merged": ["h", "c"], "at": "2", "cause": "conflict", "description": ""}
                ),
            ]
        ],
    )

    assert [current_id(tree, name) for name in ("a", "h", "c", "i", "unknown")] == ["i", "i", "i", "i", "unknown"]


def test_forgotten_text_is_gone_and_its_anchors_read_as_nothing() -> None:
    tree = apply_tree_edits({}, [[interaction_tree.append(entry("e", "a secret"))]])

    tree = apply_tree_edits(tree, [[interaction_tree.forget_entries(["e"])]])

    assert text_of(tree, {"entry": "e", "start": 0, "end": 8}) == ""


def test_a_large_layer_is_copied_more_rarely() -> None:
    small, large = (
        LayerChannel(apply_tree_edits, dict).from_checkpoint({"entries": dict.fromkeys(range(n))}) for n in (10, 50_000)
    )

    assert small.snapshot_frequency == FEWEST_UPDATES
    assert large.snapshot_frequency > FEWEST_UPDATES
