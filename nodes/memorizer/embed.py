"""Stage 5: what do many new pages mean, as vectors? Made now, so that the first question need not wait for them."""

from contextlib import suppress
from typing import Final

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.deps import embedding_progress
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.state.memorizer import MemorizerState, MemorizerUpdate
from agentic_memory_bank.state.settings import Settings

MANY: Final = 16
"""Pages of one run from which on their vectors are made at once. Those of fewer take a second or two of the first
search, less than loading a model here would cost whoever adds a note now and then."""


def embed(state: MemorizerState, runtime: Runtime[Settings], deps: PageDeps) -> MemorizerUpdate:
    """Make the vectors of this run's pages in batches, each written when it is made; a kill loses at most one.

    Texts that are handed over again after a kill are duplicates, and get the vectors that are missing.

    Raises:
        StorageError: The memory cannot be read.
    """
    work = state["work"]
    ids = [page["id"] for page in work.get("kept", [])]
    ids += [one.get("id", "") for one in work.get("skipped", []) if one["reason"] == "duplicate"]
    if deps.libraries is not None and len(ids) >= MANY:
        store, told = deps.store(state["memory"], runtime), embedding_progress(runtime, "embed")
        with suppress(SettingsError):  # pages are kept whatever embeddings are named; who searches them is told
            deps.libraries.embed(store, ids, Settings.of(runtime), told)
    return {}
