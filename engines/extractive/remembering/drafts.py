"""Writes down what sentences of a turn say as a fact: the words, who said them, when, and what "yesterday" means."""

from dataclasses import dataclass

from agentic_memory_bank.engines.conversation import TRUST, Fact, Turn, TurnQuote
from agentic_memory_bank.engines.extractive.reading import phrases
from agentic_memory_bank.engines.extractive.reading.attributes import Claim
from agentic_memory_bank.engines.extractive.reading.dates import day_of, moments, written
from agentic_memory_bank.state.records import RecordType
from agentic_memory_bank.tools.text.attribution import USER, attributed
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.spans import Span


@dataclass(frozen=True, slots=True)
class SaidSentence:
    """A sentence of a turn, where it stands, and what it states of attributes."""

    text: str
    span: Span
    claims: tuple[Claim, ...] = ()


def owner_of_turn(turn: Turn) -> str:
    """Whom a turn is about that says "I": its speaker, by name where that is known."""
    return turn.speaker or USER


def fact_of(turn: Turn, said: tuple[SaidSentence, ...], type: RecordType, asked: TurnQuote | None = None) -> Fact:
    """Write down sentences of a turn as one fact.

    Args:
        turn: The turn.
        said: Its sentences.
        type: The type of the memory.
        asked: Words of another turn by which they are understood.
    """
    quotes = tuple(TurnQuote(turn.id, sentence.text, sentence.span) for sentence in said)
    claims = [claim for sentence in said for claim in sentence.claims]
    claim = claims[-1] if claims else None
    words = " ".join(quote.text for quote in quotes)
    day = day_of(turn.date)
    said_on = written(day, chinese=is_cjk(words)) if day else ""
    shown = f"({asked.text}) {words}" if asked else words
    named = turn.speaker or (USER if turn.role == "user" else "assistant")
    return Fact(
        text=attributed(named, said_on, shown + _calendar(turn, words)),
        type=type,
        quotes=(asked, *quotes) if asked else quotes,
        subject=claim.subject if claim else (owner_of_turn(turn) if turn.role == "user" else None),
        attribute=claim.attribute if claim else None,
        value=_value(claim),
        speaker=named,
        date=turn.date,
        trust=TRUST["user" if turn.role == "user" else "assistant"],
        importance=_importance(words, claim),
    )


def _value(claim: Claim | None) -> str | None:
    return None if claim is None else f"not {claim.value}" if claim.denied else claim.value


def _calendar(turn: Turn, words: str) -> str:
    """What "yesterday" and the like mean, by the day on which they were said."""
    day = day_of(turn.date)
    if day is None:
        return ""
    return "".join(f" [{words[m.start : m.end]} = {m.calendar}]" for m in moments(words, day))


def _importance(words: str, claim: Claim | None) -> float:
    if phrases.ALWAYS_TRUE.search(words):
        return 0.8
    return 0.7 if claim else 0.5
