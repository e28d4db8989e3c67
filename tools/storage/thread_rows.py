"""Rows of bytes of one thread in a Postgres database, by kind and key: what is files of its folder in a home."""

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from typing import Any, Final

SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS kept (thread TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, "
    "number BIGINT GENERATED ALWAYS AS IDENTITY, value BYTEA NOT NULL, PRIMARY KEY (thread, kind, key))"
)
"""The table of all threads."""

Row = tuple[str, str, bytes]
"""Its kind, its key, and what is kept."""


class ThreadRows:
    """The rows of one thread; each call is one transaction. Safe across threads and processes.

    Args:
        connect: Lends a psycopg connection that commits by itself, and explains what goes wrong.
        thread: Whose rows these are; none of another's is ever read.
    """

    def __init__(self, connect: Callable[[], AbstractContextManager[Any]], thread: str) -> None:
        self._connect, self._thread = connect, thread

    def exists(self) -> bool:
        """Ask whether the thread has any."""
        with self._connect() as database:
            found = database.execute("SELECT 1 FROM kept WHERE thread = %s LIMIT 1", (self._thread,))
            return found.fetchone() is not None

    def get(self, kind: str, keys: Collection[str]) -> dict[str, bytes]:
        """What is kept under some keys; one without a row is left out."""
        with self._connect() as database:
            found = database.execute(
                "SELECT key, value FROM kept WHERE thread = %s AND kind = %s AND key = ANY(%s)",
                (self._thread, kind, list(keys)),
            )
            return dict(found.fetchall())

    def all(self, kind: str) -> list[bytes]:
        """All that is kept of a kind, in the order in which it was put first."""
        with self._connect() as database:
            found = database.execute(
                "SELECT value FROM kept WHERE thread = %s AND kind = %s ORDER BY number", (self._thread, kind)
            )
            return [value for (value,) in found.fetchall()]

    def keys(self, kind: str) -> list[str]:
        """The keys of a kind."""
        with self._connect() as database:
            found = database.execute("SELECT key FROM kept WHERE thread = %s AND kind = %s", (self._thread, kind))
            return sorted(key for (key,) in found.fetchall())

    def put(self, rows: Iterable[Row]) -> None:
        """Write rows, all or none; one with the kind and key of another takes its place."""
        given = [(self._thread, *row) for row in rows]
        with self._connect() as database, database.transaction(), database.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO kept (thread, kind, key, value) VALUES (%s, %s, %s, %s) "
                "ON CONFLICT (thread, kind, key) DO UPDATE SET value = excluded.value",
                given,
            )

    def move(self, key: str, kind: str, to: str) -> None:
        """Make a row one of another kind."""
        with self._connect() as database:
            database.execute(
                "UPDATE kept SET kind = %s WHERE thread = %s AND kind = %s AND key = %s", (to, self._thread, kind, key)
            )

    def remove(self, kind: str, keys: Collection[str]) -> None:
        """Erase rows of a kind."""
        with self._connect() as database:
            database.execute(
                "DELETE FROM kept WHERE thread = %s AND kind = %s AND key = ANY(%s)", (self._thread, kind, list(keys))
            )
