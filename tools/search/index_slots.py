"""The items of a search index, each in a slot: those of a file first, what came later behind them, in memory."""

import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.tools.search.near_vectors import NEAR_FROM, near_vectors
from agentic_memory_bank.tools.search.query import Vector, unit_vector
from agentic_memory_bank.tools.search.stored_items import FREQUENCY_BITS, FREQUENCY_MASK, StoredItems, stored_arrays
from agentic_memory_bank.tools.storage.section_file import Arrays, SectionFile, rows_sums, sums_of

_FIRST_ROWS: Final = 256
_CHUNK: Final = 8_192
_BYTES_PER_TEXT: Final = 200
_BYTES_PER_DOCUMENT: Final = 1_000


class IndexSlots:
    """What a `HybridIndex` holds, and all that changes it.

    Each item owns a slot: a row of the matrix and a number in the postings. Slots of removed items are skipped until
    they outnumber the living, then the index is packed; so each operation costs the length of its item, amortised.
    A call is safe from any thread; one at a time is served.

    Args:
        file: A file that the `arrays` of an index were written to, to begin with its items. They are the first slots,
            and stay in the file: what comes later is held in memory.
    """

    def __init__(self, file: SectionFile | None = None) -> None:
        self._lock = threading.RLock()
        self._clear()
        if file is not None:
            self._begin_with(StoredItems(file))

    def _begin_with(self, stored: StoredItems) -> None:
        self._stored = stored
        self._owners, self._terms = list(stored.owners), list(stored.terms)
        self._slots = {id: slot for slot, id in enumerate(self._owners)}
        self._term_ids = {term: number for number, term in enumerate(self._terms)}
        self._frequencies = stored.frequencies.tolist()
        self._alive = np.ones(len(stored), bool)
        self._has_vector, self._lengths = stored.has_vector.copy(), stored.lengths.copy()
        self._total_length, self._vectors = int(self._lengths.sum()), int(self._has_vector.sum())
        if self._vectors:
            self._matrix = np.zeros((0, stored.matrix.shape[1]), np.float32)
            self._dimension = self._matrix.shape[1]

    def _clear(self) -> None:
        self._slots: dict[str, int] = {}
        self._total_length = 0
        self._vectors = 0
        self._dimension: int | None = None
        self._matrix = np.zeros((0, 0), np.float32)
        self._clear_slots()

    def _clear_slots(self) -> None:
        self._stored = StoredItems()
        self._owners: list[str] = []
        self._documents: list[array[int]] = []
        """Of the slots behind those of the file; so are the rows of `_matrix`."""
        self._term_ids: dict[str, int] = {}
        self._terms: list[str] = []
        self._postings: defaultdict[int, array[int]] = defaultdict(partial(array, "q"))
        self._frequencies: list[int] = []
        self._alive = np.zeros(_FIRST_ROWS, bool)
        self._has_vector = np.zeros(_FIRST_ROWS, bool)
        self._lengths = np.zeros(_FIRST_ROWS, np.int64)
        self._norms = (0, 0, 0), np.zeros(0, np.float64)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes; what is mapped from a file is not counted."""
        texts = _BYTES_PER_TEXT * (len(self._owners) + len(self._terms))
        later = self._matrix.nbytes + _BYTES_PER_DOCUMENT * len(self._documents)
        return texts + later + (0 if self._stored.quantised is None else self._stored.quantised.nbytes)

    def __contains__(self, id: object) -> bool:
        return id in self._slots

    def __iter__(self) -> Iterator[str]:
        """The ids of all items, oldest first."""
        return iter(list(self._slots))

    # --- writing ---------------------------------------------------------------------------------------------------

    def put(self, id: str, terms: Sequence[str], vector: Vector | None) -> None:
        """Add an item, or replace the one of this id.

        Args:
            id: Id of the item.
            terms: Index terms with repetitions, as `tools.text.terms.tokenize` gives them.
            vector: Vector of any length, or None. A vector of zeros counts as none.

        Raises:
            EmbeddingError: The vector is no finite vector of the dimension of the others; the index is unchanged.
        """
        with self._lock:
            unit = self._unit(vector, replaces=id)
            self.remove(id)
            if unit is not None:
                self._dimension = len(unit)
            slot = self._append(id, Counter(terms), len(terms))
            if unit is not None:
                self._set_vector(slot, unit)

    def remove(self, id: str) -> None:
        """Take an item out. An unknown id is no error."""
        with self._lock:
            slot = self._slots.pop(id, None)
            if slot is None:
                return
            for packed in self._document(slot).tolist():
                self._frequencies[packed >> FREQUENCY_BITS] -= 1
            self._total_length -= int(self._lengths[slot])
            self._vectors -= int(self._has_vector[slot])
            self._alive[slot] = self._has_vector[slot] = False
            if slot >= len(self._stored):
                self._documents[slot - len(self._stored)] = array("q")
            if not self._vectors:
                self._dimension, self._matrix = None, np.zeros((0, 0), np.float32)
            if not self._slots:
                self._clear()
            elif len(self._owners) > 2 * len(self._slots) + _FIRST_ROWS:
                self._pack()

    def _unit(self, vector: Vector | None, replaces: str | None = None) -> NDArray[np.float32] | None:
        """Check a vector, which may take the place of an item's, and bring it to length one."""
        return None if vector is None else unit_vector(vector, self._dimension_without(replaces))

    def _dimension_without(self, id: str | None) -> int | None:
        """The dimension that vectors must have once this item is gone; None when no other item has one."""
        slot = None if id is None else self._slots.get(id)
        alone = slot is not None and self._vectors == 1 and self._has_vector[slot]
        return None if alone else self._dimension

    def _append(self, id: str, counts: Counter[str], length: int) -> int:
        slot = len(self._owners)
        if slot == len(self._alive):
            self._alive, self._has_vector = _grown(self._alive), _grown(self._has_vector)
            self._lengths = _grown(self._lengths)
        document, place = array("q"), slot << FREQUENCY_BITS
        known, postings, frequencies = self._term_ids, self._postings, self._frequencies
        for term, count in counts.items():
            term_id = known.get(term)
            if term_id is None:
                term_id = self._new_term(term)
            if count > FREQUENCY_MASK:
                count = FREQUENCY_MASK
            postings[term_id].append(place | count)
            frequencies[term_id] += 1
            document.append(term_id << FREQUENCY_BITS | count)
        self._owners.append(id)
        self._documents.append(document)
        self._slots[id] = slot
        self._alive[slot], self._lengths[slot] = True, length
        self._total_length += length
        return slot

    def _new_term(self, term: str) -> int:
        term_id = self._term_ids[term] = len(self._terms)
        self._terms.append(term)
        self._frequencies.append(0)
        return term_id

    def _set_vector(self, slot: int, unit: NDArray[np.float32]) -> None:
        row = slot - len(self._stored)
        if row >= len(self._matrix) or self._matrix.shape[1] != len(unit):
            rows = np.zeros((max(_FIRST_ROWS, len(self._alive) - len(self._stored)), len(unit)), np.float32)
            if self._matrix.size:
                rows[: len(self._matrix)] = self._matrix
            self._matrix = rows
        self._matrix[row] = unit
        self._has_vector[slot] = True
        self._vectors += 1

    def _pack(self) -> None:
        """Give the living items new slots without gaps, and forget terms that no item has any more."""
        terms, lengths, has_vector, slots = self._terms, self._lengths, self._has_vector, self._slots
        documents = [self._document(old).tolist() for old in slots.values()]
        rows = self._rows(np.array(list(slots.values()), np.intp)) if self._vectors else ()
        self._slots, self._total_length, self._vectors = {}, 0, 0
        self._matrix = np.zeros((0, self._dimension or 0), np.float32)
        self._clear_slots()
        for place, (id, old) in enumerate(slots.items()):
            packed = documents[place]
            counts = Counter({terms[one >> FREQUENCY_BITS]: one & FREQUENCY_MASK for one in packed})
            new = self._append(id, counts, int(lengths[old]))
            if has_vector[old]:
                self._set_vector(new, rows[place])

    # --- what is in the file, and what came later ------------------------------------------------------------------

    def snapshot(self) -> Self:
        """What it holds now, to be told by `arrays` while this one goes on; rows and documents are never changed."""
        with self._lock:
            twin = copy(self)
            twin._lock = threading.RLock()
            twin._slots, twin._terms, twin._documents = dict(self._slots), list(self._terms), list(self._documents)
            twin._has_vector, twin._lengths = self._has_vector.copy(), self._lengths.copy()
            return twin

    def arrays(self) -> Arrays:
        """All items, as the arrays of a file that an index can begin with; nothing of removed ones is in them."""
        with self._lock:
            slots = np.array(list(self._slots.values()), np.intp)
            documents = [self._document(slot) for slot in slots.tolist()]
            chunks = (self._rows(slots[start : start + _CHUNK]) for start in range(0, len(slots), _CHUNK))
            told: Arrays = {
                **stored_arrays(list(self._slots), self._terms, documents, self._lengths[slots]),
                "has_vector": [self._has_vector[slots]],
                "matrix": chunks if self._vectors else [],
            }
            return {**told, **self._near_arrays(slots)} if self._vectors >= NEAR_FROM else told

    def _near_arrays(self, slots: NDArray[np.intp]) -> Arrays:
        """What makes so many vectors quick to open and to search."""
        sums = (rows_sums(self._rows(slots[start : start + _CHUNK])) for start in range(0, len(slots), _CHUNK))
        known = self._stored.quantised if self._stored.matrix.shape[1] == self._dimension else None
        return {sums_of("matrix"): sums, "near": near_vectors(self._rows, slots, known)}

    def _document(self, slot: int) -> NDArray[np.int64]:
        first = len(self._stored)
        return self._stored.document(slot) if slot < first else np.array(self._documents[slot - first], np.int64)

    def _rows(self, slots: NDArray[np.intp]) -> NDArray[np.float32]:
        """The vectors of slots; zeros where there is none."""
        rows, first = np.zeros((len(slots), self._dimension or 0), np.float32), len(self._stored)
        old = (slots < first) & self._has_vector[slots]
        if old.any():
            rows[old] = self._stored.rows(slots[old])
        new = (slots >= first) & self._has_vector[slots]
        if new.any():
            rows[new] = self._matrix[slots[new] - first]
        return rows


def _grown(values: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([values, np.zeros(len(values), values.dtype)])
