"""LangGraph's `BaseStore` on one private SQLite file: batches as a whole or not at all, and what is deleted is gone.

LangGraph's own `SqliteStore` commits what a failed batch has done so far, leaves deleted text in the file, and takes a
damaged or foreign database for an empty one.
"""

import asyncio
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from filelock import FileLock
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from agentic_memory_bank.state.errors import InputError, StorageError
from agentic_memory_bank.tools.storage import DatabaseForm, default_home, storage_errors

REMEDY: Final = (
    "It is left as it is: nothing was read from it or written to it. Put a copy of the file back in its place, or move "
    "it away and begin anew."
)
"""What is done about a damaged store."""
FILE: Final = "memories.sqlite"
"""The file of the default store, in the home of all that is kept."""

_FORM: Final = DatabaseForm(
    name="store of memories",
    application=0x414D424D,  # "AMBM"
    version=1,
    remedy=REMEDY,
    schema=(
        "CREATE TABLE items (namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "
        "created_at TEXT NOT NULL, updated_at TEXT NOT NULL, PRIMARY KEY (namespace, key))",
    ),
)
_COLUMNS: Final = "namespace, key, value, created_at, updated_at"
_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": lambda a, b: a == b,
    "$ne": lambda a, b: a != b,
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


def default_store(folder: Path | None = None) -> "SqliteRecordStore":
    """The store of memories that is used where nobody brings one.

    Args:
        folder: The home of all that is kept. Default: `MEMORY_BANK_HOME`, or the user's state folder.

    Raises:
        SettingsError: There is no folder for it.
    """
    return SqliteRecordStore((folder or default_home()) / FILE)


class SqliteRecordStore(BaseStore):
    """A `BaseStore` without vectors and without TTL; safe across threads, processes and a fork.

    Args:
        path: The file, 0600, made when something is first put; folders that are missing are made, 0700.
        clock: Stamps the items.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int, int] | None = None
        self._inherited: list[sqlite3.Connection] = []

    @property
    def path(self) -> Path:
        """The file, which need not be there yet."""
        return self._path

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: what is written, all or nothing, after what is read.

        Raises:
            StorageFullError: The disk is full; nothing of this is kept.
            StorageDamagedError: The file is not what this package wrote; it stays as it is.
            StorageError: The file cannot be read or written.
            InputError: A namespace, key or value cannot be kept, or a filter is unknown.
        """
        wanted = list(ops)
        rows = _rows(wanted, self._clock().astimezone(UTC).isoformat())
        with self._lock, storage_errors(self._path, REMEDY):
            if not rows and not self._path.exists():
                return [[] if isinstance(op, SearchOp | ListNamespacesOp) else None for op in wanted]
            database = self._open()
            with _transaction(database, writes=bool(rows)):
                found = [_read(database, op) for op in wanted]
                erased = sum(_write(database, row) for row in rows)
            if erased:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()  # else erased text stays in the log
        return found

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, on a thread of its own. Raises as `batch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None and self._opened == self._file():
                self._connection.close()
            self._connection = self._opened = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None:
            if self._opened == self._file():
                return self._connection
            # Closing what was opened before a fork would drop the parent's locks on the file: keep it, unused.
            self._inherited.append(self._connection)
            self._connection = None
        if not self._path.exists():
            _create(self._path)
        self._connection = _FORM.open(self._path)
        self._opened = self._file()
        return self._connection

    def _file(self) -> tuple[int, int, int] | None:
        with suppress(OSError):
            status = self._path.stat()
            return os.getpid(), status.st_dev, status.st_ino
        return None


# --- files -------------------------------------------------------------------------------------------------------


def _create(path: Path) -> None:
    """Make a store under another name, then give it its own: a file of that name is whole, or it is damaged."""
    folder = path.parent
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chmod(folder, 0o700)
    with FileLock(folder / ".making", mode=0o600):
        if path.exists():
            return
        half = path.with_suffix(".half")
        half.unlink(missing_ok=True)
        os.close(os.open(half, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _FORM.make(half).close()
        half.replace(path)


@contextmanager
def _transaction(database: sqlite3.Connection, *, writes: bool) -> Iterator[None]:
    """One transaction; a writing one waits for those of other processes before it reads anything."""
    database.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk has rolled it back already
            database.execute("ROLLBACK")
        raise


# --- operations --------------------------------------------------------------------------------------------------


def _rows(ops: Iterable[Op], now: str) -> list[tuple[Any, ...]]:
    """What is to be written, the last of several writes to one key: (namespace, key, value, now), None to delete."""
    last = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
    return [(_kept(_joined(op.namespace)), _kept(op.key), encoded(op.value), now) for op in last.values()]


def encoded(value: Mapping[str, Any] | None) -> str | None:
    """A value as JSON in ASCII; None for none.

    Raises:
        InputError: It is not made of what JSON knows.
    """
    try:
        return None if value is None else json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"A value cannot be kept as JSON ({error}). Put plain texts, numbers, lists and mappings."
        ) from None


def _kept(text: str) -> str:
    if "\0" in text or text.encode("utf-8", "replace").decode() != text:
        raise InputError(f"The name {text!r} holds characters that cannot be kept. Use another, or its hash.")
    return text


def _write(database: sqlite3.Connection, row: tuple[Any, ...]) -> int:
    """Write a row; 1 where that erased one."""
    namespace, key, value, now = row
    if value is None:
        return database.execute("DELETE FROM items WHERE namespace = ? AND key = ?", (namespace, key)).rowcount
    database.execute(
        f"INSERT INTO items ({_COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (namespace, key) "
        "DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
        (namespace, key, value, now, now),
    )
    return 0


def _read(database: sqlite3.Connection, op: Op) -> Result:
    match op:
        case GetOp():
            query = f"SELECT {_COLUMNS} FROM items WHERE namespace = ? AND key = ?"
            row = database.execute(query, (_joined(op.namespace), op.key)).fetchone()
            return _item(row) if row else None
        case SearchOp():
            return _found(database, op)
        case ListNamespacesOp():
            return _namespaces(database, op)
        case PutOp():
            return None
        case _:
            raise InputError(f"A store knows no operation {type(op).__name__}.")


def _found(database: sqlite3.Connection, op: SearchOp) -> list[SearchItem]:
    """Items below a namespace, those that were written last first; a query finds nothing that a filter does not."""
    where, given = "TRUE", ()
    if op.namespace_prefix:
        prefix = _joined(op.namespace_prefix)
        where, given = "(namespace = ? OR (namespace > ? AND namespace < ?))", (prefix, f"{prefix}.", f"{prefix}/")
    query = f"SELECT {_COLUMNS} FROM items WHERE {where} ORDER BY updated_at DESC, rowid DESC"
    if not op.filter:
        return [_search_item(r) for r in database.execute(f"{query} LIMIT ? OFFSET ?", (*given, op.limit, op.offset))]
    items = (_search_item(row) for row in database.execute(query, given))
    return [item for item in items if fits(item.value, op.filter)][op.offset : op.offset + op.limit]


def fits(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a value has what a filter asks for.

    Raises:
        InputError: The filter asks with an operator that is not known.
    """
    return all(_compares(value.get(name), asked) for name, asked in wanted.items())


def _compares(value: Any, asked: Any) -> bool:
    if not isinstance(asked, Mapping) or not any(str(name).startswith("$") for name in asked):
        return bool(value == asked)
    unknown = [name for name in asked if name not in _COMPARED]
    if unknown:
        raise InputError(f"A filter knows no {unknown[0]!r}. Use one of {', '.join(_COMPARED)}.")
    try:
        return all(_COMPARED[name](value, bound) for name, bound in asked.items())
    except TypeError:  # what cannot be compared does not fit
        return False


def _namespaces(database: sqlite3.Connection, op: ListNamespacesOp) -> list[tuple[str, ...]]:
    paths = [tuple(name.split(".")) for (name,) in database.execute("SELECT DISTINCT namespace FROM items")]
    return listed(paths, op)


def listed(paths: Iterable[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Those of all namespaces that are asked for, in order."""
    fitting = [path for path in paths if all(_matches(path, c) for c in op.match_conditions or ())]
    cut = sorted({path[: op.max_depth] for path in fitting})
    return cut[op.offset : op.offset + op.limit]


def _matches(path: tuple[str, ...], condition: MatchCondition) -> bool:
    wanted = condition.path
    part = path[: len(wanted)] if condition.match_type == "prefix" else path[max(0, len(path) - len(wanted)) :]
    return len(part) == len(wanted) and all(want in ("*", label) for want, label in zip(wanted, part, strict=True))


def _joined(namespace: tuple[str, ...]) -> str:
    return ".".join(namespace)


def _item(row: tuple[Any, ...]) -> Item:
    namespace, key, value, created, updated = row
    return Item(
        value=json.loads(value), key=key, namespace=tuple(namespace.split(".")), created_at=created, updated_at=updated
    )


def _search_item(row: tuple[Any, ...]) -> SearchItem:
    namespace, key, value, created, updated = row
    path = tuple(namespace.split("."))
    return SearchItem(path, key, json.loads(value), datetime.fromisoformat(created), datetime.fromisoformat(updated))


def unusable(error: Exception) -> StorageError:
    """What is said when a store of others fails."""
    return StorageError(
        f"The store of memories failed ({type(error).__name__}: {error}). Check that it runs and can be reached, then "
        "try again; what was stored before is there."
    )
