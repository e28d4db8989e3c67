"""Figures that two documents about one thing give for one attribute, in other words: each the best match of the other.

Two documents are about one thing where they share names, dates or long numbers. Then a value of one unit stands for the
same attribute in both where its words, and words of the same concepts, come closest from either side, and where what
they share stands next to the value or is most of what is said.
"""

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Weights, shown
from agentic_memory_bank.engines.extractive.reading.concepts import of_chinese, of_term
from agentic_memory_bank.engines.extractive.reading.figures import Figure, are_of_other_sizes, same_figure, same_kind
from agentic_memory_bank.engines.extractive.reading.lexicon import WORD_CLASSES, stem
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement, is_chinese, labels_of
from agentic_memory_bank.engines.extractive.reading.terms import terms_of, without_values

_LEAST_WEIGHT: Final = 2.5
"""What the words that two values share weigh at least."""
_MOST_SAID: Final = 0.5
_ALL_SAID: Final = 0.9
"""The share of the words of a date that has to come back: a date has no unit that tells what it is of."""
_CONCEPT: Final = 0.75
"""What a word of the same concept counts, where the same word counts 1."""
_CHANGED: Final = re.compile(
    r"(?<!\buntil )(?<!by )(?<!just )\bnow\b|\bafter all\b|\bhenceforth\b"
    r"|\b(?:as from|as of|with effect from|starting from)\b"
    r"|\bfrom (?:this|that|\d|next|now)[\w ]{0,20} on(?:wards)?\b|\b(?:go(?:es)?|went|gone) (?:up|down) (?:to|from)\b"
    r"|\b(?:raised|lowered|increased|reduced|extended|shortened|corrected|changed):|现(?:已|为|改)|自[^，。]{1,12}起|今后",
    re.IGNORECASE,
)
"""What says that a value holds from now on, in place of another one."""
_RIVAL: Final = 0.8
_REACH: Final = 32
_REACH_CHINESE: Final = 10
_MOST_POSTINGS: Final = 24
_MOST_TEXT: Final = 300
_MOST_FIGURES: Final = 6
_MOST_LISTED: Final = 2
"""Values of one unit in a sentence; of one with more, each is of another thing."""
_LEAST_NUMBERS: Final = 2
_FEW_NAMES: Final = 3
_FEW_RUNS: Final = 12
"""Names from which two texts that share none are about different things; a Chinese one has several runs."""
_STRETCH: Final = re.compile(r"(?:[^;。；;]|,(?=\d))+")
_FULL_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_LONGEST_NOUN: Final = 6
_MEASURE: Final = re.compile(
    r"\s?(?:余|多)?[个件处名辆台座张条家间所份场项本幅根棵只头把套栋排株支门](?P<noun>[\u4e00-\u9fff]{0,6})"
)
_BEFORE: Final = re.compile(r"[\u4e00-\u9fff]{2,6}(?=\s?$)")
_DIFFERENCE: Final = re.compile(
    r"\s?(?:[a-z]{1,12} )?(?:more|less|fewer|longer|shorter|quicker|faster|slower|later|earlier|higher|lower|cheaper|"
    r"dearer|wider|narrower|deeper|further|older|younger|heavier|lighter|larger|bigger|smaller|extra|"
    r"too (?:much|many))\b",
    re.IGNORECASE,
)
"""What makes a number a difference ("four minutes quicker")."""
_PART: Final = re.compile(
    r"\b(?:first|last|other|another|next|further|additional|of the|(?:additional|extra|further) \w+ of) $",
    re.IGNORECASE,
)
"""What makes a number a part of what is counted ("our first two nights")."""
_PART_REACH: Final = 32
_KINDS: Final = tuple(
    frozenset(stem(word) for word in group.split())
    for group in (
        "adult child children kid student pupil senior pensioner member resident guest 成人 儿童 学生 老人 会员",
        "weekday weekend saturday sunday holiday 平日 周末 假日",
        "summer winter spring autumn 夏季 冬季",
        "minimum maximum least most 最低 最高 最少 最多",
        "hourly daily weekly monthly yearly annual 每天 每月 每年",
        "hour day week month year 小时 天 月 年",
        "single double return one-way 单人 双人 单程 往返",
        "deposit price rent fee fine excess 押金 房租 罚款",
        "small medium large 小型 中型 大型",
        "dead injured missing rescued evacuated 死亡 受伤 失踪",
        "first second third last 首 末",
    )
)
"""Words for what values differ by: where two values stand beside different ones of a group, they are of two things."""


def share_subject(first: Document, second: Document) -> bool | None:
    """Whether two documents share a name, or dates and numbers that are no chance; None where one names hardly any."""
    ours, theirs = first.names, second.names
    if ours & theirs:
        return True
    numbers = first.numbers & second.numbers
    if len(numbers) >= _LEAST_NUMBERS or any(_FULL_DATE.fullmatch(one) for one in numbers):
        return True
    if any(_is_few(names) for names in (ours, theirs)) or _is_latin(ours) != _is_latin(theirs):
        return None
    return False


def _is_few(names: frozenset[str]) -> bool:
    return len(names) < (_FEW_NAMES if _is_latin(names) else _FEW_RUNS)


def _is_latin(names: frozenset[str]) -> bool:
    return 2 * sum(one.isascii() for one in names) >= len(names)


@dataclass(frozen=True)
class _Side:
    """A value in its statement.

    Attributes:
        statement: The statement.
        figure: The value.
        words: The words it stands among, each with its concepts.
        beside: Those that stand next to it.
        counted: The nouns that Chinese counts with it ("饮水站9处", "9个饮水站").
    """

    statement: Statement
    figure: Figure
    words: Mapping[str, frozenset[int]]
    beside: frozenset[str]
    counted: frozenset[str]


def counterparts(first: Document, second: Document, weights: Weights) -> Iterator[FoundContradiction]:
    """Values of one attribute that differ; of two documents that share a subject."""
    left, right = list(_sides(first)), list(_sides(second))
    likes = _likes(left, right, weights)
    best = [dict[int, float](), dict[int, float]()]
    for pair, (like, _) in likes.items():
        for at, side in zip(pair, best, strict=True):
            side[at] = max(side.get(at, 0.0), like)
    crowded = [dict[int, int](), dict[int, int]()]
    for (a, b), (like, _) in likes.items():
        equal = same_figure(left[a].figure, right[b].figure)
        for at, side, count in ((a, best[0], crowded[0]), (b, best[1], crowded[1])):
            if like >= _RIVAL * side[at]:
                count[at] = count.get(at, 0) + 1 + _MOST_POSTINGS * equal
    for (a, b), (like, is_sure) in likes.items():
        if is_sure and crowded[0].get(a, 0) == crowded[1].get(b, 0) == 1 and like == best[0][a] == best[1][b]:
            ours, theirs = left[a], right[b]
            values = shown(ours.statement, ours.figure), shown(theirs.statement, theirs.figure)
            kind = "number" if ours.figure.kind == "number" else "date"
            sure = round(min(1.0, 0.5 + like / 40), 4)
            yield FoundContradiction(ours.statement, theirs.statement, kind, values, None, sure)


def later(first: Statement, second: Statement, says: re.Pattern[str] = _CHANGED) -> Literal[0, 1] | None:
    """Which of two statements says of itself that it is the later one, if one of them does."""
    ours, theirs = (bool(says.search(statement.text)) for statement in (first, second))
    return None if ours == theirs else 0 if ours else 1


def _likes(left: list[_Side], right: list[_Side], weights: Weights) -> dict[tuple[int, int], tuple[float, bool]]:
    """How alike two values of one unit stand, and whether that is enough; of those that share a rarer word."""
    postings: dict[str | int, list[int]] = {}
    for at, side in enumerate(right):
        for key in _keys(side):
            postings.setdefault(key, []).append(at)
    likes: dict[tuple[int, int], tuple[float, bool]] = {}
    for at, side in enumerate(left):
        near = {b for key in _keys(side) if len(listed := postings.get(key, ())) <= _MOST_POSTINGS for b in listed}
        for b in sorted(near):
            other = right[b]
            if _comparable(side, other) and not _told_apart(side, other):
                like = _like(side, other, weights)
                if like[0]:
                    likes[at, b] = like
    return likes


def _sides(document: Document) -> Iterator[_Side]:
    for statement in document.statements:
        if not statement.is_said_as_fact or len(statement.text) > _MOST_TEXT or len(statement.figures) > _MOST_FIGURES:
            continue
        for figure in figures_given(statement):
            if (
                not statement.cells
                and sum(one.kind == figure.kind and one.unit == figure.unit for one in statement.figures) > _MOST_LISTED
            ):
                continue
            yield _Side(statement, figure, *_around(statement, figure), _counted(statement.text, figure))


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


def _gives(statement: Statement, figure: Figure) -> bool:
    """Whether a figure is what a statement gives, and not what tells its row, a difference or a part of something."""
    text = statement.text
    if len(statement.cells) > 1 and figure.kind == "number":
        at = cell_of(statement, figure)
        low, high = (0, 0) if at is None else statement.cells[at]
        cell = text[max(0, low - statement.start) : high - statement.start].strip(" |*_")
        if cell and cell in " ".join(statement.place.row.split()):
            return False
    if figure.kind == "number" and _PART.search(text[max(0, figure.start - _PART_REACH) : figure.start]):
        return False
    return figure.kind != "number" or not _DIFFERENCE.match(text, figure.end)


def _around(statement: Statement, figure: Figure) -> tuple[Mapping[str, frozenset[int]], frozenset[str]]:
    """The words of the sentence that a value stands in, or of its row and column, and those next to it."""
    if statement.cells:
        words = _words(f"{statement.place.row} {column_of(statement, figure)}")
        return words, frozenset(words)
    spans = (match.span() for match in _STRETCH.finditer(statement.text))
    low, high = next((span for span in spans if span[0] <= figure.start < span[1]), (0, len(statement.text)))
    reach = _REACH_CHINESE if is_chinese(statement) else _REACH
    near = statement.text[max(low, figure.start - reach) : min(high, figure.end + reach)]
    return _words(statement.text[low:high]), frozenset(_words(near))


def _counted(text: str, figure: Figure) -> frozenset[str]:
    """The Chinese words right behind or right before a number with its measure word, of two characters and more."""
    behind = _MEASURE.match(text, figure.end)
    if behind is None or figure.unit:
        return frozenset()
    before = _BEFORE.search(text[max(0, figure.start - _LONGEST_NOUN) : figure.start])
    nouns = {behind["noun"][:size] for size in range(2, len(behind["noun"]) + 1)}
    if before:
        nouns |= {before[0][-size:] for size in range(2, len(before[0]) + 1)}
    return frozenset(nouns)


@lru_cache(maxsize=2048)
def _words(text: str) -> Mapping[str, frozenset[int]]:
    """The words of a text without its values, each with its concepts."""
    plain = without_values(text)
    words = {term: of_term(term) for term in terms_of(plain) if not term.startswith("@")}
    if not plain.isascii():
        for start, end, concepts in of_chinese(plain):
            words[plain[start:end]] = concepts
    return words


def _keys(side: _Side) -> set[str | int]:
    return {*side.words, *(concept for concepts in side.words.values() for concept in concepts)}


def _comparable(first: _Side, second: _Side) -> bool:
    """Whether two values are of one unit or count the same, only one of them told by somebody; dates have no unit."""
    ours, theirs = first.figure, second.figure
    if not same_kind(ours, theirs) or first.statement.place.speaker and second.statement.place.speaker:
        return False
    if are_of_other_sizes(ours, theirs):
        return False
    return ours.kind != "number" or bool(ours.unit) and ours.unit == theirs.unit or bool(first.counted & second.counted)


def _like(first: _Side, second: _Side, weights: Weights) -> tuple[float, bool]:
    """How much the words weigh that two values share, times the share of what is said, and whether it is enough."""
    ours, shared = _found(first.words, second.words, weights)
    theirs, back = _found(second.words, first.words, weights)
    if not ours or not theirs:
        return 0.0, False
    weight = (ours + theirs) / 2
    covers = sorted(
        got / max(0.1, weights.of(frozenset(side.words))) for got, side in ((ours, first), (theirs, second))
    )
    same = first.words.keys() & second.words.keys()
    is_beside = bool(same) and bool(shared & first.beside) and bool(back & second.beside)
    if first.figure.kind != "number":
        enough = covers[0] >= _ALL_SAID and len(shared) > 1
    else:
        enough = is_beside or len(shared) > 2 and covers[1] >= _MOST_SAID
    return weight * covers[1], enough and weight >= _LEAST_WEIGHT


def _found(
    words: Mapping[str, frozenset[int]], others: Mapping[str, frozenset[int]], weights: Weights
) -> tuple[float, frozenset[str]]:
    """What the words weigh that come back, or others of their concepts, and which they are."""
    concepts = frozenset(concept for some in others.values() for concept in some)
    same = frozenset(word for word in words if word in others)
    alike = frozenset(word for word, some in words.items() if word not in others and some & concepts)
    return weights.of(same) + _CONCEPT * weights.of(alike), same | alike


def _told_apart(first: _Side, second: _Side) -> bool:
    """Whether two values stand beside words that exclude each other ("adults", "children"; "winter", "summer")."""
    ours, theirs = first.beside - second.words.keys(), second.beside - first.words.keys()
    classes = [frozenset(kind for word in side for kind in WORD_CLASSES.get(word, ())) for side in (ours, theirs)]
    return bool(classes[0] & classes[1]) or are_apart(ours, theirs)


def are_apart(ours: Set[str], theirs: Set[str]) -> bool:
    """Whether each of two sets has a word of one kind that tells values apart ("summer" here, "winter" there)."""
    return any(ours & group and theirs & group for group in _KINDS)


def stand_apart(first: Statement, second: Statement) -> bool:
    """Whether two statements have words that tell values apart, or stand under other numbers, codes or versions."""
    if are_apart(first.terms - second.terms, second.terms - first.terms):
        return True
    left, right = (labels_of(" ".join((*s.place.headings, s.place.row))) for s in (first, second))
    return bool(left and right) and left.isdisjoint(right)
