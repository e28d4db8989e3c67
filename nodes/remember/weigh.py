"""Stage 3: what becomes of each new memory beside those that are there, and beside those drawn before it?"""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.memory_deps import MemoryDeps
from agentic_memory_bank.nodes.remember.extraction import ExtractionOutage, engine_of, spent
from agentic_memory_bank.nodes.remember.resolution import resolve_facts
from agentic_memory_bank.state.conversations import MemoryContext, RememberState, RememberUpdate


def weigh(
    state: RememberState, runtime: Runtime[MemoryContext], deps: MemoryDeps, outage: ExtractionOutage
) -> RememberUpdate:
    """Weigh what was drawn. Raises as `draw`."""
    metered = engine_of(state, runtime, deps)
    weighed = resolve_facts(state, runtime, deps, outage, metered)
    return {"weighed": weighed, **spent(metered)}
