"""Figures that two documents about one thing give for one attribute, in other words: each the best match of the other.

Two documents are about one thing where they share names, dates or long numbers. Then a value of one unit stands for the
same attribute in both where its words, and words of the same concepts, come closest from either side, and where what
they share stands next to the value or is most of what is said.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Weights, shown
from agentic_memory_bank.engines.extractive.comparing.periods import hours, other_period
from agentic_memory_bank.engines.extractive.reading.concepts import of_chinese, of_term
from agentic_memory_bank.engines.extractive.reading.figures import Figure, are_of_other_sizes, same_figure, same_kind
from agentic_memory_bank.engines.extractive.reading.lexicon import WORD_CLASSES, stem
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement, is_chinese, labels_of
from agentic_memory_bank.engines.extractive.reading.terms import terms_of, without_values
from agentic_memory_bank.tools.text.terms import tokenize

_LEAST_WEIGHT: Final = 2.5
"""What the words that two values share weigh at least."""
_SHORT_LABEL: Final = 4
"""Terms of the label of a row, below which it names but one attribute."""
_MOST_SAID: Final = 0.5
_ALL_SAID: Final = 0.9
"""The share of the words of a date that has to come back: a date has no unit that tells what it is of."""
_CONCEPT: Final = 0.75
"""What a word of the same concept counts, where the same word counts 1."""
_CHANGED: Final = re.compile(
    r"(?<!\buntil )(?<!by )(?<!just )\bnow\b|\bafter all\b|\bhenceforth\b"
    r"|\b(?:as from|as of|with effect from|starting from)\b"
    r"|\bfrom (?:this|that|\d|next|now)[\w ]{0,20} on(?:wards)?\b|\b(?:go(?:es)?|went|gone) (?:up|down) (?:to|from)\b"
    r"|\bfrom (?:next |the |\d{1,2}(?:st|nd|rd|th)? (?:of )?)?"
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|month|week|year|term|season)"
    r"\b(?! ?(?:to|until|till|through|[-–—]))"
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
_STRETCH: Final = re.compile(r"(?:[^;。；;]|,(?=\d))+")
_PART_OF_LIST: Final = re.compile(r"(?:[^,;。；;，、]|,(?=\d))+")
_LONGEST_NOUN: Final = 6
_MEASURE: Final = re.compile(
    r"\s?(?:余|多)?[个册本件处名辆台座张条家间所份场项本幅根棵只头把套栋排株支门](?P<noun>[\u4e00-\u9fff]{0,6})"
)
_BEFORE: Final = re.compile(r"[\u4e00-\u9fff]{2,6}(?=\s?$)")
_DIFFERENCE: Final = re.compile(
    r"\s?(?:[a-z]{1,12} )?(?:more|less|fewer|longer|shorter|quicker|faster|slower|later|earlier|higher|lower|cheaper|"
    r"dearer|wider|narrower|deeper|further|older|younger|heavier|lighter|larger|bigger|smaller|extra|"
    r"too (?:much|many))\b",
    re.IGNORECASE,
)
"""What makes a number a difference ("four minutes quicker")."""
PART: Final = re.compile(
    r"\b(?:first|last|other|another|next|further|additional|of the|(?:additional|extra|further) \w+ of) $"
    r"|(?:推迟|延后|顺延|推后|提早)$",
    re.IGNORECASE,
)
"""What makes a number a part of what is counted ("our first two nights")."""
_PART_REACH: Final = 48
_CONDITION: Final = re.compile(
    r"\b(?:with|for|from|on|of) [^,;.:]{1,40}\b(?:more than|over|above|less than|under|below|at least|exceeding) $"
    r"|[满逾]$",
    re.IGNORECASE,
)
"""What makes a number the condition of another one ("for orders of more than £50", 满50元)."""
_CODE: Final = re.compile(r"(?<![\w.-])(?P<letters>[A-Z]{1,4})[- ]?(?P<number>\d{1,5}[A-Za-z]?)(?![\w.-]|\d)")
_EVERYTHING: Final = (
    "date dated when cost costs price fee charge pay paid amount rate year years yearly month monthly week day hour "
    "per each every one more new number total maximum minimum about only take takes get clock oclock "
    "每 元 年 月 天 价格 费用 收费 提前 至少 最多 左右 以内 收取"
)
OF_EVERYTHING: Final = frozenset(stem(word) for word in _EVERYTHING.split())
"""Words that values of anything stand among: alone they do not tell that two are of one attribute."""
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
        "breakfast lunch dinner supper 早餐 午餐 晚餐",
        "dog cat bird horse 狗 猫",
        "dead injured missing rescued evacuated 死亡 受伤 失踪",
        "first second third last 首 末",
    )
)
"""Words for what values differ by: where two values stand beside different ones of a group, they are of two things."""


@dataclass(frozen=True)
class _Side:
    """A value in its statement.

    Attributes:
        statement: The statement.
        figure: The value.
        words: The words it stands among, each with its concepts.
        told: Those that are no name of what both documents are about.
        beside: Those that stand next to it.
        counted: The nouns that Chinese counts with it ("饮水站9处", "9个饮水站").
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


def counterparts(first: Document, second: Document, weights: Weights) -> Iterator[FoundContradiction]:
    """Values of one attribute that differ; of two documents that share a subject."""
    named = frozenset(stem(name) for name in first.names & second.names)
    left, right = list(_sides(first, named)), list(_sides(second, named))
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


def _sides(document: Document, named: frozenset[str]) -> Iterator[_Side]:
    """The values of a document; the names that both share say of no value what it is of."""
    for statement in document.statements:
        if not statement.is_said_as_fact or len(statement.text) > _MOST_TEXT or len(statement.figures) > _MOST_FIGURES:
            continue
        for figure in figures_given(statement):
            is_listed = not statement.cells and len(_alike(statement, figure, 0, len(statement.text))) > _MOST_LISTED
            item = _item(statement, figure) if is_listed else None
            if is_listed and item is None:
                continue
            words, beside = (words_of(item), frozenset(words_of(item))) if item else _around(statement, figure)
            if figure.value and figure.value.measured:  # "NOK" says of no price what it is for
                words = {word: concepts for word, concepts in words.items() if word != figure.unit}
            beside = beside & words.keys()
            told = frozenset(words) - named
            counted, lead = _counted(statement.text, figure), _lead(statement, told)
            span = hours(statement) if figure.kind == "clock" else None
            yield _Side(statement, figure, words, told or frozenset(words), beside, counted, lead, span)


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
    before = text[max(0, figure.start - _PART_REACH) : figure.start]
    if figure.kind == "number" and (PART.search(before) or _CONDITION.search(before)):
        return False
    return figure.kind != "number" or not _DIFFERENCE.match(text, figure.end)


def _around(statement: Statement, figure: Figure) -> tuple[Mapping[str, frozenset[int]], frozenset[str]]:
    """The words of the sentence that a value stands in, or of its row and column, and those next to it."""
    if statement.cells:
        words = words_of(f"{statement.place.row} {column_of(statement, figure)}")
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
def words_of(text: str) -> Mapping[str, frozenset[int]]:
    """The words of a text without its values, each with its concepts."""
    plain = without_values(text)
    terms = (term for term in terms_of(plain) if not term.startswith("@"))
    words = {term: of_term(term) for term in terms if term.isascii() or len(term) > 1}  # one character is hardly a word
    if not plain.isascii():
        for start, end, concepts in of_chinese(plain):
            words[plain[start:end]] = concepts
    return words


def _keys(side: _Side) -> set[str | int]:
    return {*side.words, *(concept for concepts in side.words.values() for concept in concepts)}


def _end_alike(first: _Side, second: _Side) -> bool | None:
    """Whether of two spans of hours the other ends agree; None where a beginning stands against an end."""
    if first.span is None or second.span is None:
        return False
    at, to = (side.span.index(side.figure) for side in (first, second) if side.span)
    return same_figure(first.span[1 - at], second.span[1 - to]) if at == to else None


def _comparable(first: _Side, second: _Side) -> bool:
    """Whether two values are of one unit or count the same, only one of them told by somebody; dates have no unit."""
    ours, theirs = first.figure, second.figure
    if not same_kind(ours, theirs) or first.statement.place.speaker and second.statement.place.speaker:
        return False
    if (
        _end_alike(first, second) is None
        or are_of_other_sizes(ours, theirs)
        or other_period(first.statement, ours, second.statement, theirs)
    ):
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
        got / max(0.1, weights.of(side.told | (found & frozenset(side.words))))
        for got, side, found in ((ours, first, shared), (theirs, second, back))
    )
    same = first.words.keys() & second.words.keys()
    is_general = not (first.words.keys() | second.words.keys()) - OF_EVERYTHING
    telling = same if is_general else same - OF_EVERYTHING
    is_beside = bool(telling) and bool(shared & first.beside) and bool(back & second.beside)
    if first.figure.kind != "number":
        least = _MOST_SAID if first.figure.kind == "weekday" and first.lead == second.lead != "" else _ALL_SAID
        enough = covers[0] >= least and len(shared) > 1
        enough = enough or bool(_end_alike(first, second)) and covers[1] >= _MOST_SAID
    else:
        is_beside = is_beside or first.lead == second.lead != "" and first.lead not in OF_EVERYTHING
        is_told = len(shared) > 2 and covers[1] >= _MOST_SAID
        enough = is_beside or is_told or _is_label(first, back) or _is_label(second, shared)
    return weight * covers[1], enough and weight >= _LEAST_WEIGHT


def _is_label(side: _Side, found: frozenset[str]) -> bool:
    """Whether a value of a table is measured, and prose has its only label in other words ("Weight", "weighs")."""
    value, statement = side.figure.value, side.statement
    if not found or not statement.cells or value is None or not value.measured:
        return False
    return len(terms_of(statement.place.row)) < _SHORT_LABEL


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
    if left and right and left.isdisjoint(right):
        return True
    return _is_of_another(first, second) or _is_of_another(second, first)


def _is_of_another(first: Statement, second: Statement) -> bool:
    """Whether a statement names a model or number ("P7") where the other one's document is about another ("P4")."""
    own, titled = _codes(first.text), _codes(second.place.title)
    is_other = bool(own.keys() & titled.keys()) and not _shares_code(own, titled)
    return is_other and not _shares_code(own, _codes(second.text))


def _codes(text: str) -> Mapping[str, frozenset[str]]:
    """The numbers of models and the like, by the letters before them."""
    found: dict[str, set[str]] = {}
    for match in _CODE.finditer(text):
        found.setdefault(match["letters"], set()).add(match["number"])
    return {letters: frozenset(numbers) for letters, numbers in found.items()}


def _shares_code(ours: Mapping[str, frozenset[str]], theirs: Mapping[str, frozenset[str]]) -> bool:
    return any(numbers & theirs.get(letters, frozenset()) for letters, numbers in ours.items())
