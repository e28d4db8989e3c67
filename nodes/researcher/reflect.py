"""Stage 5: is that enough, and what is missing?"""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.nodes.researcher.views import inquiry, not_asked
from agentic_memory_bank.state.research import ResearcherState, ResearcherUpdate
from agentic_memory_bank.state.settings import Settings


def reflect(state: ResearcherState, runtime: Runtime[Settings], deps: PageDeps) -> ResearcherUpdate:
    """Name what to look for next. Nothing: it is enough, the rounds are used up, or nothing new was thought of.

    Where whoever read the pages has named it, nobody is asked again.
    """
    if state["is_enough"] or len(state["rounds"]) >= Settings.of(runtime).research_rounds:
        return {"requests": [], "leads": []}
    if state["leads"]:
        return {"requests": [lead["request"] for lead in state["leads"]]}
    said = deps.engine.reflect(inquiry(state))
    requests = [] if said.is_enough else not_asked(said.requests, state["asked"])
    runtime.stream_writer({"stage": "reflect", "enough": said.is_enough, "requests": requests})
    return {"requests": requests, "is_enough": bool(said.is_enough and state["findings"])}
