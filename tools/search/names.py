"""Names in texts: which a text holds, which texts are about one, and where they lead from one text to another."""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import STOP_WORDS

MAX_NAME: Final = 8
"""Longest name, in words (in Chinese: characters)."""

COMMON: Final = 40
"""A name that more texts than this hold leads nowhere: a country, a language, a month."""

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff"
_WORD = lazy_pattern(f"[{_IDEOGRAPHS}]|[^\\W_{_IDEOGRAPHS}]+")
_IN_BRACKETS = lazy_pattern(r"(?<![ \t])[ \t]*+[(（][^()（）]*+[)）]\s*+$")
_LEADING_NAME = lazy_pattern(
    r"(?:(?:The|A|An) )?([A-Z][\w.'’-]*(?: (?:(?:of|the|and|for|in|de|von|van|la|&) ){0,2}[A-Z0-9][\w.'’-]*)+)"
)
# Not `in`, `and`, `for`: they stand between two names more often than inside one.
_SMALL = frozenset(("of", "the", "de", "von", "van", "la", "le", "du", "der"))
_JOINTS = frozenset((" ", "-", "–", "'", "’", ".", " & "))
_RUN = lazy_pattern("[BC](?:s{0,2}B)*")
_SENTENCE_END = lazy_pattern(r"(?:^|[.!?:\n])\W{0,4}\Z")


def normal(name: str) -> str:
    """A name without case, marks and what stands in brackets behind it: the form in which names are compared."""
    return " ".join(word.casefold() for word in _WORD.findall(_IN_BRACKETS.sub("", name)))


def subject_of(text: str, title: str = "") -> str:
    """What a text is about, in normal form: its title, else the name of several words that it opens with, else ''."""
    leading = _LEADING_NAME.match(text)
    words = normal(title or (leading[1] if leading else "")).split()
    return "" if len(words) > MAX_NAME or STOP_WORDS.issuperset(words) else " ".join(words)


def names_in(text: str) -> set[str]:
    """The names that a text holds, in normal form: runs of words with a capital, a lone one only inside a sentence."""
    words = list(_WORD.finditer(text))
    found = (words[run.start() : run.end()] for run in _RUN.finditer(_shapes(text, words)))
    return {name for run in found if (name := _name(text, run))}


def _shapes(text: str, words: Sequence[re.Match[str]]) -> str:
    """One letter for each word: `B` goes on with a name, `C` begins one, `s` is small inside a name, `x` is no part."""
    gaps = [text[before.end() : word.start()] for before, word in pairwise(words)]
    goes_on = [gap in _JOINTS or (gap == ". " and len(word[0]) <= 2) for gap, word in zip(gaps, words, strict=False)]
    return "".join(map(_shape, words, [False, *goes_on]))


def _shape(word: re.Match[str], goes_on: bool) -> str:
    if word[0][0].isupper() or word[0][0].isdigit():
        return "B" if goes_on else "C"
    return "s" if goes_on and word[0] in _SMALL else "x"


def _name(text: str, run: Sequence[re.Match[str]]) -> str:
    words = [word[0].casefold() for word in run]
    leading = next((n for n, word in enumerate(words) if word not in STOP_WORDS and not word.isdigit()), len(words))
    words = words[leading : leading + MAX_NAME]
    lone = len(words) == 1 and not leading and _SENTENCE_END.search(text, max(0, run[0].start() - 4), run[0].start())
    return "" if lone else " ".join(words)


class NameIndex:
    """Which texts are about a name and which hold it, kept as texts come and go."""

    def __init__(self) -> None:
        self._subjects: dict[str, str] = {}
        self._origins: dict[str, str] = {}
        self._names: dict[str, Collection[str]] = {}
        self._texts: dict[str, str] = {}
        self._about: defaultdict[str, set[str]] = defaultdict(set)
        self._holding: defaultdict[str, set[str]] = defaultdict(set)

    def put(self, id: str, text: str, subject: str, origin: str) -> None:
        """Add a text, or replace the one of this id.

        Args:
            id: Id of the text.
            text: The whole text.
            subject: What `subject_of` says of it.
            origin: What it was cut from; texts of one origin do not lead to each other.
        """
        self.remove(id)
        names = names_in(text)
        if subject:
            names.add(subject)
            self._about[subject].add(id)
        self._subjects[id], self._names[id], self._texts[id], self._origins[id] = subject, names, text, origin
        for name in names:
            self._holding[name].add(id)

    def remove(self, id: str) -> None:
        """Take a text out. An unknown id is no error."""
        if id not in self._texts:
            return
        del self._texts[id], self._origins[id]
        discard(self._about, self._subjects.pop(id), id)
        for name in self._names.pop(id):
            discard(self._holding, name, id)

    def asked(self, query: str) -> set[str]:
        """The names in a query; subjects of several words in any case, as people write them small."""
        return names_in(query) | set(self._subjects_in(query, small=True))

    def about(self, names: Collection[str]) -> dict[str, float]:
        """The texts about one of these names, each with how few they are: 1 for the only one."""
        found: dict[str, float] = {}
        for name in names:
            _add(found, self._about.get(name, ()))
        return found

    def leads(self, id: str, known: Collection[str]) -> dict[str, float]:
        """The texts that this one leads to by a name that is not known yet, each with how surely, from 0 to 2.

        A text is led to because it is about the name, or because it holds it; both count, each the more the fewer
        such texts there are. Parts of one document share their names, which says nothing: with leads among them, the
        evidence in long documents is found a sixth less often.
        """
        if id not in self._texts:
            return {}
        subject, origin = self._subjects[id], self._origins[id]
        told: dict[str, float] = {}
        for name in {*self._subjects_in(self._texts[id])} - {subject, *known}:
            _add(told, self._about[name])
        held: dict[str, float] = {}
        for name in self._names[id]:
            if name not in known and len(self._holding[name]) <= COMMON:
                _add(held, self._holding[name])
        others = [other for other in {**told, **held} if self._origins[other] != origin]
        return {other: told.get(other, 0.0) + held.get(other, 0.0) for other in others}

    def _subjects_in(self, text: str, *, small: bool = False) -> Iterator[str]:
        """The subjects that a text names, the longest at each word that is not written small (or at each word)."""
        words = _WORD.findall(text)
        folded = [word.casefold() for word in words]
        for position, word in enumerate(words):
            lowest = position + 1 if word[0].islower() or word[0] >= "\u3040" else position
            if word[0].islower() and not small:
                continue
            for end in range(min(len(words), position + MAX_NAME), lowest, -1):
                name = " ".join(folded[position:end])
                if name in self._about:
                    yield name
                    break


def _add(found: dict[str, float], ids: Collection[str]) -> None:
    for id in ids:
        found[id] = max(found.get(id, 0.0), 1 / math.sqrt(len(ids)))


def discard(sets: defaultdict[Any, set[str]], key: object, id: str) -> None:
    """Take an id out of the set of a key, and the set, once it is empty."""
    if key in sets:
        sets[key].discard(id)
        if not sets[key]:
            del sets[key]
