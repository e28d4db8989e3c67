"""Where two documents contradict each other: statements about one thing whose values exclude each other.

What a text announces as changed or corrected is looked up in the other document and decides; otherwise two asserted
statements have to be about the same attribute of the same subject, in places that do not tell them apart.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.comparing.edits import Kind
from agentic_memory_bank.engines.extractive.reading import lexicon
from agentic_memory_bank.engines.extractive.reading.revisions import Revision, revisions_of
from agentic_memory_bank.engines.extractive.reading.statements import (
    Clock,
    Document,
    Statement,
    clocks_of,
    labels_of,
    read,
    terms_of,
)
from agentic_memory_bank.engines.extractive.reading.values import Value, agree, comparable, values_of

_COVERED: Final = 0.6
_LIKE: Final = 0.5
_FORMS: Final = 0.5
_LEAST_FORMS: Final = 4
_MOST_POSTINGS: Final = 12


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
        return Contradiction(self.second, self.first, self.kind, self.values[::-1], holds, self.score)


@lru_cache(maxsize=256)
def contradictions(first: tuple[str, str], second: tuple[str, str]) -> tuple[Contradiction, ...]:
    """Every contradiction between two documents, each given as its name and its text."""
    if second < first:
        return tuple(one.mirrored() for one in contradictions(second, first))
    left, right = read(first[1], first[0]), read(second[1], second[0])
    weights = _Weights(left, right)
    found = [*_announced(left, right, weights), *(c.mirrored() for c in _announced(right, left, weights))]
    if not _are_apart(left, right):
        found += _plain(left, right, weights)
    taken: set[tuple[int, int]] = set()
    kept: list[Contradiction] = []
    for one in found:
        key = one.first.number, one.second.number
        if key not in taken:
            taken.add(key)
            kept.append(one)
    return tuple(kept)


class _Weights:
    """How much a term says: the rarer among the statements of both documents, the more."""

    def __init__(self, *documents: Document) -> None:
        statements = [s for document in documents for s in document.statements]
        self._spread = Counter(term for s in statements for term in s.terms)
        self._count = len(statements) + 1

    def of(self, terms: frozenset[str]) -> float:
        """What some terms weigh together; a topic counts as one word with the words that name it."""
        return sum(
            log(self._count / (1 + self._spread.get(term, 0))) * (0.5 if term.startswith("@") else 1.0)
            for term in terms
        )


# --- what is announced -------------------------------------------------------------------------------------------


def _announced(revising: Document, other: Document, weights: _Weights) -> Iterator[Contradiction]:
    for revision in revisions_of(revising):
        best: tuple[float, Contradiction] | None = None
        for target in other.statements:
            found = _revised(revision, target, weights)
            if found and (best is None or found[0] > best[0]):
                best = found
        if best:
            yield best[1]


def _revised(revision: Revision, target: Statement, weights: _Weights) -> tuple[float, Contradiction] | None:
    if target.place.kind in ("heading", "header", "code") or target.mode in ("asked", "template"):
        return None
    referred = bool(revision.references & set(target.place.numbers))
    subject, about = revision.subject, target.terms | target.about
    shared = revision.statement.terms & about
    weight = weights.of(shared & target.terms) + 0.5 * weights.of(shared - target.terms)
    total = weights.of(subject)
    cover = weights.of(subject & about) / total if total else 0.0
    old = _old(revision, target)
    pair = old or _replaced(revision, target)
    if pair is None:
        if revision.kind == "cancel" or not revision.sure:
            pair = None if not _cancels(revision, target, referred, cover) else ("negation", "", "")
        elif not (referred or cover >= 0.75 and weight >= 6):
            return None
        else:
            pair = ("class", "", "")
        if pair is None:
            return None
    enough = referred or (old and weight >= 2) or (cover >= _COVERED and weight >= 4 and (revision.sure or weight >= 8))
    if not enough:
        return None
    kind, new_value, old_value = pair
    values = (new_value or revision.statement.text[:80], old_value or target.text[:80])
    score = weight + 6 * referred + 4 * bool(old)
    return score, Contradiction(revision.statement, target, kind, values, 0, round(min(1.0, 0.5 + weight / 40), 4))


def _cancels(revision: Revision, target: Statement, referred: bool, cover: float) -> bool:
    denies = target.sentence is not None and bool(target.sentence.denials)
    return revision.sure and (referred or (cover >= _COVERED and not denies))


Pair = tuple[Kind, str, str]


def _old(revision: Revision, target: Statement) -> Pair | None:
    """The old value, where the announcement names it and the target has it."""
    named = revision.old or (revision.statement.text if revision.kind == "cancel" else "")
    if not named:
        return None
    wanted = values_of(named) if revision.old or revision.kind == "cancel" else ()
    for value in wanted:
        for own in target.values:
            if comparable(value, own) and agree(value, own) and (value.unit or value.kind == "date"):
                return own.kind, _first_value(revision.new, own) or named, _shown(target.text, own)
    if revision.old and not wanted and len(revision.old) > 2 and revision.old.casefold() in target.text.casefold():
        return "name", revision.new[:60], revision.old
    return None


def _first_value(text: str, like: Value) -> str:
    return next((_shown(text, v) for v in values_of(text) if v.kind == like.kind), "")


def _replaced(revision: Revision, target: Statement) -> Pair | None:
    """A new value of the kind of which the target has another."""
    new, owned = values_of(revision.new), _own_values(target, revision.statement)
    for value in new:
        rivals = [own for own in owned if comparable(value, own) and (value.unit or value.kind == "date")]
        if rivals and not any(agree(value, own) for value in new for own in rivals if comparable(value, own)):
            return value.kind, _shown(revision.new, value), _shown(target.text, rivals[0])
    clock = _clocks_differ(clocks_of(revision.new), target.clocks)
    return ("date", revision.new[slice(*clock[0])], target.text[slice(*clock[1])]) if clock else None


def _clocks_differ(first: Sequence[Clock], second: Sequence[Clock]) -> tuple[tuple[int, int], tuple[int, int]] | None:
    for kind in ("clock", "weekday"):
        left = [c for c in first if c.kind == kind]
        right = [c for c in second if c.kind == kind]
        if left and right and not {c.minutes for c in left} & {c.minutes for c in right}:
            return (left[0].start, left[0].end), (right[0].start, right[0].end)
    return None


def _own_values(target: Statement, asking: Statement) -> list[Value]:
    """The values of a statement; of a row with many, those of the column that the other statement names."""
    if len(target.cells) <= 2:
        return list(target.values)
    said = f"{asking.text} {asking.place.line()}".casefold()
    columns = target.place.columns
    named = [n for n, label in enumerate(columns) if n and label and label.casefold() in said]
    if len(named) != 1:
        return list(target.values)
    low, high = (offset - target.start for offset in target.cells[named[0]])
    return [value for value in target.values if low <= value.start < high]


def _shown(text: str, value: Value) -> str:
    return " ".join(text[value.start : value.end].split())


# --- what is stated twice ------------------------------------------------------------------------------------------


def _are_apart(first: Document, second: Document) -> bool:
    """Whether two documents are of one kind and about different things: their names or titles differ in a label, or
    both fill in one form."""
    for left, right in zip(first.mould, second.mould, strict=True):
        if left and left == right and "#" in left and first.labels != second.labels:
            return True
    shared, either = first.forms & second.forms, min(len(first.forms), len(second.forms))
    return len(shared) >= _LEAST_FORMS and len(shared) >= _FORMS * either


def _plain(first: Document, second: Document, weights: _Weights) -> Iterator[Contradiction]:
    postings: dict[str, list[Statement]] = {}
    for statement in second.statements:
        if statement.mode == "asserted":
            for term in statement.terms | statement.about:
                postings.setdefault(term, []).append(statement)
    for statement in first.statements:
        if statement.mode != "asserted" or not (statement.values or statement.clocks):
            continue
        found: dict[int, Statement] = {}
        for term in statement.terms | statement.about:
            listed = postings.get(term, [])
            if len(listed) <= _MOST_POSTINGS:
                found.update((other.number, other) for other in listed)
        clashes = [c for other in found.values() if (c := _clash(statement, other, weights))]
        if clashes:
            yield max(clashes, key=lambda c: c.score)


def _clash(first: Statement, second: Statement, weights: _Weights) -> Contradiction | None:
    pair = _clashing(first, second)
    if pair is None or _told_apart(first, second):
        return None
    kind, left, right = pair
    shared = first.terms & second.terms
    about = (first.terms | first.about) & (second.terms | second.about)
    smaller = min(weights.of(first.terms), weights.of(second.terms))
    like = weights.of(shared) / smaller if smaller else 0.0
    if like < _LIKE or len(about) < 2 or weights.of(about) < 5:
        return None
    return Contradiction(first, second, kind, (left, right), None, round(min(1.0, like), 4))


def _clashing(first: Statement, second: Statement) -> Pair | None:
    left, right = _own_values(first, second), _own_values(second, first)
    if len(left) > 6 or len(right) > 6:
        return None
    for value in left:
        if not value.unit and value.kind == "number":
            continue
        rivals = [other for other in right if comparable(value, other)]
        if rivals and not any(agree(value, other) for other in rivals):
            return value.kind, _shown(first.text, value), _shown(second.text, rivals[0])
    clock = _clocks_differ(first.clocks, second.clocks)
    return ("date", first.text[slice(*clock[0])], second.text[slice(*clock[1])]) if clock else None


def _told_apart(first: Statement, second: Statement) -> bool:
    """Whether the places or words of two statements name different things."""
    left, right = (labels_of(" ".join((*s.place.headings, s.place.row))) for s in (first, second))
    if left and right and left.isdisjoint(right):
        return True
    return False
