"""What is read for an answer: the recalled stretches of raw text, joined where they meet, as sentences in place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from agentic_memory_bank.nodes.memory_bank.views import document_name, overlap
from agentic_memory_bank.state.interaction_tree import Anchor, InteractionTree
from agentic_memory_bank.state.memory_bank import Recalled
from agentic_memory_bank.tools.text.places import Placed, sentences_of

_DOCUMENTS = 64
"""How many documents are remembered as they were read."""


@dataclass(frozen=True, slots=True)
class Readable:
    """A stretch of raw text to read.

    Attributes:
        anchor: Where it stands.
        score: How well the best of what it was joined from was found.
        placed: Its sentences with their places; offsets count from its beginning.
        recalled: What it was joined from: memories and their stretches.
    """

    anchor: Anchor
    score: float
    placed: tuple[Placed, ...]
    recalled: tuple[tuple[Recalled, Anchor], ...]

    def owner(self, place: Anchor) -> str | None:
        """The memory that a stretch of it belongs to."""
        return next((item["node"] for item, anchor in self.recalled if overlap(anchor, place)), None) or None


def joined(tree: InteractionTree, recalled: Sequence[tuple[Recalled, Anchor]]) -> list[Readable]:
    """Join what was recalled of each document, and read it; the best found first.

    A sentence that is cut by the border of a recalled stretch is read whole. What was forgotten is left out.
    """
    by_entry: dict[str, list[tuple[Recalled, Anchor]]] = {}
    for item, anchor in recalled:
        by_entry.setdefault(anchor["entry"], []).append((item, anchor))
    found = [one for entry, parts in by_entry.items() for one in _stretches(tree, entry, parts)]
    return sorted(found, key=lambda one: -one.score)


def _stretches(tree: InteractionTree, id: str, recalled: Sequence[tuple[Recalled, Anchor]]) -> list[Readable]:
    entry = tree.get("entries", {}).get(id)
    if entry is None or not entry["text"].strip():
        return []
    sentences = _read(entry["text"], document_name(entry["source"]))
    groups: list[list[Placed]] = []
    last = -2
    for number, one in enumerate(sentences):
        if any(anchor["start"] < one.end and one.start < anchor["end"] for _, anchor in recalled):
            if number != last + 1:
                groups.append([])
            groups[-1].append(one)
            last = number
    return [_stretch(id, group, recalled) for group in groups]


def _stretch(id: str, group: Sequence[Placed], recalled: Sequence[tuple[Recalled, Anchor]]) -> Readable:
    start, end = group[0].start, group[-1].end
    anchor: Anchor = {"entry": id, "start": start, "end": end}
    own = tuple((item, part) for item, part in recalled if overlap(part, anchor))
    return Readable(anchor, max(item["score"] for item, _ in own), tuple(_shifted(one, start) for one in group), own)


def _shifted(one: Placed, by: int) -> Placed:
    cells = tuple((start - by, end - by) for start, end in one.cells)
    return replace(one, start=one.start - by, end=one.end - by, cells=cells)


@lru_cache(maxsize=_DOCUMENTS)
def _read(text: str, name: str) -> tuple[Placed, ...]:
    return sentences_of(text, name)
