"""What comparing whole documents yields, and how much a word says in it."""

from collections import Counter
from dataclasses import dataclass
from math import log
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.comparing.edits import Kind
from agentic_memory_bank.engines.extractive.reading.figures import Figure
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement
from agentic_memory_bank.engines.extractive.reading.terms import terms_of

Pair = tuple[Kind, str, str]
"""What clashes, the value of the one and that of the other."""
_FEW: Final = 60
"""Statements of two documents, below which a word is weighed as if there were so many."""


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

    def _one(self, term: str) -> float:
        weight = log(self._count / (1 + self._spread.get(term, 0)))
        return weight / 2 if term.startswith("@") else weight


def shown(statement: Statement, figure: Figure) -> str:
    """A figure as it is written, in one line."""
    return " ".join(statement.text[figure.start : figure.end].split())
