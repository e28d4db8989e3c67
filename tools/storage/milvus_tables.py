"""Where the rows of a Milvus store stand: in a folder of Milvus Lite, or on a Milvus server.

Milvus Lite runs inside this process, by its own engine: served as its client would have it, it listens on a port of
this machine, without a password. Its deleted rows stay in its files, so what is erased is left out of a copy that takes
the place of the old collection.
"""

import json
import logging
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from agentic_memory_bank.state.errors import (
    MemoryBankError,
    SettingsError,
    StorageDamagedError,
    StorageError,
    StoreBusyError,
)
from agentic_memory_bank.tools.storage.disk import storage_errors
from agentic_memory_bank.tools.storage.sqlite_store import REMEDY, unusable

Row = dict[str, Any]

TOKEN: Final = "MILVUS_TOKEN"
"""The environment variable that holds the token, or `user:password`, of a server."""
LONGEST: Final = 65_535
"""Bytes that Milvus takes in one text."""

_LOG = logging.getLogger(__name__)

_VERSION: Final = 1
_NAME: Final = 128
_TEXTS: Final[Mapping[str, int]] = {
    "id": _NAME,
    "owner": _NAME,
    "path": LONGEST,
    "key": LONGEST,
    "digest": _NAME,
    "value": LONGEST,
    "created_at": _NAME,
    "updated_at": _NAME,
}
_NUMBERS: Final = ("part", "parts")
_ITEM: Final = (*_TEXTS, *_NUMBERS)
_VECTOR_TEXTS: Final[Mapping[str, int]] = {"id": _NAME, "owner": _NAME, "model": _NAME, "record": LONGEST}
_SHELVED: Final = 3  # labels that name a collection of a folder: one for each kind of thing that a user has
_AT_ONCE: Final = 500  # rows in one message to a server, which takes some megabytes
_MARK: Final = "memories.json"
_HOLDER: Final = "holder"
_ERASING: Final = "erasing"


class Shelf(NamedTuple):
    """A namespace as Milvus sees it: nothing a caller chose stands in a name or a filter as it is."""

    labels: tuple[str, ...]

    @property
    def path(self) -> str:
        """Its labels in hex."""
        return ".".join(hexed(label) for label in self.labels)

    @property
    def owner(self) -> str:
        """Stands for whose it is: the label after the root."""
        return digest(self.labels[:2])

    @property
    def name(self) -> str:
        """Of its collection in a folder."""
        return "-".join(["n", *(digest(label)[:16] for label in self.labels[:_SHELVED])])

    def holds(self, path: str) -> bool:
        """Whether a path is its own, or one below it."""
        own = self.path
        return not own or path == own or path.startswith(f"{own}.")


class Tables(Protocol):
    """Rows of items, and the vectors of some of them. Every method may raise StorageError."""

    def exists(self) -> bool:
        """Whether anything was ever put here."""
        ...

    def get(self, shelf: Shelf, ids: Sequence[str]) -> list[Row]:
        """The rows of these ids that are there, in no order."""
        ...

    def below(self, shelf: Shelf) -> list[Row]:
        """All rows of a namespace and those below it."""
        ...

    def paths(self) -> set[str]:
        """The paths of all namespaces that hold anything."""
        ...

    def put(self, shelf: Shelf, rows: Sequence[Row]) -> None:
        """Add rows; one that is there already is replaced."""
        ...

    def drop(self, shelf: Shelf, ids: Sequence[str]) -> None:
        """Delete rows, and the vectors of the same ids; what they said may stay on disk until `erase`."""
        ...

    def put_vectors(self, shelf: Shelf, rows: Sequence[Row]) -> None:
        """Add vectors, each with the id of its item."""
        ...

    def nearest(self, owner: str, model: str, vector: Sequence[float], limit: int) -> list[str]:
        """What `record` says of the nearest vectors of an owner, nearest first."""
        ...

    def settle(self, dropped: Sequence[Shelf], shrunk: Sequence[Shelf]) -> None:
        """Leave as little on disk of what was deleted, or replaced by something shorter, as can be done at once."""
        ...

    def erase(self, shelves: Sequence[Shelf]) -> None:
        """Leave nothing on disk of what was deleted or replaced."""
        ...

    def close(self) -> None:
        """Let go of it; the next call opens it again."""
        ...


def hexed(text: str) -> str:
    """A text as it stands in a path or key, whatever it holds."""
    return text.encode("utf-8", "surrogatepass").hex()


def unhexed(text: str) -> str:
    """The text that `hexed` was given."""
    return bytes.fromhex(text).decode("utf-8", "surrogatepass")


def digest(value: object) -> str:
    """Stands for a value in a name."""
    return sha256(json.dumps(value).encode()).hexdigest()


def _needed(package: str) -> SettingsError:
    return SettingsError(f'{package} is not installed. Install it with: pip install "agentic-memory-bank[milvus]"')


# --- a folder ----------------------------------------------------------------------------------------------------


class LiteFolder:
    """A folder of Milvus Lite, 0700: one collection for each kind of thing a user has, another for their vectors.

    Only one process can have it open. Stores of one process on one folder share it.
    """

    _open: Final[dict[Path, "LiteFolder"]] = {}
    _opening: Final = threading.Lock()

    def __init__(self, path: Path) -> None:
        self.path = path
        self._users = 0
        self._process = os.getpid()
        self._db: Any = None
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

    def get(self, shelf: Shelf, ids: Sequence[str]) -> list[Row]:
        """The rows of these ids that are there."""
        with self._working() as db:
            found = _collection(db, shelf.name)
            return found.get(list(ids), output_fields=list(_ITEM)) if found else []

    def below(self, shelf: Shelf) -> list[Row]:
        """All rows of a namespace and those below it."""
        with self._working() as db:
            whole = len(shelf.labels) >= _SHELVED
            names = [n for n in db.list_aliases() if n == shelf.name or not whole and n.startswith(f"{shelf.name}-")]
            rows = (row for name in names if (found := _collection(db, name)) for row in _all(found, _ITEM))
            return [row for row in rows if shelf.holds(row["path"])]

    def paths(self) -> set[str]:
        """The paths of all namespaces that hold anything."""
        with self._working() as db:
            found = (_collection(db, name) for name in db.list_aliases() if name.startswith("n-"))
            return {row["path"] for one in found if one for row in _all(one, ("path",))}

    def put(self, shelf: Shelf, rows: Sequence[Row]) -> None:
        """Add rows; one that is there already is replaced."""
        with self._working(writes=True) as db:
            self._insert(db, shelf.name, [{**row, "void": [0.0]} for row in rows])

    def drop(self, shelf: Shelf, ids: Sequence[str]) -> None:
        """Delete rows, and the vectors of the same ids."""
        with self._working(writes=True) as db:
            for name in [shelf.name, *self._vectors(db, shelf.owner)]:
                found = _collection(db, name)
                gone = [row["id"] for row in found.get(list(ids), output_fields=["id"])] if found else []
                if gone:
                    self._mark(name)
                    found.delete(gone)
                    self._sync(db, name)

    def put_vectors(self, shelf: Shelf, rows: Sequence[Row]) -> None:
        """Add vectors, in one collection for each of their dimensions."""
        with self._working(writes=True) as db:
            for dimension, some in _by_dimension(rows).items():
                self._insert(db, f"v-{dimension}-{shelf.owner[:32]}", some)

    def nearest(self, owner: str, model: str, vector: Sequence[float], limit: int) -> list[str]:
        """What `record` says of the nearest vectors of an owner, nearest first."""
        with self._working() as db:
            found = _collection(db, f"v-{len(vector)}-{owner[:32]}")
            if found is None:
                return []
            hits = found.search(
                [list(vector)],
                top_k=limit,
                metric_type="COSINE",
                expr=f'model == "{model}"',
                output_fields=["record"],
                anns_field="vector",
            )
            return [hit["entity"]["record"] for hit in hits[0]]

    def settle(self, dropped: Sequence[Shelf], shrunk: Sequence[Shelf]) -> None:
        """Erase it all."""
        self.erase(shrunk)  # what was dropped is marked already

    def erase(self, shelves: Sequence[Shelf]) -> None:
        """Copy what is left to new collections, and drop the old ones with their files."""
        with self._working(writes=True) as db:
            for shelf in shelves:
                self._mark(shelf.name)
            self._finish_erasing(db)

    # --- collections -----------------------------------------------------------------------------------------------

    def _insert(self, db: Any, name: str, rows: list[Row]) -> None:
        found = _collection(db, name)
        if found is None:
            found = db.create_collection(f"{name}.1", _lite_schema(name))
            db.create_alias(f"{name}.1", name)
            _synced([self.path, self.path / "aliases.json", self.path / "collections"])
        found.insert(rows)
        self._sync(db, name)

    def _vectors(self, db: Any, owner: str) -> list[str]:
        return [n for n in db.list_aliases() if n.startswith("v-") and n.endswith(f"-{owner[:32]}")]

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
                raise unusable(error) from error

    def _opened(self) -> Any:
        if self._db is not None and self._process != os.getpid():
            raise _busy(self.path, str(self._process))
        if self._db is None:
            self._db, self._process = self._locked(), os.getpid()
            try:
                self._clear_up(self._db)
            except BaseException:
                self._let_go()
                raise
        return self._db

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
            raise _needed("Milvus Lite") from None
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


def _all(collection: Any, fields: Iterable[str]) -> list[Row]:
    return collection.query(None, output_fields=list(fields))


def _lite_schema(name: str) -> Any:
    from milvus_lite import CollectionSchema, DataType, FieldSchema

    is_items = name.startswith("n-")
    texts = _TEXTS if is_items else _VECTOR_TEXTS
    fields = [
        FieldSchema(name=text, dtype=DataType.VARCHAR, max_length=most, is_primary=text == "id")
        for text, most in texts.items()
    ]
    fields += [FieldSchema(name=number, dtype=DataType.INT64) for number in _NUMBERS if is_items]
    vector, dimension = ("void", 1) if is_items else ("vector", int(name.split("-")[1]))
    return CollectionSchema(fields=[*fields, FieldSchema(name=vector, dtype=DataType.FLOAT_VECTOR, dim=dimension)])


def _by_dimension(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(len(row["vector"]), []).append(row)
    return found


def _synced(paths: Iterable[Path]) -> None:
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# --- a server ----------------------------------------------------------------------------------------------------


class MilvusServer:
    """Two kinds of collections of a Milvus server, in which each owner is a partition key.

    Args:
        uri: Of the server.
        collection: Name of the collection of items; those of vectors begin with it.
        timeout: Seconds that one call may take.
    """

    def __init__(self, uri: str, collection: str, timeout: float) -> None:
        self._uri, self._items, self._timeout = uri, collection, timeout
        self._client: Any = None
        self._process = os.getpid()
        self._known: set[str] = set()
        self._lock = threading.RLock()

    @property
    def address(self) -> str:
        """Where the server is, without the password that the URI may hold."""
        parts = urlsplit(self._uri)
        return self._uri.replace(f"{parts.netloc.rpartition('@')[0]}@", "") if "@" in parts.netloc else self._uri

    def exists(self) -> bool:
        """A server always does."""
        return True

    def get(self, shelf: Shelf, ids: Sequence[str]) -> list[Row]:
        """The rows of these ids that are there."""
        with self._working(self._items) as client:
            return client.get(self._items, ids=list(ids), output_fields=list(_ITEM), timeout=self._timeout)

    def below(self, shelf: Shelf) -> list[Row]:
        """All rows of a namespace and those below it."""
        inside = f'(path == "{shelf.path}" or path like "{shelf.path}.%")' if shelf.labels else ""
        owned = f'owner == "{shelf.owner}" and ' if len(shelf.labels) > 1 else ""
        return self._query(f"{owned}{inside}", _ITEM)

    def paths(self) -> set[str]:
        """The paths of all namespaces that hold anything."""
        return {row["path"] for row in self._query("part == 0", ("path",))}

    def put(self, shelf: Shelf, rows: Sequence[Row]) -> None:
        """Add rows; one that is there already is replaced."""
        with self._working(self._items) as client:
            for some in _parts(rows):
                filled = [{**row, "void": [0.0, 0.0]} for row in some]
                client.upsert(self._items, filled, timeout=self._timeout)

    def drop(self, shelf: Shelf, ids: Sequence[str]) -> None:
        """Delete rows, and the vectors of the same ids."""
        with self._working(self._items) as client:
            for name in [self._items, *self._vectors(client)]:
                client.delete(name, ids=list(ids), timeout=self._timeout)

    def put_vectors(self, shelf: Shelf, rows: Sequence[Row]) -> None:
        """Add vectors, in one collection for each of their dimensions."""
        for dimension, some in _by_dimension(rows).items():
            name = f"{self._items}_vectors_{dimension}"
            with self._working(name) as client:
                for part in _parts(some):
                    client.upsert(name, part, timeout=self._timeout)

    def nearest(self, owner: str, model: str, vector: Sequence[float], limit: int) -> list[str]:
        """What `record` says of the nearest vectors of an owner, nearest first."""
        name = f"{self._items}_vectors_{len(vector)}"
        with self._working(name) as client:
            hits = client.search(
                name,
                data=[list(vector)],
                filter=f'owner == "{owner}" and model == "{model}"',
                limit=limit,
                output_fields=["record"],
                anns_field="vector",
                timeout=self._timeout,
            )
            return [hit["entity"]["record"] for hit in hits[0]]

    def settle(self, dropped: Sequence[Shelf], shrunk: Sequence[Shelf]) -> None:
        """Ask for it where something was deleted: servers limit how often they are asked."""
        try:
            if dropped:
                self.erase(dropped)
        except StorageError as error:
            _LOG.warning("What was deleted is not erased from the server's disks yet; call `erase` later. %s", error)

    def erase(self, shelves: Sequence[Shelf]) -> None:
        """Ask the server to write its segments anew; it removes the old ones when its own settings say so."""
        with self._working(self._items) as client:
            for name in [self._items, *self._vectors(client)]:
                client.flush(name, timeout=self._timeout)
                client.compact(name, timeout=self._timeout)

    def close(self) -> None:
        """Let go of the connection; the next call makes another."""
        with self._lock:
            client, self._client = self._client, None
            self._known = set()
            if client is not None and self._process == os.getpid():
                client.close()

    def _query(self, wanted: str, fields: Iterable[str]) -> list[Row]:
        with self._working(self._items) as client:
            pages = client.query_iterator(
                self._items, batch_size=_AT_ONCE, filter=wanted, output_fields=list(fields), timeout=self._timeout
            )
            rows: list[Row] = []
            while page := pages.next():
                rows += page
            pages.close()
            return rows

    def _vectors(self, client: Any) -> list[str]:
        names = client.list_collections(timeout=self._timeout)
        return sorted(name for name in names if name.startswith(f"{self._items}_vectors_"))

    @contextmanager
    def _working(self, name: str) -> Iterator[Any]:
        """A connection, and a collection of this name on the other side of it."""
        try:
            client = self._connected()
            with self._lock:
                if name not in self._known:
                    self._ensure(client, name)
                    self._known.add(name)
            yield client
        except MemoryBankError:
            raise
        except Exception as error:  # the client has errors of its own, gRPC's, and Python's
            raise StorageError(self._without_secrets(str(unusable(error)))) from None

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None or self._process != os.getpid():
                try:
                    from pymilvus import MilvusClient
                except ImportError:
                    raise _needed("The client of Milvus, pymilvus,") from None
                self._client = MilvusClient(uri=self._uri, token=os.environ.get(TOKEN, ""), timeout=self._timeout)
                self._process, self._known = os.getpid(), set()
            return self._client

    def _ensure(self, client: Any, name: str) -> None:
        if client.has_collection(name, timeout=self._timeout):
            return
        from pymilvus import DataType

        items = name == self._items
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        for text, most in (_TEXTS if items else _VECTOR_TEXTS).items():
            about = {"is_primary": text == "id", "is_partition_key": text == "owner"}
            schema.add_field(text, DataType.VARCHAR, max_length=most, **about)
        for number in _NUMBERS if items else ():
            schema.add_field(number, DataType.INT64)
        vector, dimension = ("void", 2) if items else ("vector", int(name.rpartition("_")[2]))
        schema.add_field(vector, DataType.FLOAT_VECTOR, dim=dimension)
        index = client.prepare_index_params()
        index.add_index(field_name=vector, index_type="FLAT" if items else "AUTOINDEX", metric_type="COSINE")
        try:
            client.create_collection(
                name, schema=schema, index_params=index, consistency_level="Strong", timeout=self._timeout
            )
        except Exception:
            if not client.has_collection(name, timeout=self._timeout):  # else another process was faster
                raise

    def _without_secrets(self, text: str) -> str:
        password = urlsplit(self._uri).netloc.rpartition("@")[0]
        for whole in (os.environ.get(TOKEN, ""), password):
            for secret in (whole, whole.partition(":")[2]):
                text = text.replace(secret, "***") if secret else text
        return text


def _parts(rows: Sequence[Row]) -> Iterator[list[Row]]:
    for start in range(0, len(rows), _AT_ONCE):
        yield list(rows[start : start + _AT_ONCE])
