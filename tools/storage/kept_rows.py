"""A mapping over rows of a file: each is decoded when it is first asked for, and what changes is held in memory."""

import hashlib
import json
from collections.abc import Callable, ItemsView, Iterable, Iterator, MutableMapping, ValuesView
from copy import copy
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.tools.storage.section_file import SectionFile

Value = TypeVar("Value")

_CACHED: Final = 2_048
"""How many values that were decoded last are kept."""


class RowForm(NamedTuple):
    """How the values of a mapping are told as JSON."""

    name: str
    """What its arrays are called in a file."""
    told: Callable[[Any], Any] = lambda value: value
    read: Callable[[Any], Any] = lambda value: value


def set_form(name: str) -> RowForm:
    """The form of a mapping to sets of texts."""
    return RowForm(name, sorted, set)


class _RowBytes(NamedTuple):
    """Rows of bytes, one behind the other."""

    pieces: list[NDArray[Any]]
    lengths: NDArray[np.int64]

    def with_rows(self, rows: list[bytes]) -> "_RowBytes":
        lengths = np.array([len(row) for row in rows], np.int64)
        pieces = [*self.pieces, np.frombuffer(b"".join(rows), np.uint8)]
        return _RowBytes(pieces, np.concatenate([self.lengths, lengths]))


_EMPTY: Final = np.zeros(0, np.int64)


class _StoredRows:
    """The rows of one mapping in a file, found by the hash of their key."""

    def __init__(self, file: SectionFile, name: str) -> None:
        self._hashes, self._numbers = file[f"{name}.hashes"], file[f"{name}.numbers"]
        self._keys, self._key_ends = file[f"{name}.keys"], file[f"{name}.key_ends"]
        self._values, self._ends = file[f"{name}.values"], file[f"{name}.ends"]

    def __len__(self) -> int:
        return len(self._hashes)

    def number(self, key: str) -> int | None:
        """Where the row of a key stands; None where there is none."""
        raw = key.encode("utf-8", "surrogatepass")
        wanted = _hash(raw)
        place = int(self._hashes.searchsorted(np.uint64(wanted)))
        while place < len(self._hashes) and int(self._hashes[place]) == wanted:
            number = int(self._numbers[place])
            if _piece(self._keys, self._key_ends, number) == raw:
                return number
            place += 1
        return None

    def keys(self) -> list[str]:
        """All keys, in the order in which they were written."""
        raw, ends = self._keys.tobytes(), self._key_ends.tolist()
        starts = [0, *ends][: len(ends)]
        return [raw[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)]

    def value(self, number: int) -> Any:
        """The value of a row."""
        return json.loads(_piece(self._values, self._ends, number)[:-1])

    def values(self) -> list[Any]:
        """The values of all rows."""
        return json.loads(b"[" + self._values.tobytes()[:-1] + b"]")

    def without(self, numbers: list[int]) -> tuple["_RowBytes", "_RowBytes", NDArray[np.uint64]]:
        """What is told of the keys and values of all rows but some, and the hashes of their keys."""
        hashes = np.empty(len(self), np.uint64)
        hashes[self._numbers] = self._hashes
        lost = np.array(sorted(numbers), np.intp)
        keys, values = _told_without(self._keys, self._key_ends, lost), _told_without(self._values, self._ends, lost)
        return keys, values, np.delete(hashes, lost)


class KeptRows(MutableMapping[str, Value], Generic[Value]):
    """A mapping, partly in a file; the owner serves one call at a time. What is in the file never changes.

    Whoever goes through all values has them all decoded, and kept until the mapping goes.
    """

    def __init__(self, form: RowForm, file: SectionFile | None = None) -> None:
        self._form = form
        self._stored = _StoredRows(file, form.name) if file is not None else None
        self._changed: dict[str, Value] = {}
        self._gone: set[str] = set()
        self._cache: dict[str, Value] = {}
        self._is_whole = False
        self._count = len(self._stored) if self._stored is not None else 0

    def __getitem__(self, key: str) -> Value:
        if key in self._changed:
            return self._changed[key]
        if key in self._cache:
            return self._cache[key]
        number = self._number(key)
        if number is None:
            raise KeyError(key)
        value = self._decoded(number)
        if len(self._cache) >= _CACHED and not self._is_whole:
            self._cache.clear()
        self._cache[key] = value
        return value

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and (key in self._changed or key in self._cache or self._number(key) is not None)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        """All keys: those of the file first, in its order."""
        stored = self._stored.keys() if self._stored is not None else ()
        return iter([*(key for key in stored if key not in self._gone), *self._changed])

    def items(self) -> ItemsView[str, Value]:
        """All keys with their values."""
        self._decode_all()
        return super().items()

    def values(self) -> ValuesView[Value]:
        """All values."""
        self._decode_all()
        return super().values()

    def __setitem__(self, key: str, value: Value) -> None:
        if key not in self._changed:
            self._hide(key)
            self._count += 1
        self._changed[key] = value

    def __delitem__(self, key: str) -> None:
        if key in self._changed:
            del self._changed[key]
            self._count -= 1
        elif not self._hide(key):
            raise KeyError(key)

    def own(self, key: str, make: Callable[[], Value]) -> Value:
        """The value of a key, to be changed in place; made where there is none."""
        if key not in self._changed:
            number = self._number(key)
            self[key] = make() if number is None else self._decoded(number)
        return self._changed[key]

    def is_stored(self, key: str) -> bool:
        """Whether a row of this key is in the file, whatever has become of it since."""
        return self._stored is not None and self._stored.number(key) is not None

    @property
    def held(self) -> int:
        """How many values are in memory."""
        return len(self._changed) + len(self._cache)

    def snapshot(self) -> "KeptRows[Value]":
        """What it holds now, to be told by `arrays` while this one goes on."""
        twin = copy(self)
        twin._changed = {key: _own(value) for key, value in self._changed.items()}
        twin._gone = set(self._gone)
        return twin

    def arrays(self) -> dict[str, Iterable[NDArray[Any]]]:
        """All rows, as the arrays of a file."""
        keys, values, hashes = _RowBytes([], _EMPTY), _RowBytes([], _EMPTY), np.zeros(0, np.uint64)
        if self._stored is not None:
            gone = (self._stored.number(key) for key in self._gone)
            keys, values, hashes = self._stored.without([number for number in gone if number is not None])
        own = [key.encode("utf-8", "surrogatepass") for key in self._changed]
        keys = keys.with_rows(own)
        told_now = map(self._form.told, self._changed.values())
        values = values.with_rows([json.dumps(value).encode() + b"," for value in told_now])
        hashes = np.concatenate([hashes, np.array([_hash(key) for key in own], np.uint64)])
        order = np.argsort(hashes, kind="stable")
        told = {"hashes": [hashes[order]], "numbers": [order.astype(np.uint32)], "keys": keys.pieces}
        told |= {"key_ends": [np.cumsum(keys.lengths)], "values": values.pieces, "ends": [np.cumsum(values.lengths)]}
        return {f"{self._form.name}.{name}": pieces for name, pieces in told.items()}

    def _decoded(self, number: int) -> Value:
        assert self._stored is not None
        return self._form.read(self._stored.value(number))

    def _number(self, key: str) -> int | None:
        return None if self._stored is None or key in self._gone else self._stored.number(key)

    def _hide(self, key: str) -> bool:
        """Take a key of the file out; whether it was there."""
        self._cache.pop(key, None)
        if self._number(key) is None:
            return False
        self._gone.add(key)
        self._count -= 1
        return True

    def _decode_all(self) -> None:
        if self._stored is not None and not self._is_whole:
            pairs = zip(self._stored.keys(), self._stored.values(), strict=True)
            self._cache = {key: self._form.read(value) for key, value in pairs if key not in self._gone}
            self._is_whole = True


def _own(value: Any) -> Any:
    """A value that stays as it is when one that is changed in place is."""
    return value.copy() if isinstance(value, set | list | dict) else value


def _hash(key: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")


def _piece(blob: NDArray[Any], ends: NDArray[Any], number: int) -> bytes:
    return blob[int(ends[number - 1]) if number else 0 : int(ends[number])].tobytes()


def _told_without(blob: NDArray[Any], ends: NDArray[Any], lost: NDArray[np.intp]) -> _RowBytes:
    """The rows of a blob but some, in stretches."""
    starts = np.concatenate([[0], ends])[: len(ends)].astype(np.int64)
    begins, stops = [0, *ends[lost].tolist()], [*starts[lost].tolist(), len(blob)]
    pieces = [blob[begin:stop] for begin, stop in zip(begins, stops, strict=True) if begin < stop]
    return _RowBytes(pieces, np.delete(ends.astype(np.int64) - starts, lost))
