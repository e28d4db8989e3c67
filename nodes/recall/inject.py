"""Stage 4: the memories that are shown, fenced and within the token budget, for a message of the role user."""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.deps import context_of, owner_of
from agentic_memory_bank.nodes.memory_deps import MemoryDeps
from agentic_memory_bank.nodes.recall.memory_search import find_memories
from agentic_memory_bank.nodes.recall.ranking import ranked
from agentic_memory_bank.prompts import recalled
from agentic_memory_bank.state.conversations import (
    MemoryContext,
    RecalledMemory,
    RecallReceipt,
    RecallState,
    RecallUpdate,
)
from agentic_memory_bank.tools.concurrency.circuit_breaker import CallFailed
from agentic_memory_bank.tools.metrics import RECALLS, SHOWN, count


def inject(state: RecallState, runtime: Runtime[MemoryContext], deps: MemoryDeps) -> RecallUpdate:
    """Choose what is shown, and count it as used, which nobody waits for.

    What was found is in no checkpoint: a run that is resumed here searches anew.

    Raises:
        NoUserError: Nobody is named whose memories are meant.
    """
    context, owner = context_of(runtime), owner_of(runtime)
    receipt: RecallReceipt = state["receipt"]
    found = state.get("found")
    if found is None:
        found = [] if receipt["outcome"] == "unavailable" else _again(state, runtime, deps)
    shown = ranked(
        found,
        state["query"],
        limit=state["asked"]["limit"],
        tokens=context.recall_tokens,
        now=deps.clock(),
        recency_days=context.recall_recency_days,
    )
    memories = [memory for memory, _ in shown]
    ids = [memory["id"] for memory in memories]
    if ids:
        deps.records(runtime).count_use(owner.user, ids)
        receipt = _used(receipt, ids)
    count(SHOWN, len(ids))
    count(RECALLS, outcome=receipt["outcome"])
    return {"memories": memories, "block": recalled.block([entry for _, entry in shown]), "receipt": receipt}


def _used(receipt: RecallReceipt, ids: list[str]) -> RecallReceipt:
    return {**receipt, "outcome": "used", "shown": ids}


def _again(state: RecallState, runtime: Runtime[MemoryContext], deps: MemoryDeps) -> list[RecalledMemory]:
    try:
        return find_memories(state, runtime, deps)
    except CallFailed:
        return []
