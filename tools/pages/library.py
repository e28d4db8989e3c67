"""Indexes that follow a feed of pages: what the researcher searches, and the abstracts that a new page may refer to."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from langchain_core.runnables import RunnableLambda

from agentic_memory_bank.state.model_table import MOST_AT_ONCE
from agentic_memory_bank.state.pages import Page, PageSearch
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.embeddings.encoder import Encoder, Told
from agentic_memory_bank.tools.pages.index import PageHit, PageIndex, embedded_texts
from agentic_memory_bank.tools.pages.store import PageChanges, PageStore
from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows
from agentic_memory_bank.tools.text.terms import tokenize


class PageFeed(Protocol):
    """Where pages come from: a page store, or a memory bank."""

    @property
    def identity(self) -> str:
        """Names this very source: another one in its place has another."""
        ...

    def changes(self, since: int = 0, *, texts: bool = True) -> PageChanges:
        """What came and went after an event; see `PageStore.changes`."""
        ...

    def get(self, ids: Iterable[str]) -> list[Page]:
        """The pages of these ids, in this order; ids that are not there are left out."""
        ...


class FeedPosition:
    """How far an index has followed a feed of pages.

    Args:
        feed: The pages whose changes are followed.
        texts: Whether the raw texts are wanted; without them much less is read.
    """

    def __init__(self, feed: PageFeed, **texts: bool) -> None:
        self._feed, self._texts = feed, texts
        self._lock = threading.Lock()
        self._identity, self._sequence = "", 0

    @property
    def is_first(self) -> bool:
        """Whether nothing was followed yet."""
        return not self._sequence

    @contextmanager
    def next_changes(self, begin_anew: Callable[[], object]) -> Iterator[PageChanges]:
        """What came and went since the last call, for one caller at a time; where this fails, it comes again.

        Args:
            begin_anew: Empties the index, where another feed has taken the place of this one.

        Raises:
            StorageError: The feed cannot be read.
        """
        with self._lock:
            if (identity := self._feed.identity) != self._identity:
                begin_anew()
                self._identity, self._sequence = identity, 0
            changes = self._feed.changes(self._sequence, **self._texts)
            yield changes
            self._sequence = changes.sequence


class PageLibrary:
    """The pages of one source, searched. The index is derived data: it follows the source at each look.

    Args:
        source: Store of the pages.
        encoder: Embeds texts and queries.
        alone: Whether the encoder's file is for this source alone: at the first look what it holds of pages that are
            gone, and of questions, is erased.
    """

    def __init__(self, source: PageFeed, encoder: Encoder, *, alone: bool = False) -> None:
        self._source, self._encoder, self._alone = source, encoder, alone
        self._position = FeedPosition(source)
        self._begin()

    def _begin(self) -> None:
        self._index = PageIndex(self._encoder)
        self._headers: dict[str, tuple[str, str]] = {}

    def check(self, settings: Settings) -> None:
        """See that an invocation wants the embeddings of this library. Raises as `Encoder.check`."""
        self._encoder.check(settings)

    def follow(self, told: Told | None = None) -> None:
        """Make the index hold the pages that the source has now.

        Args:
            told: Hears how far the vectors of new pages are.

        Raises:
            StorageError: The source cannot be read.
        """
        with self._position.next_changes(self._begin) as changes:
            self._index.put(changes.put, only=self._alone and self._position.is_first, told=told)
            self._headers.update((page["id"], (page["title"], page["abstract"])) for page in changes.put)
            self._index.remove(changes.removed)
            for page_id in changes.removed:
                self._headers.pop(page_id, None)

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

        if not self._headers:  # no model is loaded to find nothing
            return [[] for _ in searches]
        return RunnableLambda(found).batch(
            list(searches), {"max_concurrency": settings.max_concurrency or MOST_AT_ONCE}
        )

    def outline(self, query: str, k: int, settings: Settings) -> list[tuple[str, str, str]]:
        """Id, title and abstract of the k pages whose headers fit a query best, best first."""
        found = self._index.abstracts(query, k, settings) if self._headers else []
        return [(page_id, *self._headers[page_id]) for page_id in found if page_id in self._headers]

    def get(self, ids: Iterable[str]) -> list[Page]:
        """The pages of these ids, in this order; ids that are not there are left out."""
        return self._source.get(ids)


class AbstractIndex:
    """The titles and abstracts of one store, found by their words alone, so that no model is loaded."""

    def __init__(self, store: PageStore) -> None:
        self._position = FeedPosition(store, texts=False)
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._index = HybridIndex()
        self._abstracts: dict[str, str] = {}

    def follow(self) -> None:
        """Make it hold the pages that the store has now.

        Raises:
            StorageError: The store cannot be read.
        """
        with self._position.next_changes(self._begin) as changes, self._lock:
            for page in changes.put:
                self._index.put(page["id"], tokenize(f"{page['title']}\n{page['abstract']}"), None)
                self._abstracts[page["id"]] = page["abstract"]
            for page_id in changes.removed:
                if self._abstracts.pop(page_id, None) is not None:
                    self._index.remove(page_id)

    def search(self, terms: Sequence[str], k: int) -> list[str]:
        """The abstracts that share most with these terms, best first; only those that share something."""
        with self._lock:
            hits = self._index.search(terms, None, k, alpha=1.0) if k and terms and self._abstracts else []
            return [self._abstracts[hit.id] for hit in hits if hit.keyword > 0]


class AbstractIndexes:
    """The abstract indexes of the stores that were active last."""

    def __init__(self, size: int = 64) -> None:
        self._indexes: LruCache[PageStore, AbstractIndex] = LruCache(size)

    def of(self, store: PageStore) -> AbstractIndex:
        """The index of a store, as the store is now.

        Raises:
            StorageError: The store cannot be read.
        """
        index = self._indexes.get(store, lambda: AbstractIndex(store))
        index.follow()
        return index


class PageLibraries:
    """The libraries of the sources that were searched last.

    Args:
        encoder: Makes an encoder that keeps its vectors in a file or in rows of a database, or else in memory.
        size: How many libraries are kept.
    """

    def __init__(self, encoder: Callable[[Path | ThreadRows | None], Encoder], size: int = 16) -> None:
        self._encoder = encoder
        self._libraries: LruCache[PageStore, PageLibrary] = LruCache(size)

    def of(self, store: PageStore, settings: Settings | None = None, told: Told | None = None) -> PageLibrary:
        """The library of a store, as the store is now.

        Args:
            store: Store of the pages.
            settings: Settings of the invocation that searches, where they may name embeddings.
            told: Hears how far the vectors of new pages are.

        Raises:
            StorageError: The store cannot be read.
            SettingsError: The settings name embeddings that cannot be used, or others than those of the library.
        """
        library = self._libraries.get(store, lambda: PageLibrary(store, self._encoder(store.vectors), alone=True))
        if settings is not None:
            library.check(settings)
        library.follow(told)
        return library

    def embed(self, store: PageStore, ids: Iterable[str], settings: Settings, told: Told | None = None) -> None:
        """Write the vectors of some pages to where they are kept, so that no search has to wait for them.

        Nothing is done for pages in memory, which keep no file. Where the model fails, the next search tries again.

        Args:
            store: Store of the pages.
            ids: Which of them; those that have their vectors are passed over.
            settings: Settings of the invocation, where they may name embeddings.
            told: Hears of each batch that was written.

        Raises:
            StorageError: The pages cannot be read.
            SettingsError: The settings name embeddings that cannot be used, or others than those of the graph.
        """
        if store.vectors is None:
            return
        with closing(self._encoder(store.vectors)) as encoder:
            encoder.check(settings)
            encoder.try_vectors([text for page in store.get(ids) for text in embedded_texts(page)], told)
