"""Finds the memories a graph works on: those of the store it was built with, of the server's store, or of the file."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore

from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.store_adapter import check_store, underneath
from agentic_memory_bank.tools.storage.disk import default_home
from agentic_memory_bank.tools.storage.postgres import DATABASE_URL
from agentic_memory_bank.tools.storage.postgres_store import PostgresRecordStore
from agentic_memory_bank.tools.storage.sqlite_store import FILE, SqliteRecordStore

DefaultStore = SqliteRecordStore | PostgresRecordStore
CLOSE_SECONDS: Final = 2.0
"""How long closing waits for what is to be written."""
MOST: Final = 16
"""Of how many stores the indexes are kept."""


def default_store(folder: Path | None = None) -> DefaultStore:
    """The store of memories that is used where nobody brings one.

    Args:
        folder: The home of all that is kept. Default: the database of `MEMORY_BANK_DATABASE_URL`, or else
            `MEMORY_BANK_HOME`, or the user's state folder.

    Raises:
        SettingsError: There is no folder for it, or what reads a database is not installed.
    """
    url = os.environ.get(DATABASE_URL)
    return PostgresRecordStore(url) if url and folder is None else SqliteRecordStore((folder or default_home()) / FILE)


class RecordStores:
    """One `RecordStore` for each store that memories are kept in, so that each keeps its index.

    Args:
        store: Where memories are kept, whatever a server brings. Default: the server's store, or else the file.
        home: Folder of the file. Default: as `default_store` says.
    """

    def __init__(
        self,
        store: BaseStore | None,
        encoder: Encoder,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        home: Path | None = None,
    ) -> None:
        check_store(store)
        self._given, self._home = store, home
        self.encoder, self._clock = encoder, clock
        self._records: LruCache[int, RecordStore] = LruCache(MOST)
        self._file: DefaultStore | None = None
        self._lock = threading.Lock()

    def of(self, server: BaseStore | None = None, settings: Settings | None = None) -> RecordStore:
        """The memories of the store that is to be used.

        Args:
            server: The store that the runtime brings, if it does.
            settings: The quota and the weights, for a store that was not met before.

        Raises:
            SettingsError: There is no folder for the file.
        """
        with self._lock:
            store = underneath(self._given or server or self._own())

        def make() -> RecordStore:
            own = settings or Settings.of(None)
            return RecordStore(store, self.encoder, self._clock, settings=own, quota=own.memory_quota)

        return self._records.get(id(store), make)  # it holds its store, so that no other has the same id

    def close(self) -> None:
        """Write what is to be written later, and close the file if it was opened here; the next call opens it again."""
        for records in self._records.values():
            records.flush(CLOSE_SECONDS)
        with self._lock:
            if self._file is not None:
                self._file.close()

    def _own(self) -> BaseStore:
        store = default_store(self._home)
        if self._file is None or self._file.address != store.address:  # whoever shares this may have moved since
            self._file = store
        return self._file


def stores_for(
    store: BaseStore | None, embeddings: Embeddings | None, clock: Callable[[], datetime], usual: Callable[[], datetime]
) -> RecordStores:
    """The stores of a graph; all graphs that are built with nothing of their own share one index of each user."""
    if store is None and embeddings is None and clock is usual:
        named = None
        with suppress(SettingsError):  # which an invocation tells
            named = Settings.of(None).embeddings
        return _shared(usual, named)
    return RecordStores(store, Encoder(embeddings), clock)


@cache
def _shared(clock: Callable[[], datetime], embeddings: str | None) -> RecordStores:
    """The stores of graphs that were built with nothing of their own while the settings named these embeddings."""
    return RecordStores(None, Encoder(), clock)
