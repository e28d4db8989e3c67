"""How all items of a search index fit one query: rough scores choose who is looked at, exact ones are returned."""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

RANK_CONSTANT = 60
"""Reciprocal rank fusion: how little the first ranks differ."""

RANKED = 1_000
"""Reciprocal rank fusion: how many items of each lane have a rank."""

_ROUGH = 1e-4  # above the error of a float32 product of two unit vectors of any usual dimension

Floats = NDArray[np.float64]
Slots = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Hit:
    """One item found. `keyword` is in [0, 1], `cosine` in [-1, 1]; a lane that says nothing of the item is 0."""

    id: str
    score: float
    keyword: float
    cosine: float


class Scoring:
    """How all items of an index fit one query; `HybridIndex.scoring` makes it, and it is good until the index changes.

    Rough scores choose who is looked at; what is returned is exact.
    """

    def __init__(
        self,
        owners: Sequence[str],
        slots: Mapping[str, int],
        alpha: float,
        keywords: Floats,
        cosines: Floats,
        found: NDArray[np.bool_],
        exact: Callable[[Slots], Floats],
    ) -> None:
        self._owners, self._slots, self._alpha = owners, slots, alpha
        self._keywords, self._found, self._exact = keywords, found, exact
        self._cosines = cosines
        self._rough = self._roughly(cosines)

    def best(self, k: int, least: float | None = None, spared: Iterable[str] = ()) -> list[Hit]:
        """The k best items, best first.

        Args:
            k: The most that are returned.
            least: Cosine below which an item is left out (some that are hardly below it may be there); None: none is.
            spared: Ids of items that are not, whatever their cosine.
        """
        slots = np.flatnonzero(self._found if least is None else self._found & self._near(least, spared))
        if not k or not len(slots):
            return []
        hits = self._hits(slots[_promising(self._rough[slots], k)])
        return heapq.nsmallest(k, hits, key=lambda hit: (-hit.score, hit.id))

    def of(self, ids: Iterable[str]) -> dict[str, Hit]:
        """What a search for everything would return of these items; those it would not return are left out."""
        slots = np.array([slot for id in ids if (slot := self._slots.get(id)) is not None], np.intp)
        return {hit.id: hit for hit in self._hits(slots[self._found[slots]])}

    def _near(self, least: float, spared: Iterable[str]) -> NDArray[np.bool_]:
        near = self._cosines >= least - _ROUGH
        near[[slot for id in spared if (slot := self._slots.get(id)) is not None]] = True
        return near

    def _roughly(self, cosines: Floats) -> Floats:
        return self._alpha * self._keywords + (1 - self._alpha) * cosines

    def _exactly(self, slots: Slots, cosines: Floats) -> Floats:
        return self._alpha * self._keywords[slots] + (1 - self._alpha) * cosines

    def _hits(self, slots: Slots) -> list[Hit]:
        cosines = self._exact(slots)
        lanes = [values.tolist() for values in (self._exactly(slots, cosines), self._keywords[slots], cosines)]
        owners = [self._owners[slot] for slot in slots.tolist()]
        return list(starmap(Hit, zip(owners, *lanes, strict=True)))


class RankScoring(Scoring):
    """Scores are reciprocal ranks, added up over the lanes and scaled so that first in every lane is 1."""

    def _roughly(self, cosines: Floats) -> Floats:
        lanes = [values for values, weight in ((self._keywords, self._alpha), (cosines, 1 - self._alpha)) if weight]
        scores = np.zeros(len(cosines))
        for lane in lanes:
            slots = np.flatnonzero(self._found & (lane != 0))
            slots = slots[_promising(lane[slots], RANKED)]
            values = self._exact(slots) if lane is cosines else lane[slots]
            order = sorted(range(len(slots)), key=lambda place: (-values[place], self._owners[slots[place]]))
            ranks = RANK_CONSTANT + 1 + np.arange(len(order))
            scores[slots[order]] += (RANK_CONSTANT + 1) / len(lanes) / ranks
        return scores

    def _exactly(self, slots: Slots, cosines: Floats) -> Floats:
        return self._rough[slots]


def _promising(scores: Floats, k: int) -> NDArray[np.intp]:
    """Indices of all scores that may be among the `k` best once computed exactly."""
    if len(scores) <= k:
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    return np.flatnonzero(scores >= least - _ROUGH)
