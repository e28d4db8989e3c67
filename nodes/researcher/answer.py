"""Stage 6: the answer, with the words it rests on."""

from collections.abc import Sequence
from typing import cast

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from agentic_memory_bank.engines.research import PageQuote
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.messages import research_in_words
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.nodes.researcher.views import PlacedExcerpt, excerpts, inquiry
from agentic_memory_bank.state.research import (
    PageStretch,
    ResearcherOutput,
    ResearcherState,
    ResearcherUpdate,
    ResearchSource,
    ResearchStatus,
)
from agentic_memory_bank.state.settings import Settings


def answer(state: ResearcherState, runtime: Runtime[Settings], deps: PageDeps) -> ResearcherUpdate:
    """Answer from findings and from the pages they name; where nothing was found, say so and ask nobody.

    Raises:
        StorageError: The memory cannot be read.
    """
    update = _answered(state, runtime, deps)
    if state.get("in_messages"):
        outcome = cast("ResearcherOutput", {**state, **update})
        update["messages"] = [AIMessage(research_in_words(outcome))]
    return update


def _answered(state: ResearcherState, runtime: Runtime[Settings], deps: PageDeps) -> ResearcherUpdate:
    placed = excerpts(_cited_first(state), state, runtime, deps)
    if not placed:
        return {"status": "not_found"}
    shown = [one.excerpt for one in placed]
    said = deps.engine.respond(inquiry(state), shown)
    text = contract.text(said.text).strip()
    sources = [source for quote in said.quotes for source in _source(quote, placed)]
    found = bool(text and sources)
    runtime.stream_writer({"stage": "answer", "sources": len(sources)})
    return {
        "answer": text if found else "",
        "sources": list({(s["page"], s["start"], s["end"]): s for s in sources}.values()) if found else [],
        "status": _status(state, found=found, is_sure=said.is_sure),
        "found": [],
        "searches": [],
    }


def _status(state: ResearcherState, *, found: bool, is_sure: bool) -> ResearchStatus:
    if state.get("allowance", {}).get("ending") == "stop":
        return "stopped"
    if not found:
        return "not_found"
    return "answered" if state["is_enough"] and is_sure else "partial"


def _cited_first(state: ResearcherState) -> list[PageStretch]:
    """What was shown, that of pages that findings name first."""
    cited = {page for finding in state["findings"] for page in finding["pages"]}
    return sorted(state["shown"], key=lambda one: one["page"] not in cited)


def _source(quote: PageQuote, placed: Sequence[PlacedExcerpt]) -> list[ResearchSource]:
    """A quote and its place; what stands nowhere is no source."""
    if not _stands(quote, placed):
        return []
    one = placed[quote.excerpt]
    words = one.excerpt.text[slice(*quote.span)]
    start = one.stretch["start"] + quote.span[0] + len(words) - len(words.lstrip())
    return [
        {
            "quote": words.strip(),
            "page": one.excerpt.page,
            "title": one.excerpt.title,
            "source": one.excerpt.source,
            "start": start,
            "end": start + len(words.strip()),
        }
    ]


def _stands(quote: PageQuote, placed: Sequence[PlacedExcerpt]) -> bool:
    if not all(isinstance(number, int) for number in (quote.excerpt, *quote.span)):
        return False
    if not 0 <= quote.excerpt < len(placed) or quote.span[0] < 0:
        return False
    return bool(placed[quote.excerpt].excerpt.text[slice(*quote.span)].strip())
