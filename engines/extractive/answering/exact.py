"""What of a stretch is the answer itself: the date without the verb behind it, the name without half a bracket.

Where it cannot be told from its neighbours, nothing is: then the whole sentence is the better answer.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from agentic_memory_bank.engines.extractive.reading.kinds import asked_for, holds
from agentic_memory_bank.engines.extractive.reading.questions import asking_part
from agentic_memory_bank.engines.extractive.reading.units import UNITS
from agentic_memory_bank.engines.extractive.reading.values import Value, agree, values_of
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

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
_JOINED: Final = lazy_pattern(r"[ 至到~～—–及和与、（(-]{0,3}")
"""What stands between the two ends of a range, or two dates or numbers that are told together."""
_NEXT_WORD: Final = lazy_pattern(r" [a-z]{2,24}\b")
_COMMA: Final = lazy_pattern(r"[,，;；](?!\d{3})")
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


def exact(question: str, stretch: str, sentence: str = "") -> str:
    """The words of a stretch that are of the kind a question asks for; empty where that cannot be told.

    A value is given whole, with what stands around it in its sentence: the rank, the range, what is counted. Where the
    sentence has another one that may as well be meant, the sentence says more than either.

    Example:
        >>> exact("它什么时候停运？", "2009年1月5日起停止服务"), exact("谁创办了它？", "万润南出走法国")
        ('2009年1月5日', '')
        >>> exact("What is the name of it?", "National Hockey League (NHL"), exact("Why did it stop?", "in 2009")
        ('National Hockey League', '')
        >>> exact("How many points did he score?", "40", "He scored 40 points.")
        '40 points'
    """
    kinds = [kind for kind in asked_for(question) if kind not in _UNNAMED]
    if not any(holds(kind, stretch) for kind in kinds) or _measures_other(question, stretch):
        return ""
    words = _whole(stretch)
    text = sentence if words in sentence else words
    span = (text.find(words), text.find(words) + len(words))
    if _VALUES.issuperset(kinds):
        kind = "date" if "date" in kinds else "number"
        values = [value for value in values_of(text) if value.kind == kind]
        chosen = next((one for one in values if span[0] < one.end and one.start < span[1]), None)
        if is_cjk(text):
            span = _value(text, span, values, chosen) if chosen else (0, 0)
        else:
            span = span[0], _counted(question, text, span[1])
        if chosen and _has_rival(question, text, span, values, chosen):
            return ""
    elif is_cjk(words):
        return ""
    words = text[slice(*span)]
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


def _value(text: str, span: Span, values: Sequence[Value], chosen: Value) -> Span:
    """Where a date or number of Chinese words stands, with those of its range; a number with 第 and what it counts."""
    start, end = chosen.start, chosen.end
    for value in reversed(values):
        start = value.start if value.end <= start and _JOINED.fullmatch(text, value.end, start) else start
    for value in values:
        end = value.end if value.start >= end and _JOINED.fullmatch(text, end, value.start) else end
    if chosen.kind == "date":
        return start, end
    unit, rank = _MEASURE.match(text, end), _ORDINAL.search(text, 0, start)
    if unit and unit["known"] is not None:
        end = unit.end()
    elif unit and end < span[1] <= unit.end():
        end = span[1]
    return rank.start() if rank else start, end


def _counted(question: str, text: str, end: int) -> int:
    """Where an English number ends that goes on with what the question counts: "40 points"."""
    beside = _NEXT_WORD.match(text, end) if text[:end][-1:].isdigit() else None
    return beside.end() if beside and set(tokenize(beside[0])) & set(tokenize(question)) else end


def _has_rival(question: str, text: str, span: Span, values: Sequence[Value], chosen: Value) -> bool:
    """Whether a sentence has another value of that kind whose clause says as much of what the question does."""
    others = (
        one for one in values if not span[0] <= one.start < span[1] and not (one.kind == "date" and agree(one, chosen))
    )
    rivals = [one for one in others if _unit(text, one) == _unit(text, chosen)]
    if not rivals:
        return False
    asked, ends = set(tokenize(question)), [*(mark.end() for mark in _COMMA.finditer(text)), len(text)]
    said = [len(asked.intersection(tokenize(text[a:b]))) for a, b in pairwise([0, *ends])]
    own = said[bisect_right(ends, chosen.start)]
    return any(said[bisect_right(ends, one.start)] >= own for one in rivals)


def _unit(text: str, value: Value) -> str:
    """What a number counts or measures; of a date nothing."""
    measure = _MEASURE.match(text, value.end) if value.kind == "number" and not value.unit else None
    return (measure["known"] or "") if measure else value.unit
