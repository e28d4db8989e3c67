"""Finds abstracts of earlier pages that a new one may refer to: by their words alone, so that no model is loaded."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from agentic_memory_bank.tools.pages.store import PageStore
from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
from agentic_memory_bank.tools.text.terms import tokenize


class AbstractIndex:
    """The titles and abstracts of one store; it follows the store by what changed, and can be built again from it."""

    def __init__(self, store: PageStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._forget("")

    def _forget(self, identity: str) -> None:
        self._index = HybridIndex()
        self._abstracts: dict[str, str] = {}
        self._sequence = 0
        self._identity = identity

    def follow(self) -> None:
        """Make it hold the pages that the store has now.

        Raises:
            StorageError: The store cannot be read.
        """
        with self._lock:
            if (identity := self._store.identity) != self._identity:
                self._forget(identity)
            changes = self._store.changes(self._sequence, texts=False)
            for page in changes.put:
                self._index.put(page["id"], tokenize(f"{page['title']}\n{page['abstract']}"), None)
                self._abstracts[page["id"]] = page["abstract"]
            for page_id in changes.removed:
                if self._abstracts.pop(page_id, None) is not None:
                    self._index.remove(page_id)
            self._sequence = changes.sequence

    def search(self, terms: Sequence[str], k: int) -> list[str]:
        """The abstracts that share most with these terms, best first; only those that share something."""
        with self._lock:
            hits = self._index.search(terms, None, k, alpha=1.0) if k and terms and self._abstracts else []
            return [self._abstracts[hit.id] for hit in hits if hit.keyword > 0]


class AbstractPool:
    """The indexes of the stores that were active last."""

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._indexes: OrderedDict[PageStore, AbstractIndex] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, store: PageStore) -> AbstractIndex:
        """The index of a store, as the store is now."""
        with self._lock:
            index = self._indexes.pop(store, None) or AbstractIndex(store)
            self._indexes[store] = index
            while len(self._indexes) > self._size:
                self._indexes.popitem(last=False)
        index.follow()
        return index
