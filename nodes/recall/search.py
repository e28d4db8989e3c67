"""Stage 3: which memories fit? A store that is down, slow or cannot embed never fails the request."""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.memory_deps import MemoryDeps
from agentic_memory_bank.nodes.recall.memory_search import find_memories
from agentic_memory_bank.state.conversations import MemoryContext, RecallState, RecallUpdate
from agentic_memory_bank.tools.concurrency.circuit_breaker import CallFailed


def search(state: RecallState, runtime: Runtime[MemoryContext], deps: MemoryDeps) -> RecallUpdate:
    """Search the memories of who asks, and of nobody else, in their project.

    Raises:
        NoUserError: Nobody is named whose memories are meant.
    """
    receipt = state["receipt"]
    try:
        found = find_memories(state, runtime, deps)
    except CallFailed as failure:
        degraded = [*receipt["degraded"], f"search: {failure.kind}"]
        return {
            "found": [],
            "receipt": {**receipt, "outcome": "unavailable", "reason": failure.fault, "degraded": degraded},
        }
    cosines = {memory["id"]: memory["cosine"] for memory in found}
    return {"found": found, "receipt": {**receipt, "searched": len(found), "cosines": cosines}}
