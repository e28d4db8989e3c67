"""LangGraph's `BaseStore` on one private SQLite file: batches as a whole or not at all, and what is deleted is gone.

LangGraph's own `SqliteStore` commits what a failed batch has done so far, leaves deleted text in the file, and takes a
damaged or foreign database for an empty one.
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from agentic_memory_bank.state.errors import InputError, StorageDamagedError, StorageError
from agentic_memory_bank.tools.storage.database import DatabaseFile
from agentic_memory_bank.tools.storage.database_form import DatabaseForm, rows_of, seal_over, transaction
from agentic_memory_bank.tools.storage.item_lifetimes import Sweeper, ended, has_lifetimes, refresh, write_lifetimes
from agentic_memory_bank.tools.storage.item_vectors import EmbeddedOps, ItemVectors, ranked, write_vectors

ROOT: Final = "agentic_memory_bank"
"""The first label of every namespace that this package writes."""
REMEDY: Final = (
    "It is left as it is: nothing was read from it or written to it. Put a copy of the file back in its place, or move "
    "it away and begin anew."
)
"""What is done about a damaged store."""
FILE: Final = "memories.sqlite"
"""The file of the default store, in the home of all that is kept."""
SWEPT: Final = 5.0
"""Minutes between two sweeps, where nobody says how many."""

_COLUMNS: Final = "namespace, key, value, created_at, updated_at"
_FORM: Final = DatabaseForm(
    name="store of memories",
    application=0x414D424D,  # "AMBM"
    version=2,
    remedy=REMEDY,
    schema=(
        "CREATE TABLE items (namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "
        f"created_at TEXT NOT NULL, updated_at TEXT NOT NULL, {seal_over(_COLUMNS)}, PRIMARY KEY (namespace, key))",
    ),
    older=frozenset({(0x414D424D, 1)}),
)
_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": lambda a, b: a == b,
    "$ne": lambda a, b: a != b,
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


class SqliteRecordStore(BaseStore):
    """A `BaseStore` in one file; safe across threads, processes and a fork.

    Args:
        path: The file, 0600, made when something is first put; folders that are missing are made, 0700.
        clock: Returns the current time; a fixed one makes runs repeatable.
        index: As LangGraph defines it: what embeds items, and which of their fields. Without it nothing is searched by
            meaning, and a search with a `query` is refused.
        ttl: As LangGraph defines it: how long items live that are put, and whether reading lets them live on.
    """

    supports_ttl = True

    def __init__(
        self,
        path: Path,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        self._path = path
        self._clock = clock
        self._file = DatabaseFile(path, _FORM, reserve=True)
        self.index_config = index
        self._vectors = ItemVectors(index) if index else None
        self.ttl_config = ttl
        self._sweeper = Sweeper(self.sweep_ttl)

    @property
    def path(self) -> Path:
        """The file, which need not be there yet."""
        return self._path

    @property
    def address(self) -> str:
        """The file, too: two stores of one address hold the same."""
        return str(self._path)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: what is written, all or nothing, after what is read.

        Raises:
            StorageFullError: The disk is full; nothing of this is kept.
            StorageDamagedError: The file is not what this package wrote; it stays as it is.
            StorageError: The file cannot be read or written.
            InputError: A namespace, key or value cannot be kept, or a filter is unknown, or there is no `index`.
        """
        wanted = _last_writes(ops)
        return self._carry_out(wanted, self._vectors.embed(wanted) if self._vectors else None)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does, on a thread of its own. Raises as `batch`."""
        wanted = _last_writes(ops)
        embedded = await self._vectors.aembed(wanted) if self._vectors else None
        return await asyncio.to_thread(self._carry_out, wanted, embedded)

    def sweep_ttl(self) -> int:
        """Erase the items whose time is over, and count them. Raises as `batch`."""
        if not self._file.is_there():
            return 0
        with self._file.using() as database, transaction(database, "BEGIN"):
            over = ended(database, self._clock())
        puts: list[Op] = [PutOp(tuple(namespace.split(".")), key, None) for namespace, key in over]
        self._carry_out(puts, None)
        return len(puts)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Call `sweep_ttl` in the background: at intervals that are given here, or in `ttl`, or every five minutes."""
        self._sweeper.start(sweep_interval_minutes or (self.ttl_config or {}).get("sweep_interval_minutes") or SWEPT)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """End what `start_ttl_sweeper` began, and return whether it has ended."""
        return self._sweeper.stop(timeout)

    def _carry_out(self, wanted: Sequence[Op], embedded: EmbeddedOps | None) -> list[Result]:
        now = self._clock().astimezone(UTC)
        rows = _rows(wanted, now.isoformat())
        if embedded is None and any(isinstance(op, SearchOp) and op.query for op in wanted):
            raise InputError("This store has no vectors to search. Open it with `index`, or leave `query` out.")
        if not rows and not self._file.is_there():
            return [[] if isinstance(op, SearchOp | ListNamespacesOp) else None for op in wanted]
        omits = bool((self.ttl_config or {}).get("omit_expired"))

        def carry_out(database: sqlite3.Connection) -> list[Result]:
            gone = ended(database, now) if omits else set[tuple[str, str]]()
            found = [_read(database, op, embedded, gone) for op in wanted]
            if is_refreshing and has_lifetimes(database):
                refresh(database, wanted, found, now)
            for row in rows:
                _write(database, row)
            write_lifetimes(database, wanted, now)
            if embedded and rows:
                write_vectors(database, embedded)
            return found

        is_refreshing = self.ttl_config is not None and any(getattr(op, "refresh_ttl", False) for op in wanted)
        if any(value is None for _, _, value, _ in rows):
            return self._file.erase(carry_out)
        begin = "BEGIN IMMEDIATE" if rows or is_refreshing else "BEGIN"
        with self._file.using() as database, transaction(database, begin):
            return carry_out(database)

    def close(self) -> None:
        """Close the file, and end sweeping; the next call opens it again."""
        self._sweeper.stop()
        self._file.close()


# --- operations --------------------------------------------------------------------------------------------------


def _last_writes(ops: Iterable[Op]) -> list[Op]:
    """The operations of a batch; of several writes to one key each does what the last does."""
    given = list(ops)
    last = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
    return [last[op.namespace, op.key] if isinstance(op, PutOp) else op for op in given]


def _rows(ops: Iterable[Op], now: str) -> list[tuple[Any, ...]]:
    """What is to be written, once for each key: (namespace, key, value, now), None to delete."""
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


def _write(database: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    namespace, key, value, now = row
    if value is None:
        database.execute("DELETE FROM items WHERE namespace = ? AND key = ?", (namespace, key))
        return
    written = database.execute(
        f"INSERT INTO items ({_COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (namespace, key) "
        "DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at "
        "WHERE seal IS sealed(items.namespace, items.key, items.value, items.created_at, items.updated_at)",
        (namespace, key, value, now, now),
    ).rowcount
    if not written:  # else what is damaged in it would get a seal that is sound
        raise _damaged(row)


def _read(
    database: sqlite3.Connection, op: Op, embedded: EmbeddedOps | None, gone: Collection[tuple[str, str]]
) -> Result:
    match op:
        case GetOp():
            place = _joined(op.namespace), op.key
            query = f"SELECT {_COLUMNS}, seal FROM items WHERE namespace = ? AND key = ?"
            rows = rows_of(database.execute(query, place), _damaged)
            return None if place in gone else next((_item(row) for row in rows), None)
        case SearchOp():
            return _found(database, op, embedded.queries.get(op.query or "") if embedded else None, gone)
        case ListNamespacesOp():
            return _namespaces(database, op, gone)
        case PutOp():
            return None
        case _:
            raise InputError(f"A store knows no operation {type(op).__name__}.")


def _found(
    database: sqlite3.Connection, op: SearchOp, vector: Sequence[float] | None, gone: Collection[tuple[str, str]]
) -> list[SearchItem]:
    """Items below a namespace, the nearest to a query first, or those that were written last."""
    where, given = "TRUE", ()
    if op.namespace_prefix:
        prefix = _joined(op.namespace_prefix)
        where, given = "(namespace = ? OR (namespace > ? AND namespace < ?))", (prefix, f"{prefix}.", f"{prefix}/")
    query = f"SELECT {_COLUMNS}, seal FROM items WHERE {where} ORDER BY updated_at DESC, rowid DESC"
    if not (op.filter or gone or vector is not None):
        rows = database.execute(f"{query} LIMIT ? OFFSET ?", (*given, op.limit, op.offset))
        return [_search_item(row) for row in rows_of(rows, _damaged)]
    rows = (row for row in rows_of(database.execute(query, given), _damaged) if row[:2] not in gone)
    items = [item for item in map(_search_item, rows) if matches_filter(item.value, op.filter or {})]
    return items[op.offset : op.offset + op.limit] if vector is None else ranked(database, items, vector, op)


def matches_filter(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a value has what a filter asks for.

    Raises:
        InputError: The filter asks with an operator that is not known.
    """
    return all(_compares(_at(value, name), asked) for name, asked in wanted.items())


def _at(value: Mapping[str, Any], name: str) -> Any:
    """What stands under a name, or under a path of names with dots between them."""
    if name in value or "." not in name:
        return value.get(name)
    found: Any = value
    for part in name.split("."):
        found = cast("Mapping[str, Any]", found).get(part) if isinstance(found, Mapping) else None
    return found


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


def _namespaces(
    database: sqlite3.Connection, op: ListNamespacesOp, gone: Collection[tuple[str, str]]
) -> list[tuple[str, ...]]:
    asked = "SELECT namespace, key FROM items" if gone else "SELECT DISTINCT namespace, NULL FROM items"
    named = dict.fromkeys(row[0] for row in database.execute(asked) if row not in gone)
    paths = [tuple(name.split(".")) for name in named]
    return matching_namespaces(paths, op)


def matching_namespaces(paths: Iterable[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Those of all namespaces that are asked for, in order."""
    fitting = [path for path in paths if all(_matches(path, c) for c in op.match_conditions or ())]
    cut = sorted({path[: op.max_depth] for path in fitting})
    return cut[op.offset : op.offset + op.limit]


def _matches(path: tuple[str, ...], condition: MatchCondition) -> bool:
    wanted = condition.path
    part = path[: len(wanted)] if condition.match_type == "prefix" else path[max(0, len(path) - len(wanted)) :]
    return len(part) == len(wanted) and all(want in ("*", label) for want, label in zip(wanted, part, strict=True))


def _damaged(row: Sequence[Any]) -> StorageDamagedError:
    return _FORM.damaged(None, f"the item {row[1]!r} of {row[0]!r}")


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


def store_failed(error: Exception) -> StorageError:
    """What is said when a store of others fails."""
    return StorageError(
        f"The store of memories failed ({type(error).__name__}: {error}). Check that it runs and can be reached, then "
        "try again; what was stored before is there."
    )
