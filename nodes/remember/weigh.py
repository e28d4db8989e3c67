"""Stage 3: what becomes of each new memory beside those that are there, and beside those drawn before it?"""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.memories import MemoryKit
from agentic_memory_bank.nodes.remember.drawing import Outage, judge_of, spent
from agentic_memory_bank.nodes.remember.weighing import weighed_of
from agentic_memory_bank.state.conversations import MemoryContext, RememberState, RememberUpdate


def weigh(state: RememberState, runtime: Runtime[MemoryContext], kit: MemoryKit, outage: Outage) -> RememberUpdate:
    """Weigh what was drawn. Raises as `draw`."""
    judge = judge_of(state, runtime, kit)
    weighed = weighed_of(state, runtime, kit, outage, judge)
    return {"weighed": weighed, **spent(judge)}
