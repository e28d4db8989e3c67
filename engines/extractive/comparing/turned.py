"""What a notice says is so or not, looked up in the document that it changes: the one clause that says the opposite."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import Final

from agentic_memory_bank.engines.extractive.comparing.counterparts import OF_EVERYTHING, are_apart, words_of
from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction, Weights
from agentic_memory_bank.engines.extractive.comparing.noticed import CLAUSE, CONTEXT, SENTENCE, above_of, common, like, titled
from agentic_memory_bank.engines.extractive.reading.states import states_in
from agentic_memory_bank.engines.extractive.reading.statements import Document, Statement

_LEAST: Final = 3.0
_LEAST_DENIED: Final = 4.0
_MARGIN: Final = 1.2
_MOST_TEXT: Final = 300
_CLAUSE: Final = re.compile(r"(?:[^,;:，。；：;()（）|]|,(?=\d)|:(?=\d))+")
_DENIES: Final = re.compile(
    r"\b(?:not|never|cannot|no longer|no|nobody|none|without|abolished|dropped|withdrawn|cancell?ed|discontinued|"
    r"deleted|scrapped|called off|refused|banned|forbidden)\b|n['’]t\b"
    r"|(?<![差并])不(?![仅但过同止久少])|(?<!有)没有?|从未|未(?!来)|取消|停止|暂停|撤销|禁止|谢绝|免(?!费)|无(?![论锡线])",
    re.IGNORECASE,
)
_HALF: Final = re.compile(
    r"\b(?:not (?:only|yet|always|necessarily|sure|just|merely|even|quite|known?|mean|matter|least|later|more|less|before|until)"
    r"|no (?:later|more|less|fewer|doubt|matter)|nothing (?:else )?(?:has )?change\w*|unchanged)\b|不变|不迟于|不少于|不超过|不低于|照旧|照常",
    re.IGNORECASE,
)

_PERMITS: Final = re.compile(r"\b(?:can|may|now|also|too|after all|allow\w*|accept\w*)\b|可以?|也|同意|允许|开放", re.I)
_ENDS: Final = re.compile(
    r"\bno longer\b|\b(?:any ?more|any longer)\b|\b(?:abolished|dropped|withdrawn|cancell?ed|discontinued|scrapped|void|"
    r"called off)\b|不再|取消|停止|暂停|撤销",
    re.I,
)
_OVER: Final = re.compile(r"\b(?:was|were|had|did|said)\b|了$")


@dataclass(frozen=True)
class _Clause:
    statement: Statement
    text: str
    words: Mapping[str, float]
    numbers: frozenset[str] = frozenset()

    @cached_property
    def states(self) -> Mapping[str, bool]:
        return {one.name: one.holds for one in states_in(self.text)}

    @cached_property
    def denies(self) -> bool:
        return any(not holds for name, holds in self.states.items() if name != "changes") or bool(_DENIES.search(self.text))

    @property
    def known(self) -> Mapping[int, float]:
        return common(self.words)


def turned(notice: Document, other: Document, weights: Weights) -> Iterator[FoundContradiction]:
    idle = titled(notice, other)
    ours, theirs = (list(_clauses(one, idle)) for one in (notice, other))
    likes = {
        (a, b): n
        for a, one in enumerate(ours)
        for b, two in enumerate(theirs)
        if (n := like(one, two, weights)) and not are_apart(one.words.keys() - two.words.keys(), two.words.keys() - one.words.keys())
    }
    for (a, b), n in likes.items():
        one, two = ours[a], theirs[b]
        rivals = [m for (at, to), m in likes.items() if at == a and theirs[to].statement is not two.statement]
        others = [m for (at, to), m in likes.items() if to == b and ours[at].statement is not one.statement]
        same = [m for (at, to), m in likes.items() if (at == a and theirs[to].statement is two.statement or to == b and ours[at].statement is one.statement)]
        least = _turn(one, two)
        if least and n >= max(least, _MARGIN * max(rivals, default=0.0), max(others, default=0.0), *same):
            yield FoundContradiction(
                one.statement, two.statement, "negation", (one.text.strip()[:80], two.text.strip()[:80]), 0, round(min(1.0, 0.5 + n / 40), 4)
            )


def _turn(one: _Clause, two: _Clause) -> float:
    """What the words in common weigh at least where a notice turns round what a clause says; 0 where it does not."""
    if any(p.search(side.text) for side in (one, two) for p in (_HALF, _OVER)):
        return 0.0
    shared = one.states.keys() & two.states.keys() - {"changes"}
    if shared:
        return _LEAST if any(one.states[name] != two.states[name] for name in shared) else 0.0
    if two.denies:
        return 0.0 if one.denies or not _PERMITS.search(one.text) else _LEAST_DENIED
    return _LEAST_DENIED if _ENDS.search(one.text) else 0.0


def _clauses(document: Document, idle: frozenset[str]) -> Iterator[_Clause]:
    for statement in document.statements:
        place = statement.place
        if len(statement.text) > _MOST_TEXT or place.kind in ("header", "code", "heading") or place.speaker:
            continue
        if statement.mode not in ("asserted", "planned"):
            continue
        text = " ".join(statement.text.split())
        above = above_of(document, statement)
        labels = {heading: None for one in (*above, statement) for heading in one.place.headings[-1:]}
        context = " ".join((*labels, place.lead_in, place.row))
        for match in _CLAUSE.finditer(text):
            words: dict[str, float] = {}
            for said, near in ((match.group(), CLAUSE), (text, SENTENCE), (context, CONTEXT)):
                for word in words_of(said):
                    if word not in idle:
                        words[word] = max(near, words.get(word, 0.0))
            if words_of(match.group()):
                yield _Clause(statement, match.group(), words)
