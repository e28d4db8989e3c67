"""Adapts any LangGraph `BaseStore`: its failures become errors of this package, and long reads come in pieces."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, MatchCondition, Op, Result, SearchItem, SearchOp
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.state.errors import MemoryBankError, unfit
from agentic_memory_bank.tools.storage.sqlite_store import ROOT, store_failed

_AT_ONCE: Final = 500  # databases take some thousands of parameters in one statement
_PAGE: Final = 1_000_000  # in one piece where the store allows it: the order of pages is not the same everywhere
_LEAST_CAP: Final = 10  # a store that gives fewer has no more; one that caps what it gives gives at least as many

_memory_locks: WeakKeyDictionary[BaseStore, threading.RLock] = WeakKeyDictionary()
"""`InMemoryStore` cannot be read while another thread writes."""


def check_store(given: object) -> None:
    """Check what is given as a store; None is the default one.

    Raises:
        InputError: It is no `BaseStore`.
    """
    if given is not None and not isinstance(given, BaseStore):
        raise unfit("store", given, "a `BaseStore` of LangGraph, such as `SqliteRecordStore(Path('memories.sqlite'))`")


def underneath(store: BaseStore) -> BaseStore:
    """The store that holds the items: `langgraph dev` wraps its own in one object per thread, which adds nothing."""
    inner = getattr(store, "_store", None) if isinstance(store, AsyncBatchedBaseStore) else None
    return inner if isinstance(inner, InMemoryStore) else store


class StoreAdapter:
    """Wraps any `BaseStore`; its failures become errors of this package.

    A store that is asynchronous only is waited for, which is not possible on the event loop it lives on.
    """

    def __init__(self, store: BaseStore) -> None:
        self.store = store = underneath(store)
        self._lock: AbstractContextManager[Any] = nullcontext()
        if isinstance(store, InMemoryStore):
            self._lock = _memory_locks.setdefault(store, threading.RLock())

    def batch(self, ops: Sequence[Op]) -> list[Result]:
        """Carry out operations.

        Raises:
            StorageError: The store failed.
        """
        try:
            with self._lock:
                return self._batch(ops)
        except MemoryBankError:
            raise
        except Exception as error:  # every store has errors of its own
            raise store_failed(error) from error

    def _batch(self, ops: Sequence[Op]) -> list[Result]:
        try:
            return self.store.batch(ops)
        except NotImplementedError:
            home = getattr(self.store, "_loop", None)
        if isinstance(home, asyncio.AbstractEventLoop) and home.is_running():
            return asyncio.run_coroutine_threadsafe(self.store.abatch(ops), home).result()
        return asyncio.run(_awaited(self.store, ops))

    def together(self) -> AbstractContextManager[Any]:
        """Around several batches that delete: a store that erases by copying what stays does so once, at the end."""
        return getattr(self.store, "together", nullcontext)()

    def get(self, namespace: tuple[str, ...], keys: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """The values of these keys, in this order."""
        found: list[Mapping[str, Any] | None] = []
        for some in in_batches(keys):
            items = self.batch([GetOp(namespace, key, refresh_ttl=False) for key in some])
            found += [cast(Any, item).value if item is not None else None for item in items]
        return found

    def everything(self, namespace: tuple[str, ...]) -> dict[str, Mapping[str, Any]]:
        """All values of exactly this namespace, none of those below it."""
        values: dict[str, Mapping[str, Any]] = {}
        offset = 0
        while True:
            op = SearchOp(namespace, limit=_PAGE, offset=offset, refresh_ttl=False)
            page = cast(list[SearchItem], self.batch([op])[0])
            values.update((item.key, item.value) for item in page if item.namespace == namespace)
            offset += len(page)
            if len(page) < _LEAST_CAP:
                return values

    def owners(self) -> list[str]:
        """The hashes of all users who have memories."""
        found: set[str] = set()
        offset = 0
        while True:
            condition = MatchCondition("prefix", (ROOT,))
            op = ListNamespacesOp((condition,), max_depth=2, limit=_AT_ONCE, offset=offset)
            page = cast(list[tuple[str, ...]], self.batch([op])[0])
            found.update(path[1] for path in page if len(path) == 2)
            offset += len(page)
            if not page:
                return sorted(found)


async def _awaited(store: BaseStore, ops: Sequence[Op]) -> list[Result]:
    return await store.abatch(ops)


def in_batches(items: Sequence[Any]) -> Iterator[list[Any]]:
    """Divide items into lists that a store takes in one call."""
    for start in range(0, len(items), _AT_ONCE):
        yield list(items[start : start + _AT_ONCE])
