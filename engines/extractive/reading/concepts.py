"""Words of everyday documents that say the same or nearly, English and Chinese together: groups of them are concepts.

A question and what answers it are seldom in the same words ("how heavy" and "weighs 38 kg", 多少钱 and 票价), and the
small model of embeddings knows no Chinese. A word may stand in several groups. Words that say something else in most
other contexts are left out: a concept counts for less than the word itself, and wrong ones cost as much as they bring.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from agentic_memory_bank.tools.text.terms import tokenize

_GROUPS: Final = Path(__file__).with_name("concepts.txt")
"""A concept a line; words with a hyphen are phrases, of which each word has to stand in the text, in that order."""

_INSTANCES: Final = """
    database: postgres postgresql mysql mariadb sqlite oracle mongodb redis cassandra dynamodb duckdb |
    language: python java javascript typescript rust golang kotlin ruby php perl scala haskell english french german
    spanish italian chinese mandarin japanese korean portuguese russian arabic dutch |
    machine: linux ubuntu debian windows macos fedora | website: firefox chrome chromium safari
"""
"""Kinds of thing, each with some of what is one: who asks for the kind is told of one, and not the other way round."""

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
_LONGEST: Final = 6
"""Longest Chinese word of a concept, in characters."""
_MOST_BETWEEN: Final = 2
"""Words that may stand between two of a phrase: "put the money aside"."""
_WORD: Final = re.compile(r"[A-Za-z]{1,40}(?:['’][a-z]{1,3})?")


class _Phrase(NamedTuple):
    """The words of a phrase after its first, and the concepts of which it is one."""

    rest: tuple[str, ...]
    concepts: frozenset[int]


class _Table(NamedTuple):
    """The concepts of English terms, of Chinese words, and of phrases by their first words."""

    english: dict[str, frozenset[int]]
    chinese: dict[str, frozenset[int]]
    phrases: dict[str, list[_Phrase]]


@lru_cache(maxsize=1)
def _table() -> _Table:
    """The concepts as they are looked up."""
    english, chinese, phrases = dict[str, set[int]](), dict[str, set[int]](), dict[tuple[str, ...], set[int]]()
    for number, group in enumerate(_GROUPS.read_text(encoding="utf8").splitlines()):
        for word in group.split():
            if not word.isascii():
                chinese.setdefault(word, set()).add(number)
            elif "-" in word:
                phrases.setdefault(tuple(map(_term, word.split("-"))), set()).add(number)
            else:
                for form in forms_of(_term(word)):
                    english.setdefault(form, set()).add(number)
    by_first: dict[str, list[_Phrase]] = {}
    for (first, *rest), numbers in phrases.items():
        for form in forms_of(first):
            by_first.setdefault(form, []).append(_Phrase(tuple(rest), frozenset(numbers)))
    return _Table(
        {term: frozenset(numbers) for term, numbers in english.items()},
        {word: frozenset(numbers) for word, numbers in chinese.items()},
        by_first,
    )


@lru_cache(maxsize=1 << 14)
def _term(word: str) -> str:
    """The index term of a word; a function word, which has none, stands for itself."""
    return next(iter(tokenize(word)), word.lower())


@lru_cache(maxsize=1)
def _verbs() -> dict[str, frozenset[str]]:
    rows = [frozenset(term for word in row.split() for term in tokenize(word)) for row in _IRREGULAR_VERBS.split("|")]
    return {form: forms for forms in rows for form in forms}


def forms_of(term: str) -> frozenset[str]:
    """An index term, and those of the other forms of an irregular verb: `broke` for `break`."""
    return _verbs().get(term, frozenset((term,)))


def of_term(term: str) -> frozenset[int]:
    """The concepts of an index term of English."""
    return _table().english.get(term, frozenset())


def of_word(term: str) -> frozenset[int]:
    """The concepts of an index term of either language: a Chinese one may be a word of two characters."""
    return of_term(term) if term.isascii() else _table().chinese.get(term, frozenset())


def mates(term: str) -> frozenset[str]:
    """The index terms and Chinese words that share a concept with an index term or a Chinese word; itself aside."""
    members = _members()
    return frozenset(word for number in of_word(term) for word in members[number]) - {term}


@lru_cache(maxsize=1)
def _members() -> dict[int, list[str]]:
    """The words of each concept, phrases aside."""
    found: dict[int, list[str]] = {}
    for word, numbers in (*_table().english.items(), *_table().chinese.items()):
        for number in numbers:
            found.setdefault(number, []).append(word)
    return found


@lru_cache(maxsize=1)
def _instances() -> dict[str, frozenset[int]]:
    rows = (row.partition(":") for row in _INSTANCES.split("|"))
    return {term: of_term(tokenize(kind)[0]) for kind, _, words in rows for term in tokenize(words)}


def of_instance(term: str) -> frozenset[int]:
    """The concepts of the kind of thing that an index term names one of."""
    return _instances().get(term, frozenset())


def of_chinese(text: str) -> list[tuple[int, int, frozenset[int]]]:
    """The Chinese words of concepts in a text, the longest at each place, each with where it stands."""
    words, found, place = _table().chinese, list[tuple[int, int, frozenset[int]]](), 0
    while place < len(text):
        if text[place].isascii():
            place += 1
            continue
        size = next((n for n in range(_LONGEST, 0, -1) if text[place : place + n] in words), 0)
        if size:
            found.append((place, place + size, words[text[place : place + size]]))
        place += size or 1
    return found


def of_phrases(text: str) -> list[tuple[tuple[str, ...], frozenset[int]]]:
    """The English phrases of concepts in a text, each as the index terms of its words, function words left out."""
    phrases, words = _table().phrases, [_term(word) for word in _WORD.findall(text)]
    found: list[tuple[tuple[str, ...], frozenset[int]]] = []
    for place, word in enumerate(words):
        for phrase in phrases.get(word, ()):
            if _follow(phrase.rest, words, place):
                terms = (t for one in (word, *phrase.rest) for t in tokenize(one))
                found.append((tuple(terms), phrase.concepts))
    return found


def _follow(rest: Iterable[str], words: Sequence[str], place: int) -> bool:
    """Whether words follow in that order on the one at a place, with few others between them."""
    for wanted in rest:
        after = words[place + 1 : place + 2 + _MOST_BETWEEN]
        if wanted not in after:
            return False
        place += 1 + after.index(wanted)
    return True
