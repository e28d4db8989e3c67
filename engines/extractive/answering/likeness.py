"""A memory, as far as it is compared with a message."""

from dataclasses import dataclass
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern

MOST_READ: Final = 1_000
"""Characters that are read of a memory: a turn may be a text that was pasted."""
_EXPLAINED: Final = lazy_pattern(r" {0,4}\[[^\[\]=]{1,80}=[^\[\]]{1,80}\]")
"""What a word of time means, as it is written behind a memory."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """A memory, and what it has in common with a message."""

    text: str
    """Its words."""
    speaker: str
    """Who said it; empty where that is the user, the assistant, or nobody knows."""
    cosine: float
    coverage: float
    """Share of the message's words that the memory holds, each by its rarity among the user's memories."""
    rarest: float
    """The rarity of the rarest word they share, from 0 to 1 for a word of a single memory."""
    found: float
    """How well it was found, beside the best, from 0 to 1."""
    is_marked: bool
    """Whether it shares a rare name or number with the message."""
    is_turn: bool
    """Whether it is a turn word for word, as opposed to what was extracted from one."""
    by_assistant: bool
    """Whether the assistant said it."""
    recent: float = 1.0
    """Share of the days on which something was said that are not after its own: 1 for what was said last."""


def shown_text(words: str) -> str:
    """The words of a memory without what its words of time mean."""
    return _EXPLAINED.sub("", words)
