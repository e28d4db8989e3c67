"""The short offline answer: the stretch of the passages that answers a question, beside the sentence it stands in.

A question that lets choose (A or B, yes or no) is decided by what is told of both (`choices`). For any other question
all stretches between two joints of the likeliest sentences compete: phrases, names, dates, numbers, clauses. Each has a
score that is linear in a few traits of its sentence (which words of the question it holds, how well its passage was
found) and of its own (how near those words are, how long it is, whether it is the kind of thing asked for).

The weights were learnt once: those under which the token F1 of the stretch drawn by softmax over scores is greatest,
by gradient ascent on the development halves of LoCoMo and multihop for English, of CMRC for Chinese, with a penalty on
their squares. Weights learnt on every other question did as well on the rest of them.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from agentic_memory_bank.engines.extractive.answering.choices import BORN, DIED, choose, life, subject
from agentic_memory_bank.engines.extractive.answering.stretches import UNIT, QuestionTerms, Traits, Units
from agentic_memory_bank.engines.extractive.reading.countries import is_country
from agentic_memory_bank.engines.extractive.reading.dates import day_of, moments, written
from agentic_memory_bank.engines.extractive.reading.questions import Question
from agentic_memory_bank.engines.extractive.reading.values import values_of
from agentic_memory_bank.engines.research import Excerpt, PageQuote
from agentic_memory_bank.tools.text.sentences import QUESTION_END, sentences
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """An answer in words of the passages, or of the calendar, and the sentences it rests on, at least one."""

    text: str
    quotes: tuple[PageQuote, ...]
    is_choice: bool = False
    """Whether it is one of what the question lets choose from, or yes or no."""


_SENTENCES: Final = 12
"""In how many of the likeliest sentences stretches are looked for."""
_RELEVANT: Final = 0.15
"""Share of what the question says that a sentence, its passage and its title must hold to answer it."""
_LONGEST: Final = {False: 16, True: 40}
"""Longest stretch that is not a whole sentence: words of English, characters of Chinese."""
_FIRST: Final = 3
"""How many of the best passages lead on to what they name, besides those about what the question names."""
_LEADING: Final = 60.0
"""Distance from a word of the question, in characters, at which a name leads on a third as well as beside it."""
_LESS_LEADING: Final = 0.6
"""How much less a passage leads on that is only found, and not about what the question names."""
_SHORTEST_NAME: Final = 4
"""Fewest characters of a name that leads on."""


def short_answer(question: str, passages: Sequence[Excerpt]) -> ShortAnswer | None:
    """Answer a question as briefly as the passages do.

    Args:
        question: The question, English or Chinese.
        passages: Where to look, the best first.

    Returns:
        The answer with its quotes; None when nothing in the passages fits the question.
    """
    choice = choose(question, passages)
    if choice:
        return ShortAnswer(choice.text, tuple(PageQuote(*found) for found in choice.rests_on), True)
    stretches = _Reader(Question.of(question), passages).stretches()
    best = max(stretches, key=lambda stretch: stretch.score, default=None)
    return ShortAnswer(best.text, (best.quote,)) if best else None


# --------------------------------------------------------------------------------------------------------- sentences

_SPEAKER: Final = re.compile(r"\s*(?:[\[(][^\[\]()\n]{1,40}[\])]\s*)?([^\W\d_][\w.'’ -]{0,30}?)[:：]\s")


@dataclass(frozen=True, eq=False)
class _Row:
    """A sentence: where it stands, the index terms of it and of its passage, and who speaks."""

    passage: int
    span: Span
    text: str
    around: frozenset[str]
    speaker: frozenset[str]

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(tokenize(self.text))

    @cached_property
    def is_asking(self) -> bool:
        return QUESTION_END.search(self.text) is not None


def _rows(number: int, passage: Excerpt) -> Iterator[_Row]:
    around = frozenset(tokenize(f"{passage.title}\n{passage.text}"))
    speaker = frozenset[str]()
    for start, end in sentences(passage.text):
        said = _SPEAKER.match(passage.text, start, end)
        if said and (start == 0 or passage.text[start - 1] == "\n"):
            speaker, start = frozenset(tokenize(said[1])), said.end()
        text = passage.text[start:end]
        start += len(text) - len(text.lstrip())
        if text.strip():
            yield _Row(number, (start, start + len(text.strip())), text.strip(), around, speaker)


# ----------------------------------------------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A candidate: its words, the sentence it stands in, and its score."""

    text: str
    quote: PageQuote
    score: float


class _Reader:
    """Reads passages for one question."""

    def __init__(self, question: Question, passages: Sequence[Excerpt]) -> None:
        self._question, self._passages = question, passages
        self._rows = [row for number, passage in enumerate(passages) for row in _rows(number, passage)]
        speakers = frozenset(term for row in self._rows for term in row.speaker)
        self._asked_about = question.names & speakers
        said = [term for term in question.terms if term not in self._asked_about] or question.terms
        self._terms = QuestionTerms(said, [row.terms for row in self._rows])
        self._best = max((passage.score for passage in passages), default=0.0) or 1.0
        self._subjects = [subject(passage).lower() for passage in passages]
        asked = question.text.lower()
        self._named = [len(name) >= _SHORTEST_NAME and name in asked for name in self._subjects]
        self._led = {number: self._lead(number) for number in range(len(passages))}
        self._weights = _WEIGHTS_CHINESE if question.chinese else _WEIGHTS

    def stretches(self) -> Iterator[_Stretch]:
        """The best candidates of each sentence, with their scores."""
        for row, traits, texts in self.candidates():
            scores = sum((self._weights.get(name, 0.0) * values for name, values in traits.items()), np.zeros(1))
            best = int(np.argmax(scores))
            yield _Stretch(texts[best], PageQuote(row.passage, row.span), float(scores[best]))

    def candidates(self) -> Iterator[tuple[_Row, Traits, list[str]]]:
        """For each of the likeliest sentences its candidates: their texts, and what counts for and against each."""
        judged = [(self._of_sentence(row), row) for row in self._rows]
        judged.sort(key=lambda pair: -math.fsum(_PRIOR.get(name, 0.0) * value for name, value in pair[0].items()))
        for common, row in judged[:_SENTENCES]:
            if common["led to"] or self._terms.share(row.terms | row.around) >= _RELEVANT:
                for traits, texts in (self._stretches(row), self._times(row)):
                    if texts:
                        same = {name: np.full(len(texts), value) for name, value in common.items()}
                        yield row, {**same, **traits}, texts

    def _of_sentence(self, row: _Row) -> dict[str, float]:
        """What counts for and against all stretches of a sentence."""
        said = self._terms.share(row.terms)
        leading, rest = self._led[row.passage]
        spoken_by_other = bool(self._asked_about and row.speaker) and self._asked_about.isdisjoint(row.speaker)
        return {
            "says": said,
            "around": self._terms.share(row.terms | row.around) - said,
            "found": self._passages[row.passage].score / self._best,
            "first": 1 / (1 + row.passage),
            "asks": float(row.is_asking),
            "other speaker": float(spoken_by_other),
            "named": float(self._named[row.passage]),
            "led to": leading,
            "says the rest": self._terms.share(row.terms, rest) if leading else 0.0,
        }

    def _lead(self, number: int) -> tuple[float, list[str]]:
        """How well another passage leads on to this one, and what of the question that one is not about.

        It does by naming what this one is about, the better the nearer to a word of the question: "directed by".
        """
        name = self._subjects[number]
        best: tuple[float, list[str]] = (0.0, [])
        if len(name) < _SHORTEST_NAME or self._named[number]:
            return best
        for other, passage in enumerate(self._passages):
            at = passage.text.lower().find(name) if self._named[other] or other < _FIRST else -1
            if at >= 0 and other != number:
                about = frozenset(tokenize(self._subjects[other]))
                rest = [term for term in self._terms.weights if term not in about]
                leading = self._nearness(passage.text, (at, at + len(name)), rest)
                best = max(best, (leading * (1.0 if self._named[other] else _LESS_LEADING), rest), key=lambda b: b[0])
        return best

    def _nearness(self, text: str, span: Span, rest: Sequence[str]) -> float:
        forms = frozenset(form for term in rest for form in self._terms.forms[term])
        near = text[max(0, span[0] - 4 * int(_LEADING)) : span[1] + 4 * int(_LEADING)]
        offset = max(0, span[0] - 4 * int(_LEADING))
        gaps = [
            abs(offset + unit.start() - span[0])
            for unit in UNIT.finditer(near)
            if not span[0] <= offset + unit.start() < span[1] and not forms.isdisjoint(tokenize(unit[0]))
        ]
        return math.exp(-min(gaps) / _LEADING) if gaps else 0.0

    def _stretches(self, row: _Row) -> tuple[Traits, list[str]]:
        """All stretches of a sentence, each with what counts for and against it."""
        units = Units(row.text, self._terms, self._question)
        first, past = units.pairs(_LONGEST[self._question.chinese])
        spans = [(units.spans[i][0], units.spans[j - 1][1]) for i, j in zip(first, past, strict=True)]
        texts = [row.text[start:end] for start, end in spans]
        if not texts:
            return {}, []
        traits = units.shape(first, past)
        traits.update(units.surroundings(first, past))
        if self._question.chinese:
            traits.update(units.in_place_of_the_question_word(row.text, spans, first, past))
        traits.update(self._kind(row, spans, texts))
        if self._question.group == "place" and not self._question.chinese:
            previous = ["" if i == 0 else units.words[i - 1] for i in first]
            traits["after in"] = np.array([float(word in _PLACING) for word in previous])
        return traits, texts

    def _kind(self, row: _Row, spans: Sequence[Span], texts: Sequence[str]) -> Traits:
        """Whether a stretch is the kind of thing asked for."""
        question, about = self._question, self._subjects[row.passage]
        if question.group in ("when", "number"):
            return self._values(row, spans)
        dates = [(value.start, value.end) for value in values_of(row.text) if value.kind == "date"]
        traits: Traits = {"touches a date": np.array([float(any(a < d and c < b for c, d in dates)) for a, b in spans])}
        if _ASKS_COUNTRY.search(question.text):
            traits["country"] = np.array([float(is_country(text)) for text in texts])
        if question.group == "name" and about:
            traits["subject"] = np.array([float(text.lower() == about) for text in texts])
        return traits

    def _values(self, row: _Row, spans: Sequence[Span]) -> Traits:
        """Whether a stretch holds a date or number as asked for, is one, or starts with one."""
        kind = "date" if self._question.group == "when" else "number"
        known = [(value.start, value.end) for value in values_of(row.text) if value.kind == kind]
        starts, whole = {start for start, _ in known}, set(known)
        traits = {
            "holds a value": np.array([float(any(a <= c and d <= b for c, d in known)) for a, b in spans]),
            "is a value": np.array([float(span in whole) for span in spans]),
            "starts with a value": np.array([float(start in starts) for start, _ in spans]),
        }
        wanted = self._life(row)
        if wanted:
            traits["of that life"] = np.array([float(span == wanted) for span in spans])
        return traits

    def _life(self, row: _Row) -> Span | None:
        """Where a sentence says when whom its passage is about was born, or died, if that is asked."""
        born, died = BORN.search(self._question.text), DIED.search(self._question.text)
        if self._question.group != "when" or not (born or died):
            return None
        birth, death = life(self._passages[row.passage].text)
        value = birth if born else death
        return (value.start - row.span[0], value.end - row.span[0]) if value else None

    def _times(self, row: _Row) -> tuple[Traits, list[str]]:
        """What a sentence says of the time when it was said, and that time itself, where the question asks when."""
        said = day_of(self._passages[row.passage].date) if self._question.group == "when" else None
        if said is None:
            return {}, []
        units = Units(row.text, self._terms, self._question)
        found = list(moments(row.text, said))
        near = [self._near(units, (moment.start, moment.end)) for moment in found]
        texts = [*(moment.calendar for moment in found), written(said, chinese=self._question.chinese)]
        return {
            "near a moment": np.array([*near, 0.0]),
            "moment": np.array([*([1.0] * len(found)), 0.0]),
            "when said": np.array([*([0.0] * len(found)), 1.0]),
        }, texts

    def _near(self, units: Units, span: Span) -> float:
        first = next((i for i, (start, _) in enumerate(units.spans) if start >= span[0]), 0)
        past = next((i for i, (start, _) in enumerate(units.spans) if start >= span[1]), len(units.spans))
        around = units.surroundings(np.array([first]), np.array([past]))
        return float(around["near before"][0] + around["near behind"][0])


_PLACING: Final = frozenset(("in", "at", "from", "to", "near", "on"))
_ASKS_COUNTRY: Final = re.compile(r"countr|nationalit", re.IGNORECASE)


# ----------------------------------------------------------------------------------------------------------- weights

_PRIOR: Final = {
    "says": 1.0,
    "around": 0.6,
    "found": 0.4,
    "asks": -0.5,
    "other speaker": -0.5,
    "led to": 0.3,
    "says the rest": 0.3,
}
"""What a sentence is chosen by."""
_WEIGHTS: Final[Mapping[str, float]] = {
    "says": 1.9,
    "found": 3.0,
    "first": 1.1,
    "asks": -1.3,
    "other speaker": -3.8,
    "led to": 2.7,
    "says the rest": 2.2,
    "covered": 0.8,
    "repeated": -2.2,
    "head": 1.2,
    "starts plain": -2.8,
    "ends plain": -2.5,
    "ends a clause": 0.8,
    "near before": 2.6,
    "near behind": -0.6,
    "holds a value": 1.7,
    "is a value": 2.5,
    "starts with a value": 2.0,
    "near a moment": 1.7,
    "moment": 6.1,
    "when said": 2.9,
    "touches a date": -2.1,
    "after in": 2.4,
    "subject": 0.4,
    "country": 3.4,
    "of that life": 2.7,
    "length when": 0.2,
    "length squared when": -0.7,
    "length what": 2.2,
    "length squared what": -0.2,
    "capital what": 2.0,
    "length number": 0.4,
    "length squared number": -0.9,
    "length place": 0.6,
    "length squared place": -0.8,
    "capital place": 2.8,
    "length name": 2.9,
    "length squared name": -1.4,
    "capital name": 4.6,
    "length reason": 0.5,
    "length squared reason": 0.7,
}
"""What an English stretch is chosen by."""
_WEIGHTS_CHINESE: Final[Mapping[str, float]] = {
    "says": 5.5,
    "found": 1.8,
    "first": 2.5,
    "repeated": -1.2,
    "starts plain": -1.1,
    "ends plain": -1.3,
    "ends a clause": 1.9,
    "near before": 3.2,
    "near behind": 0.9,
    "same before": 2.9,
    "same behind": 0.9,
    "ends as asked": 3.7,
    "holds what is asked": 1.3,
    "quoted": 0.9,
    "after is": 1.4,
    "after in": 1.6,
    "after of": -0.5,
    "touches a date": -1.6,
    "is a value": 1.5,
    "starts with a value": 2.5,
    "length what": 0.9,
    "length squared what": -0.2,
    "length name": 1.1,
    "length squared name": -0.4,
    "length reason": 0.2,
    "length number": 0.2,
    "length squared number": -0.6,
    "length when": 0.2,
    "length squared when": -0.3,
    "length place": 0.9,
    "length squared place": -0.2,
}
"""What a Chinese stretch is chosen by."""
