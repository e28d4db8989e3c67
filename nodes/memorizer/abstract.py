"""Stage 3: what does each page say, in one paragraph that stands on its own?

Short, since each stage has a module of its own.
"""

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.extractive.answering.research import abstract_of
from agentic_memory_bank.engines.research import PageDraft, paragraph
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.state.memorizer import MemorizerState, MemorizerUpdate
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.state.settings import Settings


def abstract(state: MemorizerState, runtime: Runtime[Settings], deps: PageDeps) -> MemorizerUpdate:
    """Say what the pages of this round say; where that could not be done, their central sentences say it."""
    pages = drafted(state)
    runtime.stream_writer({"stage": "abstract", "pages": len(pages)})
    asked = [
        PageDraft(page["title"], page["text"], tuple(draft["earlier"]), draft["previous"])
        for page, draft in zip(pages, state["drafts"], strict=True)
    ]
    judged = contract.as_many(deps.engine.abstract(asked), asked)
    said = [paragraph(contract.text(one)) if one else "" for one in judged]
    return {"abstracts": [one or abstract_of(page["text"]) for one, page in zip(said, pages, strict=True)]}


def unjudged(state: MemorizerState) -> MemorizerUpdate:
    """The abstracts of pages that nobody could judge: their central sentences, never an error."""
    return {"abstracts": [abstract_of(page["text"]) for page in drafted(state)]}


def drafted(state: MemorizerState) -> list[Page]:
    """The pages of this round, without their abstracts."""
    pages = {waiting["page"]["id"]: waiting["page"] for waiting in state["work"]["waiting"]}
    return [pages[draft["id"]] for draft in state["drafts"]]
