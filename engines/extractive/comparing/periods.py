"""For what time a value is: a month, a night, all of those that its statement counts, or from when until when."""

import re
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.reading.figures import Figure
from agentic_memory_bank.engines.extractive.reading.statements import Statement
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_PER: Final = lazy_pattern(
    r" ?(?:a|an|per|each|/|every) ?(?P<per>year|month|week|day|night|hour|session|visit|person|head|lesson|piece)\b"
    r"|/?(?P<han>年|月|周|天|次|小时|人)(?![\u4e00-\u9fff])",
    re.IGNORECASE,
)
_COUNTED_PERIODS: Final = lazy_pattern(
    r"(?<!\w)(?:\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|twelve) "
    r"(?P<of>year|month|week|day|night|hour|session|visit|person|lesson|piece)s\b",
    re.IGNORECASE,
)
_PERIODICAL: Final = lazy_pattern(r"\b(?:yearly|annual(?:ly)?|monthly|weekly|daily|nightly|hourly)\b", re.IGNORECASE)
_PERIODS: Final = {
    "yearly": "year",
    "annual": "year",
    "annually": "year",
    "monthly": "month",
    "weekly": "week",
    "daily": "day",
    "nightly": "night",
    "hourly": "hour",
}
_UNTIL: Final = lazy_pattern(r"\s*(?:[-–—]|to|until|till|and|至|到)\s*")


def hours(statement: Statement) -> tuple[Figure, Figure] | None:
    """From when until when something is, where a statement says that and names no other time or day."""
    times = [figure for figure in statement.figures if figure.kind in ("clock", "weekday", "date")]
    if len(times) != 2 or any(figure.kind != "clock" for figure in times):
        return None
    return (times[0], times[1]) if _UNTIL.fullmatch(statement.text, times[0].end, times[1].start) else None


def other_period(first: Statement, figure: Figure, second: Statement, other: Figure) -> bool:
    """Whether one value is for a year, and the other for a month or a session; or they are of other hours."""
    if figure.kind == other.kind == "clock" and _are_other_hours(first, figure, second, other):
        return True
    ours, theirs = _period(first, figure), _period(second, other)
    if not ours or not theirs:  # "£90 a night", and "3 nights, £270"
        return bool(ours) and _counts(second, ours) or bool(theirs) and _counts(first, theirs)
    return ours != theirs


def _are_other_hours(first: Statement, figure: Figure, second: Statement, other: Figure) -> bool:
    """Whether one time begins what another one ends, or only one of them is of a day of the week."""
    days = [any(one.kind == "weekday" for one in statement.figures) for statement in (first, second)]
    spans = hours(first), hours(second)
    if spans[0] is None or spans[1] is None:
        return days[0] != days[1] and any(spans)
    return spans[0].index(figure) != spans[1].index(other)


def _counts(statement: Statement, period: str) -> bool:
    """Whether a statement says for how many nights or the like its value is."""
    return any(match["of"].casefold() == period for match in _COUNTED_PERIODS.finditer(statement.text))


def _period(statement: Statement, figure: Figure) -> str:
    behind = _PER.match(statement.text, figure.end)
    if behind:
        return (behind["per"] or behind["han"]).casefold()
    place = statement.place
    return _spoken_of(" ".join((place.row, *place.columns)) if statement.cells else statement.text)


@lru_cache(maxsize=4096)
def _spoken_of(text: str) -> str:
    found = _PERIODICAL.search(text)
    return _PERIODS.get(found[0].casefold(), "") if found else ""
