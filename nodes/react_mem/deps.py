"""What is done around an agent with, besides state and settings, and on whose behalf it is done."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.engines.factory import MeteredEngine
from agentic_memory_bank.nodes.deps import BackgroundQueue, EngineDeps, Graph, Owner
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.tools.concurrency.circuit_breaker import circuit_breaker_of
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.memories.validation import stamp

_Result = TypeVar("_Result")


@runtime_checkable
class LessonEngine(Protocol):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDeps(EngineDeps[ConversationEngine]):
    """Dependencies of an agent's memory; `engine` condenses steps, and says what an episode teaches."""

    stores: RecordStores
    remember: Graph
    """Extracts facts from what was said."""
    queue: BackgroundQueue

    def records(self, scope: Scope) -> RecordStore:
        """Open the memories of all users, in the store of this run."""
        return self.stores.of(scope.store, scope.context)

    def in_time(self, scope: Scope, job: Callable[[], _Result], seconds: float | None = None) -> _Result:
        """The result of a call of the store; that a user's index takes its time is no fault of the store.

        Args:
            job: What is called, on a thread of its own.
            seconds: How long it may take. Default: the time for recalling.

        Raises:
            CallFailed: There is none within the time, or the store is left alone.
            InputError: The store has refused what it was asked for.
        """
        limit = scope.context.recall_timeout

        def is_busy() -> bool:
            return self.records(scope).is_busy(scope.owner.user)

        return circuit_breaker_of(self.stores).call(job, limit if seconds is None else seconds, limit, is_busy)

    def now(self) -> str:
        """Tell the time, as it is stored."""
        return stamp(self.clock())

    def engine_of(
        self, scope: Scope, goal: str, extra: Mapping[str, float] = MappingProxyType({})
    ) -> MeteredEngine[ConversationEngine]:
        """Make the engine that judges a task of the agent.

        Args:
            scope: Conversation and settings of the invocation.
            goal: What is spent is counted under this name.
            extra: What is granted beside the budgets; below 0, what is taken off them.
        """
        return self.metered(scope.context, f"{scope.conversation} {goal}", goal, allowance={"extra": dict(extra)})
