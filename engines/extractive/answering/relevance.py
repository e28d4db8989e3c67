"""How well each sentence, in its place, answers a question: a few features, to be weighed by `judging`.

A sentence answers that says what the question does, in the same words or in others, in itself or by its place, and that
holds the kind of thing asked for.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from agentic_memory_bank.engines.extractive.reading import concepts
from agentic_memory_bank.engines.extractive.reading.kinds import asked_for, holds
from agentic_memory_bank.engines.extractive.reading.marks import (
    AMENDS,
    ASKS,
    COUNTED,
    NUMBERED_NAME,
    PLANS,
    POINTS,
    SPEAKS_OF_SELF,
    SUPPOSES,
)
from agentic_memory_bank.engines.extractive.reading.questions import ASKING, asked_noun, counted
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers, numbers_with_offsets
from agentic_memory_bank.tools.text.terms import tokenize

Numbers = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]
"""Makes an L2-normalised row of each text, or a row of zeros where there is none to be had."""


@dataclass(frozen=True, eq=False)
class CandidateSentence:
    """A sentence, row or list item of a text, as far as questions are concerned.

    Attributes:
        text: Its words.
        place: Where it stands, in words: title, headings, what opens its list, labels of row and columns.
        near: What stands before it and may be meant: the sentences before it in its section.
        labelled: A row with the label of each cell before it and a unit of the label behind it; else nothing.
        speaker: Who says it, if that is known.
        sender: Who wrote the mail it stands in, if it does.
        kind: What it is part of, as `tools.text.places` names it.
        found: How well the text around it was found, beside the best: from 0 to 1.
    """

    text: str
    place: str = ""
    near: str = ""
    labelled: str = ""
    speaker: str = ""
    sender: str = ""
    kind: str = "text"
    found: float = 1.0

    @cached_property
    def words(self) -> "_Words":
        """The words of the sentence."""
        return _Words.of(self.text)

    @cached_property
    def place_words(self) -> "_Words":
        """The words of its place."""
        return _Words.of(f"{self.place}\n{self.speaker}")

    @cached_property
    def label_words(self) -> "_Words":
        """The words of what it says something of, where it opens with that: a field, a row."""
        found = _FIELD.match(self.text) if self.kind in ("item", "text") else None
        return _Words.of(found["label"] if found else "")

    @cached_property
    def near_words(self) -> "_Words":
        """The words around it."""
        return _Words.of(self.near)

    @property
    def index_text(self) -> str:
        """What stands for it where meanings are compared: a short one says too little without its place."""
        return f"{self.place}\n{self.text}" if self.place and (self.kind == "row" or self.is_short) else self.text

    @property
    def is_short(self) -> bool:
        """Whether it has few characters."""
        return len(self.text) < _SHORT


_FIELD: Final = re.compile(
    r"[*_:`]{0,3}(?P<label>[^\W\d_][^\n:：*_`.。!?]{0,39})"
    r"(?:[*_`]{0,3}[ \t]{0,4}[:：][*_`]{0,3}(?=\s|\w|[*_`])|[*_]{2}[ \t]{1,4}[-–—]\s)"
)
"""A label that a line opens with: "**Default** - 10", ":Type: integer", 默认值：10."""


@dataclass(frozen=True)
class _Words:
    """The words of a text in the forms in which they are compared: terms, single Chinese characters, concepts."""

    terms: frozenset[str]
    characters: frozenset[str]
    concepts: frozenset[int]

    def has(self, token: "_Token") -> bool:
        """Whether a word of a question is among them, itself or in other words."""
        return not (self.terms.isdisjoint(token.forms) and self.concepts.isdisjoint(token.concepts))

    @classmethod
    def of(cls, text: str) -> "_Words":
        terms = frozenset(tokenize(text))
        meant = {number for term in terms for number in concepts.of_term(term)}
        meant.update(number for term in terms for number in concepts.of_instance(term))
        meant.update(number for _, _, numbers in concepts.of_chinese(text) for number in numbers)
        meant.update(number for _, numbers in concepts.of_phrases(text) for number in numbers)
        return cls(terms, frozenset(char for char in text if not char.isascii()), frozenset(meant))


@dataclass(frozen=True)
class _Token:
    """A word of a question, or a Chinese character of it: the terms that are it, and the concepts it belongs to."""

    text: str
    forms: frozenset[str]
    concepts: frozenset[int]

    def level(self, unit: CandidateSentence) -> int | None:
        """Where it stands: in the sentence (0 itself, 1 other words, 2 a character), its place (3, 4), near (5, 6)."""
        for level, words in ((0, unit.words), (3, unit.place_words), (5, unit.near_words)):
            if not words.terms.isdisjoint(self.forms):
                return level
            if not words.concepts.isdisjoint(self.concepts):
                return level + 1
            if level == 0 and self.text in words.characters:
                return 2
        return None


_FUNCTION_CHARACTERS: Final = frozenset("要把被给不没才该由就都还得着过吧也很")
"""Characters that say nothing of what a question is about."""
_TITLES: Final = frozenset(tokenize("Mr Mrs Ms Dr Miss Sir Prof"))
_LEVELS: Final = range(7)
"""Where a word may stand: see `_Token.level`."""
_SAID: Final = (0, 1, 3, 4)
"""Levels at which a word is said or meant, in a sentence or in its place."""
_ECHOED: Final = (0, 1, 2, 3, 4)
"""The same, or at which a character of it is there."""
_NOWHERE: Final = 9
_PLACE: Final = 120
"""Characters of a place that are read before a sentence."""
_SHORT: Final = 40
_MOST_WORDS: Final = 60
"""Words of a question that are looked for; of a longer one, those it begins with."""
_IN_HEADINGS: Final = ("date", "version", "weekday")
"""Kinds of thing that a heading or label says of what stands under it."""
_NAME: Final = 0.5
"""What a name or number of the question counts beside its other words: a text does not repeat it in every sentence."""


class AskedQuestion:
    """A question, read for the sentences among which its answer is looked for."""

    def __init__(self, question: str, units: Sequence[CandidateSentence], encode: Encode | None = None) -> None:
        self._question, self._units, self._encode = question, units, encode
        self._is_chinese = is_cjk(question)
        self._is_blind = self._vector is None
        self._kinds = asked_for(question)
        self._names = frozenset(term for name in sorted(names_and_numbers(question)) for term in tokenize(name))
        speakers = frozenset(term for unit in units for term in tokenize(unit.speaker))
        self._about = self._names & speakers
        self._counted = counted(question)
        self._tokens = self._read()
        self._said = frozenset(form for token in self._tokens for form in token.forms)
        self._weights = self._weighed()
        self._levels = self._placed()

    @property
    def question(self) -> str:
        """The question."""
        return self._question

    @cached_property
    def _vector(self) -> Vectors | None:
        """The vector of the question; None where there is none, or where the local model says little of it."""
        if self._encode is None or self._is_chinese or not self._units:
            return None
        (vector,) = self._encode([self._question])
        return vector if np.any(vector) else None

    @property
    def placed_texts(self) -> list[str]:
        """Each sentence behind the end of its place, the nearest headings and labels."""
        said = ((unit.place[-_PLACE:], unit.labelled or unit.text) for unit in self._units)
        return [f"{place}: {text}" if place else text for place, text in said]

    @property
    def can_be_answered(self) -> bool:
        """Whether the question has any word to look for, and there is anything to look at."""
        return bool(self._tokens and self._units)

    def _placed(self) -> npt.NDArray[np.int8]:
        """The level of each word in each sentence, `_NOWHERE` where it is in none."""
        found = [_NOWHERE if (level := t.level(u)) is None else level for t in self._tokens for u in self._units]
        return np.array(found, np.int8).reshape(len(self._tokens), len(self._units))

    @property
    def lacks_a_name(self) -> bool:
        """Whether the question names something that no sentence and no place does, in whatever words."""
        numbers = {number for number, _ in numbers_with_offsets(self._question)}
        named = {t for name in names_and_numbers(self._question) - numbers for t in tokenize(name)}
        asked = zip(self._tokens, map(any, self._stands(_SAID).tolist()), strict=True)
        if any(not said and token.text in named - _TITLES and not token.text.isdigit() for token, said in asked):
            return True
        said = "\n".join(f"{unit.place}\n{unit.text}" for unit in self._units).casefold()
        return any(one.casefold() not in said for one in NUMBERED_NAME.findall(self._question))

    @property
    def missing(self) -> float:
        """The share of what the question says that stands in no sentence and in no place, in whatever words."""
        return float(self._weights @ ~self._stands(_SAID).any(axis=1))

    def cosines(self, numbers: Sequence[int]) -> Numbers:
        """How near some of the sentences are to the question by meaning, from 0; all 0 where there are no vectors."""
        near = np.zeros(len(numbers))
        readable = [place for place, number in enumerate(numbers) if not is_cjk(self._units[number].text)]
        if self._encode is not None and self._vector is not None and readable:
            vectors = self._encode([self._units[numbers[place]].index_text for place in readable])
            near[readable] = np.maximum(0.0, vectors @ self._vector)
        return near

    def of_units(self) -> Numbers:
        """The features of each sentence by its words, a row each, in the order of `judging.WEIGHTS`."""
        shares = np.array([self._weights @ (self._levels == level) for level in _LEVELS]).T
        rows = [self._features(unit, found) for unit, found in zip(self._units, shares.tolist(), strict=True)]
        return np.array(rows, float)

    def of_none(self) -> Numbers:
        """What of the question itself speaks for an answer, as `judging.WEIGHTS_OF_SURE` weighs it."""
        is_choice = "choice" in self._kinds
        return np.array([self.missing, not self._kinds, is_choice, self._is_blind, self._lacks_noun()], float)

    def of_coverage(self, number: int) -> Numbers:
        """Whether a sentence with its place says all of the question, and how many words of it are not in them."""
        unsaid = ~self._stands(_ECHOED)[:, number]
        return np.array([not unsaid.any(), unsaid.sum() / 4], float)

    def _stands(self, levels: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Whether each word stands at one of some levels in each sentence."""
        return np.isin(self._levels, levels)

    def _read(self) -> list[_Token]:
        """The words of the question that do not only ask."""
        heads: dict[str, list[str]] = {}
        for term in {t for unit in self._units for words in (unit.words, unit.place_words) for t in words.terms}:
            heads.setdefault(term[:4], []).append(term)
        bare = ASKING.sub(lambda mark: " " * len(mark[0]), self._question)
        terms = [t for t in dict.fromkeys(tokenize(bare)) if t.isascii()]
        phrases = [(term, numbers) for terms_of, numbers in concepts.of_phrases(self._question) for term in terms_of]
        named = {term: frozenset(n for one, numbers in phrases if one == term for n in numbers) for term, _ in phrases}
        tokens = [
            _Token(term, _forms(term, heads), concepts.of_term(term) | named.get(term, frozenset())) for term in terms
        ]
        meant: dict[int, frozenset[int]] = {}
        for start, end, numbers in concepts.of_chinese(self._question):
            meant.update(dict.fromkeys(range(start, end), numbers))
        for place, char in enumerate(bare):
            if not char.isascii() and char.isalpha() and char not in _FUNCTION_CHARACTERS:
                pairs = frozenset(tokenize(bare[max(0, place - 1) : place + 2]))
                tokens.append(_Token(char, pairs, meant.get(place, frozenset())))
        return list(dict.fromkeys(tokens))[:_MOST_WORDS]

    def _weighed(self) -> Numbers:
        """How much each word says, 1 together: the fewer hold it, the more; names are looked at by themselves, too."""
        frequency = Counter(term for unit in self._units for term in unit.words.terms | unit.words.characters)
        counts = [
            sum(frequency[form] for form in token.forms) if token.text.isascii() else frequency[token.text]
            for token in self._tokens
        ]
        weights = [
            math.log(1 + len(self._units) / max(0.5, count)) * (_NAME if token.text in self._names else 1.0)
            for token, count in zip(self._tokens, counts, strict=True)
        ]
        return np.array(weights, float) / (math.fsum(weights) or 1.0)

    def _lacks_noun(self) -> bool:
        """Whether no sentence and no place speaks of what is counted, costs, lasts, or of who holds a post."""
        noun = asked_noun(self._question)
        meant = {number for _, _, numbers in concepts.of_chinese(noun) for number in numbers}
        meant.update(number for term in tokenize(noun) for number in concepts.of_term(term))
        tokens = [token for token in self._tokens if token.text in tokenize(noun)]
        forms = {form for token in tokens for form in token.forms} | set(tokenize(noun))
        return bool(noun) and not self._is_there(_Token(noun, frozenset(forms), frozenset(meant)))

    def _is_there(self, token: _Token) -> bool:
        return any(token.level(unit) in _SAID for unit in self._units)

    def _features(self, unit: CandidateSentence, shares: Sequence[float]) -> list[float]:
        amends = float(AMENDS.search(f"{unit.place}\n{unit.text}") is not None)
        fits, size = self._fits(unit), len(unit.words.terms)
        placed = not fits and any(holds(kind, unit.place, self._names) for kind in self._kinds if kind in _IN_HEADINGS)
        return [
            *shares,
            shares[0] * self._is_blind,
            shares[1] * self._is_blind,
            0.0,  # by words alone: see `judging.features_of`
            self._is_chinese != is_cjk(unit.text),
            fits,
            bool(self._kinds) and not fits and not placed,
            placed,
            *self._named(unit),
            self._fills(unit),
            self._counts(unit),
            ASKS.search(unit.text) is not None,
            unit.kind in ("heading", "header"),
            unit.kind == "row",
            unit.kind == "code",
            SUPPOSES.search(unit.text) is not None,
            PLANS.search(unit.text) is not None,
            math.log(1 + size) / 4,
            size < 3,
            amends,
            amends * (shares[0] + shares[1]),
            min(1.0, sum(term not in self._said for term in unit.words.terms) / 3),
            bool(self._about and unit.speaker) and self._about.isdisjoint(tokenize(unit.speaker)),
            unit.found - 1.0,
            "place" not in self._kinds and POINTS.search(unit.text) is not None,
        ]

    def _fits(self, unit: CandidateSentence) -> bool:
        """Whether it holds the kind of thing asked for; of a person, whoever speaks of themselves is one."""
        if any(holds(kind, unit.labelled or unit.text, self._names) for kind in self._kinds):
            return True
        who = unit.speaker or unit.sender
        return "person" in self._kinds and bool(who) and SPEAKS_OF_SELF.search(unit.text) is not None

    def _named(self, unit: CandidateSentence) -> tuple[float, float]:
        """The share of the names and numbers of the question that stand in the sentence or around it; and the rest."""
        there = unit.words.terms | unit.place_words.terms | unit.near_words.terms
        share = len(self._names & there) / max(1, len(self._names))
        return share, 1.0 - share if self._names else 0.0

    def _fills(self, unit: CandidateSentence) -> float:
        """How far a field is the one asked for: its label in the question, and the rest of that above the field."""
        label = unit.label_words
        if not label.terms:
            return 0.0
        asked = [token for token in self._tokens if label.has(token)]
        if 2 * len({term for term in label.terms if any(term in t.forms for t in asked)}) < len(label.terms):
            return 0.0
        above = (label, unit.place_words)
        pairs = zip(self._tokens, self._weights.tolist(), strict=True)
        return math.fsum(weight for token, weight in pairs if any(words.has(token) for words in above))

    def _counts(self, unit: CandidateSentence) -> bool:
        """Whether a number stands beside what the question counts."""
        beside = COUNTED.findall(unit.text) if self._counted else ()
        return any(not self._counted.isdisjoint((*tokenize(near), *near)) for near in beside)


def _forms(term: str, heads: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """A term, and those that are or look like forms of the same word: `decis` and `decid` do."""
    known = concepts.forms_of(term)
    if len(term) < 5 or not term.isalpha():
        return known
    return known.union(other for other in heads.get(term[:4], ()) if is_same_word(term, other))


def is_same_word(a: str, b: str) -> bool:
    """Whether two index terms look like forms of one word."""
    shared = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return shared >= 4 and shared >= min(len(a), len(b)) - 1 and max(len(a), len(b)) - shared <= 4
