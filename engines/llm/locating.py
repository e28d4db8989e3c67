"""Finds the words a model quotes in the text it quotes them from: models change a space, a case, or a word or two."""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from agentic_memory_bank.engines.base import Span
from agentic_memory_bank.engines.extractive.support import is_quotable, unsupported
from agentic_memory_bank.prompts.fence import unescape, without_tags
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize

AnswerT = TypeVar("AnswerT")

LIKENESS: Final = 0.6
"""Share of the words of a quote and of a sentence, each, from which the sentence is what was meant."""

COPIED: Final = 0.75
"""Share of the words of both from which an answer is a copy of what it quotes."""

MOST_SENTENCES: Final = 8
"""How many sentences of a prose answer are looked for."""
_LONG: Final = 20
"""Characters from which a quote is found wherever it stands."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_BLOCKS = re.compile(r"\n[ \t\r]*\n|\n(?=#{1,6} )")
_ITEM = re.compile(r"\s*(?:[-*•·]|\(?\d{1,3}[.)、]|[一二三四五六七八九十]{1,3}、)")
_GAP = re.compile(r"[\W_]+")


def locate(words: str, text: str) -> Span | None:
    """Where words stand in a text: exactly, but for spaces, case and punctuation, or as the sentence most like them.

    A model may copy what it was shown, with what the fence had escaped. A word or a figure alone is no quote, and a
    sentence that denies, names or counts something else is not the one that was meant. Of a sentence that denies what
    is cut out of it, the whole is quoted.

    Example:
        >>> locate("open on Mondays", "It is red. It is not open on Mondays.")
        (11, 37)
    """
    if not is_quotable(words):
        return None
    ways = [said.strip().strip("\"'“”‘’「」…").strip() for said in dict.fromkeys((words, unescape(words)))]
    looks = (look(wanted, text) for look in (_exactly, _loosely, _most_alike) for wanted in ways if wanted)
    found = next((span for span in looks if span), None)
    return _with_denial(found, text) if found else None


def _with_denial(span: Span, text: str) -> Span:
    """A stretch as it is, or its sentence where that denies what the stretch by itself affirms."""
    first = max(0, text.rfind("\n\n", 0, span[0]))
    last = text.find("\n\n", span[1])
    for start, end in ((first + a, first + b) for a, b in sentences(text[first : last if last >= 0 else len(text)])):
        if start < span[1] and span[0] < end:
            part = max(start, span[0]), min(end, span[1])
            if part != (start, end) and unsupported(text[slice(*part)], [text[start:end]]):
                start, end = _trimmed((start, end), text)
                span = min(span[0], start), max(span[1], end)
    return span


def located(said: str, texts: Sequence[str]) -> list[tuple[str, int]]:
    """The sentences of a model's words that stand in texts, each with the index of the first that it stands in."""
    said = without_tags(said)
    found: list[tuple[str, int]] = []
    for start, end in sentences(said)[:MOST_SENTENCES]:
        one = said[start:end].strip()
        number = next((n for n, text in enumerate(texts) if locate(one, text)), None)
        if number is not None:
            found.append((one, number))
    return found


def reader_of_prose(
    texts: Sequence[str], answered: Callable[[str, list[tuple[str, int]]], AnswerT]
) -> Callable[[str], AnswerT | None]:
    """Make a reader of plain words: the sentences of them that stand in the texts, together, with these as quotes.

    Args:
        texts: What the model was shown.
        answered: Makes an answer of the words and of the sentences, each with the index of its text.
    """

    def read(said: str) -> AnswerT | None:
        found = located(said, texts)
        return answered(" ".join(words for words, _ in found), found) if found else None

    return read


def copies(said: str, texts: Sequence[str]) -> bool:
    r"""Whether words are a stretch of a text, or most of a text, over several blocks: copied, and not picked.

    A list is one thing, whatever stands between its items.

    Example:
        >>> copies("# Lifts\n\nThe lift is open.", ["# Lifts\n\nThe lift is open. It is red."])
        True
        >>> copies("The lift is open.", ["# Lifts\n\nThe lift is open. It is red."])
        False
    """
    ways = [way.strip() for way in dict.fromkeys((said, unescape(said))) if way.strip()]
    spans = ((text, _exactly(way, text) or _loosely(way, text)) for text in texts for way in ways)
    terms = set(tokenize(said))
    return any(span and _is_broken(text[slice(*span)]) for text, span in spans) or any(
        _is_broken(text) and len(terms & own) >= COPIED * len(terms | own)
        for text, own in ((text, set(tokenize(text))) for text in texts)
    )


def _is_broken(words: str) -> bool:
    blocks = [block for block in _BLOCKS.split(words) if block.strip()]
    return len(blocks) > 1 and not all(map(_ITEM.match, blocks))


def _exactly(wanted: str, text: str) -> Span | None:
    """Whole words; where there are many, the first or last of them may be cut: 24 m does not stand in 324 m."""
    found = re.search(_whole(re.escape(wanted)), text)
    start = found.start() if found else text.find(wanted) if len(wanted) >= _LONG else -1
    return (start, start + len(wanted)) if start >= 0 else None


def _loosely(wanted: str, text: str) -> Span | None:
    pieces = [re.escape(piece) for piece in _GAP.split(wanted) if piece]
    found = re.search(_whole(r"[\W_]+".join(pieces)), text, re.IGNORECASE) if pieces else None
    return found.span() if found else None


def _whole(pattern: str) -> str:
    """A pattern that neither begins nor ends within a word or number of Latin script."""
    return rf"(?:(?<![0-9A-Za-z])|(?![0-9A-Za-z])){pattern}(?:(?![0-9A-Za-z])|(?<![0-9A-Za-z]))"


def closest(words: str, text: str) -> Span:
    """The sentence of a text that shares most with some words, the first of those that share as much."""
    terms = set(tokenize(words))
    spans = sentences(text) or [(0, len(text))]
    best = max(spans, key=lambda span: len(terms & set(tokenize(text[span[0] : span[1]]))))
    return _trimmed(best, text)


def _most_alike(wanted: str, text: str) -> Span | None:
    terms, figures = set(tokenize(wanted)), set(_FIGURE.findall(wanted))
    best: tuple[float, Span] | None = None
    for start, end in sentences(text):
        own = set(tokenize(text[start:end]))
        shared = len(terms & own) / max(len(terms), len(own), 1)
        is_meant = shared >= LIKENESS and figures <= set(_FIGURE.findall(text[start:end]))
        is_meant = is_meant and not unsupported(wanted, [text[start:end]])
        if is_meant and (best is None or shared > best[0]):
            best = shared, (start, end)
    return _trimmed(best[1], text) if best else None


def _trimmed(span: Span, text: str) -> Span:
    said = text[span[0] : span[1]]
    return span[0] + len(said) - len(said.lstrip()), span[0] + len(said.rstrip())
