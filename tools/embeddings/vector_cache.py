"""Keeps embedding vectors in one private SQLite file: derived data, which may be lost at any time and made again."""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from agentic_memory_bank.tools.storage.database_form import Connection, sealed
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows

Result = TypeVar("Result")

_LOG = logging.getLogger(__name__)
_LOOKUP = 500  # SQLite takes at least 999 parameters in one statement
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}  # SQLITE_ERROR: the table is another's


class VectorCache:
    """Vectors by key, in a file with mode 0600 that only ever holds what can be computed again.

    So no fault of the file stops a caller: a damaged file is set aside as `<name>.damaged` and begun anew; when the
    disk is full, read-only or locked for long, the cache goes silent after one warning in the log. Safe across
    threads, and across a fork (the child opens its own connection).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._inherited: list[sqlite3.Connection] = []
        self._off = False

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors that are there, as they were put; one that is damaged is not there."""

        def look_up(connection: sqlite3.Connection) -> dict[str, bytes]:
            found: dict[str, bytes] = {}
            for start in range(0, len(keys), _LOOKUP):
                some = keys[start : start + _LOOKUP]
                marks = ",".join("?" * len(some))
                rows = connection.execute(f"SELECT key, vector, seal FROM vectors WHERE key IN ({marks})", some)
                found.update((key, vector) for key, vector, seal in rows if sealed(key, vector) == seal)
            return found

        return self._attempt(look_up) or {}

    def put(self, rows: Iterable[tuple[str, bytes]]) -> None:
        """Write the vectors in one transaction; a key that was there gets the new vector."""
        kept = [(key, vector, sealed(key, vector)) for key, vector in rows]

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany("INSERT OR REPLACE INTO vectors (key, vector, seal) VALUES (?, ?, ?)", kept)

        self._attempt(write)

    def retain(self, keys: Collection[str]) -> None:
        """Erase all vectors but these, from disk too; where there is no file, none is made."""

        def erase(connection: sqlite3.Connection) -> None:
            stale = [(key,) for (key,) in connection.execute("SELECT key FROM vectors") if key not in keys]
            if stale:
                with connection:
                    connection.executemany("DELETE FROM vectors WHERE key = ?", stale)
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

        if self._path.exists():
            self._attempt(erase)

    def close(self) -> None:
        """Close the file. Later calls find nothing and keep nothing."""
        with self._lock:
            self._off = True
            self._drop_connection()

    def _attempt(self, action: Callable[[sqlite3.Connection], Result]) -> Result | None:
        with self._lock:
            for last in (False, True):
                if self._off:
                    return None
                try:
                    return action(self._open())
                except (sqlite3.Error, OSError) as fault:
                    if last or not _is_damage(fault):
                        self._give_up(fault)
                    else:
                        self._set_aside(fault)
        return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        if self._connection is not None:
            # Closing what was opened before a fork would drop the parent's locks on the file: keep it, unused.
            self._inherited.append(self._connection)
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o600))
        self._connection = sqlite3.connect(self._path, timeout=5.0, check_same_thread=False, factory=Connection)
        self._process = os.getpid()
        for pragma in ("busy_timeout=5000", "journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
            self._connection.execute(f"PRAGMA {pragma}").fetchone()
        with self._connection:
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors "
                "(key TEXT PRIMARY KEY, vector BLOB NOT NULL, seal BLOB) WITHOUT ROWID"
            )
        _seal_older(self._connection)
        return self._connection

    def _drop_connection(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def _set_aside(self, fault: Exception) -> None:
        _LOG.warning("The vector cache %s is damaged (%s); it is set aside and rebuilt.", self._path, fault)
        self._drop_connection()
        try:
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            self._path.replace(self._path.with_name(self._path.name + ".damaged"))
        except OSError as stuck:
            self._give_up(stuck)

    def _give_up(self, fault: Exception) -> None:
        _LOG.warning("The vector cache %s cannot be used (%s); vectors are computed without it.", self._path, fault)
        self._off = True
        try:
            self._drop_connection()
        except sqlite3.Error:  # closing may try to write to the same full disk
            self._connection = None


def _seal_older(connection: sqlite3.Connection) -> None:
    """Take over the vectors of an older version, which kept them without seals."""
    columns = {row[1] for row in connection.execute("PRAGMA table_info(vectors)")}
    if "seal" in columns or not columns >= {"key", "vector"}:
        return
    connection.create_function("sealed", -1, sealed, deterministic=True)
    with connection:
        connection.execute("ALTER TABLE vectors ADD COLUMN seal BLOB")
        connection.execute("UPDATE vectors SET seal = sealed(key, vector)")


class VectorRows:
    """Vectors as rows of a thread in a database, which all processes that run it share."""

    _KIND = "vector"

    def __init__(self, rows: ThreadRows) -> None:
        self._rows = rows

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors that are there, as they were put."""
        return self._rows.get(self._KIND, keys)

    def put(self, rows: Iterable[tuple[str, bytes]]) -> None:
        """Write the vectors in one transaction; a key that was there gets the new vector."""
        self._rows.put((self._KIND, key, vector) for key, vector in rows)

    def retain(self, keys: Collection[str]) -> None:
        """Erase all vectors but these."""
        self._rows.remove(self._KIND, [key for key in self._rows.keys(self._KIND) if key not in keys])

    def close(self) -> None:
        """Do nothing: connections are lent for each call."""


def _is_damage(fault: Exception) -> bool:
    code = getattr(fault, "sqlite_errorcode", None)
    return code is not None and (code & 0xFF) in _DAMAGED
