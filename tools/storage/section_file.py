"""A file of named arrays that are mapped into memory: written whole or not at all, and compared with its checksums.

The arrays come first; behind them stand a header, which says where each is and what its checksum is, and a footer,
which says where the header is. So a file that was cut off has no footer, and one that is damaged is not opened.
"""

import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, Iterable[NDArray[Any]]]
"""For each name the pieces of one array, of one type, to be put one behind the other along their first axis."""

_FOOTER: Final = struct.Struct("<QII8s")
_MAGIC: Final = b"AMBsect1"
_ALIGNED: Final = 64
_WORD: Final = 8


class SectionDamagedError(Exception):
    """A file is not what was written: it is cut off, changed, or of another program."""


class SectionFile:
    """A file of arrays, open for reading; it stays readable when its name goes to another one, or to none.

    Raises:
        SectionDamagedError: It is not what was written.
        OSError: It is not there, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _FOOTER.size:
                raise SectionDamagedError(f"{path} is cut off.")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._descriptor = os.dup(file.fileno())
        finalize(self, os.close, self._descriptor)
        start, length, checksum, magic = _FOOTER.unpack_from(self._map, size - _FOOTER.size)
        if magic != _MAGIC or start + length + _FOOTER.size != size:
            raise SectionDamagedError(f"{path} has no header where one has to be.")
        told = self._map[start : start + length]
        if zlib.crc32(told) != checksum:
            raise SectionDamagedError(f"The header of {path} is damaged.")
        found = json.loads(told)
        self.header: Mapping[str, Any] = found["header"]
        """What was said of the arrays when they were written."""
        self._path, places = path, found["arrays"]
        self._places = places
        self._arrays = {
            name: self._array(path, **where, is_read_later=sums_of(name) in places) for name, where in places.items()
        }

        if any(sums_of(name) in places for name in places) and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)  # what was compared just now would stay in memory, and is large

    def __getitem__(self, name: str) -> NDArray[Any]:
        """An array, which cannot be changed.

        Raises:
            KeyError: There is none of this name.
        """
        return self._arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def rows(self, name: str, numbers: NDArray[np.intp]) -> NDArray[Any]:
        """Rows of an array; where it has checksums of its rows, they are compared.

        Raises:
            SectionDamagedError: They are not what was written.
        """
        rows = self._read(name, numbers) if sums_of(name) in self else self._arrays[name][numbers]
        if sums_of(name) in self and rows_sums(rows).tolist() != self._arrays[sums_of(name)][numbers].tolist():
            raise SectionDamagedError(f"{self._path} is damaged.")
        return rows

    def _read(self, name: str, numbers: NDArray[np.intp]) -> NDArray[Any]:
        """Rows from the file itself: of a mapping, the system would hold megabytes around each."""
        array, start = self._arrays[name], self._places[name]["start"]
        size = array.strides[0]
        if not hasattr(os, "preadv"):
            return array[numbers]
        rows = np.empty((len(numbers), *array.shape[1:]), array.dtype)
        raw = rows.reshape(-1).view(np.uint8).data
        for place, number in enumerate(numbers.tolist()):
            into = raw[place * size : (place + 1) * size]
            if os.preadv(self._descriptor, [into], start + number * size) != size:
                raise SectionDamagedError(f"{self._path} is cut off.")
        return rows

    def _array(
        self, path: Path, type: str, shape: list[int], start: int, checksum: int, *, is_read_later: bool
    ) -> NDArray[Any]:
        array = np.frombuffer(self._map, type, int(np.prod(shape)), start).reshape(shape)
        if is_read_later:
            return array
        if zlib.crc32(array.reshape(-1).view(np.uint8).data) != checksum:
            raise SectionDamagedError(f"{path} is damaged.")
        return array


def write_sections(path: Path, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write arrays into a file that nobody else may read, in place of one that is there.

    Nothing is forced to the disk: where the machine goes down, the checksums tell.

    Args:
        path: The file; what is written gets this name when it is whole.
        header: What is said of the arrays, as JSON.

    Raises:
        OSError: It cannot be written.
    """
    part = part_of(path)
    try:
        with open(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
            places: dict[str, dict[str, Any]] = {}
            for name, pieces in arrays.items():
                file.write(b"\0" * (-file.tell() % _ALIGNED))
                places[name] = _written(file, pieces)
            told = json.dumps({"header": header, "arrays": places}).encode()
            footer = _FOOTER.pack(file.tell(), len(told), zlib.crc32(told), _MAGIC)
            file.write(told + footer)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def sums_of(name: str) -> str:
    """The array of the checksums of the rows of another one, which then is not compared as a whole when it is opened.

    What is much larger than what is read of it is opened in no time, and yet nothing of it is used unseen.
    """
    return f"{name}.sums"


def rows_sums(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """The checksum of each row: its words of 64 bits, each times an odd number of its place, added up modulo 2^64.

    A row with one changed word never has the sum that it had. A thousand rows take a tenth of what CRC-32 takes, row by
    row.
    """
    plain = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    if rest := -plain.shape[1] % _WORD:
        plain = np.pad(plain, ((0, 0), (0, rest)))
    words = plain.view("<u8")
    return np.einsum("ij,j->i", words, _factors(words.shape[1]))


@cache
def _factors(count: int) -> NDArray[np.uint64]:
    """As many odd numbers of 64 bits, the same in each process."""
    return np.random.default_rng(0).integers(0, 1 << 63, count, np.uint64) * np.uint64(2) + np.uint64(1)


def part_of(path: Path) -> Path:
    """Where a file is written before it gets its name; what a process leaves there that is killed is never read."""
    return path.with_name(f"{path.name}.part")


def _written(file: Any, pieces: Iterable[NDArray[Any]]) -> dict[str, Any]:
    start, checksum, rows = file.tell(), 0, 0
    type, inner = "|u1", list[int]()
    for piece in pieces:
        plain = np.ascontiguousarray(piece)
        raw = plain.reshape(-1).view(np.uint8).data
        checksum = zlib.crc32(raw, checksum)
        file.write(raw)
        rows, type, inner = rows + len(plain), plain.dtype.str, list(plain.shape[1:])
    return {"type": type, "shape": [rows, *inner], "start": start, "checksum": checksum}
