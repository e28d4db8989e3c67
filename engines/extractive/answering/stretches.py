"""The stretches of a sentence that may be a short answer, and what their shape and their neighbours say for each.

A stretch stands between two joints of its sentence: a mark, a change from plain words to telling ones, from what the
question says to what it does not, to a figure, to a name.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.engines.extractive.answering.relevance import is_same_word
from agentic_memory_bank.engines.extractive.reading.questions import RELATED, Question
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import STOP_WORDS, tokenize

Numbers = NDArray[np.float64]
Places = NDArray[np.intp]
Traits = dict[str, Numbers]

_MOST_UNITS: Final = 160
"""Words of a sentence, or characters, that are read: what is longer is no sentence, and has too many stretches."""
_DECAY: Final = {False: 0.3, True: 0.15}
"""By how much each word, or character, between a stretch and a word of the question makes that word count less."""
_CONTEXT: Final = 4
"""How many characters beside the question word are compared with those beside a stretch."""


class QuestionTerms:
    """What a question says, each term with its weight: the rarer among the sentences at hand, the more it counts."""

    def __init__(self, terms: Sequence[str], sentences: Sequence[frozenset[str]]) -> None:
        frequency = Counter(term for told in sentences for term in told)
        heads: dict[str, list[str]] = {}
        for term in frequency:
            heads.setdefault(term[:4], []).append(term)
        self.forms = {term: _forms(term, heads) for term in terms}
        self.weights = {
            term: math.log(1 + len(sentences) / max(0.5, sum(frequency[form] for form in forms)))
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


_HAN: Final = "\u3400-\u9fff\uf900-\ufaff"
UNIT: Final = lazy_pattern(f"[{_HAN}]|[$€£¥#]?[^\\W_{_HAN}]+(?:[-'’.,&/:][^\\W_{_HAN}]+)*[%°+]?")
_MARK: Final = lazy_pattern(r"[^\w\s'’-]")
_PAST: Final = lazy_pattern(r".{2,}(?:ed|ing)$")
_CHINESE_FUNCTION: Final = frozenset(
    "的了是在为于由和与及以被把将至到从有叫也而并但其之等或则就都所该此这那他她它们我你后前中时即又曾"
)
_CHINESE_COPULAS: Final = frozenset("是为叫即")
_CHINESE_PREPOSITIONS: Final = frozenset("在于由以被从至到")
_CHINESE_NUMERALS: Final = frozenset("零一二三四五六七八九十百千万亿两几")
_NOUN: Final = 2
"""Of how many characters the noun behind a Chinese question word is taken to be."""
_QUOTING: Final = "《「“"


class Units:
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

    def __init__(self, text: str, terms: QuestionTerms, question: Question) -> None:
        self.question = question
        self.spans = [found.span() for found in islice(UNIT.finditer(text), _MOST_UNITS)]
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

    def pairs(self, longest: int) -> tuple[Places, Places]:
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

    def shape(self, first: Places, past: Places) -> Traits:
        """Length, borders, capitals, and what a stretch repeats of the question."""
        group, count = self.question.group, past - first
        plain, capital = np.array(self.plain), np.array(self.capital)
        covered = np.array(self.covered)
        sums = {
            name: np.concatenate([[0.0], np.cumsum(values)])
            for name, values in (
                ("covered", covered),
                ("repeated", (covered > 0) & ~np.array(self.headed)),
                ("telling", ~plain),
                ("capital", capital & ~plain),
                ("marked", [*self.marked[1:-1], False]),
            )
        }
        within = {name: total[past] - total[first] for name, total in sums.items()}
        length = np.log(count)
        head = np.concatenate([[0.0], np.cumsum(self.headed)])
        return {
            f"length {group}": length,
            f"length squared {group}": length**2,
            f"capital {group}": (within["capital"] == within["telling"]).astype(float),
            "covered": within["covered"],
            "repeated": within["repeated"] / count,
            "head": (head[past] > head[first]).astype(float),
            "starts plain": plain[first].astype(float),
            "ends plain": plain[past - 1].astype(float),
            "ends a clause": np.array(self.marked)[past].astype(float),
            "holds borders": sums["marked"][past - 1] - sums["marked"][first],
        }

    def surroundings(self, first: Places, past: Places) -> Traits:
        """How much of the question stands before and behind a stretch, the nearer the more."""
        fading = math.exp(-_DECAY[self.question.chinese])
        before, behind = [0.0], [0.0]
        for weight in self.covered:
            before.append(before[-1] * fading + weight)
        for weight in reversed(self.covered):
            behind.append(behind[-1] * fading + weight)
        return {"near before": np.array(before)[first], "near behind": np.array(behind[::-1])[past]}

    def in_place_of_the_question_word(self, text: str, spans: Sequence[Span], first: Places, past: Places) -> Traits:
        """Whether a Chinese stretch stands where the question has its question word, with the same beside it."""
        before, after = self.question.before, self.question.after
        head = after[:_CONTEXT]
        starts = [start for start, _ in self.spans]
        previous = ["", *self.words[:-1]]
        ends = {(end, min(end - start, _CONTEXT)) for start, end in spans}
        same_behind = {(end, size): _same_behind(after, text, (end - size, end)) for end, size in ends}
        return {
            "same before": np.array([_shared_end(before, text[max(0, a - _CONTEXT) : a]) for a in starts])[first],
            "same behind": np.array([same_behind[end, min(end - start, _CONTEXT)] for start, end in spans]),
            "ends as asked": np.array([float(text[end - 1] in head) for _, end in self.spans])[past - 1],
            "holds what is asked": np.array([float(bool(head) and head[:_NOUN] in text[a:b]) for a, b in spans]),
            "quoted": np.array([float(text[max(0, a - 1)] in _QUOTING or text[a] in _QUOTING) for a in starts])[first],
            "after is": np.array([float(word in _CHINESE_COPULAS) for word in previous])[first],
            "after in": np.array([float(word in _CHINESE_PREPOSITIONS) for word in previous])[first],
            "after of": np.array([float(word == "的") for word in previous])[first],
        }


def _covered_pairs(text: str, spans: Sequence[Span], terms: QuestionTerms) -> list[float]:
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
