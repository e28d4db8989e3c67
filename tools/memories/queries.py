"""What a search of memories asks for, and what it finds."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.records import Record, RecordFilter
from agentic_memory_bank.tools.memories.validation import checked_filter, checked_limit


class MemoryHit(NamedTuple):
    """A memory that a search found."""

    record: Record
    score: float
    """What orders the hits: keywords and meaning together, of the memory or of what was consolidated into it, and a
    share of what was said right before or after. Comparable within one search only."""
    cosine: float
    """Between query and memory, from -1 to 1, of nothing else; 0 where the memory has no vector yet."""
    keyword: float
    """How well the words fit, from 0 to 1, 1 for the best of this search."""
    marks: tuple[str, ...]
    """The rare names and numbers that query and memory share."""
    coverage: float = 0.0
    """Share of the words of the query that the memory holds, each by its rarity among all memories."""
    rarest: float = 0.0
    """The rarity of the rarest word they share: 1 for one that no other memory holds."""


class RecordThreshold(NamedTuple):
    """A threshold that is not the same for all memories."""

    least: float
    """The lowest there is."""
    of: Callable[[Record], float]
    """That of a memory."""


Threshold = float | RecordThreshold | None
"""Least raw cosine of a hit that shares no rare name or number with the query. None: no threshold."""


class Listing(NamedTuple):
    """Some memories, newest first."""

    records: Sequence[Record]
    cursor: str | None
    """What to ask on with; None at the end."""


class MemoryQuery(NamedTuple):
    """What is looked for; the fields are the arguments of `RecordStore.search`."""

    query: str
    project: str | None = None
    types: Collection[str] | None = None
    limit: int = 5
    threshold: Threshold = None
    replaced: bool = False


def checked_query(asked: MemoryQuery) -> RecordFilter:
    """The filter of a query.

    Raises:
        InputError: A type, the limit or the threshold has no meaning.
    """
    checked_limit(asked.limit)
    if not isinstance(asked.query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"What is looked for is a text, not {asked.query!r}.")
    least: object = asked.threshold.least if isinstance(asked.threshold, RecordThreshold) else asked.threshold
    if least is not None and (isinstance(least, bool) or not isinstance(least, int | float) or not -1 <= least <= 1):
        raise InputError("A threshold is a cosine from -1 to 1. Give None for no threshold.")
    return checked_filter(asked.project, asked.types)
