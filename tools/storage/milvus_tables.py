"""Where the rows of a Milvus store stand: in a folder of Milvus Lite, or on a Milvus server.

Milvus Lite runs inside this process, by its own engine: served as its client would have it, it listens on a port of
this machine, without a password. Its deleted rows stay in its files, so what is erased is left out of a copy that takes
the place of the old collection.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple, Protocol

from agentic_memory_bank.state.errors import (
    SettingsError,
)

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
        """Whether anything was ever put here."""
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
