"""The graph `remember`: keeps turns word for word at once, and extracts memories from them in batches.

waiting    take_in > END                        nothing is new, memory is off, or it is not time yet
extract    take_in > extract > weigh > store    enough turns, the end, silence, or another topic
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.engines.factory import AnswerPool, EngineFactory, chat_conversation_engine
from agentic_memory_bank.graph.chainable import ChainableGraph
from agentic_memory_bank.nodes.deps import Clock, utc_now
from agentic_memory_bank.nodes.memory_deps import MemoryDeps
from agentic_memory_bank.nodes.remember.extraction import ExtractionOutage, extract
from agentic_memory_bank.nodes.remember.resolution import resolve
from agentic_memory_bank.nodes.remember.store import store as store_stage
from agentic_memory_bank.nodes.remember.take_in import take_in
from agentic_memory_bank.nodes.remember.views import receipt
from agentic_memory_bank.state.conversations import (
    MemoryContext,
    RememberInput,
    RememberOutput,
    RememberState,
    RememberUpdate,
)
from agentic_memory_bank.state.errors import EmbeddingError, StorageError
from agentic_memory_bank.state.model_table import REMEMBER_ROLES
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.circuit_breaker import circuit_breaker_of, error_kind
from agentic_memory_bank.tools.memories.stores import RecordStores, stores_for

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

Remember = ChainableGraph[RememberState, Settings, RememberInput, RememberOutput]
_Stage = Callable[[RememberState, Runtime[MemoryContext]], RememberUpdate]

ANSWERED: Final = 64
"""Number of runs whose answers of models are kept in memory."""


def anything_to_draw(state: RememberState) -> Literal["on", "over"]:
    """Ask whether it is time to extract memories, and whether the store can be reached."""
    return "on" if state["draws"] else "over"


def or_unavailable(
    state: RememberState, runtime: Runtime[MemoryContext], *, stage: _Stage, deps: MemoryDeps
) -> RememberUpdate:
    """Run a stage; where the store cannot be reached, the receipt says so and the request goes on."""
    outages = circuit_breaker_of(deps.stores).outages
    try:
        done = stage(state, runtime)
        outages.end("unkept")
        return done
    except (StorageError, EmbeddingError) as error:
        outages.begin("unkept", error_kind(error))
        told = receipt("unavailable", degraded=[f"remember: {type(error).__name__}"])
        return {"draws": [], "stored": [], "updated": [], "superseded": [], "receipt": told}


def wire(deps: MemoryDeps) -> StateGraph[RememberState, MemoryContext, RememberInput, RememberOutput]:
    """Wire the four stages. This is the diagram; no stage knows another."""
    remember: StateGraph[RememberState, MemoryContext, RememberInput, RememberOutput] = StateGraph(
        RememberState, input_schema=RememberInput, output_schema=RememberOutput, context_schema=MemoryContext
    )
    outage = ExtractionOutage()

    remember.add_node("take_in", partial(or_unavailable, stage=partial(take_in, deps=deps), deps=deps))
    for name, stage in (("extract", extract), ("weigh", resolve), ("store", store_stage)):
        remember.add_node(name, partial(or_unavailable, stage=partial(stage, deps=deps, outage=outage), deps=deps))

    remember.add_edge(START, "take_in")
    for name, then in (("take_in", "extract"), ("extract", "weigh"), ("weigh", "store")):
        remember.add_conditional_edges(name, anything_to_draw, {"on": then, "over": END})
    remember.add_edge("store", END)
    return remember


def build_remember(
    *,
    engine: ConversationEngine | None = None,
    models: "GivenModels | None" = None,
    embeddings: Embeddings | None = None,
    store: BaseStore | None = None,
    stores: RecordStores | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    clock: Clock = utc_now,
    answers: Path | None = None,
) -> Remember:
    """Compile the graph that remembers conversations.

    Args:
        engine: Makes the judgements, in place of chat models and of the extractive engine.
        models: A LangChain chat model, or a mapping of roles to chat models; the roles asked here are `extract` and
            `summarise`. Default: the models that the settings name, or else the extractive engine, which needs no
            network and no key.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        store: Store in which memories are kept. Default: the server's store, or else a file.
        stores: Stores shared with other graphs, such as those of `build_recall`, in place of `store` and `embeddings`.
        checkpointer: Makes runs resumable; pass `durability="sync"` when you invoke the graph yourself. False: none,
            even where the graph is part of another one.
        clock: Returns the current time; a fixed one makes runs byte-equal.
        answers: File in which the answers of chat models are kept, so that none is paid for twice. Default: in memory.

    Returns:
        The compiled graph.

    Example:
        >>> said = {"messages": [("user", "I moved to Lisbon.")], "conversation_id": "c1", "end": True}
        >>> build_remember().invoke(said, context={"user": "ana"})["stored"]
    """
    stores = stores or stores_for(store, embeddings, clock, utc_now)
    pool = AnswerPool(answers, ANSWERED)
    engines: EngineFactory[ConversationEngine] = EngineFactory(
        ExtractiveConversationEngine(), engine, models, pool, REMEMBER_ROLES, chat_conversation_engine
    )
    deps = MemoryDeps(engine=engines.default, engines=engines, clock=clock, stores=stores)
    return ChainableGraph.of(wire(deps).compile(checkpointer=checkpointer, store=store, name="remember"))


graph = build_remember()
