"""Stage 2: which earlier abstracts help to understand the next pages? What a judge is shown is fixed here."""

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.extractive.answering.research import abstract_of
from agentic_memory_bank.nodes.pages import PageKit
from agentic_memory_bank.state.memorizer import Draft, MemorizerState, MemorizerUpdate
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.terms import tokenize


def recall(state: MemorizerState, runtime: Runtime[Settings], kit: PageKit) -> MemorizerUpdate:
    """Take the next pages, each with the abstracts most like it and that of the page just before it.

    The memory is looked at as it is before any of these pages is in it, and a page among them stands for its own
    abstract by its central sentences: so all of them can be judged at once, and nothing depends on who is done first.

    Raises:
        StorageError: The memory cannot be read.
    """
    settings = Settings.of(runtime)
    store = kit.store(state["memory"], runtime)
    index = kit.abstracts.of(store)
    last = store.last()
    previous = last["abstract"] if last else ""
    drafts: list[Draft] = []
    for waiting in state["work"]["waiting"][: settings.page_batch]:
        page = waiting["page"]
        central = abstract_of(page["text"])
        earlier = index.search(tokenize(f"{page['title']}\n{central}"), settings.abstract_context)
        drafts.append({"id": page["id"], "earlier": earlier, "previous": previous})
        previous = central
    return {"drafts": drafts}
