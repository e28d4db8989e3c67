"""Runs the remembering stages of the memory bank in one call, for `MemoryBankMiddleware`.

remember   classify > structure > embed > retrieve > analyze_conflict > analyze_related
merge      analyze_conflict > integrate > embed > ...        two memories say the same

The layers are plain data in the agent's own state. What a stage returns is folded at once by the layers' own reducers,
and handed back as edits, so that the agent's checkpoint holds edits and not copies.
"""

import hashlib
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import Engine
from agentic_memory_bank.engines.factory import EngineRequest
from agentic_memory_bank.graph.memory_bank import what_was_found
from agentic_memory_bank.nodes.memory_bank import fallbacks, turn_topics
from agentic_memory_bank.nodes.memory_bank.analyze_conflict import analyze_conflict
from agentic_memory_bank.nodes.memory_bank.analyze_related import analyze_related
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.embed import embed
from agentic_memory_bank.nodes.memory_bank.integrate import integrate
from agentic_memory_bank.nodes.memory_bank.retrieve import retrieve
from agentic_memory_bank.state.errors import BudgetReachedError, SettingsError
from agentic_memory_bank.state.interaction_tree import InteractionTree, TreeEdit, apply_tree_edits
from agentic_memory_bank.state.memory_bank import Allowance, MemoryBankState, MemoryBankUpdate
from agentic_memory_bank.state.query_graph import GraphEdit, QueryGraph, apply_graph_edits
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.lru import LruCache

TASK: Final = "Remember a conversation between a user and an assistant, and what its tools brought."

Stage = Callable[[MemoryBankState, Runtime[Settings], BankDeps], MemoryBankUpdate]


@dataclass(frozen=True, slots=True)
class MemoryEdits:
    """Edits of the layers, oldest first."""

    query_graph: list[GraphEdit] = field(default_factory=list[GraphEdit])
    interaction_tree: list[TreeEdit] = field(default_factory=list[TreeEdit])


def ingest(
    graph: QueryGraph,
    tree: InteractionTree,
    said: Sequence[Sequence[str]],
    now: str,
    runtime: Runtime[Settings],
    deps: BankDeps,
) -> MemoryEdits:
    """Make memories of entries that are in the tree.

    No failed judgement stops it: entries that could not be classified become a topic each, a topic that could not be
    summarised is remembered by its first words, and a memory that could not be compared stays apart.

    Args:
        graph: Memories so far; the mapping is not changed.
        said: Ids of entries by turn: a question, the calls it led to, and the answer.

    Raises:
        SettingsError: A model that the settings name cannot be asked.
    """
    work = _Round(graph, tree, now, runtime, deps)
    pieces = turn_topics.pieces(tree, said, Settings.of(runtime))
    work.do(partial(turn_topics.classify_turns, said=pieces), "classify", lambda _: turn_topics.unclassified(pieces))
    work.do(turn_topics.structure_turns, "structure", turn_topics.unstructured)
    work.compare()
    return work.learned


class _Round:
    """Holds the state that the stages of one round read, and the edits they made."""

    def __init__(
        self, graph: QueryGraph, tree: InteractionTree, now: str, runtime: Runtime[Settings], deps: BankDeps
    ) -> None:
        self._runtime, self._deps = runtime, deps
        self._allowance: Allowance = {}
        self.learned = MemoryEdits()
        self._state: MemoryBankState = {
            "insight_doc": {"id": "", "goal": TASK},
            "query_graph": graph,
            "interaction_tree": tree,
            "now": now,
            "topics": [],
            "fresh": [],
            "candidates": {},
            "merging": [],
            "verdict": None,
            "degraded": [],
        }

    def compare(self) -> None:
        """Find what the fresh memories contradict, repeat or relate to; merged ones are compared again."""
        while True:
            self.do(embed, "embed", _nothing)
            if not (
                self.do(retrieve, "retrieve", _nothing) and self.do(analyze_conflict, "analyze_conflict", _nothing)
            ):
                return
            if what_was_found(self._state) != "integrate":
                break
            if not self.do(integrate, "integrate", fallbacks.unmerged):
                return
        if what_was_found(self._state) == "analyze_related":
            self.do(analyze_related, "analyze_related", _nothing)

    def do(self, stage: Stage, name: str, instead: Callable[[MemoryBankState], MemoryBankUpdate]) -> bool:
        """Run a stage; where it fails, apply its fallback and return False."""
        try:
            self._fold(stage(self._state, self._runtime, replace(self._deps, engine=self._engine())))
        except (GraphBubbleUp, SettingsError):
            raise
        except Exception as error:  # engines and embedders are anybody's, and the agent has to go on
            if isinstance(error, BudgetReachedError) and not self._allowance:
                self._allowance = {"ending": "finish"}
                return self.do(stage, name, instead)
            self._fold({**instead(self._state), **fallbacks.without(name, error, self._state)})
            return False
        return True

    def _engine(self) -> Engine:
        """Choose the engine: the extractive one once a budget is used up."""
        if self._deps.engines is None:
            return self._deps.engine
        info = self._runtime.execution_info
        thread = (info.thread_id if info else None) or ""
        run = EngineRequest(Settings.of(self._runtime), thread, thread, self._allowance, lambda: 0.0, lambda _: None)
        return self._deps.engines.of(run).engine

    def _fold(self, update: MemoryBankUpdate) -> None:
        for name, value in update.items():
            if name == "query_graph":
                edits = cast("Sequence[GraphEdit]", value)
                self._state["query_graph"] = apply_graph_edits(self._state["query_graph"], [edits])
                self.learned.query_graph.extend(edits)
            elif name == "interaction_tree":
                changes = cast("Sequence[TreeEdit]", value)
                self._state["interaction_tree"] = apply_tree_edits(self._state["interaction_tree"], [changes])
                self.learned.interaction_tree.extend(changes)
            elif name != "insight_doc":  # there is no plan whose steps could have been wrong
                cast("dict[str, Any]", self._state)[name] = value


def _nothing(state: MemoryBankState) -> MemoryBankUpdate:
    return {}


KNOWN: Final = 4_096
"""Number of messages whose hashes are kept."""

_LOG = logging.getLogger(__name__)


class MiddlewareOrder:
    """Compares what memory kept with what the model is shown, as a middleware does not know what stands behind it.

    Only hashes are kept. Safe across threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: LruCache[str, bytes] = LruCache(KNOWN)
        self._is_told = False

    def taken_in(self, messages: Iterable[BaseMessage]) -> None:
        """Record which messages memory has stored, by hash, so that later changes to them are noticed."""
        for message in messages:
            if message.id:
                self._said.put(message.id, _hash(message))

    def shown(self, messages: Iterable[BaseMessage]) -> None:
        """Warn once if one of these messages has changed since memory stored it."""
        with self._lock:
            changed = any(self._said.peek(m.id or "") not in (None, _hash(m)) for m in messages)
            is_new, self._is_told = changed and not self._is_told, self._is_told or changed
        if is_new:
            _LOG.warning(
                "A middleware that stands behind memory has changed messages that memory keeps as they were before: "
                "what it masks, as PIIMiddleware does, is kept unmasked. Put it in front of memory in "
                "`middleware=[...]`."
            )


def _hash(message: BaseMessage) -> bytes:
    return hashlib.sha256(repr(message.content).encode("utf-8", "surrogatepass")).digest()
