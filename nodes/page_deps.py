"""What the stages of memorizer and researcher work with: the stores of pages, and pages ready to be searched."""

from dataclasses import dataclass, field
from typing import Any

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.research import ResearchEngine
from agentic_memory_bank.nodes.deps import EngineDeps, embedding_progress, named_user
from agentic_memory_bank.nodes.researcher.retrieved import Retriever
from agentic_memory_bank.state.errors import ToolError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.pages.bank_pages import BankPages
from agentic_memory_bank.tools.pages.library import AbstractIndexes, PageLibraries, PageLibrary
from agentic_memory_bank.tools.pages.store import PageStore
from agentic_memory_bank.tools.pages.stores import PageStores

UNNAMED = "default"
"""The memory that is meant where nobody can name one: a message has no place for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageDeps(EngineDeps[ResearchEngine]):
    """Dependencies of the stages of memorizer and researcher."""

    stores: PageStores
    abstracts: AbstractIndexes = field(default_factory=AbstractIndexes)
    libraries: PageLibraries | None = None
    """The memories that were searched last, and what makes their vectors; None where nothing is searched."""
    retrievers: tuple[Retriever, ...] = ()
    """What is searched besides, or alone where no memory is named."""
    searched: PageLibrary | None = None
    """What is searched whatever memory is named: the pages of a memory bank. None: the memory of that name."""

    def goal_of(self, state: Any) -> str:
        """Name the work of memorizer or researcher, which both keep under the same key."""
        return str(state.get("work", {}).get("id", ""))

    def store(self, memory: str, runtime: Runtime[Settings]) -> PageStore:
        """Open the memory of this name that belongs to the authenticated user, or else to whom the caller names.

        Raises:
            InputError: The name cannot be kept, or the caller names another than the one who is authenticated.
        """
        return self.stores.of(memory, named_user(runtime))

    def library(self, memory: str, runtime: Runtime[Settings]) -> PageLibrary:
        """Open the same memory to be searched, as it is now.

        Raises:
            InputError: The name cannot be kept.
            StorageError: The memory cannot be read, or is damaged.
            ToolError: This graph searches nothing.
        """
        if self.searched is not None:
            return self.searched
        if self.retrievers and not memory:
            return PageLibrary(BankPages({}, {}), Encoder())
        if self.libraries is None:
            raise ToolError("This graph has no pages to search. Build it with `libraries`.")
        told = embedding_progress(runtime, "take_in")
        return self.libraries.of(self.store(memory, runtime), Settings.of(runtime), told)
