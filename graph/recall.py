"""The graph `recall`: finds what is known from earlier conversations of a user that helps with a message.

recall     gate > rewrite > search > inject      memories, fenced, for a message of the role user
closed     gate > END                            a greeting, a fact of the world, what a tool knows, or memory is off

It never pauses, and an error in it fails no request: the receipt names it, and the log, once.
What was recalled is in no checkpoint; a run that is resumed searches again.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.engines.factory import AnswerPool, EngineFactory, chat_conversation_engine
from agentic_memory_bank.graph.chainable import ChainableGraph
from agentic_memory_bank.nodes.deps import Clock, utc_now
from agentic_memory_bank.nodes.memory_deps import MemoryDeps
from agentic_memory_bank.nodes.recall.gate import gate
from agentic_memory_bank.nodes.recall.inject import inject
from agentic_memory_bank.nodes.recall.rewrite import rewrite
from agentic_memory_bank.nodes.recall.search import search
from agentic_memory_bank.state.conversations import MemoryContext, RecallInput, RecallOutput, RecallState
from agentic_memory_bank.state.model_table import RECALL_ROLES
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.memories.stores import RecordStores, stores_for

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

Recall = ChainableGraph[RecallState, Settings, RecallInput, RecallOutput]


def worth_a_search(state: RecallState) -> Literal["rewrite", "__end__"]:
    """Ask whether memories may help with the message."""
    return "rewrite" if state["receipt"]["outcome"] == "missing" else "__end__"


def wire(deps: MemoryDeps) -> StateGraph[RecallState, MemoryContext, RecallInput, RecallOutput]:
    """Wire the four stages. This is the diagram; no stage knows another."""
    recall: StateGraph[RecallState, MemoryContext, RecallInput, RecallOutput] = StateGraph(
        RecallState, input_schema=RecallInput, output_schema=RecallOutput, context_schema=MemoryContext
    )
    recall.add_node("gate", partial(gate, deps=deps))
    recall.add_node("rewrite", partial(rewrite, deps=deps))
    recall.add_node("search", partial(search, deps=deps))
    recall.add_node("inject", partial(inject, deps=deps))

    recall.add_edge(START, "gate")
    recall.add_conditional_edges("gate", worth_a_search)
    recall.add_edge("rewrite", "search")
    recall.add_edge("search", "inject")
    recall.add_edge("inject", END)
    return recall


def build_recall(
    *,
    engine: ConversationEngine | None = None,
    models: "GivenModels | None" = None,
    embeddings: Embeddings | None = None,
    store: BaseStore | None = None,
    stores: RecordStores | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    clock: Clock = utc_now,
    answers: Path | None = None,
) -> Recall:
    """Compile the graph that finds the memories for a message.

    Args:
        engine: Makes the judgements, in place of chat models and of the extractive engine.
        models: A LangChain chat model, or a mapping of roles to chat models; the role asked here is `rewrite`.
            Default: the model that the settings name, or else the extractive engine, which needs no network and no key.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        store: Any `BaseStore` in which memories are kept. Default: the server's, or else a file in `MEMORY_BANK_HOME`.
        stores: Stores shared with other graphs, and so their indexes, in place of `embeddings` and `store`.
        checkpointer: Keeps the state of a run, without what was recalled.
        clock: Returns the current time; a fixed one makes runs byte-equal.
        answers: File in which the answers of chat models are kept, so that none is paid for twice. Default: in memory.

    Returns:
        The compiled graph.

    Example:
        >>> build_recall().invoke({"messages": [("user", "Where do I live?")]}, context={"user": "ana"})["block"]
    """
    engines: EngineFactory[ConversationEngine] = EngineFactory(
        ExtractiveConversationEngine(), engine, models, AnswerPool(answers), RECALL_ROLES, chat_conversation_engine
    )
    stores = stores or stores_for(store, embeddings, clock, utc_now)
    deps = MemoryDeps(engine=engines.default, engines=engines, clock=clock, stores=stores)
    return ChainableGraph.of(wire(deps).compile(checkpointer=checkpointer, store=store, name="recall"))


graph = build_recall()
