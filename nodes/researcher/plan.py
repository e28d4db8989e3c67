"""Stage 2: what is searched in this round?"""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.research import Inquiry
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.nodes.researcher.views import MOST_WORDS, few, inquiry, outlined
from agentic_memory_bank.state.pages import PageSearch
from agentic_memory_bank.state.research import PlannedSearch, ResearcherState, ResearcherUpdate
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.names import names_and_numbers


def plan(state: ResearcherState, runtime: Runtime[Settings], deps: PageDeps) -> ResearcherUpdate:
    """Plan the searches of the open requests; what was searched before is left out.

    The first round searches the request as it stands, with its names and numbers as keywords: most questions are
    answered by that, and no model has to be asked for it. Later, what whoever read the pages would search next is
    searched; only where a round brought nothing, a planner looks at the outline of the memory.
    """
    asking = inquiry(state)
    if not state["rounds"]:
        planned = [as_it_stands(request) for request in state["requests"]]
    elif state["leads"]:
        planned = state["leads"]
    else:
        asking = outlined(asking, state, runtime, deps)
        planned = _checked(deps.engine.plan_searches(asking), asking)
    update = to_search(state, planned)
    runtime.stream_writer({"stage": "plan", "round": len(state["rounds"]) + 1, "searches": update.get("searches")})
    return update


def as_it_stands(request: str) -> PlannedSearch:
    """A request searched by its own words: the first plan, and what stands in for one that could not be made."""
    return {"request": request, "keywords": sorted(names_and_numbers(request))[:MOST_WORDS], "queries": [], "pages": []}


def to_search(state: ResearcherState, planned: Sequence[PlannedSearch]) -> ResearcherUpdate:
    """What is searched of a plan: what was not searched before."""
    news = {_fingerprint(search): search for search in planned}
    for known in set(state["asked"]) & set(news):
        del news[known]
    return {"searches": list(news.values()), "asked": [*state["asked"], *state["requests"], *news]}


def _checked(said: Sequence[PageSearch], asking: Inquiry) -> list[PlannedSearch]:
    """A plan within its bounds: a search for each request, of pages only those that were outlined."""
    known = {outline.page for outline in asking.outlines}
    searches = contract.as_many(said, asking.open)
    return [
        {
            "request": request,
            "keywords": few(search.keywords),
            "queries": few(search.queries),
            "pages": few(page for page in search.pages if page in known),
        }
        for request, search in zip(asking.open, searches, strict=True)
    ]


def _fingerprint(search: PlannedSearch) -> str:
    """A key that equal searches share, however they are spelt."""
    words = [sorted(word.casefold() for word in search[name]) for name in ("keywords", "queries", "pages")]
    return digest(search["request"].casefold(), *words)[:16]
