"""How long a store's items live, in its own file: TTL as LangGraph defines it, in minutes since the last use.

The table is made when an item first has a lifetime, and a trigger keeps it in step with the items.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from langgraph.store.base import GetOp, Item, Op, PutOp, Result, SearchOp

_DELETED: Final = (
    "CREATE TRIGGER IF NOT EXISTS lifetimes_deleted AFTER DELETE ON items BEGIN DELETE FROM lifetimes "
    "WHERE namespace = old.namespace AND key = old.key; END"
)
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS lifetimes (namespace TEXT NOT NULL, key TEXT NOT NULL, minutes REAL NOT NULL, "
    "ends_at TEXT NOT NULL, PRIMARY KEY (namespace, key))"
)
_ENDED: Final = "SELECT namespace, key FROM lifetimes WHERE ends_at <= ?"
SECONDS: Final = 60.0


def has_lifetimes(database: sqlite3.Connection) -> bool:
    """Whether an item of this file ever had a lifetime."""
    return database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'lifetimes'").fetchone() is not None


def write_lifetimes(database: sqlite3.Connection, ops: Iterable[Op], now: datetime) -> None:
    """Write how long items live that a batch has put; one that is put without a lifetime lives for ever."""
    puts = [op for op in ops if isinstance(op, PutOp) and op.value is not None]
    if any(op.ttl is not None for op in puts):
        database.execute(_TABLE)
        database.execute(_DELETED)
    if not puts or not has_lifetimes(database):
        return
    for op in puts:
        place = ".".join(op.namespace), op.key
        if op.ttl is None:
            database.execute("DELETE FROM lifetimes WHERE namespace = ? AND key = ?", place)
        else:
            ends = (now + timedelta(minutes=op.ttl)).isoformat()
            database.execute("INSERT OR REPLACE INTO lifetimes VALUES (?, ?, ?, ?)", (*place, op.ttl, ends))


def refresh(database: sqlite3.Connection, ops: Iterable[Op], found: Iterable[Result], now: datetime) -> None:
    """Let what a batch has read live as long again, where its operations ask for that."""
    for op, result in zip(ops, found, strict=True):
        if not (isinstance(op, GetOp | SearchOp) and op.refresh_ttl):
            continue
        for item in [result] if isinstance(result, Item) else result if isinstance(result, list) else []:
            if isinstance(item, Item):
                _refresh_one(database, (".".join(item.namespace), item.key), now)


def _refresh_one(database: sqlite3.Connection, place: tuple[str, str], now: datetime) -> None:
    row = database.execute("SELECT minutes FROM lifetimes WHERE namespace = ? AND key = ?", place).fetchone()
    if row:
        ends = (now + timedelta(minutes=row[0])).isoformat()
        database.execute("UPDATE lifetimes SET ends_at = ? WHERE namespace = ? AND key = ?", (ends, *place))


def ended(database: sqlite3.Connection, now: datetime) -> set[tuple[str, str]]:
    """Namespace and key of the items whose time is over."""
    return set(database.execute(_ENDED, (now.isoformat(),))) if has_lifetimes(database) else set()


class Sweeper:
    """Sweeps at intervals, on a thread of its own, until it is stopped.

    Args:
        sweep: What is done.
    """

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep, self._stopped = sweep, threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, minutes: float) -> None:
        """Begin, or go on at another interval."""
        self.stop()
        self._stopped = stopped = threading.Event()

        def run() -> None:
            while not stopped.wait(minutes * SECONDS):
                self._sweep()

        self._thread = threading.Thread(target=run, name="ttl-sweeper", daemon=True)
        self._thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """End, and return whether it has."""
        self._stopped.set()
        if self._thread is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()
