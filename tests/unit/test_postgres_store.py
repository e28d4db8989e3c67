"""Memories are kept in the Postgres database that the environment names, and in no file."""

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank import Memories
from agentic_memory_bank.runs import server
from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import default_store
from agentic_memory_bank.tools.storage import postgres_store
from agentic_memory_bank.tools.storage.postgres_store import PostgresRecordStore
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore


@pytest.fixture
def database(on_postgres: Any, postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a database without memories, which the environment names."""
    with on_postgres():
        monkeypatch.setenv("MEMORY_BANK_DATABASE_URL", postgres)
        yield postgres


def remembered(text: str) -> str:
    with Memories(embeddings=HashEmbeddings()) as memories:
        return memories.store(text, user="ana")["id"]


def test_what_one_process_stores_in_the_database_another_finds_there(database: str, home: Path) -> None:
    id = remembered("Ana lives in Lisbon.")

    with Memories(embeddings=HashEmbeddings()) as memories:
        found = memories.list(user="ana").records

    assert [(record["id"], record["text"]) for record in found] == [(id, "Ana lives in Lisbon.")]
    assert not (home / "memories.sqlite").exists()


def test_maintenance_keeps_the_database_and_the_pages_of_the_home_in_order(database: str) -> None:
    remembered("Ana lives in Lisbon.")

    with Memories(embeddings=HashEmbeddings()) as memories:
        done = memories.maintain()

        assert done["pages"] == 0
        assert len(memories.list(user="ana").records) == 1


def test_a_folder_that_is_named_is_used_in_place_of_the_database(database: str, tmp_path: Path) -> None:
    assert isinstance(default_store(tmp_path), SqliteRecordStore)


def test_connections_that_the_database_has_ended_are_made_anew(database: str) -> None:
    with Memories(embeddings=HashEmbeddings()) as memories:
        memories.store("Ana lives in Lisbon.", user="ana")
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        with importlib.import_module("psycopg").connect(database, autocommit=True) as connection:
            connection.execute(others)

        memories.store("Ana has a dog.", user="ana")

        assert len(memories.list(user="ana").records) == 2


def test_a_database_that_cannot_be_reached_is_not_waited_for_twice(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresRecordStore(database)
    store.put(("a",), "key", {"text": "kept"})
    pools, asked = importlib.import_module("psycopg_pool"), list[int]()

    def busy(*_: Any, **__: Any) -> Any:
        asked.append(1)
        raise pools.PoolTimeout("no connection")

    monkeypatch.setattr(pools.ConnectionPool, "connection", busy)

    with pytest.raises(pools.PoolTimeout):
        store.get(("a",), "key")
    assert len(asked) == 1
    store.close()


def test_a_store_that_was_closed_opens_again(database: str) -> None:
    store = PostgresRecordStore(database)
    store.put(("a",), "key", {"text": "kept"})
    store.close()

    item = store.get(("a",), "key")

    assert item is not None
    assert item.value == {"text": "kept"}
    store.close()


def test_a_fork_opens_connections_of_its_own(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pools = importlib.import_module("psycopg_pool")
    opened: list[Any] = []

    class Pool(pools.ConnectionPool):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            opened.append(self)

    monkeypatch.setattr(pools, "ConnectionPool", Pool)
    store = PostgresRecordStore(database)
    store.put(("a",), "key", {"text": "kept"})
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -1)
        store.put(("a",), "key", {"text": "changed"})
        store.close()

    assert [pool.closed for pool in opened] == [False, True]
    opened[0].close()


def test_a_server_in_a_container_keeps_memories_in_the_database(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_LANGGRAPH_API_VARIANT", "cloud")
    monkeypatch.delenv("MEMORY_BANK_HOME")

    assert isinstance(server.store.__wrapped__(), PostgresRecordStore)


def test_a_database_without_what_reads_it_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setenv("MEMORY_BANK_DATABASE_URL", "postgresql://nobody@127.0.0.1/none")
    monkeypatch.setattr(postgres_store, "import_module", missing)

    with pytest.raises(SettingsError, match=r"pip install \"agentic-memory-bank\[postgres\]\""):
        default_store()
