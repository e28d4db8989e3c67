"""The values that a document gives, each with the words of its sentence or row, and with what it counts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.periods import hours
from agentic_memory_bank.engines.extractive.reading.concepts import of_chinese, of_term
from agentic_memory_bank.engines.extractive.reading.figures import Figure
from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.marks import DATED, SIGNED
from agentic_memory_bank.engines.extractive.reading.number_words import HAN_COUNTERS
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement, is_chinese
from agentic_memory_bank.engines.extractive.reading.terms import terms_of, without_values
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

_REACH: Final = 32
_REACH_CHINESE: Final = 10
_MOST_TEXT: Final = 300
_MOST_FIGURES: Final = 6
_MOST_LISTED: Final = 2
"""Values of one unit in a sentence; of one with more, each is of another thing."""
_STRETCH: Final = lazy_pattern(r"(?:[^;。；;]|,(?=\d))+")
_PART_OF_LIST: Final = lazy_pattern(r"(?:[^,;。；;，、]|,(?=\d))+")
_ONE_VALUE: Final = 2
"""Columns of a table that gives one value for each label."""
_LONGEST_NOUN: Final = 6
_MEASURE: Final = lazy_pattern(
    r"\s?(?:余|多)?[个册本件处名辆台座张条家间所份场项本幅根棵只头把套栋排株支门](?P<noun>[\u4e00-\u9fff]{0,6})"
)
_BEFORE: Final = lazy_pattern(
    r"[\u4e00-\u9fff]{2,6}?(?=(?:数量|总数)?(?:[增减]加?[到至为]|减少到|调整为|改为|共有?|共计|为|有|达|是)?\s?$)"
)
_OF_WHOLE: Final = lazy_pattern(r" (?:out )?of (?:the |our |these |all )?\d", re.IGNORECASE)
"""What makes a number a part of the one behind it ("15 of the 24 helpers")."""
_PLACE_OF_LETTER: Final = lazy_pattern(r"[*_ ]{0,3}[A-Z][\w'’-]{1,20}(?: [A-Z][\w'’-]{1,20})?, (?:the )?")
"""What stands before the date of a letter, on a line of its own ("Selby, 22 May")."""
_WITHIN: Final = lazy_pattern(r"\bwithin (?:a radius of )?$", re.IGNORECASE)
"""What makes a distance the one up to which something holds ("within 50 km")."""
_DIFFERENCE: Final = lazy_pattern(
    r"\s?(?:[a-z]{1,12} )?(?:more|less|fewer|longer|shorter|quicker|faster|slower|later|earlier|higher|lower|cheaper|"
    r"dearer|wider|narrower|deeper|further|older|younger|heavier|lighter|larger|bigger|smaller|extra|"
    r"too (?:much|many))\b",
    re.IGNORECASE,
)
"""What makes a number a difference ("four minutes quicker")."""
PART: Final = lazy_pattern(
    r"\b(?:first|last|other|another|next|further|additional|of the|(?:additional|extra|further) \w+ of) $"
    r"|(?:推迟|延后|顺延|推后|提早)$",
    re.IGNORECASE,
)
"""What makes a number a part of what is counted ("our first two nights")."""
_IN_WHICH: Final = lazy_pattern(r"\d[^.;:]{0,24} (?:in|within|every|per) (?:any |each |the first )?$", re.IGNORECASE)
"""What makes a duration the one in which something is counted ("3 tablets in 24 hours")."""
_PART_REACH: Final = 48
_ANYTHING: Final = frozenset(stem(noun) for noun in ("things", "ways", "kinds", "sorts", "points", "parts", "cases"))
"""What is counted where nothing in particular is ("two things that a question names")."""
_CONDITION: Final = lazy_pattern(
    r"\b(?:with|for|from|on|of) [^,;.:]{1,40}\b(?:more than|over|above|less than|under|below|at least|exceeding) $"
    r"|[满逾]$",
    re.IGNORECASE,
)
"""What makes a number the condition of another one ("for orders of more than £50", 满50元)."""


@dataclass(frozen=True)
class Side:
    """A value in its statement.

    Attributes:
        statement: The statement.
        figure: The value.
        words: The words it stands among, each with its concepts.
        told: Those that are no name of what both documents are about.
        beside: Those that stand next to it.
        counted: The nouns that it counts ("9 stations", "饮水站9处", "9个饮水站").
        lead: The first of the words.
        span: The hours that it begins or ends, where its statement gives but those.
    """

    statement: Statement
    figure: Figure
    words: Mapping[str, frozenset[int]]
    told: frozenset[str]
    beside: frozenset[str]
    counted: frozenset[str]
    lead: str = ""
    span: tuple[Figure, Figure] | None = None


def sides_of(document: Document, named: frozenset[str], other: Document) -> Iterator[Side]:
    """The values of a document that is compared with another one, names that both share left out of what is told."""
    subject = terms_of(f"{other.title} {other.name}")
    for statement in document.statements:
        if not statement.is_said_as_fact or len(statement.text) > _MOST_TEXT or len(statement.figures) > _MOST_FIGURES:
            continue
        chosen = _chosen(statement, subject)
        for figure in figures_given(statement):
            if chosen and cell_of(statement, figure) not in chosen:
                continue
            is_listed = not statement.cells and len(_alike(statement, figure, 0, len(statement.text))) > _MOST_LISTED
            item = _item(statement, figure) if is_listed else None
            if is_listed and item is None:
                continue
            words, beside = (
                (words_of(item), frozenset(words_of(item))) if item else _around(statement, figure, bool(chosen))
            )
            if figure.value and figure.value.measured:  # "NOK" says of no price what it is for
                words = {word: concepts for word, concepts in words.items() if word != figure.unit}
            beside = beside & words.keys()
            told = frozenset(words) - named
            counted, lead = _counted(statement.text, figure), _lead(statement, told)
            span = hours(statement) if figure.kind == "clock" else None
            yield Side(statement, figure, words, told or frozenset(words), beside, counted, lead, span)


def cell_of(statement: Statement, figure: Figure) -> int | None:
    """Which cell of a row a figure stands in, from 0."""
    offset = statement.start + figure.start
    return next((n for n, (low, high) in enumerate(statement.cells) if low <= offset < high), None)


def column_of(statement: Statement, figure: Figure) -> str:
    """The label of the column that a figure of a row stands in, where a table has several of values; else nothing."""
    labels, column = statement.place.columns, cell_of(statement, figure) or 0
    return labels[column] if len(labels) > 2 and column < len(labels) else ""


def figures_given(statement: Statement) -> list[Figure]:
    """The figures that a statement gives as the values of something."""
    return [figure for figure in statement.figures if _gives(statement, figure)]


def counted_apart(figure: Figure, first: Statement, other: Figure, second: Statement) -> bool:
    """Whether two bare numbers stand before other Chinese measure words ("10 幅", "47 位")."""
    words = [s.text[f.end : f.end + 2].lstrip()[:1] for f, s in ((figure, first), (other, second))]
    return (
        figure.unit == other.unit == ""
        and all(word and word in HAN_COUNTERS for word in words)
        and words[0] != words[1]
    )


def is_listed(figure: Figure, statement: Statement) -> bool:
    """Whether a sentence measures several things in one unit ("500 g of flour, 10 g of salt")."""
    if statement.cells or figure.value is None or not figure.value.measured:
        return False
    return sum(other.kind == figure.kind and other.unit == figure.unit for other in statement.figures) > 2


def _gives(statement: Statement, figure: Figure) -> bool:
    """Whether a figure is what a statement gives, and not what tells its row, a difference or a part of something."""
    text = statement.text
    if figure.unit in _ANYTHING:
        return False
    if len(statement.cells) > 1 and figure.kind == "number":
        at = cell_of(statement, figure)
        low, high = (0, 0) if at is None else statement.cells[at]
        cell = text[max(0, low - statement.start) : high - statement.start].strip(" |*_")
        if cell and cell in " ".join(statement.place.row.split()):
            return False
    before = text[max(0, figure.start - _PART_REACH) : figure.start]
    if figure.kind == "date" and _PLACE_OF_LETTER.fullmatch(before) and not text[figure.end :].strip(" .*_"):
        return False
    if figure.kind == "date" and (DATED.search(before) or SIGNED.match(text, figure.end)):
        return False
    is_limit = figure.unit == "length" and _WITHIN.search(before)
    if figure.unit in ("time", "months") and _IN_WHICH.search(before):
        return False
    if figure.kind == "number" and (is_limit or _OF_WHOLE.match(text, figure.end)):
        return False
    if figure.kind == "number" and (PART.search(before) or _CONDITION.search(before)):
        return False
    return figure.kind != "number" or not _DIFFERENCE.match(text, figure.end)


def _cell(statement: Statement, figure: Figure) -> str:
    """The cell that a figure stands in, with what it says besides ("max. 600 g of flour"); nothing of a row's label."""
    at = cell_of(statement, figure)
    if not at or sum(cell_of(statement, one) == at for one in statement.figures) > 1:
        return ""
    low, high = statement.cells[at]
    return statement.text[low - statement.start : high - statement.start]


def _chosen(statement: Statement, subject: frozenset[str]) -> list[int]:
    """The columns of a row that are labelled with what another document is about, where not all of them are."""
    labels = statement.place.columns if statement.cells else ()
    named = [(n, terms_of(label)) for n, label in enumerate(labels[1:], 1)] if len(labels) > _ONE_VALUE else []
    found = [n for n, terms in named if terms and terms <= subject]
    return found if len(found) < len(named) else []


def _around(
    statement: Statement, figure: Figure, is_chosen: bool
) -> tuple[Mapping[str, frozenset[int]], frozenset[str]]:
    """The words of the sentence that a value stands in, or of its row and column, and those next to it."""
    if statement.cells:
        words = words_of(
            f"{statement.place.row} {'' if is_chosen else column_of(statement, figure)} {_cell(statement, figure)}"
        )
        return words, frozenset(words)
    spans = (match.span() for match in _STRETCH.finditer(statement.text))
    low, high = next((span for span in spans if span[0] <= figure.start < span[1]), (0, len(statement.text)))
    reach = _REACH_CHINESE if is_chinese(statement) else _REACH
    near = statement.text[max(low, figure.start - reach) : min(high, figure.end + reach)]
    return words_of(statement.text[low:high]), frozenset(words_of(near))


def _alike(statement: Statement, figure: Figure, low: int, high: int) -> list[Figure]:
    """The figures of one kind and unit in a stretch of a statement."""
    return [f for f in statement.figures if low <= f.start < high and f.kind == figure.kind and f.unit == figure.unit]


def _item(statement: Statement, figure: Figure) -> str | None:
    """The part of a list that a figure stands in ("scaling 180 yuan, fillings from 300"), where it is alone there."""
    spans = (match.span() for match in _PART_OF_LIST.finditer(statement.text))
    low, high = next((span for span in spans if span[0] <= figure.start < span[1]), (0, 0))
    return statement.text[low:high] if high and len(_alike(statement, figure, low, high)) == 1 else None


def _lead(statement: Statement, words: Iterable[str]) -> str:
    """The first of the words of a statement that something is said with: mostly its subject."""
    return "" if statement.cells else next((term for term in tokenize(statement.text) if term in words), "")


def _counted(text: str, figure: Figure) -> frozenset[str]:
    """The noun behind a number; the Chinese words right behind or before it and its measure word, two characters up."""
    if figure.unit:
        return frozenset((figure.unit,)) if figure.value and not figure.value.measured else frozenset()
    behind = _MEASURE.match(text, figure.end)
    if behind is None:
        return frozenset()
    before = _BEFORE.search(text[max(0, figure.start - _LONGEST_NOUN) : figure.start])
    nouns = {behind["noun"][:size] for size in range(2, len(behind["noun"]) + 1)}
    if before:
        nouns |= {before[0][-size:] for size in range(2, len(before[0]) + 1)}
    return frozenset(nouns)


@lru_cache(maxsize=2048)
def words_of(text: str) -> Mapping[str, frozenset[int]]:
    """The words of a text without its values, each with its concepts."""
    plain = without_values(text)
    terms = (term for term in terms_of(plain) if not term.startswith("@"))
    words = {term: of_term(term) for term in terms if term.isascii() or len(term) > 1}  # one character is hardly a word
    if not plain.isascii():
        for start, end, concepts in of_chinese(plain):
            words[plain[start:end]] = concepts | _of_parts(plain[start:end])
    return words


@lru_cache(maxsize=2048)
def _of_parts(word: str) -> frozenset[int]:
    """The concepts of what a longer Chinese word begins and ends with: a term of warranty is of warranty."""
    parts = (part for size in range(2, len(word)) for part in (word[:size], word[-size:]))
    return frozenset(concept for part in parts for _, _, concepts in of_chinese(part) for concept in concepts)
