"""Words and numbers that tell two statements apart: adults from children, winter from summer, model P4 from P7."""

import re
from collections.abc import Mapping, Set
from functools import lru_cache
from itertools import pairwise
from typing import Final

from agentic_memory_bank.engines.extractive.reading.concepts import of_word
from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.statements import Statement, is_chinese, labels_of
from agentic_memory_bank.engines.extractive.reading.terms import terms_of
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_BESIDE: Final = 3
"""Characters between a day of the week and its date."""

_CODE: Final = re.compile(r"(?<![\w.-])(?P<letters>[A-Z]{1,4})[- ]?(?P<number>\d{1,5}[A-Za-z]?)(?![\w.-]|\d)")
_EVERYTHING: Final = (
    "date dated when cost costs price fee charge pay paid amount rate year years yearly month monthly week day hour "
    "per each every one more new number total maximum minimum about only take takes get clock oclock "
    "每 元 年 月 天 价格 费用 收费 提前 至少 最多 左右 以内 收取"
)
OF_EVERYTHING: Final = frozenset(stem(word) for word in _EVERYTHING.split()) | {"@yearly"}
"""Words that values of anything stand among: alone they do not tell that two are of one attribute."""
_KINDS: Final = tuple(
    tuple(frozenset(stem(word) for word in one.split("/")) for one in group.split())
    for group in (
        "adult/成人 child/children/kid/pupil/儿童 student/pupil/学生 senior/pensioner/老人 member/会员 resident guest",
        "weekday/平日 weekend/周末 saturday/周六 sunday/周日 holiday/假日",
        "summer/夏季 winter/冬季 spring/春季 autumn/秋季",
        "minimum/least/最低/最少 maximum/most/最高/最多",
        "hourly daily/每天 weekly/每周 monthly/每月 yearly/annual/annually/每年",
        "hour/小时 day/天 week month/月 year/年",
        "single/one-way/单人/单程 double/双人 return/往返",
        "deposit/押金 price rent/房租 fee fine/罚款 excess",
        "small/小型 medium/中型 large/大型",
        "breakfast/早餐 lunch/午餐 dinner/supper/晚餐",
        "dog/狗 cat/猫 bird horse",
        "dead/死亡 injured/受伤 missing/失踪 rescued evacuated",
        "first/首 second third last/末",
    )
)
"""Words for what values differ by: where two values stand beside different ones of a group, they are of two things."""


_NUMBERED: Final = lazy_pattern(
    r"(?:marker|room|bay|gate|line|unit|plot|table|shelf|no\.|number|line|bus|platform)\s?(?P<latin>\d{1,6})"
    r"|(?<![\d一二三四五六七八九十])(?P<han>\d{1,6}|[一二三四五六七八九十]{1,4})\s?[号栋楼室班组路](?!线)",
    re.IGNORECASE,
)
"""A room, an item, a bus line, named by its number."""
_TELLING: Final = frozenset[str]().union(*(words for kind in _KINDS for words in kind))


def are_apart(ours: Set[str], theirs: Set[str]) -> bool:
    """Whether each of two sets has a word of one kind that tells values apart ("summer" here, "winter" there)."""
    if ours.isdisjoint(_TELLING) or theirs.isdisjoint(_TELLING):
        return False
    for kind in _KINDS:
        left, right = ([n for n, words in enumerate(kind) if not words.isdisjoint(side)] for side in (ours, theirs))
        if left and right and set(left).isdisjoint(right):
            return True
    return False


def stand_apart(first: Statement, second: Statement) -> bool:
    """Whether two statements have words that tell values apart, or stand under other numbers, codes or versions."""
    ours, theirs = (_own(one, other) for one, other in ((first, second), (second, first)))
    if are_apart(ours, theirs):
        return True
    left, right = (labels_of(" ".join((*s.place.headings, s.place.row))) for s in (first, second))
    if left and right and left.isdisjoint(right):
        return True
    return _is_of_another(first, second) or _is_of_another(second, first)


def numbered_apart(first: Statement, second: Statement) -> bool:
    """Whether each of two statements names rooms, lines or items by numbers, and none that the other one names."""
    left, right = _numbers_in(first.text), _numbers_in(second.text)
    return bool(left and right) and left.isdisjoint(right)


@lru_cache(maxsize=4096)
def _numbers_in(text: str) -> frozenset[str]:
    """The numbers by which a text names rooms, items, chapters."""
    return frozenset(found["latin"] or found["han"] for found in _NUMBERED.finditer(text))


def dated_days(statement: Statement, other: Statement) -> frozenset[str]:
    """The days of the week of a statement, where both have one beside a date: there they tell nothing apart."""
    return _days(statement) if _days(other) else frozenset()


def _days(statement: Statement) -> frozenset[str]:
    days = frozenset[str]()
    if len(statement.figures) < 2:
        return days
    for day, date in (*pairwise(statement.figures), *pairwise(statement.figures[::-1])):
        if (day.kind, date.kind) == ("weekday", "date"):
            is_beside = max(date.start - day.end, day.start - date.end) <= _BESIDE
            days |= terms_of(statement.text[day.start : day.end]) if is_beside else frozenset()
    return days


def _own(statement: Statement, other: Statement) -> frozenset[str]:
    """The words that only one of two statements has, in any language, days beside their dates left out."""
    own = statement.terms - other.terms - dated_days(statement, other)
    if is_chinese(statement) == is_chinese(other):
        return own
    return frozenset(term for term in own if not of_word(term) & other.concepts)


def _is_of_another(first: Statement, second: Statement) -> bool:
    """Whether a statement names a model or number ("P7") where the other one's document is about another ("P4")."""
    own, titled = _codes(first.text), _codes(second.place.title)
    is_other = bool(own.keys() & titled.keys()) and not _shares_code(own, titled)
    return is_other and not _shares_code(own, _codes(second.text))


@lru_cache(maxsize=4096)
def _codes(text: str) -> Mapping[str, frozenset[str]]:
    """The numbers of models and the like, by the letters before them."""
    found: dict[str, set[str]] = {}
    for match in _CODE.finditer(text):
        found.setdefault(match["letters"], set()).add(match["number"])
    return {letters: frozenset(numbers) for letters, numbers in found.items()}


def _shares_code(ours: Mapping[str, frozenset[str]], theirs: Mapping[str, frozenset[str]]) -> bool:
    return any(numbers & theirs.get(letters, frozenset()) for letters, numbers in ours.items())
