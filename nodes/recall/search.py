"""Stage 3: which memories fit? A store that is down, slow or cannot embed never fails the request."""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.memories import MemoryKit
from agentic_memory_bank.nodes.recall.looking import look
from agentic_memory_bank.state.conversations import MemoryContext, RecallState, RecallUpdate
from agentic_memory_bank.tools.concurrency.circuit_breaker import CallFailed


def search(state: RecallState, runtime: Runtime[MemoryContext], kit: MemoryKit) -> RecallUpdate:
    """Search the memories of who asks, and of nobody else, in their project.

    Raises:
        NoUserError: Nobody is named whose memories are meant.
    """
    receipt = state["receipt"]
    try:
        found = look(state, runtime, kit)
    except CallFailed as failure:
        degraded = [*receipt["degraded"], f"search: {failure.kind}"]
        return {
            "found": [],
            "receipt": {**receipt, "outcome": "unavailable", "reason": failure.fault, "degraded": degraded},
        }
    return {"found": found, "receipt": {**receipt, "searched": len(found)}}
