"""The tool `deep_research` of a memory bank's agent: the graph `researcher` over the bank's memories.

Its calls of models are counted, limited and kept by the run that called it: where a budget ends the research, that run
pauses, and when it goes on no answer is asked for again.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from langchain_core.tools import BaseTool
from langgraph.errors import NodeError
from langgraph.runtime import Runtime
from langgraph.types import Command

from agentic_memory_bank.engines.extractive.research import ExtractiveResearchEngine
from agentic_memory_bank.engines.factory import EngineFactory, chat_research_engine
from agentic_memory_bank.engines.research import ResearchEngine
from agentic_memory_bank.nodes.deps import Clock, utc_now
from agentic_memory_bank.nodes.memory_bank import fallbacks
from agentic_memory_bank.nodes.memory_bank.deps import SearchedBank
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.state.errors import BudgetReachedError, ModelRefused, ToolError
from agentic_memory_bank.state.interaction_tree import text_of
from agentic_memory_bank.state.model_table import RESEARCHER_ROLES
from agentic_memory_bank.state.research import (
    Finding,
    ResearcherOutput,
    ResearcherState,
    ResearcherUpdate,
    ResearchSource,
)
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.pages.bank_pages import BankLibraries, BankPages
from agentic_memory_bank.tools.pages.stores import PageStores
from agentic_memory_bank.tools.search.deep_research import deep_research

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

RECURSION_LIMIT: Final = 1_000
"""Limit of super-steps, above what the most rounds take."""


class BankResearch:
    """Makes the tool `deep_research` of a memory bank.

    Args:
        models: Chat models as `build_memory_bank` takes them; the role asked is `research`. Without a model for it, the
            extractive engine researches.
    """

    def __init__(self, encoder: Encoder, models: "GivenModels | None" = None, clock: Clock = utc_now) -> None:
        self._libraries = BankLibraries(encoder)
        self._judges = EngineFactory(ExtractiveResearchEngine(encoder.answers), None, models, roles=RESEARCHER_ROLES)
        self._clock = clock

    def check(self, settings: Settings) -> None:
        """Check that the models of a run can be asked; a run without an agent asks none.

        Raises:
            SettingsError: A name is not known, a key is not set, or a budget of money lacks a price.
        """
        given = self._judges.models
        if given is None and not settings.has_models(("react",)):
            return
        from agentic_memory_bank.engines.llm.models import names_of

        if names_of(settings, given, ("react",)):
            self._judges.check(settings)

    def tool(self, bank: SearchedBank) -> BaseTool:
        """Make the tool over the bank as it is now."""
        return deep_research(partial(self._look_up, bank))

    def _look_up(self, bank: SearchedBank, question: str) -> Mapping[str, Any]:
        """Research a question in the bank.

        Raises:
            ToolError: Research failed.
            BudgetReachedError: The run has spent what it may.
            ModelRefused: The model refuses until a key, a name or a quota is mended.
        """
        with self._libraries.lent(bank.thread, bank.graph, bank.tree, bank.refuted) as (pages, library):
            deps = PageDeps(
                engine=self._engine(bank), stores=PageStores(in_memory=True), clock=self._clock, searched=library
            )
            output = _driven(deps, question, bank)
            if output["status"] == "failed":
                raise ToolError("The research could not be finished. Ask something narrower, or read single memories.")
            return {
                "answer": output["answer"],
                "status": output["status"],
                "sources": [place for source in output["sources"] for place in _places(source, pages, bank)],
                "findings": [_finding(finding, pages) for finding in output["findings"]],
            }

    def _engine(self, bank: SearchedBank) -> ResearchEngine:
        """Choose the engine; its calls count for the run."""
        from agentic_memory_bank.engines.llm.models import ChatModels
        from agentic_memory_bank.engines.llm.structured_output import Asker

        models = ChatModels.of(bank.settings, self._judges.models, RESEARCHER_ROLES)
        return chat_research_engine(Asker(models, bank.meter, bank.settings), self._judges.offline)


def _driven(deps: PageDeps, question: str, bank: SearchedBank) -> ResearcherOutput:
    """Run the graph; its events are passed on to the run, marked as research."""
    from agentic_memory_bank.graph.researcher import wire

    researcher = wire(deps, _on_account, _unless_it_is_the_runs).compile(checkpointer=False, name="deep_research")
    asked: Any = {"request": question, "memory": bank.thread}
    told = researcher.stream(
        asked,
        {"recursion_limit": RECURSION_LIMIT},
        context=bank.settings,
        stream_mode=["custom", "values"],
        output_keys=list(ResearcherOutput.__annotations__),
    )
    output: Any = {}
    with closing(cast("Generator[tuple[str, Any]]", told)):  # its threads end with it, whatever `tell` raises
        for mode, news in told:
            if mode == "values":
                output = news
            else:
                bank.tell({"research": news})
    return output


def _on_account(state: ResearcherState, runtime: Runtime[Settings], *, stage: Any, deps: PageDeps) -> ResearcherUpdate:
    """Run a stage on the account of the run that called, which also pauses and resumes."""
    return stage(state, runtime, deps)


def _unless_it_is_the_runs(state: ResearcherState, error: NodeError) -> Command[Any]:
    """Go on without a stage that failed, unless somebody has to decide or to mend something first."""
    from agentic_memory_bank.graph.researcher import go_on

    fault = fallbacks.raised(error.error)
    if isinstance(fault, BudgetReachedError | ModelRefused):
        raise fault
    return go_on(state, error)


def _places(source: ResearchSource, pages: BankPages, bank: SearchedBank) -> list[dict[str, Any]]:
    """Show a quote with the ids of its memory and entry."""
    found: list[dict[str, Any]] = []
    for place in pages.places(source["page"], source["start"], source["end"]):
        entry = bank.tree["entries"][place.anchor["entry"]]
        quote = text_of(bank.tree, place.anchor)
        found.append({"quote": quote, "node": place.node, "source": entry["source"], **place.anchor})
    return found


def _finding(finding: Finding, pages: BankPages) -> dict[str, Any]:
    """Show a finding with the ids of its memories and their entries."""
    places = [place for page in finding["pages"] for place in pages.places(page)]
    return {
        "text": finding["text"],
        "nodes": _once([place.node for place in places]),
        "entries": _once([place.anchor["entry"] for place in places]),
    }


def _once(ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(ids))
