"""What becomes of a stage that failed twice: nothing is lost, no error text is remembered, and the run goes on."""

import logging
from collections import deque
from typing import Literal

from agentic_memory_bank.nodes.memory_bank.classify import fitting, incoming_chunks, rest
from agentic_memory_bank.nodes.memory_bank.pausing import DECIDED
from agentic_memory_bank.nodes.memory_bank.structure import as_memories, beginning, topic_texts
from agentic_memory_bank.state import errors, query_graph
from agentic_memory_bank.state.errors import EngineError, MemoryBankError
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate, Outcome, ValidationVerdict
from agentic_memory_bank.state.query_graph import Conflict
from agentic_memory_bank.state.settings import Settings

Next = Literal["structure", "embed", "retrieve", "plan", "execute", "adapter_out"]

_log = logging.getLogger("agentic_memory_bank")

_handled: deque[BaseException] = deque(maxlen=10_000)
"""Errors that were handled. LangGraph 1.2 knows them by their `id` for as long as a run lasts and keeps none of them: a
pause, or another error, that came to lie where one of them had lain was taken for handled, and was lost."""


def raised(error: BaseException | str) -> BaseException:
    """What a stage failed with. Of an error from before a kill LangGraph hands over the text it had saved of it."""
    if isinstance(error, BaseException):
        return error
    kind, _, text = error.removesuffix(")").partition("(")
    if not kind.isidentifier():
        return MemoryBankError(error)
    known = getattr(errors, kind, None) or type(kind, (MemoryBankError,), {})
    return known(text.strip("'\""))


def without(stage: str, error: BaseException, state: MemoryBankState) -> MemoryBankUpdate:
    """Record that a stage failed and the run goes on without it; what it had decided before is kept."""
    decided: MemoryBankUpdate = getattr(error, DECIDED, None) or {}
    unexpected = error if not isinstance(error, MemoryBankError) else None
    _log.warning(
        "The stage %s failed (%s); what it was to do is left undone.", stage, type(error).__name__, exc_info=unexpected
    )
    _keep(error)
    said = f": {error}" if isinstance(error, EngineError) and error.is_final else ""  # in our words, and safe to show
    noted = decided.get("degraded", state.get("degraded", []))
    return {**decided, "degraded": [*noted, f"{stage}: {type(error).__name__}{said}"]}


def _keep(error: BaseException) -> None:
    """Keep the object, and nothing that it was raised with: frames hold whole states."""
    _handled.append(error)
    part: BaseException | None = error
    while part is not None and part.__traceback__ is not None:
        part.__traceback__ = None
        part = part.__cause__ or part.__context__


def unclassified(state: MemoryBankState, settings: Settings) -> MemoryBankUpdate:
    """The raw text stays, in rest topics."""
    chunks = incoming_chunks(state, settings)
    found = [topic for chunk in chunks for topic in rest(chunk, [(0, chunk["end"] - chunk["start"])])]
    return {"topics": fitting(found, state["interaction_tree"], settings), "incoming": []}


def unstructured(state: MemoryBankState) -> MemoryBankUpdate:
    """Memories whose summary is how their text begins."""
    return as_memories(state, [beginning(topic.text) for topic in topic_texts(state)])


def unmerged(state: MemoryBankState) -> MemoryBankUpdate:
    """Groups stay apart; a conflict whose verdict could not be written in stays disputed."""
    update: MemoryBankUpdate = {"merging": [], "verdict": None, "candidates": {}}
    verdict = state.get("verdict")
    conflict = state["query_graph"].get("conflicts", {}).get(verdict["conflict"]) if verdict else None
    if conflict:
        disputed: Conflict = {**conflict, "status": "disputed", "settled_at": state["now"]}
        update["query_graph"] = [query_graph.settle(disputed)]
    return update


def stopped(state: MemoryBankState) -> MemoryBankUpdate:
    """The step was not begun: the run is to stop, and a conflict stays as open as it was."""
    update = undone(state)
    result = update.get("result")
    return {"result": {**result, "learned": "The run was stopped before.", "verdict": None}} if result else update


def undone(state: MemoryBankState) -> MemoryBankUpdate:
    """The step failed; a conflict it was to settle stays open to dispute, so that it is not planned for ever."""
    task = state["insight_doc"].get("current")
    if task is None:
        return {}
    return {
        "result": {
            "task": task["id"],
            "status": "failure",
            "learned": "The step could not be carried out.",
            "answer": "",
            "sources": [],
            "entries": [],
            "verdict": _undecided(state, task["conflict"]),
        }
    }


def _undecided(state: MemoryBankState, conflict_id: str | None) -> ValidationVerdict | None:
    conflict = state.get("query_graph", {}).get("conflicts", {}).get(conflict_id or "")
    if conflict is None:
        return None
    outcome: Outcome = {
        "outcome": "inconclusive",
        "winner": None,
        "statement": "",
        "explanation": "The validation could not be carried out.",
        "evidence": [],
    }
    return {"conflict": conflict["id"], "outcomes": [outcome for _ in conflict["contradictions"]]}
