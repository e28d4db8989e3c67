"""Which version of a program two documents ask for at least: one number each, whatever else their sentences say."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, shown
from agentic_memory_bank.engines.extractive.reading.figures import Figure, same_written
from agentic_memory_bank.engines.extractive.reading.statements import DOCUMENTS_KEPT, Document, Statement
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_PROGRAM: Final = lazy_pattern(
    r"(?P<least>(?:\b(?:requires?|needs?|at least)|>=|需要|至少) ?)?(?<!\w)(?P<name>(?-i:[A-Z])[\w.+#-]{0,20})"
    r" ?(?:version |>= ?|v)?$",
    re.IGNORECASE,
)
_OR_LATER: Final = lazy_pattern(
    r"\+| ?(?:or|and) (?:newer|later|higher|above|up)\b| is (?:now )?the (?:oldest|minimum|lowest|earliest)\b"
    r"| ?(?:或|及)?(?:以上|更高|更新)",
    re.IGNORECASE,
)
_REACH: Final = 40
"""How far before a number what it is a version of begins."""
_SURE: Final = 0.8


def required_versions(first: Document, second: Document) -> Iterator[FoundContradiction]:
    """Programs of which each document asks for a version and later ones, and not for the same ("Python 3.9 or newer").

    One that a document names with two versions, for two purposes, is left out.
    """
    ours, theirs = _required(first), _required(second)
    for program in sorted(ours.keys() & theirs.keys()):
        (left, one), (right, other) = ours[program], theirs[program]
        if not same_written(one, other):
            yield FoundContradiction(left, right, "number", (shown(left, one), shown(right, other)), None, _SURE)


@lru_cache(maxsize=DOCUMENTS_KEPT)
def _required(document: Document) -> dict[str, tuple[Statement, Figure]]:
    """Programs with the version that is required, and the statement that says so."""
    found: dict[str, list[tuple[Statement, Figure]]] = {}
    for statement in document.statements:
        if statement.mode in ("asserted", "none") and statement.place.kind not in ("heading", "code"):
            for figure in statement.figures:
                if program := _program(statement, figure):
                    found.setdefault(program, []).append((statement, figure))
    return {name: named[0] for name, named in found.items() if all(same_written(named[0][1], f) for _, f in named)}


def _program(statement: Statement, figure: Figure) -> str:
    """What a statement requires a version of, if the figure is one."""
    if figure.kind != "number" or figure.unit:
        return ""
    found = _PROGRAM.search(statement.text[max(0, figure.start - _REACH) : figure.start])
    is_least = found is not None and bool(found["least"] or _OR_LATER.match(statement.text, figure.end))
    return found["name"].casefold() if found and is_least else ""
