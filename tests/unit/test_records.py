"""Memories are kept once, corrected with their history, found by what is asked, and gone when forgotten."""

import json
import logging
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from agentic_memory_bank.state import record_events as events
from agentic_memory_bank.state.errors import (
    EmbeddingError,
    InputError,
    InputTooLarge,
    NoUserError,
    StorageDamagedError,
    StorageError,
    UnknownMemoryError,
)
from agentic_memory_bank.state.record_events import event_key, fold_record
from agentic_memory_bank.state.records import PRUNE_BELOW, RecordFilter, retention
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories import event_log, maintenance
from agentic_memory_bank.tools.memories.index import RecordIndex
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.store_adapter import StoreAdapter
from agentic_memory_bank.tools.memories.stores import default_store
from agentic_memory_bank.tools.memories.user_memories import UserMemories
from agentic_memory_bank.tools.memories.validation import user_hash
from agentic_memory_bank.tools.memories.vectors import REEMBED, encode_vector
from agentic_memory_bank.tools.storage.sqlite_store import ROOT, SqliteRecordStore

DAY = timedelta(days=1)
SAID = {"conversation": "c1", "turns": ["t1"], "quotes": ["I moved to Rome in May."]}
Open = Callable[[], BaseStore]


def known(memories: RecordStore) -> UserMemories:
    """What this process has read of Ann's memories."""
    found = memories._users.peek(user_hash("ann"))
    assert found is not None
    return found


def pruned(memories: RecordStore) -> list[str]:
    """What a pruning of Ann's memories of all types deletes."""
    with memories._users.opened(user_hash("ann")) as ann:
        return list(maintenance.prune(ann, PRUNE_BELOW))


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, time: timedelta) -> None:
        self.now += time


class Scripted(Embeddings):
    """Vectors by text, as the test says; orthogonal ones for all others. It fails on demand."""

    def __init__(self, model: str = "scripted", dimension: int = 8, **vectors: list[float]) -> None:
        self.model, self.dimension, self.vectors, self.fails = model, dimension, vectors, False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.fails:
            raise TimeoutError("no answer")
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if text in self.vectors:
            return self.vectors[text]
        slot = sum(text.encode()) % (self.dimension - 2) + 2
        return [float(place == slot) for place in range(self.dimension)]


# --- the stores ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["in memory", "sqlite", "sqlite of langgraph", "postgres", "milvus lite"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same store again, as another process would."""
    if request.param == "in memory":
        store = InMemoryStore()
        yield lambda: store
    elif request.param == "sqlite":
        yield lambda: SqliteRecordStore(tmp_path / "bank" / "memories.sqlite")
    elif request.param == "sqlite of langgraph":
        connections: list[sqlite3.Connection] = []

        def connect() -> BaseStore:
            connections.append(sqlite3.connect(tmp_path / "s", isolation_level=None, check_same_thread=False))
            return SqliteStore(connections[-1])

        yield connect
        for connection in connections:
            connection.close()
    elif request.param == "postgres":
        with request.getfixturevalue("on_postgres")() as connect:
            yield connect
    else:
        with request.getfixturevalue("on_milvus_lite")(tmp_path / "bank" / "milvus") as connect:
            yield connect


@pytest.fixture
def clock() -> Hand:
    return Hand()


Make = Callable[..., RecordStore]


@pytest.fixture
def make(opening: Open, clock: Hand) -> Make:
    """Open the memories anew, as another process would."""
    return lambda embeddings=None, **options: RecordStore(
        opening(), Encoder(embeddings or HashEmbeddings()), clock, **options
    )


@pytest.fixture
def memories(make: Make) -> RecordStore:
    return make()


@pytest.fixture
def embedded(tmp_path: Path, clock: Hand) -> Make:
    """The same on the embedded store alone, for what does not depend on the store."""
    place = tmp_path / "bank" / "memories.sqlite"
    return lambda embeddings=None, **options: RecordStore(
        SqliteRecordStore(place), Encoder(embeddings or HashEmbeddings()), clock, **options
    )


def texts(memories: RecordStore, user: str = "ann", **options: Any) -> list[str]:
    return [record["text"] for record in memories.list(user, **options).records]


def found(memories: RecordStore, query: str, user: str = "ann", **options: Any) -> list[str]:
    return [hit.record["text"] for hit in memories.search(user, query, **options)]


def put(memories: RecordStore, text: str, user: str = "ann", **about: Any) -> str:
    return memories.store(user, text, **about).record["id"]


# --- storing -------------------------------------------------------------------------------------------------------


def test_a_memory_comes_back_with_all_that_was_said_of_it(memories: RecordStore, make: Make, clock: Hand) -> None:
    about: Any = {
        "type": "procedural",
        "project": "Ωmega/1",
        "subject": "deploys",
        "attribute": "day",
        "source": SAID,
        "trust": 0.9,
        "importance": 0.7,
        "expires_at": clock.now + DAY,
    }
    stored = memories.store("ann", "Deploy on Tuesdays.", **about)

    assert stored.is_new
    expected = {**about, "text": "Deploy on Tuesdays.", "sources": [SAID], "expires_at": "2026-01-02T00:00:00.000000Z"}
    del expected["source"]
    assert stored.record.items() >= expected.items()
    assert stored.record["created_at"] == "2026-01-01T00:00:00.000000Z"
    assert make().get("ann", stored.record["id"]) == stored.record


def test_the_same_words_are_kept_once_and_their_sources_are_united(memories: RecordStore, make: Make) -> None:
    first = put(memories, "I live in  Rome.\n", source=SAID, trust=0.2)
    other: Any = {**SAID, "conversation": "c2"}

    again = make().store("ann", "I live in Rome.", source=other, trust=0.8)

    assert (again.is_new, again.record["id"]) == (False, first)
    assert again.record["sources"] == [SAID, other]
    assert again.record["trust"] == 0.8
    assert memories.store("ann", "I live in Rome.", source={**SAID, "turns": ["t9"]}, trust=0.1).record["trust"] == 0.8
    assert len(texts(memories)) == 1


def test_the_same_words_are_another_memory_of_another_type_project_or_user(memories: RecordStore) -> None:
    ids = [put(memories, "x1"), put(memories, "x1", type="episodic"), put(memories, "x1", project="p")]
    ids += [put(memories, "x1", user="bob"), put(memories, "X1")]

    assert len(set(ids)) == 5


@pytest.mark.parametrize(
    "draft",
    [
        {"text": ""},
        {"text": " \n"},
        {"text": 5},
        {"text": "a", "type": "fact"},
        {"text": "a", "project": 7},
        {"text": "a", "trust": 1.5},
        {"text": "a", "importance": True},
        {"text": "a", "expires_at": datetime(2030, 1, 1)},
        {"text": "a", "source": "c1"},
        {"text": "a", "source": {"turns": "t1"}},
        {"text": "a", "evidence": "m1"},
        {"text": "a", "subject": 1},
        {"text": "a", "hybrid_mode": "rerank"},
    ],
)
def test_what_has_no_meaning_is_refused_and_nothing_is_kept(embedded: Make, draft: Any) -> None:
    memories = embedded()

    with pytest.raises(InputError):
        memories.store_many("ann", [{"text": "fine"}, draft])

    assert texts(memories) == []


def test_a_memory_that_is_too_long_is_refused(embedded: Make) -> None:
    with pytest.raises(InputTooLarge, match="in parts"):
        embedded().store("ann", "x" * 16_385)


def test_texts_that_no_database_keeps_are_mended_at_the_door(memories: RecordStore, make: Make) -> None:
    put(memories, "a\0b\ud800c", source={"conversation": "\udfff", "turns": [], "quotes": ["\0"]})

    (record,) = make().list("ann").records
    assert record["text"] == "a\ufffdb\ufffdc"
    assert record["sources"] == [{"conversation": "\ufffd", "turns": [], "quotes": ["\ufffd"]}]


def test_a_memory_is_kept_without_a_vector_when_none_can_be_made(embedded: Make, caplog: Any) -> None:
    model = Scripted()
    model.fails = True
    memories = embedded(model)

    with caplog.at_level(logging.WARNING):
        put(memories, "The PIN of the shed is 4821.")

    assert REEMBED in caplog.text
    assert "4821" not in caplog.text
    model.fails = False
    assert embedded(model).search("ann", "Which shed PIN?")[0].cosine == 0
    assert embedded(model).reembed() == 1
    assert embedded(model).search("ann", "The PIN of the shed is 4821.")[0].cosine == pytest.approx(1)


# --- correcting ----------------------------------------------------------------------------------------------------


def test_a_revised_memory_says_the_new_and_keeps_the_old_in_its_history(
    memories: RecordStore, make: Make, clock: Hand
) -> None:
    id = put(memories, "The budget is 10,000 dollars.")
    clock.pass_by(DAY)

    revised = make().update("ann", id, "The budget is 15,000 dollars.", source=SAID)

    assert revised["history"] == [{"text": "The budget is 10,000 dollars.", "at": "2026-01-01T00:00:00.000000Z"}]
    assert (revised["updated_at"], revised["sources"]) == ("2026-01-02T00:00:00.000000Z", [SAID])
    assert memories.get("ann", id) == revised
    assert found(memories, "15,000") == ["The budget is 15,000 dollars."]


def test_the_vector_of_a_revised_memory_follows_its_text(make: Make) -> None:
    model = Scripted(old=[1.0, 0, 0, 0, 0, 0, 0, 0], new=[0, 1.0, 0, 0, 0, 0, 0, 0])
    memories = make(model)
    id = put(memories, "old")

    memories.update("ann", id, "new")

    for looking in (memories, make(model)):
        (hit,) = looking.search("ann", "new")
        assert hit.cosine == pytest.approx(1)
        assert looking.search("ann", "old")[0].cosine == pytest.approx(0)


def test_revisions_at_one_moment_stay_in_their_order(make: Make) -> None:
    one, other = make(), make()
    id = put(one, "v0")

    for number in range(1, 6):
        (one if number % 2 else other).update("ann", id, f"v{number}")

    record = make().get("ann", id)
    assert record is not None
    assert record["text"] == "v5"
    assert [w["text"] for w in record["history"]] == [f"v{n}" for n in range(5)]


def test_a_revision_of_nothing_changes_nothing(embedded: Make) -> None:
    memories = embedded()
    id = put(memories, "as it is")

    assert memories.update("ann", id, "as it  is") == memories.get("ann", id)
    assert memories.update("ann", id, "as it is", importance=0.9)["history"] == []
    with pytest.raises(InputError, match="type"):
        memories.update("ann", id, "other", type="episodic")


def test_a_superseded_value_stays_dated_and_marked_and_is_found_only_when_asked_for(
    memories: RecordStore, make: Make, clock: Hand
) -> None:
    old = put(memories, "My home city is Paris.", subject="user", attribute="home city", project="p")
    clock.pass_by(DAY)

    new = make().supersede("ann", old, "My home city is Rome.")

    assert new.items() >= {"subject": "user", "attribute": "home city", "project": "p", "replaces": [old]}.items()
    marked = memories.get("ann", old)
    assert marked is not None
    assert (marked["replaced_by"], marked["replaced_how"]) == (new["id"], "supersede")
    assert marked["replaced_at"] == "2026-01-02T00:00:00.000000Z"
    assert texts(memories) == found(memories, "home city") == ["My home city is Rome."]
    assert set(found(memories, "home city", replaced=True)) == {"My home city is Rome.", "My home city is Paris."}
    assert len(texts(memories, replaced=True)) == 2


def test_who_supersedes_what_is_superseded_already_supersedes_the_current_value(make: Make) -> None:
    one, other = make(), make()
    first = put(one, "Paris")
    second = one.supersede("ann", first, "Rome")["id"]

    third = other.supersede("ann", first, "Oslo")

    assert third["replaces"] == [second]
    assert texts(one) == ["Oslo"]


def test_a_value_that_comes_back_is_current_again(make: Make) -> None:
    memories = make()
    paris = put(memories, "Paris")
    rome = memories.supersede("ann", paris, "Rome")["id"]

    again = memories.supersede("ann", rome, "Paris")

    assert again["id"] != paris
    assert texts(make()) == ["Paris"]


def test_a_value_that_is_known_supersedes_without_being_stored_twice(make: Make) -> None:
    memories = make()
    paris, rome = put(memories, "Paris"), put(memories, "Rome")

    assert memories.supersede("ann", paris, "Rome", source=SAID)["id"] == rome
    assert texts(make(), replaced=True) == texts(memories, replaced=True)
    assert texts(make()) == ["Rome"]
    assert memories.supersede("ann", rome, "Rome")["id"] == rome
    assert texts(make()) == ["Rome"]


def test_one_memory_can_be_marked_as_replaced_by_another(make: Make) -> None:
    memories = make()
    old, new = put(memories, "Paris"), put(memories, "Rome")

    assert memories.mark_superseded("ann", old, new)["replaced_by"] == new
    assert texts(make()) == ["Rome"]
    with pytest.raises(InputError):
        memories.mark_superseded("ann", old, old)


def test_contradicting_memories_name_each_other_and_both_stay(make: Make) -> None:
    memories = make()
    a, b = put(memories, "It opened in 1889."), put(memories, "It opened in 1891.")

    memories.mark_contradiction("ann", b, a)

    one, other = make().get("ann", a), make().get("ann", b)
    assert one is not None
    assert other is not None
    assert (one["contradicts"], other["contradicts"]) == ([b], [a])
    memories.delete("ann", [a])
    assert make().get("ann", b) == {**other, "contradicts": []}


def test_a_consolidation_names_its_sources_and_stands_for_them(make: Make, clock: Hand) -> None:
    memories = make()
    one = put(memories, "Budget 10", source=SAID, project="p", expires_at=clock.now + 2 * DAY)
    ids = [one, put(memories, "Budget 12", trust=0.9, project="p"), put(memories, "Budget 15", project="p")]

    whole = memories.consolidate("ann", ids, "The budget grew from 10 to 15.")

    assert whole["replaces"] == ids
    assert (whole["project"], whole["trust"], whole["sources"]) == ("p", 0.9, [SAID])
    assert whole["expires_at"] == "2026-01-03T00:00:00.000000Z"
    assert texts(make()) == ["The budget grew from 10 to 15."]


def test_memories_of_two_types_or_projects_are_not_consolidated(embedded: Make) -> None:
    memories = embedded()
    one, two = put(memories, "a"), put(memories, "b", type="episodic")

    with pytest.raises(InputError, match="one type"):
        memories.consolidate("ann", [one, two], "ab")
    with pytest.raises(InputError, match="one type"):
        memories.consolidate("ann", [one, put(memories, "c", project="p")], "ac")
    with pytest.raises(InputError, match="two memories"):
        memories.consolidate("ann", [one, one], "a")
    with pytest.raises(UnknownMemoryError):
        memories.consolidate("ann", [one, "m0"], "a")
    assert len(texts(memories)) == 3


def test_what_two_processes_store_at_one_moment_is_one_memory(opening: Open, clock: Hand) -> None:
    """Neither has seen the other's: the log is not followed between looking and writing."""
    encoder = Encoder(HashEmbeddings())
    one, other = RecordStore(opening(), encoder, clock), RecordStore(opening(), encoder, clock)
    other.list("ann")
    one.store("ann", "The same fact.", source=SAID)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agentic_memory_bank.tools.memories.user_memories.UserMemories._refresh", lambda self: None)
        other.store("ann", "The same fact.", source={**SAID, "conversation": "c2"})

    (record,) = RecordStore(opening(), encoder, clock).list("ann").records
    assert [source["conversation"] for source in record["sources"]] in (["c1", "c2"], ["c2", "c1"])


def test_two_memories_revised_to_say_the_same_are_shown_once(make: Make) -> None:
    memories = make()
    one, two = put(memories, "a1"), put(memories, "a2")

    memories.update("ann", two, "a1")

    assert texts(make()) == found(memories, "a1") == ["a1"]
    memories.delete("ann", [one])
    assert texts(make()) == ["a1"]


def test_what_fails_in_the_middle_of_a_call_was_never_there(embedded: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = embedded()
    put(memories, "before")
    with monkeypatch.context() as patch:
        patch.setattr(maintenance, "delete_over_quota", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            put(memories, "while it failed")

    assert texts(memories) == texts(embedded()) == ["before"]


def test_a_follower_has_the_vector_of_a_value_whose_forerunner_changed_just_before(embedded: Make) -> None:
    one, other = embedded(), embedded()
    old = put(one, "Paris is home.")
    texts(other)

    one.update("ann", old, "Paris was home.")
    one.supersede("ann", old, "Rome is home.")

    assert other.search("ann", "Rome is home.")[0].cosine == pytest.approx(1)


# --- who ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", [None, "", " ", "\n\t"])
def test_naming_nobody_is_an_error_and_never_means_everybody(memories: RecordStore, user: Any) -> None:
    id = put(memories, "secret")
    calls: list[Callable[[], object]] = [
        lambda: memories.store(user, "a"),
        lambda: memories.search(user, "secret"),
        lambda: memories.list(user),
        lambda: memories.get(user, id),
        lambda: memories.update(user, id, "b"),
        lambda: memories.supersede(user, id, "b"),
        lambda: memories.delete(user, [id]),
        lambda: memories.delete_all(user),
        lambda: memories.count_use(user, [id]),
    ]

    for call in calls:
        with pytest.raises(NoUserError):
            call()
    assert texts(memories) == ["secret"]


@pytest.mark.parametrize("user", [1, 1.5, True, b"ann", ["ann"]])
def test_only_texts_are_users(embedded: Make, user: Any) -> None:
    with pytest.raises(InputError, match="text"):
        embedded().list(user)


def test_neither_names_nor_projects_nor_texts_stand_in_a_namespace_or_key(opening: Open, memories: RecordStore) -> None:
    put(memories, "canary-text", user="canary-user", project="canary-project")

    store = opening()
    places = store.list_namespaces(prefix=(ROOT,), limit=100)
    keys = [item.key for place in places for item in store.search(place, limit=100)]
    assert keys
    assert "canary" not in json.dumps([places, keys])


def test_a_child_namespace_and_events_of_another_user_are_passed_over(opening: Open, memories: RecordStore) -> None:
    put(memories, "mine")
    store, mine, theirs = opening(), user_hash("ann"), user_hash("bob")
    foreign: Any = {**events.create("m1", "2026-01-01T00:00:00.000000Z", {"text": "foreign", "type": "semantic"})}
    foreign["project"] = '""'
    store.put((ROOT, mine, "events", "below"), "m1.1", foreign)
    store.put((ROOT, mine, "events"), "m1.2", {**foreign, "user": theirs})
    store.put((ROOT, mine, "events"), "nonsense", {"op": 1})

    assert texts(RecordStore(store, Encoder(HashEmbeddings()))) == ["mine"]


def test_a_memory_of_another_user_does_not_exist(memories: RecordStore) -> None:
    id = put(memories, "mine")

    assert memories.get("bob", id) is None
    assert memories.delete("bob", [id]) == []
    memories.count_use("bob", [id])
    assert memories.flush(5)
    for call in (memories.update, memories.supersede):
        with pytest.raises(UnknownMemoryError):
            call("bob", id, "yours")
    assert texts(memories) == ["mine"]


# --- looking -------------------------------------------------------------------------------------------------------


def test_a_listing_goes_newest_first_and_on_from_its_cursor(memories: RecordStore, clock: Hand) -> None:
    for number in range(7):
        put(memories, f"n{number}", type="episodic" if number % 2 else "semantic")
        clock.pass_by(DAY)
    first = memories.list("ann", limit=3)
    put(memories, "new")

    rest = memories.list("ann", limit=10, cursor=first.cursor)

    assert [r["text"] for r in [*first.records, *rest.records]] == [f"n{n}" for n in range(6, -1, -1)]
    assert rest.cursor is None
    assert texts(memories, types=["episodic"]) == ["n5", "n3", "n1"]
    assert len(texts(memories, types=["episodic", "semantic"])) == 8
    assert memories.list("ann", limit=8).cursor is None


def test_a_listing_shows_at_most_a_hundred(embedded: Make) -> None:
    memories = embedded()
    memories.store_many("ann", [{"text": f"n{n}"} for n in range(101)])

    listing = memories.list("ann", limit=1_000)

    assert len(listing.records) == 100
    assert len(memories.list("ann", cursor=listing.cursor).records) == 1


@pytest.mark.parametrize(
    "options", [{"limit": 0}, {"limit": True}, {"types": ["fact"]}, {"types": "semantic"}, {"project": 1}]
)
def test_what_is_asked_without_meaning_is_refused(embedded: Make, options: Any) -> None:
    for call in (lambda: embedded().list("ann", **options), lambda: embedded().search("ann", "a", **options)):
        with pytest.raises(InputError):
            call()


@pytest.mark.parametrize("cursor", ["", "x", "[]", "5", '{"a": 1}'])
def test_a_cursor_of_nobody_is_refused(embedded: Make, cursor: str) -> None:
    with pytest.raises(InputError, match="cursor"):
        embedded().list("ann", cursor=cursor)


def test_projects_are_searched_apart_none_means_all_and_empty_those_without(memories: RecordStore) -> None:
    for project in ("", "p", "p2"):
        put(memories, f"The password of {project or 'nothing'}", project=project)

    assert found(memories, "password", project="p") == texts(memories, project="p") == ["The password of p"]
    assert found(memories, "password", project="") == ["The password of nothing"]
    assert found(memories, "password", project="other") == []
    assert len(found(memories, "password")) == 3
    assert found(memories, "password", types=["episodic"]) == []


@pytest.mark.parametrize("others", [1, 9])
def test_a_filter_that_means_nearly_all_or_hardly_any_leaves_the_others_out(memories: RecordStore, others: int) -> None:
    for number in range(5):
        put(memories, f"The password of gate {number}")
    for number in range(others):
        put(memories, f"The password of task {number}", type="episodic")

    of_gates = found(memories, "password", types=["semantic"], limit=20)
    of_tasks = found(memories, "password", types=["episodic"], limit=20)

    assert sorted(of_gates) == [f"The password of gate {number}" for number in range(5)]
    assert sorted(of_tasks) == [f"The password of task {number}" for number in range(others)]


def test_a_search_scoped_by_project_equals_that_of_a_store_of_its_own(embedded: Make, clock: Hand) -> None:
    """The project is chosen before the best are: forty closer memories of another one take no place away."""
    shared, alone = embedded(), RecordStore(InMemoryStore(), Encoder(HashEmbeddings()), clock)
    shared.store_many("ann", [{"text": f"The access code of door {n}", "project": "other"} for n in range(40)])
    for number in range(8):
        draft: Any = {"text": f"Some code is in drawer {number}", "project": "mine"}
        shared.store_many("ann", [draft])
        alone.store_many("ann", [draft])

    query = "the access code of door"
    ours, theirs = shared.search("ann", query, project="mine"), alone.search("ann", query, project="mine")
    assert len(ours) == 5
    assert {hit.record["text"] for hit in shared.search("ann", query, project="mine", limit=100)} == {
        hit.record["text"] for hit in theirs
    } | {hit.record["text"] for hit in alone.search("ann", query, project="mine", limit=100)}


AXES = {
    "q": [1.0, 0, 0, 0],
    "close": [0.8, 0.6, 0, 0],
    "edge": [0.6, 0.8, 0, 0],
    "far": [0.1, 0.99498743710662, 0, 0],
    "far from Zanzibar": [0.0, 1.0, 0, 0],
    "q Zanzibar": [1.0, 0, 0, 0],
}


@pytest.fixture
def axes(make: Make) -> RecordStore:
    memories = make(Scripted(dimension=4, **AXES))
    memories.store_many("ann", [{"text": text} for text in ("close", "edge", "far", "far from Zanzibar")])
    return memories


def test_a_threshold_is_of_the_raw_cosine_and_none_means_no_threshold(axes: RecordStore) -> None:
    assert found(axes, "q", threshold=0.6 - 1e-6) == ["close", "edge"]
    assert len(found(axes, "q")) == len(found(axes, "q", threshold=-1)) == 4
    assert len(found(axes, "q", threshold=0.0 - 1e-6)) == 4, "a threshold of zero is one, not the default"
    assert found(axes, "q", threshold=0.99) == []
    with pytest.raises(InputError):
        axes.search("ann", "q", threshold=2)


def test_the_raw_cosine_stays_what_it_is_beside_the_fused_score(axes: RecordStore) -> None:
    hits = {hit.record["text"]: hit for hit in axes.search("ann", "q Zanzibar")}

    assert hits["close"].cosine == pytest.approx(0.8)
    assert hits["far from Zanzibar"].cosine == pytest.approx(0.0)
    assert hits["far from Zanzibar"].keyword == 1
    assert hits["close"].score != hits["close"].cosine


def test_a_rare_name_that_both_hold_passes_any_threshold(axes: RecordStore) -> None:
    (hit,) = [h for h in axes.search("ann", "q Zanzibar", threshold=0.99) if h.record["text"] != "close"]

    assert (hit.record["text"], hit.marks) == ("far from Zanzibar", ("zanzibar",))


def test_a_name_that_many_memories_hold_passes_nothing(embedded: Make) -> None:
    memories = embedded(Scripted())
    memories.store_many("ann", [{"text": f"We met Zanzibar {word}"} for word in ("ab", "cd", "ef", "gh")])

    assert found(memories, "What of Zanzibar?", threshold=0.99) == []


def test_a_threshold_looks_past_the_first_hits(embedded: Make) -> None:
    """Many memories fit by their words alone; the one that is near in meaning is behind them."""
    vectors = {f"alpha beta {n:02}": [0.0, 1.0, 0, 0] for n in range(40)}
    model = Scripted(dimension=4, near=[1.0, 0, 0, 0], **vectors, **{"alpha beta": [1.0, 0, 0, 0]})
    memories = embedded(model)
    memories.store_many("ann", [{"text": text} for text in [*vectors, "near"]])

    assert found(memories, "alpha beta", limit=2, threshold=0.9) == ["near"]


def test_nothing_is_found_by_nothing(memories: RecordStore) -> None:
    assert found(memories, "anything") == []
    put(memories, "a fact")
    assert found(memories, " ") == []


def test_a_query_that_cannot_be_embedded_is_an_error(embedded: Make) -> None:
    model = Scripted()
    memories = embedded(model)
    put(memories, "a")
    model.fails = True

    with pytest.raises(EmbeddingError):
        memories.search("ann", "b")


def test_what_another_process_writes_is_found_at_once_and_only_that_is_read(opening: Open, clock: Hand) -> None:
    class Counting(event_log.StoreAdapter):
        read = 0

        def batch(self, ops: Any) -> Any:
            done = super().batch(ops)
            self.read += sum(len(r) if isinstance(r, list) else r is not None for r in done)
            return done

    encoder = Encoder(HashEmbeddings())
    reader, writer = (RecordStore(opening(), encoder, clock) for _ in range(2))
    writer.store_many("ann", [{"text": f"Old number {n}."} for n in range(50)])
    reader._adapter = port = Counting(reader._adapter.store)
    assert len(found(reader, "number", limit=60)) == 50

    writer.store("ann", "A new word: kumquat.")
    port.read = 0

    assert found(reader, "kumquat", limit=1) == ["A new word: kumquat."]
    assert port.read <= 4, "the writer's name, its slot, and the event"


def test_who_was_away_for_longer_than_the_ring_reads_everything_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "RING", 4)
    one, other = make(), make()
    put(one, "first")
    assert texts(other) == ["first"]

    for number in range(11):
        put(one, f"n{number}")
        if number % 3 == 0:
            assert len(texts(other)) == 2 + number

    assert len(texts(other)) == len(texts(make())) == 12


# --- forgetting ------------------------------------------------------------------------------------------------------


def test_what_is_forgotten_is_gone_for_everybody_at_once(make: Make) -> None:
    one, other = make(), make()
    id, kept = put(one, "The PIN is 4821."), put(one, "The cat is grey.")
    other.count_use("ann", [id])
    assert other.flush(5)
    assert found(other, "PIN", limit=1) == ["The PIN is 4821."]

    assert one.delete("ann", [id, id, "m0"]) == [id]

    for memories in (one, other, make()):
        assert memories.get("ann", id) is None
        assert texts(memories) == ["The cat is grey."]
        assert found(memories, "PIN 4821", threshold=0.99) == []
    assert one.delete("ann", [id]) == []
    assert kept


def test_what_is_forgotten_can_be_said_again(make: Make) -> None:
    memories = make()
    id = put(memories, "fact")
    memories.delete("ann", [id])

    again = memories.store("ann", "fact")

    assert again.is_new
    assert again.record["id"] != id
    assert texts(make()) == ["fact"]


def test_a_scope_is_forgotten_with_what_was_superseded_and_expired_and_nothing_else(make: Make, clock: Hand) -> None:
    memories = make()
    old = put(memories, "p-old", project="p")
    memories.supersede("ann", old, "p-new")
    put(memories, "p-over", project="p", expires_at=clock.now + DAY)
    put(memories, "p-story", project="p", type="episodic")
    put(memories, "no project")
    put(memories, "bob's", user="bob", project="p")
    clock.pass_by(2 * DAY)

    assert len(memories.delete_all("ann", "p", "semantic")) == 3
    assert sorted(texts(make(), replaced=True)) == ["no project", "p-story"]
    assert len(memories.delete_all("ann", type="episodic")) == 1
    assert len(memories.delete_all("ann", project="")) == 1
    assert memories.delete_all("ann") == []
    assert texts(make(), "bob") == ["bob's"]


def test_what_was_drawn_from_a_memory_is_forgotten_with_it(make: Make) -> None:
    memories = make()
    a, b = put(memories, "part a"), put(memories, "part b")
    whole = memories.consolidate("ann", [a, b], "a and b")["id"]
    insight = put(memories, "ann likes parts", type="reflective", evidence=[whole])
    upon = put(memories, "ann is a mechanic", type="reflective", evidence=[insight])

    assert set(memories.delete("ann", [a])) == {a, whole, insight, upon}
    assert texts(make()) == ["part b"], "what is left of a consolidation is current again"


def test_a_consolidation_is_forgotten_with_its_parts(make: Make) -> None:
    memories = make()
    ids = [put(memories, f"part {n}") for n in range(3)]
    inner = memories.consolidate("ann", ids[:2], "0 and 1")["id"]
    outer = memories.consolidate("ann", [inner, ids[2]], "all three")["id"]

    assert set(memories.delete("ann", [outer])) == {*ids, inner, outer}
    assert texts(make(), replaced=True) == []


def test_the_old_value_does_not_come_back_when_the_new_one_is_forgotten(make: Make) -> None:
    memories = make()
    old = put(memories, "Paris")
    new = memories.supersede("ann", old, "Rome")["id"]

    assert memories.delete("ann", [new]) == [new]

    assert texts(make()) == texts(memories) == []
    assert texts(make(), replaced=True) == ["Paris"]


def test_an_event_of_somebody_who_had_not_heard_of_it_is_erased(opening: Open, clock: Hand) -> None:
    encoder = Encoder(HashEmbeddings())
    one, late = (RecordStore(opening(), encoder, clock) for _ in range(2))
    id = one.store("ann", "secret").record["id"]
    late.list("ann")
    one.delete("ann", [id])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agentic_memory_bank.tools.memories.user_memories.UserMemories._refresh", lambda self: None)
        late.update("ann", id, "late canary")

    assert texts(one) == texts(late) == texts(RecordStore(opening(), encoder, clock)) == []
    left = opening().search((ROOT, user_hash("ann"), "events"), limit=100)
    assert [item.key for item in left] == [f"{id}.gone"]
    assert set(left[0].value) == {"v", "op", "id", "at", "user"}


@pytest.mark.parametrize("scope", ["all", "project", "one by one"])
def test_no_byte_of_what_is_forgotten_stays_in_the_files(embedded: Make, tmp_path: Path, scope: str) -> None:
    memories, other = embedded(), embedded()
    quote: Any = {"conversation": "canary-conversation", "turns": ["canary-turn"], "quotes": ["canary-quote"]}
    drafts: list[Any] = [{"text": f"harmless {n} " + "word " * (n % 90), "project": "q"} for n in range(100)]
    drafts += [{"text": f"canary {n} " + "text " * (n % 70), "project": "canary-p", "source": quote} for n in range(60)]
    ids = [stored.record["id"] for stored in memories.store_many("ann", drafts)][100:]
    for id in ids[::3]:
        memories.update("ann", id, f"canary revised {id}", source=quote)
    for id in ids[1::3]:
        other.supersede("ann", id, f"canary superseding {id}", attribute="canary-attribute")
    whole = other.consolidate("ann", ids[:2], "canary consolidation")
    put(memories, "canary insight", type="reflective", evidence=[whole["id"]])
    memories.count_use("ann", ids)
    assert memories.flush(5)

    if scope == "all":
        memories.delete_all("ann")
    elif scope == "project":
        memories.delete_all("ann", "canary-p")
    else:
        for record in [r for r in known(memories).index.records.values() if "canary" in r["text"]]:
            other.delete("ann", [record["id"]])

    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"canary" not in written
    assert (b"harmless" in written) == (scope != "all")


# --- time --------------------------------------------------------------------------------------------------------


def test_a_memory_whose_time_is_over_is_not_shown_and_then_swept(make: Make, clock: Hand) -> None:
    memories = make()
    id = put(memories, "The meeting is at ten.", expires_at=clock.now + DAY)
    put(memories, "stays")
    assert found(memories, "meeting", limit=1) == ["The meeting is at ten."]

    clock.pass_by(DAY)

    assert memories.get("ann", id) is None
    assert found(memories, "meeting") == texts(memories) == ["stays"]
    with pytest.raises(UnknownMemoryError):
        memories.update("ann", id, "at eleven")
    assert memories.store("ann", "The meeting is at ten.").is_new, "what is over does not stand for what is said again"
    assert memories.maintain()["expired"] == 1
    assert sorted(texts(make())) == ["The meeting is at ten.", "stays"]


def test_uses_of_all_processes_are_counted_together(make: Make, clock: Hand) -> None:
    one, other = make(), make()
    id = put(one, "used")
    one.count_use("ann", [id])
    clock.pass_by(DAY)
    other.count_use("ann", [id, id, "m0"])
    one.count_use("ann", [id])
    assert one.flush(5)
    assert other.flush(5)

    record = make().get("ann", id)
    assert record is not None
    assert (record["access_count"], record["used_at"]) == (3, "2026-01-02T00:00:00.000000Z")
    assert one.get("ann", id) == other.get("ann", id) == record


def test_the_use_of_what_another_process_stored_since_is_counted(make: Make) -> None:
    one, other = make(), make()
    put(one, "read before")
    assert texts(other) == ["read before"]
    id = put(one, "stored since")

    other.count_use("ann", [id])

    assert other.flush(5)
    record = make().get("ann", id)
    assert record is not None
    assert record["access_count"] == 1


def test_a_use_is_counted_though_a_call_of_another_thread_fails_and_leaves_no_index(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = make(), make()
    put(one, "read before")
    assert texts(other) == ["read before"]
    id = put(one, "stored since")
    opened = UserMemories.opened

    @contextmanager
    def then_fails(memories: UserMemories) -> Iterator[None]:
        with opened(memories):
            yield
        memories.index = RecordIndex("ann", "")
        memories._is_begun = False

    monkeypatch.setattr(UserMemories, "opened", then_fails)
    other.count_use("ann", [id])
    assert other.flush(5)

    record = make().get("ann", id)
    assert record is not None
    assert record["access_count"] == 1


def test_retention_falls_with_age_and_is_raised_by_use() -> None:
    record: Any = {"created_at": "2026-01-01T00:00:00.000000Z", "used_at": None, "access_count": 0}
    start = datetime(2026, 1, 1, tzinfo=UTC)

    assert retention(record, start) == 1
    assert retention(record, start - DAY) == 1
    assert retention(record, start + 30 * DAY) == pytest.approx(0.36788, abs=1e-5)
    assert retention({**record, "access_count": 30}, start + 30 * DAY) == pytest.approx(0.60653, abs=1e-5)
    used: Any = {**record, "used_at": "2026-01-31T00:00:00.000000Z"}
    assert retention(used, start + 30 * DAY) == 1


def test_uses_are_written_together_and_none_is_lost_while_the_store_is_down(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = make()
    ids = [put(memories, f"n{number}") for number in range(3)]
    written, write = list[int](), event_log.EventLog.write

    def down(*_: object) -> None:
        raise StorageError("down")

    monkeypatch.setattr(event_log.EventLog, "write", down)
    memories.count_use("ann", ids)
    assert not memories.flush(5)

    def counted(log: event_log.EventLog, keyed: Any, at: str) -> None:
        written.append(len(keyed))
        write(log, keyed, at)

    monkeypatch.setattr(event_log.EventLog, "write", counted)
    for _ in range(3):
        memories.count_use("ann", ids)
    assert memories.flush(5)

    assert written == [3]
    assert {record["access_count"] for record in make().list("ann").records} == {4}


def test_no_use_is_written_of_what_was_forgotten_meanwhile(make: Make) -> None:
    memories = make()
    id = put(memories, "secret")
    memories.count_use("ann", [id])
    assert memories.flush(5)
    memories.count_use("ann", [id])
    make().delete("ann", [id])
    assert memories.flush(5)

    kept = memories._adapter.everything((ROOT, user_hash("ann"), "events"))
    assert list(kept) == [f"{id}.gone"]


def test_the_store_is_not_asked_for_uses_that_this_process_has_written(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories, other = make(), make()
    ids = [put(memories, f"n{number}") for number in range(3)]
    assert len(texts(memories)) == 3
    memories.count_use("ann", ids)
    assert memories.flush(5)
    asked, get = list[Sequence[str]](), StoreAdapter.get

    def counted(adapter: StoreAdapter, namespace: tuple[str, ...], keys: Sequence[str]) -> Any:
        asked.append([key for key in keys if ".use" in key or namespace[-1] == "slots"])
        return get(adapter, namespace, keys)

    monkeypatch.setattr(StoreAdapter, "get", counted)
    assert [record["access_count"] for record in memories.list("ann").records] == [1, 1, 1]
    assert not any(asked)
    other.count_use("ann", ids[:1])
    assert other.flush(5)
    assert sorted(record["access_count"] for record in memories.list("ann").records) == [1, 1, 2]


def test_a_use_that_is_written_while_its_memory_is_erased_does_not_come_back(make: Make) -> None:
    memories = make()
    id = put(memories, "secret")
    with memories._users.opened(user_hash("ann")) as user:
        user.uses.note([id], user.now())
        user.uses.write(lambda ids: ids)  # as the thread that writes them does meanwhile
        user.delete([id])

    changes = user.log.changes()

    assert dict(changes.events) == {user.uses.key_of(id): None}


def test_what_a_process_has_counted_is_there_after_its_normal_end(tmp_path: Path) -> None:
    place = tmp_path / "m.sqlite"
    subprocess.run([sys.executable, "-c", _COUNTING, str(place)], check=True, timeout=60)

    (record,) = RecordStore(SqliteRecordStore(place), Encoder(HashEmbeddings(16))).list("ann").records
    assert record["access_count"] == 1


_COUNTING = """
import sys
from pathlib import Path
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.index import RecordIndex
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.state.records import RecordFilter
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore
memories = RecordStore(SqliteRecordStore(Path(sys.argv[1])), Encoder(HashEmbeddings(16)))
memories.count_use("ann", [memories.store("ann", "used").record["id"]])
"""


def test_what_is_retained_too_little_is_pruned(make: Make, clock: Hand) -> None:
    memories = make()
    used, unused = put(memories, "used"), put(memories, "unused")
    for _ in range(10):
        memories.count_use("ann", [used])
    assert memories.flush(5)
    clock.pass_by(69 * DAY)
    assert pruned(memories) == []

    clock.pass_by(DAY)

    assert pruned(memories) == [unused]
    assert texts(make()) == ["used"]


def test_pruning_leaves_what_was_drawn_from_the_pruned(make: Make, clock: Hand) -> None:
    memories = make()
    a, b = put(memories, "a1"), put(memories, "b1")
    clock.pass_by(60 * DAY)
    memories.consolidate("ann", [a, b], "a1 and b1")
    clock.pass_by(20 * DAY)

    assert set(pruned(memories)) == {a, b}
    assert texts(make()) == ["a1 and b1"]


def test_a_quota_lets_the_least_retained_go_first(make: Make, clock: Hand) -> None:
    memories = make(quota=3)
    ids = []
    for number in range(3):
        ids.append(put(memories, f"n{number}"))
        clock.pass_by(DAY)
    memories.count_use("ann", [ids[0]])
    assert memories.flush(5)

    put(memories, "n3")
    put(memories, "bob's", user="bob")

    assert sorted(texts(make())) == ["n0", "n2", "n3"]
    with pytest.raises(InputError):
        make(quota=0)


def test_maintenance_does_all_users_and_drops_marks_and_writers_that_are_of_no_use(
    make: Make, opening: Open, clock: Hand
) -> None:
    memories = make(quota=2)
    for user in ("ann", "bob"):
        put(memories, "over", user, expires_at=clock.now + DAY)
        put(memories, "old", user, type="verbatim")
    clock.pass_by(100 * DAY)
    put(memories, "young", "ann")

    done = make(quota=2).maintain()

    assert done["expired"] + done["pruned"] == 3, "one of ann's had to make room before"
    assert (done["over_quota"], done["tombstones"], done["writers"]) == (0, 0, 1)
    assert (texts(make()), texts(make(), "bob")) == (["young"], [])
    clock.pass_by(31 * DAY)
    done = make().maintain()
    assert done["tombstones"] == 4
    assert texts(memories) == texts(make()) == ["young"]
    left = [item.value["op"] for item in opening().search((ROOT, user_hash("ann"), "events"), limit=100)]
    assert left == ["create"]


# --- embeddings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [Scripted("another"), Scripted("scripted", 16)], ids=["model", "dimension"])
def test_another_model_or_dimension_is_refused_until_the_vectors_are_made_anew(make: Make, other: Scripted) -> None:
    first = make(Scripted())
    id = put(first, "The shed is green.")
    changed = make(other)

    for call in (lambda: changed.search("ann", "shed"), lambda: changed.store("ann", "more")):
        with pytest.raises(EmbeddingError, match=REEMBED):
            call()
    assert texts(changed) == ["The shed is green."], "what is there can be seen, and forgotten"

    assert changed.reembed() == 1

    (hit,) = changed.search("ann", "The shed is green.")
    assert (hit.record["id"], hit.cosine) == (id, pytest.approx(1))
    assert make(other).reembed() == 0
    with pytest.raises(EmbeddingError, match=REEMBED):
        first.search("ann", "shed")


# --- a store that fails ------------------------------------------------------------------------------------------


class Flaky(InMemoryStore):
    """Fails when it is told to, before or after it has done what it was asked."""

    when: str | None = None

    def batch(self, ops: Any) -> Any:
        if self.when == "before":
            raise ConnectionError("gone")
        if self.when == "halfway":
            super().batch(list(ops)[:2])
            raise ConnectionError("gone")
        done = super().batch(ops)
        if self.when == "after" and any(isinstance(op, PutOp) for op in ops):
            raise ConnectionError("gone")
        return done


@pytest.mark.parametrize("when", ["before", "halfway", "after"])
def test_a_store_that_fails_is_an_error_of_ours_and_nothing_is_lost_when_it_is_back(when: str) -> None:
    store = Flaky()
    encoder = Encoder(HashEmbeddings())
    memories, other = RecordStore(store, encoder), RecordStore(store, encoder)
    put(memories, "before")
    assert texts(other) == ["before"]
    store.when = when

    with pytest.raises(StorageError, match="store of memories failed"):
        put(memories, "while it was down")

    store.when = None
    put(memories, "while it was down")
    put(memories, "after")
    for looking in (memories, other, RecordStore(store, encoder)):
        assert sorted(texts(looking)) == ["after", "before", "while it was down"]


@pytest.mark.slow
def test_a_user_is_served_from_many_threads(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = make()
    monkeypatch.setattr(memories._users, "_most", 0)  # one index at a time
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(10):
                id = put(memories, f"fact {step} of {number}", user=f"u{number % 3}")
                memories.count_use(f"u{number % 3}", [id])
                memories.search(f"u{number % 3}", "fact")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert memories.flush(5)
    for user in range(3):
        records = make().list(f"u{user}", limit=100).records
        assert len(records) == 20
        assert {record["access_count"] for record in records} == {1}


# --- the fold --------------------------------------------------------------------------------------------------------

IDS = st.sampled_from(["m1", "m2"])
TIMES = st.integers(0, 5).map(lambda n: f"2026-01-0{n + 1}T00:00:00.000000Z")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3), st.lists, max_leaves=4
)
EVENTS = st.one_of(
    st.builds(
        lambda id, at, text, replaces, how: events.create(
            id, at, {"text": text, "type": "semantic", "project": '""', "replaces": replaces, "how": how}
        ),
        IDS,
        TIMES,
        st.text(max_size=2),
        st.lists(IDS, max_size=2),
        st.sampled_from(["supersede", "consolidate"]),
    ),
    st.builds(lambda id, at, text: events.revise(id, at, text, {}), IDS, TIMES, st.text(max_size=2)),
    st.builds(events.replace, IDS, TIMES, IDS, st.sampled_from(["supersede", "consolidate"])),
    st.builds(events.use, IDS, TIMES, st.sampled_from("ab"), st.integers(0, 3)),
    st.builds(events.contradict, IDS, IDS, TIMES),
    st.builds(events.forget, IDS, TIMES),
    st.builds(events.see, IDS, TIMES, st.none(), st.floats(0, 1)),
    st.dictionaries(st.sampled_from(["op", "id", "at", "text", "count", "replaces", "other", "trust"]), JSON),
    st.fixed_dictionaries(
        {"op": st.sampled_from(["create", "revise", "see", "use", "replace", "contradict"]), "id": IDS, "at": TIMES},
        optional={
            name: JSON for name in ("text", "type", "project", "sources", "source", "trust", "count", "replaces")
        },
    ),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(EVENTS, max_size=8), st.randoms())
def test_events_fold_to_the_same_whatever_they_are_and_in_whatever_order_they_come(history: Any, chance: Any) -> None:
    begun = events.create("m1", "2026-01-02T00:00:00.000000Z", {"text": "", "type": "semantic", "project": '""'})
    keyed = [(f"k{number}", event) for number, event in enumerate([begun, *history])]
    folded = fold_record("m1", dict(keyed))
    chance.shuffle(keyed)

    assert fold_record("m1", dict(keyed)) == folded
    if any(e.get("op") == "forget" and e.get("id") == "m1" and e.get("at") for e in history):
        assert folded is None
    if folded is not None:
        assert folded["replaced_by"] != "m1"
        assert "m1" not in [*folded["replaces"], *folded["contradicts"]]


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=12), st.data())
def test_an_index_that_follows_event_by_event_holds_what_one_made_anew_holds(history: Any, data: Any) -> None:
    from agentic_memory_bank.tools.memories.index import RecordIndex

    following, anew = RecordIndex("o", "model", 2), RecordIndex("o", "model", 2)
    keyed = {f"k{number}": event for number, event in enumerate(history)}
    for key in data.draw(st.permutations(sorted(keyed))):
        following.apply({key: keyed[key]})
    gone = data.draw(st.sets(st.sampled_from(sorted(keyed)))) if keyed else set()
    following.apply(dict.fromkeys(gone))
    anew.apply({key: event for key, event in keyed.items() if key not in gone})

    assert following.records == anew.records
    assert following.deleted == anew.deleted
    assert following._idle == anew._idle
    assert dict(following._alike) == dict(anew._alike)
    assert {i for i in ["m1", "m2"] if following.is_current(i, "2026")} == {
        i for i in ["m1", "m2"] if anew.is_current(i, "2026")
    }
    assert sorted(following._index) == sorted(anew._index)


def test_what_is_said_twice_has_one_key_and_what_is_revised_twice_has_two() -> None:
    fields = {"text": "a", "type": "semantic", "project": '""'}
    early, late = "2026-01-01T00:00:00.000000Z", "2026-01-02T00:00:00.000000Z"

    assert event_key(events.create("m", early, fields)) == event_key(
        events.create("m", late, {**fields, "vector": "x"})
    )
    assert event_key(events.revise("m", early, "b", {})) != event_key(events.revise("m", late, "b", {}))
    assert event_key(events.contradict("a", "b", early)) == event_key(events.contradict("b", "a", late))


# --- the embedded store ----------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> SqliteRecordStore:
    return SqliteRecordStore(tmp_path / "home" / "m.sqlite")


def test_looking_makes_no_file_and_what_is_made_is_private(store: SqliteRecordStore) -> None:
    assert store.get(("a",), "k") is None
    assert store.search(("a",)) == store.list_namespaces() == []
    assert not store.path.parent.exists()

    store.put(("a",), "k", {"x": 1})

    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def test_the_default_store_is_in_the_home_of_all_that_is_kept(home: Path) -> None:
    assert default_store().address == str(home / "memories.sqlite")


def test_a_batch_that_fails_has_done_nothing(store: SqliteRecordStore) -> None:
    store.put(("a",), "k", {"x": 1})

    with pytest.raises(InputError, match="JSON"):
        store.batch([PutOp(("a",), "k", None), PutOp(("a",), "new", {"x": {1, 2}})])
    with sqlite3.connect(store.path) as database:
        database.execute(
            "CREATE TRIGGER t BEFORE INSERT ON items WHEN new.key = 'n' BEGIN SELECT RAISE(ABORT, 'x'); END"
        )
    database.close()
    with pytest.raises(StorageError):
        store.batch([PutOp(("a",), "k", None), PutOp(("a",), "n", {})])

    found = store.get(("a",), "k")
    assert found is not None
    assert found.value == {"x": 1}


def test_the_store_answers_as_langgraphs_own(store: SqliteRecordStore) -> None:
    own = InMemoryStore()
    for asked in (store, own):
        for place, key, value in [
            (("a",), "1", {"n": 1, "t": "x"}),
            (("a", "b"), "2", {"n": 2}),
            (("ab",), "3", {"n": 3, "t": "x"}),
            (("A",), "4", {"n": 4, "t": None}),
            (("a", "b", "c"), "5", {"n": 5, "t": ["x"]}),
        ]:
            asked.put(place, key, value)
        asked.put(("a",), "1", {"n": 10, "t": "x"})
        asked.put(("a",), "gone", {})
        asked.delete(("a",), "gone")
    searches = [
        SearchOp(prefix, filter=chosen, limit=50)
        for prefix in [(), ("a",), ("a", "b"), ("ab",), ("A",), ("x",)]
        for chosen in [
            None,
            {"t": "x"},
            {"n": {"$gt": 2}},
            {"n": {"$gte": 2, "$lt": 5}},
            {"t": {"$ne": "x"}},
            {"n": {"$eq": 2}},
        ]
    ]
    for search in searches:
        ours, theirs = (
            sorted((i.namespace, i.key, json.dumps(i.value)) for i in asked.batch([search])[0])
            for asked in (store, own)
        )
        assert ours == theirs, search
    conditions: list[tuple[MatchCondition, ...]] = [
        (),
        (MatchCondition("prefix", ("a",)),),
        (MatchCondition("prefix", ("a", "*")),),
        (MatchCondition("suffix", ("c",)),),
    ]
    for condition in conditions:
        for depth in (None, 1, 2):
            op = ListNamespacesOp(condition, max_depth=depth, limit=10)
            assert sorted(store.batch([op])[0]) == sorted(own.batch([op])[0])
    (item,) = store.batch([GetOp(("a",), "1")])
    assert item.value == {"n": 10, "t": "x"}
    assert item.created_at <= item.updated_at
    with pytest.raises(InputError, match=r"\$in"):
        store.search(("a",), filter={"n": {"$in": [1]}})


async def test_the_store_is_asked_from_async_code(store: SqliteRecordStore) -> None:
    await store.aput(("a",), "k", {"x": "é\ud800"})

    found = await store.aget(("a",), "k")
    assert found is not None
    assert found.value == {"x": "é\ud800"}
    assert len(await store.asearch(("a",))) == 1


@pytest.mark.parametrize("content", [b"", b"no database at all, but a text " * 200])
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "m.sqlite"
    place.write_bytes(content)

    with pytest.raises(StorageDamagedError):
        SqliteRecordStore(place).put(("a",), "k", {})

    assert place.read_bytes() == content


def test_a_foreign_database_and_a_newer_one_are_refused(tmp_path: Path, store: SqliteRecordStore) -> None:
    foreign = tmp_path / "foreign.sqlite"
    database = sqlite3.connect(foreign)
    database.execute("CREATE TABLE items (a)")
    database.close()
    with pytest.raises(StorageDamagedError, match="no store of memories"):
        SqliteRecordStore(foreign).get(("a",), "k")

    store.put(("a",), "k", {})
    store.close()
    database = sqlite3.connect(store.path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StorageDamagedError, match="newer version"):
        store.get(("a",), "k")


def test_a_name_that_cannot_be_kept_is_refused(store: SqliteRecordStore) -> None:
    for key in ("\0", "\ud800"):
        with pytest.raises(InputError):
            store.put(("a",), key, {})


def test_a_value_is_found_by_what_is_asked_of_the_one_it_has_taken_the_place_of() -> None:
    question, old, new = "Where do I live?", "I live in Berlin.", "I moved to Lisbon."
    near, far = [1.0] + [0.0] * 7, [0.0, 1.0] + [0.0] * 6
    encoder = Encoder(Scripted(**{question: near, old: near, new: far}))
    memories = RecordStore(InMemoryStore(), encoder)
    record = memories.supersede("ann", memories.store("ann", old).record["id"], new)

    (found,) = memories.search("ann", question, threshold=0.5)

    assert found.record["id"] == record["id"]
    assert found.cosine == pytest.approx(0.0, abs=1e-6), "its own, and not that of what it stands for"


def test_memories_that_were_stored_without_a_model_get_their_vectors_once_there_is_one() -> None:
    model = Scripted(question=[1.0] + [0.0] * 7, answer=[1.0] + [0.0] * 7)
    memories = RecordStore(InMemoryStore(), Encoder(model))
    model.fails = True
    memories.store("ann", "answer")
    model.fails = False
    assert memories.search("ann", "question", threshold=0.5) == []

    memories.store("ann", "something else")

    (found,) = memories.search("ann", "question", threshold=0.5)
    assert found.record["text"] == "answer"


def test_a_memory_that_is_used_and_embedded_anew_in_one_read_is_found_by_its_new_vector() -> None:
    index, asked = RecordIndex("o", "model", 2), np.array([0.0, 1.0], np.float32)
    fields = {"text": "I live in Rome.", "type": "semantic", "project": '""', "model": "model"}
    said: Any = events.create("m1", "2026-01-01T00:00:00.000000Z", fields)
    index.apply({"k1": {**said, "vector": encode_vector(np.array([1.0, 0.0], np.float32))}})

    used = events.use("m1", "2026-01-02T00:00:00.000000Z", "w", 1)
    index.apply({"k1": {**said, "vector": encode_vector(asked)}, "k2": used})

    (hit,) = index.search("?", asked, RecordFilter(), "2026", limit=1, threshold=None, alpha=0.0)
    assert hit.cosine > 0.9
    assert hit.record["access_count"] == 1
