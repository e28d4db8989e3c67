"""Finds those of very many vectors that may be the nearest; whoever asks compares them exactly.

Product quantisation makes a vector of 384 numbers 96 bytes, so small that faiss goes through a third of all of them:
hardly anything is left out by the choice of cells.
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
_CELLS: Final = 64
_PROBED: Final = 0.35
"""The share of the cells that is gone through."""

Rows = Callable[[NDArray[np.intp]], NDArray[np.float32]]
Slots = NDArray[np.intp]


class NearVectors:
    """Vectors as `near_vectors` has quantised them, numbered as they were then."""

    def __init__(self, told: NDArray[np.uint8]) -> None:
        self._index: Any = import_module("faiss").deserialize_index(told)

    def candidates(
        self, unit: NDArray[np.float32], count: int, allowed: NDArray[np.bool_]
    ) -> tuple[Slots, NDArray[np.float32]]:
        """About the nearest vectors to one of length one, at most `count`, of those that are allowed; rough cosines.

        Where few are allowed, they may be far away: then more cells are gone through, or all.
        """
        faiss: Any = import_module("faiss")
        cells = int(self._index.nlist)
        if allowed.all():
            asked = faiss.SearchParametersIVF(nprobe=max(1, round(_PROBED * cells)))
        else:
            chosen = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
            share = min(1.0, _PROBED * len(allowed) / max(1, np.count_nonzero(allowed)))
            asked = faiss.SearchParametersIVF(nprobe=max(1, round(share * cells)), sel=chosen)
        cosines, found = self._index.search(unit[None], min(count, int(self._index.ntotal)), params=asked)
        is_one = found[0] >= 0
        return found[0][is_one].astype(np.intp), cosines[0][is_one]


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
        parts = length // 2 if length % 2 == 0 else length
        cells = max(1, min(_CELLS, len(vectors) // 64))
        centres = faiss.IndexFlatIP(length)
        index = faiss.IndexIVFPQFastScan(centres, length, cells, parts, _BITS, faiss.METRIC_INNER_PRODUCT)
        index.by_residual, index.pq.cp.niter = False, _ROUNDS
        index.train(vectors)
    else:
        index = faiss.deserialize_index(known)
        index.reset()
    for start in range(0, len(slots), _CHUNK):
        index.add(rows(slots[start : start + _CHUNK]))
    return [faiss.serialize_index(index)]
