"""What the stages of the memory bank work with: engine, encoder, indexes, files, tools and who carries out steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import Engine, Pairing, Refresh
from agentic_memory_bank.nodes.deps import EngineDeps
from agentic_memory_bank.nodes.executors import Executor, Report
from agentic_memory_bank.nodes.memory_bank.views import memory_views
from agentic_memory_bank.state import query_graph
from agentic_memory_bank.state.interaction_tree import Anchor, InteractionTree
from agentic_memory_bank.state.memory_bank import MemoryBankState
from agentic_memory_bank.state.query_graph import GraphEdit, MemoryNode, QueryGraph
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.documents.attachments import AttachmentStore, AttachmentStores
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.search.bank_index import IndexPool, MemoryIndex, embedded_texts

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.meter import Meter

SEARCH = "search"


@dataclass(frozen=True, slots=True)
class SearchedBank:
    """A memory bank as `deep_research` searches it, and the run that pays for it."""

    thread: str
    """Names the memory."""
    graph: QueryGraph
    tree: InteractionTree
    refuted: Sequence[Anchor]
    """What a validation found wrong."""
    settings: Settings
    meter: "Meter"
    """Counts requests to models, stops at the run's budget, and keeps the answers."""
    tell: Callable[[Mapping[str, Any]], None]
    """Streams an event of the run."""


class Research(Protocol):
    """Researches questions in a memory bank, in several rounds."""

    def check(self, settings: Settings) -> None:
        """Check that the models of a run can be asked, before anything is spent.

        Raises:
            SettingsError: A name is not known, a key is not set, or a budget of money lacks a price.
        """
        ...

    def tool(self, bank: SearchedBank) -> BaseTool:
        """Make the tool `deep_research` over a bank."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BankDeps(EngineDeps[Engine]):
    """Dependencies of the memory bank's stages."""

    encoder: Encoder
    indexes: IndexPool
    executor: Executor | None = None
    is_outside: bool = False
    """Whether the caller carries out steps, each handed out in a pause."""
    handed_in: Report | None = None
    """What was done outside, once this step has come back."""
    tools: tuple[BaseTool, ...] = ()
    """The caller's own, which an agent may call besides `deep_retrieval` and those that reach the web."""
    research: Research | None = None
    """Makes the agent's tool `deep_research`."""
    attachments: AttachmentStores = field(default_factory=AttachmentStores)
    """The files of each thread."""

    def goal_of(self, state: MemoryBankState) -> str:
        """Name the Insight Doc."""
        return state.get("insight_doc", {}).get("id", "")

    def index(self, state: MemoryBankState, runtime: Runtime[Settings]) -> MemoryIndex:
        """Open the index of this run's memory: by thread, or by task where there is no thread."""
        return self.indexes.of(self._thread(state, runtime))

    def files(self, state: MemoryBankState, runtime: Runtime[Settings], task: str = "") -> AttachmentStore:
        """Open the files of this run: by thread, or by task where there is no thread.

        Args:
            state: State of the run; its goal names the task.
            task: Id of the Insight Doc, where it is not yet in the state.
        """
        info = runtime.execution_info
        has_thread = info is not None and info.thread_id
        return self.attachments.of(self._thread(state, runtime) if has_thread or not task else task)

    def research_tools(
        self, state: MemoryBankState, runtime: Runtime[Settings], refuted: Sequence[Anchor] = ()
    ) -> tuple[BaseTool, ...]:
        """Make the tool `deep_research` over this run's memory, where there is an agent to call it."""
        if self.research is None or self.agent is None:
            return ()
        bank = SearchedBank(
            thread=self._thread(state, runtime),
            graph=state.get("query_graph", {}),
            tree=state.get("interaction_tree", {}),
            refuted=refuted,
            settings=Settings.of(runtime),
            meter=self.agent.meter,
            tell=runtime.stream_writer,
        )
        return (self.research.tool(bank),)

    def can_search(self, settings: Settings) -> bool:
        """Say whether a step can find what is not in memory."""
        if self.executor or self.is_outside:
            return True
        if self.agent is None:
            return False
        from agentic_memory_bank.tools.web.search import web_tools  # loads an HTTP client, which few runs need

        return bool(self.tools) or any(tool.name == SEARCH for tool in web_tools(settings)[0])

    def cosines(
        self, state: MemoryBankState, runtime: Runtime[Settings], pairs: Mapping[str, Sequence[str]]
    ) -> dict[str, tuple[float, ...]]:
        """Compare memories with others, by their ids; zeros where there are no vectors to be had."""
        if not pairs:
            return {}
        return self.index(state, runtime).cosines(state["query_graph"], state["interaction_tree"], pairs)

    def pairings(
        self, state: MemoryBankState, runtime: Runtime[Settings], pairs: Mapping[str, Sequence[str]]
    ) -> list[Pairing]:
        """Make ready to be judged each memory that is paired with any others."""
        cosines = self.cosines(state, runtime, {first: others for first, others in pairs.items() if others})
        return [
            Pairing(memory_views(state, [first])[0], memory_views(state, pairs[first]), found)
            for first, found in cosines.items()
        ]

    def vector_key(self, embedded: Sequence[str]) -> str:
        """Name the vector of a memory by the texts that it is made of."""
        return self.encoder.key("\n".join(embedded))

    def refresh(self, state: MemoryBankState, updates: Mapping[str, Refresh]) -> list[GraphEdit]:
        """Make edits that give memories new context and keywords, and the key of the vector that goes with them."""
        nodes = state["query_graph"]["nodes"]
        edits: list[GraphEdit] = []
        for node_id, new in updates.items():
            if node_id in nodes:
                keywords = list(new.keywords)
                revised: MemoryNode = {**nodes[node_id], "context": new.context, "keywords": keywords}
                key = self.vector_key(embedded_texts(revised, state["interaction_tree"]))
                edits.append(query_graph.revise(node_id, new.context, keywords, key, state["now"]))
        return edits

    def _thread(self, state: MemoryBankState, runtime: Runtime[Settings]) -> str:
        info = runtime.execution_info
        return info.thread_id if info and info.thread_id else self.goal_of(state)
