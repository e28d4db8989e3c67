"""What of a stretch is the answer itself: the date without the verb behind it, the name without half a bracket.

Where it cannot be told from its neighbours, nothing is: then the whole sentence is the better answer.
"""

import re
from typing import Final

from agentic_memory_bank.engines.extractive.reading.kinds import asked_for, holds
from agentic_memory_bank.engines.extractive.reading.questions import asking_part
from agentic_memory_bank.engines.extractive.reading.units import UNITS
from agentic_memory_bank.engines.extractive.reading.values import values_of
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_UNNAMED: Final = frozenset(("reason", "choice"))
"""Kinds of which no word is told to be one."""
_VALUES: Final = frozenset(
    (
        "money",
        "duration",
        "age",
        "clock",
        "date",
        "weight",
        "length",
        "temperature",
        "percent",
        "version",
        "count",
        "occasion",
    )
)
"""Kinds of which Chinese words are told from their neighbours; where a name ends, nothing but the sense says."""
_COUNTED: Final = "届屆节節间間名位家所座条條部集期次回号號岁歲级級层層辆輛架艘本册卷章支匹头頭只隻张張枚"
"""What stands between a number and what is counted, and tells what that is."""
_MEASURE: Final = lazy_pattern(
    rf" ?(?P<known>个(?:月|小时|星期|人|百分点)?|[{_COUNTED}](?![月日年]))|[\u4e00-\u9fff%％℃°a-zA-Z²³/]{{0,4}}"
)
_ORDINAL: Final = lazy_pattern(r"第 ?\Z")
_HOW_MANY: Final = lazy_pattern(
    r"\bhow many ((?:[\w'’-]{1,24} ){0,2}[\w'’-]{1,24})|(?:多少|几)(?=[名位家间只辆本棵条台张所座]|个(?!月|小时|星期))",
    re.IGNORECASE,
)
_MEASURES: Final = frozenset(dimension for dimension, _ in UNITS.values()) - {
    "people",
    "times",
    "seat",
    "floor",
    "qubit",
}
"""What units measure, but for those of things that one counts."""
_ALIKE: Final = (frozenset(("time", "months")), frozenset(("temperature", "fahrenheit")))
_OPEN: Final = {"(": ")", "（": "）", "[": "]", "《": "》", "“": "”", "「": "」"}
_APART: Final = 3
"""Characters between two dates that are one span of time."""
_OWNER: Final = r"['’]s (?:[\w.-]{1,24} ){0,3}?"
_FURTHER: Final = r"\bof (?:[\w'’.-]{1,24} ){1,8}?"
_WITHIN: Final = lazy_pattern(
    rf"{_FURTHER}of\b|{_FURTHER}[\w.-]{{1,24}}['’]s\b|{_OWNER}[\w.-]{{1,24}}['’]s\b|{_OWNER}of\b"
    r"|\b(?:the|a|an|which|what) (?:[\w-]{1,24} ){1,4}?(?:who|that|which|whose|where|in which) \w"
    r"|\A\W*(?:when|where|what|which|how)\b[^?]{0,80}\bthe (?:director|author|writer|composer|performer|singer|founder|"
    r"creator|producer|father|mother|husband|wife|spouse|son|daughter|brother|sister) of\b",
    re.IGNORECASE,
)
"""Something is said to belong to what belongs to something, or is only described."""


def exact(question: str, stretch: str) -> str:
    """The words of a stretch that are of the kind a question asks for; empty where that cannot be told.

    Example:
        >>> exact("它什么时候停运？", "2009年1月5日起停止服务"), exact("谁创办了它？", "万润南出走法国")
        ('2009年1月5日', '')
        >>> exact("What is the name of it?", "National Hockey League (NHL"), exact("Why did it stop?", "in 2009")
        ('National Hockey League', '')
    """
    kinds = [kind for kind in asked_for(question) if kind not in _UNNAMED]
    if not any(holds(kind, stretch) for kind in kinds) or _measures_other(question, stretch):
        return ""
    words = _whole(stretch)
    if is_cjk(stretch):
        words = _value(words, "date" if "date" in kinds else "number") if _VALUES.issuperset(kinds) else ""
    return words if any(holds(kind, words) for kind in kinds) else ""


def _measures_other(question: str, stretch: str) -> bool:
    """Whether a stretch only measures something where things are counted: "14 months" for "how many nurses"."""
    asked = _HOW_MANY.search(question)
    found = {value.unit for value in values_of(stretch) if value.kind == "number"}
    if asked is None or not found or not found <= _MEASURES:
        return False
    wanted = {UNITS[word][0] for word in (asked[1] or "").casefold().split() if word in UNITS}
    return wanted.isdisjoint(found) and not any(wanted & alike and found & alike for alike in _ALIKE)


def is_nested(question: str) -> bool:
    """Whether a question is about something that it only describes, so that two statements are needed.

    Example:
        >>> is_nested("Who is the wife of the director of Vertigo?"), is_nested("Who is the director of Vertigo?")
        (True, False)
    """
    return _WITHIN.search(question) is not None or asking_part(question) != question


def _whole(words: str) -> str:
    """Words up to a bracket or quotation mark that is not closed, and behind one that was not opened."""
    for opening, closing in _OPEN.items():
        words = words.rpartition(closing)[2] if words.find(closing) >= 0 > words.find(opening) else words
        if words.count(opening) > words.count(closing):
            words = words.rpartition(opening)[0]
    return words.strip(" ,，、")


def _value(words: str, kind: str) -> str:
    """The first date or number in Chinese words, with the one it runs to; a number with 第 and what it counts."""
    values = [value for value in values_of(words) if value.kind == kind]
    if not values:
        return ""
    end = values[0].end
    for value in values[1:]:
        end = value.end if value.start - end <= _APART else end
    unit = _MEASURE.match(words, end) if kind == "number" else None
    is_unit = unit is not None and (unit["known"] is not None or unit.end() == len(words))
    first = _ORDINAL.search(words, 0, values[0].start) if kind == "number" else None
    return words[first.start() if first else values[0].start : unit.end() if unit and is_unit else end]
