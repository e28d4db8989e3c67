"""The offline reader: which stretches of retrieved text answer a question, word for word, or none.

A sentence is judged by what it shares with the question, rare words more than common ones, by the likeness of meaning,
by how well its passage was found, and by whether it holds what the question asks for: a name, a date, a number, a
place. What the question names and no passage does speaks against an answer; where too little is left, nothing is
quoted.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers, numbers_with_offsets
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

Array = npt.NDArray[np.float32]
Span = tuple[int, int]
Kind = Literal["name", "date", "number", "place", "any"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved text.

    Attributes:
        id: What its quotes are known by.
        text: The text.
        score: How well it was found, from 0 to 1.
        sentences: The spans of its sentences that may be quoted, in order.
        vectors: One L2-normalised row for each of them, or None where there are none: then words alone decide.
    """

    id: str
    text: str
    score: float
    sentences: Sequence[Span]
    vectors: Array | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """A stretch of a passage that answers the question: `text[start:end]` of the passage with that id."""

    passage: str
    start: int
    end: int
    score: float


_MEANING: Final = 0.5
"""Weight of vectors beside words in how relevant a sentence is."""

_MEANING_CHINESE: Final = 0.05
"""The same for a Chinese question, which the small model cannot read."""

_AROUND: Final = 0.5
"""What a word of the question counts that stands in the passage, but not in the sentence itself."""

_NAME_AROUND: Final = 0.8
"""The same for a name, which a text does not repeat in every sentence."""

_FOUND: Final = 0.1
"""Weight of how well the passage was found."""

_FITTING: Final = 1.25
"""How much more a sentence counts that holds the kind of thing asked for."""

_ASKING: Final = 0.5
"""How much less a sentence counts that asks itself."""

_NEWS: Final = 2
"""How many terms that the question lacks a sentence needs to count in full."""

_OTHER_SPEAKER: Final = 0.2
"""How much less a turn counts that is said by another speaker than the one asked about."""

_RELEVANT: Final = 0.3
"""Relevance below which a sentence answers nothing."""

_AS_GOOD: Final = 0.7
"""Share of the best quote's score that further quotes need."""

_SAME: Final = 0.7
"""Share of the terms of the shorter of two sentences from which one of them is enough."""

_LONG: Final = 60
"""Estimated tokens from which a sentence is cut to the clauses that answer."""

_CLAUSE: Final = 24
"""Smallest stretch of clauses, in estimated tokens, that can be read alone."""

_BREVITY: Final = 0.5
"""What the share of a sentence that a stretch of its clauses takes counts against it."""

_HOLDING: Final = 0.3
"""What it counts for a stretch that it holds the kind of thing asked for."""

_MOST_CLAUSES: Final = 4
"""Longest stretch of clauses, if not the whole sentence."""


def quotes(question: str, question_vector: Array | None, passages: Sequence[Passage], *, limit: int = 3) -> list[Quote]:
    """Select the stretches of text that answer a question.

    Args:
        question: The question.
        question_vector: Its L2-normalised vector, or None where there is none.
        passages: Where to look.
        limit: How many quotes at most.

    Returns:
        Quotes, the best first, none that repeats another; none at all when no sentence is relevant enough.
    """
    query = _Query.of(question, question_vector)
    rows = [row for passage in passages for row in _rows(passage)]
    if not query.terms or not rows:
        return []
    judge = _Judge(query, rows)
    scored = sorted(((judge.score(row), row) for row in rows), key=lambda pair: -pair[0])
    least = _AS_GOOD * scored[0][0]
    chosen: list[tuple[float, _Row]] = []
    for score, row in scored:
        if len(chosen) >= limit or score <= 0 or score < least:
            break
        if not any(_repeats(row, other) for _, other in chosen):
            chosen.append((score, row))
    return [judge.quote(score, row) for score, row in chosen]


# ---------------------------------------------------------------------------------------------------------- question


def _asking(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_ASKED: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    (
        "date",
        _asking(
            r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|time|century|decade)\b",
            r"何时|什么时候|什么时间|哪一?年|哪一?[天日]|几[年月]|什么年代",
        ),
    ),
    (
        "number",
        _asking(
            r"\bhow (?:many|much|old|long|tall|far|big|large|high|often|deep|fast|heavy)\b",
            r"\bwhat (?:percentage|number|amount|price|population)\b|多少|多大|多长|多高|多远|多久|几",
        ),
    ),
    (
        "place",
        _asking(
            r"\bwhere\b|\b(?:what|which) (?:city|country|place|state|town|village|county|province|continent|region)\b",
            r"哪里|哪儿|何处|何地|什么地方|哪[一个座]*(?:国家|城市|省|市|县|地区|地方|国)",
        ),
    ),
    ("name", _asking(r"\bwho(?:m|se)?\b|谁|哪位|何人|什么人|哪一?个人")),
)
_QUESTION_WORDS: Final = re.compile(
    r"什么时候|什么时间|什么地方|什么样|什么|为什么|为何|何时|何处|何地|何人|谁|多少|多大|多长|多高|多远|多久|怎么样|怎么|怎样|如何|"
    r"哪里|哪儿|哪[一]?[年天个些位家座种部场]|哪|几|吗|呢|是否|请问|分别|的|了|是|在|有"
)
_ENGLISH_QUESTION_WORDS: Final = frozenset(
    tokenize("many much name kind type sort happen tell describe mention year date")
)


@dataclass(frozen=True)
class _Query:
    """A question: its terms, the kind of thing it asks for, whom it names, whether it is Chinese, its vector."""

    terms: tuple[str, ...]
    kind: Kind
    names: frozenset[str]
    chinese: bool
    vector: Array | None

    @classmethod
    def of(cls, question: str, vector: Array | None) -> "_Query":
        asked_for: list[Kind] = [kind for kind, pattern in _ASKED if pattern.search(question)]
        kind: Kind = asked_for[0] if asked_for else "any"
        terms = dict.fromkeys(tokenize(_QUESTION_WORDS.sub(" ", question)))
        telling = [term for term in terms if term not in _ENGLISH_QUESTION_WORDS]
        names = frozenset(term for name in sorted(names_and_numbers(question)) for term in tokenize(name))
        return cls(tuple(telling or terms), kind, names, is_cjk(question), _known(vector))


# --------------------------------------------------------------------------------------------------------- sentences

_SPEAKER: Final = re.compile(r"\s*(?:[\[(][^\[\]()\n]{1,40}[\])]\s*)?([^\W\d_][\w.'’ -]{0,30}?)[:：]\s")
_ENDS_ASKING: Final = re.compile(r"[?？][\"'”’)\]）」』\s]*\Z")


@dataclass(frozen=True, eq=False)
class _Row:
    """A sentence of a passage, with all that is needed to judge it."""

    passage: Passage
    span: Span
    terms: frozenset[str]
    around: frozenset[str]
    speaker: frozenset[str]
    vector: Array | None

    @property
    def text(self) -> str:
        return self.passage.text[self.span[0] : self.span[1]]


def _rows(passage: Passage) -> list[_Row]:
    texts = [passage.text[start:end] for start, end in passage.sentences]
    terms = [frozenset(tokenize(text)) for text in texts]
    turns = _turns(passage)
    around = _said_around(turns, terms, [_ENDS_ASKING.search(text) is not None for text in texts])
    return [
        _Row(passage, span, terms[order], around[order], turns[order][1], _vector(passage, order))
        for order, span in enumerate(passage.sentences)
        if texts[order].strip()
    ]


def _vector(passage: Passage, order: int) -> Array | None:
    return None if passage.vectors is None else _known(passage.vectors[order])


def _known(vector: Array | None) -> Array | None:
    """A vector, unless it is all zeros, which is how those come that could not be made."""
    return vector if vector is not None and bool(np.any(vector)) else None


def _turns(passage: Passage) -> list[tuple[int, frozenset[str]]]:
    """For each sentence: which turn of a dialogue it is in, and the terms of its speaker's name; prose is one turn."""
    turns: list[tuple[int, frozenset[str]]] = []
    number, speaker = 0, frozenset[str]()
    for start, end in passage.sentences:
        said = _SPEAKER.match(passage.text, start, end)
        if said and (start == 0 or passage.text[start - 1] == "\n"):
            number, speaker = number + 1, frozenset(tokenize(said[1]))
        turns.append((number, speaker))
    return turns


def _said_around(
    turns: Sequence[tuple[int, frozenset[str]]], terms: Sequence[frozenset[str]], asks: Sequence[bool]
) -> list[frozenset[str]]:
    """For each sentence: the terms of its passage; in a dialogue, of its speaker and of what was asked just before."""
    said: dict[frozenset[str], frozenset[str]] = {}
    asked: dict[int, frozenset[str]] = {}
    for (turn, speaker), own, asking in zip(turns, terms, asks, strict=True):
        said[speaker] = said.get(speaker, frozenset()) | own
        if asking:
            asked[turn + 1] = asked.get(turn + 1, frozenset()) | own
    return [said[speaker] | asked.get(turn, frozenset()) for turn, speaker in turns]


def _repeats(row: _Row, other: _Row) -> bool:
    """Whether two sentences say the same; with other numbers they do not, however alike they are worded."""
    shorter = min(len(row.terms), len(other.terms))
    if _numbers(row) - _numbers(other) and _numbers(other) - _numbers(row):
        return False
    return shorter > 0 and len(row.terms & other.terms) >= _SAME * shorter


def _numbers(row: _Row) -> set[str]:
    return {term for term in row.terms if any(map(str.isdigit, term))}


# ----------------------------------------------------------------------------------------------------------- judging


class _Judge:
    """Scores sentences for one question, rarity being what it is among the sentences at hand."""

    def __init__(self, query: _Query, rows: Sequence[_Row]) -> None:
        self._query = query
        speakers = frozenset(term for row in rows for term in row.speaker)
        self._asked_about = query.names & speakers
        terms = [term for term in query.terms if term not in self._asked_about] or query.terms
        frequency = Counter(term for row in rows for term in row.terms)
        vocabulary = _by_head(frequency)
        self._forms = {term: _forms(term, vocabulary) for term in terms}
        self._weights = {
            term: math.log(1 + len(rows) / max(0.5, sum(frequency[form] for form in self._forms[term])))
            for term in terms
        }
        self._known = frozenset(form for forms in self._forms.values() for form in forms) | query.names
        self._total = math.fsum(self._weights.values())

    def score(self, row: _Row) -> float:
        """How well a sentence answers: 0 not at all, about 1 when it says all that the question does."""
        fits = _holds(self._query.kind, row.text, self._query.names)
        asking = _ASKING if _ENDS_ASKING.search(row.text) else 1.0
        relevance = self._relevance(row) * self._said_by(row) * self._news(row, fits) * asking
        relevance *= _FITTING if fits else 1.0
        return relevance + _FOUND * row.passage.score if relevance >= _RELEVANT else 0.0

    def _relevance(self, row: _Row) -> float:
        words = math.fsum(self._credit(term, row) * weight for term, weight in self._weights.items()) / self._total
        if row.vector is None or self._query.vector is None:
            return words
        cosine = max(0.0, float(row.vector @ self._query.vector))
        meaning = _MEANING_CHINESE if self._query.chinese else _MEANING
        return (1 - meaning) * words + meaning * cosine

    def _credit(self, term: str, row: _Row) -> float:
        """What a term of the question counts for a sentence: 1 inside it, less where it only stands around it."""
        forms = self._forms[term]
        if not row.terms.isdisjoint(forms):
            return 1.0
        around = _NAME_AROUND if term in self._query.names else _AROUND
        return around if not row.around.isdisjoint(forms) else 0.0

    def _coverage(self, terms: frozenset[str]) -> float:
        """The weighted share of the question's terms that stand in a set of terms, in one form or another."""
        found = (weight for term, weight in self._weights.items() if not terms.isdisjoint(self._forms[term]))
        return math.fsum(found) / self._total

    def _said_by(self, row: _Row) -> float:
        if not self._asked_about or not row.speaker or not self._asked_about.isdisjoint(row.speaker):
            return 1.0
        return _OTHER_SPEAKER

    def _news(self, row: _Row, fits: bool) -> float:
        """How far a sentence says more than the question: what is asked for, or words beside its speaker's name."""
        if fits:
            return 1.0
        numbers = {term for term in self._query.terms if any(map(str.isdigit, term))}
        if numbers and numbers | self._query.names <= row.terms:  # the very row of a table that is asked about
            return 1.0
        own = sum(1 for term in row.terms if term not in self._known and term not in row.speaker)
        return min(1.0, own / _NEWS)

    def quote(self, score: float, row: _Row) -> Quote:
        """The sentence, or of a long one the clauses that answer, without white space around it."""
        start, end = self._narrowed(row)
        text = row.passage.text[start:end]
        start += len(text) - len(text.lstrip())
        return Quote(row.passage.id, start, start + len(text.strip().rstrip(_TRAILING)), score)

    def _narrowed(self, row: _Row) -> Span:
        """The clauses of a long sentence that hold most of the question, and what it asks for, in few words."""
        size = estimate_tokens(row.text)
        if size <= _LONG:
            return row.span
        clauses = _clauses(row.passage.text, row.span)
        stretches = [(first[0], last[1]) for i, first in enumerate(clauses) for last in clauses[i : i + _MOST_CLAUSES]]
        return max([row.span, *stretches], key=lambda stretch: self._density(row.passage.text[slice(*stretch)], size))

    def _density(self, text: str, whole: int) -> float:
        size = estimate_tokens(text)
        if size < _CLAUSE:
            return -1.0
        fitting = _HOLDING if _holds(self._query.kind, text, self._query.names) else 0.0
        return self._coverage(frozenset(tokenize(text))) + fitting - _BREVITY * size / whole


_TRAILING: Final = " ,;:-–—，；：、"
_CLAUSE_END: Final = re.compile(r"[,;:](?=\s)|[，；：]|\s[-–—]+\s|——|(?<=\w)\s*(?=[(（])|\n")


def _clauses(text: str, span: Span) -> list[Span]:
    borders = [span[0], *(mark.end() for mark in _CLAUSE_END.finditer(text, *span)), span[1]]
    return [(low, high) for low, high in pairwise(borders) if text[low:high].strip()]


def _by_head(terms: Iterable[str]) -> dict[str, list[str]]:
    """Terms by their first letters, among which other forms of a word are looked for."""
    heads: dict[str, list[str]] = {}
    for term in terms:
        heads.setdefault(term[:4], []).append(term)
    return heads


def _forms(term: str, vocabulary: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """The term itself and those of the vocabulary that look like forms of the same word: `decis` and `decid` do."""
    irregular = _IRREGULAR.get(term, (term,))
    if len(term) < 5 or not term.isascii() or not term.isalpha():
        return frozenset(irregular)
    alike = (other for other in vocabulary.get(term[:4], ()) if _one_word(term, other))
    return frozenset((*irregular, *alike))


_IRREGULAR_VERBS: Final = """
    beat beaten|become became|begin began begun|bend bent|bite bit bitten|blow blew blown|break broke broken|bring
    brought| build built|buy bought|catch caught|choose chose chosen|come came|deal dealt|dig dug|draw drew
    drawn|drink drank drunk| drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find
    found|flee fled|fly flew flown| forget forgot forgotten|freeze froze frozen|get got gotten|give gave given|go
    went gone|grow grew grown|hear heard| hide hid hidden|hold held|keep kept|know knew known|lead led|leave
    left|lend lent|lose lost|make made|meet met|pay paid| ride rode ridden|ring rang rung|rise rose risen|run
    ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook| shoot shot|show shown|sing sang sung|sink
    sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent|stand stood| steal stole stolen|strike struck|swim
    swam swum|take took taken|teach taught|tell told|think thought|throw threw thrown| wake woke woken|wear wore
    worn|win won|write wrote written
"""
_IRREGULAR: Final = {
    form: forms
    for row in _IRREGULAR_VERBS.split("|")
    for forms in (tuple(term for word in row.split() for term in tokenize(word)),)
    for form in forms
}


def _one_word(a: str, b: str) -> bool:
    shared = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return shared >= 4 and shared >= min(len(a), len(b)) - 1 and max(len(a), len(b)) - shared <= 4


# ------------------------------------------------------------------------------------------------- what is asked for

_DATE: Final = re.compile(
    r"\b(?:1\d|20)\d\d\b|\b(?:jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|\bmay\b(?= \d)|"
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|"
    r"\b(?:yesterday|today|tomorrow|tonight|ago|last|next|weekend|century|decade|recently|morning|evening)\b|"
    r"[0-9〇零一二三四五六七八九十] ?[年月日号]|[昨今明前后去]天|[去今明前]年|世纪|年代|时期|[上下]个?[周月]",
    re.I,
)
_NUMBER: Final = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|hundred|thousand|million|"
    r"once|twice|several|few|couple|dozen|half)\b|[一二两三四五六七八九十百千万亿]",
    re.I,
)
_PLACE: Final = re.compile(r"\b(?:in|at|from|to|near|of) (?:the )?[A-Z]|[省市县区国州镇村岛山湖河港湾路街]|位于")
_CHINESE_NAME: Final = re.compile(r"[\u3400-\u9fff]{1,4}·[\u3400-\u9fff]{1,4}|《|[A-Z]")


@lru_cache(maxsize=4096)
def _holds(kind: Kind, text: str, asked: frozenset[str]) -> bool:
    """Whether a text holds something of the kind asked for that the question does not already name."""
    if kind == "date":
        return _DATE.search(text) is not None
    if kind == "number":
        return _NUMBER.search(text) is not None
    if kind == "place":
        return _PLACE.search(text) is not None
    if kind == "name":
        numbers = {number for number, _ in numbers_with_offsets(text)}
        return any(asked.isdisjoint(tokenize(name)) for name in names_and_numbers(text) - numbers)
    return False
