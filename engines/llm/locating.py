"""Finds the words a model quotes in the text it quotes them from: models change a space, a case, or a word or two."""

import re
from typing import Final

from agentic_memory_bank.engines.base import Span
from agentic_memory_bank.tools.text import sentences, tokenize

LIKENESS: Final = 0.6
"""Share of the words of a quote and of a sentence, each, from which the sentence is what was meant."""

_GAP = re.compile(r"[\W_]+")


def locate(words: str, text: str) -> Span | None:
    """Where words stand in a text: exactly, but for spaces, case and punctuation, or as the sentence most like them."""
    wanted = words.strip().strip("\"'“”‘’「」…").strip()
    if not wanted:
        return None
    start = text.find(wanted)
    if start >= 0:
        return start, start + len(wanted)
    return _loosely(wanted, text) or _most_alike(wanted, text)


def _loosely(wanted: str, text: str) -> Span | None:
    pieces = [re.escape(piece) for piece in _GAP.split(wanted) if piece]
    found = re.search(r"[\W_]+".join(pieces), text, re.IGNORECASE) if pieces else None
    return found.span() if found else None


def _most_alike(wanted: str, text: str) -> Span | None:
    terms = set(tokenize(wanted))
    best: tuple[float, Span] | None = None
    for start, end in sentences(text):
        own = set(tokenize(text[start:end]))
        shared = len(terms & own) / max(len(terms), len(own), 1)
        if shared >= LIKENESS and (best is None or shared > best[0]):
            best = shared, (start, end)
    if best is None:
        return None
    start, end = best[1]
    said = text[start:end]
    return start + len(said) - len(said.lstrip()), start + len(said.rstrip())
