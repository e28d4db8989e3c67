"""Draws insights from memories without a model: what happened again, how often and when, in words of theirs."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from itertools import pairwise
from typing import Final, cast

from agentic_memory_bank.engines.conversation import ExistingMemory, Fact, Insight
from agentic_memory_bank.engines.extractive.reading.dates import day_of, moments, written
from agentic_memory_bank.engines.extractive.reading.values import values_of
from agentic_memory_bank.engines.extractive.remembering.queries import key_terms
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.secrets import secrets_in
from agentic_memory_bank.tools.text.terms import tokenize

LEAST: Final = 3
"""How many memories something has to stand in to recur."""
MOST: Final = 10
"""How many insights are drawn at once, those with the most memories first."""
USUAL: Final = 0.5
"""Share of many memories beyond which a word tells how somebody talks, and not what about."""
MANY: Final = 12
"""From how many memories on such a share says anything."""
TERMS: Final = 3
"""How many terms that recur together are named."""

LONGEST: Final = 60
"""Characters of a stretch of words that is named as what recurs."""

_COUNTS: Final = {3: "Three", 4: "Four", 5: "Five", 6: "Six"}
_TIMES: Final = frozenset(
    tokenize(
        "last next week month year day night weekend morning evening time today yesterday monday tuesday wednesday "
        "thursday friday saturday sunday january february march april may june july august september october november "
        "december"
    )
)
_OWN: Final = re.compile(r"\b(?:my|our) ([a-z][\w'’-]+)", re.IGNORECASE)


def recurring(memories: Sequence[ExistingMemory]) -> list[Insight]:
    """What happened on at least three days in nearly the same words, with how often and when; mostly nothing.

    A name alone that recurs says nothing of its own: "Lisbon" in four memories is no insight.
    """
    spelt, holders = _terms(memories)
    names = set[str]().union(*(names_and_numbers(memory.words) for memory in memories))
    usual = USUAL * len(memories) if len(memories) >= MANY else len(memories)
    together: defaultdict[tuple[int, ...], list[str]] = defaultdict(list)
    for term, held in sorted(holders.items()):
        if LEAST <= len(held) <= usual and not any(map(secrets_in, spelt[term])):
            together[tuple(held)].append(spelt[term].most_common(1)[0][0])
    ranked = sorted(together.items(), key=lambda found: (-len(found[0]), found[1]))
    drawn = (_insight(terms, [memories[place] for place in held], names) for held, terms in ranked)
    return [insight for insight in drawn if insight is not None][:MOST]


def _terms(memories: Sequence[ExistingMemory]) -> tuple[dict[str, Counter[str]], dict[str, list[int]]]:
    """How each term is written, and in which memories it stands."""
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for place, memory in enumerate(memories):
        own = set(tokenize(memory.speaker))
        for name, term in _named(memory.words):
            if set(name.split()) & (own | _TIMES):
                continue
            written[name][term] += 1
            if holders[name][-1:] != [place]:
                holders[name].append(place)
    return written, holders


def _named(words: str) -> Iterator[tuple[str, str]]:
    """The terms of a memory, each in a normal form and as written: alone, in pairs, and with whose they are."""
    terms = key_terms(words)
    pairs = [f"{a} {b}" for a, b in pairwise(terms) if f"{a} {b}" in words]
    for term in (*terms, *pairs, *(f"my {own}" for own in _OWN.findall(words) if own in terms)):
        name = " ".join(tokenize(term))
        if name:
            yield (f"my {name}" if term.startswith("my ") else name), term


def _says_something(terms: Sequence[str], names: set[str]) -> bool:
    """Whether terms say more than a name: two of them, of which one is none."""
    words = {word for term in terms for word in tokenize(term)}
    plain = words - {word for name in names for word in tokenize(name)}
    return len(words) > 1 and (bool(plain) or any(map(is_cjk, terms)))


def said_on(memory: Fact | ExistingMemory) -> date | None:
    """The day a memory is of: as it was said, or else when it was written down."""
    return day_of(memory.date) or day_of(memory.date[:10])


def _insight(terms: Sequence[str], held: Sequence[ExistingMemory], names: set[str]) -> Insight | None:
    """What recurs on several days; None where it says nothing, or was all said of one time."""
    days = sorted({day for memory in held if (day := _happened_on(memory)) is not None})
    if len(days) < LEAST or not _says_something(terms, names):
        return None
    phrase = min((_phrase(terms, memory.words) for memory in held), key=lambda found: (len(found), found))
    subject = ", ".join(sorted(terms, key=str.casefold)[:TERMS])
    text = f"{_times_in(days, chinese=is_cjk(phrase))}{phrase}{'。' if is_cjk(phrase) else '.'}"
    return Insight(text, tuple(memory.id for memory in held), subject)


def _happened_on(memory: ExistingMemory) -> date | None:
    """The day a memory speaks of; where it names none, the one on which it was said."""
    said = said_on(memory)
    for value in values_of(memory.words):
        year, month, day = value.date
        if month and day and (year or said):
            with suppress(ValueError):
                return date(year or cast(date, said).year, month, day)
    for moment in moments(memory.words, said) if said else ():
        if (found := day_of(moment.calendar)) is not None:
            return found
    return said


def _phrase(terms: Sequence[str], words: str) -> str:
    """The stretch of a memory's words that holds what recurs; the terms alone where they stand far apart."""
    folded = words.casefold()
    places = [(folded.find(term.casefold()), len(term)) for term in terms]
    if min(place for place, _ in places) < 0:
        return ", ".join(terms[:TERMS])
    start, end = min(place for place, _ in places), max(place + length for place, length in places)
    held = words[start:end].strip()
    return held if len(held) <= LONGEST and not any(mark in held for mark in ".!?。！？") else ", ".join(terms[:TERMS])


def _times_in(days: Sequence[date], *, chinese: bool) -> str:
    """How often, and from when to when; in one month, which."""
    first, last = days[0], days[-1]
    is_month = (first.year, first.month) == (last.year, last.month)
    if chinese:
        when = (
            f"{first.year}年{first.month}月"
            if is_month
            else f"{written(first, chinese=True)}至{written(last, chinese=True)}"
        )
        return f"{when}{len(days)}次："
    month = written(first).partition(" ")[2]
    when = f"in {month}" if is_month else f"from {written(first)} to {written(last)}"
    return f"{_COUNTS.get(len(days), str(len(days)))} times {when}: "
