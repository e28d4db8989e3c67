"""What the stages of recall and remember work with: the stores of memories.

Short: engine, clock and owner are those of every graph.
"""

from dataclasses import dataclass

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.nodes.deps import EngineDeps, context_of
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.stores import RecordStores


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDeps(EngineDeps[ConversationEngine]):
    """Dependencies of the stages of recall and remember."""

    stores: RecordStores

    def records(self, runtime: Runtime[MemoryContext]) -> RecordStore:
        """Open the memories of all users, in the store of this run."""
        return self.stores.of(runtime.store, context_of(runtime))
