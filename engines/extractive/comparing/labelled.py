"""Values that two documents about one thing give under one label: 押金为6400元, 押金是3200元; "Venue: Hall 2".

A label is the whole of what a clause says before "is", 为 or a colon, or the label of a row with one value; what stands
before it may only be the name of what both documents are about. So a clause is enough, whatever else its sentence says.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.edits import Kind
from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, shown
from agentic_memory_bank.engines.extractive.comparing.periods import other_period
from agentic_memory_bank.engines.extractive.comparing.telling import OF_EVERYTHING
from agentic_memory_bank.engines.extractive.reading.figures import Figure, are_of_other_sizes, same_figure, same_kind
from agentic_memory_bank.engines.extractive.reading.statements import DOCUMENTS_KEPT, Document, Statement
from agentic_memory_bank.engines.extractive.reading.terms import terms_of
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_MOST_TEXT: Final = 300
_SURE: Final = 0.8
_NEAR: Final = 8
"""How far behind a label its value begins, in characters."""
_LONGEST_NAME: Final = 24
_LONGEST_LABEL: Final = 12
_OF_ONE_VALUE: Final = 2
"""Cells of a row that gives one value."""
_UNSAID: Final = ("header", "heading", "code")
_HAN: Final = lazy_pattern(r"[\u4e00-\u9fff]+")
_THIS: Final = lazy_pattern(r"(?:今年|本次|本届|此次|这次|本期|我[校院司们]|本[校院店馆]|该|全部|所有)?")
"""What says of a value only that it is the one that is spoken of."""
_CLAUSE: Final = lazy_pattern(r"[^，。；;！？!?\n]+")
_CHINESE: Final = lazy_pattern(
    r"[\s*_|·•-]*+(?:第[一二三四五六七八九十\d]{1,4}[条款项节]|[(（]?[一二三四五六七八九十\d]{1,3}[)）、.．])?+[\s*_]*+"
    r"(?P<of>[^，。：:为是]{0,12}的)?(?P<label>[\u4e00-\u9fff]{2,10}?)[*_]{0,2}"
    r"(?:\s{0,4}[:：][*_\s]{0,4}|(?:现|暂|均|仍|一律|最终|已)?(?:定为|约为|设为|[为是]))(?P<value>[^\s*_].*)"
)
_LIMIT_EACH: Final = lazy_pattern(
    r"每(?:人|户|位[\u4e00-\u9fff]{1,4}?|名[\u4e00-\u9fff]{1,4}?|个?[家组队])(?:最多|至多|仅?限|不超过)"
    r"[\u4e00-\u9fff]{0,4} ?(?P<value>[\d一二两三四五六七八九十]{1,4} ?(?P<measure>[张幅件个次瓶台本份篇组杯只盒套箱]))"
)
"""How much each may have at most, whatever each is called."""
_ENGLISH: Final = lazy_pattern(
    r"[\s*_|•-]*+(?:(?:The|Our|Its|Their) (?P<label>[a-z][\w' /-]{2,40}?) (?:is|are|was|were|will be) "
    r"|(?P<field>[A-Z][\w' /-]{1,40}?)[*_]{0,2}:[*_]{0,2}\s{1,8})(?P<value>\S.*)"
)
_NO_LABEL: Final = lazy_pattern(
    r"[认以成作称因改变视分列即译名化转评选升降约]\Z|(?:不|都|就|也|还|总|只|便|正|可能|应该|这|那|它|他|她|我|你|们|谁|其中|原因|目的|问题|重点|前提|"
    r"特别|尤其|主要|如果|若|要|但|而|并|或|算|才|更|最好|首先|其次|同时|一般|通常|本来|原来)\Z|\A(?:如果|若|要是|假如|因为|虽然|我们|你们|他们|大家|这|那|谁)"
)
"""What stands before 为 or 是 and is no name of an attribute."""
_BARE: Final = frozenset(
    ("时间", "日期", "地点", "日", "date", "time", "place", "subject", "from", "to", "re", "name", "名称")
)
"""Labels of the head of a letter or of minutes: the date of one is not that of the other."""
_PLACED: Final = lazy_pattern(
    r"(?:地点|地址|场地|会场|教室|集合点|负责人|联系人|主持人?|主讲人?|教练|队长|颜色|材质|产地|主办单位|主办方|承办单位|承办方|出版社|供应商|品牌|开户行)\Z"
)
_NAMED: Final = frozenset(
    term
    for term in terms_of("venue location address colour color material organiser organizer publisher supplier brand")
    if not term.startswith("@")
)
"""Attributes of which there is one name, place, colour."""
_OPEN: Final = lazy_pattern(
    r"待定|另行|另定|不变|如下|同上|见|详见|to be |tbd|tba|see |as |the same|not yet|still", re.IGNORECASE
)
"""What is said where a value is still open or stands elsewhere."""


@dataclass(frozen=True)
class _Labelled:
    """A value under its label.

    Attributes:
        statement: Where it is given.
        label: The label: Chinese characters, or the terms of an English one in order.
        of: What stands before the label and says of what it is; may be empty.
        value: The value as written.
        figure: The first number or date of it, if it opens with one.
    """

    statement: Statement
    label: str
    of: str
    value: str
    figure: Figure | None


def labelled(first: Document, second: Document) -> Iterator[FoundContradiction]:
    """Values that differ under one label, for which each of two documents about one thing gives but one."""
    about = f"{first.name} {first.title} {second.name} {second.title}"
    ours, theirs = _labelled(first), _labelled(second)
    by_ending: dict[str, list[_Labelled]] = {}
    for other in theirs:
        for ending in _endings(other.label):
            by_ending.setdefault(ending, []).append(other)
    pairs = [
        (one, other)
        for one in ours
        for other in {id(o): o for ending in _endings(one.label) for o in by_ending.get(ending, ())}.values()
        if _are_of_one(one, other, about)
    ]
    times = Counter(id(side) for pair in pairs for side in pair)
    for one, other in pairs:
        if times[id(one)] == times[id(other)] == 1 and (found := _differing(one, other)):
            kind, values = found
            yield FoundContradiction(one.statement, other.statement, kind, values, None, _SURE)


@lru_cache(maxsize=DOCUMENTS_KEPT)
def _labelled(document: Document) -> tuple[_Labelled, ...]:
    """The values of a document under their labels; of those that come with several values none."""
    found = [one for statement in document.statements for one in _of_statement(statement)]
    times = Counter(one.label for one in found)
    return tuple(one for one in found if times[one.label] == 1)


def _of_statement(statement: Statement) -> Iterator[_Labelled]:
    text = statement.text
    if len(text) > _MOST_TEXT or statement.mode in ("asked", "template") or statement.place.kind in _UNSAID:
        return
    if statement.cells:
        if len(statement.cells) == _OF_ONE_VALUE and (label := _normal(statement.place.row)):
            low, high = (offset - statement.start for offset in statement.cells[1])
            yield _given(statement, label, "", low, text[low:high])
        return
    for limit in _LIMIT_EACH.finditer(text):
        yield _given(statement, f"每人限{limit['measure']}", "", limit.start("value"), limit["value"])
    for clause in _CLAUSE.finditer(text):
        if found := _CHINESE.match(clause[0]):
            if not _NO_LABEL.search(found["label"]):
                at = clause.start() + found.start("value")
                yield _given(statement, found["label"], (found["of"] or "")[:-1], at, found["value"])
        elif (found := _ENGLISH.match(clause[0])) and (label := _normal(found["label"] or found["field"])):
            if any(
                one.start < clause.start() + found.start("value") and one.end > clause.start()
                for one in statement.figures
            ):
                continue
            yield _given(statement, label, "", clause.start() + found.start("value"), found["value"])


def _normal(label: str) -> str:
    """A label as it is compared: Chinese characters, or index terms in order; nothing where it says too little."""
    han = "".join(_HAN.findall(label))
    if han:
        return han if 1 < len(han) <= _LONGEST_LABEL else ""
    terms = sorted(term for term in terms_of(label) if not term.startswith("@"))
    return " ".join(terms) if set(terms) - OF_EVERYTHING else ""


def _given(statement: Statement, label: str, of: str, at: int, value: str) -> _Labelled:
    near = (one for one in statement.figures if at <= one.start <= at + min(_NEAR, len(value)))
    return _Labelled(statement, label, of, value.strip(" *_|。."), next(near, None))


def _endings(label: str) -> Iterator[str]:
    """What labels are found by: of Chinese ones each ending, as 比赛地点 may be the 地点 of 比赛."""
    yield from (label,) if label.isascii() else (label[at:] for at in range(len(label) - 1))


def _are_of_one(one: _Labelled, other: _Labelled, about: str) -> bool:
    """Whether two labels are the same, but for words that name what both documents are about."""
    longer, shorter = sorted((one.label, other.label), key=len, reverse=True)
    if shorter in _BARE or not longer.endswith(shorter) or longer.isascii() and longer != shorter:
        return False
    return all(part in about or _THIS.fullmatch(part) for part in (longer[: -len(shorter)], one.of, other.of))


def _differing(one: _Labelled, other: _Labelled) -> tuple[Kind, tuple[str, str]] | None:
    """What kind of values two labelled ones are, and which, where they exclude each other."""
    if one.figure and other.figure:
        ours, theirs = one.figure, other.figure
        if not same_kind(ours, theirs) or same_figure(ours, theirs) or are_of_other_sizes(ours, theirs):
            return None
        if ours.unit != theirs.unit or other_period(one.statement, ours, other.statement, theirs):
            return None
        kind: Kind = "number" if ours.kind == "number" else "date"
        return kind, (shown(one.statement, ours), shown(other.statement, theirs))
    if one.figure or other.figure or not _is_name(one) or not _is_name(other):
        return None
    return None if _share(one.value, other.value) else ("name", (one.value, other.value))


def _is_name(given: _Labelled) -> bool:
    """Whether a value is a name, of an attribute that has but one."""
    is_one = _PLACED.search(given.label) if not given.label.isascii() else not _NAMED.isdisjoint(given.label.split())
    return bool(is_one) and len(given.value) <= _LONGEST_NAME and not _OPEN.search(given.value)


def _share(one: str, other: str) -> bool:
    """Whether two names have a word, or two Chinese characters side by side, in common."""
    return not terms_of(one).isdisjoint(terms_of(other)) or not _pairs(one).isdisjoint(_pairs(other))


def _pairs(name: str) -> frozenset[str]:
    return frozenset(a + b for a, b in pairwise(name) if not (a + b).isascii())
