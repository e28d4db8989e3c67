"""Stage 2: the agent works on the question; or, without any model, what was said is quoted."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.messages import AnyMessage, RemoveMessage
from langchain_core.runnables.config import DEFAULT_RECURSION_LIMIT
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.responder import Responder, ResponderInput
from agentic_memory_bank.nodes.deps import context_of
from agentic_memory_bank.nodes.forgetting import ForgettingTurn
from agentic_memory_bank.nodes.messages import RECALLED, text_of, turns_of
from agentic_memory_bank.nodes.react_mem import steps
from agentic_memory_bank.nodes.react_mem.budget import STEPS_A_CALL
from agentic_memory_bank.nodes.react_mem.told import NOTHING
from agentic_memory_bank.state.conversations import MemoryContext, RecalledMemory, add_said
from agentic_memory_bank.state.react_mem import KnownFact, ReactMemState, ReactMemUpdate, Recollection
from agentic_memory_bank.state.settings import Settings

Agent = CompiledStateGraph[Any, Any, Any, Any]


class AgentMemory(Protocol):
    """What stands around the agent."""

    def failed(
        self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[Any], error: Exception
    ) -> None:
        """Keep how far an agent came that failed."""
        ...

    def is_on(self, conversation: str, runtime: Runtime[Any]) -> bool:
        """Whether memory takes part in a conversation."""
        ...

    def told(self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[Any]) -> ForgettingTurn:
        """Forget what the last message tells to."""
        ...

    def recalled(self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[Any]) -> Recollection:
        """Recall for the question."""
        ...

    def done(self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[Any]) -> None:
        """Store what was done."""
        ...


@dataclass(frozen=True, slots=True)
class Answering:
    """Runs the agent; an error reaches the caller, and what was done until then is stored."""

    agent_of: Callable[[Settings], Agent | None]
    """The agent with the model of a run; None where it has none."""
    memory: AgentMemory
    offline: Responder

    def answer(self, state: ReactMemState) -> ReactMemUpdate:
        """Answer.

        Raises:
            Exception: Whatever the agent raises.
        """
        runtime = get_runtime(MemoryContext)
        agent = self.agent_of(context_of(runtime))
        if agent is None:
            return self._quoted(state, runtime)
        try:
            found = agent.invoke(_given(state), context=runtime.context)
        except Exception as error:
            self._failed(state, runtime, error)
            raise
        return _update(state, found)

    async def aanswer(self, state: ReactMemState) -> ReactMemUpdate:
        """Answer as the synchronous method does, with tools and models that are asynchronous."""
        runtime = get_runtime(MemoryContext)
        agent = await asyncio.to_thread(self.agent_of, context_of(runtime))
        if agent is None:
            return await asyncio.to_thread(self._quoted, state, runtime)
        try:
            found = await agent.ainvoke(_given(state), context=runtime.context)
        except Exception as error:
            self._failed(state, runtime, error)
            raise
        return _update(state, found)

    def _failed(self, state: ReactMemState, runtime: Runtime[Any], error: Exception) -> None:
        if not isinstance(error, GraphBubbleUp):  # a pause is no failure
            self.memory.failed(state["messages"], state["conversation_id"], runtime, error)

    def _quoted(self, state: ReactMemState, runtime: Runtime[Any]) -> ReactMemUpdate:
        """An answer of quotes; it is nothing to be remembered."""
        is_on, messages = context_of(runtime).enable_memory, state["messages"]
        heard = self.memory.told(messages, state["conversation_id"], runtime) if is_on else NOTHING
        if heard.is_answered:
            if heard.news:
                self.memory.done(add_said(messages, [heard.news]), state["conversation_id"], runtime)
            return {"messages": heard.messages}
        is_on = is_on and self.memory.is_on(state["conversation_id"], runtime)
        messages = add_said(messages, heard.messages)
        asked = steps.split(messages)
        message = text_of(asked.question) if asked.question else ""
        if not is_on:
            return {"messages": [self.offline.respond(ResponderInput(messages, message, (), turns_of(asked.before)))]}
        known = self.memory.recalled(messages, state["conversation_id"], runtime)
        memories = [_as_memory(fact, place) for place, fact in enumerate(known["facts"])]
        earlier = [Turn(one["id"], "user", one["query"], "", one["at"][:10]) for one in known["invocations"]]
        before = turns_of(asked.before) or earlier
        quoted = self.offline.respond(ResponderInput(messages, message, memories, before))
        answer = quoted.model_copy(update={"additional_kwargs": {**quoted.additional_kwargs, RECALLED: True}})
        self.memory.done([*messages, answer], state["conversation_id"], runtime)
        return {"messages": [*heard.messages, answer]}


def _given(state: ReactMemState) -> dict[str, Any]:
    given = {"messages": state["messages"], "conversation_id": state["conversation_id"]}
    limit = get_config().get("recursion_limit")
    if limit is None or limit == DEFAULT_RECURSION_LIMIT:  # LangChain's own is what nobody chose
        return given
    return {**given, "most_calls": max(1, limit // STEPS_A_CALL)}


def _update(state: ReactMemState, found: Mapping[str, Any]) -> ReactMemUpdate:
    return {"messages": _left(state["messages"], found["messages"]), "stopped": found.get("stopped", "")}


def _left(given: Sequence[AnyMessage], found: Sequence[AnyMessage]) -> list[Any]:
    """The messages as the agent left them: what a middleware of it took out is taken out here as well."""
    kept = {message.id for message in found}
    is_whole = all(message.id in kept for message in given)
    return list(found) if is_whole else [RemoveMessage(id=REMOVE_ALL_MESSAGES), *found]


def _as_memory(fact: KnownFact, place: int) -> RecalledMemory:
    """A fact as a responder takes it; the order is all that is known of how well it fits."""
    return {
        "id": fact["id"],
        "type": "semantic",
        "text": fact["text"],
        "cosine": 0.0,
        "score": 1.0 / (1 + place),
        "shared": [],
        "trust": 1.0,
        "created_at": fact["at"],
        "updated_at": fact["at"],
        "conversations": [],
        "turns": [],
        "contradicts": [],
    }
