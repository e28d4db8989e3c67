"""LangGraph's store on Postgres, opened at its first use by the address of a database, and closed with its process."""

import asyncio
from collections.abc import Iterable
from importlib import import_module
from typing import Any, cast

from langgraph.store.base import BaseStore, Op, Result

from agentic_memory_bank.tools.storage.postgres import Connections, not_installed


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
            rows = import_module("psycopg.rows").dict_row
            kwargs = {"autocommit": True, "prepare_threshold": 0, "row_factory": rows}
            self._ended = import_module("psycopg").OperationalError
            self._busy = import_module("psycopg_pool").PoolTimeout
            self._opened = Connections(url, self._made, check=None, kwargs=kwargs)
        except ImportError:
            raise not_installed() from None
        self.address = url
        """The database: two stores of one address hold the same."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `PostgresStore.batch` does; where the database has ended the connection, once more on a new one.

        To ask first whether a connection still serves would be as much again as most batches are. What is done twice
        comes to the same.

        Raises:
            psycopg.Error: The database cannot be reached, or fails.
        """
        wanted = list(ops)
        try:
            return self._opened.get().batch(wanted)
        except self._busy:  # which is an `OperationalError`, too
            raise
        except self._ended:
            self._opened.renew()
            return self._opened.get().batch(wanted)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does, on a thread of its own. Raises as `batch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        self._opened.close()

    def _made(self, pool: Any) -> BaseStore:
        store = self._store_class(pool)
        store.setup()
        return cast(BaseStore, store)
