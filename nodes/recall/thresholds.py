"""How alike a message and a memory have to be, where nobody says it: by embedder, language and kind of memory.

Chosen for all-MiniLM-L6-v2 on LoCoMo, so that almost nothing is lost of what is among the first five and answers. The
0.6 that is often recommended does that for facts in a model's words, not for what people say. Short questions about
oneself lie lower still ("Where do I live?" and "I moved to Lisbon last month."), hardly above what is of something
else. On Chinese that model tells nothing apart: what words and order cannot tell is left to who reads it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from agentic_memory_bank.engines.extractive.conversation import attribute_asked_for
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.embeddings.weights import MODEL
from agentic_memory_bank.tools.memories.validation import MemoryHit, RecordThreshold
from agentic_memory_bank.tools.text.attribution import unattributed
from agentic_memory_bank.tools.text.cleaning import is_cjk

SAID: Final = 0.3
"""For what was said word for word: turns, facts that quote, and what somebody stored as it stands."""
WRITTEN: Final = 0.6
"""For facts in the words of a model."""
CHINESE: Final = 0.4
"""For a Chinese message and a Chinese memory, of any kind."""
UNKNOWN: Final = 0.2
"""For other embedders, whose scale nobody has measured: low, so that nothing is lost; set `recall_threshold`."""
GAP: Final = 0.05
"""The least gap between two cosines that parts what fits from what does not (an elbow)."""

ANY: Final = -1.0
"""For what is meant whatever its cosine."""


def by_kind(query: str, model: str) -> RecordThreshold:
    """The default threshold. What states the very attribute that somebody asks for passes in any case."""
    asked = attribute_asked_for(query)
    of = partial(_least, is_chinese=is_cjk(query)) if MODEL in model else _unknown
    if asked is not None:
        return RecordThreshold(ANY, partial(_unless_asked_for, attribute=asked, otherwise=of))
    return RecordThreshold(min(SAID, WRITTEN, CHINESE) if MODEL in model else UNKNOWN, of)


def _unless_asked_for(record: Record, *, attribute: str, otherwise: Callable[[Record], float]) -> float:
    return ANY if record["attribute"] == attribute else otherwise(record)


def _least(record: Record, *, is_chinese: bool) -> float:
    if is_cjk(record["text"]):
        return CHINESE if is_chinese else SAID
    return WRITTEN if is_written(record) else SAID


def _unknown(_: Record) -> float:
    return UNKNOWN


def is_written(record: Record) -> bool:
    """Whether a memory is in a model's words: it names what was said, and does not say it."""
    quotes = [quote for source in record["sources"] for quote in source["quotes"] if quote.strip()]
    words = unattributed(record["text"])[2]
    return bool(quotes) and not any(quote.strip() in text for quote in quotes for text in (words, record["text"]))


def elbow(cosines: Sequence[float], floor: float) -> float:
    """The cosine between what fits and what does not: in the middle of the largest gap, if that is one."""
    ordered = sorted(cosines, reverse=True)
    gaps = [(upper - lower, upper) for upper, lower in pairwise(ordered)]
    gap, upper = max(gaps, default=(0.0, 0.0), key=lambda one: one[0])
    return max(floor, upper - gap / 2) if gap >= GAP - 1e-9 else floor


def above_elbow(found: Sequence[MemoryHit], floor: float) -> list[MemoryHit]:
    """What lies above the elbow, or shares a rare name or number with the query."""
    least = elbow([one.cosine for one in found], floor)
    return [one for one in found if one.cosine >= least or one.marks]
