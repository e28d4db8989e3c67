"""Holds a memory that a chat model drew from turns to what they say."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from agentic_memory_bank.engines.base import Span
from agentic_memory_bank.engines.conversation import TRUST, Fact, Turn, TurnQuote
from agentic_memory_bank.engines.extractive.conversation import day_of, is_small_talk, only_asks
from agentic_memory_bank.engines.extractive.support import speaks_of, undisputed, unsupported
from agentic_memory_bank.engines.llm.locating import locate
from agentic_memory_bank.engines.own_words import is_order, own_words
from agentic_memory_bank.prompts import extract_facts
from agentic_memory_bank.tools.text.attribution import USER, attributed
from agentic_memory_bank.tools.text.secrets import secrets_in
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize

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

    None for one that was made up, only asks or keeps a conversation going, is an order or holds a credential.
    """
    named = [turns[number - 1] for number in dict.fromkeys(said.turns) if 1 <= number <= len(turns)]
    places = ((turn, locate(said.quote, own_words(turn.text))) for turn in named)
    turn, span = next(((turn, span) for turn, span in places if span), (None, None))
    is_own = turn is not None and turn.role == "user"
    if turn is not None and span is not None and not is_own:
        turn, span = _said_by_user(turn.text[slice(*span)], turns)
    if turn is None or span is None or not said.text.strip():
        return None
    quote = TurnQuote(turn.id, turn.text[slice(*span)], span)
    if _states_nothing(quote.text):
        return None
    if secrets_in(f"{said.text}\n{said.value}\n{quote.text}") or is_order(said.text) or is_order(quote.text):
        return None
    speaker = turn.speaker or (USER if turn.role == "user" else turn.role)
    texts = [own_words(one.text) for one in named]
    known = [*(f"{one.speaker} {one.date} {own_words(one.text)}" for one in turns), *_days_meant(turn)]
    is_said = is_own and not unsupported(said.text, texts, known)  # what an assistant makes of it is not theirs
    is_said = is_said and bool(undisputed(said.text, [quote.text]))
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


def without_repeats(facts: Sequence[Fact]) -> list[Fact]:
    """Drop facts that quote the same words as another fact and say nothing that it does not."""
    terms = [frozenset(tokenize(fact.text)) for fact in facts]
    return [
        fact
        for place, fact in enumerate(facts)
        if not any(
            (terms[place] < terms[other] or (terms[place] == terms[other] and other < place))
            and any(overlap(a, b) for a in fact.quotes for b in facts[other].quotes)
            for other in range(len(facts))
            if other != place
        )
    ]


def overlap(a: TurnQuote, b: TurnQuote) -> bool:
    """Whether two quotes share words of a turn."""
    return a.turn == b.turn and a.span[0] < b.span[1] and b.span[0] < a.span[1]


def _states_nothing(words: str) -> bool:
    """Whether words only ask, or keep a conversation going."""
    said = (words[start:end].strip() for start, end in sentences(words))
    return all(only_asks(one) or is_small_talk(one) for one in said)


def _said_by_user(words: str, turns: Sequence[Turn]) -> tuple[Turn, Span] | tuple[None, None]:
    """The sentence of a user that says what an assistant does: what it merely says is nobody's memory."""
    for turn in turns:
        told = own_words(turn.text) if turn.role == "user" else ""
        for start, end in sentences(told):
            if speaks_of(words, told[start:end]) and not unsupported(words, [told[start:end]]):
                return turn, (start, end)
    return None, None


def _days_meant(turn: Turn) -> Iterator[str]:
    """The days and years that a turn may mean by a word such as "yesterday"."""
    day = day_of(turn.date) if _RELATIVE.search(turn.text) else None
    if day is not None:
        yield from ((day + timedelta(days=by)).isoformat() for by in range(-REACH, REACH + 1))
        yield from (str(day.year + by) for by in (-1, 1))
