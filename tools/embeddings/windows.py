"""Texts longer than a model's window: cut into parts, and one vector made of those of the parts."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.tools.text.sentences import sentences

if TYPE_CHECKING:
    from tokenizers import Encoding

Vectors = NDArray[np.float32]
Part = TypeVar("Part")

_SPACE: Final = re.compile(r"\s+")


def in_parts(
    texts: Sequence[str],
    split: Callable[[str], Sequence[Part]],
    embed: Callable[[Sequence[Part]], Vectors],
    length: Callable[[Part], int],
) -> Vectors:
    """One unit vector for each text, made of those of its parts."""
    groups = [split(text) for text in texts]
    made = embed([part for group in groups for part in group])
    if len(made) == len(texts):
        return made
    vectors: list[Vectors] = []
    position = 0
    for group in groups:
        some = made[position : position + len(group)]
        position += len(group)
        vectors.append(mean_by_length(some, [length(part) for part in group]))
    return np.stack(vectors)


def characters(window: int, text: str) -> list[str]:
    """The parts of a text that have at most `window` characters each."""
    if len(text) <= window:
        return [text]
    cuts = cut(text, lambda position: min(position + window, len(text)))
    return [text[start:end] for start, end in cuts] or [text[:window]]  # of white space alone, what fits is as good


def by_pieces(text: str, read: "Encoding", window: int) -> list[tuple[int, int]]:
    """Where the parts of a text begin and end that have at most `window` word pieces each.

    Args:
        read: Its word pieces, without marks of beginning and end.
    """
    words, offsets = read.word_ids, read.offsets
    if len(words) <= window:
        return [(0, len(text))]
    # Between two words the pieces on either side are those of the whole text, so counting once is enough.
    starts = [index for index in range(len(words)) if index == 0 or words[index] != words[index - 1]]
    first = [offsets[index][0] for index in starts]

    def furthest(position: int) -> int:
        here = starts[min(bisect_right(first, position - 1), len(starts) - 1)]
        if here + window >= len(words):
            return len(text)
        return max(first[bisect_right(starts, here + window) - 1], position + 1)

    return cut(text, furthest) or [(0, len(text))]


def cut(text: str, furthest: Callable[[int], int]) -> list[tuple[int, int]]:
    """Where the parts of a text begin and end; parts of white space alone are left out.

    It is cut where a sentence ends, else at white space, else where it must be.

    Args:
        furthest: Says how far a part may go that begins at a position.
    """
    borders = [end for _, end in sentences(text)]
    parts: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = furthest(start)
        if end < len(text):
            end = _border(text, borders, (start + end) // 2, end)
        parts.append((start, end))
        start = end
    return [(start, end) for start, end in parts if not text[start:end].isspace()]


def _border(text: str, borders: list[int], middle: int, end: int) -> int:
    before = bisect_right(borders, end) - 1
    if before >= 0 and borders[before] > middle:
        return borders[before]
    spaces = [space.end() for space in _SPACE.finditer(text, middle, end)]
    return spaces[-1] if spaces else end


def mean_by_length(vectors: Vectors, lengths: Sequence[int]) -> Vectors:
    """The unit vector of a text: that of its only part, or the mean of those of its parts, weighted by length."""
    if len(vectors) == 1:
        return vectors[0].copy()  # a row alone, not its whole batch
    mean = np.average(vectors.astype(np.float64), axis=0, weights=lengths)
    length = float(np.linalg.norm(mean))
    return np.asarray(mean / length if length > 0 else mean, dtype=np.float32)
