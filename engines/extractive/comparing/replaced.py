"""The old value of an announcement and the new one: how they are written, and which of a target's figures is meant."""

import re
from math import log
from typing import Final

from agentic_memory_bank.engines.extractive.reading.figures import Figure, figures_of, same_kind, same_written
from agentic_memory_bank.engines.extractive.reading.revisions import AnnouncedRevision
from agentic_memory_bank.engines.extractive.reading.statements import Statement
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_BARE: Final = lazy_pattern(r"[£$€¥]?[\d.,]+|[a-z]+", re.IGNORECASE)
_UNIT: Final = lazy_pattern(r"^\W*(?:[\d.,]+|[a-z]+)", re.IGNORECASE)
_LAST_WORD: Final = lazy_pattern(r"(?<![A-Za-z])[A-Z][A-Za-z]{1,23}(?= ?$)")
_HAN_COUNTER: Final = lazy_pattern(r" ?([\u4e00-\u9fff])")


def is_telling(named: Figure, own: Figure) -> bool:
    """Whether a value is found again by more than chance: it has a unit, is a date or time, or has several digits."""
    value = named.value
    return (
        value is None
        or named.kind == "date"
        or bool(value.unit and value.unit == own.unit)
        or value.amount % 1 != 0
        or value.amount >= 100
        or {named.unit, own.unit} == {"time", "months"}
    )


def with_unit(revision: AnnouncedRevision) -> str:
    """The old value, with the unit of the new one where it has none ("from 25 to 28 days")."""
    return f"{revision.old}{_UNIT.sub('', revision.new, count=1)}" if _BARE.fullmatch(revision.old) else revision.old


def new_value(revision: AnnouncedRevision, old: Figure) -> str:
    """What stands in the place of an old value: the first like it; what says that something ends is no value."""
    new = figures_of(revision.new)
    like = next((figure for figure in new if same_kind(figure, old) and not same_written(figure, old)), None)
    if like:
        return revision.new[like.start : like.end].strip()
    return "" if revision.kind in ("cancel", "end") else revision.new[:40].strip(" .。")


def word_before(written: str, figure: Figure) -> str:
    """The word right before a figure: "Java" before 11."""
    found = _LAST_WORD.search(written[max(0, figure.start - 24) : figure.start])
    return found[0].casefold() if found else ""


def distance(figure: Figure, own: Figure) -> float:
    """How many times one number is the other, as a logarithm; 0 for what is no number."""
    if figure.kind != "number" or figure.value is None or own.value is None:
        return 0.0
    return abs(log((figure.value.amount or 1e-9) / (own.value.amount or 1e-9)))


def counter(written: str, figure: Figure) -> str:
    """The Chinese character right behind a number, with which things are counted: that of "四台"."""
    found = _HAN_COUNTER.match(written, figure.end)
    return found[1] if found else ""


def in_cell(target: Statement, column: int) -> list[Figure]:
    """The figures in one cell of a row."""
    low, high = (offset - target.start for offset in target.cells[column])
    return [figure for figure in target.figures if low <= figure.start < high]
