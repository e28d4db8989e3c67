"""Holds a memory that a chat model drew from turns to what they say."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from agentic_memory_bank.engines.conversation import TRUST, USER, Fact, Turn, TurnQuote, attributed
from agentic_memory_bank.engines.extractive.conversation import day_of
from agentic_memory_bank.engines.extractive.support import speaks_of, unsupported
from agentic_memory_bank.engines.llm.locating import locate
from agentic_memory_bank.engines.own_words import is_order, own_words
from agentic_memory_bank.prompts import extract_facts
from agentic_memory_bank.tools.text.secrets import secrets_in

REACH: Final = 31
"""Days before and after a turn that a word such as "yesterday" or "next week" may mean."""
_RELATIVE: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|this|past|coming|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?\b"
    r"|[昨今明前后]天|上周|下周|上个?月|下个?月|去年|今年|明年|周[一二三四五六日]",
    re.IGNORECASE,
)
"""What makes a date of a turn's own."""


def fact_of(said: extract_facts.ExtractedMemory, turns: Sequence[Turn]) -> Fact | None:
    """A memory that the turns it names really say, in their words where it says something else.

    None for one that was made up, is an order or holds a credential.
    """
    named = [turns[number - 1] for number in dict.fromkeys(said.turns) if 1 <= number <= len(turns)]
    places = ((turn, locate(said.quote, own_words(turn.text))) for turn in named)
    turn, span = next(((turn, span) for turn, span in places if span), (None, None))
    if turn is None or span is None or not said.text.strip():
        return None
    quote = TurnQuote(turn.id, turn.text[slice(*span)], span)
    if quote.text.rstrip().endswith(("?", "？")) or (turn.role != "user" and not _is_borne(quote.text, turns)):
        return None
    if secrets_in(f"{said.text}\n{said.value}\n{quote.text}") or is_order(said.text) or is_order(quote.text):
        return None
    speaker = turn.speaker or (USER if turn.role == "user" else turn.role)
    texts = [own_words(one.text) for one in named]
    known = [*(f"{one.speaker} {one.date} {own_words(one.text)}" for one in turns), *_days_meant(turn)]
    is_said = not unsupported(said.text, texts, known)
    value = said.value.strip()
    return Fact(
        text=said.text.strip() if is_said else attributed(speaker, turn.date, quote.text),
        type=said.type,
        quotes=(quote,),
        subject=said.subject.strip() or None,
        attribute=said.attribute.strip().casefold() or None,
        value=value if value and not unsupported(value, texts, known) else None,
        speaker=speaker,
        date=turn.date,
        trust=TRUST[turn.role],
    )


def _is_borne(words: str, turns: Sequence[Turn]) -> bool:
    """Whether a user says what an assistant does: what it merely says is nobody's memory."""
    told = "\n".join(own_words(turn.text) for turn in turns if turn.role == "user")
    return speaks_of(words, told) and not unsupported(words, [told])


def _days_meant(turn: Turn) -> Iterator[str]:
    """The days and years that a turn may mean by a word such as "yesterday"."""
    day = day_of(turn.date) if _RELATIVE.search(turn.text) else None
    if day is not None:
        yield from ((day + timedelta(days=by)).isoformat() for by in range(-REACH, REACH + 1))
        yield from (str(day.year + by) for by in (-1, 1))
