"""What several stages of the researcher look at: where it stands, and the pages it has found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.research import Excerpt, Inquiry, Outline, SupportedFinding
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.prompts.fence import one_line
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.state.research import Finding, PageStretch, ResearcherState, Round
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.tokens import estimate_tokens

OUTLINED = 20
"""How many abstracts a planner sees, whatever the size of the memory."""
TITLES = 40
"""How many titles of further pages it sees."""
MOST_WORDS = 5
"""How many keywords, queries or pages of one request are searched; more are the planner thinking aloud."""
MOST_REQUESTS = 5
"""How many requests a round takes up, the most important first."""
EXCERPT_SHARE = 0.5
"""Share of a prompt that the text of pages may take; titles, findings and instructions need the rest."""


def inquiry(state: ResearcherState) -> Inquiry:
    """Where research stands."""
    return Inquiry(
        request=state["question"],
        open=tuple(state["requests"]),
        findings=tuple(SupportedFinding(f["text"], tuple(f["pages"])) for f in state["findings"]),
        asked=tuple(request for past in state["rounds"] for request in past["requests"]),
    )


def past_round(state: ResearcherState, findings: Sequence[Finding], *, is_enough: bool) -> Round:
    """What the caller is told of a round."""
    return {
        "requests": state["requests"],
        "searches": state["searches"],
        "pages": list(dict.fromkeys(one["page"] for one in state["found"])),
        "findings": len(findings),
        "known": [finding["text"] for finding in findings],
        "enough": is_enough,
    }


def outlined(asking: Inquiry, state: ResearcherState, runtime: Runtime[Settings], deps: PageDeps) -> Inquiry:
    """The inquiry with an outline of the memory: the abstracts that fit best, and titles of further pages."""
    library, settings = deps.library(state["memory"], runtime), Settings.of(runtime)
    found = library.outline("\n".join((asking.request, *asking.open)), OUTLINED + TITLES, settings)
    titles = dict.fromkeys(title for _, title, _ in found[OUTLINED:] if title)
    return replace(asking, outlines=tuple(Outline(*page) for page in found[:OUTLINED]), titles=tuple(titles))


@dataclass(frozen=True, slots=True)
class PlacedExcerpt:
    """An excerpt, and the stretch of a page that it is."""

    excerpt: Excerpt
    stretch: PageStretch


def excerpts(
    shown: Sequence[PageStretch], state: ResearcherState, runtime: Runtime[Settings], deps: PageDeps
) -> list[PlacedExcerpt]:
    """The text of the found stretches, as many of the best as fit the budget; pages deleted meanwhile are left out."""
    library = deps.library(state["memory"], runtime)
    pages = {**state.get("retrieved", {}), **{page["id"]: page for page in library.get(one["page"] for one in shown)}}
    left = _budget(Settings.of(runtime))
    found: list[PlacedExcerpt] = []
    for one in shown:
        page = pages.get(one["page"])
        if page is None:
            continue
        text = page["text"][one["start"] : one["end"] if one["end"] >= 0 else None]
        left -= estimate_tokens(text)
        if left < 0 and found:
            break
        found.append(PlacedExcerpt(_excerpt(page, text, one["score"]), one))
    return found


def _budget(settings: Settings) -> int:
    """Tokens that excerpts may take: where a window is small, what would not fit into it has to be read later."""
    room = settings.role("research").text_tokens(settings.window_ratio)
    return min(settings.research_tokens, int(room * EXCERPT_SHARE))


def _excerpt(page: Page, text: str, score: float) -> Excerpt:
    date = str(page["metadata"].get("date") or "")
    return Excerpt(page["id"], page["title"], text, score, page["source"], date)


def few(words: Iterable[str]) -> list[str]:
    """The first words that say something, each once."""
    said = (contract.text(word).strip() for word in words)
    return list(dict.fromkeys(word for word in said if word))[:MOST_WORDS]


def not_asked(requests: Iterable[str], asked: Iterable[str]) -> list[str]:
    """The requests that were not made before."""
    known = {one_line(request).casefold() for request in asked}
    found: dict[str, str] = {}
    for request in requests:
        text = one_line(contract.text(request))
        if text and text.casefold() not in known:
            found.setdefault(text.casefold(), text)
    return list(found.values())[:MOST_REQUESTS]
