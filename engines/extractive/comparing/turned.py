"""What a notice says is so or not, looked up in the document that it changes: the one clause that says the opposite."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Weights
from agentic_memory_bank.engines.extractive.comparing.sides import words_of
from agentic_memory_bank.engines.extractive.comparing.surroundings import (
    Said,
    above_of,
    alike,
    around,
    in_both_titles,
    labels_above,
    rows_and_columns,
)
from agentic_memory_bank.engines.extractive.reading.statements import Document
from agentic_memory_bank.engines.extractive.reading.states import states_in
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_LEAST: Final = 3.0
_LEAST_DENIED: Final = 4.0
"""What the words in common weigh at least: with the same state, and where one clause merely denies."""
_MARGIN: Final = 1.2
_MOST_TEXT: Final = 300
_CLAUSE: Final = lazy_pattern(r"(?:[^,;:，。；：;()（）|]|,(?=\d)|:(?=\d))+")
_DENIES: Final = lazy_pattern(
    r"\b(?:not|never|cannot|no|nobody|none|without)\b|n['’]t\b"
    r"|(?<![差并])不(?![仅但过同止久少])|(?<!有)没有?|从未|未(?!来)|停止|暂停|免(?!费)|无(?![论锡线])",
    re.IGNORECASE,
)
_HALF: Final = lazy_pattern(
    r"\bnot (?:only|yet|always|necessarily|sure|just|merely|even|quite|known?|mean|matter|least|later|more|less|"
    r"before|until)\b"
    r"|\bno (?:later|more|less|fewer|doubt|matter)\b|\bunchanged\b|不变|不迟于|不少于|不超过|不低于|照旧|照常",
    re.IGNORECASE,
)
"""Denials of which what they deny may be so all the same, and what says that nothing has changed."""
_PERMITS: Final = lazy_pattern(
    r"\b(?:can|may|now|also|too|after all|allow\w*|accept\w*)\b|可以?|也|同意|允许|开放", re.IGNORECASE
)
"""What says of something that it is possible now."""
_ENDS: Final = lazy_pattern(
    r"\bno longer\b|\b(?:any ?more|any longer)\b"
    r"|\b(?:abolished|dropped|withdrawn|cancell?ed|discontinued|scrapped|void|called off)\b|不再|取消|停止|暂停|撤销",
    re.IGNORECASE,
)
_TO_BE_HAD: Final = lazy_pattern(
    r" (?:be )?(?:available|offered|sold|provided|supported|served|open|valid|possible|needed|required|there)\b"
)
"""What ends without its verb being told elsewhere."""
_OVER: Final = lazy_pattern(r"\b(?:was|were|had|did|said)\b|了$")


@dataclass(frozen=True)
class _Clause(Said):
    """A clause of a document among its words.

    Attributes:
        text: What it says.
    """

    text: str

    @cached_property
    def states(self) -> Mapping[str, bool]:
        """The states it says something is in or not; what changes is no state."""
        return {one.name: one.holds for one in states_in(self.text) if one.name != "changes"}

    @property
    def denies(self) -> bool:
        """Whether it says of something that it is not so."""
        return not all(self.states.values()) or bool(_DENIES.search(self.text))


def turned(notice: Document, other: Document, weights: Weights) -> Iterator[FoundContradiction]:
    """What a notice allows, ends or turns round that the document states otherwise which it changes."""
    idle = in_both_titles(notice, other)
    ours, theirs = (list(_clauses(one, idle)) for one in (notice, other))
    likes = alike(ours, theirs, weights, lambda one, two: True)
    rows, columns = rows_and_columns(likes)
    for (a, b), weight in likes.items():
        one, two = ours[a], theirs[b]
        least = _turn(one, two)
        if not least or weight < least or weight < max(n for _, n in (*rows[a], *columns[b])):
            continue
        if all(_MARGIN * n <= weight for to, n in rows[a] if theirs[to].statement is not two.statement):
            values = one.text.strip()[:80], two.text.strip()[:80]
            sure = round(min(1.0, 0.5 + weight / 40), 4)
            yield FoundContradiction(one.statement, two.statement, "negation", values, 0, sure)


def _turn(one: _Clause, two: _Clause) -> float:
    """What the words in common weigh at least where a notice turns round what a clause says; 0 where it does not."""
    if any(pattern.search(side.text) for side in (one, two) for pattern in (_HALF, _OVER)):
        return 0.0
    if shared := one.states.keys() & two.states.keys():
        return _LEAST if any(one.states[name] != two.states[name] for name in shared) else 0.0
    if two.denies:
        return 0.0 if one.denies or not _PERMITS.search(one.text) else _LEAST_DENIED
    return _LEAST_DENIED if _ends(one, two) else 0.0


def _ends(one: _Clause, two: _Clause) -> bool:
    """Whether a clause says that something has ended which the other one tells of."""
    ended = _ENDS.search(one.text)
    if ended is None or ended[0].casefold() != "no longer":
        return ended is not None
    done = words_of(one.text[ended.end() :]).keys()
    return not done or not done.isdisjoint(two.words.keys()) or _TO_BE_HAD.match(one.text, ended.end()) is not None


def _clauses(document: Document, idle: frozenset[str]) -> Iterator[_Clause]:
    for statement in document.statements:
        place = statement.place
        if len(statement.text) > _MOST_TEXT or place.kind in ("header", "code", "heading") or place.speaker:
            continue
        if statement.mode not in ("asserted", "planned"):
            continue
        text = " ".join(statement.text.split())
        context = " ".join((labels_above(above_of(document, statement), statement), place.lead_in, place.row))
        for match in _CLAUSE.finditer(text):
            if words_of(match.group()):
                words = around((match.group(), text, context), idle)
                yield _Clause(statement, words, frozenset(), match.group())
