"""The graph `researcher`: plans, searches a memory of pages, integrates and reflects until the evidence suffices.

easy       take_in > plan > search > integrate > reflect > answer       found at once: two calls of a model
hard       reflect > plan > search > integrate > reflect > ...          up to five follow-up requests a round
nothing    take_in > END                                                the memory is empty: no call
           plan > answer, search > answer                               nothing that was not searched, or seen, before
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command

from agentic_memory_bank.engines.extractive.research import ExtractiveResearchEngine
from agentic_memory_bank.engines.factory import AnswerPool, EngineFactory, chat_research_engine
from agentic_memory_bank.engines.research import ResearchEngine
from agentic_memory_bank.graph.chainable import ChainableGraph
from agentic_memory_bank.nodes.deps import Clock, MeteredState, utc_now
from agentic_memory_bank.nodes.memory_bank import fallbacks
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.nodes.researcher.answer import answer
from agentic_memory_bank.nodes.researcher.integrate import integrate
from agentic_memory_bank.nodes.researcher.plan import as_it_stands, plan, to_search
from agentic_memory_bank.nodes.researcher.reflect import reflect
from agentic_memory_bank.nodes.researcher.retrieved import Retriever, checked_retrievers
from agentic_memory_bank.nodes.researcher.search import search
from agentic_memory_bank.nodes.researcher.take_in import take_in
from agentic_memory_bank.nodes.researcher.views import past_round
from agentic_memory_bank.nodes.run_stage import RETRY_ONCE, run_stage
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.model_table import RESEARCHER_ROLES
from agentic_memory_bank.state.research import ResearcherInput, ResearcherOutput, ResearcherState, ResearcherUpdate
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.pages.library import PageLibraries
from agentic_memory_bank.tools.pages.stores import PageStores
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

Researcher = ChainableGraph[ResearcherState, Settings, ResearcherInput, ResearcherOutput]

_After = Literal["search", "reflect", "answer", "__end__"]


def anything_there(state: ResearcherState) -> Literal["plan", "__end__"]:
    """Ask whether there are pages to search."""
    return "plan" if state["requests"] else "__end__"


def anything_to_search(state: ResearcherState) -> Literal["search", "answer"]:
    """Ask whether the plan holds a search that was not made before."""
    return "search" if state["searches"] and not _is_stopped(state) else "answer"


def anything_new(state: ResearcherState) -> Literal["integrate", "answer"]:
    """Ask whether something turned up that was not seen before."""
    return "integrate" if state["found"] and not _is_stopped(state) else "answer"


def anything_missing(state: ResearcherState) -> Literal["plan", "answer"]:
    """Ask whether there is something to look for."""
    return "plan" if state["requests"] and not _is_stopped(state) else "answer"


def _is_stopped(state: ResearcherState) -> bool:
    return state.get("allowance", {}).get("ending") == "stop"


def go_on(state: ResearcherState, error: NodeError) -> Command[_After]:
    """Go on without a stage that failed twice, with what was found before."""
    note = fallbacks.without(error.node, fallbacks.raised(error.error), cast(Any, state))
    match error.node:
        case "plan":  # the requests are searched as they stand
            planned = [as_it_stands(request) for request in state["requests"]]
            return Command(update={**to_search(state, planned), **note}, goto="search")
        case "integrate":
            past = past_round(state, state["findings"], is_enough=False)
            seen = {"shown": [*state["shown"], *state["found"]], "found": [], "rounds": [*state["rounds"], past]}
            return Command(update={**seen, "leads": [], **note}, goto="reflect")  # those of the round before are done
        case "reflect":
            return Command(update={"requests": [], **note}, goto="answer")
        case _:
            return Command(update={"status": "failed", **note}, goto="__end__")


def count_and_go_on(
    state: ResearcherState, runtime: Runtime[Settings], error: NodeError, *, deps: PageDeps
) -> Command[_After]:
    """Go on without a stage that failed twice, and count what it has spent."""
    gone_on, meter = go_on(state, error), deps.engine_for(cast(MeteredState, state), runtime).meter
    return replace(gone_on, update={**cast(Any, gone_on.update), "usage": meter.usage()}) if meter else gone_on


def wire(
    deps: PageDeps,
    run: Callable[..., ResearcherUpdate] = run_stage,
    without: Callable[..., Command[_After]] | None = None,
) -> StateGraph[ResearcherState, Settings, ResearcherInput, ResearcherOutput]:
    """Wire the six stages. This is the diagram; no stage knows another.

    Args:
        run: Function that runs the stages that ask an engine.
        without: Function that goes on without one of these that failed twice. Default: `count_and_go_on`.
    """
    researcher: StateGraph[ResearcherState, Settings, ResearcherInput, ResearcherOutput] = StateGraph(
        ResearcherState, input_schema=ResearcherInput, output_schema=ResearcherOutput, context_schema=MemoryContext
    )

    # A memory that cannot be read is the caller's to hear of: it stays pending until it is resumed.
    researcher.add_node("take_in", partial(take_in, deps=deps))
    researcher.add_node("search", partial(search, deps=deps))
    for name, stage in (("plan", plan), ("integrate", integrate), ("reflect", reflect), ("answer", answer)):
        researcher.add_node(
            name,
            partial(run, stage=stage, deps=deps),
            retry_policy=RETRY_ONCE,
            error_handler=without or partial(count_and_go_on, deps=deps),  # pyright: ignore[reportArgumentType] - LangGraph's type leaves out the error
        )

    researcher.add_edge(START, "take_in")
    researcher.add_conditional_edges("take_in", anything_there)
    researcher.add_conditional_edges("plan", anything_to_search)
    researcher.add_conditional_edges("search", anything_new)
    researcher.add_edge("integrate", "reflect")
    researcher.add_conditional_edges("reflect", anything_missing)
    researcher.add_edge("answer", END)
    return researcher


def build_researcher(
    *,
    engine: ResearchEngine | None = None,
    models: "GivenModels | None" = None,
    embeddings: Embeddings | None = None,
    stores: PageStores | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
    clock: Clock = utc_now,
    answers: Path | ThreadRows | None = None,
    retrievers: Retriever | Sequence[Retriever] = (),
) -> Researcher:
    """Compile the graph that answers requests from a memory of pages.

    Args:
        engine: Makes the judgements, in place of chat models and of the extractive engine.
        models: A LangChain chat model, or a mapping of roles to chat models; the role asked here is `research`.
            Default: the model that the settings name, or else the extractive engine, which needs no network and no key.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        stores: Stores of the memories of pages, those of the memorizer. Default: files in `MEMORY_BANK_HOME`, or the
            user's state folder.
        checkpointer: Makes runs resumable; pass `durability="sync"` when you invoke the graph yourself.
        store: LangGraph's store, handed to the runtime.
        clock: Returns the current time; a fixed one makes runs byte-equal.
        answers: File, or rows of a database, in which the answers of chat models are kept, so that none is paid for
            twice. Default: in memory.
        retrievers: LangChain retrievers of any make, or functions from a question to documents: they are searched
            beside the memory of pages, or alone where no memory is named. What fails is passed over.

    Returns:
        The compiled graph.

    Raises:
        SettingsError: A retriever is nothing that can be asked.

    Example:
        >>> build_researcher().invoke({"request": "Who paid for the mirror?", "memory": "letters"})["answer"]
        >>> build_researcher(retrievers=[vectorstore.as_retriever()]).invoke({"request": "Who paid for the mirror?"})
    """
    engines: EngineFactory[ResearchEngine] = EngineFactory(
        ExtractiveResearchEngine(Encoder(embeddings).answers),
        engine,
        models,
        AnswerPool(answers),
        RESEARCHER_ROLES,
        chat_research_engine,
    )
    libraries = PageLibraries(lambda file: Encoder(embeddings, cache=file))
    deps = PageDeps(
        engine=engines.default,
        engines=engines,
        clock=clock,
        stores=stores or PageStores(),
        libraries=libraries,
        retrievers=checked_retrievers(retrievers),
    )
    return ChainableGraph.of(wire(deps).compile(checkpointer=checkpointer, store=store, name="researcher"))


graph = build_researcher()
