"""Shortens what was said to what helps with a message: whole sentences, word for word, with a mark between."""

from collections.abc import Collection, Sequence
from typing import Final

from agentic_memory_bank.engines.extractive.conversation import is_small_talk
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

SHORT: Final = 16
"""Tokens up to which a text is shown whole."""
LEFT_OUT: Final = "…"

CALL: Final = 2
"""Index terms of a call or thanks that say nothing of their own, whatever is searched: "Hey Mel!"."""

_ASKING: Final = ("?", "？")
_CALLING: Final = ("!", "！")


def excerpt(text: str, wanted: Collection[str], room: int) -> str:
    """The sentences that say most about what is searched.

    Args:
        text: A turn, word for word.
        wanted: Index terms of what is searched.
        room: Tokens of an excerpt, if the sentence that says most is not longer.
    """
    said = [text[start:end].strip() for start, end in sentences(text)]
    said = [sentence for sentence in said if sentence]
    if len(said) < 2 or estimate_tokens(text) <= SHORT:
        return text.strip()
    terms = frozenset(wanted)
    worth = [_worth(sentence, terms) for sentence in said]
    kept = set[int]()
    for place in sorted(range(len(said)), key=lambda place: (-worth[place], place)):
        size = estimate_tokens(said[place])
        if not kept or (size <= room and worth[place] >= 0):
            kept.add(place)
            room -= size
    return _joined(said, sorted(kept))


def _worth(sentence: str, wanted: frozenset[str]) -> float:
    """How much a sentence has to do with what is searched; below 0 for one that says nothing of its own."""
    terms = set(tokenize(sentence))
    common = len(terms & wanted)
    asks = sentence.endswith(_ASKING)
    if common and (asks or len(terms) > CALL or not _is_idle(sentence, terms)):
        return common + (0.0 if asks else 0.5)
    return -1.0 if _is_idle(sentence, terms) else min(0.4, len(terms) / 50)


def substance(text: str) -> int:
    """How many index terms stand in sentences that say something of their own; 0 for small talk and questions."""
    said = [text[start:end].strip() for start, end in sentences(text)]
    terms = [(sentence, frozenset(tokenize(sentence))) for sentence in said if sentence]
    return len(frozenset[str]().union(*(own for sentence, own in terms if not _is_idle(sentence, own))))


def _is_idle(sentence: str, terms: Collection[str]) -> bool:
    """Whether a sentence asks, greets, or only keeps a conversation going."""
    if sentence.endswith(_ASKING) or (sentence.endswith(_CALLING) and len(terms) <= CALL):
        return True
    return is_small_talk(sentence)


def _joined(said: Sequence[str], kept: Sequence[int]) -> str:
    """The sentences that are kept, in their order."""
    parts: list[str] = []
    for number, place in enumerate(kept):
        if number and place != kept[number - 1] + 1:
            parts.append(LEFT_OUT)
        parts.append(said[place])
    return " ".join(parts)
