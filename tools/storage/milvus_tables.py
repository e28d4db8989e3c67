"""Where the rows of a Milvus store stand: in a folder of Milvus Lite, or on a Milvus server that many processes share.

Milvus Lite runs inside this process, by its own engine: served as its client would have it, it listens on a port of
this machine, without a password. Its deleted rows stay in its files, so what is erased is left out of a copy that takes
the place of the old collection.
"""

import json
import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from agentic_memory_bank.state.errors import (
    MemoryBankError,
    SettingsError,
    StorageError,
)
from agentic_memory_bank.tools.storage.sqlite_store import store_failed

Row = dict[str, Any]

LONGEST: Final = 65_535
"""Bytes that Milvus takes in one text."""
_NAME: Final = 128
TEXTS: Final[Mapping[str, int]] = {
    "id": _NAME,
    "owner": _NAME,
    "path": LONGEST,
    "key": LONGEST,
    "digest": _NAME,
    "value": LONGEST,
    "created_at": _NAME,
    "updated_at": _NAME,
}
NUMBERS: Final = ("part", "parts")
ITEM: Final = (*TEXTS, *NUMBERS)
VECTOR_TEXTS: Final[Mapping[str, int]] = {"id": _NAME, "owner": _NAME, "model": _NAME, "record": LONGEST}

SHELVED: Final = 3  # labels that name a collection of a folder: one for each kind of thing that a user has


class Namespace(NamedTuple):
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
        return "-".join(["n", *(digest(label)[:16] for label in self.labels[:SHELVED])])

    def holds(self, path: str) -> bool:
        """Whether a path is its own, or one below it."""
        own = self.path
        return not own or path == own or path.startswith(f"{own}.")


class MilvusTables(Protocol):
    """Rows of items, and the vectors of some of them. Every method may raise StorageError."""

    def exists(self) -> bool:
        """Whether the collection exists; the first write creates it."""
        ...

    def get(self, shelf: Namespace, ids: Sequence[str]) -> list[Row]:
        """The rows of these ids that are there, in no order."""
        ...

    def below(self, shelf: Namespace) -> list[Row]:
        """All rows of a namespace and those below it."""
        ...

    def paths(self) -> set[str]:
        """The paths of all namespaces that hold anything."""
        ...

    def put(self, shelf: Namespace, rows: Sequence[Row]) -> None:
        """Add rows; one that is there already is replaced."""
        ...

    def drop(self, shelf: Namespace, ids: Sequence[str]) -> None:
        """Delete rows, and the vectors of the same ids; what they said may stay on disk until `erase`."""
        ...

    def put_vectors(self, shelf: Namespace, rows: Sequence[Row]) -> None:
        """Add vectors, each with the id of its item."""
        ...

    def nearest(self, owner: str, model: str, vector: Sequence[float], limit: int) -> list[str]:
        """What `record` says of the nearest vectors of an owner, nearest first."""
        ...

    def settle(self, dropped: Sequence[Namespace], shrunk: Sequence[Namespace]) -> None:
        """Leave as little on disk of what was deleted, or replaced by something shorter, as can be done at once."""
        ...

    def erase(self, shelves: Sequence[Namespace]) -> None:
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


def needed(package: str) -> SettingsError:
    """The error for a package that is not installed."""
    return SettingsError(f'{package} is not installed. Install it with: pip install "agentic-memory-bank[milvus]"')


# --- a folder ----------------------------------------------------------------------------------------------------


def by_dimension(rows: Iterable[Row]) -> dict[int, list[Row]]:
    """Vectors by the number of their dimensions: a collection holds those of one."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(len(row["vector"]), []).append(row)
    return found


TOKEN: Final = "MILVUS_TOKEN"
"""The environment variable that holds the token, or `user:password`, of a server."""
_LOG = logging.getLogger(__name__)
_AT_ONCE: Final = 500  # rows in one message to a server, which takes some megabytes


class MilvusServer:
    """Two kinds of collections of a Milvus server, in which each owner is a partition key.

    Args:
        collection: Name of the collection of items; those of vectors begin with it.
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

    def get(self, shelf: Namespace, ids: Sequence[str]) -> list[Row]:
        """The rows of these ids that are there."""
        with self._working(self._items) as client:
            return client.get(self._items, ids=list(ids), output_fields=list(ITEM), timeout=self._timeout)

    def below(self, shelf: Namespace) -> list[Row]:
        """All rows of a namespace and those below it."""
        inside = f'(path == "{shelf.path}" or path like "{shelf.path}.%")' if shelf.labels else ""
        owned = f'owner == "{shelf.owner}" and ' if len(shelf.labels) > 1 else ""
        return self._query(f"{owned}{inside}", ITEM)

    def paths(self) -> set[str]:
        """The paths of all namespaces that hold anything."""
        return {row["path"] for row in self._query("part == 0", ("path",))}

    def put(self, shelf: Namespace, rows: Sequence[Row]) -> None:
        """Add rows; one that is there already is replaced."""
        with self._working(self._items) as client:
            for some in _parts(rows):
                filled = [{**row, "void": [0.0, 0.0]} for row in some]
                client.upsert(self._items, filled, timeout=self._timeout)

    def drop(self, shelf: Namespace, ids: Sequence[str]) -> None:
        """Delete rows, and the vectors of the same ids."""
        with self._working(self._items) as client:
            for name in [self._items, *self._vectors(client)]:
                client.delete(name, ids=list(ids), timeout=self._timeout)

    def put_vectors(self, shelf: Namespace, rows: Sequence[Row]) -> None:
        """Add vectors, in one collection for each of their dimensions."""
        for dimension, some in by_dimension(rows).items():
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

    def settle(self, dropped: Sequence[Namespace], shrunk: Sequence[Namespace]) -> None:
        """Ask for it where something was deleted: servers limit how often they are asked."""
        try:
            if dropped:
                self.erase(dropped)
        except StorageError as error:
            _LOG.warning("What was deleted is not erased from the server's disks yet; call `erase` later. %s", error)

    def erase(self, shelves: Sequence[Namespace]) -> None:
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
            raise StorageError(self._without_secrets(str(store_failed(error)))) from None

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None or self._process != os.getpid():
                try:
                    from pymilvus import MilvusClient
                except ImportError:
                    raise needed("The client of Milvus, pymilvus,") from None
                self._client = MilvusClient(uri=self._uri, token=os.environ.get(TOKEN, ""), timeout=self._timeout)
                self._process, self._known = os.getpid(), set()
            return self._client

    def _ensure(self, client: Any, name: str) -> None:
        if client.has_collection(name, timeout=self._timeout):
            return
        from pymilvus import DataType

        items = name == self._items
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        for text, most in (TEXTS if items else VECTOR_TEXTS).items():
            about = {"is_primary": text == "id", "is_partition_key": text == "owner"}
            schema.add_field(text, DataType.VARCHAR, max_length=most, **about)
        for number in NUMBERS if items else ():
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
