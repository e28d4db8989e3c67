"""Tells which of the memories that were found for a message a later one has replaced, as far as it is concerned.

"Walt made me assistant manager, so now it's 17 an hour" names no job and no pay: it is found for what it changes. A
later memory that replaces an earlier one is worth what that is, and the earlier one is left out. Nothing is lost by
that: another message may still find it. Which ones do is judged by weights that `benchmarks/fit_succession.py` fits.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from agentic_memory_bank.engines.extractive.reading.kinds import Kind, asked_for, may_hold
from agentic_memory_bank.engines.extractive.remembering.changes import announces_change
from agentic_memory_bank.engines.extractive.remembering.clauses import subject_terms, value_kinds
from agentic_memory_bank.engines.extractive.remembering.later import is_somebody_elses
from agentic_memory_bank.engines.extractive.remembering.life import asks_for_own, kin_in, kin_words
from agentic_memory_bank.engines.extractive.remembering.supposing import is_hoped
from agentic_memory_bank.engines.extractive.remembering.told_apart import are_told_apart
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

INHERITED: Final = 0.9
"""Share of an earlier memory's probability that a later one has which replaces it."""
REPLACES: Final = -0.6
"""The logarithm of the odds from which a later memory is taken to replace an earlier one."""
CLOSE: Final = 2.0
"""How much less these may be than those with another earlier memory: a later one replaces what it is closest to."""
COMPARED: Final = 14
"""How many memories, the likeliest ones, are compared with each other."""
_PAST: Final = lazy_pattern(
    r"\b(?:was|were|did|had|used to|before|originally|first|previously|formerly"
    r"|(?:my|our|his|her|their|the) (?:old|former|previous))\b"
    r"|以前|旧的?|(?<![点得要该])之前(?![得要该])|原来|原先|上次|当时|曾|过去|最初",
    re.IGNORECASE,
)
"""A question about the past, to which what was replaced may be the answer."""
_HARMFUL: Final = lazy_pattern(
    r"\b(?:allerg|intoleran|coeliac|celiac|can(?:['’]?t| ?not)(?: \w{1,12})? (?:eat|have|drink))"
    r"|过敏|過敏|忌口|不耐受|(?<!能)(?<!可以)不(?:能|可以)[吃喝碰]|碰不得",
    re.IGNORECASE,
)
"""What somebody must not have: whoever tells of one more thing has not lost the others."""
_ALLOWED: Final = lazy_pattern(
    r"\bcan (?:\w{1,12} )?(?:eat|have|drink)\b|\b(?:no longer|not) allergic|\b(?:grew|grown) out of|\boutgr[eo]w"
    r"|(?<!不)可以[吃喝碰]|(?<!不)能[吃喝碰].{0,6}了|不(?:再)?过敏",
    re.IGNORECASE,
)
"""What somebody may have again."""
_NOW: Final = lazy_pattern(
    r"\b(?:now|nowadays|these days|at the moment|at present|currently|current|latest|any ?more|still)\b"
    r"|现在|目前|如今|眼下|最近|最新|现下|还(?:在|是)",
    re.IGNORECASE,
)
"""A question about what holds now, of something that may have changed."""
_ALL: Final = lazy_pattern(
    r"\b(?:all|every(?:thing|one|body|where)|anything|anyone|other|else|list|various)\b|哪些|所有|全部", re.IGNORECASE
)
"""A question for all that there is, of which a later one stands beside the earlier ones."""
_SEVERAL: Final = lazy_pattern(
    r"\bboth\b|\b(?:what|who|which|where)(?:'re| are)\b(?! (?:we|you|they) )"
    r"|\b(?:what|which|whose)\s+(?:(?!of\b)[\w'’-]{1,20}\s+){0,2}(?!(?:of|is|was|has|does|his|its|this|always)\b)"
    r"[\w-]{2,20}(?<![s'’])s\b(?! (?:me|my|our|us|the|off|on|up)\b)"
    r"|(?:\band|,) (?:what|which|where|who|whose|how|when)\b"
    r"|哪几|都|各|分别|一共|几[个只种样条件位]|[和跟、]|[，,].{0,8}(?:什么|啥|哪|几|谁|怎么|多少)",
    re.IGNORECASE,
)
"""A question that may be for several things: "which days do I work?" is answered by the days of the last rota."""
_ADDS: Final = lazy_pattern(
    r"\b(?:also|too|as well|another|(?:my|our|the|an) other|second|third|additional|extra|besides|plus|more|joined|both"
    r"|on top of)\b"
    r"|也|又|另外?|还[有要想得会能养买报学]|再[养买添加要来]|第[二三四]|多了|加[上入了]|添",
    re.IGNORECASE,
)
"""How people tell of something that comes beside what is there."""
_OF_WHICH: Final = lazy_pattern(r"\b(?:at|for|from) (?:the |my |our )?([a-z]{3,20})\b", re.IGNORECASE)
"""What tells a thing from others of its name."""
_OF_WHICH_ZH: Final = lazy_pattern(r"[我咱你们的]{0,4}(?P<which>[\u4e00-\u9fff]{2,4})的(?P<what>[\u4e00-\u9fff]{2})")
"""The same in Chinese: 上海的房子."""
_VALUES: Final = frozenset[Kind](
    ("money", "duration", "age", "clock", "date", "weekday", "weight", "length", "temperature", "percent", "count")
)
"""Kinds of which there is one value at a time."""
_CALENDAR: Final = lazy_pattern(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october"
    r"|november|december"
)
"""Names that name nobody."""
_LEAST: Final = 1e-3
_UNIT: Final = 3.0
_RANKS: Final = 5
_TERMS: Final = 3
"""The last three bring odds, ranks and shared terms to the size of the other signs."""

WEIGHTS: Final[Mapping[str, float]] = {
    "bias": -1.59,
    "likely": 1.15,
    "rank": -0.97,
    "announces": 0.92,
    "adds": -0.99,
    "shared": 2.88,
    "rarely shared": 3.19,
    "other names": 0.49,
    "one kind": 0.73,
    "asked for": 0.39,
    "same day": -4.3,
    "late": -0.89,
    "now": 1.45,
    "chinese": 0.56,
    "several": -1.42,
    "several announces": 0.75,
    "several shared": -1.3,
}
"""Weights of whether a later memory replaces an earlier one; printed by `benchmarks/fit_succession.py`."""


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


class Pair(NamedTuple):
    """Two memories by their places, and what tells whether the later one replaces the earlier one."""

    earlier: int
    later: int
    signs: Mapping[str, float]


def succeeded(
    query: str,
    told: Sequence[Told],
    chances: Sequence[float],
    share: float,
    weights: Mapping[str, float] = WEIGHTS,
    until: str = "",
) -> tuple[list[float], frozenset[int]]:
    """The probability of each memory by what it replaces, and the places of those that are replaced.

    Args:
        query: What is asked.
        told: The memories that were found.
        chances: The probability of each that it helps.
        share: The share of the best probability from which a memory is shown.
        weights: Those of the signs of a pair.
        until: The day that is asked about: what was told after it replaces nothing; empty for now.
    """
    likely = [*chances]
    compared = (pair for pair in pairs(query, told, chances) if not until or told[pair.later].said[0] <= until)
    judged = sorted((_judged(pair.signs, weights), pair.later, pair.earlier) for pair in compared)
    closest = {later: odds for odds, later, _ in judged}
    links = [(a, b) for odds, b, a in judged if odds >= max(REPLACES, closest[b] - CLOSE)]
    for earlier, later in dict(links).items():  # of several that replace one, the surest, which comes last
        likely[later] = max(likely[later], INHERITED * chances[earlier])
    least = share * max(likely, default=0.0)
    gone = {earlier for earlier, later in links if likely[later] >= least}
    lost = {turn for place in gone for turn in told[place].turns}
    repeated = {place for place, one in enumerate(told) if one.is_turn and not lost.isdisjoint(one.turns)}
    return likely, frozenset(gone | repeated)


def pairs(query: str, told: Sequence[Told], chances: Sequence[float]) -> Iterator[Pair]:
    """Each of the likeliest memories with those that the same speaker told later; arguments are those of `succeeded`.

    None where the question is about the past, for all that there is, or for what somebody must not have; nor
    where it may be for several things of which each stands by itself, unlike the times of a week. An earlier one that
    holds the value that is asked for is not compared with a later one that does not, nor one of whom or what the
    question names with one that names only others.
    """
    if any(pattern.search(query) for pattern in (_PAST, _ALL, _HARMFUL)):
        return
    several, kinds = _SEVERAL.search(query) is not None, asked_for(query)
    if several and _VALUES.isdisjoint(kinds):
        return
    silent, days = _repeats(told), sorted({one.said[0] for one in told})
    likeliest = sorted(range(len(told)), key=lambda place: -chances[place])[:COMPARED]
    asked, wanted, named = _who(names_and_numbers(query), query), subject_terms(query), _OF_WHICH_ZH.search(query)
    people = _people(query) if asks_for_own(query) else None
    read = {place: _Rival.of(told[place].text, kinds) for place in likeliest if place not in silent}
    held = Counter(term for one in read.values() for term in one.terms)
    of_query = {"bias": 1.0, "now": _NOW.search(query) is not None, "chinese": is_cjk(query), "several": several}
    for rank, b in enumerate(likeliest):
        if b not in read or is_hoped(told[b].text):
            continue
        of_later = of_query | {
            "likely": _odds(chances[b]),
            "rank": rank / _RANKS,
            "announces": read[b].announces,
            "several announces": several and read[b].announces,
            "adds": read[b].adds,
            "late": days.index(told[b].said[0]) / max(1, len(days) - 1),
        }
        for a in read:
            if not (_is_before(told[a], told[b]) and _may_replace(asked, read[a], read[b])):
                continue
            old, new = told[a].text, told[b].text
            if _is_of_another_name(named, old, new) or _is_elsewhere(wanted, old, new, read[a], read[b]):
                continue
            if _is_anothers(people, old, new):
                continue
            compared = _compared(read[a], read[b], held)
            of_both = {
                "same day": told[a].said[0] == told[b].said[0],
                "several shared": several * compared["shared"],
            }
            yield Pair(a, b, of_later | of_both | compared)


@dataclass(frozen=True, slots=True)
class _Rival:
    """A memory, as it is compared."""

    terms: frozenset[str]
    names: frozenset[str]
    kinds: frozenset[str]
    """The kinds of values in it."""
    who: frozenset[str | int]
    """Whom and what it names."""
    is_asked_for: bool
    """Whether it may hold the value that is asked for."""
    is_harmful: bool
    """Whether it tells what somebody must not have."""
    is_allowed: bool
    """Whether it tells what they may have."""
    announces: bool
    adds: bool

    @classmethod
    def of(cls, text: str, kinds: Sequence[Kind]) -> "_Rival":
        names = frozenset(names_and_numbers(text))
        return cls(
            subject_terms(text),
            names,
            frozenset(value_kinds(text)),
            _who(names, text),
            not _VALUES.isdisjoint(kinds) and may_hold(kinds, text),
            _HARMFUL.search(text) is not None,
            _ALLOWED.search(text) is not None,
            announces_change(text),
            _ADDS.search(text) is not None,
        )


def _who(names: Iterable[str], text: str) -> frozenset[str | int]:
    """The names in a text, without its numbers and days, and the kin."""
    return frozenset(name for name in names if name[0].isalpha() and not _CALENDAR.fullmatch(name)) | kin_in(text)


def _people(text: str) -> frozenset[str]:
    """The names in a text, and the words for kin."""
    return frozenset(name for name in names_and_numbers(text) if name[0].isalpha()) | kin_words(text)


def _may_replace(asked: frozenset[str | int], earlier: _Rival, later: _Rival) -> bool:
    """Whether the later one may take the place of the earlier one at all, whatever the weights say."""
    is_of_another = bool((asked & earlier.who) - later.who) and bool(later.who - earlier.who)
    is_of_another = is_of_another and earlier.who.isdisjoint(later.who)
    is_harmful = earlier.is_harmful and not later.is_allowed
    return not (is_harmful or is_of_another) and earlier.is_asked_for <= later.is_asked_for


def _is_anothers(asked: frozenset[str] | None, old: str, new: str) -> bool:
    """Whether the later text is told of another thing, or is somebody else's where the question asks for one's own.

    Args:
        asked: Whom the question names, where it asks for the speaker's own: "what's my rent?".
        old: The earlier text.
        new: The later one: "my sister's rent".
    """
    is_own = asked is not None and asked.isdisjoint(_people(new))
    return are_told_apart(old, new) or (is_own and is_somebody_elses(new, old))


def _is_of_another_name(named: re.Match[str] | None, old: str, new: str) -> bool:
    """Whether of a Chinese thing the earlier text is of the one that a question names, and the later of another."""
    if named is None:
        return False
    return named["which"] in old and named["which"] not in new and f"的{named['what']}" in new


def _is_elsewhere(wanted: frozenset[str], old: str, new: str, earlier: _Rival, later: _Rival) -> bool:
    """Whether the later one has the name of what is asked for and something else to tell it from others.

    It is the locker at work, and not the one at the gym.
    """
    held, ours = wanted & earlier.terms, wanted & later.terms
    if not ours or later.announces or not held > ours:
        return False
    known = frozenset(tokenize(old))
    return any(known.isdisjoint(tokenize(found[1])) for found in _OF_WHICH.finditer(new))


def _compared(earlier: _Rival, later: _Rival, held: Mapping[str, int]) -> dict[str, float]:
    """What two memories have in common; a term counts the more, the fewer of those compared have it."""
    shared = earlier.terms & later.terms
    return {
        "shared": len(shared) / max(1, min(len(earlier.terms), len(later.terms))),
        "rarely shared": math.fsum(1 / max(1, held[term] - 1) for term in shared) / _TERMS,
        "other names": bool(earlier.names - later.names) and bool(later.names - earlier.names),
        "one kind": not earlier.kinds.isdisjoint(later.kinds),
        "asked for": earlier.is_asked_for and later.is_asked_for,
    }


def _judged(signs: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The logarithm of the odds that the later one replaces the earlier one."""
    return math.fsum(weights[name] * value for name, value in signs.items())


def _odds(chance: float) -> float:
    """The logarithm of the odds of a memory that helps, in units of three."""
    within = min(max(chance, _LEAST), 1 - _LEAST)
    return math.log(within / (1 - within)) / _UNIT


def _repeats(told: Sequence[Told]) -> frozenset[int]:
    """The places of turns that only repeat what was drawn from them; where nothing was, a turn speaks for itself."""
    drawn = frozenset[str]().union(*(one.turns for one in told if not one.is_turn))
    return frozenset(place for place, one in enumerate(told) if one.is_turn and not drawn.isdisjoint(one.turns))


def _is_before(one: Told, other: Told) -> bool:
    return one.speaker == other.speaker and one.said < other.said and one.turns.isdisjoint(other.turns)
