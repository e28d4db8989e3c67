"""What a notice of changes says is so, looked up in the document that it changes: the one value that it must mean.

A notice is there to change something. So what it states with a value of a kind needs no words that announce it, and
fewer in common with what it changes: each of its values belongs to the value of that kind which stands among the most
of its words, if no other one comes near, and no other value of the notice is nearer to that.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log2
from typing import Final, Protocol

from agentic_memory_bank.engines.extractive.comparing.counterparts import (
    OF_EVERYTHING,
    are_apart,
    column_of,
    figures_given,
    words_of,
)
from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Weights, shown
from agentic_memory_bank.engines.extractive.comparing.meant import limited_apart
from agentic_memory_bank.engines.extractive.comparing.periods import other_period
from agentic_memory_bank.engines.extractive.reading.concepts import of_word
from agentic_memory_bank.engines.extractive.reading.figures import Figure, are_of_other_sizes, same_kind, same_written
from agentic_memory_bank.engines.extractive.reading.marks import OF_THE_DOCUMENT
from agentic_memory_bank.engines.extractive.reading.revisions import references_of
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement
from agentic_memory_bank.tools.text.terms import tokenize

_CONCEPT: Final = 2.0
_GENERAL: Final = 0.3
_PAIR: Final = 0.5
CLAUSE: Final = 1.0
SENTENCE: Final = 0.6
CONTEXT: Final = 0.5
_REFERRED: Final = 2.5
_COUNTED: Final = 1.0
_LEAST: Final = 2.5
_LEAST_TIME: Final = 3.5
_BY_RIVAL: Final = 1.0
_MARGIN: Final = 1.25
_MOST_TEXT: Final = 300
_MOST_FIGURES: Final = 8
_PART: Final = re.compile(r"(?:[^,;:，。；：;、()（）]|,(?=\d)|:(?=\d))+")
_AND: Final = re.compile(r"\band\b|[和及]")
_SINCE: Final = re.compile(
    r"(?:\b(?:as from|as of|with effect from|starting|from|since)|[自从])\s?(?:the )?(?:beginning of )?$", re.I
)
_ONWARDS: Final = re.compile(r"\s?(?:onwards|on\b|起|开始)", re.I)
_BY: Final = re.compile(r"\bby $|(?:推迟|延后|顺延|推后|提早|提前|延长|后移|挪)了?$", re.I)
_DAYS: Final = frozenset(
    term for day in "monday tuesday wednesday thursday friday saturday sunday".split() for term in tokenize(day)
)
_IN: Final = re.compile(r"\b(?:in|since|of|until|till|by|year|for|b\.|d\.|from) $", re.I)
_END: Final = re.compile(r"(?:\b(?:until|till|to|by|at the latest)|[至到—–-])\s?$", re.I)
_BEGIN: Final = re.compile(r"(?:\b(?:from|since|after)|[自从由])\s?$", re.I)
_ENDS: Final = re.compile(r"\b(?:close[sd]?|shut|lock|ends?|finish\w*|over)\b|结束|关门|打烊|止|截止", re.I)
_BEGINS: Final = re.compile(r"\b(?:open|begin|start|leave|set off|sets off|depart)s?\b|开始|开幕|开门|出发|集合", re.I)
_QUOTES: Final = re.compile(
    r"[\"“”「」]|\b(?:thinks?|thought|believes?|feels?|reckons?|guess(?:es)?|wrote|asked|joked)\b|觉得|认为|听说|说[他她]", re.I
)
_PAGE: Final = re.compile(r"第\s?$|\b(?:page|p\.|item|point|clause|section|no\.|paragraph) ?$", re.I)
_HAN_NUMBER: Final = re.compile(r"[0-9一二两三四五六七八九十百]{1,6}(?P<of>[项条场次把套份张个件台辆位棵根支间幅座处盏株头]|成)")


_OVER: Final = re.compile(r"\b(?:was|were|had|did|gave|took place|last (?:week|month|year|[A-Z]\w+day))\b|[了完][，。]")
"""What says that something is over: a date of that is none that changes."""
_NUMBERED: Final = re.compile(
    r"\b(?P<kind>room|hall|gate|line|unit|plot|table|ward|block|route|class|grade|floor|bay|lot|stage|team|group) "
    r"(?P<number>\d{1,4}[a-z]?|[A-Z])\b|第(?P<which>[0-9一二三四五六七八九十]{1,3})(?P<han>[\u4e00-\u9fff]{1,2})",
    re.IGNORECASE,
)


class Worded(Protocol):
    """What stands among words: each with how close it is, from 0 to 1, and their concepts likewise."""

    @property
    def words(self) -> Mapping[str, float]:
        """The words."""

    @property
    def known(self) -> Mapping[int, float]:
        """Their concepts."""

    @property
    def numbers(self) -> frozenset[str]:
        """The numbers of the clauses and items it stands in or refers to."""


@dataclass(frozen=True)
class _Given:
    """A value of a document.

    Attributes:
        statement: Where it stands.
        figure: The value.
        unit: What it measures or counts.
        words: The words it stands among, each with how close it is, from 0 to 1.
        numbers: The numbers of the clauses and items it stands in or refers to.
    """

    statement: Statement
    figure: Figure
    unit: str
    words: Mapping[str, float]
    numbers: frozenset[str]

    @cached_property
    def known(self) -> Mapping[int, float]:
        """The concepts of its words, each with how close it is."""
        return common(self.words)

    @cached_property
    def end(self) -> str:
        """Whether a date or time begins or ends something."""
        text, figure = self.statement.text, self.figure
        if figure.kind == "number":
            return ""
        before = text[max(0, figure.start - 16) : figure.start]
        if self.span:
            return "begin" if same_written(self.span[0], figure) else "end"
        if figure.kind == "clock" and _ENDS.search(text) and not _BEGINS.search(text):
            return "end"
        return "end" if _END.search(before) else "begin" if _BEGIN.search(before) else ""

    @cached_property
    def span(self) -> tuple[Figure, Figure] | None:
        """The two ends, where it is one of them."""
        text = self.statement.text
        same = [one for one in self.statement.figures if one.kind == self.figure.kind]
        for left, right in pairwise(same):
            if self.figure.start in (left.start, right.start) and _UNTIL.fullmatch(text, left.end, right.start):
                return left, right
        return None


_UNTIL: Final = re.compile(r"\s*(?:[-–—]|to|until|till|and|至|到|起至)\s*")


def noticed(notice: Document, other: Document, weights: Weights) -> Iterator[FoundContradiction]:
    """What a notice gives another value for than the document does that it changes."""
    ours, theirs = (
        list(_given(one, one is notice, _DAYS | titled(notice, other))) for one in (notice, other)
    )
    likes = {
        (a, b): n
        for a, one in enumerate(ours)
        for b, two in enumerate(theirs)
        if _comparable(one, two) and (n := _likeness(one, two, weights))
    }
    for (a, b), n in likes.items():
        one, two = ours[a], theirs[b]
        rivals = [
            m for (at, to), m in likes.items() if at == a and to != b and not same_written(theirs[to].figure, two.figure)
        ]
        others = [
            m for (at, to), m in likes.items() if to == b and at != a and not same_written(ours[at].figure, one.figure)
        ]
        least = (_LEAST_TIME if one.figure.kind in ("clock", "weekday") else _LEAST) + _BY_RIVAL * log2(1 + len(rivals))
        if n >= max(least, _MARGIN * max(rivals, default=0.0), max(others, default=0.0)) and not _agree(one, two):
            values = shown(one.statement, one.figure), shown(two.statement, two.figure)
            kind = "number" if one.figure.kind == "number" else "date"
            yield FoundContradiction(one.statement, two.statement, kind, values, 0, round(min(1.0, 0.5 + n / 40), 4))


def titled(*documents: Document) -> frozenset[str]:
    """The words that stand in all titles: what both documents are about tells no value from another one."""
    return frozenset[str]().union(*(words_of(one.title) for one in documents[:1])).intersection(
        *(words_of(one.title) for one in documents)
    )


def _agree(one: _Given, two: _Given) -> bool:
    """Whether either statement gives the value of the other one, too."""
    pairs = [(one.figure, own) for own in two.statement.figures] + [(two.figure, own) for own in one.statement.figures]
    return any(same_kind(a, b) and same_written(a, b) for a, b in pairs)


def _comparable(one: _Given, two: _Given) -> bool:
    ours, theirs = one.figure, two.figure
    if not same_kind(ours, theirs) or are_of_other_sizes(ours, theirs):
        return False
    if ours.kind == "number" and not _count_alike(one, two):
        return False
    if one.end and two.end and one.end != two.end:
        return False
    if limited_apart(one.statement, two.statement) or _are_of_others(one.statement, two.statement):
        return False
    if ours.kind != "number" and _OVER.search(two.statement.text) and not _OVER.search(one.statement.text):
        return False
    is_other = ours.kind == "number" and other_period(one.statement, ours, two.statement, theirs)
    return not is_other and not are_apart(one.words.keys() - two.words.keys(), two.words.keys() - one.words.keys())


def _count_alike(one: _Given, two: _Given) -> bool:
    """Whether two numbers have one unit; things that a Chinese measure word counts have nouns in another language."""
    if not one.unit or not two.unit or one.unit == two.unit:
        return one.unit == two.unit != ""
    measured = [bool(side.figure.value and side.figure.value.measured) for side in (one, two)]
    return not any(measured) and one.unit.isascii() != two.unit.isascii()


def _are_of_others(first: Statement, second: Statement) -> bool:
    """Whether two statements name others of a kind by their numbers ("hall 1", "hall 3")."""
    left, right = (_numbered(one) for one in (first, second))
    return any(left[kind].isdisjoint(right[kind]) for kind in left.keys() & right.keys())


def _numbered(statement: Statement) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for match in _NUMBERED.finditer(" ".join((*statement.place.headings[-1:], statement.place.row, statement.text))):
        kind = (match["kind"] or match["han"]).casefold()
        found.setdefault(kind, set()).add((match["number"] or match["which"]).casefold())
    return found


def common(words: Mapping[str, float]) -> Mapping[int, float]:
    """The concepts of some words, each with how close it is."""
    found: dict[int, float] = {}
    for word, near in words.items():
        for concept in of_word(word):
            found[concept] = max(near, found.get(concept, 0.0))
    return found


def like(one: Worded, two: Worded, weights: Weights) -> float:
    """What the words weigh that stand around both, and others of the same concepts, by how close they are."""
    total, known = _REFERRED * bool(one.numbers & two.numbers), two.known
    for word, near in one.words.items():
        factor = _GENERAL if word in OF_EVERYTHING else 1.0 if word.isascii() or of_word(word) else _PAIR
        if word in two.words:
            total += factor * min(near, two.words[word]) * weights.of(frozenset((word,)))
        else:
            total += factor * max((min(near, known.get(c, 0.0)) for c in of_word(word)), default=0.0) * _CONCEPT
    return total


def _likeness(one: _Given, two: _Given, weights: Weights) -> float:
    counts = one.figure.kind == "number" and one.figure.value is not None and not one.figure.value.measured
    total = like(one, two, weights)
    return total + _COUNTED * counts if total else 0.0


def _given(document: Document, changes: bool, idle: frozenset[str]) -> Iterator[_Given]:
    for statement in document.statements:
        if not _is_side(statement, changes):
            continue
        for figure in figures_given(statement):
            before = " ".join(statement.text[max(0, figure.start - 24) : figure.start].replace(">", " ").split()) + " "
            if figure.kind == "number" and (_PAGE.search(before) or changes and _BY.search(before)):
                continue
            is_since = _SINCE.search(before) or _ONWARDS.match(statement.text, figure.end)
            if figure.kind == "date" and (is_since or _is_bare_year(statement, figure)):
                continue
            above = above_of(document, statement)
            named = (number for one in (statement, *above) for number in references_of(one))
            numbers = frozenset(named if changes else statement.place.numbers)
            yield _Given(statement, figure, _unit(statement, figure), _around(above, statement, figure, idle), numbers)


def above_of(document: Document, statement: Statement) -> list[Statement]:
    """The sentences before one in its paragraph."""
    return [
        one
        for one in document.statements[max(0, statement.number - _ABOVE) : statement.number]
        if one.paragraph == statement.paragraph and one.place.numbers == statement.place.numbers and not statement.cells
    ]


def _is_bare_year(statement: Statement, figure: Figure) -> bool:
    """Whether four digits are taken for a year, and nothing says so ("a serial number below 1400")."""
    written = statement.text[figure.start : figure.end]
    return written.isdigit() and not _IN.search(statement.text[max(0, figure.start - 10) : figure.start])


def _unit(statement: Statement, figure: Figure) -> str:
    """What a number measures or counts: in Chinese the word of measure."""
    found = _HAN_NUMBER.match(statement.text, figure.start)
    unit = figure.unit or (found["of"] if found else "")
    return f"{unit} each" if unit and statement.text[figure.start - 1 : figure.start] == "各" else unit


def _is_side(statement: Statement, changes: bool) -> bool:
    kind, figures = statement.place.kind, statement.figures
    if not 0 < len(figures) <= _MOST_FIGURES or len(statement.text) > _MOST_TEXT:
        return False
    if kind in ("header", "code", "heading") or statement.place.speaker or OF_THE_DOCUMENT.match(statement.text):
        return False
    if statement.mode == "quoted":  # whoever writes a mail says "I"
        return changes and not _QUOTES.search(statement.text)
    return statement.mode in ("asserted", "planned") or statement.mode == "none" and bool(statement.terms)


def _around(
    above: Sequence[Statement], statement: Statement, figure: Figure, idle: frozenset[str]
) -> Mapping[str, float]:
    """The words around a value: those of its part of the sentence, of the rest of it, and of what stands above."""
    place, found = statement.place, dict[str, float]()
    labels = {heading: None for one in (*above, statement) for heading in one.place.headings[-1:]}
    context = " ".join((*labels, place.lead_in, *(one.text for one in above)))
    if statement.cells:
        own, sentence = f"{place.row} {column_of(statement, figure)}", f"{place.row} {statement.text}"
    else:
        own, sentence = _part(statement, figure), statement.text
    for text, near in ((own, CLAUSE), (sentence, SENTENCE), (context, CONTEXT)):
        for word in words_of(text):
            if word != figure.unit and word not in idle:
                found[word] = max(near, found.get(word, 0.0))
    return found


_ABOVE: Final = 3


def _part(statement: Statement, figure: Figure) -> str:
    """The part of a sentence between commas, or "and" of two values, that a value stands in."""
    text = statement.text
    spans = (match.span() for match in _PART.finditer(text))
    low, high = next((span for span in spans if span[0] <= figure.start < span[1]), (0, len(text)))
    for found in _AND.finditer(text, low, high):
        if any(one.start >= found.end() for one in statement.figures) and found.start() > figure.start:
            return text[low : found.start()]
        if any(one.end <= found.start() for one in statement.figures) and found.end() <= figure.start:
            low = found.end()
    return text[low:high]
