"""Search over memories by keywords and meaning at once: an in-memory index that grows, shrinks and stays exact."""

import math
import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.search.query import Query, Vector, unit_vector
from agentic_memory_bank.tools.search.scoring import Floats, Hit, RankScoring, Scoring
from agentic_memory_bank.tools.search.stored_items import FREQUENCY_BITS, FREQUENCY_MASK, StoredItems, stored_arrays
from agentic_memory_bank.tools.storage.section_file import Arrays, SectionFile

K1 = 0.9
"""BM25: how soon more occurrences of a term stop counting."""

B = 0.4
"""BM25: how much a long text is held against its terms."""

_FIRST_ROWS = 256
_CHUNK = 8_192
_BYTES_PER_TEXT = 200
_BYTES_PER_DOCUMENT = 1_000
_BATCH = 64


class HybridIndex:
    """Items with terms and, mostly, a vector; ranked by `alpha * keyword + (1 - alpha) * cosine`.

    Keyword is BM25 divided by the best BM25 among the items a search may return. An item found by either lane alone can
    win. After any sequence of `put` and `remove`, a search returns exactly what an index built anew from the same items
    returns: equal scores are ordered by id, and the vectors of all close candidates are compared again in double
    precision, because a float32 matrix product depends on where in the matrix a row stands.

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

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes; what is mapped from a file is not counted."""
        texts = _BYTES_PER_TEXT * (len(self._owners) + len(self._terms))
        return texts + self._matrix.nbytes + _BYTES_PER_DOCUMENT * len(self._documents)

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

    def arrays(self) -> Arrays:
        """All items, as the arrays of a file that an index can begin with; nothing of removed ones is in them."""
        with self._lock:
            slots = np.array(list(self._slots.values()), np.intp)
            documents = [self._document(slot) for slot in slots.tolist()]
            chunks = (self._rows(slots[start : start + _CHUNK]) for start in range(0, len(slots), _CHUNK))
            told = stored_arrays(list(self._slots), self._terms, documents, self._lengths[slots])
            return {**told, "has_vector": [self._has_vector[slots]], "matrix": chunks if self._vectors else []}

    def _document(self, slot: int) -> NDArray[np.int64]:
        first = len(self._stored)
        return self._stored.document(slot) if slot < first else np.array(self._documents[slot - first], np.int64)

    def _rows(self, slots: NDArray[np.intp]) -> NDArray[np.float32]:
        """The vectors of slots; zeros where there is none."""
        rows, first = np.zeros((len(slots), self._dimension or 0), np.float32), len(self._stored)
        old = (slots < first) & self._has_vector[slots]
        if old.any():
            rows[old] = self._stored.matrix[slots[old]]
        new = (slots >= first) & self._has_vector[slots]
        if new.any():
            rows[new] = self._matrix[slots[new] - first]
        return rows

    # --- searching -------------------------------------------------------------------------------------------------

    def search(
        self,
        terms: Sequence[str],
        vector: Vector | None,
        k: int,
        *,
        alpha: float = 0.5,
        exclude: Collection[str] = frozenset(),
        within: Collection[str] | None = None,
    ) -> list[Hit]:
        """Find the `k` best items, best first; fewer when fewer share a term with the query or have a vector.

        Args:
            terms: Terms of the query, as `tools.text.terms.tokenize` gives them.
            vector: Vector of the query. Without one, keywords alone decide; without terms, the vector alone.
            k: The most that are returned.
            alpha: Weight of keywords, from 0 to 1.
            exclude: Ids not to return. Unknown ones are no error, here and in `within`.
            within: When given, the only ids that may be returned.

        Raises:
            EmbeddingError: The vector is no finite vector of the dimension of the index.
            InputError: `alpha` or `k` is out of range.
        """
        return self.search_many([Query(terms, vector, alpha, exclude, within)], k)[0]

    def search_many(self, queries: Sequence[Query], k: int, *, sequence: Sequence[str] = ()) -> list[list[Hit]]:
        """Search for several queries at once; the result of each is that of `search`, the cost per query lower.

        Args:
            queries: The searches.
            k: How many hits at most for each.
            sequence: Ids of which each query returns only those before its `meets`: as if the rest were in its
                `exclude`, at no cost per id. Unknown ones are no error.

        Raises:
            EmbeddingError: A vector is no finite vector of the dimension of the index.
            InputError: An `alpha` or `k` is out of range.
        """
        if k < 0:
            raise InputError("A search needs a k of 0 or more.")
        with self._lock:
            return [scoring.best(k) for scoring in self._scorings(queries, sequence)]

    def scoring(self, query: Query) -> Scoring:
        """Score all items for one query, to be asked for the best and for others; it is good until the index changes.

        Raises:
            EmbeddingError: The vector is no finite vector of the dimension of the index.
            InputError: `alpha` is out of range.
        """
        with self._lock:
            return next(self._scorings([query], ()))

    def rarity(self, term: str) -> float:
        """How much a term says in this index (the IDF of BM25); 0 for one that no item has."""
        frequency = self._frequencies[self._term_ids[term]] if term in self._term_ids else 0
        return math.log1p((len(self._slots) - frequency + 0.5) / (frequency + 0.5)) if frequency else 0.0

    def _scorings(self, queries: Sequence[Query], sequence: Sequence[str]) -> Iterator[Scoring]:
        if not all(0 <= query.alpha <= 1 for query in queries):
            raise InputError("A search needs an alpha from 0 to 1.")
        units = [self._unit(query.vector) for query in queries]
        norms, late = self._length_norms(), self._places(sequence)
        for query, unit, cosines in zip(queries, units, self._rough_cosines(units), strict=True):
            yield self._scoring(query, unit, cosines, norms, self._allowed(query, late))

    def _length_norms(self) -> Floats:
        """For each slot, what BM25 adds to a term's count below the line; it changes with every item put."""
        average = self._total_length / max(1, len(self._slots)) or 1.0
        return np.asarray(K1 * (1 - B + B / average * self._lengths[: len(self._owners)]), np.float64)

    def _rough_cosines(self, units: list[NDArray[np.float32] | None]) -> Iterator[NDArray[np.float32] | None]:
        """For each query, its cosine with each slot, in single precision, a batch of queries at a time."""
        for start in range(0, len(units), _BATCH):
            batch = units[start : start + _BATCH]
            present = [unit for unit in batch if unit is not None]
            products = iter(self._products(np.stack(present, axis=1)).T if present and self._vectors else ())
            yield from (next(products, None) if unit is not None else None for unit in batch)

    def _products(self, units: NDArray[np.float32]) -> NDArray[np.float32]:
        later = self._matrix[: len(self._owners) - len(self._stored)] @ units
        if not len(self._stored):
            return later
        # An index of vectors of another length has none in the file, where then all items were removed.
        fits = self._stored.matrix.shape[1] == len(units)
        first = self._stored.matrix @ units if fits else np.zeros((len(self._stored), units.shape[1]), np.float32)
        return np.concatenate([first, later])

    def _scoring(
        self,
        query: Query,
        unit: NDArray[np.float32] | None,
        cosines: NDArray[np.float32] | None,
        norms: Floats,
        allowed: NDArray[np.bool_],
    ) -> Scoring:
        alpha = 1.0 if unit is None else query.alpha if query.terms else 0.0
        keywords = self._keywords(query.terms, norms)
        found = keywords > 0 if alpha else np.zeros(len(keywords), bool)
        if alpha < 1:
            found |= self._has_vector[: len(found)]
        keywords[~allowed] = 0
        keywords /= keywords.max(initial=0.0) or 1.0
        rough = np.zeros(len(keywords)) if cosines is None else _padded(cosines, len(keywords)).astype(np.float64)
        make = RankScoring if query.by_rank else Scoring
        exact = partial(self._exact_cosines, unit=unit)
        return make(self._owners, self._slots, alpha, keywords, rough, found & allowed, exact)

    def _keywords(self, terms: Sequence[str], norms: Floats) -> Floats:
        """BM25 of each slot; terms add up in the order of the query, so the sum does not depend on the slot."""
        scores = np.zeros(len(norms))
        for term, count in Counter(terms).items():
            term_id = self._term_ids.get(term)
            if term_id is None or not self._frequencies[term_id]:
                continue
            later = np.array(self._postings.get(term_id, ()), np.int64)
            packed = np.concatenate([self._stored.postings_of(term_id), later]) if len(self._stored) else later
            slots, counts = packed >> FREQUENCY_BITS, (packed & FREQUENCY_MASK).astype(np.float64)
            scores[slots] += count * self.rarity(term) * (K1 + 1) * counts / (counts + norms[slots])
        return scores

    def _places(self, sequence: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The slots of the ids that are known, and the position of each in the sequence."""
        known = [(slot, position) for position, id in enumerate(sequence) if (slot := self._slots.get(id)) is not None]
        return np.array([slot for slot, _ in known], np.intp), np.array([position for _, position in known], np.intp)

    def _allowed(self, query: Query, places: tuple[NDArray[np.intp], NDArray[np.intp]]) -> NDArray[np.bool_]:
        allowed = self._alive[: len(self._owners)].copy()
        if query.within is not None:
            inside = np.zeros(len(allowed), bool)
            inside[[self._slots[id] for id in query.within if id in self._slots]] = True
            allowed &= inside
        if query.meets is not None:
            slots, positions = places
            allowed[slots[np.searchsorted(positions, query.meets) :]] = False
        allowed[[self._slots[id] for id in query.exclude if id in self._slots]] = False
        return allowed

    def _exact_cosines(self, slots: NDArray[np.intp], unit: NDArray[np.float32] | None) -> Floats:
        """Cosines in double precision, each row summed by itself; 0 for an item without a vector."""
        cosines = np.zeros(len(slots))
        if unit is None or not self._vectors:
            return cosines
        for start in range(0, len(slots), 4_096):
            part = slots[start : start + 4_096]
            known = self._has_vector[part]
            products = self._rows(part[known]).astype(np.float64) * unit.astype(np.float64)
            cosines[start : start + 4_096][known] = products.sum(axis=1)
        return cosines.clip(-1, 1)


def _grown(values: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([values, np.zeros(len(values), values.dtype)])


def _padded(cosines: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Lengthen cosines for the last slots, which have no row when their items came without vectors."""
    return cosines if len(cosines) == size else np.concatenate([cosines, np.zeros(size - len(cosines), np.float32)])
