"""Stage 2: which earlier abstracts help to understand the next pages? What a judge is shown is fixed here."""

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.research import PageDraft
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.state.memorizer import AbstractContext, MemorizerState, MemorizerUpdate
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.terms import tokenize


def recall(state: MemorizerState, runtime: Runtime[Settings], deps: PageDeps) -> MemorizerUpdate:
    """Take the next pages, each with the most similar abstracts and the abstract of the page before it.

    The abstracts of these pages themselves do not exist yet: their central sentences stand in. So all pages of a batch
    can be sent to the model at once, and the outcome does not depend on which answer arrives first.

    Raises:
        StorageError: The memory cannot be read.
    """
    settings = Settings.of(runtime)
    store = deps.store(state["memory"], runtime)
    index = deps.abstracts.of(store)
    last = store.last()
    previous = last["abstract"] if last else ""
    drafts: list[AbstractContext] = []
    pages = [waiting["page"] for waiting in state["work"]["waiting"][: settings.page_batch]]
    centrals = deps.offline.abstract([PageDraft(page["title"], page["text"]) for page in pages])
    for page, said in zip(pages, centrals, strict=True):
        central = said or ""
        earlier = index.search(tokenize(f"{page['title']}\n{central}"), settings.abstract_context)
        drafts.append({"id": page["id"], "earlier": earlier, "previous": previous})
        previous = central
    return {"drafts": drafts}
