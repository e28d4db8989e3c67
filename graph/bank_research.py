"""The researcher at work on a memory bank: what its agent calls as `deep_research`.

It is the researcher's own graph, over the memories of the bank in place of a store of pages. What it asks models is
counted, limited and kept by the run that called it: where research has to stop, that run pauses, and what was answered
is not asked again when it goes on.
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
"""More super-steps than the most rounds take."""


class BankResearch:
    """Makes the tool `deep_research` of a memory bank.

    Args:
        encoder: Embeds texts and queries; the one of the bank.
        models: As they are given to the bank; the role asked here is `research`. Without a model for it the extractive
            engine searches, puts together and answers.
        clock: Returns the current time; a fixed one makes runs repeatable.
    """

    def __init__(self, encoder: Encoder, models: "GivenModels | None" = None, clock: Clock = utc_now) -> None:
        self._libraries = BankLibraries(encoder)
        self._judges = EngineFactory(ExtractiveResearchEngine(), None, models, roles=RESEARCHER_ROLES)
        self._clock = clock

    def check(self, settings: Settings) -> None:
        """See that the models of a run can be asked; where the run has no agent, nobody will ask them.

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
        """The tool over a bank as it is now."""
        return deep_research(partial(self._look_up, bank))

    def _look_up(self, bank: SearchedBank, question: str) -> Mapping[str, Any]:
        """Answer from the bank.

        Raises:
            ToolError: Research failed.
            BudgetReachedError: The run has spent what it may.
            ModelRefused: A key, a name or a quota has to be mended first.
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
        """Who judges: on the account of the run."""
        from agentic_memory_bank.engines.llm.models import ChatModels
        from agentic_memory_bank.engines.llm.structured_output import Asker

        models = ChatModels.of(bank.settings, self._judges.models, RESEARCHER_ROLES)
        return chat_research_engine(Asker(models, bank.meter, bank.settings), self._judges.offline)


def _driven(deps: PageDeps, question: str, bank: SearchedBank) -> ResearcherOutput:
    """Run the graph; its events are those of the run, marked as what they are."""
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
    """Run a stage; who counts, pauses and goes on is the run that called."""
    return stage(state, runtime, deps)


def _unless_it_is_the_runs(state: ResearcherState, error: NodeError) -> Command[Any]:
    """Go on without a stage that failed, unless somebody has to decide or to mend something first."""
    from agentic_memory_bank.graph.researcher import go_on

    fault = fallbacks.raised(error.error)
    if isinstance(fault, BudgetReachedError | ModelRefused):
        raise fault
    return go_on(state, error)


def _places(source: ResearchSource, pages: BankPages, bank: SearchedBank) -> list[dict[str, Any]]:
    """A quote by the memory and the entry it stands in."""
    found: list[dict[str, Any]] = []
    for place in pages.places(source["page"], source["start"], source["end"]):
        entry = bank.tree["entries"][place.anchor["entry"]]
        quote = text_of(bank.tree, place.anchor)
        found.append({"quote": quote, "node": place.node, "source": entry["source"], **place.anchor})
    return found


def _finding(finding: Finding, pages: BankPages) -> dict[str, Any]:
    """Something that was found out, with the memories that say so and their entries."""
    places = [place for page in finding["pages"] for place in pages.places(page)]
    return {
        "text": finding["text"],
        "nodes": _once([place.node for place in places]),
        "entries": _once([place.anchor["entry"] for place in places]),
    }


def _once(ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(ids))
