"""Finds the raw text that an answer in somebody's own words rests on: by the names and numbers that it holds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentic_memory_bank.engines.base import Span
from agentic_memory_bank.nodes.memory_bank.views import citation, entry_id, overlap, refuted_anchors
from agentic_memory_bank.state.insight_doc import Task
from agentic_memory_bank.state.interaction_tree import Anchor, text_of
from agentic_memory_bank.state.memory_bank import AnswerSource, MemoryBankState
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.sentences import sentences

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
