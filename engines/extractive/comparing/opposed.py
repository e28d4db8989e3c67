"""Statements of two documents about one thing of which one says so and the other not: included and extra, run and off.

What is said to be so is a state with a bearer ("insurance" of "Insurance is not part of the package"), or a verb that
one of them denies. Both have to speak of the same bearer, under no condition, time or place that only one of them has.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Weights
from agentic_memory_bank.engines.extractive.comparing.sides import words_of
from agentic_memory_bank.engines.extractive.comparing.telling import are_apart
from agentic_memory_bank.engines.extractive.reading.figures import figures_of
from agentic_memory_bank.engines.extractive.reading.marks import PREVAILS
from agentic_memory_bank.engines.extractive.reading.statements import DOCUMENTS_KEPT, Document, Statement, is_chinese
from agentic_memory_bank.engines.extractive.reading.states import SaidState, states_in
from agentic_memory_bank.tools.text.forms import has_digit
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

_LEAST_WEIGHT: Final = 2.5
_COVERED: Final = 0.65
_COVERED_BACK: Final = 0.4
"""The share of the words of the longer of two bearers, in English: "the sauna" is not "the sauna of the spa"."""
_CONCEPT: Final = 0.75
_MOST_TEXT: Final = 300
_MOST_POSTINGS: Final = 24
_CLAUSE: Final = lazy_pattern(r"(?:[^,;:，。；：;()（）]|,(?=\d)|:(?=\d))+")
_RESTRICTS: Final = lazy_pattern(
    r"\b(?:in|at|on|for|during|while|when|before|after|until|with|from|by|to|under|outside|inside|except|without|as|than|"
    r"if|unless|because|since|through|between|within|near|only)\b",
    re.IGNORECASE,
)
_OF_WHAT_FOLLOWS: Final = lazy_pattern(
    r"(?:\bthere is a .{0,40}|"
    r"\bthere (?:is|are|was|were|will be)(?: no)?|\bha(?:s|ve) (?:no|to)|\blacks?|\bmust(?: not)?|"
    r"\bmay(?: not)?|\bshall not|"
    r"\bneeds?|\brequires?|\ballows?|\bpermits?|\binclud(?:es?|ing)|\bcovers?|\boffers?|"
    r"\bprovides?|\bwith|\bexclud(?:es?|ing))$",
    re.IGNORECASE,
)
"""States of what is named behind them, and not of the subject ("The price includes breakfast")."""
_ONLY: Final = lazy_pattern(
    r"\b(?:only|except|unless|apart from|other than|but not|not all|not every)\b|[仅只除]|以外|之外", re.I
)
_WORD: Final = lazy_pattern(r"[A-Za-z'’-]+")
_TO_DO: Final = lazy_pattern(r" to (?=[a-z]{3,})")
"""What goes on with what somebody is allowed to do, or has to."""
_BARES: Final = "we you they it he she i this that these those all any one everybody everyone nobody who"
_BARE: Final = frozenset(_BARES.split())


_PRESUPPOSE: Final = frozenset(("free", "open", "runs", "included", "required"))
"""What is said to be in one of these states, or not, is there."""
_GENERAL: Final = "offered"
_DENIES: Final = lazy_pattern(
    r"\b(?:not|never|cannot)\b|n['’]t\b|(?<![差并])不(?![仅但过同])|(?<!有)没有?|从未|未", re.IGNORECASE
)
_HALF: Final = lazy_pattern(
    r"\bnot (?:only|yet|always|necessarily|sure|just|merely|even|quite|know|mean|matter|least)\b"
    r"|\b(?:why|whether|how) not\b"
    r"|\b(?:says?|said|thinks?|thought|claims?|claimed|told|believes?)\b",
    re.IGNORECASE,
)
"""Denials of which what they deny may be so all the same, and what somebody says."""
_LEAST_WORDS: Final = 2
_HE_NEVER: Final = lazy_pattern(r"\s*(?:he|she) (?:never|did not|didn['’]t)\b", re.IGNORECASE)
_OF_PERSON: Final = lazy_pattern(r"\b(?:he|she|whom?)\b", re.IGNORECASE)
_MUST_NOT: Final = lazy_pattern(r"\b(?:must not|may not|shall not)$", re.IGNORECASE)
_OF_PEOPLE: Final = "hurt"
_NOBODY: Final = lazy_pattern(r"\b(?:nobody|no one|none)\b|无人|没有?人", re.IGNORECASE)
_ANYBODY: Final[Mapping[str, frozenset[int]]] = {"": frozenset()}
"""What bears a state that is denied of everybody."""
_ANYTHING: Final[Mapping[str, frozenset[int]]] = {"\n": frozenset()}
"""What bears a state that what both documents are about is in."""
_ON_SYSTEMS: Final = "runs"
_SUPPORTED: Final = lazy_pattern(
    r"\W*(?:no, )?(?P<what>[A-Z][\w+#.-]*(?: [A-Z0-9][\w.-]*){0,2}) (?:is|are) (?P<not>not |no longer )?"
    r"(?:yet |officially )?supported\b|\W*(?P<no>[暂也]?不)?支持(?: ?(?P<han>[A-Z][\w+#.-]*(?: [A-Z0-9][\w.-]*){0,2}))"
)
_OF_ITSELF: Final = ("waterproof", "prescribed", _ON_SYSTEMS)
"""States of a product or a program, of which a sentence need not name it again."""
_ITSELF: Final = lazy_pattern(
    r"\b(?:it|the (?:device|product|unit|housing|case|body|app|program|programme|software|tool|server|machine))\b"
    r"|机身|整机|本机|本品|产品|支持|具有|具备|软件|程序|设备|可以?|能|它",
    re.IGNORECASE,
)
_NUMBERED: Final = lazy_pattern(
    r"\b(?:in|on|at|to) (?:[A-Za-z]+ )?[A-Za-z]+ (?P<number>\d{1,3}[a-z]?)(?= (?:of|in|at|and|or)\b|[^\w ]| ?$)"
)
_PLACED: Final = lazy_pattern(r"\b(?:at|on|aboard)\b", re.IGNORECASE)
"""What says where or when something is part of the price: at one place, and not at another."""
_OF_A_TIME: Final = frozenset(("required", "allowed", "included", "free", "open"))
"""What is asked of people now may have been otherwise when something was done."""
_WAS: Final = lazy_pattern(r"\b(?:was|were|had)\b", re.IGNORECASE)


@dataclass(frozen=True)
class _BearerState:
    """A state that a statement says something is in, or not.

    Attributes:
        statement: The statement.
        name: The state.
        holds: Whether it is said to be so.
        bearer: The words of what is in it, each with its concepts.
        rest: The words of where, when and for whom.
        shown: The clause.
        is_plain: Whether no state is said, only that something is so.
        head: The last word of the bearer, in English mostly its noun.
    """

    statement: Statement
    name: str
    holds: bool
    bearer: Mapping[str, frozenset[int]]
    rest: Mapping[str, frozenset[int]]
    shown: str
    is_plain: bool = False
    head: str = ""


def opposed(first: Document, second: Document, weights: Weights) -> Iterator[FoundContradiction]:
    """States of one thing that exclude each other; of two documents that share a subject."""
    ours, theirs = _all_states(first), _all_states(second)
    postings: dict[tuple[str, str | int], list[_BearerState]] = {}
    for said in theirs:
        for key in _keys(said):
            postings.setdefault((said.name, key), []).append(said)
    found: dict[tuple[int, int], tuple[float, _BearerState, _BearerState]] = {}
    for said in ours:
        near = {
            id(other): other
            for key in _keys(said)
            if len(listed := postings.get((said.name, key), ())) <= _MOST_POSTINGS
            for other in listed
            if other.holds != said.holds
        }
        for other in near.values():
            like = _like(said, other, weights)
            pair = said.statement.number, other.statement.number
            if like > found.get(pair, (0.0,))[0]:
                found[pair] = like, said, other
    most: dict[tuple[bool, int], float] = {}
    for (at, to), (like, *_) in found.items():
        for side in ((True, at), (False, to)):
            most[side] = max(like, most.get(side, 0.0))
    for (at, to), (like, said, other) in found.items():
        if like == max(most[True, at], most[False, to]):
            values = said.shown[:80], other.shown[:80]
            score = round(min(1.0, 0.5 + like / 40), 4)
            yield FoundContradiction(said.statement, other.statement, "negation", values, None, score)


@lru_cache(maxsize=DOCUMENTS_KEPT)
def _all_states(document: Document) -> tuple[_BearerState, ...]:
    return tuple([said for statement in document.statements if _is_side(statement) for said in _said(statement)])


def _is_side(statement: Statement) -> bool:
    if len(statement.text) > _MOST_TEXT or len(statement.cells) not in (0, 2) or PREVAILS.search(statement.text):
        return False
    is_listed = statement.place.kind == "item" and statement.mode == "none"  # "Breakfast", under "Not included"
    return statement.is_said_as_fact or is_listed


def _said(statement: Statement) -> Iterator[_BearerState]:
    text = " ".join(statement.text.split())
    if _ONLY.search(text):
        return
    chinese, stated = is_chinese(statement), False
    for match in _CLAUSE.finditer(text):
        clause = match.group()
        shown = clause.strip(" *_>")
        yield from _supported(statement, clause)
        states = list(states_in(clause))
        for state in states:
            stated = True
            yield from _stated(statement, clause, state)
        denial = _DENIES.search(clause)
        if not states and denial is None and (words := words_of(clause)):
            yield _BearerState(statement, _GENERAL, True, words, {}, shown, is_plain=True)
        elif not states and denial and not _HALF.search(clause) and not chinese and _has_subject(clause, denial):
            said, rest = _denied(clause, denial)
            yield _BearerState(statement, _GENERAL, False, words_of(said), words_of(rest), shown)
    if not stated and statement.place.kind == "item":
        yield from _listed(statement, text)


def _supported(statement: Statement, clause: str) -> Iterator[_BearerState]:
    """On what systems, or with what, the thing works of which the document is: "Windows is not supported"."""
    if (found := _SUPPORTED.match(clause)) and (where := words_of(found["what"] or found["han"])):
        holds = not (found["not"] or found["no"])
        yield _BearerState(statement, _ON_SYSTEMS, holds, _ANYTHING, where, clause.strip(" *_>"))


def _stated(statement: Statement, clause: str, state: SaidState) -> Iterator[_BearerState]:
    """What a clause says to be in a state, and what that presupposes or, of what must not be done, denies."""
    bearer, rest = _bearer(clause, state.start, state.end, is_chinese(statement))
    words, shown = words_of(bearer), clause.strip(" *_>")
    if state.name in _OF_ITSELF and _is_itself(statement, bearer):
        said = words_of(f"{clause[: state.end]} {statement.place.title}")
        where = {word: some for word, some in words_of(statement.text).items() if word not in said}
        if where or state.name != _ON_SYSTEMS:
            yield _BearerState(statement, state.name, state.holds, _ANYTHING, where, shown)
        return
    if _MUST_NOT.search(clause[: state.end]):
        denied = words_of(f"{_cut(clause[: state.start])[0]} {_cut(clause[state.end :])[0]}")
        yield _BearerState(statement, _GENERAL, False, denied, {}, shown)
    if not words and state.name == _OF_PEOPLE and _NOBODY.search(clause):
        words = _ANYBODY
    if words:
        yield _BearerState(statement, state.name, state.holds, words, words_of(rest), shown, head=_head(bearer))
        if state.name in _PRESUPPOSE and (state.holds or state.name in ("free", "open")):
            yield _BearerState(statement, _GENERAL, True, words, words_of(rest), shown)


def _is_itself(statement: Statement, bearer: str) -> bool:
    """Whether what is in a state is what the whole document is about: the device, or nothing is named."""
    words = words_of(_ITSELF.sub(" ", bearer)).keys()
    return words <= words_of(f"{statement.place.title} {statement.place.name}").keys()


def _has_subject(clause: str, denial: re.Match[str]) -> bool:
    """Whether a clause says of what it denies something; of a person whom both speak of, "she never" is enough."""
    return bool(words_of(clause[: denial.start()]) or _HE_NEVER.match(clause, 0, denial.end()))


def _denied(clause: str, denial: re.Match[str]) -> tuple[str, str]:
    """What a clause denies ("The bridge was not damaged by ice"): of whom and what, and the words of where and when."""
    subject, where = _cut(clause[: denial.start()])
    predicate, there = _cut(clause[denial.end() :])
    return f"{subject} {predicate}", f"{where} {there}"


def _listed(statement: Statement, text: str) -> Iterator[_BearerState]:
    """What stands in a list has the state that its heading or what leads it in names ("Not included:")."""
    above = statement.place.lead_in or " ".join(statement.place.headings[-1:])
    thing, rest = (text, "") if is_chinese(statement) else _cut(text)
    for state in states_in(above):
        if words := words_of(thing):
            yield _BearerState(statement, state.name, state.holds, words, words_of(rest), text, head=_head(thing))
        return


def _bearer(text: str, start: int, end: int, chinese: bool) -> tuple[str, str]:
    """What a clause says to be in a state, and what it adds of where and when: the words before, or else behind."""
    if chinese:
        return f"{text[:start]} {text[end:]}", ""
    before, behind = text[:start], text[end:]
    if done := _TO_DO.match(behind):
        subject, where = _cut(before)
        thing, there = _cut(behind[done.end() :])
        return f"{subject} {thing}", f"{where} {there}"
    named = [word for word in _WORD.findall(before.casefold()) if word not in _BARE]
    subject, where = _cut(before)
    if words_of(subject) and named and not _OF_WHAT_FOLLOWS.search(text[start:end]):
        return subject, f"{where} {behind}"
    thing, there = _cut(behind)
    return thing, f"{before} {there}"


def _head(bearer: str) -> str:
    terms = tokenize(bearer)
    return terms[-1] if terms else ""


def _cut(text: str) -> tuple[str, str]:
    found = _RESTRICTS.search(text)
    return (text[: found.start()], text[found.start() :]) if found else (text, "")


def _keys(said: _BearerState) -> set[str | int]:
    if said.name == _OF_PEOPLE or said.bearer is _ANYTHING:
        return {""}
    return {*said.bearer, *(concept for concepts in said.bearer.values() for concept in concepts)}


def _like(first: _BearerState, second: _BearerState, weights: Weights) -> float:
    """How much the words weigh that two bearers share; 0 where something tells them apart."""
    ours, theirs = first.bearer, second.bearer
    if ours is _ANYTHING or theirs is _ANYTHING:
        holding, denying = (first, second) if first.holds else (second, first)
        is_of_both = ours is theirs and (first.name != _ON_SYSTEMS or denying.rest.keys() <= holding.rest.keys())
        return _LEAST_WEIGHT if is_of_both and not _are_of_other_times(first, second) else 0.0
    if _ANYBODY in (ours, theirs):
        return 0.0 if _are_of_other_times(first, second) else _LEAST_WEIGHT
    if first.statement.place.speaker and second.statement.place.speaker:
        return 0.0
    if is_chinese(first.statement) and is_chinese(second.statement):
        ours, theirs = _told(ours, theirs), _told(theirs, ours)
    got, back = _found(ours, theirs, weights), _found(theirs, ours, weights)
    totals = weights.of(frozenset(ours)), weights.of(frozenset(theirs))
    if min(totals) <= 0 or min(got, back) < _LEAST_WEIGHT or max(got / totals[0], back / totals[1]) < _COVERED:
        return 0.0
    latin = not is_chinese(first.statement) and not is_chinese(second.statement)
    is_plain = first.is_plain or second.is_plain
    if latin and not is_plain and first.head != second.head and min(got / totals[0], back / totals[1]) < _COVERED_BACK:
        return 0.0
    if first.is_plain and not _is_all_in(second, first) or second.is_plain and not _is_all_in(first, second):
        return 0.0
    if _are_of_other_times(first, second) or _are_of_other_places(first, second, weights):
        return 0.0
    if are_apart(first.statement.terms - second.statement.terms, second.statement.terms - first.statement.terms):
        return 0.0
    return (got + back) / 2


def _told(words: Mapping[str, frozenset[int]], others: Mapping[str, frozenset[int]]) -> Mapping[str, frozenset[int]]:
    """Chinese words that are words: of a concept, or found on both sides; other pairs of characters are seldom any."""
    return {word: concepts for word, concepts in words.items() if concepts or word in others}


def _is_all_in(denied: _BearerState, plain: _BearerState) -> bool:
    """Whether all of what there is none of, several words, stands together where something is simply said."""
    words = set(denied.bearer)
    least = 1 if _HE_NEVER.match(denied.shown) and _OF_PERSON.search(plain.shown) else _LEAST_WORDS
    return len(words) >= least and words <= plain.bearer.keys()


def _are_of_other_times(first: _BearerState, second: _BearerState) -> bool:
    """Whether only one is said of some days or hours, or of what once was asked of people."""
    if _timed(first) != _timed(second):
        return True
    return first.name in _OF_A_TIME and bool(_WAS.search(first.shown)) != bool(_WAS.search(second.shown))


def _are_of_other_places(first: _BearerState, second: _BearerState, weights: Weights) -> bool:
    """Whether the words of where, when and for whom have nothing in common, or only one names a ward or the like."""
    if _number_of(first) != _number_of(second):
        return True
    if not first.rest or not second.rest or _found(first.rest, second.rest, weights):
        return False
    return first.name != "included" or all(_PLACED.search(said.shown) for said in (first, second))


def _number_of(said: _BearerState) -> frozenset[str]:
    """The numbers of wards, rooms and the like of which alone it is said ("on ward 4")."""
    return frozenset(match["number"] for match in _NUMBERED.finditer(said.shown))


def _timed(said: _BearerState) -> bool:
    """Whether it is said of some days or hours; what runs until midnight runs all day."""
    figures = (figure for figure in figures_of(said.shown) if figure.kind in ("weekday", "clock", "date"))
    return any(figure.kind != "clock" or has_digit(said.shown[figure.start : figure.end]) for figure in figures)


def _found(words: Mapping[str, frozenset[int]], others: Mapping[str, frozenset[int]], weights: Weights) -> float:
    concepts = frozenset(concept for some in others.values() for concept in some)
    same = frozenset(word for word in words if word in others)
    alike = frozenset(word for word, some in words.items() if word not in others and some & concepts)
    return weights.of(same) + _CONCEPT * weights.of(alike)
