"""Stage 2: what of the turns that wait is worth remembering?"""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.memory_deps import MemoryDeps
from agentic_memory_bank.nodes.remember.extraction import ExtractionOutage, engine_of, extract_facts, spent
from agentic_memory_bank.state.conversations import MemoryContext, RememberState, RememberUpdate


def extract(
    state: RememberState, runtime: Runtime[MemoryContext], deps: MemoryDeps, outage: ExtractionOutage
) -> RememberUpdate:
    """Draw facts from the turns that wait; what cannot be judged now waits on.

    Raises:
        StorageError: The store failed.
    """
    metered = engine_of(state, runtime, deps)
    drawn = extract_facts(state, runtime, deps, outage, metered)
    return {"drawn": drawn, **spent(metered)}
