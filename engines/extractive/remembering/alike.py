"""Says whether two texts give values of one kind of one thing: two rents, two days of a class, in whatever words."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.clauses import subject_terms
from agentic_memory_bank.engines.extractive.remembering.life import subjects_in
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import words_of

_LEAST_ROOT: Final = 4
"""Letters that two words begin with which are of one thing: "cleaner", "cleaning"."""
_MOST_TIMES: Final = 3.0
"""How many times as much a value becomes at once."""
_WEEKDAY: Final = lazy_pattern(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|星期|礼拜)[一二三四五六日天]", re.IGNORECASE
)
_DATE: Final = lazy_pattern(
    r"\b\d{1,2}(?:st|nd|rd|th)\b|\b\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}\b"
    r"|[\d一二三四五六七八九十廿]{1,3}[号日](?![楼线院门馆])",
    re.IGNORECASE,
)
_MONTH: Final = lazy_pattern(
    r"\b(?:january|february|march|april|june|july|august|september|october|november|december)\b"
    r"|(?<![\d一二三四五六七八九十])[\d一二三四五六七八九十]{1,2}月",
    re.IGNORECASE,
)
_CLOCK: Final = lazy_pattern(
    r"\b\d{1,2}[:.]\d{2}\b|\b\d{1,2} ?[ap]\.?m\b|[\d一二两三四五六七八九十]{1,3}点", re.IGNORECASE
)
_NO_AMOUNT: Final = lazy_pattern(
    r"\d{1,4}[年月号日点]|\b\d{1,2}[:.]\d{2}\b|\b\d{1,2} ?[ap]\.?m\b|\b\d{1,2}(?:st|nd|rd|th)\b|\b(?:19|20)\d\d\b"
)
_AMOUNT: Final = lazy_pattern(
    r"(?:(?:每个?|一个?)(?P<before>小时|天|周|月|年)[^，。]{0,4}?)?(?P<coin>[$€£¥])?(?<![A-Za-z\d.,])(?P<n>\d[\d,]*(?:\.\d+)?)"
    r"(?P<k>k|万|千)?+ ?(?P<unit>mg|mcg|ml|kg|kilos?|km|miles?|gb|%|percent|pounds?"
    r"|euros?|dollars?|hours?|minutes?|people"
    r"|guests|块|元|桌|人|斤|公里|小时|分钟|平)?(?:\b|(?<=[^a-z]))"
    r"(?:[^,.;]{0,14}?(?:\b(?:a|an|per|each)\b|/|每|一个?)[ ]?(?P<per>hour|day|week"
    r"|month|year|head|night|小时|天|周|月|年|次))?",
    re.IGNORECASE,
)
_CHINESE_AMOUNT: Final = lazy_pattern(
    r"(?P<n>[一二两三四五六七八九十百千万半]{1,7})(?P<unit>块|元|桌|人|公斤|斤|公里|个?小时|分钟|平|张|个月|岁|桶|本|只|把|位)"
)
"""An amount in Chinese numerals, which are compared as they are written."""
_TIMES_AS_MUCH: Final = {"k": 1e3, "千": 1e3, "万": 1e4}


def are_alike(new: str, old: str) -> bool:
    """Whether two texts give values of one kind, and other ones: two days of the week, two rents."""
    for pattern in (_WEEKDAY, _DATE, _MONTH, _CLOCK):
        ours, theirs = ({one[0].casefold().rstrip("s") for one in pattern.finditer(text)} for text in (new, old))
        if ours and theirs and ours.isdisjoint(theirs):
            return True
    ours, theirs = ({one["unit"]: one["n"] for one in _CHINESE_AMOUNT.finditer(text)} for text in (new, old))
    if any(ours[unit] != theirs[unit] for unit in ours.keys() & theirs.keys()):
        return True
    return any(_may_become(a, b) for a in _amounts(old) for b in _amounts(new))


_MAY: Final = lazy_pattern(r"\b(?:in|of|till|until|since|by|from|this|next|last|mid) May\b")
_MEASURED: Final = lazy_pattern(
    r"(?:\b(?P<label>size|grade|level|flat|room|ward|floor|net)\s)?(?<![\w.,:])\d[\d,.]{0,11}(?P<k>k|m)?"
    r"(?:\s?(?P<unit>[a-z]{2,12})\b|(?P<zh>公斤|公里|[米岁斤块元人桌次年级楼块平页本级])?)",
    re.IGNORECASE,
)
_NO_MEASURE: Final = words_of(
    "now on in at and to an or of for with from this each every by so but is as than year years old quid euro euros"
    " dollar dollars pound pounds grand buck bucks per more less instead too am pm"
)
"""What stands behind a number and is no unit, or one that is left out as often."""


def are_of_one_measure(new: str, old: str) -> bool:
    """Whether the values of two texts may be of one kind: an age is no size, no distance and no day."""
    ours, theirs = _measures(new), _measures(old)
    return not (ours and theirs) or not ours.isdisjoint(theirs) or ("" in ours and any(map(str.islower, theirs)))


def _measures(text: str) -> set[str]:
    """The kinds of a text's values: those of days in capitals, units in small letters, nothing for bare numbers."""
    kinds = (("WEEKDAY", _WEEKDAY), ("DATE", _DATE), ("DATE", _MONTH), ("DATE", _MAY), ("CLOCK", _CLOCK))
    found = {kind for kind, pattern in kinds if pattern.search(text)}
    for one in _MEASURED.finditer(_NO_AMOUNT.sub(" ", _DATE.sub(" ", text))):
        unit = (one["label"] or one["zh"] or one["unit"] or "").casefold()
        found.add("" if unit in _NO_MEASURE or unit == "岁" else unit.rstrip("s") or "")
    return found


def _amounts(text: str) -> Iterator[tuple[float, str, str]]:
    for found in _AMOUNT.finditer(_NO_AMOUNT.sub(" ", _DATE.sub(" ", text))):
        number = float(found["n"].replace(",", "") or 0) * _TIMES_AS_MUCH.get((found["k"] or "").casefold(), 1)
        yield (
            number,
            (found["coin"] or found["unit"] or "").casefold().rstrip("s"),
            (found["before"] or found["per"] or "").casefold(),
        )


def _may_become(a: tuple[float, str, str], b: tuple[float, str, str]) -> bool:
    (old, unit, per), (new, other, each) = a, b
    if (unit and other and unit != other) or (per and each and per != each) or not (old and new) or old == new:
        return False
    if not (unit or other or per or each):  # an age, a number of a house
        return False
    return max(old, new) <= _MOST_TIMES * min(old, new)


def are_of_one(new: str, old: str) -> bool:
    """Whether two texts are about one thing, in whatever words: the rent and the landlord, a cleaner and cleaning."""
    if (subjects_in(new) & subjects_in(old)) - _general():
        return True
    ours, theirs = (sorted(term for term in subject_terms(text) if term.isascii()) for text in (new, old))
    return any(_begin_alike(a, b) for a in ours for b in theirs)


def _begin_alike(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    return len(short) >= _LEAST_ROOT and long.startswith(short) and len(long) - len(short) <= 2


@lru_cache(maxsize=1)
def _general() -> frozenset[int]:
    """The groups of words that say of what kind a value is, and not of what."""
    return subjects_in("cost money salary earn when time name often weekly target off shift discount people age month")
