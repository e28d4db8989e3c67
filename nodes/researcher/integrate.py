"""Stage 4: what do the pages say on the request?"""

from collections.abc import Collection, Sequence

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.research import Excerpt, Gathered
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.nodes.researcher.views import excerpts, few, inquiry, not_asked, past_round
from agentic_memory_bank.prompts.fence import one_line
from agentic_memory_bank.state.research import Finding, PlannedSearch, ResearcherState, ResearcherUpdate
from agentic_memory_bank.state.settings import Settings


def integrate(state: ResearcherState, runtime: Runtime[Settings], deps: PageDeps) -> ResearcherUpdate:
    """Collect facts from what was found, within the budget of text; findings of earlier rounds stay.

    Raises:
        StorageError: The memory cannot be read.
    """
    placed = excerpts(state["found"], state, runtime, deps)
    shown = [one.excerpt for one in placed]
    gathered = deps.engine.gather(inquiry(state), shown) if shown else Gathered(())
    dropped = set(gathered.dropped)
    kept = [finding for position, finding in enumerate(state["findings"]) if position not in dropped]
    findings = [*kept, *_checked(gathered, shown, kept)]
    runtime.stream_writer({"stage": "integrate", "findings": findings[len(kept) :]})
    return {
        "findings": findings,
        "leads": _leads(gathered, state["asked"], {one.page for one in shown}) if len(findings) > len(kept) else [],
        "is_enough": bool(gathered.is_enough and findings),
        "shown": [*state["shown"], *(one.stretch for one in placed)],
        "found": [],
        "rounds": [*state["rounds"], past_round(state, findings, is_enough=gathered.is_enough)],
    }


def _leads(gathered: Gathered, asked: Sequence[str], known: Collection[str]) -> list[PlannedSearch]:
    """What to search next, as far as it was not asked before; of pages those that were shown in part are read whole."""
    said = {one_line(contract.text(search.request)): search for search in reversed(gathered.missing)}
    return [
        {
            "request": request,
            "keywords": few(said[request].keywords),
            "queries": few(said[request].queries),
            "pages": few(page for page in said[request].pages if page in known),
        }
        for request in not_asked([one_line(contract.text(search.request)) for search in gathered.missing], asked)
    ]


def _checked(gathered: Gathered, shown: Sequence[Excerpt], kept: Sequence[Finding]) -> list[Finding]:
    """New findings, each with the pages that were shown among those it names; one that names none is dropped."""
    known = {excerpt.page for excerpt in shown}
    said = {finding["text"].casefold() for finding in kept}
    found: list[Finding] = []
    for one in gathered.findings:
        text = contract.text(one.text).strip()
        pages = [page for page in dict.fromkeys(one.pages) if page in known]
        if text and pages and text.casefold() not in said:
            said.add(text.casefold())
            found.append({"text": text, "pages": pages})
    return found
