"""Stage 1, the door: takes the request in, and sees whether there is anything to search."""

from typing import cast

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.deps import timestamp
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.nodes.messages import request_in, research_in_words
from agentic_memory_bank.nodes.page_deps import UNNAMED, PageDeps
from agentic_memory_bank.state.research import ResearcherOutput, ResearcherState, ResearcherUpdate
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.cleaning import checked_text


def take_in(state: ResearcherState, runtime: Runtime[Settings], deps: PageDeps) -> ResearcherUpdate:
    """Begin with a request. An empty memory answers it at once: nothing is found, and no model is asked.

    Raises:
        InputError: The request is empty, or the memory has no name.
        StorageError: The memory cannot be read, or is damaged.
        SettingsError: A model that the settings name cannot be asked.
    """
    settings, messages = Settings.of(runtime), state.get("messages")
    asked = request_in(messages) if messages and not state.get("request") else state.get("request")
    request = checked_text(asked, "request")
    memory = state.get("memory") or (UNNAMED if messages and not deps.retrievers else "")
    library = deps.library(memory, runtime)
    is_there = bool(len(library) or deps.retrievers)
    if deps.engines:
        deps.engines.check(settings)
    now = deps.clock()
    runtime.stream_writer({"stage": "take_in", "pages": len(library)})
    begun: ResearcherUpdate = {
        "in_messages": bool(messages),
        "memory": memory,
        "request": None,
        "question": request,
        "work": {"id": "r" + digest(memory, request, timestamp(now))[:12]},
        "requests": [request] if is_there else [],
        "leads": [],
        "searches": [],
        "found": [],
        "shown": [],
        "retrieved": {},
        "asked": [],
        "is_enough": False,
        "started": now.timestamp(),
        "answer": "",
        "sources": [],
        "findings": [],
        "rounds": [],
        "status": "running" if is_there else "not_found",
        "degraded": [],
        "usage": {"calls": 0, "input_tokens": 0, "output_tokens": 0},
        "allowance": {},
        "judge": deps.engines.models_of(settings) if deps.engines else "",
    }
    if messages and not is_there:
        begun["messages"] = [AIMessage(research_in_words(cast("ResearcherOutput", begun)))]
    return begun
