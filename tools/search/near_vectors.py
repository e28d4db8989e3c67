"""Finds those of very many vectors that may be the nearest; whoever asks compares them exactly.

Product quantisation makes a vector of 384 numbers 96 bytes, and faiss goes through all of them faster than through a
part of anything larger: nothing is left out by a wrong choice of cells, whatever the vectors are like.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

NEAR_FROM: Final = 100_000
"""Vectors from which on an index that is kept in a file has them quantised, too."""

_TRAINED_ON: Final = 4_096
_ROUNDS: Final = 10
_CHUNK: Final = 8_192
_BITS: Final = 4

Rows = Callable[[NDArray[np.intp]], NDArray[np.float32]]
Slots = NDArray[np.intp]


class NearVectors:
    """Vectors as `near_vectors` has quantised them, numbered as they were then."""

    def __init__(self, told: NDArray[np.uint8]) -> None:
        self._index: Any = import_module("faiss").deserialize_index(told)

    def candidates(self, unit: NDArray[np.float32], count: int, allowed: NDArray[np.bool_]) -> Slots:
        """About the nearest vectors to one of length one, at most `count`, of those that are allowed."""
        faiss: Any = import_module("faiss")
        if allowed.all():
            asked = faiss.SearchParametersIVF(nprobe=1)
        else:
            chosen = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
            asked = faiss.SearchParametersIVF(nprobe=1, sel=chosen)
        _, found = self._index.search(unit[None], min(count, int(self._index.ntotal)), params=asked)
        return found[0][found[0] >= 0].astype(np.intp)


def near_vectors(rows: Rows, slots: Slots, known: NDArray[np.uint8] | None = None) -> Sequence[NDArray[np.uint8]]:
    """Quantise the vectors of slots, as an array for a file.

    Args:
        rows: Reads vectors, all of one length.
        known: Such an array of vectors like these: what was learned of those holds for these, too.
    """
    faiss: Any = import_module("faiss")
    if known is None:
        sample = np.random.default_rng(0).permutation(len(slots))[:_TRAINED_ON]
        vectors = rows(slots[np.sort(sample)])
        length = vectors.shape[1]
        alone = faiss.IndexFlatIP(length)  # one cell for all: it is there for its filters
        alone.add(np.zeros((1, length), np.float32))
        parts = length // 2 if length % 2 == 0 else length
        index = faiss.IndexIVFPQFastScan(alone, length, 1, parts, _BITS, faiss.METRIC_INNER_PRODUCT)
        index.by_residual, index.pq.cp.niter = False, _ROUNDS
        index.train(vectors)
    else:
        index = faiss.deserialize_index(known)
        index.reset()
    for start in range(0, len(slots), _CHUNK):
        index.add(rows(slots[start : start + _CHUNK]))
    return [faiss.serialize_index(index)]
