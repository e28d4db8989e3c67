"""The words that something stands among in a document, by how close they are; how alike two such surroundings are."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeVar

from agentic_memory_bank.engines.extractive.comparing.found import Weights
from agentic_memory_bank.engines.extractive.comparing.sides import words_of
from agentic_memory_bank.engines.extractive.comparing.telling import OF_EVERYTHING, are_apart
from agentic_memory_bank.engines.extractive.reading.concepts import of_word
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement

_CLOSE: Final = (1.0, 0.6, 0.5)
"""How close the words of a clause are, those of its sentence, and those above it."""
_CONCEPT: Final = 2.0
"""What a word of the same concept weighs; the same word weighs what it is rare."""
_GENERAL: Final = 0.3
_PAIR: Final = 0.5
"""What pairs of Chinese characters count that may be no words: each lies in its neighbours."""
_REFERRED: Final = 2.5
"""What it weighs that one refers to the clause or item of the other by its number."""
_ABOVE: Final = 3
_MOST_POSTINGS: Final = 40


@dataclass(frozen=True)
class Said:
    """A clause or a value of a document among its words.

    Attributes:
        statement: Where it stands.
        words: The words it stands among, each with how close it is, from 0 to 1.
        numbers: The numbers of the clauses and items it stands in, or refers to.
    """

    statement: Statement
    words: Mapping[str, float]
    numbers: frozenset[str]

    @cached_property
    def known(self) -> Mapping[int, float]:
        """The concepts of its words, each with how close it is."""
        found: dict[int, float] = {}
        for word, near in self.words.items():
            for concept in of_word(word):
                found[concept] = max(near, found.get(concept, 0.0))
        return found

    @property
    def keys(self) -> Iterable[str | int]:
        """Under what it is looked up."""
        return (*self.words, *self.known, *(f"#{number}" for number in self.numbers))


One = TypeVar("One", bound=Said)


def around(texts: Sequence[str], without: frozenset[str]) -> Mapping[str, float]:
    """The words of a clause, of its sentence and of what stands above it, each with how close it is."""
    found: dict[str, float] = {}
    for text, near in zip(texts, _CLOSE, strict=True):
        for word in words_of(text):
            if word not in without:
                found[word] = max(near, found.get(word, 0.0))
    return found


def above_of(document: Document, statement: Statement) -> list[Statement]:
    """The sentences before one in its paragraph."""
    return [
        one
        for one in document.statements[max(0, statement.number - _ABOVE) : statement.number]
        if one.paragraph == statement.paragraph and one.place.numbers == statement.place.numbers and not statement.cells
    ]


def labels_above(above: Sequence[Statement], statement: Statement) -> str:
    """The headings and labels that a statement and those before it in its paragraph stand under."""
    return " ".join(dict.fromkeys(heading for one in (*above, statement) for heading in one.place.headings[-1:]))


def in_both_titles(first: Document, second: Document) -> frozenset[str]:
    """The words of both titles: what both documents are about tells nothing apart."""
    return frozenset(words_of(first.title)) & frozenset(words_of(second.title))


def alike(
    ours: Sequence[One], theirs: Sequence[One], weights: Weights, comparable: Callable[[One, One], bool]
) -> dict[tuple[int, int], float]:
    """How alike the surroundings are of any two that can be compared, and that share a rarer word or concept."""
    postings: dict[str | int, list[int]] = {}
    for at, two in enumerate(theirs):
        for key in two.keys:
            postings.setdefault(key, []).append(at)
    found: dict[tuple[int, int], float] = {}
    for at, one in enumerate(ours):
        near = {b for key in one.keys if len(listed := postings.get(key, ())) <= _MOST_POSTINGS for b in listed}
        for b in sorted(near):
            two = theirs[b]
            apart = are_apart(one.words.keys() - two.words.keys(), two.words.keys() - one.words.keys())
            if not apart and comparable(one, two) and (weight := _like(one, two, weights)):
                found[at, b] = weight
    return found


def rows_and_columns(
    likes: Mapping[tuple[int, int], float],
) -> tuple[Mapping[int, Sequence[tuple[int, float]]], Mapping[int, Sequence[tuple[int, float]]]]:
    """For each on the left those on the right with how alike they are, and for each on the right those on the left."""
    rows: dict[int, list[tuple[int, float]]] = {}
    columns: dict[int, list[tuple[int, float]]] = {}
    for (a, b), weight in likes.items():
        rows.setdefault(a, []).append((b, weight))
        columns.setdefault(b, []).append((a, weight))
    return rows, columns


def _like(one: Said, two: Said, weights: Weights) -> float:
    """What the words weigh that stand around both, and others of the same concepts, by how close they are."""
    total, known = _REFERRED * bool(one.numbers & two.numbers), two.known
    for word, near in one.words.items():
        factor = _GENERAL if word in OF_EVERYTHING else 1.0 if word.isascii() or of_word(word) else _PAIR
        if word in two.words:
            total += factor * min(near, two.words[word]) * weights.of(frozenset((word,)))
        else:
            total += factor * max((min(near, known.get(c, 0.0)) for c in of_word(word)), default=0.0) * _CONCEPT
    return total
