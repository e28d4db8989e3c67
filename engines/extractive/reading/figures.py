"""The figures of a text: numbers, dates, times of day and days of the week, each with the words it stands among."""

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.reading.clocks import clocks_of
from agentic_memory_bank.engines.extractive.reading.terms import terms_of, without_values
from agentic_memory_bank.engines.extractive.reading.values import Value, agree, comparable, values_of
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import MAX_SENTENCE

FigureKind = Literal["number", "date", "clock", "weekday"]

_MOST_TIMES: Final = 10
"""How many times as much of one attribute two sources may give."""
_SHORT: Final = 3
"""Terms from which a clause says what its figures are about."""
_MODAL: Final = lazy_pattern(r"\b(?:[Cc]ould|[Mm]ight|may)\b")  # "May" is a month
_O_CLOCK: Final = lazy_pattern(r" o['’]clock")
_IDENTIFIER: Final = lazy_pattern(
    r"\b(?!EUR|USD|GBP|CNY|RMB|CHF|SEK|NOK|DKK|JPY|CAD|AUD|NZD|INR|PLN|CZK|HUF|SGD|HKD|TWD|KRW|BRL|ZAR|MXN|TRY)[A-Z]{2,5}"
    r"[ -]\Z|[Vv]ersion \Z"
)
"""What makes a number a part of a name ("BS 3621")."""
_WEEKDAY: Final = lazy_pattern(
    r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b|(?:星期|周|礼拜)([一二三四五六日天])",
    re.IGNORECASE,
)
_DAYS: Final = {
    day: n for n, day in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"), 1)
}
_HAN_DAYS: Final = {day: n for n, day in enumerate("一二三四五六日", 1)} | {"天": 7}
_Found = tuple[int, int, FigureKind, Value | None, int]
_MOST_DAYS: Final = 31
_TO: Final = lazy_pattern(r"(?:st|nd|rd|th)? ?(?:[-–—&/]|to|and|or|until) ?")
_OPENED: Final = ("至", "到", "-", "–", "—")
_CLAUSE: Final = lazy_pattern(r"(?:[^,;，。；;()（）]|,(?=\d))+")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, date, time of day or day of the week, with the words it stands among.

    Attributes:
        start: Offset of its first character in the statement.
        end: Offset past its last character.
        kind: What it is.
        value: The number or date.
        minutes: Minutes after midnight of a time of day; the number of a day of the week.
        near: The terms of the clause it stands in.
        half_day: Whether a time of day tells morning from evening.
    """

    start: int
    end: int
    kind: FigureKind
    value: Value | None
    minutes: int
    near: frozenset[str]
    half_day: bool = True

    @property
    def unit(self) -> str:
        """Its unit, or the noun it counts."""
        return self.value.unit if self.value else ""


def same_kind(first: Figure, second: Figure) -> bool:
    """Whether two figures may answer one question: of one kind and dimension, or bare numbers of what is counted."""
    one, other = first.value, second.value
    if one is None or other is None or first.kind == "date":
        return first.kind == second.kind and (one is None or other is None or comparable(one, other))
    if first.kind != second.kind or one.ordinal != other.ordinal:
        return False
    if (one.measured or other.measured) and "people" not in (one.unit, other.unit):
        return one.unit == other.unit or {one.unit, other.unit} == {"time", "months"}
    return True


def same_figure(first: Figure, second: Figure) -> bool:
    """Whether two figures of one kind can both be true."""
    one, other = first.value, second.value
    if one is None or other is None:
        round_the_clock = 1440 if first.half_day and second.half_day else 720
        return (first.minutes - second.minutes) % round_the_clock == 0
    if one.kind == "date":
        return agree(one, other)
    if {one.unit, other.unit} == {"time", "months"}:
        days = [v.amount * 30.4 if v.unit == "months" else v.amount / 86400 for v in (one, other)]
        return abs(days[0] - days[1]) <= 0.035 * max(days)
    return agree(one, other)


def same_written(first: Figure, second: Figure) -> bool:
    """Whether two figures of one kind are the same, limits ("at least 12") being read as the numbers they name."""
    bare = (
        replace(figure, value=figure.value and replace(figure.value, bound="")) if figure.kind == "number" else figure
        for figure in (first, second)
    )
    return same_figure(*bare)


def are_of_other_sizes(first: Figure, second: Figure) -> bool:
    """Whether one number is so many times the other that they measure different things."""
    if first.value is None or second.value is None or "number" not in (first.kind, second.kind):
        return False
    less, more = sorted((first.value.amount, second.value.amount))
    return more > _MOST_TIMES * less


def figures_of(text: str) -> tuple[Figure, ...]:
    """Numbers, dates, times of day and days of the week, in order, each with the terms of its clause.

    Args:
        text: A sentence; of a longer text, what lies behind the length of one is not read.
    """
    text = text[:MAX_SENTENCE]
    times = clocks_of(text)
    taken = {index for time in times for index in range(time.start, time.end)}
    vague = {time.start for time in times if not time.half_day}
    found: list[_Found] = [(time.start, time.end, "clock", None, time.minutes) for time in times]
    for value in values_of(text):
        if value.start in taken or _identifies(text, value):
            continue
        if _O_CLOCK.match(text, value.end) and value.amount <= 12:
            found.append((value.start, value.end, "clock", None, int(60 * value.amount)))
            vague.add(value.start)
        else:
            found.append((value.start, value.end, value.kind, value, 0))
    for match in _WEEKDAY.finditer(text):
        day = _DAYS[match[1].lower()] if match[1] else _HAN_DAYS[match[2]]
        found.append((*match.span(), "weekday", None, day))
    clauses = _clauses(text)
    starts = [start for start, _ in clauses]
    figures: list[Figure] = []
    for start, end, kind, value, minutes in _without_openings(text, sorted(found, key=lambda one: one[:2])):
        at = bisect_right(starts, start) - 1
        near = clauses[at][1] if at >= 0 else frozenset[str]()
        figures.append(Figure(start, end, kind, value, minutes, near, start not in vague))
    return tuple(figures)


def _without_openings(text: str, found: list[_Found]) -> list[_Found]:
    """All but the first day of a span ("10-13 July", "5月3日至8日"): it is no number."""
    kept: list[_Found] = []
    for at, one in enumerate(found):
        value, behind = one[3], found[at + 1] if at + 1 < len(found) else None
        is_bare = value is not None and one[2] == "number" and not value.unit and 1 <= value.amount <= _MOST_DAYS
        is_opening = is_bare and behind is not None and behind[2] == "date" and _TO.fullmatch(text, one[1], behind[0])
        is_end = is_bare and text[one[0] - 1 : one[0]] in _OPENED and text[one[1] : one[1] + 1] == "日"
        if not is_opening and not is_end:
            kept.append(one)
    return kept


def _identifies(text: str, value: Value) -> bool:
    """Whether a number is part of a name: behind capitals and a hyphen, or of three digits and more behind capitals."""
    found = _IDENTIFIER.search(text[max(0, value.start - 8) : value.start])
    return (
        found is not None and not value.measured and (found[0][-1] != " " or value.amount >= 100 or found[0][0] in "vV")
    )


def _clauses(text: str) -> list[tuple[int, frozenset[str]]]:
    """Where each clause of a sentence begins, with its terms; a short one goes with the one before it."""
    starts: list[int] = []
    own: list[frozenset[str]] = []
    for match in _CLAUSE.finditer(text):
        starts.append(match.start())
        own.append(frozenset() if _MODAL.search(match.group()) else terms_of(without_values(match.group())))
    wide = [
        terms | own[at - 1 if at else 1] if 0 < len(terms) < _SHORT and len(own) > 1 else terms
        for at, terms in enumerate(own)
    ]
    return list(zip(starts, wide, strict=True))
