"""The graph `memory_bank`: remembers texts, settles contradictions, plans a step, carries it out, and repeats.

remember   adapter_in > classify > structure > embed > retrieve > analyze_conflict > analyze_related > plan
merge      analyze_conflict > integrate > embed > retrieve > ...     two memories say the same
suspect    analyze_conflict > plan                                   all that is new contradicts what is known
resolve    adapter_out > integrate > embed > ...                     a verdict on a contradiction arrived
skip       adapter_in > plan                                         there is nothing to remember
act        plan > adapter_in > execute > adapter_out                 one step, with memory recalled for it
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from langchain_core.embeddings import Embeddings
from langchain_core.tools import BaseTool
from langgraph.cache.base import BaseCache
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import NodeError
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command

from agentic_memory_bank.engines.base import Engine
from agentic_memory_bank.engines.extractive import ExtractiveEngine
from agentic_memory_bank.engines.factory import AnswerPool, EngineFactory
from agentic_memory_bank.graph.bank_research import BankResearch
from agentic_memory_bank.graph.chainable import ChainableGraph, abridge_traces
from agentic_memory_bank.graph.editing import EditableGraph
from agentic_memory_bank.nodes.deps import Clock, utc_now
from agentic_memory_bank.nodes.executors import Execution, as_executor
from agentic_memory_bank.nodes.memory_bank import fallbacks
from agentic_memory_bank.nodes.memory_bank.adapter_in import adapter_in
from agentic_memory_bank.nodes.memory_bank.adapter_out import adapter_out
from agentic_memory_bank.nodes.memory_bank.analyze_conflict import analyze_conflict
from agentic_memory_bank.nodes.memory_bank.analyze_related import analyze_related
from agentic_memory_bank.nodes.memory_bank.classify import classify
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.embed import embed
from agentic_memory_bank.nodes.memory_bank.execute import execute
from agentic_memory_bank.nodes.memory_bank.handing_out import hand_out
from agentic_memory_bank.nodes.memory_bank.integrate import integrate
from agentic_memory_bank.nodes.memory_bank.plan import plan
from agentic_memory_bank.nodes.memory_bank.retrieve import retrieve
from agentic_memory_bank.nodes.memory_bank.structure import structure
from agentic_memory_bank.nodes.run_stage import RETRY_ONCE, run_stage
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import unfit
from agentic_memory_bank.state.memory_bank import LINES, WHOLE, MemoryBankInput, MemoryBankOutput, MemoryBankState
from agentic_memory_bank.state.query_graph import open_conflicts
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.documents.attachments import AttachmentStores
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.search.bank_index import IndexPool, MemoryIndex
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

MemoryBank = ChainableGraph[MemoryBankState, Settings, MemoryBankInput, MemoryBankOutput]


def what_arrived(state: MemoryBankState) -> Literal["classify", "execute", "plan"]:
    """Ask whether there is raw text to remember, a planned step to carry out, or neither."""
    if state["incoming"]:
        return "classify"
    return "execute" if state["insight_doc"].get("current") else "plan"


def what_was_found(state: MemoryBankState) -> Literal["integrate", "plan", "analyze_related"]:
    """Ask whether memories say the same, and whether all that is new is in conflict."""
    if state["merging"]:
        return "integrate"
    suspect = {node_id for conflict in open_conflicts(state["query_graph"]) for node_id in conflict["nodes"]}
    return "plan" if state["fresh"] and suspect.issuperset(state["fresh"]) else "analyze_related"


def anything_left(state: MemoryBankState) -> Literal["adapter_in", "adapter_out"]:
    """Ask whether the plan names a next step, or waits for something to be remembered first."""
    return "adapter_in" if state["insight_doc"].get("current") or state["incoming"] else "adapter_out"


def what_came_back(state: MemoryBankState) -> Literal["integrate", "classify", "plan", "__end__"]:
    """Ask whether the run is over, or the step brought a verdict, new raw text, or nothing."""
    if state["status"] != "running":
        return "__end__"
    if state["verdict"]:
        return "integrate"
    return "classify" if state["incoming"] else "plan"


def go_on(state: MemoryBankState, runtime: Runtime[Settings], error: NodeError) -> Command[fallbacks.Next]:
    """Go on without a stage that failed twice."""
    note = fallbacks.without(error.node, fallbacks.raised(error.error), state)
    match error.node:
        case "classify":
            return Command(update={**fallbacks.unclassified(state, Settings.of(runtime)), **note}, goto="structure")
        case "structure":
            return Command(update={**fallbacks.unstructured(state), **note}, goto="embed")
        case "embed":
            return Command(update=note, goto="retrieve")
        case "integrate":
            return Command(update={**fallbacks.unmerged(state), **note}, goto="plan")
        case "execute":
            return Command(update={**fallbacks.undone(state), **note}, goto="adapter_out")
        case _:
            return Command(update={"candidates": {}, "merging": [], **note}, goto="plan")


def give_up(state: MemoryBankState, error: NodeError) -> Command[Literal["adapter_out"]]:
    """End the run as `failed` when no next step can be planned, and keep everything."""
    fault = fallbacks.raised(error.error)
    return Command(update={"status": "failed", **fallbacks.without("plan", fault, state)}, goto="adapter_out")


def wire(deps: BankDeps) -> StateGraph[MemoryBankState, Settings, MemoryBankInput, MemoryBankOutput]:
    """Wire the eleven stages. This is the diagram; no stage knows another."""
    bank: StateGraph[MemoryBankState, Settings, MemoryBankInput, MemoryBankOutput] = StateGraph(
        MemoryBankState, input_schema=MemoryBankInput, output_schema=MemoryBankOutput, context_schema=MemoryContext
    )
    bank.set_node_defaults(retry_policy=RETRY_ONCE)

    # The doors have no handler: what fails there is the caller's to hear, and stays pending until it is resumed.
    bank.add_node("adapter_in", partial(adapter_in, deps=deps))
    for name, stage in (
        ("classify", classify),
        ("structure", structure),
        ("embed", embed),
        ("retrieve", retrieve),
        ("analyze_conflict", analyze_conflict),
        ("analyze_related", analyze_related),
        ("integrate", integrate),
    ):
        bank.add_node(
            name,
            partial(run_stage, stage=stage, deps=deps),
            error_handler=go_on,  # pyright: ignore[reportArgumentType] - LangGraph's type leaves out the error it passes
        )
    bank.add_node(
        "execute",
        partial(run_stage, stage=execute, deps=deps, stopped=fallbacks.stopped, first=hand_out),
        error_handler=go_on,  # pyright: ignore[reportArgumentType] - as above
    )
    bank.add_node(
        "plan",
        partial(run_stage, stage=plan, deps=deps),
        error_handler=give_up,  # pyright: ignore[reportArgumentType] - as above
    )
    bank.add_node("adapter_out", partial(run_stage, stage=adapter_out, deps=deps, is_timed=False))

    bank.add_edge(START, "adapter_in")
    bank.add_conditional_edges("adapter_in", what_arrived)

    # Remember: text becomes topics, topics become memories, memories are compared with the others.
    bank.add_edge("classify", "structure")
    bank.add_edge("structure", "embed")
    bank.add_edge("embed", "retrieve")
    bank.add_edge("retrieve", "analyze_conflict")
    bank.add_conditional_edges("analyze_conflict", what_was_found)
    bank.add_edge("integrate", "embed")
    bank.add_edge("analyze_related", "plan")

    # Act: one step at a time, and what it yields is remembered in turn.
    bank.add_conditional_edges("plan", anything_left)
    bank.add_edge("execute", "adapter_out")
    bank.add_conditional_edges("adapter_out", what_came_back)
    return bank


def build_memory_bank(
    *,
    engine: Engine | None = None,
    models: "GivenModels | None" = None,
    embeddings: Embeddings | None = None,
    execute: Execution | None = None,
    tools: Sequence[BaseTool] = (),
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
    cache: BaseCache[Any] | None = None,
    clock: Clock = utc_now,
    vectors: Path | ThreadRows | None = None,
    answers: Path | ThreadRows | None = None,
    attachments: Path | ThreadRows | None = None,
    brief: bool = False,
) -> MemoryBank:
    """Compile the graph that answers questions over documents.

    Args:
        engine: Makes the judgements, in place of `models`. Default: the chat models of a run, or else the extractive
            engine, which needs no network and no key.
        models: A LangChain chat model for all roles, or a mapping of roles to chat models. Roles without one have the
            model that the settings name for them.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        execute: Carries out the planned steps: a function that is called with an `Assignment`; a Runnable or a compiled
            graph; or `outside`, which pauses with the prompt and is resumed with the result. Default: an agent where
            the role `react` has a chat model; otherwise the engine reads what is recalled.
        tools: Tools of that agent besides `deep_retrieval` and `deep_research`.
        checkpointer: Makes runs durable; pass `durability="sync"` when you invoke the graph yourself.
        store: LangGraph's store, handed to the runtime.
        cache: LangGraph's node cache, in which results of stages are kept.
        clock: Returns the time of each round; a fixed one makes runs byte-equal.
        vectors: File in which vectors are kept between processes, or rows of a database. Default: in memory only.
        answers: The same for the answers of chat models, so that none is paid for twice.
        attachments: Folder, or rows, in which the pictures and files of each thread are held and kept.
        brief: Whether `get_state`, its history and streams name entries and memories in a line each, in place of the
            layers that hold them. For servers, which send the whole state with a thread and each step of its history.

    Returns:
        The compiled graph.

    Raises:
        InputError: An engine, embeddings, tools, a store or a clock is of another type.
        SettingsError: So are `models` or `execute`.

    Example:
        >>> bank = build_memory_bank(models=ChatOpenAI(model="gpt-4o-mini"))
        >>> bank.invoke({"question": "How wide is the mirror?", "documents": ["The mirror is 8.2 m wide."]})["answer"]
    """
    if isinstance(tools, str) or not all(isinstance(cast(object, tool), BaseTool) for tool in tools):
        raise unfit("tools", tools, "a list of LangChain tools")
    encoder = Encoder(embeddings, cache=vectors)
    pool = IndexPool(partial(MemoryIndex, encoder))
    engines = EngineFactory(ExtractiveEngine(encoder), engine, models, AnswerPool(answers))
    deps = BankDeps(
        engine=engines.default,
        encoder=encoder,
        indexes=pool,
        clock=clock,
        executor=as_executor(execute),
        is_outside=execute == "outside",
        tools=tuple(tools),
        engines=engines,
        research=BankResearch(encoder, models, clock) if engine is None else None,
        attachments=AttachmentStores(attachments),
    )
    bank, hidden = wire(deps), WHOLE if brief else LINES
    abridge_traces(bank, hidden)
    compiled = bank.compile(checkpointer=checkpointer, store=store, cache=cache, name="memory_bank")
    return EditableGraph.of(compiled, hidden)


graph = build_memory_bank(brief=True)
