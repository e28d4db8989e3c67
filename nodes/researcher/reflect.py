"""Stage 5: is that enough, and what is missing?"""

from collections.abc import Iterable

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.pages import PageKit
from agentic_memory_bank.nodes.researcher.views import inquiry
from agentic_memory_bank.state.research import ResearcherState, ResearcherUpdate
from agentic_memory_bank.state.settings import Settings

MOST_REQUESTS = 5
"""How many requests a round takes up, the most important first (seed 003)."""


def reflect(state: ResearcherState, runtime: Runtime[Settings], kit: PageKit) -> ResearcherUpdate:
    """Name what to look for next. Nothing: it is enough, the rounds are used up, or nothing new was thought of."""
    if state["is_enough"] or len(state["rounds"]) >= Settings.of(runtime).research_rounds:
        return {"requests": []}
    said = kit.engine.reflect(inquiry(state))
    requests = [] if said.is_enough else _new(said.requests, state["asked"])
    runtime.stream_writer({"stage": "reflect", "enough": said.is_enough, "requests": requests})
    return {"requests": requests, "is_enough": bool(said.is_enough and state["findings"])}


def _new(requests: Iterable[str], asked: Iterable[str]) -> list[str]:
    """The requests that were not made before."""
    known = {_spaced(request).casefold() for request in asked}
    found: dict[str, str] = {}
    for request in requests:
        text = _spaced(contract.text(request))
        if text and text.casefold() not in known:
            found.setdefault(text.casefold(), text)
    return list(found.values())[:MOST_REQUESTS]


def _spaced(text: str) -> str:
    return " ".join(text.split())
