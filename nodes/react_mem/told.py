"""Stage 0 of an agent with memory: hears whether the user tells it to forget, before the agent is asked anything."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from langchain_core.messages import AnyMessage

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.nodes.forgetting import ForgettingListener, ForgettingTurn
from agentic_memory_bank.nodes.messages import TOLD, turns_of
from agentic_memory_bank.nodes.react_mem import steps
from agentic_memory_bank.nodes.react_mem.deps import AgentDeps, Scope
from agentic_memory_bank.tools.concurrency.circuit_breaker import CallFailed

NOTHING: Final = ForgettingTurn([], False)


def hear(deps: AgentDeps, scope: Scope, messages: Sequence[AnyMessage]) -> ForgettingTurn:
    """Forget what an agent is told to forget; any other message is left to the agent.

    Args:
        deps: Stores and queue.
        scope: Names user and conversation.
        messages: Those of the agent.

    Raises:
        NoUserError: Nobody is named whose memories are meant.
    """
    asked = steps.split(messages)
    if asked.question is None or asked.exchanges:
        return NOTHING

    def said_before() -> list[Turn]:
        return turns_of(asked.before)

    records = partial(deps.records, scope)
    listener = ForgettingListener(
        records,
        scope.owner,
        scope.conversation,
        scope.context,
        deps.clock(),
        deps.queue,
        deps.stores.encoder,
        said_before,
    )
    try:
        return listener.hear(messages, asked.question)
    except CallFailed:
        return NOTHING


def kept(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages that a model is shown: those that told to forget, and their answers, name what is gone."""
    return [message for message in messages if not message.additional_kwargs.get(TOLD)]
