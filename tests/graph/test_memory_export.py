"""A user's memories go out as one JSON and come in again elsewhere: all of their history, and nothing forgotten."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.runs.memory_files import documents_json
from agentic_memory_bank.state.errors import ExportError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories import index_keeper
from agentic_memory_bank.tools.memories.index_files import IndexFiles


def opened() -> Memories:
    return Memories(InMemoryStore(), embeddings=HashEmbeddings(64), settings={"recall_timeout": 60.0})


@pytest.fixture
def full() -> Memories:
    """Memories with all that may happen to them: told, corrected, reworded, used, drawn together, contradicted."""
    memories = opened()
    memories.remember("I live in Lisbon.", user="ana", conversation_id="a", end=True)
    memories.remember("I moved to Porto.", user="ana", conversation_id="b", end=True)
    memories.remember("我妹妹小雨下个月结婚。", user="ana", conversation_id="c", end=True)
    kept = memories.store("The user likes tea.", user="ana", project="p")
    memories.update(kept["id"], "The user likes green tea.", user="ana")
    memories.supersede(kept["id"], "The user likes coffee.", user="ana")
    one = memories.store("The launch is on Friday.", user="ana")
    two = memories.store("The launch is on Friday, May 8.", user="ana")
    memories._records.consolidate("ana", [one["id"], two["id"]], "The launch is on Friday, May 8, in Rome.")
    memories.search("coffee", user="ana", project="p")
    return memories


def test_what_comes_in_is_what_went_out_byte_for_byte(full: Memories) -> None:
    text = full.export(user="ana")
    other = opened()

    report = other.import_(text, user="ana")

    assert other.export(user="ana") == text
    assert len(report["stored"]) == len(full.list(user="ana", project=None, replaced=True, limit=100).records)
    assert other.list(user="ana", project=None, replaced=True) == full.list(user="ana", project=None, replaced=True)
    assert other.import_(text, user="ana") == {"stored": [], "erased": []}


def test_what_came_in_is_found_with_vectors_of_its_new_place(full: Memories) -> None:
    other = opened()

    other.import_(full.export(user="ana"), user="ana")

    assert other.search("coffee", user="ana", project="p")[0].record["text"] == "The user likes coffee."
    assert not other._records.lacks_vectors("ana")


def test_who_takes_very_many_in_leaves_their_index_for_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = IndexFiles.write

    def slow(*given: Any) -> None:
        time.sleep(0.3)
        write(*given)

    monkeypatch.setattr(IndexFiles, "write", slow)
    monkeypatch.setattr(index_keeper, "FEWEST", 4)
    full = opened()
    for number in range(8):
        full.store(f"The user has book number {number}.", user="ana")

    Memories(home=tmp_path, embeddings=HashEmbeddings(64)).import_(full.export(user="ana"), user="ana")

    assert [*(tmp_path / "memories.indexes").glob("*.index")]


def test_another_user_may_get_them_and_neither_is_named_in_them(full: Memories) -> None:
    text, other = full.export(user="ana"), opened()

    other.import_(text, user="bob")

    assert other.export(user="bob") == text
    assert other.list(user="ana").records == []
    assert "ana" not in json.loads(text)
    assert "vector" not in text


def test_what_was_forgotten_is_not_in_it_and_goes_where_it_comes_in(full: Memories) -> None:
    before, other = full.export(user="ana"), opened()
    other.import_(before, user="ana")
    full.delete(full.preview_delete_about("Porto", user="ana").ids, user="ana")

    after = full.export(user="ana")

    assert "Porto" not in after
    assert len(other.import_(after, user="ana")["erased"]) >= 1
    assert "Porto" not in other.export(user="ana")


def test_an_older_export_brings_nothing_back_that_was_forgotten_since(full: Memories) -> None:
    before = full.export(user="ana")
    full.delete(full.preview_delete_about("Porto", user="ana").ids, user="ana")

    full.import_(before, user="ana")

    assert "Porto" not in full.export(user="ana")
    assert not any("Porto" in one["text"] for one in full.list(user="ana", replaced=True, project=None).records)


def test_what_both_sides_have_learned_since_is_there_after_both_have_imported(full: Memories) -> None:
    other = opened()
    other.import_(full.export(user="ana"), user="ana")
    full.store("The user sails.", user="ana")
    other.store("The user skis.", user="ana")

    other.import_(full.export(user="ana"), user="ana")
    full.import_(other.export(user="ana"), user="ana")

    assert full.export(user="ana") == other.export(user="ana")
    assert {"The user sails.", "The user skis."} <= {one["text"] for one in full.list(user="ana").records}


@pytest.mark.parametrize(
    ("spoiled", "why"),
    [
        (lambda text: text[:-20], "cut short"),
        (lambda text: "[]", "no export of memories"),
        (lambda text: text.replace("Porto", "Paris", 1), "changed or damaged"),
        (lambda text: text.replace('"version":1', '"version":2'), "newer version"),
        (lambda text: resigned(text, lambda event: event.update(op="explode")), "not what it should be"),
        (lambda text: resigned(text, lambda event: event.update(extra=1)), "not what it should be"),
        (lambda text: resigned(text, lambda event: event.update(id="../../etc")), "not what it should be"),
        (lambda text: resigned(text, lambda event: event.update(at="yesterday")), "not what it should be"),
        (lambda text: resigned(text, lambda event: event.update(text="\ud800")), "not what it should be"),
    ],
)
def test_what_is_foreign_or_damaged_is_refused_whole(full: Memories, spoiled: Any, why: str) -> None:
    other = opened()

    with pytest.raises(ExportError, match=why):
        other.import_(spoiled(full.export(user="ana")), user="ana")
    assert other.list(user="ana", project=None).records == []


def resigned(text: str, change: Any) -> str:
    """An export with an event changed by somebody who knows how to make its checksum."""
    from agentic_memory_bank.runs import memory_files

    content = json.loads(text)
    change(content["events"][0])
    content["sha256"] = memory_files._hash(content["events"])
    return json.dumps(content)


def test_documents_hold_the_text_with_all_that_is_known_of_it(full: Memories) -> None:
    documents = full.documents(user="ana", project="p")

    old = next(one for one in documents if one.page_content == "The user likes green tea.")
    assert [wording["text"] for wording in old.metadata["history"]] == ["The user likes tea."]
    assert old.metadata["replaced_how"] == "supersede"
    assert json.loads(documents_json(documents).splitlines()[0])["page_content"]
