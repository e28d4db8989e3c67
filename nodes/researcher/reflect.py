"""Stage 5: is that enough, and what is missing?"""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.nodes.researcher.views import inquiry, not_asked
from agentic_memory_bank.state.research import ResearcherState, ResearcherUpdate
from agentic_memory_bank.state.settings import Settings


def reflect(state: ResearcherState, runtime: Runtime[Settings], deps: PageDeps) -> ResearcherUpdate:
    """Name what to search for in the next round; nothing ends the search.

    It ends when the findings suffice, the rounds are used up, or no new request comes to mind. Requests that the engine
    already named while it read the pages are taken as they are, without another call.
    """
    if state["is_enough"] or len(state["rounds"]) >= Settings.of(runtime).research_rounds:
        return {"requests": [], "leads": []}
    if state["leads"]:
        return {"requests": [lead["request"] for lead in state["leads"]]}
    said = deps.engine.reflect(inquiry(state))
    requests = [] if said.is_enough else not_asked(said.requests, state["asked"])
    runtime.stream_writer({"stage": "reflect", "enough": said.is_enough, "requests": requests})
    return {"requests": requests, "is_enough": bool(said.is_enough and state["findings"])}
