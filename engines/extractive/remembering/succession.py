"""Tells which of the memories that were found for a message a later one has replaced, as far as it is concerned.

"Walt made me assistant manager, so now it's 17 an hour" names no job and no pay: it is found for what it changes. A
later memory that announces a change is worth what the earlier one is whose words it shares; where both hold the kind of
thing that is asked for, the earlier one is left out. Nothing is lost by that: another message may still find it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final, NamedTuple

from agentic_memory_bank.engines.extractive.reading.kinds import Kind, asked_for, holds, may_hold
from agentic_memory_bank.engines.extractive.remembering.changes import (
    announces_change,
    changed_clauses,
    changing_terms,
    ended_terms,
    terms_left,
    terms_named_anew,
)
from agentic_memory_bank.engines.extractive.remembering.clauses import subject_terms, without_values
from agentic_memory_bank.engines.extractive.remembering.life import subjects_in
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.terms import tokenize

INHERITED: Final = 0.9
"""Share of an earlier memory's probability that a later one has which changes it, in the same words."""
REPLACES: Final = 0.5
"""Shared words, each by its rarity, from which the later value of the kind that is asked for takes the place of the
earlier one."""
REPLACES_ALL: Final = 0.8
"""The same where no kind of value is asked for."""
AS_LIKELY: Final = 0.6
"""Share of the best probability from which a change replaces an earlier value, whatever words they share."""
LEAST: Final = 0.4
"""Share of the earlier memory's probability that the later one has, where it replaces it."""

LINKED: Final = 2
"""Memories of a link."""

_PAST: Final = re.compile(
    r"\b(?:was|were|did|had|used to|before|originally|first)\b|以前|之前|原来|原先|上次|当时|曾|过去|最初",
    re.IGNORECASE,
)
"""A question about the past, to which what was replaced may be the answer."""
_NOW: Final = re.compile(
    r"\b(?:now|nowadays|these days|at the moment|at present|currently|current|latest|any ?more|still)\b"
    r"|现在|目前|如今|眼下|最近|最新|现下|还(?:在|是)",
    re.IGNORECASE,
)
"""A question about what holds now, of something that may have changed."""
RIVAL: Final = 0.8
"""Share of the best probability, or of the earlier one, from which a change is taken to be of what is asked for."""
_SHARED: Final = 0.5
"""What a shared term counts that is no part of a name."""
_VALUES: Final = frozenset[Kind](
    ("money", "duration", "clock", "date", "weekday", "weight", "length", "temperature", "percent", "count")
)
"""Kinds of which there is one value at a time."""
_TIMES: Final = frozenset[Kind](("clock", "date", "weekday"))
"""Those of them that are moved to another one without being named: "it's the 27th now"."""


@dataclass(frozen=True, slots=True)
class Told:
    """A memory, by whom it was told, and when."""

    text: str
    speaker: str
    said: tuple[str, ...]
    """When, as texts that are compared: the day, and what tells the turns of a day apart."""
    turns: frozenset[str]
    is_turn: bool
    """Whether it is a turn word for word."""


class _Link(NamedTuple):
    """A later memory that changes what an earlier one says, by their places, and how surely."""

    later: int
    earlier: int
    strength: float
    is_only: bool
    """Whether they share a word that no third memory has."""
    ends: bool
    """Whether the later one says that what they share is over, or that there is a new one."""


def succeeded(
    query: str, told: Sequence[Told], chances: Sequence[float], share: float
) -> tuple[list[float], frozenset[int]]:
    """The probability of each memory by what it changes, and the places of those that are replaced.

    Args:
        query: What is asked.
        told: The memories that were found.
        chances: The probability of each that it helps.
        share: The share of the best probability from which a memory is shown.
    """
    if _PAST.search(query):
        return [*chances], frozenset()
    kinds, links = asked_for(query), list(_links(told))
    fits = [may_hold(kinds, one.text) for one in told]
    likely = [*chances]
    for link in links:
        if fits[link.later]:
            inherited = INHERITED * link.strength * chances[link.earlier]
            likely[link.later] = max(likely[link.later], inherited)
    best = max(likely, default=0.0)
    shown = [chance >= share * best for chance in likely]
    has_value = not _VALUES.isdisjoint(kinds)
    gone = {
        link.earlier
        for link in links
        if fits[link.later]
        and shown[link.later]
        and likely[link.later] >= LEAST * chances[link.earlier]
        and (
            link.strength >= REPLACES_ALL
            or (bool(kinds) and fits[link.earlier] and link.is_only)
            or (has_value and fits[link.earlier] and link.strength >= REPLACES)
            or (link.is_only and link.ends and not kinds)
        )
    }
    if has_value or _NOW.search(query) is not None:
        gone |= _changed_values(query, kinds, told, likely, links, [f and s for f, s in zip(fits, shown, strict=True)])
    lost = {turn for place in gone for turn in told[place].turns}
    repeated = {place for place, one in enumerate(told) if one.is_turn and not lost.isdisjoint(one.turns)}
    return likely, frozenset(gone | repeated)


def _changed_values(
    query: str,
    kinds: Sequence[Kind],
    told: Sequence[Told],
    likely: Sequence[float],
    links: Sequence[_Link],
    shown: Sequence[bool],
) -> set[int]:
    """The places of the values that a later memory changes, where a value, or what holds now, is asked for.

    A change has to speak of all of what is asked for that the earlier one speaks of, or to name nothing at all ("it's
    the 27th now"). Of two things that were told on one day, where no word is shared, neither changes the other: whoever
    tells their news tells one thing after another.
    """
    asks_of_now, has_value = _NOW.search(query) is not None, not _VALUES.isdisjoint(kinds)
    asks_when = not _TIMES.isdisjoint(kinds)
    best, linked = max(likely, default=0.0), {(link.later, link.earlier) for link in links}
    silent = _repeats(told)
    both = [place for place, is_shown in enumerate(shown) if is_shown and place not in silent]
    terms = {place: subject_terms(told[place].text) for place in both}
    about = {place: subject_terms(query) & terms[place] for place in both}

    def changes(b: int, a: int) -> bool:
        if (b, a) in linked:
            return True
        is_bare = not any(map(str.isalpha, terms[b]))
        if told[a].said[0] == told[b].said[0]:
            return False
        return (
            (has_value and (asks_of_now or is_bare or about[a] <= about[b]))
            or (asks_when and likely[b] >= RIVAL * best and any(holds(k, told[b].text) for k in kinds))
            or (likely[b] >= RIVAL * likely[a] and not terms[a].isdisjoint(terms[b]))
        )

    later = [place for place in both if announces_change(told[place].text)]
    return {
        a
        for b in later
        for a in both
        if _is_before(told[a], told[b])
        and ((likely[b] >= AS_LIKELY * best and changes(b, a)) or _gives_anew(query, kinds, told[b].text, told[a].text))
    }


def _gives_anew(query: str, kinds: Sequence[Kind], later: str, earlier: str) -> bool:
    """Whether a change gives a value of a kind that is asked for to what an earlier memory gave one of that kind.

    "Gaelic's Wednesdays now" after "I'm learning Gaelic, class is Tuesdays": the clause that announces the change
    speaks of that above all, or of what is asked for in another word (早饭时间改了 of 早餐).
    """
    if not any(kind in _VALUES and holds(kind, earlier) and holds(kind, later) for kind in kinds):
        return False
    terms, about = subject_terms(earlier), frozenset[int]()
    if is_cjk(query):  # whose words are written in many ways
        about = subjects_in(without_values(earlier)) & subjects_in(without_values(query))
    return any(
        2 * len(terms & own) > len(own) or not about.isdisjoint(subjects_in(without_values(clause)))
        for clause in changed_clauses(later)
        if (own := subject_terms(clause))
    )


def _links(told: Sequence[Told]) -> Iterator[_Link]:
    """The memories that announce a change, each with the earlier ones that it shares words with."""
    silent = _repeats(told)
    terms = [frozenset[str]() if p in silent else subject_terms(one.text) for p, one in enumerate(told)]
    names = [frozenset[str]() if p in silent else _names(one.text) for p, one in enumerate(told)]
    held = Counter(term for words in terms for term in words)
    anew = {place: terms_named_anew(one.text) for place, one in enumerate(told) if place not in silent}
    later = {
        place: changing_terms(told[place].text) | new
        for place, new in anew.items()
        if new or announces_change(told[place].text)
    }
    left = {place: terms_left(told[place].text) for place in later}
    for b, a in permutations(range(len(told)), 2):
        shared = terms[a] & later.get(b, frozenset())
        if shared and _is_before(told[a], told[b]) and not _is_of_others(left[b], terms, a):
            named = names[a] & names[b]
            strength = sum((1.0 if t in named else _SHARED) / max(1, held[t] - 1) for t in sorted(shared))
            ends = not shared.isdisjoint(ended_terms(told[b].text) | anew[b])
            yield _Link(b, a, min(1.0, strength), any(held[term] == LINKED for term in shared), ends)


def _is_of_others(left: frozenset[str], terms: Sequence[frozenset[str]], place: int) -> bool:
    """Whether what a change names as being left is in other memories, and not in the one at a place."""
    return terms[place].isdisjoint(left) and sum(not words.isdisjoint(left) for words in terms) > 1


def _repeats(told: Sequence[Told]) -> frozenset[int]:
    """The places of turns that only repeat what was drawn from them; where nothing was, a turn speaks for itself."""
    drawn = frozenset[str]().union(*(one.turns for one in told if not one.is_turn))
    return frozenset(place for place, one in enumerate(told) if one.is_turn and not drawn.isdisjoint(one.turns))


def _names(text: str) -> frozenset[str]:
    return frozenset(term for name in names_and_numbers(text) if name[0].isalpha() for term in tokenize(name))


def _is_before(one: Told, other: Told) -> bool:
    return one.speaker == other.speaker and one.said < other.said and one.turns.isdisjoint(other.turns)
