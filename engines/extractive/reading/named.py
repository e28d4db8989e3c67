"""Names and telling numbers of a document: what two documents about different things hardly share."""

from collections.abc import Iterable, Iterator
from typing import Final

from agentic_memory_bank.engines.extractive.reading.concepts import of_chinese
from agentic_memory_bank.engines.extractive.reading.units import UNITS
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_LONG_NUMBER: Final = lazy_pattern(r"\d{4}-\d\d-\d\d|\d\d-\d\d|\d{4,}")
_SHORTEST: Final = 3
_HAN: Final = lazy_pattern(r"[\u4e00-\u9fff]{4,}")
_RUN: Final = 4
_MOST_KNOWN: Final = 2
"""Characters of a run that may belong to words everybody uses: a museum, a road."""
_NO_NAME: Final = frozenset(
    "每平方米公里克斤元月日年时分钟小天周人个件位之的了在是和与及等中上下前后有为不可以到按由自本该各其并或从请将已第"
    "一二三四五六七八九十两费"
)
"""Characters of measures and of grammar, which names seldom hold."""


def names_and_long_numbers(texts: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The names of some sentences, Chinese ones as runs of four characters; and their dates and longer numbers."""
    texts = tuple(texts)
    found = names_and_numbers("\n".join(texts))
    numbers = frozenset(one for one in found if _LONG_NUMBER.fullmatch(one))
    names = frozenset(one for one in found if not one[0].isdigit() and len(one) >= _SHORTEST and one not in UNITS)
    return names | {run for text in texts for run in _runs(text)}, numbers


def _runs(text: str) -> Iterator[str]:
    """Runs of Chinese characters that are hardly made of words everybody uses."""
    runs = list(_HAN.finditer(text))
    if not runs:
        return
    known = bytearray(char in _NO_NAME for char in text)
    for start, end, _ in of_chinese(text):
        known[start:end] = bytes([1]) * (end - start)
    for run in runs:
        for at in range(run.start(), run.end() - _RUN + 1):
            if sum(known[at : at + _RUN]) <= _MOST_KNOWN:
                yield text[at : at + _RUN]
