"""Keywords of a text as they stand in it: names, identifiers, frequent content words and short phrases."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from agentic_memory_bank.tools.text.names import marks
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import STOP_WORDS, tokenize

MAX_KEYWORD: Final = 128
"""Longest keyword, in characters."""
_NAME: Final = 1.6
"""How much more names and identifiers weigh among keywords."""
_PHRASE: Final = 1.3
"""How much more phrases weigh among keywords."""


class Rarity:
    """Weighs terms: the fewer texts of the input one stands in, the more; 0.7 at least.

    Args:
        background: In how many texts of the whole input each index term stands; without it all are equally rare.
    """

    def __init__(self, background: Mapping[str, int] | None = None) -> None:
        self._background = background or {}
        self._texts = max(self._background.values(), default=1)

    def of(self, term: str) -> float:
        """Weigh a term."""
        return math.log(1 + self._texts / max(1, self._background.get(term, 1)))

    def of_all(self, terms: Sequence[str]) -> float:
        """Weigh a phrase by the mean of its terms."""
        return sum(map(self.of, terms)) / len(terms) if terms else 0.0


_HAN: Final = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PIECE: Final = lazy_pattern(f"[{_HAN}]+|[^\\W_{_HAN}]+(?:(?:[-.'’&]|_+)[^\\W_{_HAN}]+)*(?:\\+\\+|#)?")
_TITLE: Final = lazy_pattern(f"《([^《》\n]{{2,40}})》|([{_HAN}]{{1,8}}(?:·[{_HAN}]{{1,8}})+)")
_INSIDE_NAMES: Final = frozenset(("of", "the", "de", "la", "van", "von", "der", "del", "and", "&"))
_LONGEST_NAME: Final = 5
_COMMON_WORDS: Final = """
    able actually also always away bit come coming could day days definitely done even everything feel find
    first get gets getting give go goes going good got great guess guys happen hello help hey hi keep kind know
    last least let like little long look looking lot lots love made make makes making maybe mean much need never
    new nice nothing often ok okay old one part people put really right said say saying says see seem seen
    several someone something soon still stuff sure take taken tell thank thanks thing things think thought time
    times today told took try trying two use used using usually want wanted way week weeks welcome well went
    work wow yeah year years yep yes yesterday yet
    时候 情况 问题 东西 部分 方面 事情 时间 地方 之一 一个 一些 今天 明天 昨天 现在 以后 以前 其中 目前
    当时 大家 朋友
"""
_LIGHT: Final = frozenset(_COMMON_WORDS.split())
"""Words of the open classes that are too common to name what a text is about."""


@dataclass
class _Candidate:
    """A word or phrase that may become a keyword: how it is written, how often, where first, what its kind weighs."""

    written: Counter[str] = field(default_factory=Counter[str])
    first: int = 0
    kind: float = 1.0

    @property
    def surface(self) -> str:
        return max(self.written, key=lambda form: (self.written[form], -len(form)))

    @property
    def count(self) -> int:
        return self.written.total()


def keywords(text: str, *, limit: int = 8, rarity: Rarity | None = None) -> list[str]:
    """Name what a text is about: names, identifiers, frequent content words and short phrases, as they stand in it.

    Args:
        text: English, Chinese, or both.
        limit: The most that are returned.
        rarity: What terms weigh in the whole input.

    Returns:
        The keywords, the weightiest first; fewer where the text has no more, none for a blank one.
    """
    rarity = rarity or Rarity()
    found = _candidates(text)
    weights = {
        terms: candidate.count**0.75 * rarity.of_all(terms) * candidate.kind for terms, candidate in found.items()
    }
    chosen: list[tuple[str, ...]] = []
    for terms in sorted(found, key=lambda terms: (-weights[terms], found[terms].first, terms)):
        if len(chosen) >= limit:
            break
        if not any(_covers(terms, other) or _covers(other, terms) for other in chosen):
            chosen.append(terms)
    return [found[terms].surface[:MAX_KEYWORD] for terms in chosen]


def _covers(terms: Sequence[str], other: Sequence[str]) -> bool:
    return set(other) <= set(terms)


def _candidates(text: str) -> dict[tuple[str, ...], _Candidate]:
    """Collect candidates by their index terms, so that forms of one word count together."""
    names = {name.casefold() for name in marks(text)}
    found: dict[tuple[str, ...], _Candidate] = {}
    for start, end in sentences(text):
        for surface, offset, kind in _spoken(text, start, end, names):
            terms = _terms(surface)
            if terms:
                candidate = found.setdefault(terms, _Candidate(first=offset))
                candidate.written[surface] += 1
                candidate.kind = max(candidate.kind, kind)
    return {terms: one for terms, one in found.items() if one.kind != _REPEATED or one.count > 1}


_REPEATED: Final = 1.25
"""The kind of a phrase, or unknown Chinese word, that counts only when it comes again."""


def _spoken(text: str, start: int, end: int, names: set[str]) -> Iterator[tuple[str, int, float]]:
    """Yield the candidates in a sentence: surface, offset and weight of their kind."""
    for title in _TITLE.finditer(text, start, end):
        group = 1 if title[1] else 2
        yield title[group], title.start(group), _NAME * _PHRASE
    pieces = list(_PIECE.finditer(text, start, end))
    for piece in pieces:
        if _is_han(piece[0]):
            yield from _chinese_candidates(piece[0], piece.start())
    latin = [(piece[0], piece.start()) for piece in pieces if not _is_han(piece[0])]
    for word, offset in latin:
        if not _is_light(word):
            yield word, offset, _NAME if _is_name(word, names) else 1.0
    yield from _names_of_words(text, latin, names)
    yield from _pairs_of_words(text, latin)


@lru_cache(maxsize=1 << 16)
def _terms(surface: str) -> tuple[str, ...]:
    return tuple(tokenize(surface))


_JOINTS: Final = lazy_pattern(r"[-.&_’]+")
_STARTS_HAN: Final = lazy_pattern(f"[{_HAN}]")


def _is_han(piece: str) -> bool:
    return _STARTS_HAN.match(piece) is not None


@lru_cache(maxsize=1 << 16)
def _is_light(word: str) -> bool:
    folded = word.casefold()
    return len(word) < 2 or folded in _LIGHT or folded in STOP_WORDS or folded.replace(".", "").isdigit() or "'" in word


def _is_name(word: str, names: set[str]) -> bool:
    return word.casefold() in names or _bare(word) in names


@lru_cache(maxsize=1 << 16)
def _bare(word: str) -> str:
    return _JOINTS.sub("", word).casefold()


def _names_of_words(text: str, words: Sequence[tuple[str, int]], names: set[str]) -> Iterator[tuple[str, int, float]]:
    """Runs of two and more capitalised words, with small words between them."""
    run: list[tuple[str, int]] = []
    for word, offset in [*words, ("", -1)]:
        adjacent = bool(run) and offset == run[-1][1] + len(run[-1][0]) + 1 and text[offset - 1] == " "
        if run and not (adjacent and len(run) < _LONGEST_NAME and (word[:1].isupper() or word in _INSIDE_NAMES)):
            yield from _named(text, run, names)
            run = []
        if run or (word[:1].isupper() and word.casefold() not in STOP_WORDS):
            run.append((word, offset))


def _named(text: str, run: list[tuple[str, int]], names: set[str]) -> Iterator[tuple[str, int, float]]:
    while run and run[-1][0] in _INSIDE_NAMES:
        run = run[:-1]
    if len(run) > 1 and any(_is_name(word, names) for word, _ in run):
        start, end = run[0][1], run[-1][1] + len(run[-1][0])
        yield text[start:end], start, _NAME * _PHRASE


def _pairs_of_words(text: str, words: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int, float]]:
    """Two content words side by side, a keyword when they come again."""
    for (word, offset), (following, after) in zip(words, words[1:], strict=False):
        if (
            after == offset + len(word) + 1
            and text[after - 1] == " "
            and not _is_light(word)
            and not _is_light(following)
        ):
            yield text[offset : after + len(following)], offset, _REPEATED


# ----------------------------------------------------------------------------------------------------- Chinese words

_CHINESE_PLAIN: Final = frozenset(
    "的了是在我你他她它们吗呢啊吧呀也就都很么这那个和与及或而着过给对把被让从到去来有会要能可以之其于为不没上下中"
    "说等并但又还再最更已将由所以因如则各每某该此一二三四五六七八九十百千万亿两几年月日时分第"
)
"""Chinese characters that stand between words rather than inside unknown names."""

_NOUNS: Final = frozenset(("n", "nr", "ns", "nt", "nz", "nrt", "nrfg", "nw", "vn", "an", "i", "j", "l", "eng", "g"))
_UNKNOWN: Final = -18.0
_LONGEST_WORD: Final = 8


def _chinese_candidates(run: str, offset: int) -> Iterator[tuple[str, int, float]]:
    words, nouns = _dictionary()
    unknown = ""
    position = 0
    for word in [*_cut_words(run, words), ""]:
        if len(word) == 1 and word not in _CHINESE_PLAIN:
            unknown += word
        else:
            if 2 <= len(unknown) <= 4:
                yield unknown, offset + position - len(unknown), _REPEATED
            unknown = ""
        if len(word) > 1 and word in nouns and word not in _LIGHT:
            yield word, offset + position, 1.0
        position += len(word)


def _cut_words(run: str, words: Mapping[str, float]) -> list[str]:
    """Cut a run of Chinese characters into the likeliest words of the dictionary; what it lacks into characters."""
    best, length = [0.0] * (len(run) + 1), [1] * (len(run) + 1)
    for start in range(len(run) - 1, -1, -1):
        best[start] = words.get(run[start], _UNKNOWN) + best[start + 1]
        for size in range(2, min(_LONGEST_WORD, len(run) - start) + 1):
            known = words.get(run[start : start + size])
            if known is not None and known + best[start + size] > best[start]:
                best[start], length[start] = known + best[start + size], size
    cut, start = list[str](), 0
    while start < len(run):
        cut.append(run[start : start + length[start]])
        start += length[start]
    return cut


@lru_cache(maxsize=1)
def _dictionary() -> tuple[dict[str, float], frozenset[str]]:
    """Chinese words with the logarithm of their share in all text, and which of them are nouns; read on first use.

    Only jieba's word list is read: its own loader keeps an unchecked cache in the shared temporary folder. Without
    jieba, only what is repeated can be a keyword.
    """
    found = find_spec("jieba")
    file = Path(found.origin).with_name("dict.txt") if found and found.origin else None
    if file is None or not file.is_file():
        return {}, frozenset()
    rows = [line.split(" ") for line in file.read_text("utf-8").splitlines()]
    total = math.log(sum(int(row[1]) for row in rows))
    words = {row[0]: math.log(int(row[1]) or 1) - total for row in rows}
    return words, frozenset(row[0] for row in rows if len(row) > 2 and row[2] in _NOUNS)
