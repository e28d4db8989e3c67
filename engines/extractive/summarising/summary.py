"""What a text is about, in its own words: central sentences, keywords, and one short sentence of context.

Nothing is written, everything is selected. A term weighs more the oftener the text uses it and the fewer other texts
do; names, numbers and dates weigh more still, since a memory without them answers little. No vectors are needed.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import STOP_WORDS, tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

Span = tuple[int, int]

MAX_KEYWORD: Final = 128
"""Longest keyword, in characters."""

MAX_CONTEXT: Final = 160
"""Longest context, in characters."""

_LEAST: Final = 0.3
"""Smallest share of a text that its summary should be."""

_MOST: Final = 0.5
"""Largest share of a text of three sentences or more that its summary may be."""

_FACT: Final = 0.15
"""What each name, number or date adds to the weight of a sentence, in parts of it; four are counted."""

_FIRST: Final = 1.3
"""How much more the first sentence weighs: it names the subject that later ones take for granted."""

_ASKING: Final = 0.4
"""How much less a question weighs: it states nothing."""

_TOLD: Final = 0.4
"""What is left of a term's weight once a chosen sentence has it, so that sentences do not repeat each other."""

_NAME: Final = 1.6
"""How much more names and identifiers weigh among keywords."""

_PHRASE: Final = 1.3
"""How much more phrases weigh among keywords."""

_MOST_SENTENCES: Final = 500
"""From how many sentences a summary is chosen: of a longer text it says how that begins."""

_HEADING: Final = re.compile(r"\s*#{1,6}[ \t]+(?P<title>\S(?:[^\n]*[^\n \t#])?)[ \t#]*(?:\n|\Z)")
_QUESTION: Final = re.compile(r"[?？][\"'”’)\]）」』\s]*\Z")


# ----------------------------------------------------------------------------------------------------------- summary


def summarize(
    text: str,
    sentences: Sequence[Span],
    *,
    background: Mapping[str, int] | None = None,
    ratio: float = 0.4,
    max_tokens: int = 220,
) -> list[Span]:
    """Select the sentences that say most of what a text says.

    Args:
        text: The text.
        sentences: The spans of its sentences, in order.
        background: In how many texts of the whole input each index term stands; without it all are equally rare.
        ratio: The share of the text to aim at, in tokens.
        max_tokens: Largest summary, in estimated tokens; one or two sentences, or one where all are longer, exceed it.

    Returns:
        The spans of the selected sentences in text order: all of one or two, 30 to 50 % of more; none of a blank text.
    """
    rows = [_Row(span, text[span[0] : span[1]]) for span in sentences if text[span[0] : span[1]].strip()]
    stated = [row for row in rows if not row.is_heading] or rows
    if len(stated) <= 2:
        return [row.span for row in stated]
    stated = stated[:_MOST_SENTENCES]
    total = sum(row.tokens for row in stated)
    budget = _Budget(*(min(share * total, max_tokens) for share in (_LEAST, ratio, _MOST)))
    return sorted(row.span for row in _chosen(stated, _weights(stated, background), budget))


_FACTS: Final = re.compile(
    r"(?<=[^\W\d_][ ,;:])[A-Z][\w-]+|\d[\d.,:%]*|《[^》\n]{0,200}》|(?<![A-Za-z])[A-Za-z]++\d\w*"
)
"""What looks like a name inside a sentence, a number, a title or an identifier."""


@dataclass
class _Row:
    """A sentence with what its weight is made of."""

    span: Span
    text: str
    terms: frozenset[str] = field(init=False)
    tokens: int = field(init=False)

    def __post_init__(self) -> None:
        self.terms = frozenset(tokenize(self.text))
        self.tokens = estimate_tokens(self.text)

    @property
    def is_heading(self) -> bool:
        heading = _HEADING.match(self.text)
        return heading is not None and not self.text[heading.end() :].strip()

    def standing(self, first: bool) -> float:
        """What the sentence weighs beside its terms: its place, its facts, and whether it asks."""
        facts = min(4, len(set(_FACTS.findall(self.text))))
        return (1 + _FACT * facts) * (_FIRST if first else 1.0) * (_ASKING if _QUESTION.search(self.text) else 1.0)


@dataclass(frozen=True)
class _Budget:
    """How many tokens a summary has at least where that is possible, should have, and may have."""

    least: float
    aim: float
    most: float


def _weights(rows: Iterable[_Row], background: Mapping[str, int] | None) -> dict[str, float]:
    frequency = Counter(term for row in rows for term in sorted(row.terms))
    rarity = _Rarity(background)
    return {term: (1 + math.log(count)) * rarity.of(term) for term, count in frequency.items()}


class _Rarity:
    """How few texts of the input a term stands in, as a weight of 0.7 and more."""

    def __init__(self, background: Mapping[str, int] | None) -> None:
        self._background = background or {}
        self._texts = max(self._background.values(), default=1)

    def of(self, term: str) -> float:
        return math.log(1 + self._texts / max(1, self._background.get(term, 1)))

    def of_all(self, terms: Sequence[str]) -> float:
        return sum(map(self.of, terms)) / len(terms) if terms else 0.0


def _chosen(rows: Sequence[_Row], weights: dict[str, float], budget: _Budget) -> list[_Row]:
    """Take the weightiest sentence that fits, lower the weight of what it says, and go on until there is enough."""
    standing = [row.standing(position == 0) for position, row in enumerate(rows)]
    chosen, used = list[int](), 0

    def lightness(place: int) -> tuple[float, int, int]:
        return -standing[place] * _substance(rows[place], weights), rows[place].span[0], place

    # Weights only ever fall: a sentence that is still first once it is weighed again is the weightiest of all.
    left = [lightness(place) for place in range(len(rows))]
    heapify(left)
    while used < budget.aim and left:
        known, place = left[0], left[0][-1]
        best, now = rows[place], lightness(place)
        if used + best.tokens > budget.most:
            heappop(left)
        elif now > known:
            heapreplace(left, now)
        else:
            heappop(left)
            chosen.append(place)
            used += best.tokens
            weights.update((term, weights[term] * _TOLD) for term in best.terms)
    large = [
        lightness(place)
        for place, row in enumerate(rows)
        if used < budget.least <= row.tokens <= budget.most and place not in chosen
    ]
    if large:  # what was taken left no room for any of those that would be enough alone
        return [rows[min(large)[-1]]]
    return [rows[place] for place in chosen] or [min(rows, key=lambda row: row.tokens)]


def _substance(row: _Row, weights: Mapping[str, float]) -> float:
    """The weight of a sentence's terms: more than their mean, less than their sum, so that not just length wins."""
    return math.fsum(weights[term] for term in row.terms) / math.sqrt(len(row.terms) + 3)


# ---------------------------------------------------------------------------------------------------------- keywords

_HAN: Final = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PIECE: Final = re.compile(f"[{_HAN}]+|[^\\W_{_HAN}]+(?:(?:[-.'’&]|_+)[^\\W_{_HAN}]+)*(?:\\+\\+|#)?")
_TITLE: Final = re.compile(f"《([^《》\n]{{2,40}})》|([{_HAN}]{{1,8}}(?:·[{_HAN}]{{1,8}})+)")
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


def keywords(text: str, *, limit: int = 8, background: Mapping[str, int] | None = None) -> list[str]:
    """Name what a text is about: names, identifiers, frequent content words and short phrases, as they stand in it.

    Args:
        text: English, Chinese, or both.
        limit: How many at most.
        background: In how many texts of the whole input each index term stands.

    Returns:
        The keywords, the weightiest first; fewer where the text has no more, none for a blank one.
    """
    rarity = _Rarity(background)
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
    names = {name.casefold() for name in names_and_numbers(text)}
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


_JOINTS: Final = re.compile(r"[-.&_’]+")
_STARTS_HAN: Final = re.compile(f"[{_HAN}]")


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


# ----------------------------------------------------------------------------------------------------------- context

_FEW_TERMS: Final = 6
"""Index terms below which a sentence is too short to say what a text is about."""

_CLAUSE_END: Final = re.compile(r"[,;:，；：、—–](?=\s|[^\x00-\x7f])|\s[-(（]|\s")


def context(text: str, sentences: Sequence[Span], keywords: Sequence[str]) -> str:
    """Select one short sentence that says what a text is about: its heading, or the sentence with most of its keywords.

    Args:
        text: The text.
        sentences: The spans of its sentences, in order.
        keywords: Its keywords, as `keywords` gives them.

    Returns:
        Words of the text, at most `MAX_CONTEXT` characters, cut at a clause where longer; "" for a blank text.
    """
    heading = _HEADING.match(text)
    if heading and len(tokenize(heading["title"])) > 1:
        return _clause(heading["title"])
    rows = [_Row(span, text[span[0] : span[1]]) for span in sentences if text[span[0] : span[1]].strip()]
    stated = [row for row in rows if not row.is_heading] or rows
    if not stated:
        return ""
    weights = {
        term: 1 / (1 + rank) for rank, keyword in reversed(list(enumerate(keywords))) for term in tokenize(keyword)
    }
    best = max(range(len(stated)), key=lambda i: (_aboutness(stated[i], weights, i), -i))
    return _clause(stated[best].text)


def _aboutness(row: _Row, weights: Mapping[str, float], position: int) -> float:
    """How many keywords a sentence has; less when it is asked, very short or long, or far down."""
    about = 0.1 + math.fsum(weights.get(term, 0.0) for term in row.terms)
    length = min(1.0, len(row.terms) / _FEW_TERMS) ** 2 / max(1.0, len(row.text) / MAX_CONTEXT)
    return about * length * (_ASKING if _QUESTION.search(row.text) else 1.0) / (1 + 0.1 * position)


def _clause(sentence: str) -> str:
    """Shorten a sentence to its first clauses, or words, that fit."""
    sentence = sentence.strip()
    if len(sentence) <= MAX_CONTEXT:
        return sentence
    ends = [mark.start() for mark in _CLAUSE_END.finditer(sentence, 0, MAX_CONTEXT)]
    clauses = [end for end in ends if not sentence[end].isspace() and end >= MAX_CONTEXT // 4]
    border = clauses[-1] if clauses else (ends[-1] if ends else MAX_CONTEXT)
    return sentence[:border].strip()
