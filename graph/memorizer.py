"""The graph `memorizer`: makes pages of texts, each an abstract above the text word for word.

memorize   take_in > recall > abstract > store > embed > END    from store back to recall until nothing waits
nothing    take_in > embed > END                                all of it is empty, or known already
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Command

from agentic_memory_bank.engines.extractive.research import ExtractiveResearchEngine
from agentic_memory_bank.engines.factory import AnswerPool, EngineFactory, chat_research_engine
from agentic_memory_bank.engines.research import ResearchEngine
from agentic_memory_bank.graph.chainable import ChainableGraph, abridge_traces
from agentic_memory_bank.nodes.deps import Clock, utc_now
from agentic_memory_bank.nodes.memorizer.abstract import abstract, unjudged
from agentic_memory_bank.nodes.memorizer.embed import embed
from agentic_memory_bank.nodes.memorizer.recall import recall
from agentic_memory_bank.nodes.memorizer.store import store
from agentic_memory_bank.nodes.memorizer.take_in import take_in
from agentic_memory_bank.nodes.memory_bank import fallbacks
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.nodes.run_stage import RETRY_ONCE, run_stage
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import ModelRefused
from agentic_memory_bank.state.memorizer import WHOLE, MemorizerInput, MemorizerOutput, MemorizerState
from agentic_memory_bank.state.model_table import MEMORIZER_ROLES
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder, check_embeddings
from agentic_memory_bank.tools.pages.library import PageLibraries
from agentic_memory_bank.tools.pages.stores import PageStores
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

Memorizer = ChainableGraph[MemorizerState, Settings, MemorizerInput, MemorizerOutput]


def anything_left(state: MemorizerState) -> Literal["recall", "embed"]:
    """Ask whether there are pages without an abstract."""
    return "recall" if state["work"].get("waiting") else "embed"


def without_model(state: MemorizerState, error: NodeError, *, deps: PageDeps) -> Command[Literal["store"]]:
    """Use the central sentences of each page as its abstract where no model could be asked."""
    fault = fallbacks.raised(error.error)
    note = fallbacks.without(error.node, fault, cast(Any, state))
    if isinstance(fault, ModelRefused):
        note["allowance"] = {**state.get("allowance", {}), "ending": "finish"}
    return Command(update={**unjudged(state, deps), **note}, goto="store")


def wire(deps: PageDeps) -> StateGraph[MemorizerState, Settings, MemorizerInput, MemorizerOutput]:
    """Wire the five stages. This is the diagram; no stage knows another."""
    memorizer: StateGraph[MemorizerState, Settings, MemorizerInput, MemorizerOutput] = StateGraph(
        MemorizerState, input_schema=MemorizerInput, output_schema=MemorizerOutput, context_schema=MemoryContext
    )

    # A memory that cannot be read or written is the caller's to hear of: it stays pending until it is resumed.
    memorizer.add_node("take_in", partial(take_in, deps=deps))
    memorizer.add_node("recall", partial(recall, deps=deps))
    memorizer.add_node(
        "abstract",
        partial(run_stage, stage=abstract, deps=deps),
        retry_policy=RETRY_ONCE,
        error_handler=partial(without_model, deps=deps),  # pyright: ignore[reportArgumentType] - LangGraph's type leaves out the error
    )
    memorizer.add_node(
        "store", partial(run_stage, stage=store, deps=deps, is_timed=False)
    )  # counts what a stage that failed has spent
    memorizer.add_node("embed", partial(embed, deps=deps))

    memorizer.add_edge(START, "take_in")
    memorizer.add_conditional_edges("take_in", anything_left)
    memorizer.add_edge("recall", "abstract")
    memorizer.add_edge("abstract", "store")
    memorizer.add_conditional_edges("store", anything_left)
    memorizer.add_edge("embed", END)
    return memorizer


def build_memorizer(
    *,
    engine: ResearchEngine | None = None,
    models: "GivenModels | None" = None,
    embeddings: Embeddings | None = None,
    stores: PageStores | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
    clock: Clock = utc_now,
    answers: Path | ThreadRows | None = None,
    brief: bool = False,
) -> Memorizer:
    """Compile the graph that makes pages of texts.

    Args:
        engine: Makes the judgements, in place of chat models and of the extractive engine.
        models: A LangChain chat model, or a mapping of roles to chat models; the role asked here is `abstract`.
            Default: the model that the settings name, or else the extractive engine, which needs no network and no key.
        embeddings: Any LangChain embeddings, those of the researcher. Default: all-MiniLM-L6-v2, loaded on first use.
        stores: Stores of the memories of pages; pass the same to the researcher. Default: files in `MEMORY_BANK_HOME`,
            or the user's state folder. `PageStores(in_memory=True)` writes none.
        checkpointer: Makes runs resumable; pass `durability="sync"` when you invoke the graph yourself. Without one,
            hand the same texts over again after a kill: pages that are there are left out.
        store: LangGraph's store, handed to the runtime.
        clock: Returns the current time; a fixed one makes runs byte-equal.
        answers: File, or rows of a database, in which the answers of chat models are kept, so that none is paid for
            twice. Default: in memory.
        brief: Whether `get_state`, its history and streams leave out the texts and what is made of them until they are
            pages. For servers, which send the whole state with a thread and each step of its history.

    Returns:
        The compiled graph.

    Example:
        >>> build_memorizer().invoke({"texts": ["The mirror was paid for by the Lund fund."], "memory": "letters"})
    """
    engines: EngineFactory[ResearchEngine] = EngineFactory(
        ExtractiveResearchEngine(),
        engine,
        models,
        AnswerPool(answers),
        MEMORIZER_ROLES,
        chat_research_engine,
        ("abstract",),
    )
    check_embeddings(embeddings)
    libraries = PageLibraries(lambda file: Encoder(embeddings, cache=file))
    deps = PageDeps(
        engine=engines.default, engines=engines, clock=clock, stores=stores or PageStores(), libraries=libraries
    )
    memorizer, hidden = wire(deps), WHOLE if brief else ()
    abridge_traces(memorizer, hidden)
    return ChainableGraph.of(memorizer.compile(checkpointer=checkpointer, store=store, name="memorizer"), hidden)


graph = build_memorizer(brief=True)
