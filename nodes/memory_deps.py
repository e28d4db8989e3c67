"""What the stages of recall and remember work with: the stores of memories, and whether memory is on.

It is on as the strictest of an invocation, its conversation and its user say. What writes down turns asks here, and so
does what recalls: no door decides it for itself.
"""

from dataclasses import dataclass
from typing import Final

from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.nodes.deps import EngineDeps, Owner, context_of
from agentic_memory_bank.state.conversations import MemoryContext, MemoryMode
from agentic_memory_bank.tools.concurrency.circuit_breaker import CallFailed, circuit_breaker_of
from agentic_memory_bank.tools.memories.conversation_states import strictest
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.stores import RecordStores


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDeps(EngineDeps[ConversationEngine]):
    """Dependencies of the stages of recall and remember."""

    stores: RecordStores

    def records(self, runtime: Runtime[MemoryContext]) -> RecordStore:
        """Open the memories of all users, in the store of this run."""
        return self.stores.of(runtime.store, context_of(runtime))


READING: Final = 0.5
"""Share of the time for recalling in which it is read."""


def mode_asked(context: MemoryContext) -> MemoryMode:
    """What the caller of an invocation asks for."""
    if not context.enable_memory:
        return "off"
    return "on" if context.auto_store else "recall"


def memory_mode(
    records: RecordStore, owner: Owner, context: MemoryContext, conversation: str | None = None
) -> MemoryMode:
    """What holds; where memory is off for the invocation, no store is touched to find out.

    Raises:
        NoUserError, StorageError: As `MemorySwitches.mode`.
    """
    asked = mode_asked(context)
    return asked if asked == "off" else strictest([asked, records.switches.mode(*owner, conversation)])


def mode_in_time(
    stores: RecordStores, store: BaseStore | None, owner: Owner, context: MemoryContext, conversation: str | None = None
) -> MemoryMode:
    """The same within the time for recalling; else what is asked for: whatever keeps anything asks again."""
    asked = mode_asked(context)
    if asked == "off":
        return asked

    def read() -> MemoryMode:
        return memory_mode(stores.of(store, context), owner, context, conversation)

    def is_busy() -> bool:
        return stores.of(store, context).is_busy(owner.user)

    seconds = context.recall_timeout
    try:
        return circuit_breaker_of(stores).call(read, READING * seconds, seconds, is_busy)
    except CallFailed:
        return asked


def keeps(records: RecordStore, owner: Owner, context: MemoryContext, conversation: str | None = None) -> bool:
    """Whether what is said is kept. Args and errors as `memory_mode`."""
    return memory_mode(records, owner, context, conversation) == "on"
