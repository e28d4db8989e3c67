"""What the stages of recall, remember and conversation work with besides state and settings, and on whose behalf."""

from dataclasses import dataclass
from typing import NamedTuple, cast

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.engines.factory import Judge, Judges
from agentic_memory_bank.nodes.kit import Clock, Judged, judge_of, utc_now
from agentic_memory_bank.nodes.pages import named_user
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import NoUserError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.stores import RecordStores


class Owner(NamedTuple):
    """On whose behalf something is recalled or remembered."""

    user: str
    project: str
    """Empty for memories without a project."""


@dataclass(frozen=True, slots=True)
class MemoryKit:
    """Given to the stages when a graph is built; never part of state, config or checkpoints."""

    engine: ConversationEngine
    """Who judges this stage."""
    stores: RecordStores
    clock: Clock = utc_now
    judges: Judges[ConversationEngine] | None = None
    """Who judges which run; None where the engine is the same for all."""
    agent: None = None
    """No stage here has tools."""

    def records(self, runtime: Runtime[MemoryContext]) -> RecordStore:
        """The memories of all users, in the store of this run."""
        return self.stores.of(runtime.store, MemoryContext.of(cast("Runtime[Settings]", runtime)))

    def judge(self, state: Judged, runtime: Runtime[MemoryContext], goal: str = "") -> Judge[ConversationEngine]:
        """The engine of this run.

        Args:
            state: Of the run.
            runtime: Of the run.
            goal: What is spent is counted for this.
        """
        if self.judges is None:
            return Judge(self.engine)
        return judge_of(self.judges, state, cast("Runtime[Settings]", runtime), self.clock, goal)


def context_of(runtime: Runtime[MemoryContext]) -> MemoryContext:
    """The settings of an invocation, and on whose behalf it is made.

    Raises:
        SettingsError: A value is not allowed.
    """
    return MemoryContext.of(cast("Runtime[Settings]", runtime))


def owner_of(runtime: Runtime[MemoryContext]) -> Owner:
    """On whose behalf an invocation is made: who is authenticated, or else whom the caller names.

    Raises:
        NoUserError: Nobody is.
        InputError: The caller names another than the one who is authenticated.
    """
    user = named_user(runtime)
    if not user:
        raise NoUserError('Nobody is named whose memories are meant. Pass `context={"user": ...}`.')
    return Owner(user, context_of(runtime).project)
