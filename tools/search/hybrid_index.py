"""Search over memories by keywords and meaning at once: an in-memory index that grows, shrinks and stays exact."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.search.index_slots import IndexSlots
from agentic_memory_bank.tools.search.near_scoring import FEW, WIDER, NearScoring, sorted_union
from agentic_memory_bank.tools.search.query import Query, Vector
from agentic_memory_bank.tools.search.scoring import Floats, Hit, RankScoring, Scoring, Slots
from agentic_memory_bank.tools.search.stored_items import FREQUENCY_BITS, FREQUENCY_MASK

K1 = 0.9
"""BM25: how soon more occurrences of a term stop counting."""

B = 0.4
"""BM25: how much a long text is held against its terms."""

_BATCH = 64
_POSTINGS = 150_000
"""Among very many items, how many postings of a query's terms are read besides those of the rarest one."""
_FIRST = 16
"""Among how many of the best by keywords, roughly, the best is."""
_ALL = 65_536
"""Whoever wants so many of them has all compared."""


class HybridIndex(IndexSlots):
    """Items with terms and, mostly, a vector; ranked by `alpha * keyword + (1 - alpha) * cosine`.

    Keyword is BM25 divided by the best BM25 among the items a search may return. An item found by either lane alone can
    win. After any sequence of `put` and `remove`, a search returns exactly what an index built anew from the same items
    returns: equal scores are ordered by id, and the vectors of all close candidates are compared again in double
    precision, because a float32 matrix product depends on where in the matrix a row stands.

    Where the file has its vectors quantised, since they are very many, they say who is compared, and so do the rarest
    terms: what is returned is scored as ever, and hardly ever lacks one of the best; filters and removals are exact.
    """

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
        frequency = self._frequency(term)
        return math.log1p((len(self._slots) - frequency + 0.5) / (frequency + 0.5)) if frequency else 0.0

    def _scorings(self, queries: Sequence[Query], sequence: Sequence[str]) -> Iterator[Scoring]:
        if not all(0 <= query.alpha <= 1 for query in queries):
            raise InputError("A search needs an alpha from 0 to 1.")
        units = [self._unit(query.vector) for query in queries]
        late = self._places(sequence)
        if self._stored.near is not None:
            pairs = zip(queries, units, strict=True)
            yield from (self._near_scoring(query, unit, self._allowed(query, late)) for query, unit in pairs)
            return
        norms = self._length_norms()
        for query, unit, cosines in zip(queries, units, self._rough_cosines(units), strict=True):
            yield self._scoring(query, unit, cosines, norms, self._allowed(query, late))

    def _length_norms(self) -> Floats:
        """For each slot, what BM25 adds to a term's count below the line; it changes with every item put."""
        known = self._total_length, len(self._slots), len(self._owners)
        if self._norms[0] != known:
            self._norms = known, self._norms_of(slice(len(self._owners)))
        return self._norms[1]

    def _norms_of(self, slots: Slots | slice) -> Floats:
        """The same for some slots: of very many, an item that is put changes them all."""
        average = self._total_length / max(1, len(self._slots)) or 1.0
        return np.asarray(K1 * (1 - B + B / average * self._lengths[slots]), np.float64)

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
        alpha = _alpha(query, unit)
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
            if self._frequency(term):
                slots, counts = self._occurrences(term)
                scores[slots] += count * self.rarity(term) * (K1 + 1) * counts / (counts + norms[slots])
        return scores

    def _occurrences(self, term: str) -> tuple[Slots, Floats]:
        """The slots that have a term, removed ones among them, and how often."""
        term_id = self._term_ids[term]
        later = np.array(self._postings.get(term_id, ()), np.int64)
        packed = np.concatenate([self._stored.postings_of(term_id), later]) if len(self._stored) else later
        return packed >> FREQUENCY_BITS, (packed & FREQUENCY_MASK).astype(np.float64)

    def _frequency(self, term: str) -> int:
        return self._frequencies[self._term_ids[term]] if term in self._term_ids else 0

    def _places(self, sequence: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The slots of the ids that are known, and the position of each in the sequence."""
        known = [(slot, position) for position, id in enumerate(sequence) if (slot := self._slots.get(id)) is not None]
        return np.array([slot for slot, _ in known], np.intp), np.array([position for _, position in known], np.intp)

    def _allowed(self, query: Query, places: tuple[NDArray[np.intp], NDArray[np.intp]]) -> NDArray[np.bool_]:
        allowed = self._alive[: len(self._owners)].copy()
        if query.within is not None:
            inside = np.zeros(len(allowed), bool)
            inside[self._slots_of(query.within)] = True
            allowed &= inside
        if query.meets is not None:
            slots, positions = places
            allowed[slots[np.searchsorted(positions, query.meets) :]] = False
        allowed[self._slots_of(query.exclude)] = False
        return allowed

    def _slots_of(self, ids: Iterable[str]) -> list[int]:
        return [slot for slot in map(self._slots.get, ids) if slot is not None]

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

    # --- searching very many ---------------------------------------------------------------------------------------

    def _near_scoring(self, query: Query, unit: NDArray[np.float32] | None, allowed: NDArray[np.bool_]) -> Scoring:
        alpha = _alpha(query, unit)
        words = Counter(query.terms)

        def lanes(count: int) -> tuple[Slots, float]:
            if count >= _ALL or np.count_nonzero(allowed) <= max(FEW, count):
                named = np.flatnonzero(allowed)
                return named, float(self._keywords_of(named, words).max(initial=0.0))
            keywords, by_words = self._by_words(words, allowed, WIDER * count)
            by_vector, cosines = self._by_vector(unit if alpha < 1 else None, allowed, WIDER * count)
            most = float(self._keywords_of(by_words[:_FIRST], words).max(initial=0.0))
            if query.by_rank:
                return sorted_union(by_words[:count], by_vector[:count]), most
            named, order = sorted_union(by_words, by_vector), np.argsort(by_vector)
            near = np.full(len(named), cosines.min(initial=1.0))  # of one that is not named, at most
            near[np.searchsorted(named, by_vector[order])] = cosines[order]
            return named[_highest(alpha * keywords[named] / (most or 1.0) + (1 - alpha) * near, count)], most

        def compared(slots: Slots) -> tuple[Floats, Floats]:
            return self._keywords_of(slots, words), self._exact_cosines(slots, unit)

        has_vector, by_rank = self._has_vector[: len(self._owners)], query.by_rank
        return NearScoring(self._owners, self._slots, alpha, allowed, has_vector, lanes, compared, by_rank=by_rank)

    def _by_words(
        self, words: Counter[str], allowed: NDArray[np.bool_], count: int
    ) -> tuple[NDArray[np.float32], Slots]:
        """Rough BM25 of all slots, and the best of those that have one of the rarest terms, best first.

        Which of these have the other terms is looked up; whoever has only those that most items have is left out.
        """
        scores = np.zeros(len(allowed), np.float32)
        terms = sorted(filter(self._frequency, words), key=self._frequency)
        rare = max(1, int(np.searchsorted(np.cumsum([self._frequency(term) for term in terms]), _POSTINGS, "right")))
        for term in terms[:rare]:
            slots, counts = self._occurrences(term)
            scores[slots] += self._part(words, term, counts, self._norms_of(slots))
        met = np.flatnonzero((scores > 0) & allowed)
        found, norms = scores[met], self._norms_of(met)
        for term in terms[rare:]:
            found += self._part(words, term, self._counts(term, met), norms)
        scores[met] = found
        best = _highest(found, count)
        return scores, met[best[np.argsort(-found[best])]]

    def _part(self, words: Counter[str], term: str, counts: Floats, norms: Floats) -> Floats:
        """What a term adds to the BM25 of items."""
        return words[term] * self.rarity(term) * (K1 + 1) * counts / (counts + norms)

    def _counts(self, term: str, slots: Slots) -> Floats:
        """How often slots, in their order, have a term."""
        term_id, first = self._term_ids[term], len(self._stored)
        counts, begin = np.zeros(len(slots)), int(np.searchsorted(slots, first))
        if term_id < len(self._stored.terms):
            counts[:begin] = self._stored.spread(term_id)[slots[:begin]]
        for place in range(begin, len(slots)):
            document = self._document(int(slots[place]))
            counts[place] = (document[document >> FREQUENCY_BITS == term_id] & FREQUENCY_MASK).sum()
        return counts

    def _by_vector(
        self, unit: NDArray[np.float32] | None, allowed: NDArray[np.bool_], count: int
    ) -> tuple[Slots, NDArray[np.float32]]:
        """About the nearest of the file and of what came later, nearest first, with rough cosines."""
        first, near = len(self._stored), self._stored.near
        slots, rough = np.zeros(0, np.intp), np.zeros(0, np.float32)
        if unit is None or near is None or not self._vectors:
            return slots, rough
        there = allowed & self._has_vector[: len(allowed)]
        if self._stored.matrix.shape[1] == len(unit):
            slots, rough = near.candidates(unit, count, there[:first])
        later = np.flatnonzero(there[first : first + len(self._matrix)])
        cosines = self._matrix[later] @ unit
        slots, rough = np.concatenate([slots, first + later]), np.concatenate([rough, cosines])
        best = _highest(rough, count)
        best = best[np.argsort(-rough[best])]
        return slots[best], rough[best]

    def _keywords_of(self, slots: Slots, words: Counter[str]) -> Floats:
        """BM25 of some slots, in double precision and in the order of the query, as for all of them."""
        scores = np.zeros(len(slots))
        known = [term for term in words if self._frequency(term)]
        if not known or not len(slots):
            return scores
        is_stored = slots < len(self._stored)
        packed, lengths = self._stored.documents(slots[is_stored])
        later = [self._document(slot) for slot in slots[~is_stored].tolist()]
        packed, norms = np.concatenate([packed, *later]), self._norms_of(slots)
        order = np.concatenate([np.flatnonzero(is_stored), np.flatnonzero(~is_stored)])
        places = np.repeat(order, [*lengths.tolist(), *map(len, later)])
        for term in known:
            has_it = packed >> FREQUENCY_BITS == self._term_ids[term]
            some, counts = places[has_it], (packed[has_it] & FREQUENCY_MASK).astype(np.float64)
            scores[some] += self._part(words, term, counts, norms[some])
        return scores


def _alpha(query: Query, unit: NDArray[np.float32] | None) -> float:
    """The weight of keywords where one lane alone may have anything to say."""
    return 1.0 if unit is None else query.alpha if query.terms else 0.0


def _highest(scores: NDArray[np.floating], count: int) -> NDArray[np.intp]:
    """The places of the highest scores."""
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.argpartition(scores, len(scores) - count)[len(scores) - count :]


def _padded(cosines: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Lengthen cosines for the last slots, which have no row when their items came without vectors."""
    return cosines if len(cosines) == size else np.concatenate([cosines, np.zeros(size - len(cosines), np.float32)])
