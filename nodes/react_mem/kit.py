"""What is done around an agent with, besides state and settings, and on whose behalf it is done."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.engines.factory import Judge, Judges, RunOf
from agentic_memory_bank.nodes.kit import Clock, utc_now
from agentic_memory_bank.nodes.memories import Owner
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.memories.validation import stamp

Graph = CompiledStateGraph[Any, Any, Any, Any]


class Queue(Protocol):
    """Does jobs later; those of one key one after the other."""

    def submit(self, key: str, job: Callable[[], object]) -> bool:
        """Take a job; False where too many wait."""
        ...


@runtime_checkable
class Teaches(Protocol):
    """An engine that says what a task teaches."""

    def lesson(self, goal: str, steps: Sequence[str], outcome: str) -> str:
        """What a task teaches; empty where it is nothing."""
        ...


class Scope(NamedTuple):
    """On whose behalf an agent works, and where what it remembers is kept."""

    owner: Owner
    conversation: str
    context: MemoryContext
    store: BaseStore | None = None
    """That of the runtime."""

    @property
    def place(self) -> tuple[str, str, str]:
        """User, project and conversation."""
        return self.owner.user, self.owner.project, self.conversation


@dataclass(frozen=True, slots=True)
class TierKit:
    """Given to an agent's memory when it is built; never part of state, config or checkpoints."""

    stores: RecordStores
    remember: Graph
    """Draws facts from what was said."""
    queue: Queue
    offline: ConversationEngine
    judges: Judges[ConversationEngine]
    """Who condenses steps, and says what an episode teaches, where a model may."""
    clock: Clock = utc_now

    def records(self, scope: Scope) -> RecordStore:
        """The memories of all users, in the store of this run."""
        return self.stores.of(scope.store, scope.context)

    def now(self) -> str:
        """The time, as it is stored."""
        return stamp(self.clock())

    def judge(
        self, scope: Scope, goal: str, extra: Mapping[str, float] = MappingProxyType({})
    ) -> Judge[ConversationEngine]:
        """Who judges, and what that costs.

        Args:
            scope: On whose behalf.
            goal: What is spent is counted for this.
            extra: What is granted beside the budgets; below 0, what is taken off them.
        """
        begun: datetime = self.clock()
        run = RunOf(
            settings=scope.context,
            thread=f"{scope.conversation} {goal}",
            goal=goal,
            allowance={"extra": dict(extra)},
            elapsed=lambda: (self.clock() - begun).total_seconds(),
            on_call=lambda _: None,
        )
        return self.judges.of(run)
