"""What is read for an answer: the recalled stretches of raw text, joined where they meet, as sentences in place.

And the reverse: the raw text that an answer in somebody's own words rests on, by the names and numbers that it holds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from agentic_memory_bank.engines.base import Span
from agentic_memory_bank.nodes.memory_bank.views import citation, document_name, entry_id, overlap, refuted_anchors
from agentic_memory_bank.state.insight_doc import Task
from agentic_memory_bank.state.interaction_tree import Anchor, InteractionTree, text_of
from agentic_memory_bank.state.memory_bank import AnswerSource, MemoryBankState, Recalled
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.places import Placed, sentences_of
from agentic_memory_bank.tools.text.sentences import sentences

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


MOST_SOURCES = 5
MOST_CHARACTERS = 200_000
"""How much of what tools brought is looked through; longer results are cut."""


def supporting(
    state: MemoryBankState, answer: str, task: Task, brought: Sequence[Mapping[str, Any]]
) -> list[AnswerSource]:
    """The sentences that hold the names and numbers of an answer, as few as hold them all.

    Args:
        state: Holds the memories that were recalled for the step.
        answer: In an executor's own words.
        task: The step.
        brought: New entries of the step; what tools brought is looked at before memory.
    """
    candidates = [(source, names_and_numbers(source["quote"])) for source in _sentences(state, task, brought)]
    left, found = names_and_numbers(answer), list[AnswerSource]()
    while left and candidates and len(found) < MOST_SOURCES:
        source, held = max(candidates, key=lambda one: len(one[1] & left))
        if not held & left:
            break
        found.append(source)
        left -= held
    return found


def _sentences(state: MemoryBankState, task: Task, brought: Sequence[Mapping[str, Any]]) -> Iterator[AnswerSource]:
    for position, raw in enumerate(brought):
        if raw.get("kind") == "tool_result":
            text, entry = clean(str(raw["text"]))[:MOST_CHARACTERS], entry_id(raw, position, task)
            for start, end in _stripped(text, sentences(text)):
                source = clean(str(raw.get("source", "executor")))
                yield {"quote": text[start:end], "source": source, "entry": entry, "start": start, "end": end}
    tree, wrong = state["interaction_tree"], refuted_anchors(state)
    for item in state.get("recalled", []):
        for anchor in item["passages"]:
            text = text_of(tree, anchor)
            for start, end in _stripped(text, sentences(text)):
                place: Anchor = {**anchor, "start": anchor["start"] + start, "end": anchor["start"] + end}
                if not any(overlap(place, other) for other in wrong):
                    yield citation(state, place, item["node"])


def _stripped(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    for start, end in spans:
        said = text[start:end]
        if said.strip():
            yield start + len(said) - len(said.lstrip()), start + len(said.rstrip())
