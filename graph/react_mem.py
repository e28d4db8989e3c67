"""The graph `react_mem`: a ReAct agent with four tiers of memory, which also remembers its failures.

ask        open > answer                what was done is kept in the background
last       open > answer > close        the conversation ends with it
end        open > close                 nothing is asked: the conversation ends
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.engines.extractive.responder import ExtractiveResponder
from agentic_memory_bank.graph.chainable import ChainableGraph
from agentic_memory_bank.graph.four_tier import FourTierMemory
from agentic_memory_bank.graph.limits import AgentLimits
from agentic_memory_bank.nodes.deps import BackgroundQueue, Clock, utc_now
from agentic_memory_bank.nodes.react_mem.answering import Agent, Answering
from agentic_memory_bank.nodes.react_mem.lifecycle import close_conversation, open_conversation
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.react_mem import ReactMemInput, ReactMemOutput, ReactMemState
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.memories.stores import RecordStores

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

AGENTS: Final = 16
"""Number of models whose agents are kept."""

ReactMem = ChainableGraph[ReactMemState, Settings, ReactMemInput, ReactMemOutput]


def anything_asked(state: ReactMemState) -> Literal["answer", "close"]:
    """Ask whether there is a message to answer."""
    return "answer" if state["asks"] else "close"


def is_last(state: ReactMemState) -> Literal["close", "__end__"]:
    """Ask whether the conversation ends with this."""
    return "close" if state["closes"] else "__end__"


def wire(
    memory: FourTierMemory, answering: Answering
) -> StateGraph[ReactMemState, MemoryContext, ReactMemInput, ReactMemOutput]:
    """Wire the three stages. This is the diagram; no stage knows another."""
    agent: StateGraph[ReactMemState, MemoryContext, ReactMemInput, ReactMemOutput] = StateGraph(
        ReactMemState, input_schema=ReactMemInput, output_schema=ReactMemOutput, context_schema=MemoryContext
    )
    agent.add_node("open", open_conversation)
    agent.add_node("answer", RunnableLambda(answering.answer, answering.aanswer))
    agent.add_node("close", partial(close_conversation, end=memory.end))
    agent.add_edge(START, "open")
    agent.add_conditional_edges("open", anything_asked)
    agent.add_conditional_edges("answer", is_last)
    agent.add_edge("close", END)
    return agent


def build_react_mem(
    model: str | BaseChatModel | None = None,
    tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]] = (),
    *,
    middleware: Sequence[AgentMiddleware[Any, Any]] = (),
    system_prompt: str | SystemMessage | None = None,
    engine: ConversationEngine | None = None,
    models: "GivenModels | None" = None,
    embeddings: Embeddings | None = None,
    store: BaseStore | None = None,
    stores: RecordStores | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    clock: Clock = utc_now,
    answers: Path | None = None,
    background: BackgroundQueue | None = None,
) -> ReactMem:
    """Compile an agent with memory, whose invocations always end.

    Facts and lessons are extracted after the answer, in a queue: pass one as `background` to wait for it with `flush`
    and to end it with `close`. The graph's own queue is drained for some seconds when the process ends.

    Args:
        model: Chat model of the agent, as `create_agent` takes it. Default: that of the role `react`, or else none:
            what was said is quoted then, no tool is called and no episode recorded.
        tools: Tools of the agent; those of its memory are added.
        middleware: Further middleware, around that of memory; the first is the outermost.
        system_prompt: Instructions of the agent.
        engine: Judges what is remembered, in place of chat models: `ExtractiveConversationEngine()` does by rule.
        models: Chat models for what is remembered: one, or a mapping of roles (`extract`, `summarise`; `react` where no
            `model` is given). Default: the models that the settings name, or else the agent's own; without any, rules.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        store: LangGraph's store in which memories are kept. Default: the server's, or else a file.
        stores: Stores shared with other graphs, in place of `store` and `embeddings`.
        checkpointer: Makes runs resumable, and keeps the messages of a thread. Without one, a conversation goes on from
            its summaries, by its id.
        clock: Returns the current time; a fixed one makes runs repeatable.
        answers: File in which answers to judgements are kept. Default: in memory.
        background: Queue for what is done after the answer. Default: one of the graph's own.

    Returns:
        The compiled graph. An invocation is held to `react_calls` and the budgets; its output says in `stopped` which
        of them ended it.

    Example:
        >>> agent = build_react_mem("openai:gpt-4o-mini", [search_flights])
        >>> agent.invoke({"messages": [("user", "Find a flight.")], "conversation_id": "c1"}, context={"user": "ana"})
    """
    memory = FourTierMemory(
        engine=engine,
        models=models,
        embeddings=embeddings,
        store=store,
        stores=stores,
        clock=clock,
        answers=answers,
        background=background,
    )
    agents = Agents(model, models, partial(_agent, tools, (*middleware, memory), system_prompt, clock))
    answering = Answering(agents.of, memory, ExtractiveResponder(memory.deps.stores.encoder.answers))
    return ChainableGraph.of(wire(memory, answering).compile(checkpointer=checkpointer, store=store, name="react_mem"))


def _agent(
    tools: Sequence[Any],
    middleware: Sequence[AgentMiddleware[Any, Any]],
    prompt: str | SystemMessage | None,
    clock: Clock,
    model: Any,
    name: str = "",
    outer: Sequence[AgentMiddleware[Any, Any]] = (),
) -> Agent:
    around = [*outer, *middleware, AgentLimits(name, clock=clock)]
    return create_agent(model, list(tools), middleware=around, system_prompt=prompt, context_schema=MemoryContext)


class Agents:
    """Makes the agent of each model that settings name; of the one that was given, where there is one.

    Args:
        models: Chat models by role, for runs without the one that was given.
    """

    def __init__(
        self, given: str | BaseChatModel | None, models: "GivenModels | None", make: Callable[..., Agent]
    ) -> None:
        self._given, self._models, self._make = given, models, make
        self._made: LruCache[str, Agent] = LruCache(AGENTS)

    def of(self, settings: Settings) -> Agent | None:
        """Get the agent of a run; None where it has no model.

        Raises:
            SettingsError: The model that the settings name cannot be asked.
        """
        key = "" if self._given is not None else self._key(settings)
        if key is None:
            return None
        return self._made.get(key, lambda: self._made_for(settings))

    def _key(self, settings: Settings) -> str | None:
        """Make the key of an agent; None where there is no model."""
        is_passed = isinstance(self._models, BaseChatModel) or (self._models is not None and "react" in self._models)
        row = settings.role("react")
        return "passed" if is_passed else None if row.model is None else repr(row)

    def _made_for(self, settings: Settings) -> Agent:
        """Make an agent; requests are retried here, as our own clients send each once."""
        if self._given is not None:
            return self._make(self._given, self._given if isinstance(self._given, str) else "")
        from agentic_memory_bank.engines.llm.models import ChatModels

        role = ChatModels.of(settings, self._models, ("react",)).roles["react"]
        return self._make(
            role.client, role.name, [ModelRetryMiddleware(max_retries=settings.retries, on_failure="error")]
        )


graph = build_react_mem()
