"""Where the topic of a text changes, and which of its parts belong together, from vectors and shared words.

Each unit (sentence, turn or paragraph) is compared with the units near it: cosine of their vectors, and cosine of
their rarity-weighted terms. A dynamic programme then picks the consecutive segments whose units are most alike inside;
a price per segment decides how many there are. Time and memory grow linearly with the number of units.

The two numbers that matter, `_PRICE` and `_APART`, were chosen on joined texts, dialogues and meetings, English and
Chinese.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

Array = npt.NDArray[np.float32]

MAX_TOPIC_TOKENS: Final = 450
"""Largest topic made of several units, in estimated tokens: about 350 English words."""

_LONGEST: Final = 64
"""Longest segment, in units, and so how far apart two units may be and still be compared."""

_LEXICAL: Final = 0.4
"""Weight of shared words in the likeness of two units; vectors have the rest."""

_WORDS_ALONE: Final = 4.0
"""How much more shared words count where there are no vectors, so that the other numbers keep their meaning."""

_PRICE: Final = 0.25
"""What each further segment costs, in units of mean likeness."""

_APART: Final = 0.07
"""Mean likeness across a border below which the units on its two sides have nothing in common, however short."""

_CHINESE_FLOOR: Final = 0.4
"""Cosine that a small English model gives to any two Chinese texts; it says nothing, so it counts as no likeness."""

_GLUED: Final = 1e6
"""Price of a border that must not be: more than all the rest can be worth."""

_SHORT_TEXT: Final = 80
"""A text of so many tokens is one topic."""

_SHORT_SEGMENT: Final = 24
"""A segment of fewer tokens says too little to stand alone."""

_ACROSS: Final = 3
"""How many units on either side of a border tell how weak it is."""

_REACH_BACK: Final = 256
"""How many of the latest topics a segment may still join."""

_SLOTS: Final = 512
"""Dimensions that terms are hashed into."""

_HEADING: Final = re.compile(r"\s*#{1,6}[ \t]+\S[^\n]*(?P<alone>\s*\Z)?")


def segment(units: Sequence[str], vectors: Array) -> list[int]:
    """Divide a text into consecutive topics.

    Args:
        units: The sentences, turns or paragraphs of a text, in order.
        vectors: One L2-normalised row for each of them; zeros, where there are none, leave it to the words alone.

    Returns:
        How many units each segment holds, in order; the lengths add up to the number of units.

    Raises:
        InputError: There is not one vector for each unit.
    """
    _check(units, vectors)
    if not units:
        return []
    return [high - low for low, high in _segments(_Likeness(units, vectors), _prices(units))]


def topics(
    units: Sequence[str], vectors: Array, *, max_tokens: int = MAX_TOPIC_TOKENS, same_topic: float = 0.75
) -> list[list[int]]:
    """Group the units of a text by topic, each topic small enough to be read as one memory.

    Neighbouring units are grouped as `segment` finds them, segments of a few words with their closer neighbour, and
    segments that stand apart only when they are clearly on one topic. A heading stays with what follows it.

    Args:
        units: The sentences, turns or paragraphs of a text, in order.
        vectors: One L2-normalised row for each of them; zeros, where there are none, leave it to the words alone.
        max_tokens: Largest topic of more than one unit, in estimated tokens; a heading and what it heads may exceed it.
        same_topic: Cosine from which segments that stand apart are put together; more than 1 keeps them apart.

    Returns:
        Topics as ascending indices of units, ordered by their first; every unit is in exactly one of them.

    Raises:
        InputError: There is not one vector for each unit.
    """
    _check(units, vectors)
    if not units:
        return []
    sizes = [estimate_tokens(unit) for unit in units]
    if sum(sizes) <= min(_SHORT_TEXT, max_tokens):
        return [list(range(len(units)))]
    likeness, prices = _Likeness(units, vectors), _prices(units)
    pieces = [
        piece
        for found in _segments(likeness, prices)
        for piece in _cut_to_size(found, sizes, likeness, prices, max_tokens)
    ]
    groups = [_Group.of(range(low, high), sizes, vectors) for low, high in pieces]
    floor = _CHINESE_FLOOR if is_cjk("".join(units[:_LONGEST])) else 0.0
    joined = _join_short(groups, max_tokens)
    return [group.units for group in _join_alike(joined, max_tokens, floor + same_topic * (1 - floor))]


def _check(units: Sequence[str], vectors: Array) -> None:
    if len(units) != len(vectors):
        raise InputError(f"{len(units)} units came with {len(vectors)} vectors; pass one vector for each unit.")


# ---------------------------------------------------------------------------------------------------------- likeness


class _Likeness:
    """How alike a unit and those before it are: 1 for the same text, about 0 for unrelated ones."""

    def __init__(self, units: Sequence[str], vectors: Array) -> None:
        self._vectors = vectors
        self._words = _word_vectors(units)
        self._cosine_weight, self._word_weight = 1 - _LEXICAL, _LEXICAL
        if not vectors.any():
            self._cosine_weight, self._word_weight = 0.0, _WORDS_ALONE
        self._floors = np.array([_CHINESE_FLOOR if is_cjk(unit) else 0.0 for unit in units], np.float32)

    def __len__(self) -> int:
        return len(self._vectors)

    def between(self, low: int, high: int, other: int) -> Array:
        """The likeness of the units `low` up to `high` to another one."""
        floors = np.minimum(self._floors[low:high], self._floors[other])
        cosines = (self._vectors[low:high] @ self._vectors[other] - floors) / (1 - floors)
        return self._cosine_weight * cosines + self._word_weight * (self._words[low:high] @ self._words[other])


def _word_vectors(units: Sequence[str]) -> Array:
    """Normalised term vectors, hashed into few dimensions; a term counts more the fewer units it stands in."""
    terms = [tokenize(unit) for unit in units]
    frequency = Counter(term for of_unit in terms for term in set(of_unit))
    words: Array = np.zeros((len(units), _SLOTS), np.float32)
    for row, of_unit in zip(words, terms, strict=True):
        for term in of_unit:
            slot, sign = _slot(term)
            row[slot] += sign * np.log1p(len(units) / frequency[term])
    lengths = np.linalg.norm(words, axis=1, keepdims=True)
    return (words / np.where(lengths > 0, lengths, 1)).astype(np.float32)


@lru_cache(maxsize=1 << 16)
def _slot(term: str) -> tuple[int, int]:
    number = int.from_bytes(hashlib.blake2b(term.encode(errors="replace"), digest_size=4).digest(), "little")
    return number % _SLOTS, 1 if number & 1 << 30 else -1


def _prices(units: Sequence[str]) -> list[float]:
    """What it costs to end a segment with each unit: nothing before a heading, and more than all else behind one."""
    headings = [_HEADING.match(unit) for unit in units]
    prices = [0.0 if following else _PRICE for following in headings[1:]]
    return [
        _GLUED if heading and heading["alone"] is not None else price
        for heading, price in zip(headings, prices, strict=False)
    ] + [0.0]


# ---------------------------------------------------------------------------------------------------------- segments


def _segments(likeness: _Likeness, prices: Sequence[float]) -> list[tuple[int, int]]:
    """The segments as first unit and the one past the last."""
    borders = [0, *accumulate(_divide(likeness, prices))]
    return [part for piece in pairwise(borders) for part in _parted(piece, likeness, prices)]


def _divide(likeness: _Likeness, prices: Sequence[float]) -> list[int]:
    """The lengths of the segments with the best total: mean likeness inside each times its length, less its price."""
    best, came_from = np.zeros(len(prices) + 1), np.zeros(len(prices) + 1, np.int64)
    inside = np.zeros(0)
    for last, price in enumerate(prices):
        low = max(0, last - _LONGEST + 1)
        inside = _grown(inside, likeness.between(low, last, last))
        scores = best[low : last + 1] + 2 * inside / np.arange(last + 1 - low, 0, -1)
        choice = int(scores.argmax())
        best[last + 1], came_from[last + 1] = scores[choice] - price, low + choice
    return _lengths(came_from)


def _grown(inside: npt.NDArray[np.float64], near: Array) -> npt.NDArray[np.float64]:
    """For each start in reach, the likeness of all pairs from there on, now that one more unit has come.

    Args:
        inside: The same before it came, the nearest start last.
        near: How much it speaks for a segment with each unit in reach before it.
    """
    with_it = near[::-1].cumsum(dtype=np.float64)[::-1]
    return np.append(inside[len(inside) - len(near) :] + with_it, 0.0)


def _lengths(came_from: npt.NDArray[np.int64]) -> list[int]:
    lengths: list[int] = []
    end = len(came_from) - 1
    while end > 0:
        lengths.append(end - int(came_from[end]))
        end = int(came_from[end])
    return lengths[::-1]


def _parted(piece: tuple[int, int], likeness: _Likeness, prices: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Divide a segment between units that have nothing in common: what unrelated paragraphs come out as."""
    low, high = piece
    start = low
    for border in range(low + 1, high):
        if prices[border - 1] < _GLUED and _across(border, low, high, likeness) < _APART:
            yield start, border
            start = border
    yield start, high


def _cut_to_size(
    piece: tuple[int, int], sizes: Sequence[int], likeness: _Likeness, prices: Sequence[float], max_tokens: int
) -> Iterator[tuple[int, int]]:
    """Cut a segment at its weakest borders until each part is small enough or cannot be cut."""
    todo = [piece]
    while todo:
        low, high = todo.pop()
        borders = [border for border in range(low + 1, high) if prices[border - 1] < _GLUED]
        if not borders or sum(sizes[low:high]) <= max_tokens:
            yield low, high
        else:
            border = _weakest(borders, (low, high), sizes, likeness)
            todo += [(border, high), (low, border)]


def _weakest(borders: Sequence[int], piece: tuple[int, int], sizes: Sequence[int], likeness: _Likeness) -> int:
    """The border across which units are least alike, near the ends of the piece only where there is no other."""
    low, high = piece
    total = sum(sizes[low:high])
    before = dict(zip(range(low + 1, high), accumulate(sizes[low : high - 1]), strict=True))
    middle = [border for border in borders if total / 4 <= before[border] <= total * 3 / 4]
    return min(middle or borders, key=lambda border: _across(border, low, high, likeness))


def _across(border: int, low: int, high: int, likeness: _Likeness) -> float:
    start, others = max(low, border - _ACROSS), range(border, min(high, border + _ACROSS))
    return float(np.mean([likeness.between(start, border, other).mean() for other in others]))


# ------------------------------------------------------------------------------------------------------------ topics


@dataclass
class _Group:
    """Units that make one topic, what they come to in tokens, and the sum of their vectors."""

    units: list[int]
    size: int
    vector: Array

    @classmethod
    def of(cls, units: Iterable[int], sizes: Sequence[int], vectors: Array) -> "_Group":
        members = list(units)
        return cls(members, sum(sizes[unit] for unit in members), vectors[members].sum(axis=0))

    def __add__(self, later: "_Group") -> "_Group":
        return _Group(self.units + later.units, self.size + later.size, self.vector + later.vector)

    @cached_property
    def direction(self) -> Array:
        return self.vector / max(float(np.linalg.norm(self.vector)), 1e-9)


def _join_short(groups: Sequence[_Group], max_tokens: int) -> list[_Group]:
    """Give each very short group to the neighbour that is more like it and has room for it."""
    joined: list[_Group] = []
    waiting: _Group | None = None
    for position, group in enumerate(groups):
        group = waiting + group if waiting else group
        waiting = None
        following = groups[position + 1] if position + 1 < len(groups) else None
        if group.size >= _SHORT_SEGMENT:
            joined.append(group)
        elif _goes_back(group, joined[-1] if joined else None, following, max_tokens):
            joined[-1] += group
        elif following and group.size + following.size <= max_tokens:
            waiting = group
        else:
            joined.append(group)
    return joined


def _goes_back(group: _Group, before: _Group | None, after: _Group | None, max_tokens: int) -> bool:
    if not before or before.size + group.size > max_tokens:
        return False
    if not after or after.size + group.size > max_tokens:
        return True
    direction = group.direction
    return bool(direction @ before.direction >= direction @ after.direction)


def _join_alike(groups: Sequence[_Group], max_tokens: int, same_topic: float) -> list[_Group]:
    """Put each group with the earlier one most like it, if they are clearly on one topic and fit together."""
    joined: list[_Group] = []
    for group in groups:
        recent = joined[-_REACH_BACK:]
        direction = group.direction
        cosines = np.array(
            [other.direction @ direction if group.size + other.size <= max_tokens else -1.0 for other in recent]
        )
        if recent and cosines.max() >= same_topic:
            joined[len(joined) - len(recent) + int(cosines.argmax())] += group
        else:
            joined.append(group)
    return joined
