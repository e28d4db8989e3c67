"""The offline reader: which sentences of a text answer a question, word for word and in their place, or none."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from agentic_memory_bank.engines.extractive.answering.judging import judged
from agentic_memory_bank.engines.extractive.answering.relevance import AskedQuestion, CandidateSentence, Encode
from agentic_memory_bank.engines.extractive.answering.second_reading import Judge
from agentic_memory_bank.engines.extractive.reading.kinds import asked_for, holds
from agentic_memory_bank.engines.extractive.reading.phrases import QUESTION_WORDS
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.place import Place, Placed
from agentic_memory_bank.tools.text.places import sentences_of
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.traditional import simplified

LONGEST_QUESTION: Final = 8_000
"""Characters of a question that are read: what follows is material that was pasted behind it."""
SURE: Final = 0.71
"""How sure it has to be that the likeliest sentence answers, else nothing is quoted (`benchmarks/fit_relevance.py`)."""

_ALSO: Final = 0.06
"""How likely, beside the best sentence, another one has to be to be quoted too."""
_ALSO_ELSEWHERE: Final = 0.01
"""The same of the likeliest sentence of another document: what documents say of one thing differs in its words."""

_SAME: Final = 0.7
"""Share of the terms of the shorter of two sentences from which one of them is enough."""

_TELLING: Final = 3
"""Terms that a part of a question needs to be understood without the rest of it."""
_ALONE: Final = 2
"""Those with which it is asked alone where it has no answer with the rest."""

_MOST_PARTS: Final = 4
"""Questions that one is taken to be made of at most; what looks like more is none."""

_MOST_REPLACED: Final = 4
"""How often in a row a sentence is taken to have been replaced; two that replace each other hold neither."""

_DIRECTIVES: Final = "image|figure|code-block|code|sourcecode|highlight|contents|toctree|include|raw|list-table"
"""Directives of reStructuredText that hold no sentence."""
_POINTER: Final = lazy_pattern(
    r"(?:\s{0,9}(?:\[[^\[\]\n]{1,200}\](?::[ \t]{0,4}(?:\S{1,500}|\Z)|\(#[^()\s]{1,200}\))"
    r"|\[?!\[[^\[\]\n]{0,200}\]\([^()\n]{1,500}\)(?:\]\([^()\n]{1,500}\))?"
    r"|https?://\S{1,500}(?=\s{1,9}\[)"
    rf"|\.\.[ \t]{{1,4}}(?:_[^:\n]{{1,200}}:[ \t]{{0,4}}\S{{0,500}}"
    rf"|(?:\|[^|\n]{{1,100}}\|[ \t])?(?:{_DIRECTIVES})::[^\n]{{0,500}}+)"
    r"|:(?:target|alt):[^\n]{0,500}+))++\s*+"
)
"""Where links lead ("[0.4.0]: https://..."), entries of a table of contents, badges, directives of reStructuredText:
they name, and say nothing."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to read.

    Attributes:
        id: What its quotes are known by.
        text: The whole text.
        score: How well it was found, from 0 to 1.
        placed: The sentences that may be quoted, in order, each with its place.
        replaced: Where sentences of it begin that do not hold, each with the one to quote instead: its passage, and
            where it begins there.
    """

    id: str
    text: str
    score: float
    placed: Sequence[Placed]
    replaced: Mapping[int, tuple[str, int]] = field(default_factory=dict[int, tuple[str, int]])

    @classmethod
    def of(cls, id: str, text: str, score: float, name: str = "") -> "Passage":
        """A text of that name, of which every sentence may be quoted."""
        return cls(id, text, score, sentences_of(text, name))


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence that answers, in its place: `text[start:end]` of the passage with that id; and how sure that is."""

    passage: str
    placed: Placed
    sure: float

    @property
    def start(self) -> int:
        """Where it begins in the text of its passage."""
        return self.placed.start

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.placed.end


@dataclass(frozen=True, slots=True)
class QuotedReading:
    """What was found for a question: quotes, the best first, and the parts of it that nothing answers."""

    quotes: tuple[Quote, ...]
    missing: tuple[str, ...] = ()


def described(place: Place) -> str:
    """A place in words: names, headings, labels."""
    parts = (place.name, place.title, *place.headings, place.sender, place.lead_in, place.row, *place.columns)
    return " > ".join(dict.fromkeys(part for part in parts if part.strip()))


def labelled(text: str, one: Placed) -> str:
    """The cells of a row, each behind the label of its column and before the unit that the label has in brackets."""
    if len(one.place.columns) != len(one.cells) or not one.cells:
        return ""
    cells = (text[start:end] for start, end in one.cells)
    labels = ((label, _UNIT.search(label)) for label in one.place.columns)
    rows = (f"{a}: {cell} {unit[1] if unit else ''}" for (a, unit), cell in zip(labels, cells, strict=True))
    return "; ".join(rows)


_UNIT: Final = lazy_pattern(r"[(（\[]([^()（）\[\]]{1,12})[)）\]]")


def quotes(
    question: str,
    passages: Sequence[Passage],
    *,
    encode: Encode | None = None,
    limit: int = 3,
    judge: Judge | None = None,
) -> list[Quote]:
    """Select the sentences that answer a question; see `read`."""
    return list(read(question, passages, encode=encode, limit=limit, judge=judge).quotes)


def likeliest(question: str, passages: Sequence[Passage], *, limit: int = 3, judge: Judge | None = None) -> list[Quote]:
    """Select the sentences that are likeliest to answer a question, however unsure that is."""
    best = max((passage.score for passage in passages), default=0.0)
    reads = [one for passage in passages for one in reads_of(passage, best)]
    return _select(question[:LONGEST_QUESTION], reads, limit, judge, None, least=0.0)


def read(
    question: str,
    passages: Sequence[Passage],
    *,
    encode: Encode | None = None,
    limit: int = 3,
    judge: Judge | None = None,
) -> QuotedReading:
    """Select the sentences that answer a question, or each part of one that asks several things.

    Args:
        question: The question.
        passages: Where to look.
        encode: Makes the vectors of the question, or of a part of one, and of the sentences that are compared with it.
            Default: words alone decide.
        limit: How many quotes at most for each part.
        judge: Reads the likeliest sentences beside the question. Default: words and vectors alone decide.

    Returns:
        Quotes, the best of each part first, none that repeats another; none at all when no sentence is sure enough.
    """
    question = question[:LONGEST_QUESTION]
    best = max((passage.score for passage in passages), default=0.0)
    reads = [one for passage in passages for one in reads_of(passage, best)]
    found, missing = _select(question, reads, limit, judge, encode), list[str]()
    for part in parts_of(question):
        own = _of_part(part, question, reads, judge, encode)
        if not own and not any(_holds(part, quote, passages) for quote in found):
            missing.append(part)
        found += own
    apart = {(quote.passage, quote.start): quote for quote in reversed(found)}
    return QuotedReading(tuple(list(apart.values())[::-1]), tuple(missing) if found else ())


def _holds(part: str, quote: Quote, passages: Sequence[Passage]) -> bool:
    """Whether a quote holds the kind of thing that a part of a question asks for, so that it may well answer it."""
    text = next(one.text for one in passages if one.id == quote.passage)[quote.start : quote.end]
    return any(holds(kind, text) for kind in asked_for(part))


def shown(question: str, text: str, quote: Quote) -> str:
    """A quote after its place, on one line; of a row the cells of the columns that the question names, or all."""
    one, place = quote.placed, quote.placed.place
    words = " ".join(text[one.start : one.end].split())
    if place.headings and words.startswith((f"{place.headings[-1]}:", f"{place.headings[-1]}：")):
        place = replace(place, headings=place.headings[:-1])  # the label of a field, which the sentence opens with
    above = replace(place, name="").line()
    if len(place.columns) == len(one.cells) > 1:
        cells = [" ".join(text[start:end].split()) for start, end in one.cells]
        labelled = list(zip(place.columns, cells, strict=True))[1:]
        asked = [pair for pair in labelled if _names(question, pair[0], place.columns)] or labelled
        words = "; ".join(f"{label}: {cell}" if label else cell for label, cell in asked)
    elif place.row and len(one.cells) > 1:
        words = "; ".join(" ".join(text[start:end].split()) for start, end in one.cells[1:])
    return f"{above}: {words}" if above and above != words else words


def _names(question: str, label: str, labels: Sequence[str]) -> bool:
    """Whether a question names a column by a word that no other column has."""
    others = {term for other in labels if other != label for term in tokenize(other)}
    return not set(tokenize(question)).isdisjoint(set(tokenize(label)) - others)


def not_found(parts: Sequence[str]) -> list[str]:
    """What is said of the parts of a question that nothing answers."""
    return [f"未找到：{part}" if is_cjk(part) else f"Not found: {part}" for part in parts]


_CHINESE_ASKS: Final = (
    "什[么麼]|[谁誰]|哪|多[少久大高长長远遠重]|[几幾][个個点點天年月时時]|怎[么麼样樣]|如何|何[时時]|[为為]何|是否"
)
_ASKS_IN_CHINESE: Final = lazy_pattern(rf"{_CHINESE_ASKS}|[吗嗎呢]|[没沒]有|(.)不\1")
_AND_ASKS: Final = lazy_pattern(
    r"(?:,|;|，|,? and|，?以及)\s*(?=(?:for |at |in |on |by |to |with )?"
    rf"(?:{QUESTION_WORDS})\b)|[?？]\s*(?=\S)|(?P<chinese>[,;，；])(?=[^,;，；?？]{{0,8}}(?:{_CHINESE_ASKS}))",
    re.IGNORECASE,
)


def parts_of(question: str) -> tuple[str, ...]:
    """The questions of which one is made, where there are two or more."""
    cuts = [(0, 0)]
    for mark in _AND_ASKS.finditer(question):
        before = question[cuts[-1][1] : mark.start()]
        if mark["chinese"] is None or _ASKS_IN_CHINESE.search(before):  # what comes before asks, too
            cuts.append(mark.span())
    ends = [*cuts, (len(question), len(question))]
    parts = [question[a:b].strip(" ,;?，；？") for (_, a), (b, _) in pairwise(ends)]
    if not 1 < len(parts) <= _MOST_PARTS or not all(parts):
        return ()
    return tuple(f"{part}?" for part in parts)


@dataclass(frozen=True, slots=True)
class Read:
    """A sentence with the passage it stands in."""

    passage: Passage
    placed: Placed
    unit: CandidateSentence


def _of_part(
    part: str, question: str, reads: Sequence[Read], judge: Judge | None, encode: Encode | None
) -> list[Quote]:
    """What answers a part of a question; a short one is asked with the whole before it is asked alone."""
    terms = len(tokenize(part))
    texts = [part] if terms >= _TELLING else [f"{part} {question}", *([part] if terms >= _ALONE else [])]
    return next((own for text in texts if (own := _select(text, reads, 1, judge, encode))), [])


def reads_of(passage: Passage, best: float = 1.0) -> Iterator[Read]:
    """The sentences of a passage as they are judged, given the score of the passage that was found best."""
    found = max(0.0, passage.score) / best if best > 0 else 1.0
    before: list[Placed] = []
    for one in passage.placed:
        place = one.place
        if before and (before[-1].place.headings != place.headings or place.kind in ("row", "heading")):
            before = []
        near = " ".join(passage.text[other.start : other.end] for other in before)
        text = simplified(passage.text[one.start : one.end])
        if _POINTER.fullmatch(text):
            continue
        said = labelled(passage.text, one)
        unit = CandidateSentence(
            text,
            simplified(described(place)),
            simplified(near),
            simplified(said),
            place.speaker,
            place.sender,
            place.kind,
            found,
        )
        yield Read(passage, one, unit)
        before = [*before[:1], one]  # what a section opens with, and what comes right before


def _select(
    question: str,
    reads: Sequence[Read],
    limit: int,
    judge: Judge | None,
    encode: Encode | None,
    *,
    least: float = SURE,
) -> list[Quote]:
    """The likeliest sentence if it is sure enough, and others that are likely beside it."""
    asked = AskedQuestion(simplified(question), [read.unit for read in reads], encode)
    if not asked.can_be_answered:
        return []
    judgement = judged(asked, judge)
    if judgement.sure < least:
        return []
    ranked = sorted(range(len(reads)), key=lambda n: -judgement.likely[n])
    best = judgement.likely[ranked[0]]
    chosen: list[Read] = []
    standing = {(read.passage.id, read.placed.start): read for read in reads}
    heard: set[str] = set()
    for number in ranked:
        document = reads[number].placed.place.name
        if len(chosen) >= limit or judgement.likely[number] < best * _ALSO_ELSEWHERE:
            break
        if document in heard and judgement.likely[number] < best * _ALSO:
            continue
        heard.add(document)
        one = _holding(reads[number], standing)
        is_heading = one is None or one.unit.kind == "heading"
        if one and not (chosen and is_heading) and not any(_repeats(one.unit, other.unit) for other in chosen):
            chosen.append(one)
    return [Quote(one.passage.id, one.placed, judgement.sure) for one in chosen]


def _holding(read: Read, standing: Mapping[tuple[str, int], Read]) -> Read | None:
    """The sentence that holds in the place of one: mostly itself; what was replaced is asked for by its own words."""
    for _ in range(_MOST_REPLACED):
        instead = read.passage.replaced.get(read.placed.start)
        if instead is None:
            return read
        if instead not in standing:
            return None
        read = standing[instead]
    return None


def _repeats(unit: CandidateSentence, other: CandidateSentence) -> bool:
    """Whether two sentences say the same; with other numbers they do not, however alike they are worded."""
    a, b = unit.words.terms, other.words.terms
    shorter = min(len(a), len(b))
    if _numbers(a) - _numbers(b) and _numbers(b) - _numbers(a):
        return False
    return unit.place == other.place and shorter > 0 and len(a & b) >= _SAME * shorter or unit.text == other.text


def _numbers(terms: frozenset[str]) -> set[str]:
    return {term for term in terms if any(map(str.isdigit, term))}
