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
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Weights, shown
from agentic_memory_bank.engines.extractive.comparing.meant import limited_apart
from agentic_memory_bank.engines.extractive.comparing.periods import other_period
from agentic_memory_bank.engines.extractive.comparing.sides import column_of, figures_given
from agentic_memory_bank.engines.extractive.comparing.surroundings import (
    Said,
    above_of,
    alike,
    around,
    in_both_titles,
    labels_above,
    rows_and_columns,
)
from agentic_memory_bank.engines.extractive.reading.figures import Figure, are_of_other_sizes, same_kind, same_written
from agentic_memory_bank.engines.extractive.reading.marks import OF_THE_DOCUMENT
from agentic_memory_bank.engines.extractive.reading.revisions import references_of, says_unchanged
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

_COUNTED: Final = 1.0
"""What it adds to the words in common that both count the same: few things are counted in one document."""
_LEAST: Final = 2.5
_LEAST_TIME: Final = 3.5
"""What the words in common weigh at least: one rare word, and more for times of day and days of the week."""
_BY_RIVAL: Final = 1.0
"""How much more for each doubling of the values among which one has to be told."""
_MARGIN: Final = 1.25
"""How many times as much they weigh as those in common with the next best."""
_MOST_TEXT: Final = 300
_MOST_FIGURES: Final = 8
_PART: Final = lazy_pattern(r"(?:[^,;:，。；：;、()（）]|,(?=\d)|:(?=\d))+")
_AND: Final = lazy_pattern(r"\band\b|[和及]")
_SINCE: Final = lazy_pattern(
    r"(?:\b(?:as from|as of|with effect from|starting|from|since)|[自从])\s?(?:the )?(?:beginning of )?$", re.IGNORECASE
)
_ONWARDS: Final = lazy_pattern(r"\s?(?:onwards|on\b|起|开始)", re.IGNORECASE)
"""What makes a date the one from which on something holds."""
_BY: Final = lazy_pattern(r"\bby $|(?:推迟|延后|顺延|推后|提早|提前|延长|后移|挪)了?$", re.IGNORECASE)
_DAYS: Final = frozenset(tokenize("monday tuesday wednesday thursday friday saturday sunday"))
_IN_YEAR: Final = lazy_pattern(r"\b(?:in|since|of|until|till|by|year|for|b\.|d\.|from) $", re.IGNORECASE)
_END: Final = lazy_pattern(r"(?:\b(?:until|till|to|by|at the latest)|[至到—–-])\s?$", re.IGNORECASE)
_BEGIN: Final = lazy_pattern(r"(?:\b(?:from|since|after)|[自从由])\s?$", re.IGNORECASE)
_UNTIL: Final = lazy_pattern(r"\s*(?:[-–—]|to|until|till|and|至|到|起至)\s*")
_ENDS: Final = lazy_pattern(r"\b(?:close[sd]?|shut|lock|ends?|finish\w*|over)\b|结束|关门|打烊|止|截止", re.IGNORECASE)
_BEGINS: Final = lazy_pattern(
    r"\b(?:open|begin|start|leave|set off|sets off|depart)s?\b|开始|开幕|开门|出发|集合", re.IGNORECASE
)
_QUOTES: Final = lazy_pattern(
    r"[\"“”「」]|\b(?:thinks?|thought|believes?|feels?|reckons?|guess(?:es)?|wrote|asked|joked)\b"
    r"|觉得|认为|听说|说[他她]",
    re.IGNORECASE,
)
_PAGE: Final = lazy_pattern(r"第 ?$|\b(?:page|p\.|item|point|clause|section|no\.|paragraph) ?$", re.IGNORECASE)
_HAN_COUNTED: Final = lazy_pattern(
    r"[0-9一二两三四五六七八九十百]{1,6}(?P<of>[项条场次把套份张个件台辆位棵根支间幅座处盏株头成])"
)
_OVER: Final = lazy_pattern(
    r"\b(?:was|were|had|did|gave|took place|last (?:week|month|year|[A-Z]\w+day))\b|[了完][，。]"
)
"""What says that something is over: a date of that is none that changes."""
_NUMBERED: Final = lazy_pattern(
    r"\b(?P<kind>room|hall|gate|line|unit|plot|table|ward|block|route|class|grade|floor|bay|lot|stage|team|group) "
    r"(?P<number>\d{1,4}[a-z]?|[A-Z])\b|第(?P<which>[0-9一二三四五六七八九十]{1,3})(?P<han>[\u4e00-\u9fff]{1,2})",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Given(Said):
    """A value of a document among its words.

    Attributes:
        figure: The value.
        unit: What it measures or counts.
    """

    figure: Figure
    unit: str

    @cached_property
    def end(self) -> str:
        """Whether a date or time begins or ends something."""
        text, figure = self.statement.text, self.figure
        if figure.kind == "number":
            return ""
        same = [one for one in self.statement.figures if one.kind == figure.kind]
        for left, right in pairwise(same):
            if figure in (left, right) and _UNTIL.fullmatch(text, left.end, right.start):
                return "begin" if figure == left else "end"
        if figure.kind == "clock" and _ENDS.search(text) and not _BEGINS.search(text):
            return "end"
        before = text[max(0, figure.start - 16) : figure.start]
        return "end" if _END.search(before) else "begin" if _BEGIN.search(before) else ""

    @cached_property
    def named(self) -> Mapping[str, set[str]]:
        """The numbers of the rooms, groups and the like that it is of."""
        found: dict[str, set[str]] = {}
        place = self.statement.place
        for match in _NUMBERED.finditer(" ".join((*place.headings[-1:], place.row, self.statement.text))):
            kind = (match["kind"] or match["han"]).casefold()
            found.setdefault(kind, set()).add((match["number"] or match["which"]).casefold())
        return found

    @property
    def is_measured(self) -> bool:
        """Whether it is a number with a unit of measure."""
        return self.figure.value is not None and self.figure.value.measured


def noticed(notice: Document, other: Document, weights: Weights) -> Iterator[FoundContradiction]:
    """What a notice gives another value for than the document does that it changes."""
    idle = _DAYS | in_both_titles(notice, other)
    ours, theirs = (list(_given(one, one is notice, idle)) for one in (notice, other))
    likes = alike(ours, theirs, weights, _are_comparable)
    likes = {(a, b): n + _COUNTED * _counts(ours[a]) for (a, b), n in likes.items()}
    rows, columns = rows_and_columns(likes)
    for (a, b), weight in likes.items():
        one, two = ours[a], theirs[b]
        rivals = [n for to, n in rows[a] if to != b and not same_written(theirs[to].figure, two.figure)]
        others = [n for at, n in columns[b] if at != a and not same_written(ours[at].figure, one.figure)]
        least = (_LEAST_TIME if one.figure.kind in ("clock", "weekday") else _LEAST) + _BY_RIVAL * log2(1 + len(rivals))
        enough = max(least, _MARGIN * max(rivals, default=0.0), *others, 0.0)
        if weight >= enough and not _agree(one, two):
            values = shown(one.statement, one.figure), shown(two.statement, two.figure)
            kind = "number" if one.figure.kind == "number" else "date"
            sure = round(min(1.0, 0.5 + weight / 40), 4)
            yield FoundContradiction(one.statement, two.statement, kind, values, 0, sure)


def _counts(one: _Given) -> bool:
    return one.figure.kind == "number" and not one.is_measured


def _agree(one: _Given, two: _Given) -> bool:
    """Whether either statement gives the value of the other one, too."""
    pairs = [(one.figure, own) for own in two.statement.figures] + [(two.figure, own) for own in one.statement.figures]
    return any(same_kind(a, b) and same_written(a, b) for a, b in pairs)


def _are_comparable(one: _Given, two: _Given) -> bool:
    """Whether two values are of one kind, and nothing but their words could tell them apart."""
    ours, theirs = one.figure, two.figure
    if not same_kind(ours, theirs) or are_of_other_sizes(ours, theirs) or one.end and two.end and one.end != two.end:
        return False
    if limited_apart(one.statement, two.statement):
        return False
    if one.numbers and two.numbers and one.numbers.isdisjoint(two.numbers):
        return False  # of another clause than the one that is named
    if any(one.named[kind].isdisjoint(two.named[kind]) for kind in one.named.keys() & two.named.keys()):
        return False
    if ours.kind != "number":
        return not _OVER.search(two.statement.text) or bool(_OVER.search(one.statement.text))
    return _count_alike(one, two) and not other_period(one.statement, ours, two.statement, theirs)


def _count_alike(one: _Given, two: _Given) -> bool:
    """Whether two numbers have one unit; things that a Chinese measure word counts have nouns in another language."""
    if not one.unit or not two.unit or one.unit == two.unit:
        return one.unit == two.unit != ""
    return not (one.is_measured or two.is_measured) and one.unit.isascii() != two.unit.isascii()


def _given(document: Document, changes: bool, idle: frozenset[str]) -> Iterator[_Given]:
    """The values of a document; of a notice without those that say since when or by how much something changes."""
    for statement in document.statements:
        if not _is_side(statement, changes) or changes and says_unchanged(statement):
            continue
        above = above_of(document, statement)
        named = references_of(statement) or (number for one in above for number in references_of(one))
        numbers = frozenset(named if changes else statement.place.numbers)
        for figure in figures_given(statement):
            if not _is_aside(statement, figure, changes):
                words = _around(above, statement, figure, idle)
                yield _Given(statement, words, numbers, figure, _unit(statement, figure))


def _is_aside(statement: Statement, figure: Figure, changes: bool) -> bool:
    """Whether a figure is a page or clause, a difference, a date since when something holds, or no year."""
    text = statement.text
    before = " ".join(text[max(0, figure.start - 24) : figure.start].replace(">", " ").split()) + " "
    if figure.kind == "number":
        return bool(_PAGE.search(before) or changes and _BY.search(before))
    if figure.kind != "date":
        return False
    is_bare = text[figure.start : figure.end].isdigit() and not _IN_YEAR.search(before)
    return bool(_SINCE.search(before) or _ONWARDS.match(text, figure.end) or is_bare)


def _unit(statement: Statement, figure: Figure) -> str:
    """What a number measures or counts: in Chinese the word of measure."""
    found = _HAN_COUNTED.match(statement.text, figure.start)
    unit = figure.unit or (found["of"] if found else "")
    return f"{unit} each" if unit and statement.text[figure.start - 1 : figure.start] == "各" else unit


def _is_side(statement: Statement, changes: bool) -> bool:
    kind = statement.place.kind
    if not 0 < len(statement.figures) <= _MOST_FIGURES or len(statement.text) > _MOST_TEXT:
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
    place = statement.place
    context = " ".join((labels_above(above, statement), place.lead_in, *(one.text for one in above)))
    if statement.cells:
        own, sentence = f"{place.row} {column_of(statement, figure)}", f"{place.row} {statement.text}"
    else:
        own, sentence = _part(statement, figure), statement.text
    return around((own, sentence, context), idle | {figure.unit})


def _part(statement: Statement, figure: Figure) -> str:
    """The part of a sentence between commas, or "and" of two values, that a value stands in."""
    text = statement.text
    spans = (match.span() for match in _PART.finditer(text))
    low, high = next((span for span in spans if span[0] <= figure.start < span[1]), (0, len(text)))
    for found in _AND.finditer(text, low, high):
        if found.start() > figure.start:
            is_before_another = any(one.start >= found.end() for one in statement.figures)
            return text[low : found.start()] if is_before_another else text[low:high]
        if any(one.end <= found.start() for one in statement.figures):
            low = found.end()
    return text[low:high]
