"""LangGraph's store on Postgres, opened at its first use by the address of a database, and closed with its process."""

import asyncio
import atexit
import os
import threading
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final, cast

from langgraph.store.base import BaseStore, Op, Result

from agentic_memory_bank.state.errors import SettingsError

MOST_CONNECTIONS: Final = 8
"""Of one process: each holds one for the time of one statement."""
PATIENCE: Final = 5.0
"""Seconds that a connection is waited for."""
DATABASE_URL: Final = "MEMORY_BANK_DATABASE_URL"
"""The variable that names the database."""


class PostgresRecordStore(BaseStore):
    """A `PostgresStore` without vectors and without TTL; safe across threads, processes and a fork.

    Tables are made by the first use. A database that was restarted is connected to anew.

    Args:
        url: As libpq understands it, such as `postgresql://user:password@host/database`.

    Raises:
        SettingsError: LangGraph's Postgres store is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            self._store_class = import_module("langgraph.store.postgres").PostgresStore
            self._pool_class = import_module("psycopg_pool").ConnectionPool
            self._rows = import_module("psycopg.rows").dict_row
        except ImportError:
            raise SettingsError(
                f"{DATABASE_URL} names a Postgres database, but what reads one is not installed. "
                'Run: pip install "agentic-memory-bank[postgres]"'
            ) from None
        self.address = url
        """The database: two stores of one address hold the same."""
        self._lock = threading.Lock()
        self._opened: tuple[int, Any, BaseStore] | None = None
        """The process, its connections, and the store on them."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `PostgresStore.batch` does.

        Raises:
            psycopg.Error: The database cannot be reached, or fails.
        """
        return self._store().batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does, on a thread of its own. Raises as `batch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None and opened[0] == os.getpid():
            atexit.unregister(self.close)
            opened[1].close()

    def _store(self) -> BaseStore:
        with self._lock:
            if self._opened is None or self._opened[0] != os.getpid():  # connections are not shared with a fork
                pool = self._pool_class(
                    self.address,
                    min_size=1,
                    max_size=MOST_CONNECTIONS,
                    timeout=PATIENCE,
                    check=self._pool_class.check_connection,
                    open=True,
                    kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": self._rows},
                )
                try:
                    store = self._store_class(pool)
                    store.setup()
                except BaseException:
                    pool.close()
                    raise
                self._opened = (os.getpid(), pool, cast(BaseStore, store))
                atexit.register(self.close)
            return self._opened[2]
