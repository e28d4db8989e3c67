"""LangGraph's store on Postgres, opened at its first use by the address of a database, and closed with its process."""

import asyncio
from collections.abc import Iterable
from importlib import import_module
from typing import Any, cast

from langgraph.store.base import BaseStore, Op, Result

from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.tools.storage.postgres import DATABASE_URL, Connections


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
            self._opened = Connections(url, self._made, kwargs=kwargs)
        except ImportError:
            raise SettingsError(
                f"{DATABASE_URL} names a Postgres database, but what reads one is not installed. "
                'Run: pip install "agentic-memory-bank[postgres]"'
            ) from None
        self.address = url
        """The database: two stores of one address hold the same."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `PostgresStore.batch` does.

        Raises:
            psycopg.Error: The database cannot be reached, or fails.
        """
        return self._opened.get().batch(ops)

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
