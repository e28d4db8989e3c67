"""Index terms of a text: folded, stemmed, without function words; pairs of characters in Chinese."""

import re
import threading
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from operator import add

import Stemmer

from agentic_memory_bank.tools.text.cleaning import CJK
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.traditional import SIMPLIFIED

MAX_TERM = 64
"""Longest index term, in characters; what is beyond is not indexed."""


def words_of(text: str) -> frozenset[str]:
    """The words of a list written as one text."""
    return frozenset(text.split())


_FUNCTION_WORDS = """
a about above after again against all also am among an and any are as at be because been before being below between
both but by can could did do does doing down during each either else ever few for from further had has have having
he her here hers herself him himself his how however i if in into is it its itself just may me might more most must
my myself neither no nor not now of off on once only onto or other our ours ourselves out over own per quite rather
really same shall she should since so some such than that the their theirs them themselves then there these they
this those though through thus to too toward towards under until up upon us very was we were what whatever when
where whether which while who whom whose why will with within without would yet you your yours yourself yourselves
"""
STOP_WORDS = words_of(_FUNCTION_WORDS)
"""English function words: frequent, and saying nothing of what a text is about."""

_INVISIBLE = lazy_pattern("[\u0300-\u036f\u00ad\u200b-\u200f\u2060\ufe0e\ufe0f\ufeff]")
_PIECE = lazy_pattern(r"\S{1,256}|\s+")
_SPACED = str.maketrans(dict.fromkeys("，：；！？（）", " "))  # folded to ASCII they would look like joints
_LETTERS = (
    str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "æ": "ae", "œ": "oe", "Ø": "O", "Ł": "L", "Đ": "D"})
    | SIMPLIFIED
)
WORD = f"[^\\W_{CJK}]+"
_UNIT = lazy_pattern(f"(?P<cjk>[{CJK}]+)|(?P<word>{WORD}(?:(?:[-.'’&:]|_+|(?<=\\d),(?=\\d{{3}})){WORD})*(?:\\+\\+|#)?)")
_NUMBER = lazy_pattern(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
JOINTS = lazy_pattern(r"[-.'’&:_,]+|(?<=[^\W\d_]{2})(?=\d)|(?<=\d)(?=[^\W\d_]{2})|(?<=[a-z])(?=[A-Z])")
_CONTRACTION = lazy_pattern(r"(.*)(?:['’](?:s|re|ve|ll|d|m))", re.IGNORECASE)
_ORDINALS = frozenset(("st", "nd", "rd", "th"))
_local = threading.local()
_USUAL = 32  # longest piece of text, in characters, whose terms are worth keeping


def tokenize(text: str) -> list[str]:
    """List the index terms of a text, in order and with repetitions.

    Case, accents and traditional characters are folded, English function words dropped, English words stemmed, CJK runs
    cut into overlapping pairs of characters. An identifier yields itself without its joints and its parts (`GPT-4o`:
    `gpt4o gpt 4o`), a number its plain form (`1,121`: `1121`).
    """
    return [term for chunk in text.split() for term in (_known_chunk if len(chunk) <= _USUAL else _chunk_terms)(chunk)]


def _chunk_terms(chunk: str) -> tuple[str, ...]:
    """The terms of a piece of text without white space: no term reaches across it."""
    return tuple(
        term
        for unit in _UNIT.finditer(fold(chunk))
        for term in (_pairs(unit["cjk"]) if unit["cjk"] else _word_terms(unit["word"]))
    )


_known_chunk = lru_cache(maxsize=1 << 16)(_chunk_terms)  # words come again, with the same marks around them


def fold(text: str) -> str:
    """Replace compatibility forms and traditional characters, drop accents; piecewise, or many marks take too long."""
    if text.isascii():
        return text
    pieces = (_fold_piece(piece) for piece in _PIECE.findall(text.translate(_SPACED)))
    return "".join(pieces)


def _fold_piece(piece: str) -> str:
    if piece.isascii():
        return piece
    bare = _INVISIBLE.sub("", unicodedata.normalize("NFKD", piece))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS)


def _pairs(run: str) -> Iterable[str]:
    return map(add, run, run[1:]) if len(run) > 1 else (run,)


@lru_cache(maxsize=1 << 16)
def _word_terms(word: str) -> tuple[str, ...]:
    """The terms of one Latin word, number or identifier, still in its own case."""
    if _NUMBER.fullmatch(word):
        return (plain_number(word),)
    if word.casefold().replace("’", "'").endswith("n't"):
        return ()  # don't, isn't: function words all
    if contracted := _CONTRACTION.fullmatch(word):
        word = contracted[1]
    if word.endswith(("#", "++")):
        return (word.casefold()[:MAX_TERM],)
    parts = [part for part in JOINTS.split(word) if part]
    if len(parts) == 1:
        return _simple_terms(parts[0])
    return _whole(parts) + tuple(term for part in parts if _says_something(part) for term in _simple_terms(part))


def _says_something(part: str) -> bool:
    """Whether a part of an identifier is worth a term of its own: not a lone letter, nor the end of `7th`."""
    return part.isdigit() or (len(part) > 1 and part not in _ORDINALS)


def _whole(parts: list[str]) -> tuple[str, ...]:
    if len(parts) == 2 and parts[0].isdigit() and parts[1].casefold() in _ORDINALS:
        return ()
    return (_stem("".join(parts).casefold()[:MAX_TERM]),)


def _simple_terms(word: str) -> tuple[str, ...]:
    folded = word.casefold()[:MAX_TERM]
    if folded.isdigit():
        return (plain_number(folded),)
    acronym = 1 < len(word) <= 5 and word.isupper()  # US, IT, WHO are no pronouns
    return () if folded in STOP_WORDS and not acronym else (_stem(folded),)


def plain_number(number: str) -> str:
    """A number without thousands separators and leading zeros."""
    plain = number.replace(",", "").lstrip("0") or "0"
    return ("0" + plain if plain.startswith(".") else plain)[:MAX_TERM]


def _stem(word: str) -> str:
    """Reduce an English word to its stem. A Snowball stemmer serves one thread at a time: each thread has its own."""
    if not hasattr(_local, "stem"):
        _local.stem = Stemmer.Stemmer("english").stemWord  # pyright: ignore[reportUnknownMemberType]
    return _local.stem(word)
