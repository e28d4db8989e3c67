"""Judges whether memories help with a message, and which: by its words, theirs, how alike the two are, and a judge.

Two small logistic models with the weights below, for English and for Chinese, of which all-MiniLM-L6-v2 says little:
one says which memories fit a message, the other, from the best of these, whether it needs any. They are fitted by
`benchmarks/fit_recall.py`, which prints how well they do on dialogues they were not fitted on. Where they leave that
open, the likeliest memories are read beside the message (`second_reading`).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np

from agentic_memory_bank.engines.extractive.answering.characters import rare_characters, shared_characters
from agentic_memory_bank.engines.extractive.answering.contents import asks_for_contents
from agentic_memory_bank.engines.extractive.answering.judging import WEIGHTS
from agentic_memory_bank.engines.extractive.answering.likeness import MOST_READ, Likeness, shown_text
from agentic_memory_bank.engines.extractive.answering.particulars import lacks_the_particular
from agentic_memory_bank.engines.extractive.answering.relevance import AskedQuestion, CandidateSentence, Numbers
from agentic_memory_bank.engines.extractive.answering.second_reading import (
    MEMORIES,
    OF_MEMORIES,
    OF_MESSAGES,
    OPEN,
    STATED,
    Judge,
    read_again,
    signs_of_a_message,
    signs_of_memories,
)
from agentic_memory_bank.engines.extractive.answering.wishes import applies, asks_for_a_wish, is_a_wish
from agentic_memory_bank.engines.extractive.reading.kinds import asked_for, may_hold
from agentic_memory_bank.engines.extractive.remembering.changes import announces_change
from agentic_memory_bank.engines.extractive.remembering.clauses import subject_terms
from agentic_memory_bank.engines.extractive.remembering.life import (
    asks_of_other_kin,
    kin_in,
    shared_subjects,
    subjects_in,
)
from agentic_memory_bank.engines.extractive.remembering.queries import asks_of_the_world, is_personal
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

HELPS: Final = 0.2
"""Probability from which memories are shown for a message."""
HELPS_AS_READ: Final = 0.4
"""The same where they were read beside the message."""
SHARE_OF_BEST: Final = 0.45
"""Share of the best memory's probability from which another one is shown beside it."""
BEST: Final = 3
"""Of how many memories, the likeliest, it is told whether a message needs any."""
WISHED: Final = 0.8
"""Probability of a memory that says how somebody wants to be answered, where that is asked."""
APPLYING: Final = 2
"""How many wishes that hold for messages about something are shown with a message about that, at most."""

_TASK: Final = lazy_pattern(
    r"^\W*(?:please |pls )?(?:write|translate|give me|tell me a|recommend|explain|convert|define|spell|calculate"
    r"|suggest|list|summari[sz]e)\b"
    r"|翻译|帮我写|解释|推荐|写[一个首]|讲个|来个|算一下|简单说说|给我写|概括",
    re.IGNORECASE,
)
"""A task that takes no knowledge of whoever sets it."""
_INDEFINITE: Final = lazy_pattern(r"\b(?:an?|any) \w", re.IGNORECASE)
_HOW: Final = lazy_pattern(
    r"\A\W*(?:how (?:do|can|should|to|does|would)|why (?:do|does|is|are)|what (?:is|are|does|causes))\b(?! my| our)"
    r"|为什么|怎么|如何|什么是",
    re.IGNORECASE,
)
"""How people ask for what anybody may know."""
_KNOWN: Final = lazy_pattern(
    r"\b(?:the|she|he|her|his|they|their|it|now|currently|these days|still)\b|现在|目前|他|她", re.IGNORECASE
)
"""What points to somebody or something that was spoken of."""
_TITLE: Final = lazy_pattern(r"[《「『“]([^《》「」『』“”]{1,40})[》」』”]")
"""A work, or words that are quoted, as Chinese marks them."""
_ASKING: Final = frozenset(
    tokenize("name call again current say tell what which who when where why how many much do did my our have any go")
)
"""Words of a question that say nothing of what it is about."""
HEARD: Final = 0.5
"""Share of the characters of a question, each by what it says, from which it is about what memories speak of."""


_Weights = Mapping[str, float]
_Features = Mapping[str, float]

HELP: Final[Mapping[bool, _Weights]] = {
    False: {
        "bias": -7.95,
        "personal": 1.75,
        "task": -2.78,
        "indefinite": 0.14,
        "world": -3.12,
        "how": -0.86,
        "known": 1.21,
        "subject": 0.01,
        "kin": 0.79,
        "lacks": -1.21,
        "missing": -1.19,
        "best": 5.08,
        "misfits": 1.03,
        "unheard": -0.43,
        "no kin": -1.17,
        "says": 0.3,
        "means": -2.17,
        "named": 2.07,
        "life": 0.89,
        "marked": 0.98,
        "cosine": 7.18,
        "coverage": -0.51,
        "rarest": 1.96,
    },
    True: {
        "bias": -2.74,
        "personal": 0.26,
        "task": -1.95,
        "world": -4.03,
        "how": -1.06,
        "known": 3.34,
        "subject": 1.69,
        "kin": -0.1,
        "lacks": -1.17,
        "missing": -3.38,
        "best": 2.76,
        "misfits": -0.02,
        "unheard": -1.29,
        "no kin": -0.98,
        "says": 1.76,
        "means": -1.43,
        "life": 0.6,
        "marked": 0.6,
        "coverage": -0.45,
        "rarest": 1.1,
        "characters": 2.31,
    },
}
"""Weights of a message, for English and for Chinese."""
FIT: Final[Mapping[bool, _Weights]] = {
    False: {
        "bias": -3.67,
        "cosine": 5.8,
        "coverage": 0.85,
        "rarest": -1.31,
        "found": 3.34,
        "life": 0.64,
        "recent": 0.8,
        "marked": 0.82,
        "foreign": -0.55,
        "change": 1.09,
        "turn": -0.34,
        "assistant": 0.0,
        "asks": 0.0,
        "says": 0.11,
        "means": 0.26,
        "misfits": -0.83,
        "named": -0.91,
        "unnamed": -0.43,
        "counts": 0.0,
        "length": -0.66,
        "supposes": -0.6,
        "other speaker": 0.0,
    },
    True: {
        "bias": -2.95,
        "coverage": 1.18,
        "rarest": -0.37,
        "found": 2.72,
        "life": 1.47,
        "recent": 0.8,
        "marked": 0.47,
        "foreign": 0.92,
        "change": 1.24,
        "turn": -1.46,
        "assistant": -0.14,
        "asks": 0.0,
        "says": 1.15,
        "means": 0.08,
        "echoes": 2.76,
        "misfits": -1.31,
        "counts": 1.26,
        "length": -1.67,
        "supposes": -0.51,
        "telling": 2.17,
    },
}
"""Weights of a memory, for English and for Chinese; "other speaker" is set by hand, as nobody else speaks there, and so
is "recent": the fit's checks are of what was just said, so that a fitted one would hide what is older."""

_READ: Final = (
    "says", "means", "echoes", "misfits", "named", "unnamed", "counts", "length", "supposes", "other speaker",
)  # fmt: skip
"""What the reader of documents makes of a memory, by the names of its features."""
_BLIND: Final = frozenset(("cosine", "named", "unnamed", "other speaker", "indefinite"))
"""Features that say nothing where the message is Chinese."""
_SEEING: Final = frozenset(("echoes", "characters", "telling"))
"""Features that say nothing where it is not."""


class MessageReading:
    """A message, read beside the memories that were found for it.

    Args:
        query: What is searched.
        found: The memories that are most like it.
        judge: Reads the likeliest of them beside it. Default: words and vectors alone decide.
    """

    def __init__(self, query: str, found: Sequence[Likeness], judge: Judge | None = None) -> None:
        self._query, self._found, self._judge = query, found, judge
        self._units = [_unit(one) for one in found]
        self._asked = AskedQuestion(query, self._units)

    @cached_property
    def memories(self) -> list[_Features]:
        """What tells of each memory whether it is one of those that help."""
        if not self._found:
            return []
        shared = shared_subjects(self._query, [unit.text for unit in self._units])
        rows = [dict(zip(WEIGHTS, map(float, row), strict=True)) for row in self._asked.of_units()]
        kinds = asked_for(self._query)
        if "date" not in kinds:  # people leave units out: "it's 17 now"
            for row, unit in zip(rows, self._units, strict=True):
                row["misfits"] *= not may_hold(kinds, unit.text)
        return [
            _of_language(self._query, _features(self._query, one, unit.text, share, read) | {"telling": telling})
            for one, unit, share, read, telling in zip(
                self._found, self._units, shared, rows, rare_characters(self._query, self.texts), strict=True
            )
        ]

    @cached_property
    def chances(self) -> list[float]:
        """The probability of each memory that it is one of those that help, where any does."""
        likely = [_chance(one) for one in self._odds]
        return [max(chance, WISHED) if place in self._wishes else chance for place, chance in enumerate(likely)]

    @cached_property
    def by_words(self) -> Numbers:
        """The logarithms of the odds of each memory, by words and vectors alone."""
        return np.array([_odds(features, FIT[is_cjk(self._query)]) for features in self.memories])

    @cached_property
    def chances_by_words(self) -> list[float]:
        """The probability of each memory by words and vectors alone."""
        return [_chance(one) for one in self.by_words.tolist()]

    @cached_property
    def needed_by_words(self) -> float:
        """The logarithm of the odds that the message needs memories, by words and vectors alone."""
        return _odds(self.message(self.chances_by_words), HELP[is_cjk(self._query)])

    @cached_property
    def _odds(self) -> list[float]:
        """The same, and by what was read where memories were."""
        if self._read is None:
            return self.by_words.tolist()
        return (signs_of_memories(self.by_words, self._read) @ np.array(OF_MEMORIES[is_cjk(self._query)])).tolist()

    @cached_property
    def _read(self) -> Numbers | None:
        """What a judge makes of each memory, where words leave open whether any helps."""
        if self._judge is None or not self._found or self.needed_by_words < OPEN:
            return None
        return read_again(self._judge, self._query, self.texts, self.by_words, MEMORIES)

    @property
    def helps(self) -> bool:
        """Whether memories help with the message at all: it is about its speaker's world, or about what they hold."""
        if self._wishes or asks_of_other_kin(self._query, self.texts):
            return bool(self._wishes)
        least = SHARE_OF_BEST * max(self.chances, default=0.0)
        if lacks_the_particular(
            self._query, (t for t, one in zip(self.texts, self.chances, strict=True) if one >= least)
        ):
            return False
        if self._read is None:
            return bool(self._found) and _chance(self.needed_by_words) >= HELPS
        if self._read.max() < STATED and asks_for_contents(self._query):
            return False
        signs = signs_of_a_message(self.needed_by_words, self._read, np.array(self._odds))
        return _chance(float(signs @ np.array(OF_MESSAGES[is_cjk(self._query)]))) >= HELPS_AS_READ

    @cached_property
    def _wishes(self) -> frozenset[int]:
        """The places of the memories that say how somebody wants to be answered, where that is asked."""
        if not asks_for_a_wish(self._query):
            return frozenset()
        return frozenset(place for place in self._of_user if is_a_wish(self.texts[place]))

    @cached_property
    def applying(self) -> frozenset[int]:
        """The places of the wishes that say of themselves that they hold for such a message, the likest few."""
        wishes = [n for n in self._of_user if applies(self.texts[n], self._query, self._found[n].cosine)]
        return frozenset(sorted(wishes, key=lambda n: -self._found[n].cosine)[:APPLYING])

    @property
    def _of_user(self) -> Iterator[int]:
        """The places of the memories that the user told."""
        return (place for place, one in enumerate(self._found) if not (one.by_assistant or one.speaker))

    def message(self, chances: Sequence[float]) -> _Features:
        """What tells whether memories help with the message, given how likely each is to."""
        query = self._query
        likeliest = sorted(range(len(chances)), key=lambda place: -chances[place])[:BEST]
        best = [self.memories[place] for place in likeliest]
        features: dict[str, float] = {
            "bias": 1.0,
            "personal": is_personal(query),
            "task": _TASK.search(query) is not None,
            "indefinite": _INDEFINITE.search(query) is not None,
            "world": asks_of_the_world(query),
            "how": _HOW.search(query) is not None,
            "known": _KNOWN.search(query) is not None,
            "subject": bool(subjects_in(query)),
            "kin": not kin_in(query).isdisjoint(self._subjects),
            "lacks": self._asked.lacks_a_name or self._lacks_a_title,
            "missing": self._asked.missing if self._asked.can_be_answered else 1.0,
            "best": max(chances, default=0.0),
            "misfits": min((one["misfits"] for one in best), default=1.0),
            "unheard": self._is_unheard_of,
            "no kin": bool(kin_in(query) - self._subjects),
        }
        for name in ("says", "means", "named", "life", "marked"):
            features[name] = max((one.get(name, 0.0) for one in best), default=0.0)
        for name in ("cosine", "coverage", "rarest"):
            features[name] = max((one.get(name, 0.0) for one in self.memories), default=0.0)
        features["characters"] = max((shared_characters(query, text) for text in self.texts), default=0.0)
        return _of_language(query, features)

    @property
    def _lacks_a_title(self) -> bool:
        """Whether the message names a work, or quotes something, of which no memory holds a word."""
        titles = [title.strip() for title in _TITLE.findall(self._query)]
        return any(title and not any(title in text for text in self.texts) for title in titles)

    @cached_property
    def _subjects(self) -> frozenset[int]:
        """What the memories are about."""
        return frozenset[int]().union(*map(subjects_in, self.texts))

    @cached_property
    def texts(self) -> list[str]:
        """The words of each memory, without what its words of time mean."""
        return [unit.text for unit in self._units]

    @property
    def _is_unheard_of(self) -> bool:
        """Whether no memory has a word of the message, or speaks of what one of its words is about."""
        if is_cjk(self._query) and shared_characters(self._query, "".join(self.texts)) >= HEARD:
            return False
        wanted, held = subject_terms(self._query) - _ASKING, frozenset[str]().union(*map(tokenize, self.texts))
        words = (*self._query.split(), *(term for term in wanted if is_cjk(term)))
        about = (subjects_in(word) for word in words if not wanted.isdisjoint(tokenize(word)))
        return bool(wanted) and wanted.isdisjoint(held) and self._subjects.isdisjoint(chain.from_iterable(about))


def _unit(one: Likeness) -> CandidateSentence:
    return CandidateSentence(shown_text(one.text[:MOST_READ]), speaker=one.speaker)


def _features(query: str, one: Likeness, text: str, shared: float, read: Mapping[str, float]) -> dict[str, float]:
    return {
        "bias": 1.0,
        "cosine": one.cosine,
        "coverage": one.coverage,
        "rarest": one.rarest,
        "found": one.found,
        "life": shared,
        "recent": one.recent,
        "marked": one.is_marked,
        "foreign": is_cjk(query) != is_cjk(text),
        "change": announces_change(text) * min(1.0, read["says"] + read["means"] + shared),
        "turn": one.is_turn,
        "assistant": one.by_assistant,
        "asks": text.rstrip().endswith(("?", "？")),
        **{name: read[name] for name in _READ},
    }


def _of_language(query: str, features: Mapping[str, float]) -> _Features:
    """The features that say anything in the language of a message."""
    idle = _BLIND if is_cjk(query) else _SEEING
    return {name: float(value) for name, value in features.items() if name not in idle}


def _odds(features: _Features, weights: _Weights) -> float:
    """The logarithm of the odds."""
    return math.fsum(weights.get(name, 0.0) * value for name, value in features.items())


def _chance(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))
