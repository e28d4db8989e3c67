"""What a text is about, in its own words: central sentences, and one short sentence of context.

Nothing is written, everything is selected. A term weighs more the oftener the text uses it and the fewer other texts
do; names, numbers and dates weigh more still, since a memory without them answers little. No vectors are needed.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import Final

from agentic_memory_bank.engines.extractive.summarising.keywords import Rarity
from agentic_memory_bank.tools.text.sentences import QUESTION_END
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

Span = tuple[int, int]

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

_MOST_SENTENCES: Final = 500
"""From how many sentences a summary is chosen: of a longer text it says how that begins."""

_HEADING: Final = re.compile(r"\s*#{1,6}[ \t]+(?P<title>\S(?:[^\n]*[^\n \t#])?)[ \t#]*(?:\n|\Z)")


def summarize(
    text: str,
    sentences: Sequence[Span],
    *,
    rarity: Rarity | None = None,
    ratio: float = 0.4,
    max_tokens: int = 220,
) -> list[Span]:
    """Select the sentences that say most of what a text says.

    Args:
        text: The whole text.
        sentences: The spans of its sentences, in order.
        rarity: What terms weigh in the whole input. Default: all the same.
        ratio: The share of the text to aim at, in tokens.
        max_tokens: Largest summary, in estimated tokens; one or two sentences, or one where all are longer, exceed it.

    Returns:
        The spans of the selected sentences in text order: all of one or two, 30 to 50 % of more; none of a blank text.
    """
    rows = [_WeighedSentence(span, text[span[0] : span[1]]) for span in sentences if text[span[0] : span[1]].strip()]
    stated = [row for row in rows if not row.is_heading] or rows
    if len(stated) <= 2:
        return [row.span for row in stated]
    stated = stated[:_MOST_SENTENCES]
    total = sum(row.tokens for row in stated)
    budget = _SummaryLength(*(min(share * total, max_tokens) for share in (_LEAST, ratio, _MOST)))
    return sorted(row.span for row in _chosen(stated, _weights(stated, rarity or Rarity()), budget))


_FACTS: Final = re.compile(
    r"(?<=[^\W\d_][ ,;:])[A-Z][\w-]+|\d[\d.,:%]*|《[^》\n]{0,200}》|(?<![A-Za-z])[A-Za-z]++\d\w*"
)
"""What looks like a name inside a sentence, a number, a title or an identifier."""


@dataclass
class _WeighedSentence:
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
        return (1 + _FACT * facts) * (_FIRST if first else 1.0) * (_ASKING if QUESTION_END.search(self.text) else 1.0)


@dataclass(frozen=True)
class _SummaryLength:
    """How many tokens a summary has at least where that is possible, should have, and may have."""

    least: float
    aim: float
    most: float


def _weights(rows: Iterable[_WeighedSentence], rarity: Rarity) -> dict[str, float]:
    frequency = Counter(term for row in rows for term in sorted(row.terms))
    return {term: (1 + math.log(count)) * rarity.of(term) for term, count in frequency.items()}


def _chosen(
    rows: Sequence[_WeighedSentence], weights: dict[str, float], budget: _SummaryLength
) -> list[_WeighedSentence]:
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


def _substance(row: _WeighedSentence, weights: Mapping[str, float]) -> float:
    """The weight of a sentence's terms: more than their mean, less than their sum, so that not just length wins."""
    return math.fsum(weights[term] for term in row.terms) / math.sqrt(len(row.terms) + 3)


_FEW_TERMS: Final = 6
"""Index terms below which a sentence is too short to say what a text is about."""

_CLAUSE_END: Final = re.compile(r"[,;:，；：、—–](?=\s|[^\x00-\x7f])|\s[-(（]|\s")


def context(text: str, sentences: Sequence[Span], keywords: Sequence[str]) -> str:
    """Select one short sentence that says what a text is about: its heading, or the sentence with most of its keywords.

    Args:
        text: The whole text.
        sentences: The spans of its sentences, in order.
        keywords: Its keywords, as `keywords` gives them.

    Returns:
        Words of the text, at most `MAX_CONTEXT` characters, cut at a clause where longer; "" for a blank text.
    """
    heading = _HEADING.match(text)
    if heading and len(tokenize(heading["title"])) > 1:
        return _clause(heading["title"])
    rows = [_WeighedSentence(span, text[span[0] : span[1]]) for span in sentences if text[span[0] : span[1]].strip()]
    stated = [row for row in rows if not row.is_heading] or rows
    if not stated:
        return ""
    weights = {
        term: 1 / (1 + rank) for rank, keyword in reversed(list(enumerate(keywords))) for term in tokenize(keyword)
    }
    best = max(range(len(stated)), key=lambda i: (_aboutness(stated[i], weights, i), -i))
    return _clause(stated[best].text)


def _aboutness(row: _WeighedSentence, weights: Mapping[str, float], position: int) -> float:
    """How many keywords a sentence has; less when it is asked, very short or long, or far down."""
    about = 0.1 + math.fsum(weights.get(term, 0.0) for term in row.terms)
    length = min(1.0, len(row.terms) / _FEW_TERMS) ** 2 / max(1.0, len(row.text) / MAX_CONTEXT)
    return about * length * (_ASKING if QUESTION_END.search(row.text) else 1.0) / (1 + 0.1 * position)


def _clause(sentence: str) -> str:
    """Shorten a sentence to its first clauses, or words, that fit."""
    sentence = sentence.strip()
    if len(sentence) <= MAX_CONTEXT:
        return sentence
    ends = [mark.start() for mark in _CLAUSE_END.finditer(sentence, 0, MAX_CONTEXT)]
    clauses = [end for end in ends if not sentence[end].isspace() and end >= MAX_CONTEXT // 4]
    border = clauses[-1] if clauses else (ends[-1] if ends else MAX_CONTEXT)
    return sentence[:border].strip()
