"""What the stages work with besides state and settings: engine, encoder, indexes, clock and executor."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from agentic_memory_bank.engines.base import Engine, Refresh
from agentic_memory_bank.engines.factory import Judge, Judges, Judging, RunOf
from agentic_memory_bank.state import query_graph
from agentic_memory_bank.state.errors import EmbeddingError
from agentic_memory_bank.state.insight_doc import Task
from agentic_memory_bank.state.interaction_tree import Anchor, InteractionTree
from agentic_memory_bank.state.memory_bank import Allowance, MemoryBankState, Usage
from agentic_memory_bank.state.query_graph import GraphEdit, MemoryNode, QueryGraph, embedded_text
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.documents.attachments import AttachmentStore, AttachmentStores
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.search.bank_index import IndexPool, MemoryIndex
from agentic_memory_bank.tools.web.toolset import web_tools

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.agent import ReactAgent
    from agentic_memory_bank.engines.llm.meter import Meter
    from agentic_memory_bank.nodes.executors import Report

Clock = Callable[[], datetime]
SEARCH = "search"


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an executor is handed: the planned step, the prompt with task and recalled memory, and tools to use."""

    task: Task
    question: str
    prompt: str
    tools: tuple[BaseTool, ...] = ()
    """`deep_retrieval`, which reads the raw text behind a memory."""


Executor = Callable[[Assignment], Any]
"""Carries out a step. Returns what it found as text; or a mapping with `text`, and, if it has them, `answer`, `source`,
`learned`; or the messages of its work. An exception is a failed step."""


@dataclass(frozen=True, slots=True)
class SearchedBank:
    """A memory bank as `deep_research` searches it, and the run on whose account it does."""

    thread: str
    """Names the memory."""
    graph: QueryGraph
    tree: InteractionTree
    refuted: Sequence[Anchor]
    """What a validation found wrong."""
    settings: Settings
    meter: "Meter"
    """Counts what models are asked, stops at the run's budget, and keeps the answers."""
    tell: Callable[[Mapping[str, Any]], None]
    """Streams an event of the run."""


class Research(Protocol):
    """Looks questions up in a memory bank, in several rounds."""

    def check(self, settings: Settings) -> None:
        """See that the models of a run can be asked, before anything is spent.

        Raises:
            SettingsError: A name is not known, a key is not set, or a budget of money lacks a price.
        """
        ...

    def tool(self, bank: SearchedBank) -> BaseTool:
        """The tool `deep_research` over a bank."""
        ...


@dataclass(frozen=True, slots=True)
class Kit:
    """Given to the stages when a graph is built; never part of state, config or checkpoints."""

    engine: Engine
    """Who judges this stage."""
    encoder: Encoder
    indexes: IndexPool
    clock: Clock
    executor: Executor | None = None
    is_outside: bool = False
    """Whether steps are carried out by whoever drives the run: handed out in a pause, resumed with what was done."""
    handed_in: "Report | None" = None
    """What was done outside, once this step has come back."""
    tools: tuple[BaseTool, ...] = ()
    """The caller's own, which an agent may call besides `deep_retrieval` and those that reach the web."""
    agent: "ReactAgent | None" = None
    """Carries out the steps of this run that need tools."""
    research: Research | None = None
    """Makes the agent's tool that looks a question up in memory in several rounds."""
    attachments: AttachmentStores = field(default_factory=AttachmentStores)
    """The files of each thread."""
    judges: Judges | None = None
    """Who judges which run; None where the engine is the same for all."""

    def index(self, state: MemoryBankState, runtime: Runtime[Settings]) -> MemoryIndex:
        """The index of this run's memory: by thread, or by task where there is no thread."""
        return self.indexes.of(_thread(state, runtime))

    def files(self, state: MemoryBankState, runtime: Runtime[Settings], task: str = "") -> AttachmentStore:
        """The files of this run: by thread, or by task where there is no thread.

        Args:
            state: Of the run.
            runtime: Of the run.
            task: Id of the Insight Doc, where it is not yet in the state.
        """
        info = runtime.execution_info
        has_thread = info is not None and info.thread_id
        return self.attachments.of(_thread(state, runtime) if has_thread or not task else task)

    def researching(
        self, state: MemoryBankState, runtime: Runtime[Settings], refuted: Sequence[Anchor] = ()
    ) -> tuple[BaseTool, ...]:
        """The tool `deep_research` over this run's memory, where there is an agent to call it.

        Args:
            state: Of the run.
            runtime: Of the run.
            refuted: What a validation found wrong.
        """
        if self.research is None or self.agent is None:
            return ()
        graph, tree = state.get("query_graph", {}), state.get("interaction_tree", {})
        bank = SearchedBank(
            thread=_thread(state, runtime),
            graph=graph,
            tree=tree,
            refuted=refuted,
            settings=Settings.of(runtime),
            meter=self.agent.meter,
            tell=runtime.stream_writer,
        )
        return (self.research.tool(bank),)

    def can_search(self, settings: Settings) -> bool:
        """Whether somebody here finds what is not in memory."""
        if self.executor or self.is_outside:
            return True
        return self.agent is not None and (bool(self.tools) or any(t.name == SEARCH for t in web_tools(settings)[0]))

    def judge(self, state: MemoryBankState, runtime: Runtime[Settings]) -> Judge:
        """The engine of this run."""
        if self.judges is None:
            return Judge(self.engine)
        return judge_of(self.judges, state, runtime, self.clock, state.get("insight_doc", {}).get("id", ""))

    def cosines(self, node: MemoryNode, others: Sequence[MemoryNode]) -> tuple[float, ...]:
        """Cosine of a memory with each of the others; zeros when there are no vectors to be had."""
        try:
            vectors = self.encoder.vectors([embedded_text(n) for n in (node, *others)])
        except EmbeddingError:
            return (0.0,) * len(others)
        return tuple(float(cosine) for cosine in vectors[1:] @ vectors[0])

    def refresh(self, state: MemoryBankState, updates: Mapping[str, Refresh]) -> list[GraphEdit]:
        """Edits that give memories new context and keywords, and the key of the vector that goes with them."""
        nodes = state["query_graph"]["nodes"]
        edits: list[GraphEdit] = []
        for node_id, new in updates.items():
            if node_id in nodes:
                keywords = list(new.keywords)
                revised: MemoryNode = {**nodes[node_id], "context": new.context, "keywords": keywords}
                key = self.encoder.key(embedded_text(revised))
                edits.append(query_graph.revise(node_id, new.context, keywords, key, state["now"]))
        return edits


class Judged(TypedDict, total=False):
    """What a state holds, of whatever graph, by which its stages are judged and counted."""

    started: float
    """When the run began or was last allowed to go on, in seconds since 1970."""
    allowance: Allowance
    usage: Usage
    degraded: list[str]
    judge: str
    """The chat models the run was begun with; empty for an engine that needs none."""


def judge_of(
    judges: Judges[Judging], state: Judged, runtime: Runtime[Settings], clock: Clock, goal: str
) -> Judge[Judging]:
    """Who judges a run of any graph, and counts what it spends.

    Args:
        judges: Who judges which run.
        state: Of the run.
        runtime: Of the run.
        clock: Tells how long it has taken.
        goal: What is spent is counted for this.
    """
    info, started = runtime.execution_info, state.get("started", 0.0)
    thread = info.thread_id if info else None
    writer = runtime.stream_writer
    run = RunOf(
        settings=Settings.of(runtime),
        thread=thread or goal,
        # Runs of the same input are kept apart that have no thread, and are therefore never resumed.
        goal=goal if thread else f"{goal} {state.get('started', '')}",
        allowance=state.get("allowance", {}),
        elapsed=lambda: clock().timestamp() - started,
        on_call=lambda usage: writer({"usage": usage}),
    )
    return judges.of(run)


def _thread(state: MemoryBankState, runtime: Runtime[Settings]) -> str:
    info = runtime.execution_info
    return info.thread_id if info and info.thread_id else state.get("insight_doc", {}).get("id", "")


def utc_now() -> datetime:
    """The clock of production."""
    return datetime.now(UTC)


def timestamp(moment: datetime, not_before: str = "") -> str:
    """ISO 8601 in UTC with microseconds, never earlier than `not_before`: clocks are set back, memory is not."""
    stamp = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return max(stamp, not_before)
