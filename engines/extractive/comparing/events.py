"""When something happened once: two documents about one thing that date its birth, its death or its opening apart."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, shown
from agentic_memory_bank.engines.extractive.reading.concepts import of_term
from agentic_memory_bank.engines.extractive.reading.figures import Figure, same_figure
from agentic_memory_bank.engines.extractive.reading.statements import DOCUMENTS_KEPT, Document, Statement
from agentic_memory_bank.engines.extractive.reading.terms import distinct, terms_of
from agentic_memory_bank.tools.text.terms import tokenize

_ONCE: Final = re.compile(
    r"(?i:(?P<born>\bborn\b|\bb\.|出生|生于|诞生)|(?P<died>\bdied\b|\bd\.|\bpassed away\b|逝世|去世|卒于|病逝)|"
    r"(?P<founded>\b(?:founded|established)\b|创立|创办|成立)|(?P<opened>\b(?:opened|inaugurated)\b|开馆|开业|通车|落成)|"
    r"(?P<built>\b(?:built|erected|constructed)\b|建成|建于|竣工))"
)
_OF_PEOPLE: Final = ("born", "died")
_REACH: Final = 60
_BEFORE: Final = 6
"""How far behind a verb, and before a Chinese one, its date may stand."""
_IDLE: Final = re.compile(r"(?: (?:is|was|were|been|had|has|first|officially|finally|newly|re|at last)){1,8} *$")
_ENDS: Final = re.compile(r"[;；。]|\.(?= [A-Z])")
_MOST_YEARS: Final = 30
"""Years apart from which two of a name were born."""


def dated_apart(first: Document, second: Document) -> Iterator[FoundContradiction]:
    """Events of a kind that each of two documents about one thing dates but once, on other days."""
    ours, theirs = _events(first), _events(second)
    for kind in ours.keys() & theirs.keys():
        (left, day), (right, other) = ours[kind], theirs[kind]
        if same_figure(day, other) or _are_generations(day, other):
            continue
        about = distinct(left.terms & right.terms) - terms_of(kind)
        if (
            any(not of_term(term) for term in about)
            if kind in _OF_PEOPLE
            else _subject(left, kind) & _subject(right, kind)
        ):
            yield FoundContradiction(left, right, "date", (shown(left, day), shown(right, other)), None, 0.7)


@lru_cache(maxsize=DOCUMENTS_KEPT)
def _events(document: Document) -> dict[str, tuple[Statement, Figure]]:
    """Kinds of events of which a document gives one date only, with the statement that gives it."""
    found: dict[str, list[tuple[Statement, Figure]]] = {}
    for statement in document.statements:
        if statement.mode in ("asserted", "past") and len(statement.text) <= 300:
            for match in _ONCE.finditer(statement.text):
                if day := _day_of(statement, match):
                    found.setdefault(str(match.lastgroup), []).append((statement, day))
    return {kind: dated[0] for kind, dated in found.items() if all(same_figure(dated[0][1], d) for _, d in dated)}


def _subject(statement: Statement, kind: str) -> frozenset[str]:
    """The words right before the verb of an event: what was built or opened."""
    found = next(match for match in _ONCE.finditer(statement.text) if match.lastgroup == kind)
    before = _IDLE.sub("", statement.text[max(0, found.start() - _REACH) : found.start()])
    return frozenset(tokenize(before)[-1:])


def _day_of(statement: Statement, event: re.Match[str]) -> Figure | None:
    """The date that stands next behind a verb, or right before a Chinese one."""
    days = [figure for figure in statement.figures if figure.kind == "date"]
    behind = next((day for day in days if 0 <= day.start - event.end() <= _REACH), None)
    between = statement.text[event.end() : behind.start] if behind else ""
    if behind and not _ENDS.search(between) and not _ONCE.search(between):
        return behind
    if event.group().isascii():
        return None
    return next((day for day in days if 0 <= event.start() - day.end <= _BEFORE), None)


def _are_generations(day: Figure, other: Figure) -> bool:
    """Whether two years lie so far apart that they are of two people or buildings."""
    years = [figure.value.date[0] for figure in (day, other) if figure.value]
    return len(years) == 2 and None not in years and abs((years[0] or 0) - (years[1] or 0)) > _MOST_YEARS
