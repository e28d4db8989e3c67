"""The graph `conversation`: recalls what is known of the user before an answer, and keeps what was said after it.

talk       told > recall > respond > remember      with memory off, the model is called without it
forget     told > remember                          `told` carries out a request to forget, and answers
                                                   where the message tells nothing else, that is all
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.engines.extractive.responder import ExtractiveResponder
from agentic_memory_bank.engines.factory import AnswerPool, EngineFactory, chat_responder
from agentic_memory_bank.engines.responder import Responder
from agentic_memory_bank.graph.chainable import ChainableGraph
from agentic_memory_bank.graph.recall import build_recall
from agentic_memory_bank.graph.remember import build_remember
from agentic_memory_bank.nodes.conversation.deps import ConversationDeps
from agentic_memory_bank.nodes.conversation.recall import recall
from agentic_memory_bank.nodes.conversation.remember import remember
from agentic_memory_bank.nodes.conversation.respond import respond
from agentic_memory_bank.nodes.conversation.told import told
from agentic_memory_bank.nodes.deps import BackgroundQueue, Clock, utc_now
from agentic_memory_bank.state.conversations import (
    ConversationInput,
    ConversationOutput,
    ConversationState,
    MemoryContext,
)
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.memories.stores import RecordStores, stores_for

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

Conversation = ChainableGraph[ConversationState, Settings, ConversationInput, ConversationOutput]


def wire(deps: ConversationDeps) -> StateGraph[ConversationState, MemoryContext, ConversationInput, ConversationOutput]:
    """Wire the four stages. This is the diagram; no stage knows another."""
    talk: StateGraph[ConversationState, MemoryContext, ConversationInput, ConversationOutput] = StateGraph(
        ConversationState,
        input_schema=ConversationInput,
        output_schema=ConversationOutput,
        context_schema=MemoryContext,
    )
    talk.add_node("told", partial(told, deps=deps), destinations=("recall", "remember", END))
    talk.add_node("recall", partial(recall, deps=deps))
    talk.add_node("respond", partial(respond, deps=deps))
    talk.add_node("remember", partial(remember, deps=deps))
    talk.add_edge(START, "told")
    talk.add_edge("recall", "respond")
    talk.add_edge("respond", "remember")
    talk.add_edge("remember", END)
    return talk


def build_conversation(
    *,
    engine: ConversationEngine | None = None,
    responder: Responder | None = None,
    models: "GivenModels | None" = None,
    embeddings: Embeddings | None = None,
    store: BaseStore | None = None,
    stores: RecordStores | None = None,
    background: BackgroundQueue | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    clock: Clock = utc_now,
    answers: Path | None = None,
) -> Conversation:
    """Compile a chat that knows its user.

    Memories are extracted after the answer, in a queue: pass one as `background` to wait for it with `flush` and to end
    it with `close`. The graph's own queue is drained for some seconds when the process ends.

    Args:
        engine: Judges what is recalled and remembered, in place of chat models and of the extractive engine.
        responder: Writes the answers, in place of them.
        models: A LangChain chat model, or a mapping of roles to chat models: `react` answers, `rewrite`, `extract` and
            `summarise` serve memory. Default: the models that the settings name, or else none: answers are quotes.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        store: LangGraph's store in which memories are kept. Default: the server's, or else a file.
        stores: Stores shared with other graphs, in place of `store` and `embeddings`.
        background: Queue for what is done after the answer. Default: one of the graph's own.
        checkpointer: Makes runs resumable, and keeps the messages of a thread. Without one, a conversation goes on from
            its stored state, by its id.
        clock: Returns the current time; a fixed one makes runs repeatable.
        answers: File in which answers to judgements are kept. Default: in memory.

    Returns:
        The compiled graph.

    Example:
        >>> chat = build_conversation(models=ChatOpenAI(model="gpt-4o-mini"))
        >>> chat.invoke({"messages": [("user", "Hello!")], "conversation_id": "c1"}, context={"user": "ana"})
    """
    shared = stores or stores_for(store, embeddings, clock, utc_now)
    parts: dict[str, Any] = {"engine": engine, "models": models, "stores": shared, "clock": clock, "answers": answers}
    parts["checkpointer"] = False  # not even that of the conversation: what was recalled is in no checkpoint
    engines: EngineFactory[Responder] = EngineFactory(
        ExtractiveResponder(shared.encoder.answers), responder, models, AnswerPool(), ("react",), chat_responder
    )
    deps = ConversationDeps(
        engine=engines.default,
        engines=engines,
        stores=shared,
        recall=build_recall(**parts),
        remember=build_remember(**parts),
        queue=background or WorkerPool(Settings.of(None).remember_queue),
        summariser=ExtractiveConversationEngine(),
        clock=clock,
    )
    return ChainableGraph.of(wire(deps).compile(checkpointer=checkpointer, store=store, name="conversation"))


graph = build_conversation()
