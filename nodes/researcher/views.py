"""What several stages of the researcher look at: where it stands, and the pages it has found."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.research import Excerpt, Found, Inquiry, Outline
from agentic_memory_bank.nodes.pages import PageKit
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.state.research import Finding, ResearcherState, Round, Shown
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text import estimate_tokens

OUTLINED = 20
"""How many abstracts a planner sees, whatever the size of the memory."""
TITLES = 40
"""How many titles of further pages it sees."""


def inquiry(state: ResearcherState) -> Inquiry:
    """Where research stands."""
    return Inquiry(
        request=state["question"],
        open=tuple(state["requests"]),
        findings=tuple(Found(f["text"], tuple(f["pages"])) for f in state["findings"]),
        asked=tuple(request for past in state["rounds"] for request in past["requests"]),
    )


def past_round(state: ResearcherState, findings: Sequence[Finding], *, is_enough: bool) -> Round:
    """What the caller is told of a round."""
    return {
        "requests": state["requests"],
        "searches": state["searches"],
        "pages": list(dict.fromkeys(one["page"] for one in state["found"])),
        "findings": len(findings),
        "enough": is_enough,
    }


def outlined(asking: Inquiry, state: ResearcherState, runtime: Runtime[Settings], kit: PageKit) -> Inquiry:
    """The same with a bounded outline of the memory: the abstracts that fit best, and titles of further pages."""
    library, settings = kit.library(state["memory"], runtime), Settings.of(runtime)
    found = library.outline("\n".join((asking.request, *asking.open)), OUTLINED + TITLES, settings)
    titles = dict.fromkeys(title for _, title, _ in found[OUTLINED:] if title)
    return replace(asking, outlines=tuple(Outline(*page) for page in found[:OUTLINED]), titles=tuple(titles))


@dataclass(frozen=True, slots=True)
class Placed:
    """An excerpt, and the stretch of a page that it is."""

    excerpt: Excerpt
    stretch: Shown


def excerpts(shown: Sequence[Shown], runtime: Runtime[Settings], kit: PageKit, memory: str) -> list[Placed]:
    """The stretches as they are read, the first ones within the budget; pages that are gone are left out."""
    pages = {page["id"]: page for page in kit.library(memory, runtime).get(one["page"] for one in shown)}
    left = Settings.of(runtime).research_tokens
    found: list[Placed] = []
    for one in shown:
        page = pages.get(one["page"])
        if page is None:
            continue
        text = page["text"][one["start"] : one["end"] if one["end"] >= 0 else None]
        left -= estimate_tokens(text)
        if left < 0 and found:
            break
        found.append(Placed(_excerpt(page, text, one["score"]), one))
    return found


def _excerpt(page: Page, text: str, score: float) -> Excerpt:
    date = str(page["metadata"].get("date") or "")
    return Excerpt(page["id"], page["title"], text, score, page["source"], date)
