"""Stretches of a text as `(start, end)` offsets: merged where they overlap, cut where they are too long."""

import re
from collections.abc import Iterable, Iterator

Span = tuple[int, int]

_TO_LAST_SPACE = re.compile(r".*\s", re.DOTALL)
_TO_LAST_COMMA = re.compile(r".*[，；、：,;]", re.DOTALL)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Stretches in order, those that overlap as one.

    Args:
        spans: In the order of their starts.
    """
    apart: list[Span] = []
    for start, end in spans:
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


def trimmed(text: str, span: Span, edges: str | None = None) -> Span:
    """A span without the characters at its edges that say nothing: some given ones, or white space."""
    start, end = span
    said = text[start:end]
    left = len(said) - len(said.lstrip(edges))
    return start + left, start + max(left, len(said.rstrip(edges)))


def cut(text: str, span: Span, limit: int) -> Iterator[Span]:
    """Cut a span into pieces of at most `limit` characters, each at the last pause of its second half if it has one."""
    start, end = span
    while end - start > limit:
        border = _last_pause(text, start + limit // 2, start + limit)
        yield start, border
        start = border
    yield start, end


def _last_pause(text: str, low: int, high: int) -> int:
    """The offset behind the last white space between two offsets, else the last comma, else the upper one."""
    pause = _TO_LAST_SPACE.match(text, low, high) or _TO_LAST_COMMA.match(text, low, high)
    return pause.end() if pause else high
