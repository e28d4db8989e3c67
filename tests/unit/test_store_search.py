"""`SqliteRecordStore` searches by meaning and lets items end, as LangGraph defines `index`, `query` and `ttl`."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from agentic_memory_bank.state.errors import EmbeddingError, InputError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

INDEX: Any = {"embed": HashEmbeddings(64), "dims": 64, "fields": ["text"]}
SPACE = ("ana", "notes")


class Now:
    """A clock that is put forward by hand."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 5, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def forward(self, minutes: float) -> None:
        self.moment += timedelta(minutes=minutes)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture
def store(place: Path) -> Iterator[SqliteRecordStore]:
    with closing(SqliteRecordStore(place, index=INDEX)) as opened:
        opened.put(SPACE, "mirror", {"text": "The mirror is wide.", "kind": "glass", "at": {"year": 2016}})
        opened.put(SPACE, "dome", {"text": "The dome was painted white.", "kind": "roof", "at": {"year": 2011}})
        yield opened


def keys(found: list[Any]) -> list[str]:
    return [item.key for item in found]


def test_the_nearest_item_comes_first_with_its_score(store: SqliteRecordStore) -> None:
    found = store.search(SPACE, query="who painted the dome white")

    assert keys(found) == ["dome", "mirror"]
    assert found[0].score is not None
    assert found[1].score is not None
    assert found[0].score > found[1].score


async def test_asynchronous_searches_find_the_same(store: SqliteRecordStore) -> None:
    await store.aput(SPACE, "key", {"text": "The key hangs behind the portrait."})

    assert keys(await store.asearch(SPACE, query="portrait key", limit=1)) == ["key"]


def test_a_filter_holds_beside_a_query_and_knows_dotted_paths(store: SqliteRecordStore) -> None:
    assert keys(store.search(SPACE, query="the dome", filter={"kind": "glass"})) == ["mirror"]
    assert keys(store.search(SPACE, filter={"at.year": {"$gte": 2015}})) == ["mirror"]
    assert store.search(SPACE, filter={"at.year.month": 1}) == []


def test_what_is_put_without_an_index_comes_last_and_has_no_score(store: SqliteRecordStore) -> None:
    store.put(SPACE, "plain", {"text": "The dome was painted white."}, index=False)

    found = store.search(SPACE, query="the dome was painted white")

    assert keys(found) == ["dome", "mirror", "plain"]
    assert found[-1].score is None


def test_a_changed_item_is_found_by_what_it_says_now(store: SqliteRecordStore) -> None:
    store.put(SPACE, "mirror", {"text": "The dome was painted white and blue by Ottilie."})

    assert keys(store.search(SPACE, query="Ottilie painted blue", limit=1)) == ["mirror"]


def test_vectors_go_with_their_items_whoever_deletes_them(store: SqliteRecordStore, place: Path) -> None:
    with closing(SqliteRecordStore(place)) as other:
        other.delete(SPACE, "dome")
        other.put(SPACE, "mirror", {"text": "Nothing."})

    with closing(sqlite3.connect(place)) as database:
        assert database.execute("SELECT count(*) FROM vectors").fetchone() == (0,)


def test_of_two_writes_to_one_key_the_last_has_the_vector(store: SqliteRecordStore) -> None:
    texts = ("The harbour is closed.", "The lighthouse is lit.")

    store.batch([PutOp(SPACE, "sea", {"text": text}) for text in texts])

    assert keys(store.search(SPACE, query="lighthouse is lit", limit=1)) == ["sea"]
    assert store.search(SPACE, query="harbour closed", limit=1)[0].score != pytest.approx(1.0)


def test_a_query_without_an_index_is_refused_and_not_ignored(place: Path) -> None:
    with closing(SqliteRecordStore(place)) as store, pytest.raises(InputError, match="Open it with `index`"):
        store.search(SPACE, query="the dome")


def test_vectors_of_another_dimension_than_was_said_are_refused(place: Path) -> None:
    with closing(SqliteRecordStore(place, index={**INDEX, "dims": 3})) as store:
        with pytest.raises(EmbeddingError, match="64 dimensions"):
            store.put(SPACE, "dome", {"text": "The dome."})
        assert store.get(SPACE, "dome") is None


# --- how long items live -----------------------------------------------------------------------------------------


def test_items_end_when_they_are_swept_and_reading_lets_them_live_on(place: Path) -> None:
    now = Now()
    with closing(SqliteRecordStore(place, now, ttl={"default_ttl": 10})) as store:
        store.put(SPACE, "read", {"n": 1})
        store.put(SPACE, "left", {"n": 2})
        store.put(SPACE, "kept", {"n": 3}, ttl=None)
        now.forward(6)
        store.get(SPACE, "read")
        now.forward(6)

        assert store.sweep_ttl() == 1
        assert sorted(keys(store.search(SPACE))) == ["kept", "read"]


def test_reading_changes_nothing_where_the_store_is_told_so(place: Path) -> None:
    now = Now()
    with closing(SqliteRecordStore(place, now, ttl={"default_ttl": 10, "refresh_on_read": False})) as store:
        store.put(SPACE, "left", {"n": 2})
        now.forward(6)
        store.get(SPACE, "left")
        now.forward(6)

        assert store.sweep_ttl() == 1


def test_what_has_ended_can_be_left_out_before_it_is_swept(place: Path) -> None:
    now = Now()
    with closing(SqliteRecordStore(place, now, ttl={"omit_expired": True})) as store:
        store.put(SPACE, "short", {"n": 1}, ttl=1)
        store.put(("ana", "other"), "long", {"n": 2}, ttl=60)
        now.forward(2)

        assert store.get(SPACE, "short") is None
        assert keys(store.search(("ana",))) == ["long"]
        assert store.list_namespaces() == [("ana", "other")]


def test_what_is_swept_leaves_no_byte(place: Path) -> None:
    now = Now()
    with closing(SqliteRecordStore(place, now, index=INDEX)) as store:
        store.put(SPACE, "secret", {"text": "Kolibri"}, ttl=1)
        now.forward(2)
        store.sweep_ttl()

    assert not any(b"Kolibri" in file.read_bytes() for file in place.parent.iterdir() if file.is_file())
