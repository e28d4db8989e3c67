"""Stage 2: what of the turns that wait is worth remembering?"""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.memories import MemoryKit
from agentic_memory_bank.nodes.remember.drawing import Outage, draw, judge_of, spent
from agentic_memory_bank.state.conversations import MemoryContext, RememberState, RememberUpdate


def extract(state: RememberState, runtime: Runtime[MemoryContext], kit: MemoryKit, outage: Outage) -> RememberUpdate:
    """Draw facts from the turns that wait; what cannot be judged now waits on.

    Raises:
        StorageError: The store failed.
    """
    judge = judge_of(state, runtime, kit)
    drawn = draw(state, runtime, kit, outage, judge)
    return {"drawn": drawn, **spent(judge)}
