"""Packs what is to be judged into as few windows as it takes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from agentic_memory_bank.engines.base import MemoryView, Pairing, Span
from agentic_memory_bank.tools.text.tokens import estimate_tokens

_Item = TypeVar("_Item")

ITEM_TOKENS = 14
"""What the tags around one item cost."""


def pack(
    items: Sequence[_Item], size: Callable[[_Item], int], capacity: int, item: int = ITEM_TOKENS
) -> list[list[int]]:
    """Put items into windows in their order; one that is too large alone has a window of its own.

    Returns:
        The positions of the items of each window.
    """
    windows: list[list[int]] = []
    used = 0
    for position, packed in enumerate(items):
        tokens = size(packed) + item
        if not windows or used + tokens > capacity:
            windows.append([])
            used = 0
        windows[-1].append(position)
        used += tokens
    return windows


def joined(spans: Sequence[Span], size: Callable[[Span], int], most: int) -> list[Span]:
    """Put neighbouring stretches of a text together until there are at most so many, none much longer than others."""
    if len(spans) <= most:
        return list(spans)
    limit = 2 * sum(map(size, spans)) / most  # two neighbours that stay apart are longer: so there are at most `most`
    found: list[Span] = []
    used = 0
    for span in spans:
        tokens = size(span)
        if found and used + tokens <= limit:
            found[-1], used = (found[-1][0], span[1]), used + tokens
        else:
            found.append(span)
            used = tokens
    return found


@dataclass
class PairWindow:
    """Pairs judged in one call: each memory is shown once, under a number of its own."""

    numbers: dict[str, int] = field(default_factory=dict)
    memories: dict[str, MemoryView] = field(default_factory=dict)
    pairs: dict[str, list[str]] = field(default_factory=dict)
    """For each new memory those it is compared with."""
    tokens: int = 0

    def cost(self, memory: MemoryView, other: MemoryView, size: Callable[[MemoryView], int]) -> int:
        """Tokens that a further pair would add."""
        return (
            sum(size(m) for m in {m.id: m for m in (memory, other)}.values() if m.id not in self.numbers) + ITEM_TOKENS
        )

    def add(self, memory: MemoryView, other: MemoryView, tokens: int) -> None:
        """Take a pair in."""
        for shown in (memory, other):
            self.numbers.setdefault(shown.id, len(self.numbers) + 1)
            self.memories[shown.id] = shown
        self.pairs.setdefault(memory.id, []).append(other.id)
        self.tokens += tokens

    def numbered_pairs(self) -> list[tuple[int, list[int]]]:
        """The pairs by numbers."""
        return [(self.numbers[new], [self.numbers[o] for o in others]) for new, others in self.pairs.items()]

    def named(self, new: int, other: int) -> tuple[str, str] | None:
        """The ids of a pair, whichever way round it is named; None for one that was not asked about."""
        ids = {number: memory_id for memory_id, number in self.numbers.items()}
        for a, b in ((ids.get(new, ""), ids.get(other, "")), (ids.get(other, ""), ids.get(new, ""))):
            if b in self.pairs.get(a, ()):
                return a, b
        return None


def pair_windows(pairings: Iterable[Pairing], size: Callable[[MemoryView], int], capacity: int) -> list[PairWindow]:
    """Put all pairs into windows, those of one new memory together where they fit."""
    windows: list[PairWindow] = []
    measured: dict[str, int] = {}

    def tokens(memory: MemoryView) -> int:
        if memory.id not in measured:
            measured[memory.id] = size(memory)
        return measured[memory.id]

    for pairing in pairings:
        for candidate in pairing.candidates:
            if not windows or windows[-1].tokens + windows[-1].cost(pairing.fresh, candidate, tokens) > capacity:
                windows.append(PairWindow())
            window = windows[-1]
            window.add(pairing.fresh, candidate, window.cost(pairing.fresh, candidate, tokens))
    return windows


def within(items: Sequence[_Item], size: Callable[[_Item], int], capacity: int) -> list[_Item]:
    """The first items that fit into so many tokens."""
    kept: list[_Item] = []
    for item in items:
        capacity -= size(item) + ITEM_TOKENS
        if capacity < 0 and kept:
            break
        kept.append(item)
    return kept


def fields_tokens(fields: Mapping[str, str]) -> int:
    """Tokens of a memory as it is shown."""
    return sum(estimate_tokens(f"{name}: {value}") for name, value in fields.items()) + ITEM_TOKENS
