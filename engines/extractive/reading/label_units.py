"""The unit of a figure that stands in the label of its column or row, and not with it: "Weight (kg)", "Price in £"."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.reading.figures import Figure
from agentic_memory_bank.engines.extractive.reading.units import UNITS
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_UNIT: Final = lazy_pattern(
    r"(?:^|[(（\[]|(?:,|/|\bin|\bper|:|：|单位为?[:：]?) {0,2})(?P<many>[十百千万亿]{0,2})"
    r"(?P<unit>[£$€¥￥%℃]|°[CF]|[A-Za-z]{1,12}2?|[\u4e00-\u9fff]{1,4})[)）\]]?\s{0,4}$"
)
_MANY: Final = {"": 1.0, "十": 10.0, "百": 1e2, "千": 1e3, "万": 1e4, "百万": 1e6, "千万": 1e7, "亿": 1e8}


@lru_cache(maxsize=1024)
def unit_of(label: str) -> tuple[str, float] | None:
    """What a label says its values measure, and in how many base units.

    Example:
        >>> unit_of("Weight (kg)"), unit_of("£"), unit_of("造价（万元）"), unit_of("Seats")
        (('mass', 1.0), ('sterling', 1.0), ('yuan', 10000.0), None)
    """
    found = _UNIT.search(label.strip("*_ ")[-24:])
    named = UNITS.get(found["unit"].casefold()) if found else None
    many = _MANY.get(found["many"]) if found else None
    is_bare = bool(found) and found.start() == 0 and found["unit"].isalpha() and label.isascii()  # "Seats": a noun
    return (named[0], named[1] * many) if named and many and not is_bare else None


def with_unit(figure: Figure, labels: Iterable[str]) -> Figure:
    """A bare number in the unit of the first of some labels that has one; any other figure as it is."""
    value = figure.value
    if value is None or figure.kind != "number" or value.measured or value.ordinal:
        return figure
    unit = next((found for label in labels if (found := unit_of(label))), None)
    if unit is None:
        return figure
    name, factor = unit
    measure = replace(
        value, unit=name, amount=value.amount * factor, factor=factor, step=value.step * factor, measured=True
    )
    return replace(figure, value=measure)
