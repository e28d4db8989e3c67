"""How very many items fit one query: each lane names those who may be the best, and these are compared exactly."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.tools.search.scoring import RANKED, Floats, Hit, RankScoring, Scoring, Slots

DEPTH: Final = 1_024
"""How many items are named at least."""
WIDER: Final = 8
"""So many times as many it looks at, of which those are named who may be the best by both lanes together."""
SPARE: Final = 16
"""How many are named for each that is wanted."""
FEW: Final = 4_096
"""Where no more items than these may be found, all are compared."""

Lanes = Callable[[int], tuple[Slots, float]]
"""Names so many items, and the best BM25 of all."""
Compared = Callable[[Slots], tuple[Floats, Floats]]
"""BM25 and cosine of items, exactly."""


class NearScoring(Scoring):
    """Stands for the `Scoring` of all items, of which it never makes one."""

    def __init__(
        self,
        owners: Sequence[str],
        slots: Mapping[str, int],
        alpha: float,
        allowed: NDArray[np.bool_],
        has_vector: NDArray[np.bool_],
        lanes: Lanes,
        compared: Compared,
        *,
        by_rank: bool,
    ) -> None:
        self._owners, self._slots, self._alpha = owners, slots, alpha
        self._allowed, self._has_vector, self._lanes, self._compared = allowed, has_vector, lanes, compared
        self._make, self._least = (RankScoring, RANKED) if by_rank else (Scoring, DEPTH)
        self._first, self._most = lanes(self._least)

    def best(self, k: int, least: float | None = None, spared: Iterable[str] = ()) -> list[Hit]:
        """The k best items, best first; as in `Scoring`."""
        count = max(self._least, SPARE * k)
        named = self._first if count == self._least else self._lanes(count)[0]
        named = sorted_union(named, self._known(spared)[:FEW])
        return self._scoring(named).best(k, least, spared)

    def of(self, ids: Iterable[str]) -> dict[str, Hit]:
        """What a search for everything would return of these items; as in `Scoring`."""
        wanted = list(ids)
        return self._scoring(sorted_union(self._known(wanted), self._ranked())).of(wanted)

    def _ranked(self) -> Slots:
        """Those that a rank is counted among."""
        return self._first if self._make is RankScoring else self._first[:0]

    def _known(self, ids: Iterable[str]) -> Slots:
        return np.array([slot for id in ids if (slot := self._slots.get(id)) is not None], np.intp)

    def _scoring(self, slots: Slots) -> Scoring:
        slots = slots[self._allowed[slots]]
        keywords, cosines = self._compared(slots)
        numbers: list[int] = slots.tolist()
        owners = [self._owners[number] for number in numbers]
        places = {id: place for place, id in enumerate(owners)}
        found = keywords > 0 if self._alpha else np.zeros(len(slots), bool)
        if self._alpha < 1:
            found |= self._has_vector[slots]
        share = keywords / (self._most or 1.0)
        return self._make(owners, places, self._alpha, share, cosines, found, lambda some: cosines[some])


def sorted_union(first: Slots, second: Slots) -> Slots:
    """The slots of both, each once, in order; `numpy.union1d` hashes them first, which takes several times as long."""
    both = np.concatenate([first, second])
    both.sort()
    return both[np.append(True, both[1:] != both[:-1])] if len(both) else both
