"""Decides which pairs of memories are judged at all: those alike in meaning, or sharing rare names or numbers."""

from typing import Final

from agentic_memory_bank.tools.text.cleaning import language
from agentic_memory_bank.tools.text.names import marks

ENGLISH_COSINE: Final = 0.4
"""Cosine from which two English memories are judged."""

CHINESE_COSINE: Final = 0.55
"""Cosine from which two Chinese memories are judged: MiniLM gives unrelated Chinese texts about as much."""

MARK_SHARE: Final = 0.3
"""Share of its names and numbers that a text must find in another of its language where their cosine is low."""


def passes(a: str, b: str, cosine: float, *, english: float = ENGLISH_COSINE, chinese: float = CHINESE_COSINE) -> bool:
    """Whether a pair of memories deserves a judgement.

    Texts in two languages pass by one name or number that both contain, never by their cosine: MiniLM gives the same
    fact in English and Chinese 0.1 to 0.3.

    Args:
        a: One memory.
        b: The memory it is compared with.
        cosine: Cosine of their vectors.
        english: Least cosine of two English texts.
        chinese: Least cosine of two Chinese texts.
    """
    first, second = language(a), language(b)
    if first != second:
        return bool(marks(a) & marks(b))
    return cosine >= (english if first == "en" else chinese) or shares_marks(a, b)


def shares_marks(a: str, b: str) -> bool:
    """Whether a fair part of what the text with fewer names and numbers holds of them stands in the other."""
    left, right = marks(a), marks(b)
    return bool(left & right) and len(left & right) >= MARK_SHARE * min(len(left), len(right))
