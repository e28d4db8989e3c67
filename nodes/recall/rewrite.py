"""Stage 2: what is searched for this message, so that it can be understood without the conversation?"""

import time
from functools import partial
from typing import Final

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import RewrittenQuery, Turn
from agentic_memory_bank.nodes.deps import MeteredState, context_of, timestamp
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.nodes.memory_deps import MemoryDeps
from agentic_memory_bank.nodes.messages import checked_messages
from agentic_memory_bank.nodes.recall.message import Message, asked_in, shortened
from agentic_memory_bank.state.conversations import MemoryContext, RecallReceipt, RecallState, RecallUpdate
from agentic_memory_bank.state.errors import MemoryBankError
from agentic_memory_bank.tools.concurrency.circuit_breaker import circuit_breaker_of, log_fault

REST_SECONDS: Final = 600.0
"""For how long a model is not asked for a user whose message it kept waiting."""
SLOW: Final = 0.8
"""Share of its time from which a model that did not answer has kept somebody waiting."""


def rewrite(state: RecallState, runtime: Runtime[MemoryContext], deps: MemoryDeps) -> RecallUpdate:
    """Say what to search; where no model can be had in time, by rules, which the receipt says."""
    context = context_of(runtime)
    message = asked_in(checked_messages(state.get("messages")))
    turn = message.turn
    if turn is None:
        return {"query": "", "passages": []}
    if not message.history:
        log_fault("alone")
        if not context.recall_hyde:
            return _wanted(RewrittenQuery(shortened(turn.text)))
    breaker, asker = circuit_breaker_of(deps.stores), (context.user, context.role("rewrite").model)
    began = time.monotonic()
    try:
        if breaker.rests(asker):
            raise TimeoutError  # it was too slow for an earlier message
        return _wanted(_judged(message, turn, runtime, deps))
    except (MemoryBankError, TimeoutError) as error:  # a key that is not set, too: a request never fails of it
        if time.monotonic() - began >= SLOW * context.role("rewrite").timeout:
            breaker.rest(asker, REST_SECONDS)
        return {**_wanted(_by_rules(message, turn, deps)), "receipt": _noted(state, error)}


def _judged(message: Message, turn: Turn, runtime: Runtime[MemoryContext], deps: MemoryDeps) -> RewrittenQuery:
    """What the engine of this run says; a model has no more time in all than one request of its role."""
    now = deps.clock()
    started: MeteredState = {"started": now.timestamp()}
    metered = deps.engine_for(started, runtime, "q" + digest(turn.id, timestamp(now))[:12])
    ask = partial(metered.engine.rewrite, shortened(turn.text), message.history)
    if metered.meter is None:
        return ask()
    return circuit_breaker_of(deps.stores).run_within(ask, context_of(runtime).role("rewrite").timeout)


def _by_rules(message: Message, turn: Turn, deps: MemoryDeps) -> RewrittenQuery:
    return deps.offline.rewrite(shortened(turn.text), message.history)


def _wanted(query: RewrittenQuery) -> RecallUpdate:
    return {"query": shortened(query.text), "passages": [shortened(passage) for passage in query.passages]}


def _noted(state: RecallState, error: Exception) -> RecallReceipt:
    receipt: RecallReceipt = state["receipt"]
    return {**receipt, "degraded": [*receipt["degraded"], f"rewrite: {type(error).__name__}"]}
