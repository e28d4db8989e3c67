"""Stage 3: what does each page say, in one paragraph that stands on its own?"""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.research import PageDraft, paragraph
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.state.memorizer import MemorizerState, MemorizerUpdate
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.state.settings import Settings


def abstract(state: MemorizerState, runtime: Runtime[Settings], deps: PageDeps) -> MemorizerUpdate:
    """Abstract the pages of this round; where that could not be done, by their central sentences."""
    pages = drafted(state)
    runtime.stream_writer({"stage": "abstract", "pages": len(pages)})
    asked = [
        PageDraft(page["title"], page["text"], tuple(draft["earlier"]), draft["previous"])
        for page, draft in zip(pages, state["drafts"], strict=True)
    ]
    judged = contract.as_many(deps.engine.abstract(asked), asked)
    said = [paragraph(contract.text(one)) if one else "" for one in judged]
    missing = iter(_offline([page for page, one in zip(pages, said, strict=True) if not one], deps))
    return {"abstracts": [one or next(missing) for one in said]}


def unjudged(state: MemorizerState, deps: PageDeps) -> MemorizerUpdate:
    """Abstract pages that no engine could judge by their central sentences, never by an error."""
    return {"abstracts": _offline(drafted(state), deps)}


def _offline(pages: Sequence[Page], deps: PageDeps) -> list[str]:
    return [one or "" for one in deps.offline.abstract([PageDraft(page["title"], page["text"]) for page in pages])]


def drafted(state: MemorizerState) -> list[Page]:
    """List the pages of this round, without their abstracts."""
    pages = {waiting["page"]["id"]: waiting["page"] for waiting in state["work"]["waiting"]}
    return [pages[draft["id"]] for draft in state["drafts"]]
