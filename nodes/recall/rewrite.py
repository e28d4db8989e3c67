"""Stage 2: what is searched for this message, so that it can be understood without the conversation?"""

from functools import partial

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import Query, Turn
from agentic_memory_bank.engines.extractive.remembering.engine import ExtractiveConversationEngine
from agentic_memory_bank.nodes.kit import Judged, timestamp
from agentic_memory_bank.nodes.memories import MemoryKit, context_of
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.nodes.recall.asking import Message, asked_in, shortened
from agentic_memory_bank.nodes.spoken import checked_messages
from agentic_memory_bank.state.conversations import MemoryContext, RecallReceipt, RecallState, RecallUpdate
from agentic_memory_bank.state.errors import MemoryBankError
from agentic_memory_bank.tools.concurrency.circuit_breaker import circuit_breaker_of
from agentic_memory_bank.tools.concurrency.outage_log import log_fault


def rewrite(state: RecallState, runtime: Runtime[MemoryContext], kit: MemoryKit) -> RecallUpdate:
    """Say what to search; where no model can be had in time, by rules, which the receipt says."""
    context = context_of(runtime)
    message = asked_in(checked_messages(state.get("messages")))
    turn = message.turn
    if turn is None:
        return {"query": "", "passages": []}
    if not message.history:
        log_fault("alone")
        if not context.recall_hyde:
            return _wanted(Query(shortened(turn.text)))
    try:
        return _wanted(_judged(message, turn, runtime, kit))
    except (MemoryBankError, TimeoutError) as error:  # a key that is not set, too: a request never fails of it
        return {**_wanted(_by_rules(message, turn)), "receipt": _noted(state, error)}


def _judged(message: Message, turn: Turn, runtime: Runtime[MemoryContext], kit: MemoryKit) -> Query:
    """What the engine of this run says; a model has no more time in all than one request of its role."""
    now = kit.clock()
    started: Judged = {"started": now.timestamp()}
    judge = kit.judge(started, runtime, "q" + digest(turn.id, timestamp(now))[:12])
    ask = partial(judge.engine.rewrite, shortened(turn.text), message.history)
    if judge.meter is None:
        return ask()
    return circuit_breaker_of(kit.stores).run_within(ask, context_of(runtime).role("rewrite").timeout)


def _by_rules(message: Message, turn: Turn) -> Query:
    return ExtractiveConversationEngine().rewrite(shortened(turn.text), message.history)


def _wanted(query: Query) -> RecallUpdate:
    return {"query": shortened(query.text), "passages": [shortened(passage) for passage in query.passages]}


def _noted(state: RecallState, error: Exception) -> RecallReceipt:
    receipt: RecallReceipt = state["receipt"]
    return {**receipt, "degraded": [*receipt["degraded"], f"rewrite: {type(error).__name__}"]}
