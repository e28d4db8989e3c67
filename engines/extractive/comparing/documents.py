"""Where two documents contradict each other: statements about one thing whose values exclude each other.

What a text announces as changed or corrected is looked up in the other document and decides; otherwise two asserted
statements have to be about the same attribute of the same subject, in places that do not tell them apart.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from math import log
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.comparing.edits import Kind
from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.revisions import Revision, named_in, revisions_of
from agentic_memory_bank.engines.extractive.reading.sentence import sentences_of
from agentic_memory_bank.engines.extractive.reading.statements import (
    Document,
    Figure,
    Statement,
    distinct,
    figures_of,
    is_chinese,
    labels_of,
    read,
    same_figure,
    same_kind,
    terms_of,
)

_COVERED: Final = 0.6
_COVERED_CHINESE: Final = 0.4
_LIKE: Final = 0.5
_LIKE_EVENT: Final = 0.7
_LIKE_COUNTED: Final = 0.64
_ALIKE: Final = 0.6
_NEAR: Final = 12
"""How far from the label of a row a figure of prose may stand, in characters."""
_FEW_CLASHES: Final = 2
_SAME_UNIT: Final = 2.0
"""What it adds to the words in common that something is counted or measured alike."""
_MOST_CELL: Final = 40
_FEW: Final = 60
"""Statements of two documents, below which a word is weighed as if there were so many."""
_FORMS: Final = 0.5
_LEAST_FORMS: Final = 4
_MOST_POSTINGS: Final = 12
_MOST_TEXT: Final = 300
_MOST_TARGETS: Final = 40
_MOST_FIGURES: Final = 6
_CLAUSE: Final = re.compile(r"[^,;，。；;]+")
_BARE: Final = re.compile(r"[£$€¥]?[\d.,]+|[a-z]+", re.IGNORECASE)
_UNIT: Final = re.compile(r"^\W*(?:[\d.,]+|[a-z]+)", re.IGNORECASE)
_LAST_WORD: Final = re.compile(r"[A-Z][A-Za-z]+(?= ?$)")
_EVENT: Final = re.compile(
    r"\b([a-z]{3,20}ed|built|born|began|sold|won|held|died)\s+(?:in|on|since|until)\s+(?:the\s+)?$"
)
_NEEDS: Final = re.compile(r"\b(?:need\w*|requir\w+|must|ha(?:ve|s) to|necessary)\b|必须|需要|须", re.IGNORECASE)
_NUMBERED: Final = re.compile(
    r"(?:marker|room|bay|gate|line|unit|plot|table|shelf|no\.|number|line|bus|platform)\s?(?P<latin>\d+)|(?P<han>\d+|[一二三四五六七八九十]+)\s?[号栋楼室班组路](?!线)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Contradiction:
    """Two statements that cannot both be true.

    Attributes:
        first: That of the first document.
        second: That of the second.
        kind: What clashes.
        values: What each says, as written.
        holds: Which of them the texts themselves say holds, if they do.
        score: How sure it is.
    """

    first: Statement
    second: Statement
    kind: Kind
    values: tuple[str, str]
    holds: Literal[0, 1] | None
    score: float

    def mirrored(self) -> "Contradiction":
        """The same, the other way round."""
        holds: Literal[0, 1] | None = None if self.holds is None else 0 if self.holds else 1
        return Contradiction(self.second, self.first, self.kind, (self.values[1], self.values[0]), holds, self.score)


@lru_cache(maxsize=256)
def contradictions(first: tuple[str, str], second: tuple[str, str]) -> tuple[Contradiction, ...]:
    """Every contradiction between two documents, each given as its name and its text."""
    if second < first:
        return tuple([one.mirrored() for one in contradictions(second, first)])
    left, right = read(first[1], first[0]), read(second[1], second[0])
    weights, twins = _Weights(left, right), _are_twins(left, right)
    found = [*_announced(left, right, weights, twins)]
    found += [one.mirrored() for one in _announced(right, left, weights, twins)]
    if not twins and not _are_alike(left, right):
        found += _plain(left, right, weights)
    unique = {(one.first.number, one.second.number): one for one in reversed(found)}
    return tuple(reversed(unique.values()))


class _Weights:
    """How much a term says: the rarer among the statements of both documents, the more."""

    def __init__(self, *documents: Document) -> None:
        statements = [s for document in documents for s in document.statements]
        self._spread = Counter(term for s in statements for term in s.terms)
        self._count = max(len(statements), _FEW) + 8

    def of(self, terms: frozenset[str]) -> float:
        """What some terms weigh together; a topic counts half, as the words that name it count too."""
        return sum(self._one(term) for term in terms)

    def known(self, terms: frozenset[str]) -> frozenset[str]:
        """The terms that stand in more than one statement."""
        return frozenset(term for term in terms if self._spread.get(term, 0) > 1)

    def _one(self, term: str) -> float:
        weight = log(self._count / (1 + self._spread.get(term, 0)))
        return weight / 2 if term.startswith("@") else weight


# --- what is announced -------------------------------------------------------------------------------------------


def _announced(revising: Document, other: Document, weights: _Weights, apart: bool) -> Iterator[Contradiction]:
    """What one document announces as changed, with the statement of the other that it changes."""
    postings: dict[str, list[Statement]] = {}
    for statement in other.statements:
        for term in (*statement.terms, *statement.about, *(f"#{number}" for number in statement.place.numbers)):
            postings.setdefault(term, []).append(statement)
    for revision in revisions_of(revising):
        best: tuple[float, Contradiction] | None = None
        called = _called(revision, other)
        wanted = (
            *sorted(revision.subject | revision.statement.terms),
            *(f"#{number}" for number in revision.references),
        )
        listed = [postings.get(term, []) for term in wanted] if called is not False else []
        near = {target.number: target for some in listed if len(some) <= _MOST_TARGETS for target in some}
        for target in near.values():
            found = _Revised(revision, target, weights, bool(called)).found(apart)
            if found and (best is None or found[0] > best[0]):
                best = found
        if best:
            yield best[1]


_DOCUMENTS: Final = frozenset({"@website", "@brochure", "@catalogue"})


def _called(revision: Revision, other: Document) -> bool | None:
    """Whether an announcement names the other document ("the brochure"); False where it names another one."""
    said = terms_of(named_in(revision)) & _DOCUMENTS
    called = terms_of(f"{other.name.rsplit('.', 1)[0]} {other.title}") & _DOCUMENTS
    return bool(said & called) if said else None


_GENERAL: Final = frozenset({"@when", "@place", "@fee"})
"""Topics that many things have."""
Pair = tuple[Kind, str, str]


class _Revised:
    """Whether a statement is what a revision revises."""

    def __init__(self, revision: Revision, target: Statement, weights: _Weights, named: bool) -> None:
        self._revision, self._target, self._named, self._weights = revision, target, named, weights
        about = target.terms | target.about
        said = terms_of(revision.context) if revision.context != revision.statement.text else revision.statement.terms
        shared = said & about
        self._referred = bool(revision.references & set(target.place.numbers))
        self._weight = weights.of(shared & target.terms) + 0.5 * weights.of(shared - target.terms)
        subject = distinct(revision.subject)
        if is_chinese(target):
            subject = weights.known(subject)
        total = weights.of(subject)
        self._cover = weights.of(subject & about) / total if total else 0.0
        row = terms_of(target.place.row)
        self._is_cell = bool(row) and row <= said and (len(target.place.columns) < 3 or self._column() is not None)
        self._topical = bool({term for term in shared if term.startswith("@")})
        specific = {term for term in subject & about if term not in _GENERAL}
        self._covered = bool(specific) and self._cover >= (_COVERED_CHINESE if is_chinese(target) else _COVERED)

    def found(self, apart: bool) -> tuple[float, Contradiction] | None:
        """The contradiction with its score; None where the statement is another one."""
        revision, target = self._revision, self._target
        if target.place.kind in ("heading", "header", "code") or target.mode in ("none", "asked", "template"):
            return None
        if target.place.speaker or not (self._referred or self._is_on_topic()):
            return None
        old = self._old()
        pair = old or (None if apart and not self._referred else self._replaced() or self._reversed())
        if pair is None or not (old or self._is_meant(pair)):
            return None
        kind, new, was = pair
        values = (new or revision.statement.text[:80], was or target.text[:80])
        score = self._weight + 6 * self._referred + 4 * bool(old) + 4 * self._cover
        sure = round(min(1.0, 0.5 + score / 40), 4)
        return score, Contradiction(revision.statement, target, kind, values, 0, sure)

    def _is_meant(self, pair: Pair) -> bool:
        if self._referred or (self._is_cell and self._column() is not None):
            return True
        if self._named and self._revision.sure:
            return self._topical or self._covered or self._weight >= 5
        if not (self._covered or self._is_cell):
            return False
        if not self._revision.announcing and self._cover < 0.75:
            return False
        least = 2.5 if self._revision.sure and (pair[1] or self._cover > 0.95) else 4.0 if self._revision.sure else 7.0
        return self._weight >= least

    def _is_on_topic(self) -> bool:
        """Whether the target has a word of what the announcement says it is about ("About the tours: ...")."""
        for heading in self._revision.statement.place.headings[-1:]:
            if re.search(rf"{re.escape(heading)}\s?[:：]", self._revision.context):
                topic = self._weights.known(terms_of(heading))
                return not topic or bool(topic & (self._target.terms | self._target.about))
        return True

    def _old(self) -> Pair | None:
        """The old value, where the announcement names it and the target has it."""
        revision, target = self._revision, self._target
        contrasted = revision.kind == "correct" and not (
            revision.announcing or self._cover >= 0.5 and self._weight >= 8
        )
        taken_back = revision.kind in ("cancel", "end") and self._cover < _COVERED
        least = 0.1 if revision.announcing else 0.5
        if not self._referred and (self._weight < 2 or self._cover < least or contrasted or taken_back):
            return None
        named = _with_unit(revision) or (revision.before if revision.kind in ("cancel", "end") else "")
        for figure in figures_of(named):
            for own in target.figures:
                telling = (
                    _is_telling(figure, own) or _word_before(named, figure) == _word_before(target.text, own) != ""
                )
                if same_kind(figure, own) and same_figure(figure, own) and telling:
                    return (
                        own.kind if own.kind in ("number", "date") else "date",
                        revision.new[:40],
                        _shown(target, own),
                    )
        is_name = len(revision.old) > 1 and (revision.old[0].isupper() or not revision.old.isascii())
        if is_name and not figures_of(revision.old) and revision.old.casefold() in target.text.casefold():
            return "name", revision.new[:60], revision.old
        return None

    def _replaced(self) -> Pair | None:
        """A new value of the kind of which the target has another."""
        new, owned = figures_of(self._revision.new), self._owned()
        for figure in new:
            rivals = [
                own
                for own in owned
                if same_kind(figure, own) and (figure.kind != "number" or figure.unit and figure.unit == own.unit)
            ]
            if rivals and not any(same_figure(one, own) for one in new for own in rivals if same_kind(one, own)):
                self._weight += _SAME_UNIT * bool(figure.unit)
                shown = self._revision.new[figure.start : figure.end].strip()
                return "number" if figure.kind == "number" else "date", shown, _shown(self._target, rivals[0])
        return None

    def _reversed(self) -> Pair | None:
        """What the target says and the announcement takes back, or puts something else in the place of."""
        revision, target = self._revision, self._target
        if not revision.sure:
            return None
        if any(
            same_kind(one, own) and same_figure(one, own) for one in figures_of(revision.new) for own in self._owned()
        ):
            return None
        shared = revision.statement.terms & target.terms
        denies = _denies(target, shared)
        if not (self._referred or revision.announcing or (revision.kind == "end" and self._cover >= 0.75)):
            return None
        if revision.kind in ("cancel", "end") and not self._referred:
            ends = self._says_what_ends()
            alone = len(revision.subject) < 2 and not (ends if revision.kind == "end" else _NEEDS.search(target.text))
            return None if denies or alone or not ends else ("negation", "", "")
        if revision.kind == "correct" and not self._referred:
            return ("negation", "", "") if _denies(revision.statement, shared) != denies else None
        return ("class", "", "") if self._referred or self._cover >= _COVERED else None

    def _says_what_ends(self) -> bool:
        """Whether the target says what is "no longer" so: half of the words behind, or that something is needed."""
        if self._revision.kind != "end" or is_chinese(self._target) or _NEEDS.search(self._target.text):
            return True
        ended = terms_of(_CLAUSE.findall(self._revision.new)[0]) if self._revision.new.strip(" .") else frozenset[str]()
        shared = ended & (self._target.terms | self._target.about)
        return 2 * self._weights.of(shared) >= self._weights.of(distinct(ended))

    def _column(self) -> int | None:
        """The one column of a table that the announcement names."""
        said = f"{self._revision.context} {self._revision.statement.place.line()}".casefold()
        columns = self._target.place.columns
        named = [n for n, label in enumerate(columns) if n and label and label.casefold() in said]
        return named[0] if len(named) == 1 and named[0] < len(self._target.cells) else None

    def _owned(self) -> Sequence[Figure]:
        column = self._column()
        return self._target.figures if column is None else _in_cell(self._target, column)


def _denies(statement: Statement, shared: frozenset[str]) -> bool:
    """Whether a statement denies in the clause that holds most of what it shares with another one."""
    clauses = _CLAUSE.findall(statement.text)
    best = max(clauses, key=lambda clause: len(terms_of(clause) & shared), default="")
    return any(sentence.denials for sentence in sentences_of(best))


def _is_telling(named: Figure, own: Figure) -> bool:
    """Whether a value is found again by more than chance: it has a unit, is a date or time, or has several digits."""
    value = named.value
    return (
        value is None
        or named.kind == "date"
        or bool(value.unit and value.unit == own.unit)
        or value.amount % 1 != 0
        or value.amount >= 100
        or {named.unit, own.unit} == {"time", "months"}
    )


def _with_unit(revision: Revision) -> str:
    """The old value, with the unit of the new one where it has none ("from 25 to 28 days")."""
    return f"{revision.old}{_UNIT.sub('', revision.new, count=1)}" if _BARE.fullmatch(revision.old) else revision.old


def _word_before(text: str, figure: Figure) -> str:
    """The word right before a figure: "Java" before 11."""
    found = _LAST_WORD.search(text[max(0, figure.start - 24) : figure.start])
    return found[0].casefold() if found else ""


def _in_cell(target: Statement, column: int) -> list[Figure]:
    low, high = (offset - target.start for offset in target.cells[column])
    return [figure for figure in target.figures if low <= figure.start < high]


def _shown(statement: Statement, figure: Figure) -> str:
    return " ".join(statement.text[figure.start : figure.end].split())


# --- what is stated twice ------------------------------------------------------------------------------------------


def _are_twins(first: Document, second: Document) -> bool:
    """Whether two documents of one kind are about different things: a label of their names differs, or one form
    is filled in twice.
    """
    for left, right, ours, theirs in zip(first.mould, second.mould, first.labels, second.labels, strict=True):
        if left and left == right and ours != theirs:
            return True
    shared, fewer = first.forms & second.forms, min(len(first.forms), len(second.forms))
    return len(shared) >= _LEAST_FORMS and len(shared) >= _FORMS * fewer


def _are_alike(first: Document, second: Document) -> bool:
    """Whether names or titles of one pattern hold different labels ("Path No. 1: Herons", "Path No. 2: Otters")."""
    named = zip(first.mould, second.mould, first.labels, second.labels, strict=True)
    return any(ours and theirs and ours.isdisjoint(theirs) and _similar(a, b) for a, b, ours, theirs in named)


def _similar(first: str, second: str) -> bool:
    """Whether two names are cut to one pattern."""
    return bool(first and second) and SequenceMatcher(None, first[:80], second[:80], autojunk=False).ratio() >= _ALIKE


def _plain(first: Document, second: Document, weights: _Weights) -> list[Contradiction]:
    """What both documents state of one subject: they name it, or agree in some figure."""
    titles = distinct(terms_of(first.title)), distinct(terms_of(second.title))
    subjects = titles[0] & second.vocabulary | titles[1] & first.vocabulary
    found: list[Contradiction] = []
    agreeing = 0
    for statement, others in _neighbours(first, second):
        compared = [_clash(statement, other, weights) for other in others]
        agreeing += any(one == "agrees" for one in compared)
        clashes = [one for one in compared if isinstance(one, Contradiction)]
        if clashes:
            found.append(max(clashes, key=lambda one: one.score))
    about_one = bool(subjects) or agreeing > 0
    return found if about_one and len(found) <= _FEW_CLASHES + 2 * agreeing else []


def _neighbours(first: Document, second: Document) -> Iterator[tuple[Statement, list[Statement]]]:
    """Asserted statements with a figure, each with those of the other document that share a rarer word with it."""
    postings: dict[str, list[Statement]] = {}
    for statement in second.statements:
        if _is_side(statement):
            for term in statement.terms:
                postings.setdefault(term, []).append(statement)
    for statement in first.statements:
        if _is_side(statement):
            listed = [postings.get(term, []) for term in sorted(statement.terms)]
            near = {other.number: other for some in listed if len(some) <= _MOST_POSTINGS for other in some}
            yield statement, list(near.values())


def _is_side(statement: Statement) -> bool:
    """Whether a statement asserts a few figures, and is no list of them."""
    return (
        statement.mode == "asserted"
        and len(statement.text) <= _MOST_TEXT
        and 0 < len(statement.figures) <= _MOST_FIGURES
    )


def _clash(first: Statement, second: Statement, weights: _Weights) -> Contradiction | Literal["agrees"] | None:
    """Two figures of one attribute that exclude each other, where nothing tells the statements apart."""
    if _told_apart(first, second):
        return None
    best: Contradiction | None = None
    differing: set[int] = set()
    agrees = False
    for figure in first.figures:
        equal = [other for other in second.figures if same_kind(figure, other) and same_figure(figure, other)]
        if equal:
            agrees = agrees or any(_like(figure, other, first, second, weights) >= _LIKE for other in equal)
            continue
        for other in second.figures:
            if not same_kind(figure, other):
                continue
            like = _like(figure, other, first, second, weights)
            if like < _LIKE:
                continue
            differing.add(figure.start)
            if best is None or like > best.score:
                values = _shown(first, figure), _shown(second, other)
                kind: Kind = "number" if figure.kind == "number" else "date"
                best = Contradiction(first, second, kind, values, None, round(min(1.0, like), 4))
    if len(differing) < 2 and best is not None:
        return best  # where all that is said differs, it is said of something else
    return "agrees" if agrees else None


def _like(figure: Figure, other: Figure, first: Statement, second: Statement, weights: _Weights) -> float:
    """How far two figures stand among the same words, from 0 to 1."""
    left, right = _around(figure, first), _around(other, second)
    if _is_row_of(figure, first, other, second) or _is_row_of(other, second, figure, first):
        return 1.0
    bare = figure.kind == "number" and not (figure.unit and figure.unit == other.unit)
    event = _event(figure, first)
    if (
        event
        and event == _event(other, second)
        and distinct((first.terms | first.about) & (second.terms | second.about)) - {event}
    ):
        return _LIKE_EVENT
    if not (_is_counting(figure) and _is_counting(other)) or (bare and figure.unit and other.unit):
        return 0.0
    if not (_names_column(figure, first, right) and _names_column(other, second, left)):
        return 0.0
    if not left or not right:
        return 0.0
    if is_chinese(first) and is_chinese(second):  # pairs of characters that come once are seldom words
        left, right, bare = weights.known(left), weights.known(right), False
    elif is_chinese(first) != is_chinese(second):
        return _like_across(left, right, weights)
    shared = left & right
    if len(distinct(shared)) < 2 + bare or weights.of(shared) < 4:
        return 0.0
    ratios = sorted((weights.of(shared) / weights.of(left), weights.of(shared) / weights.of(right)))
    like = sum(ratios) / 2 if first.cells or second.cells else ratios[1]
    counted = figure.value is not None and figure.kind == "number" and not figure.value.measured
    return like if like >= _LIKE_COUNTED or not counted else 0.0


def _event(figure: Figure, statement: Statement) -> str:
    """What happened on a date: the word before it, but for prepositions ("founded in 1987")."""
    found = _EVENT.search(statement.text[max(0, figure.start - 40) : figure.start]) if figure.kind == "date" else None
    return stem(found[1]) if found else ""


def _is_counting(figure: Figure) -> bool:
    """Whether a number that measures nothing is more than an article ("one of them", "the two")."""
    return figure.value is None or figure.kind == "date" or figure.value.measured or figure.value.amount > 2


def _names_column(figure: Figure, row: Statement, other: frozenset[str]) -> bool:
    """Whether, of a table with several columns, what is said elsewhere names that of a figure."""
    labels = row.place.columns
    if len(labels) < 3:
        return True
    label = terms_of(labels[min(_cell(figure, row), len(labels) - 1)])
    return not label or bool(label & other)


def _cell(figure: Figure, row: Statement) -> int:
    return next((n for n, (low, high) in enumerate(row.cells) if low <= row.start + figure.start < high), 0)


def _like_across(left: frozenset[str], right: frozenset[str], weights: _Weights) -> float:
    """The same for two languages: by the topics that both have words for, and the names written alike."""
    topics = [{term for term in terms if term.startswith("@")} for terms in (left, right)]
    shared = topics[0] & topics[1]
    return len(shared) / min(map(len, topics)) if len(shared) > 1 and 2 * weights.of(frozenset(shared)) >= 4 else 0.0


def _is_row_of(figure: Figure, row: Statement, other: Figure, said: Statement) -> bool:
    """Whether prose names the row of a figure, word for word, and gives another of its unit: the only one of the row."""
    label = row.place.row.casefold()
    alone = sum(f.kind == figure.kind and f.unit == figure.unit for f in row.figures) == 1
    if not row.cells or said.cells or len(label) < 2 or not alone or not figure.unit or figure.unit != other.unit:
        return False
    at = said.text.casefold().find(label)
    return at >= 0 and abs(other.start - at - len(label)) <= _NEAR


def _around(figure: Figure, statement: Statement) -> frozenset[str]:
    """The terms a figure stands among: its clause; of a row, its label and that of the column."""
    if not statement.cells:
        return figure.near
    column = next(
        (n for n, (low, high) in enumerate(statement.cells) if low <= statement.start + figure.start < high), 0
    )
    labels = statement.place.columns
    named = labels[column] if len(labels) > 2 and column < len(labels) else ""
    return terms_of(f"{statement.place.row} {named}") | statement.terms


def _told_apart(first: Statement, second: Statement) -> bool:
    """Whether the places or words of two statements name different things."""
    left, right = (labels_of(" ".join((*s.place.headings, s.place.row))) for s in (first, second))
    if left and right and left.isdisjoint(right):
        return True
    left, right = (frozenset(m["latin"] or m["han"] for m in _NUMBERED.finditer(s.text)) for s in (first, second))
    if left and right and left.isdisjoint(right):
        return True
    left, right = (s.sentence.names if s.sentence else frozenset[str]() for s in (first, second))
    around = [s.terms | s.about for s in (first, second)]
    return bool(left and right) and left.isdisjoint(right | around[1]) and right.isdisjoint(around[0])
