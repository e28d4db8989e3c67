"""The stores of others that memories are tested on: PostgreSQL, and Milvus Lite."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore

Open = Callable[[], BaseStore]


@pytest.fixture
def on_postgres(postgres: str) -> Callable[[], AbstractContextManager[Open]]:
    """Opens stores on an empty table, each by a connection of its own."""
    return lambda: _on_postgres(postgres)


@contextmanager
def _on_postgres(url: str) -> Iterator[Open]:
    psycopg, rows = importlib.import_module("psycopg"), importlib.import_module("psycopg.rows")
    store_class = importlib.import_module("langgraph.store.postgres").PostgresStore
    opened: list[Any] = []

    def connect() -> BaseStore:
        made = psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=rows.dict_row)
        opened.append(made)
        store = store_class(made)
        store.setup()
        return store

    connect()
    opened[0].execute("TRUNCATE store")
    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def on_milvus_lite() -> Callable[[Path], AbstractContextManager[Open]]:
    """Opens stores on a folder, which they share: Milvus Lite serves one process."""
    pytest.importorskip(
        "milvus_lite", reason='Milvus Lite is not installed (pip install "agentic-memory-bank[milvus]")'
    )
    return _on_milvus_lite


@contextmanager
def _on_milvus_lite(folder: Path) -> Iterator[Open]:
    from agentic_memory_bank.tools.storage.milvus_store import MilvusRecordStore

    opened: list[MilvusRecordStore] = []

    def connect() -> BaseStore:
        opened.append(MilvusRecordStore(folder))
        return opened[-1]

    yield connect
    for store in opened:
        store.close()
