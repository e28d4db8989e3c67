"""What comparing whole documents yields, and how much a word says in it."""

from collections import Counter
from dataclasses import dataclass
from math import log, prod
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.comparing.edits import Kind
from agentic_memory_bank.engines.extractive.reading.figures import Figure
from agentic_memory_bank.engines.extractive.reading.marks import PREVAILS, SIGNED
from agentic_memory_bank.engines.extractive.reading.revisions import changes_to
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement
from agentic_memory_bank.engines.extractive.reading.terms import distinct, terms_of

Pair = tuple[Kind, str, str]
"""What clashes, the value of the one and that of the other."""
_FEW: Final = 60
"""Statements of two documents, below which a word is weighed as if there were so many."""
_FEW_PAIRS: Final = 1_000
"""Pairs of statements, up to which what two of them share is not taken for chance."""
_LEAST_SHARED: Final = 6.0
_EACH_TIMES: Final = 3.0
"""What the words that two statements and their places share weigh at least among more pairs, and how much more for each
factor of e: on 231 pairs of long pages of documentation there were 108 false alarms, all of them by fewer words."""


@dataclass(frozen=True)
class FoundContradiction:
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

    @property
    def says_nothing(self) -> bool:
        """Whether it is none on a second look.

        Then one statement tells of the change to what the other one gives, repeats its date, or says when a document
        was signed or which of two prevails.
        """
        sides = (self.first, self.values[0]), (self.second, self.values[1])
        if any(PREVAILS.search(side.text) for side, _ in sides):
            return True
        if self.kind == "date":
            ours, theirs = self.values
            if ours != theirs and (ours in theirs or theirs in ours):
                return True
            if any(SIGNED.match(side.text, side.text.find(value) + len(value)) for side, value in sides):
                return True
        return changes_to(self.first, self.second.figures) or changes_to(self.second, self.first.figures)

    def mirrored(self) -> "FoundContradiction":
        """The same contradiction with its two sides exchanged."""
        holds: Literal[0, 1] | None = None if self.holds is None else 0 if self.holds else 1
        return FoundContradiction(
            self.second, self.first, self.kind, (self.values[1], self.values[0]), holds, self.score
        )


class Weights:
    """How much a term says: the rarer among the statements of both documents, the more."""

    def __init__(self, *documents: Document) -> None:
        statements = [s for document in documents for s in document.statements]
        self._spread = Counter(term for s in statements for term in s.terms)
        self._count = max(len(statements), _FEW) + 8
        self._pairs = prod(len(document.statements) for document in documents)
        shared = frozenset[str]().union(*(document.names for document in documents))
        shared = shared.intersection(*(document.names for document in documents))
        self.names = terms_of(" ".join(shared)) | shared
        """The names that all documents share, which tell of no value what it is of."""

    def of(self, terms: frozenset[str]) -> float:
        """What some terms weigh together; a topic counts half, as the words that name it count too."""
        return sum(self._one(term) for term in terms)

    def known(self, terms: frozenset[str]) -> frozenset[str]:
        """The terms that stand in more than one statement."""
        return frozenset(term for term in terms if self._spread.get(term, 0) > 1)

    def tell_by_more_than_chance(self, first: Statement, second: Statement) -> bool:
        """Whether two statements share more than some of so many pairs do by chance."""
        if self._pairs <= _FEW_PAIRS:
            return True
        shared = distinct((first.terms | first.about) & (second.terms | second.about))
        return self.of(shared) >= _LEAST_SHARED + _EACH_TIMES * log(self._pairs / _FEW_PAIRS)

    def _one(self, term: str) -> float:
        weight = log(self._count / (1 + self._spread.get(term, 0)))
        return weight / 2 if term.startswith("@") else weight


def shown(statement: Statement, figure: Figure) -> str:
    """A figure as it is written, in one line."""
    return " ".join(statement.text[figure.start : figure.end].split())
