"""Sizes in tokens: an estimate of what a model counts, and passages that fit within a limit."""

from collections.abc import Iterator
from functools import lru_cache

from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import paragraphs, sentences
from agentic_memory_bank.tools.text.spans import Span, cut

_NOT_LETTERS = lazy_pattern(r"[^A-Za-z]+")
_SPACE_OR_LETTER = lazy_pattern(r"[\sA-Za-z]+")
_SHORT_WORD = lazy_pattern(r"(?<![A-Za-z])[A-Za-z]{1,3}(?![A-Za-z])")
_NOT_EAST_ASIAN = lazy_pattern(r"[^\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_TOKEN = 140
"""Parts of a token that are counted: whole numbers of them make two sevenths and fifteen hundredths."""


_SHORT = 1_000
"""Characters up to which a text is kept with its size: prompts are put together of the same ones again and again."""


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a model counts in a text, rather too many than too few.

    Seven unaccented letters make two tokens, and a word makes at least one (with the space after it, four characters
    make one); every other visible character, such as a digit or a comma, is one, and an East Asian one 1.15. Joining
    texts never costs more than their sum. `benchmarks/token_estimate.py` compares this with what tokenizers count.
    """
    return _estimated(text) if len(text) <= _SHORT else _counted(text)


def _counted(text: str) -> int:
    letters = len(_NOT_LETTERS.sub("", text))
    short = _SHORT_WORD.findall(text)
    others = len(_SPACE_OR_LETTER.sub("", text))
    east_asian = 0 if text.isascii() else len(_NOT_EAST_ASIAN.sub("", text))
    parts = 40 * (letters - len("".join(short))) + _TOKEN * (len(short) + others) + 21 * east_asian
    return -(-parts // _TOKEN)


_estimated = lru_cache(maxsize=2_048)(_counted)


def passages(text: str, limit: int) -> list[Span]:
    """Divide a text into paragraphs, and those estimated at more than `limit` tokens into groups of sentences.

    A sentence over the limit is halved until it fits; a single character is never divided.
    """
    return list(each_passage(text, limit))


def each_passage(text: str, limit: int) -> Iterator[Span]:
    """The same, one after another: for whoever needs only the first ones."""
    for start, end in paragraphs(text):
        if end - start <= 1 or estimate_tokens(text[start:end]) <= limit:
            yield start, end
        else:
            yield from _grouped(text, (start, end), limit)


def _grouped(text: str, span: Span, limit: int) -> Iterator[Span]:
    """Join neighbouring sentences of a paragraph as long as they fit together."""
    start, size = span[0], 0
    for low, tokens in _fitting_pieces(text, span, limit):
        if low > start and size + tokens > limit:
            yield start, low
            start, size = low, 0
        size += tokens
    yield start, span[1]


def _fitting_pieces(text: str, span: Span, limit: int) -> Iterator[tuple[int, int]]:
    """Where the sentences of a paragraph begin, with their tokens; those that do not fit are halved until they do."""
    offset = span[0]
    todo = [(offset + low, offset + high) for low, high in sentences(text[offset : span[1]])][::-1]
    while todo:
        low, high = todo.pop()
        tokens = estimate_tokens(text[low:high])
        if tokens <= limit or high - low <= 1:
            yield low, tokens
        else:
            todo.extend(list(cut(text, (low, high), max(1, (high - low + 1) // 2)))[::-1])
