"""A memory of pages with the index that follows it: what the researcher searches, whatever the pages come from."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from langchain_core.runnables import RunnableLambda

from agentic_memory_bank.state.pages import Page, PageSearch
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.pages.index import PageHit, PageIndex
from agentic_memory_bank.tools.pages.store import Changes, PageStore


class PageSource(Protocol):
    """Where pages come from: a page store, or a memory bank."""

    @property
    def identity(self) -> str:
        """Names this very source: another one in its place has another."""
        ...

    def changes(self, since: int = 0) -> Changes:
        """What came and went after an event; see `PageStore.changes`."""
        ...

    def get(self, ids: Iterable[str]) -> list[Page]:
        """The pages of these ids, in this order; ids that are not there are left out."""
        ...


class PageLibrary:
    """The pages of one source, searched. The index is derived data: it is brought to the source at each look.

    Args:
        source: Where the pages are.
        encoder: Makes the vectors.
        alone: Whether the encoder's file is for this source alone: at the first look what it holds of pages that are
            gone, and of questions, is erased.
    """

    def __init__(self, source: PageSource, encoder: Encoder, *, alone: bool = False) -> None:
        self._source = source
        self._encoder = encoder
        self._alone = alone
        self._lock = threading.Lock()
        self._forget("")

    def _forget(self, identity: str) -> None:
        self._index = PageIndex(self._encoder)
        self._headers: dict[str, tuple[str, str]] = {}
        self._sequence = 0
        self._identity = identity

    def check(self, settings: Settings) -> None:
        """See that an invocation wants the embeddings of this library. Raises as `Encoder.check`."""
        self._encoder.check(settings)

    def follow(self) -> None:
        """Make the index hold the pages that the source has now.

        Raises:
            StorageError: The source cannot be read.
        """
        with self._lock:
            if (identity := self._source.identity) != self._identity:
                self._forget(identity)
            changes = self._source.changes(self._sequence)
            self._index.put(changes.put, only=self._alone and not self._sequence)
            self._headers.update((page["id"], (page["title"], page["abstract"])) for page in changes.put)
            self._index.remove(changes.removed)
            for page_id in changes.removed:
                self._headers.pop(page_id, None)
            self._sequence = changes.sequence

    def __len__(self) -> int:
        return len(self._headers)

    @property
    def has_meaning(self) -> bool:
        """Whether the last search was made by meaning too; else the model of embeddings failed, and it was by words."""
        return self._index.has_meaning

    def search(self, searches: Sequence[PageSearch], k: int, settings: Settings) -> list[list[PageHit]]:
        """For each search the k pages that fit it best, besides those it names; all are searched at the same time."""

        def found(search: PageSearch) -> list[PageHit]:
            return self._index.search(search, k, settings)

        return RunnableLambda(found).batch(list(searches), {"max_concurrency": settings.max_concurrency})

    def outline(self, query: str, k: int, settings: Settings) -> list[tuple[str, str, str]]:
        """Id, title and abstract of the k pages whose headers fit a query best, best first."""
        found = self._index.abstracts(query, k, settings)
        return [(page_id, *self._headers[page_id]) for page_id in found if page_id in self._headers]

    def get(self, ids: Iterable[str]) -> list[Page]:
        """The pages of these ids, in this order; ids that are not there are left out."""
        return self._source.get(ids)


class LibraryPool:
    """The libraries of the sources that were searched last.

    Args:
        encoder: Makes an encoder that keeps its vectors in a file, or in memory where there is none.
        size: How many libraries are kept.
    """

    def __init__(self, encoder: Callable[[Path | None], Encoder], size: int = 16) -> None:
        self._encoder = encoder
        self._size = size
        self._libraries: OrderedDict[PageStore, PageLibrary] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, store: PageStore, settings: Settings | None = None) -> PageLibrary:
        """The library of a store, as the store is now.

        Args:
            store: Where the pages are.
            settings: Of the invocation that searches, where they may name embeddings.

        Raises:
            StorageError: The store cannot be read.
            SettingsError: The settings name embeddings that cannot be used, or others than those of the library.
        """
        with self._lock:
            library = self._libraries.pop(store, None) or PageLibrary(store, self._encoder(store.vectors), alone=True)
            self._libraries[store] = library
            while len(self._libraries) > self._size:
                self._libraries.popitem(last=False)
        if settings is not None:
            library.check(settings)
        library.follow()
        return library
