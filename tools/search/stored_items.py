"""The items of a hybrid index as they stand in a file: their terms both ways, their vectors, and nothing in memory."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.search.near_vectors import NearVectors
from agentic_memory_bank.tools.storage.section_file import SectionFile

FREQUENCY_BITS = 16
"""In a number that says how often a term is in an item, the lowest bits are how often, the others which one."""
FREQUENCY_MASK = (1 << FREQUENCY_BITS) - 1

_SPREAD = 64
"""Of how many terms it is kept which items have them."""
_NONE = np.zeros(0, np.int64)


class StoredItems:
    """The items of a `HybridIndex` in a file, numbered as they were written; none without a file."""

    def __init__(self, file: SectionFile | None = None) -> None:
        self.owners: Sequence[str] = _texts(file, "owners")
        """Their ids."""
        self.terms: Sequence[str] = _texts(file, "terms")
        """The terms they have, by number."""
        self.lengths = _NONE if file is None else file["lengths"]
        self.has_vector = np.zeros(0, bool) if file is None else file["has_vector"].astype(bool)
        self.matrix: NDArray[np.float32] = _matrix(file)
        self._file = file
        self.quantised: NDArray[np.uint8] | None = file["near"] if file is not None and "near" in file else None
        """Its vectors as `near_vectors` has quantised them, where they are very many."""
        self.near = None if self.quantised is None else NearVectors(self.quantised)
        self._spread: LruCache[int, NDArray[np.uint8]] = LruCache(_SPREAD)
        self._documents, self._document_ends = _runs(file, "documents")
        self._postings, self._posting_ends = _runs(file, "postings")

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """Of how many items each term is."""
        return np.diff(self._posting_ends, prepend=0)

    def rows(self, numbers: NDArray[np.intp]) -> NDArray[np.float32]:
        """The vectors of items."""
        return self.matrix[numbers] if self._file is None else self._file.rows("matrix", numbers)

    def document(self, number: int) -> NDArray[np.int64]:
        """The terms of an item, with how often each is in it."""
        return _run(self._documents, self._document_ends, number)

    def documents(self, numbers: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The terms of items, one item behind the other, and how many each has."""
        ends = self._document_ends[numbers]
        counts = ends - np.where(numbers > 0, self._document_ends[numbers - 1], 0)
        before = np.cumsum(counts) - counts
        return self._documents[np.repeat(ends - counts - before, counts) + np.arange(counts.sum())], counts

    def spread(self, term: int) -> NDArray[np.uint8]:
        """For each item how often it has a term, up to 255: to look some items up in very many."""
        known = self._spread.peek(term)
        if known is None:
            packed = self.postings_of(term)
            known = np.zeros(len(self), np.uint8)
            known[packed >> FREQUENCY_BITS] = np.minimum(packed & FREQUENCY_MASK, 255)
            self._spread.put(term, known)
        return known

    def postings_of(self, term: int) -> NDArray[np.int64]:
        """The items of a term, with how often it is in each."""
        return _run(self._postings, self._posting_ends, term) if term < len(self.terms) else _NONE


def stored_arrays(
    owners: Sequence[str], terms: Sequence[str], documents: Sequence[NDArray[np.int64]], lengths: NDArray[np.int64]
) -> dict[str, list[NDArray[Any]]]:
    """All of a file but the vectors; terms that no item has are left out."""
    flat = np.concatenate([_NONE, *documents])
    counts = np.array([len(document) for document in documents], np.int64)
    used, numbers = np.unique(flat >> FREQUENCY_BITS, return_inverse=True)
    frequencies, items = flat & FREQUENCY_MASK, np.repeat(np.arange(len(documents)), counts)
    order = np.argsort(numbers, kind="stable")
    return {
        "owners": [_told(owners)],
        "terms": [_told([terms[int(number)] for number in used])],
        "lengths": [lengths],
        "documents": [numbers.astype(np.int64) << FREQUENCY_BITS | frequencies],
        "documents.ends": [np.cumsum(counts)],
        "postings": [(items << FREQUENCY_BITS | frequencies)[order]],
        "postings.ends": [np.cumsum(np.bincount(numbers, minlength=len(used)))],
    }


def _told(texts: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(list(texts)).encode(), np.uint8)


def _texts(file: SectionFile | None, name: str) -> list[str]:
    return [] if file is None else json.loads(file[name].tobytes())


def _matrix(file: SectionFile | None) -> NDArray[np.float32]:
    matrix = None if file is None else file["matrix"]
    return np.zeros((0, 0), np.float32) if matrix is None or matrix.ndim != 2 else matrix


def _runs(file: SectionFile | None, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return (_NONE, _NONE) if file is None else (file[name].astype(np.int64, copy=False), file[f"{name}.ends"])


def _run(flat: NDArray[np.int64], ends: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    return flat[int(ends[number - 1]) if number else 0 : int(ends[number])]
