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
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.engines.extractive.answering.choices import BORN, DIED, choose, life, subject
from agentic_memory_bank.engines.extractive.answering.relevance import is_same_word
from agentic_memory_bank.engines.extractive.reading.countries import is_country
from agentic_memory_bank.engines.extractive.reading.dates import day_of, moments, written
from agentic_memory_bank.engines.extractive.reading.questions import RELATED, Question
from agentic_memory_bank.engines.extractive.reading.values import values_of
from agentic_memory_bank.engines.research import Excerpt, PageQuote
from agentic_memory_bank.tools.text.sentences import QUESTION_END, sentences
from agentic_memory_bank.tools.text.terms import STOP_WORDS, tokenize

Span = tuple[int, int]
Numbers = NDArray[np.float64]
Traits = dict[str, Numbers]


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
_MOST_UNITS: Final = 160
"""Words of a sentence, or characters, that are read: what is longer is no sentence, and has too many stretches."""
_DECAY: Final = {False: 0.3, True: 0.15}
"""By how much each word, or character, between a stretch and a word of the question makes that word count less."""
_FIRST: Final = 3
"""How many of the best passages lead on to what they name, besides those about what the question names."""
_LEADING: Final = 60.0
"""Distance from a word of the question, in characters, at which a name leads on a third as well as beside it."""
_LESS_LEADING: Final = 0.6
"""How much less a passage leads on that is only found, and not about what the question names."""
_SHORTEST_NAME: Final = 4
"""Fewest characters of a name that leads on."""
_CONTEXT: Final = 4
"""How many characters beside the question word are compared with those beside a stretch."""


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


# ------------------------------------------------------------------------------------------------------------- terms


class _Terms:
    """What a question says, each term with its weight: the rarer among the sentences at hand, the more it counts."""

    def __init__(self, terms: Sequence[str], rows: Sequence[_Row]) -> None:
        frequency = Counter(term for row in rows for term in row.terms)
        heads: dict[str, list[str]] = {}
        for term in frequency:
            heads.setdefault(term[:4], []).append(term)
        self.forms = {term: _forms(term, heads) for term in terms}
        self.weights = {
            term: math.log(1 + len(rows) / max(0.5, sum(frequency[form] for form in forms)))
            for term, forms in self.forms.items()
        }
        self.total = math.fsum(self.weights.values()) or 1.0
        self._of_form: dict[str, float] = {}
        for term, forms in self.forms.items():
            for form in forms:
                self._of_form[form] = max(self._of_form.get(form, 0.0), self.weights[term])

    def share(self, found: frozenset[str], of: Iterable[str] | None = None) -> float:
        """The weighted share of the terms, or of some of them, that stand among others in one form or another."""
        terms = list(self.weights if of is None else of)
        whole = math.fsum(self.weights[term] for term in terms)
        there = math.fsum(self.weights[term] for term in terms if not found.isdisjoint(self.forms[term]))
        return there / whole if whole else 0.0

    def weight(self, terms: Iterable[str]) -> float:
        """The greatest share that one of some terms has in what the question says."""
        return max((self._of_form.get(term, 0.0) for term in terms), default=0.0) / self.total


def _forms(term: str, heads: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """A term, what says the same of it, and what looks like a form of the same word."""
    related = RELATED.get(term, frozenset[str]())
    if len(term) < 5 or not term.isascii() or not term.isalpha():
        return related | {term}
    alike = (other for other in heads.get(term[:4], ()) if is_same_word(term, other))
    return related.union((term,), alike)


# ------------------------------------------------------------------------------------------------------------- units

_HAN: Final = "\u3400-\u9fff\uf900-\ufaff"
_UNIT: Final = re.compile(f"[{_HAN}]|[$€£¥#]?[^\\W_{_HAN}]+(?:[-'’.,&/:][^\\W_{_HAN}]+)*[%°+]?")
_MARK: Final = re.compile(r"[^\w\s'’-]")
_PAST: Final = re.compile(r".{2,}(?:ed|ing)$")
_CHINESE_FUNCTION: Final = frozenset(
    "的了是在为于由和与及以被把将至到从有叫也而并但其之等或则就都所该此这那他她它们我你后前中时即又曾"
)
_CHINESE_COPULAS: Final = frozenset("是为叫即")
_CHINESE_PREPOSITIONS: Final = frozenset("在于由以被从至到")
_CHINESE_NUMERALS: Final = frozenset("零一二三四五六七八九十百千万亿两几")
_NOUN: Final = 2
"""Of how many characters the noun behind a Chinese question word is taken to be."""
_QUOTING: Final = "《「“"


class _Units:
    """The words of an English sentence, or the characters of a Chinese one, and where a stretch may begin and end.

    Attributes:
        spans: Where each stands.
        words: Each of them in lower case.
        covered: The share of what the question says that each of them repeats.
        plain: Whether it is a function word.
        capital: Whether it is written as a name.
        marked: For each border whether punctuation, or an end of the sentence, is there.
        joints: The borders at which a stretch may begin or end, in order.
    """

    def __init__(self, text: str, terms: _Terms, question: Question) -> None:
        self.spans = [found.span() for found in islice(_UNIT.finditer(text), _MOST_UNITS)]
        self.written = [text[start:end] for start, end in self.spans]
        self.words = [word.lower() for word in self.written]
        chinese = question.chinese
        own = [tokenize(word) for word in self.written]
        self.covered = _covered_pairs(text, self.spans, terms) if chinese else [terms.weight(some) for some in own]
        self.plain = [
            word in _CHINESE_FUNCTION and not covered if chinese else word in STOP_WORDS or not some
            for word, some, covered in zip(self.words, own, self.covered, strict=True)
        ]
        # The first word of a sentence is written as a name only before another one.
        big = [word[:1].isupper() for word in self.written]
        self.capital = [upper and (i > 0 or big[1:2] == [True]) for i, upper in enumerate(big)]
        self.headed = [not question.head.isdisjoint(some) for some in own]
        inner = [_MARK.search(text, a[1], b[0]) is not None for a, b in pairwise(self.spans)]
        self.marked = [True, *inner, True] if self.spans else [True]
        noun = question.after[:_NOUN] if chinese and len(question.after) >= _NOUN else ""
        self._nouns = {found.end() for found in re.finditer(re.escape(noun), text)} if noun else set[int]()
        self.joints = [i for i in range(len(self.spans) + 1) if self._is_joint(i, chinese)]

    def _is_joint(self, i: int, chinese: bool) -> bool:
        if self.marked[i] or self.plain[i] != self.plain[i - 1]:
            return True
        if (self.covered[i] > 0) != (self.covered[i - 1] > 0) or self._is_figure(i) != self._is_figure(i - 1):
            return True
        if chinese:
            return self.spans[i - 1][1] in self._nouns
        return self.plain[i] or self.capital[i] != self.capital[i - 1] or _PAST.match(self.words[i - 1]) is not None

    def _is_figure(self, i: int) -> bool:
        return self.words[i][0] in "$€£" or self.words[i][0].isdigit() or self.words[i] in _CHINESE_NUMERALS

    def pairs(self, longest: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first units of all stretches, and the units past their last."""
        found = [
            (first, past)
            for place, first in enumerate(self.joints)
            for past in self._pasts(place, first, longest)
            if not all(self.plain[first:past])
        ]
        both = np.array(found, np.intp).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def _pasts(self, place: int, first: int, longest: int) -> Iterator[int]:
        """The joints at which a stretch may end that begins at one of them: near enough, or it is the whole."""
        whole = len(self.spans)
        yield from self.joints[place + 1 : bisect_right(self.joints, first + longest)]
        if not first and whole > longest:
            yield whole


def _covered_pairs(text: str, spans: Sequence[Span], terms: _Terms) -> list[float]:
    """Of each Chinese character what the pairs weigh that it is part of, of each word what it weighs itself."""
    covered = [
        terms.weight(tokenize(text[start:end])) if end - start > 1 or text[start].isascii() else 0.0
        for start, end in spans
    ]
    for i, ((start, end), (following, past)) in enumerate(pairwise(spans)):
        if end - start == past - following == 1 and end == following:
            weight = terms.weight((text[start:past],))
            covered[i], covered[i + 1] = max(covered[i], weight), max(covered[i + 1], weight)
    return covered


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
        self._terms = _Terms(said, self._rows)
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
            for unit in _UNIT.finditer(near)
            if not span[0] <= offset + unit.start() < span[1] and not forms.isdisjoint(tokenize(unit[0]))
        ]
        return math.exp(-min(gaps) / _LEADING) if gaps else 0.0

    def _stretches(self, row: _Row) -> tuple[Traits, list[str]]:
        """All stretches of a sentence, each with what counts for and against it."""
        units = _Units(row.text, self._terms, self._question)
        first, past = units.pairs(_LONGEST[self._question.chinese])
        spans = [(units.spans[i][0], units.spans[j - 1][1]) for i, j in zip(first, past, strict=True)]
        texts = [row.text[start:end] for start, end in spans]
        if not texts:
            return {}, []
        traits = self._shape(units, first, past)
        traits.update(self._surroundings(units, first, past))
        if self._question.chinese:
            traits.update(self._in_place_of_the_question_word(row.text, spans, units, first, past))
        traits.update(self._kind(row, spans, texts))
        if self._question.group == "place" and not self._question.chinese:
            previous = ["" if i == 0 else units.words[i - 1] for i in first]
            traits["after in"] = np.array([float(word in _PLACING) for word in previous])
        return traits, texts

    def _shape(self, units: _Units, first: NDArray[np.intp], past: NDArray[np.intp]) -> Traits:
        """Length, borders, capitals, and what a stretch repeats of the question."""
        group, count = self._question.group, past - first
        plain, capital = np.array(units.plain), np.array(units.capital)
        covered = np.array(units.covered)
        sums = {
            name: np.concatenate([[0.0], np.cumsum(values)])
            for name, values in (
                ("covered", covered),
                ("repeated", (covered > 0) & ~np.array(units.headed)),
                ("telling", ~plain),
                ("capital", capital & ~plain),
                ("marked", [*units.marked[1:-1], False]),
            )
        }
        within = {name: total[past] - total[first] for name, total in sums.items()}
        length = np.log(count)
        head = np.concatenate([[0.0], np.cumsum(units.headed)])
        return {
            f"length {group}": length,
            f"length squared {group}": length**2,
            f"capital {group}": (within["capital"] == within["telling"]).astype(float),
            "covered": within["covered"],
            "repeated": within["repeated"] / count,
            "head": (head[past] > head[first]).astype(float),
            "starts plain": plain[first].astype(float),
            "ends plain": plain[past - 1].astype(float),
            "ends a clause": np.array(units.marked)[past].astype(float),
            "holds borders": sums["marked"][past - 1] - sums["marked"][first],
        }

    def _surroundings(self, units: _Units, first: NDArray[np.intp], past: NDArray[np.intp]) -> Traits:
        """How much of the question stands before and behind a stretch, the nearer the more."""
        fading = math.exp(-_DECAY[self._question.chinese])
        before, behind = [0.0], [0.0]
        for weight in units.covered:
            before.append(before[-1] * fading + weight)
        for weight in reversed(units.covered):
            behind.append(behind[-1] * fading + weight)
        return {"near before": np.array(before)[first], "near behind": np.array(behind[::-1])[past]}

    def _in_place_of_the_question_word(
        self, text: str, spans: Sequence[Span], units: _Units, first: NDArray[np.intp], past: NDArray[np.intp]
    ) -> Traits:
        """Whether a Chinese stretch stands where the question has its question word, with the same beside it."""
        before, after = self._question.before, self._question.after
        head = after[:_CONTEXT]
        starts = [start for start, _ in units.spans]
        previous = ["", *units.words[:-1]]
        ends = {(end, min(end - start, _CONTEXT)) for start, end in spans}
        same_behind = {(end, size): _same_behind(after, text, (end - size, end)) for end, size in ends}
        return {
            "same before": np.array([_shared_end(before, text[max(0, a - _CONTEXT) : a]) for a in starts])[first],
            "same behind": np.array([same_behind[end, min(end - start, _CONTEXT)] for start, end in spans]),
            "ends as asked": np.array([float(text[end - 1] in head) for _, end in units.spans])[past - 1],
            "holds what is asked": np.array([float(bool(head) and head[:_NOUN] in text[a:b]) for a, b in spans]),
            "quoted": np.array([float(text[max(0, a - 1)] in _QUOTING or text[a] in _QUOTING) for a in starts])[first],
            "after is": np.array([float(word in _CHINESE_COPULAS) for word in previous])[first],
            "after in": np.array([float(word in _CHINESE_PREPOSITIONS) for word in previous])[first],
            "after of": np.array([float(word == "的") for word in previous])[first],
        }

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
        units = _Units(row.text, self._terms, self._question)
        found = list(moments(row.text, said))
        near = [self._near(units, (moment.start, moment.end)) for moment in found]
        texts = [*(moment.calendar for moment in found), written(said, chinese=self._question.chinese)]
        return {
            "near a moment": np.array([*near, 0.0]),
            "moment": np.array([*([1.0] * len(found)), 0.0]),
            "when said": np.array([*([0.0] * len(found)), 1.0]),
        }, texts

    def _near(self, units: _Units, span: Span) -> float:
        first = next((i for i, (start, _) in enumerate(units.spans) if start >= span[0]), 0)
        past = next((i for i, (start, _) in enumerate(units.spans) if start >= span[1]), len(units.spans))
        around = self._surroundings(units, np.array([first]), np.array([past]))
        return float(around["near before"][0] + around["near behind"][0])


_PLACING: Final = frozenset(("in", "at", "from", "to", "near", "on"))
_ASKS_COUNTRY: Final = re.compile(r"countr|nationalit", re.IGNORECASE)


def _same_behind(after: str, text: str, span: Span) -> float:
    """How alike is what follows a stretch and the question word, without the noun that the stretch may end with.

    After "which company runs" comes "runs", where the stretch is the name of a company.
    """
    start, end = span
    nouns = [size for size in range(_CONTEXT + 1) if text[start:end].endswith(after[:size])]
    behind = text[end : end + _CONTEXT][::-1]
    return max(_shared_end(after[size : size + _CONTEXT][::-1], behind) for size in nouns)


def _shared_end(a: str, b: str) -> float:
    """The share of the last characters that two texts have in common."""
    count = 0
    while count < min(len(a), len(b), _CONTEXT) and a[-1 - count] == b[-1 - count]:
        count += 1
    return count / _CONTEXT


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
