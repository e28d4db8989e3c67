"""What a hybrid index is asked: terms, a vector, and which items may be found."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.state.errors import EmbeddingError
from agentic_memory_bank.tools.text.cleaning import is_cjk

Vector = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Query:
    """One search of a batch: see `HybridIndex.search` for the fields."""

    terms: Sequence[str]
    vector: Vector | None = None
    alpha: float = 0.5
    exclude: Collection[str] = frozenset()
    within: Collection[str] | None = None
    meets: int | None = None
    """How many of the batch's `sequence`, counted from its start, this search may return; all of them without it."""
    by_rank: bool = False
    """Whether to add up reciprocal ranks instead of scores; `alpha` then only says which lanes there are."""


def alpha_for(query: str, alpha: float, alpha_zh: float) -> float:
    """Choose the weight of keywords by the language of a query: vectors of an English model say little on Chinese."""
    return alpha_zh if is_cjk(query) else alpha


def unit_vector(vector: Vector, dimension: int | None) -> NDArray[np.float32] | None:
    """Bring a vector to length one; None for one of zeros.

    Args:
        dimension: The length it must have; None for any.

    Raises:
        EmbeddingError: It is no finite vector of this length.
    """
    values = np.asarray(vector, np.float64)
    if values.ndim != 1 or values.size != (dimension or values.size) or not values.size:
        raise EmbeddingError(
            f"A vector has the shape {values.shape}; this index holds vectors of {dimension or 'some'} "
            "numbers. Use one embedding model for all texts, or build the index anew."
        )
    if not np.isfinite(values).all():
        raise EmbeddingError("A vector holds NaN or infinity. Embed the text again, or put it without a vector.")
    largest = np.abs(values).max()
    if largest == 0:
        return None
    values = values / largest  # else the squares of tiny or huge numbers leave the range
    return (values / np.sqrt((values * values).sum())).astype(np.float32)
