"""One schema of tables in a Postgres database, which any number of processes share, and locks by name beside it."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg

from agentic_memory_bank.state.errors import StorageError, StorageFullError, ThreadBusyError
from agentic_memory_bank.tools.storage.postgres import DATABASE_URL, PATIENCE, Connections

_FULL: Final = ("53100", "53200", "53300", "53400")
"""What Postgres reports when its disk, memory or connections are used up."""

NOTICED: Final = 500
"""Milliseconds in which a database notices that the process that held a name is gone."""


class PostgresSchema:
    """The tables of one schema; safe across threads, processes and a fork.

    A schema of its own, as LangGraph's server may have tables of the same names in the same database.

    Args:
        url: As libpq understands it, such as `postgresql://user:password@host/database`.
        name: What the schema is called.
        holds: What is in it, for messages, such as "runs".
        then: What the user does when the database is back, for messages.
        make: Makes the tables that are not there, on a connection in a transaction; one process at a time does.
    """

    def __init__(self, url: str, name: str, holds: str, then: str, make: Callable[[Any], object]) -> None:
        self._url, self._name, self._holds, self._then, self._make = url, name, holds, then, make
        options = {"autocommit": True, "prepare_threshold": 0}
        self._connections = Connections(url, self._prepared, configure=self._enter, kwargs=options)

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """Lend a connection that commits each statement by itself.

        Raises:
            StorageFullError: The database has no room.
            StorageError: It cannot be reached, or fails.
        """
        with self.explained():
            pool: Any = self._connections.get()
            with pool.connection() as lent:
                yield lent

    @contextmanager
    def lock(self, name: str, what: str) -> Iterator[Any]:
        """Hold a name by a connection of its own; the database frees it when the connection or the process ends.

        Who writes through this connection writes nothing once the lock is lost.

        Args:
            name: What is held; another schema may hold the same.
            what: What that is, for messages.

        Raises:
            ThreadBusyError: Another process, or another caller in this one, holds it.
            StorageError: As `connection`.
        """
        with self.connection():
            """The tables are there."""
        with self.explained():
            held = psycopg.connect(self._url, autocommit=True, prepare_threshold=0, connect_timeout=int(PATIENCE))
        try:
            with self.explained():
                self._enter(held)
                for option, value in (("idle", 30), ("interval", 10), ("count", 3)):  # of a machine that is cut off
                    held.execute(f"SET tcp_keepalives_{option} = {value}")  # type: ignore[arg-type]
                held.execute(f"SET lock_timeout = {NOTICED}")  # type: ignore[arg-type]
                self._lock(held, name, what)
                held.execute("RESET lock_timeout")
            yield held
        finally:
            with suppress(psycopg.Error):  # a database notices only later that a connection was closed
                held.execute("SELECT pg_advisory_unlock(%s)", (self._number(name),))
            held.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what Postgres reports into errors that say what to do. Raises as `connection`."""
        try:
            yield
        except psycopg.Error as error:
            is_full = getattr(error, "sqlstate", None) in _FULL
            told = (str(error).strip().splitlines() or [type(error).__name__])[0]
            kind, remedy = (
                (StorageFullError, "Give it room")
                if is_full
                else (StorageError, f"See that it runs and that {DATABASE_URL} names it")
            )
            said = f"The database of {self._holds} cannot be used ({told}). {remedy}, then {self._then}."
            raise kind(said) from error

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        self._connections.close()

    def _lock(self, held: Any, name: str, what: str) -> None:
        try:
            held.execute("SELECT pg_advisory_lock(%s)", (self._number(name),))
        except psycopg.errors.LockNotAvailable:
            raise ThreadBusyError(f"{what} is in use by another run. Wait for it to end, then try again.") from None

    def _number(self, name: str) -> int:
        """What a name is called among the locks of a database."""
        return int.from_bytes(hashlib.sha256(f"{self._name} {name}".encode()).digest()[:8], "big", signed=True)

    def _enter(self, connection: Any) -> None:
        connection.execute(f"SET search_path TO {self._name}")

    def _prepared(self, pool: Any) -> Any:
        with pool.connection() as database, database.transaction():
            database.execute("SELECT pg_advisory_xact_lock(%s)", (self._number(""),))
            database.execute(f"CREATE SCHEMA IF NOT EXISTS {self._name}")
            self._make(database)
        return pool
