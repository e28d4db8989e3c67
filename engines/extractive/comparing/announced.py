"""What one document announces as changed, corrected or ended, looked up in another one."""

import re
from collections.abc import Iterator, Sequence
from math import log
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Pair, Weights, shown
from agentic_memory_bank.engines.extractive.reading.figures import (
    Figure,
    are_of_other_sizes,
    figures_of,
    same_kind,
    same_written,
)
from agentic_memory_bank.engines.extractive.reading.marks import OF_THE_DOCUMENT
from agentic_memory_bank.engines.extractive.reading.revisions import AnnouncedRevision, named_in, revisions_of
from agentic_memory_bank.engines.extractive.reading.sentence import sentences_of
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement, is_chinese
from agentic_memory_bank.engines.extractive.reading.terms import distinct, terms_of

_COVERED: Final = 0.6
_COVERED_CHINESE: Final = 0.4
_SAME_UNIT: Final = 2.0
"""What it adds to the words in common that something is counted or measured alike."""
_NAMED_OLD: Final = 3.0
"""What the words in common weigh at least where the old value is named, and found again."""
_MOST_TARGETS: Final = 40
_CLAUSE: Final = re.compile(r"[^,;，。；;]+")
_BARE: Final = re.compile(r"[£$€¥]?[\d.,]+|[a-z]+", re.IGNORECASE)
_UNIT: Final = re.compile(r"^\W*(?:[\d.,]+|[a-z]+)", re.IGNORECASE)
_LAST_WORD: Final = re.compile(r"(?<![A-Za-z])[A-Z][A-Za-z]{1,23}(?= ?$)")
_FOLLOWING: Final = re.compile(r"\b(?:following|below|these changes)\b|如下|下列|以下", re.IGNORECASE)
_HAN_COUNTER: Final = re.compile(r" ?([\u4e00-\u9fff])")
_NEEDS: Final = re.compile(r"\b(?:need\w*|requir\w+|must|ha(?:ve|s) to|necessary)\b|必须|需要|须", re.IGNORECASE)


def announced(revising: Document, other: Document, weights: Weights, apart: bool) -> Iterator[FoundContradiction]:
    """What one document announces as changed, with the statement of the other that it changes."""
    postings: dict[str, list[Statement]] = {}
    for statement in other.statements:
        for term in (*statement.terms, *statement.about, *(f"#{number}" for number in statement.place.numbers)):
            postings.setdefault(term, []).append(statement)
    for revision in revisions_of(revising):
        best: tuple[float, FoundContradiction] | None = None
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


def _called(revision: AnnouncedRevision, other: Document) -> bool | None:
    """Whether an announcement names the other document ("the brochure"); False where it names another one."""
    said = terms_of(named_in(revision)) & _DOCUMENTS
    called = terms_of(f"{other.name.rsplit('.', 1)[0]} {other.title}") & _DOCUMENTS
    return bool(said & called) if said else None


_GENERAL: Final = frozenset({"@when", "@place", "@fee"})
"""Topics that many things have."""


class _Revised:
    """Whether a statement is what a revision revises."""

    def __init__(self, revision: AnnouncedRevision, target: Statement, weights: Weights, named: bool) -> None:
        self._revision, self._target, self._named, self._weights = revision, target, named, weights
        about = target.terms | target.about
        said = terms_of(revision.context) if revision.context != revision.statement.text else revision.statement.terms
        shared = said & about
        self._referred = bool(revision.references & set(target.place.numbers))
        self._weight = weights.of(shared & target.terms) + 0.5 * weights.of(shared - target.terms)
        self._ended = _ended(revision)
        subject = distinct(revision.subject)
        if is_chinese(target):
            subject = weights.known(subject)
        self._cover = max(_covered(some, about, weights) for some in (subject, distinct(subject | self._ended)))
        row = terms_of(target.place.row)
        self._is_cell = bool(row) and row <= said and (len(target.place.columns) < 3 or self._column() is not None)
        self._topical = bool({term for term in shared if term.startswith("@")})
        specific = {term for term in subject & about if term not in _GENERAL}
        self._covered = bool(specific) and self._cover >= (_COVERED_CHINESE if is_chinese(target) else _COVERED)

    def found(self, apart: bool) -> tuple[float, FoundContradiction] | None:
        """The contradiction with its score; None where the statement is another one."""
        revision, target = self._revision, self._target
        if target.place.kind in ("heading", "header", "code") or target.mode in ("none", "asked", "template"):
            return None
        if target.place.speaker or not (self._referred or self._is_on_topic()):
            return None
        if not self._referred and OF_THE_DOCUMENT.match(target.text):
            return None
        old = self._old()
        pair = old or (None if apart and not self._referred else self._replaced() or self._reversed())
        if pair is None or not (old or self._is_meant(pair)):
            return None
        kind, new, was = pair
        values = (new or revision.statement.text[:80], was or target.text[:80])
        score = self._weight + 6 * self._referred + 4 * bool(old) + 4 * self._cover
        sure = round(min(1.0, 0.5 + score / 40), 4)
        return score, FoundContradiction(revision.statement, target, kind, values, 0, sure)

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
            if any(f"{heading}{colon}" in self._revision.context for colon in (":", "：", " :")):
                topic = self._weights.known(terms_of(heading))
                return not topic or bool(topic & (self._target.terms | self._target.about))
        return True

    def _old(self) -> Pair | None:
        """The old value, where the announcement names it and the target has it."""
        revision, target = self._revision, self._target
        contrasted = revision.kind == "correct" and not (
            revision.announcing
            or (self._cover >= 0.5 and self._weight >= 8)
            or (revision.old and self._cover >= _COVERED_CHINESE and self._weight >= _NAMED_OLD)
        )
        taken_back = revision.kind in ("cancel", "end") and self._cover < _COVERED
        least = 0.1 if revision.announcing else 0.5
        if not self._referred and (self._weight < 2 or self._cover < least or contrasted or taken_back):
            return None
        named = _with_unit(revision) or (revision.before if revision.kind in ("cancel", "end") else "")
        for figure in figures_of(named):
            for own in target.figures:
                telling = (
                    _is_telling(figure, own)
                    or _word_before(named, figure) == _word_before(target.text, own) != ""
                    or _counter(named, figure) == _counter(target.text, own) != ""
                )
                if same_kind(figure, own) and same_written(figure, own) and telling:
                    return (
                        own.kind if own.kind in ("number", "date") else "date",
                        _new_value(revision, own),
                        shown(target, own),
                    )
        is_quoted = any(f"{mark}{revision.old}" in revision.context for mark in '"“')
        is_name = len(revision.old) > 1 and (revision.old[0].isupper() or not revision.old.isascii() or is_quoted)
        if is_name and not figures_of(revision.old) and revision.old.casefold() in target.text.casefold():
            return "name", revision.new[:60], revision.old
        return None

    def _replaced(self) -> Pair | None:
        """A new value of the kind of which the target has another."""
        new, owned = figures_of(self._revision.new), self._owned()
        in_cell = self._is_cell and self._column() is not None
        for figure in new:
            rivals = [
                own
                for own in owned
                if same_kind(figure, own)
                and (figure.kind != "number" or figure.unit and figure.unit == own.unit or in_cell and not own.unit)
                and (self._referred or not are_of_other_sizes(figure, own))
            ]
            if rivals and not any(same_written(one, own) for one in new for own in rivals if same_kind(one, own)):
                self._weight += _SAME_UNIT * bool(figure.unit)
                new_value = self._revision.new[figure.start : figure.end].strip()
                nearest = min(rivals, key=lambda own: _distance(figure, own))
                return "number" if figure.kind == "number" else "date", new_value, shown(self._target, nearest)
        return None

    def _reversed(self) -> Pair | None:
        """What the target says and the announcement takes back, or puts something else in the place of."""
        revision, target = self._revision, self._target
        if not revision.sure:
            return None
        if revision.kind not in ("cancel", "end") and self._says_the_same():
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
        if self._referred:
            return "class", "", ""
        # a new date or number takes the place of another one, and "the following" of what it follows
        new = figures_of(revision.new)
        is_another = bool(new) and not any(same_kind(one, own) for one in new for own in target.figures)
        is_told = is_another or _FOLLOWING.search(revision.new) or not terms_of(revision.new)
        return ("class", "", "") if self._cover >= _COVERED and not is_told else None

    def _says_the_same(self) -> bool:
        """Whether the target has a new value already; of what ends, its value is what is taken back."""
        new = figures_of(self._revision.new)
        return any(same_kind(one, own) and same_written(one, own) for one in new for own in self._owned())

    def _says_what_ends(self) -> bool:
        """Whether the target says what is "no longer" so: half of the words behind, or that something is needed."""
        if self._revision.kind != "end" or is_chinese(self._target) or _NEEDS.search(self._target.text):
            return True
        shared = self._ended & (self._target.terms | self._target.about)
        return 2 * self._weights.of(shared) >= self._weights.of(distinct(self._ended))

    def _column(self) -> int | None:
        """The one column of a table that the announcement names."""
        said = f"{self._revision.context} {self._revision.statement.place.line()}".casefold()
        columns = self._target.place.columns
        named = [n for n, label in enumerate(columns) if n and label and label.casefold() in said]
        return named[0] if len(named) == 1 and named[0] < len(self._target.cells) else None

    def _owned(self) -> Sequence[Figure]:
        column = self._column()
        return self._target.figures if column is None else _in_cell(self._target, column)


def _covered(subject: frozenset[str], about: frozenset[str], weights: Weights) -> float:
    """The share of the words of a subject, by what they weigh, that a statement or its place has."""
    total = weights.of(subject)
    return weights.of(subject & about) / total if total else 0.0


def _ended(revision: AnnouncedRevision) -> frozenset[str]:
    """The terms of what is "no longer" so: the clause behind these words."""
    clauses = _CLAUSE.findall(revision.new) if revision.kind == "end" else ()
    return terms_of(clauses[0]) if clauses and not is_chinese(revision.statement) else frozenset()


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


def _with_unit(revision: AnnouncedRevision) -> str:
    """The old value, with the unit of the new one where it has none ("from 25 to 28 days")."""
    return f"{revision.old}{_UNIT.sub('', revision.new, count=1)}" if _BARE.fullmatch(revision.old) else revision.old


def _new_value(revision: AnnouncedRevision, old: Figure) -> str:
    """What stands in the place of an old value: the first like it; what says that something ends is no value."""
    new = figures_of(revision.new)
    like = next((figure for figure in new if same_kind(figure, old) and not same_written(figure, old)), None)
    if like:
        return revision.new[like.start : like.end].strip()
    return "" if revision.kind in ("cancel", "end") else revision.new[:40].strip(" .。")


def _word_before(text: str, figure: Figure) -> str:
    """The word right before a figure: "Java" before 11."""
    found = _LAST_WORD.search(text[max(0, figure.start - 24) : figure.start])
    return found[0].casefold() if found else ""


def _distance(figure: Figure, own: Figure) -> float:
    """How many times one number is the other, as a logarithm; 0 for what is no number."""
    if figure.kind != "number" or figure.value is None or own.value is None:
        return 0.0
    return abs(log((figure.value.amount or 1e-9) / (own.value.amount or 1e-9)))


def _counter(text: str, figure: Figure) -> str:
    """The Chinese character right behind a number, with which things are counted: that of "四台"."""
    found = _HAN_COUNTER.match(text, figure.end)
    return found[1] if found else ""


def _in_cell(target: Statement, column: int) -> list[Figure]:
    low, high = (offset - target.start for offset in target.cells[column])
    return [figure for figure in target.figures if low <= figure.start < high]
