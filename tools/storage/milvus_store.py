"""LangGraph's `BaseStore` on Milvus: embedded, for one process at a time, or on a server that many share.

Milvus keeps rows of bounded texts and knows them by one id. So an item is one row, or more where its value is long,
under an id made of its namespace and key. Names stand there in hex, so that none can be read as part of a filter.
"""

import asyncio
import base64
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp

from agentic_memory_bank.state.errors import InputError, InputTooLarge
from agentic_memory_bank.tools.storage.milvus_lite import LiteFolder
from agentic_memory_bank.tools.storage.milvus_tables import (
    LONGEST,
    MilvusServer,
    MilvusTables,
    Namespace,
    Row,
    digest,
    hexed,
    unhexed,
)
from agentic_memory_bank.tools.storage.sqlite_store import ROOT, encoded, matches_filter, matching_namespaces

_MOST: Final = 16_384
"""Milvus answers with at most so many."""


class MilvusRecordStore(BaseStore):
    """A `BaseStore` that serves dense candidates as well; without TTL; safe across threads.

    What is written is read by the next call, whoever makes it. What is deleted, and what is replaced by something
    shorter, is gone from the files of a folder when the call returns; a server removes it when its own settings say so.

    Args:
        place: A folder for Milvus Lite, made 0700 when something is first put; or the URI of a server, whose token
            stands in the environment variable `MILVUS_TOKEN`.
        dense: Whether the vectors of memories are kept a second time, as `candidates` searches them.
        collection: Name of the collection on a server; letters, digits and underscores.
    """

    def __init__(
        self,
        place: Path | str,
        *,
        dense: bool = False,
        collection: str = ROOT,
        timeout: float = 30,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if not collection.isidentifier() or not collection.isascii():
            raise InputError(f"{collection!r} names no collection. Use letters, digits and underscores.")
        self._place, self._dense = str(place), dense
        self._together: list[tuple[Sequence[Namespace], Sequence[Namespace]]] | None = None
        self._clock = clock
        self._lock = threading.RLock()
        self._server = MilvusServer(self._place, collection, timeout) if _is_uri(self._place) else None
        self._folder: LiteFolder | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({(self._server.address if self._server else self._place)!r})"

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: what is read, then what is written, then what is deleted.

        An item is written whole or not at all. Namespaces are written one after the other, in the order in which they
        are named; where this fails in the middle, the first of them may be there.

        Raises:
            StoreBusyError: Another process has the folder open.
            StorageFullError: The disk is full.
            StorageDamagedError: The folder is not what this package wrote; it stays as it is.
            StorageError: The folder cannot be read or written, or the server failed.
            SettingsError: Milvus Lite, or the client of Milvus, is not installed.
            InputError: A value cannot be kept, or a filter is unknown.
        """
        wanted = list(ops)
        written = _written(wanted, self._clock().astimezone(UTC).isoformat())
        with self._lock:
            tables = self._tables()
            if not written and not tables.exists():
                return [[] if isinstance(op, SearchOp | ListNamespacesOp) else None for op in wanted]
            found = _found(tables, wanted)
            gone, shrunk = _write(tables, written, dense=self._dense)
            if self._together is not None:
                self._together.append((gone, shrunk))
            elif gone or shrunk:
                tables.settle(gone, shrunk)
        return found

    @contextmanager
    def together(self) -> Iterator[None]:
        """Erase what several batches of one thread delete once, at the end: that takes as long as copying what stays.

        Raises:
            StorageError: As `batch`.
        """
        with self._lock:
            if self._together is not None:
                yield
                return
            self._together = []
            try:
                yield
            finally:
                done, self._together = self._together, None
                gone = list(dict.fromkeys(shelf for dropped, _ in done for shelf in dropped))
                shrunk = list(dict.fromkeys(shelf for _, emptied in done for shelf in emptied))
                if gone or shrunk:
                    self._tables().settle(gone, shrunk)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does, on a thread of its own. Raises as `batch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    def candidates(self, owner: str, vector: Sequence[float], limit: int, *, model: str) -> list[str]:
        """The ids of the memories of a user whose wordings are nearest to a vector, nearest first.

        A memory is found by its earlier wordings, too: whoever asks weighs what it says now. Only what was written with
        `dense` is found.

        Args:
            model: The embedding model of the vector; others are not compared with it.

        Raises:
            InputError: The limit is not from 1 to 16,384, or the vector has no numbers.
            StorageError: As `batch`.
        """
        if not 1 <= limit <= _MOST or not len(vector):
            raise InputError(f"Ask for 1 to {_MOST:,} candidates, with a vector that has numbers.")
        with self._lock:
            tables = self._tables()
            if not tables.exists():
                return []
            wide, found = limit, list[str]()
            while True:  # one memory may stand for several of the nearest
                near = tables.nearest(Namespace((ROOT, owner)).owner, digest(model), list(map(float, vector)), wide)
                found = list(dict.fromkeys(near))[:limit]
                if len(found) == limit or len(near) < wide or wide == _MOST:
                    return found
                wide = min(_MOST, 4 * wide)

    def erase(self, namespace: tuple[str, ...]) -> None:
        """Leave nothing on disk of what was replaced in a namespace, even by something longer.

        A server is asked to do so for all it has.

        Raises:
            StorageError: As `batch`.
        """
        with self._lock:
            tables = self._tables()
            if tables.exists():
                tables.erase([Namespace(namespace)])

    def close(self) -> None:
        """Let go of the folder, so that another process can have it, or of the server; the next call opens it again."""
        with self._lock:
            folder, self._folder = self._folder, None
            if folder is not None:
                folder.close()
            if self._server is not None:
                self._server.close()

    def _tables(self) -> MilvusTables:
        if self._server is not None:
            return self._server
        self._folder = self._folder or LiteFolder.shared(Path(self._place))
        return self._folder


def _is_uri(place: str) -> bool:
    return "://" in place or place.startswith("unix:")


# --- writing -----------------------------------------------------------------------------------------------------


def _written(ops: Iterable[Op], now: str) -> dict[Namespace, dict[str, list[Row] | None]]:
    """The rows of what is put, by namespace and id; None for what is deleted. The last of several writes counts."""
    last = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
    rows: dict[Namespace, dict[str, list[Row] | None]] = {}
    for (namespace, key), op in last.items():
        shelf, text = Namespace(namespace), encoded(op.value)
        item = _id(shelf, key)
        rows.setdefault(shelf, {})[item] = None if text is None else _rows(shelf, item, key, text, now)
    return rows


def _rows(shelf: Namespace, item: str, key: str, text: str, now: str) -> list[Row]:
    """The first row holds the beginning of a value and says how many others there are; it is written last."""
    path, name = shelf.path, hexed(key)
    if len(path) > LONGEST or len(name) > LONGEST:
        raise InputTooLarge("A namespace or key is too long for Milvus. Use its hash.")
    parts = [text[start : start + LONGEST] for start in range(0, len(text), LONGEST)]  # it is ASCII
    version = digest(text)[:16]
    whose = {"owner": shelf.owner, "path": path, "key": name, "digest": version, "created_at": now, "updated_at": now}
    return [
        {**whose, "id": item if not n else f"{item}.{version}.{n}", "part": n, "parts": len(parts), "value": part}
        for n, part in enumerate(parts)
    ]


def _write(
    tables: MilvusTables, written: Mapping[Namespace, Mapping[str, list[Row] | None]], *, dense: bool
) -> tuple[list[Namespace], list[Namespace]]:
    """Write and delete; where something was deleted, and where something only gave way to something shorter."""
    old = {row["id"]: row for shelf, items in written.items() for row in tables.get(shelf, list(items))}
    for shelf, items in written.items():
        kept = [rows for rows in items.values() if rows]
        for row in (row for rows in kept for row in rows if rows[0]["id"] in old):
            row["created_at"] = old[row["id"].partition(".")[0]]["created_at"]
        _put(tables, shelf, kept, dense=dense)
    gone = {shelf: ids for shelf, items in written.items() if (ids := _superfluous(items, old))}
    for shelf, ids in gone.items():
        tables.drop(shelf, ids)
    shrunk = [shelf for shelf, items in written.items() if shelf not in gone and _shrinks(items, old)]
    return list(gone), shrunk


def _put(tables: MilvusTables, shelf: Namespace, items: Sequence[Sequence[Row]], *, dense: bool) -> None:
    vectors = [vector for rows in items if dense and (vector := _vector(shelf, rows))]
    if vectors:
        tables.put_vectors(shelf, vectors)
    if items:
        tables.put(shelf, [*(row for rows in items for row in rows[1:]), *(rows[0] for rows in items)])


def _superfluous(items: Mapping[str, list[Row] | None], old: Mapping[str, Row]) -> list[str]:
    """The ids of the rows that are not needed any more."""
    ids: list[str] = []
    for item, rows in items.items():
        before = old.get(item)
        if before is not None:
            stays = {row["id"] for row in rows or ()}
            ids += [id for id in _ids(before) if id not in stays]
    return ids


def _shrinks(items: Mapping[str, list[Row] | None], old: Mapping[str, Row]) -> bool:
    """Whether a value gives way to a shorter one: so it is emptied where it stands."""
    return any(rows and item in old and len(rows[0]["value"]) < len(old[item]["value"]) for item, rows in items.items())


def _vector(shelf: Namespace, rows: Sequence[Row]) -> Row | None:
    """What an event says of its embedding, if it has one."""
    value = json.loads("".join(row["value"] for row in rows))
    vector, record, model = (value.get(name) for name in ("vector", "id", "model"))
    if not vector or not all(isinstance(text, str) for text in (vector, record, model)):
        return None
    try:
        numbers = np.frombuffer(base64.b64decode(vector, validate=True), "<f4")
    except ValueError:
        return None
    if not len(numbers) or not np.isfinite(numbers).all() or len(record.encode("utf-8", "replace")) > LONGEST:
        return None
    return {
        "id": rows[0]["id"],
        "owner": shelf.owner,
        "model": digest(model),
        "record": record,
        "vector": numbers.tolist(),
    }


# --- reading -----------------------------------------------------------------------------------------------------


def _found(tables: MilvusTables, ops: Sequence[Op]) -> list[Result]:
    items = _got(tables, [op for op in ops if isinstance(op, GetOp)])
    return [
        items.get(_id(Namespace(op.namespace), op.key)) if isinstance(op, GetOp) else _read(tables, op) for op in ops
    ]


def _got(tables: MilvusTables, ops: Iterable[GetOp]) -> dict[str, Item]:
    wanted: dict[Namespace, list[str]] = {}
    for op in ops:
        shelf = Namespace(op.namespace)
        wanted.setdefault(shelf, []).append(_id(shelf, op.key))
    rows: list[Row] = []
    for shelf, ids in wanted.items():
        heads = tables.get(shelf, list(dict.fromkeys(ids)))
        later = [id for head in heads for id in _ids(head)[1:]]
        rows += [*heads, *(tables.get(shelf, later) if later else [])]
    return {head["id"]: Item(**_item(head, value)) for head, value in _joined(rows)}


def _read(tables: MilvusTables, op: Op) -> Result:
    match op:
        case SearchOp(query=str(query)) if query:
            raise InputError("This store has no vectors to search. Leave `query` out, or take a store with `index`.")
        case SearchOp():
            rows = tables.below(Namespace(op.namespace_prefix))
            items = [SearchItem(**_item(head, value)) for head, value in _joined(rows)]
            items.sort(key=lambda item: (item.updated_at, item.key), reverse=True)
            chosen = [item for item in items if matches_filter(item.value, op.filter or {})]
            return chosen[op.offset : op.offset + op.limit]
        case ListNamespacesOp():
            return matching_namespaces([_labels(path) for path in tables.paths()], op)
        case PutOp():
            return None
        case _:
            raise InputError(f"A store knows no operation {type(op).__name__}.")


def _joined(rows: Iterable[Row]) -> list[tuple[Row, str]]:
    """The items that are there as a whole: the first row of each, and its value."""
    by_id = {row["id"]: row for row in rows}
    heads = [row for row in by_id.values() if not row["part"]]
    whole = [head for head in heads if all(id in by_id for id in _ids(head))]
    return [(head, "".join(by_id[id]["value"] for id in _ids(head))) for head in whole]


def _ids(head: Row) -> list[str]:
    """The ids of all rows of an item."""
    return [head["id"], *(f"{head['id']}.{head['digest']}.{n}" for n in range(1, head["parts"]))]


def _id(shelf: Namespace, key: str) -> str:
    return digest([*shelf.labels, key])


def _labels(path: str) -> tuple[str, ...]:
    return tuple(unhexed(label) for label in path.split("."))


def _item(head: Row, value: str) -> dict[str, Any]:
    return {
        "namespace": _labels(head["path"]),
        "key": unhexed(head["key"]),
        "value": json.loads(value),
        "created_at": datetime.fromisoformat(head["created_at"]),
        "updated_at": datetime.fromisoformat(head["updated_at"]),
    }
