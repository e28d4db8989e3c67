"""Draws insights from memories without a model: what recurs, how often and when; no sentence is made up."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from typing import Final

from agentic_memory_bank.engines.conversation import ExistingMemory, Fact, Insight
from agentic_memory_bank.engines.extractive.reading.dates import day_of
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

_TIMES: Final = frozenset(
    tokenize(
        "last next week month year day night weekend morning evening time today yesterday monday tuesday wednesday "
        "thursday friday saturday sunday january february march april may june july august september october november "
        "december"
    )
)
_OWN: Final = re.compile(r"\b(?:my|our) ([a-z][\w'’-]+)", re.IGNORECASE)


def recurring(memories: Sequence[ExistingMemory]) -> list[Insight]:
    """What stands in at least three memories: names, words that go together, and what somebody calls theirs.

    Terms of the same memories make one insight. Single words of other kinds are left out: they recur in all speech.
    """
    written, holders = _terms(memories)
    names = set[str]().union(*(names_and_numbers(memory.words) for memory in memories))
    usual = USUAL * len(memories) if len(memories) >= MANY else len(memories)
    together: defaultdict[tuple[int, ...], list[str]] = defaultdict(list)
    for term, held in sorted(holders.items()):
        if LEAST <= len(held) <= usual and _says_something(term, written[term], names):
            together[tuple(held)].append(written[term].most_common(1)[0][0])
    ranked = sorted(together.items(), key=lambda found: (-len(found[0]), found[1]))
    return [_insight(terms, [memories[place] for place in held]) for held, terms in ranked[:MOST]]


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


def _says_something(name: str, written: Counter[str], names: set[str]) -> bool:
    """Whether a term is a name, Chinese, or more than one word, and no credential; a name is never written small."""
    if any(map(secrets_in, written)):
        return False
    return " " in name or is_cjk(name) or all(term[:1].isupper() and term.casefold() in names for term in written)


def said_on(memory: Fact | ExistingMemory) -> date | None:
    """The day a memory is of: as it was said, or else when it was written down."""
    return day_of(memory.date) or day_of(memory.date[:10])


def _insight(terms: Sequence[str], held: Sequence[ExistingMemory]) -> Insight:
    named = sorted(terms, key=lambda term: (not term[:1].isupper(), term.casefold()))[:TERMS]
    days = sorted(day.isoformat() for memory in held if (day := said_on(memory)) is not None)
    evidence = tuple(memory.id for memory in held)
    subject = ", ".join(named)
    if is_cjk(subject):
        when = "" if not days else f"，{days[0]}" if days[0] == days[-1] else f"，{days[0]}至{days[-1]}"
        return Insight(f"{'、'.join(named)}：见于{len(held)}条记忆{when}。", evidence, subject)
    when = "" if not days else f", on {days[0]}" if days[0] == days[-1] else f", from {days[0]} to {days[-1]}"
    return Insight(f"{subject}: in {len(held)} memories{when}.", evidence, subject)
