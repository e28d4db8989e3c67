"""A store of memories in a folder of Milvus Lite, which one process at a time can have open.

Milvus Lite runs inside this process, by its own engine: served as its client would have it, it listens on a port of
this machine, without a password. Its deleted rows stay in its files, so what is erased is left out of a copy that takes
the place of the old collection; collections are small, so that a copy is.
"""

import json
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from agentic_memory_bank.state.errors import (
    MemoryBankError,
    StorageDamagedError,
    StoreBusyError,
)
from agentic_memory_bank.tools.storage.disk import storage_errors, sync_folder
from agentic_memory_bank.tools.storage.milvus_tables import (
    ITEM,
    NUMBERS,
    SHELVED,
    TEXTS,
    VECTOR_TEXTS,
    Namespace,
    Row,
    by_dimension,
    needed,
)
from agentic_memory_bank.tools.storage.sqlite_store import REMEDY, store_failed

_VERSION: Final = 1
_MARK: Final = "memories.json"
_HOLDER: Final = "holder"
_ERASING: Final = "erasing"
_MOST: Final = 512
"""Rows of a collection, from which on another one is begun."""


class LiteFolder:
    """A folder of Milvus Lite, 0700: collections for each kind of thing a user has, others for their vectors.

    Only one process can have it open. Stores of one process on one folder share it.
    """

    _open: Final[dict[Path, "LiteFolder"]] = {}
    _opening: Final = threading.Lock()

    def __init__(self, path: Path) -> None:
        self.path = path
        self._users = 0
        self._process = os.getpid()
        self._db: Any = None
        self._parts: dict[str, list[str]] = {}
        """The aliases of the collections of each kind of thing, oldest first."""
        self._counts: dict[str, int] = {}
        """How many rows were ever put into a collection that is open."""
        self._lock = threading.RLock()

    @classmethod
    def shared(cls, path: Path) -> "LiteFolder":
        """The one object of this process for a folder; `close` as often as this was called."""
        with cls._opening:
            found = cls._open.setdefault(path.resolve(), cls(path.resolve()))
            found._users += 1
            return found

    def exists(self) -> bool:
        """Whether anything was ever put here."""
        return self._db is not None or self.path.exists()

    def close(self) -> None:
        """Let go of it, if nobody else in this process uses it."""
        with self._opening:
            self._users -= 1
            if self._users <= 0:
                self._open.pop(self.path, None)
                with self._lock:
                    self._let_go()

    def get(self, shelf: Namespace, ids: Sequence[str]) -> list[Row]:
        """The rows of these ids that are there."""
        with self._working() as db:
            return [row for _, rows in self._holders(db, shelf.name, ids, ITEM) for row in rows]

    def below(self, shelf: Namespace) -> list[Row]:
        """All rows of a namespace and those below it."""
        with self._working() as db:
            whole = len(shelf.labels) >= SHELVED
            kinds = [kind for kind in self._parts if kind == shelf.name or not whole and kind.startswith(shelf.name)]
            names = (name for kind in kinds for name in self._parts[kind])
            rows = (row for name in names for row in _all(db.get_collection(name), ITEM))
            return [row for row in rows if shelf.holds(row["path"])]

    def paths(self) -> set[str]:
        """The paths of all namespaces that hold anything."""
        with self._working() as db:
            names = (name for kind, names in self._parts.items() if kind.startswith("n-") for name in names)
            return {row["path"] for name in names for row in _all(db.get_collection(name), ("path",))}

    def put(self, shelf: Namespace, rows: Sequence[Row]) -> None:
        """Add rows; one that is there already is replaced."""
        with self._working(writes=True) as db:
            self._insert(db, shelf.name, [{**row, "void": [0.0]} for row in rows])

    def drop(self, shelf: Namespace, ids: Sequence[str]) -> None:
        """Delete rows, and the vectors of the same ids; first rows last, by which the others are found again."""
        with self._working(writes=True) as db:
            vectors = [kind for kind in self._parts if kind.startswith("v-") and kind.endswith(shelf.owner[:32])]
            later = [id for id in ids if "." in id]
            first = [id for id in ids if "." not in id]
            for kind, some in (*((kind, ids) for kind in vectors), (shelf.name, later), (shelf.name, first)):
                for name, rows in self._holders(db, kind, some):
                    self._mark(name)
                    db.get_collection(name).delete([row["id"] for row in rows])
                    self._sync(db, name)

    def put_vectors(self, shelf: Namespace, rows: Sequence[Row]) -> None:
        """Add vectors, in collections for each of their dimensions."""
        with self._working(writes=True) as db:
            for dimension, some in by_dimension(rows).items():
                self._insert(db, f"v-{dimension}-{shelf.owner[:32]}", some)

    def nearest(self, owner: str, model: str, vector: Sequence[float], limit: int) -> list[str]:
        """What `record` says of the nearest vectors of an owner, nearest first."""
        with self._working() as db:
            hits = [
                hit
                for name in self._parts.get(f"v-{len(vector)}-{owner[:32]}", ())
                for hit in db.get_collection(name).search(
                    [list(vector)],
                    top_k=limit,
                    metric_type="COSINE",
                    expr=f'model == "{model}"',
                    output_fields=["record"],
                    anns_field="vector",
                )[0]
            ]
            hits.sort(key=lambda hit: hit["distance"], reverse=True)  # so Milvus calls a cosine
            return [hit["entity"]["record"] for hit in hits[:limit]]

    def settle(self, dropped: Sequence[Namespace], shrunk: Sequence[Namespace]) -> None:
        """Erase it all."""
        self.erase(shrunk)  # what was dropped is marked already

    def erase(self, shelves: Sequence[Namespace]) -> None:
        """Copy what is left to new collections, and drop the old ones with their files."""
        with self._working(writes=True) as db:
            for name in [name for shelf in shelves for name in self._parts.get(shelf.name, ())]:
                self._mark(name)
            self._finish_erasing(db)

    # --- collections -----------------------------------------------------------------------------------------------

    def _insert(self, db: Any, kind: str, rows: list[Row]) -> None:
        """Put rows in their order: where those of the same ids are, or where there is room."""
        there = {row["id"]: name for name, some in self._holders(db, kind, [row["id"] for row in rows]) for row in some}
        last = self._parts[kind][-1] if kind in self._parts else f"{kind}_1"
        for row in rows:
            if row["id"] not in there:
                if last not in self._counts:
                    self._counts[last] = db.get_collection(last).num_entities if db.has_collection(last) else 0
                if self._counts[last] >= _MOST:
                    last = f"{kind}_{_number(last) + 1}"
                    self._counts[last] = 0
                self._counts[last] += 1
                there[row["id"]] = last
        for name, some in groupby(rows, key=lambda row: there[row["id"]]):
            if name not in self._parts.get(kind, ()):
                db.create_collection(f"{name}.1", _lite_schema(name))
                db.create_alias(f"{name}.1", name)
                _synced([self.path, self.path / "aliases.json", self.path / "collections"])
                self._parts.setdefault(kind, []).append(name)
            db.get_collection(name).insert(list(some))
            self._sync(db, name)

    def _holders(
        self, db: Any, kind: str, ids: Iterable[str], fields: Sequence[str] = ("id",)
    ) -> Iterator[tuple[str, list[Row]]]:
        """The collections that have some of these ids, each with their rows."""
        wanted = dict.fromkeys(ids)
        for name in reversed(self._parts.get(kind, ())):
            rows = db.get_collection(name).get(list(wanted), output_fields=list(fields)) if wanted else []
            for row in rows:
                del wanted[row["id"]]
            if rows:
                yield name, rows

    def _mark(self, name: str) -> None:
        """Note that something is to be erased, so that it is even if this process is killed."""
        marks = self.path / _ERASING
        marks.mkdir(mode=0o700, exist_ok=True)
        (marks / name).touch(0o600)
        _synced([marks])

    def _finish_erasing(self, db: Any) -> None:
        for mark in sorted(self.path.glob(f"{_ERASING}/*")):
            found = _collection(db, mark.name)
            if found is not None:
                self._rewrite(db, mark.name, found)
            mark.unlink()

    def _rewrite(self, db: Any, name: str, old: Any) -> None:
        """Until the alias names the copy, the old collection is the one that counts; the other is left over."""
        rows = _all(old, [field.name for field in old.schema.fields])
        if rows:
            copy = f"{name}.{int(old.name.rpartition('.')[2]) + 1}"
            db.create_collection(copy, _lite_schema(name)).insert(rows)
            _synced([self.path / "collections", *(self.path / "collections" / copy).rglob("*")])
            db.alter_alias(copy, name)
        else:
            db.drop_alias(name)
            self._find_parts(db)
        _synced([self.path, self.path / "aliases.json"])
        db.drop_collection(old.name)

    def _sync(self, db: Any, name: str) -> None:
        """What was written stays, even where the power fails."""
        logs = self.path / "collections" / db.resolve_collection_name(name) / "wal"
        _synced([logs, *logs.iterdir()] if logs.exists() else [])

    # --- opening ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _working(self, *, writes: bool = False) -> Iterator[Any]:
        with self._lock, storage_errors(self.path, REMEDY):
            try:
                yield self._opened()
            except MemoryBankError:
                raise
            except BaseException as error:
                if writes:
                    self._let_go()  # a log that was cut off in the middle must not be written on
                if isinstance(error, OSError) or not isinstance(error, Exception):
                    raise
                raise store_failed(error) from error

    def _opened(self) -> Any:
        if self._db is not None and self._process != os.getpid():
            raise _busy(self.path, str(self._process))
        if self._db is None:
            self._db, self._process = self._locked(), os.getpid()
            try:
                self._clear_up(self._db)
                self._find_parts(self._db)
            except BaseException:
                self._let_go()
                raise
        return self._db

    def _find_parts(self, db: Any) -> None:
        self._parts, self._counts = {}, {}
        for name in sorted(db.list_aliases(), key=_number):
            self._parts.setdefault(name.partition("_")[0], []).append(name)

    def _make(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise StorageDamagedError(f"{self.path} is a file, not a folder of Milvus Lite. {REMEDY}")
        if not self.path.exists():
            self.path.mkdir(mode=0o700, parents=True)
            self.path.chmod(0o700)
        mark = self.path / _MARK
        if not mark.exists():
            if any(self.path.iterdir()):
                raise StorageDamagedError(f"The folder {self.path} is no store of memories of this package. {REMEDY}")
            half = mark.with_suffix(".half")
            half.write_text(json.dumps({"version": _VERSION}))
            half.replace(mark)
        if json.loads(mark.read_text()).get("version") != _VERSION:
            raise StorageDamagedError(
                f"The store of memories at {self.path} was written by a newer version of this package. Install that "
                "version."
            )

    def _locked(self) -> Any:
        try:
            from milvus_lite import DataDirLockedError, MilvusLite
        except ImportError:
            raise needed("Milvus Lite") from None
        self._make()
        try:
            db = MilvusLite(str(self.path))
        except DataDirLockedError:
            with suppress(OSError):
                raise _busy(self.path, (self.path / _HOLDER).read_text()) from None
            raise _busy(self.path, "unknown") from None
        (self.path / _HOLDER).write_text(str(os.getpid()))
        return db

    def _clear_up(self, db: Any) -> None:
        """Drop what a process that was killed left half done, and erase what it had not erased yet."""
        targets = {db.resolve_collection_name(name): name for name in db.list_aliases()}
        folders = {folder.name: folder for folder in (self.path / "collections").iterdir()}
        left = [folder for name, folder in folders.items() if name not in targets]
        if not targets and any(file.suffix != ".json" for folder in left for file in folder.rglob("*.*")):
            raise StorageDamagedError(f"The list of collections in {self.path} is lost. {REMEDY}")
        for folder in left:
            shutil.rmtree(folder)
        for name in [alias for target, alias in targets.items() if target not in folders]:
            db.drop_alias(name)
        self._finish_erasing(db)

    def _let_go(self) -> None:
        db, self._db = self._db, None
        if db is not None and self._process == os.getpid():
            db.close()


def _busy(path: Path, process: str) -> StoreBusyError:
    return StoreBusyError(
        f"The store of memories at {path} is open in another process ({process}): Milvus Lite serves one at a time. "
        "End that process, or use a Milvus server, which serves many."
    )


def _collection(db: Any, name: str) -> Any:
    return db.get_collection(name) if db.has_collection(name) else None


def _number(name: str) -> int:
    """Of a collection among those of its kind."""
    return int(name.partition("_")[2] or 0)


def _all(collection: Any, fields: Iterable[str]) -> list[Row]:
    return collection.query(None, output_fields=list(fields))


def _lite_schema(name: str) -> Any:
    from milvus_lite import CollectionSchema, DataType, FieldSchema

    is_items = name.startswith("n-")
    texts = TEXTS if is_items else VECTOR_TEXTS
    fields = [
        FieldSchema(name=text, dtype=DataType.VARCHAR, max_length=most, is_primary=text == "id")
        for text, most in texts.items()
    ]
    fields += [FieldSchema(name=number, dtype=DataType.INT64) for number in NUMBERS if is_items]
    vector, dimension = ("void", 1) if is_items else ("vector", int(name.split("-")[1]))
    return CollectionSchema(fields=[*fields, FieldSchema(name=vector, dtype=DataType.FLOAT_VECTOR, dim=dimension)])


def _synced(paths: Iterable[Path]) -> None:
    for path in paths:
        sync_folder(path)
