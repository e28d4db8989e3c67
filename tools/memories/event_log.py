"""The events of one user's memories in a LangGraph `BaseStore`: written once, and followed while others write, too.

A `BaseStore` has no compare-and-swap, so no key but one's own is ever changed. Events stand under keys made of what
they say. Each writer numbers what it writes in a ring of slots of its own and keeps the last number under its name: who
follows reads the names, then the slots behind what it knows, then the events these name, and nothing else. Who was
overtaken by the ring, or meets a writer that is gone, reads everything again.
"""

import asyncio
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NamedTuple, cast
from uuid import uuid4
from weakref import WeakKeyDictionary

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.state.errors import MemoryBankError
from agentic_memory_bank.state.records import RecordEvent
from agentic_memory_bank.tools.storage.sqlite_store import ROOT, unusable

RING: Final = 256
"""How many of its last writes each writer keeps for those who follow."""

_AT_ONCE: Final = 500  # databases take some thousands of parameters in one statement
_PAGE: Final = 1_000_000  # in one piece where the store allows it: the order of pages is not the same everywhere
_LEAST_CAP: Final = 10  # a store that gives fewer has no more; one that caps what it gives gives at least as many

_memory_locks: WeakKeyDictionary[BaseStore, threading.RLock] = WeakKeyDictionary()
"""`InMemoryStore` cannot be read while another thread writes."""


def underneath(store: BaseStore) -> BaseStore:
    """The store that holds the items: `langgraph dev` wraps its own in one object per thread, which adds nothing."""
    inner = getattr(store, "_store", None) if isinstance(store, AsyncBatchedBaseStore) else None
    return inner if isinstance(inner, InMemoryStore) else store


class Port:
    """A `BaseStore` whose failures, whatever it is, are errors of this package.

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
            raise unusable(error) from error

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
        for some in _parts(keys):
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


class News(NamedTuple):
    """What a follower has to take in."""

    anew: bool
    """Whether these are all events there are; otherwise those that changed."""
    events: Mapping[str, RecordEvent | None]
    """By key; None for one that is no longer there."""


class RecordLog:
    """The events of one user, as one writer sees and writes them; the owner serves one call at a time."""

    def __init__(self, port: Port, owner: str) -> None:
        self._port = port
        self._events = (ROOT, owner, "events")
        self._slots = (ROOT, owner, "slots")
        self._writers = (ROOT, owner, "writers")
        self._seen: dict[str, int] | None = None
        self._head = 0
        self._unrevealed: list[str] = []
        self.writer = uuid4().hex[:16]
        """Names this writer; no other has the same name, ever."""

    def news(self) -> News:
        """What was written since the last call, by whomever; everything at the first call and after a failure.

        Raises:
            StorageError: The store failed.
        """
        heads = {writer: _number(value.get("head")) for writer, value in self._port.everything(self._writers).items()}
        keys = self._revealed(heads)
        if keys is None:
            return self._everything(heads)
        values = self._port.get(self._events, keys)
        self._seen = heads
        return News(False, dict(zip(keys, cast(list[RecordEvent | None], values), strict=True)))

    def write(self, events: Mapping[str, RecordEvent | None], at: str) -> None:
        """Write events, and delete those that are None. What is one event is written whole or not at all.

        Raises:
            StorageError: The store failed; what of it was written is found out at the next look.
        """
        with self._port.together():
            for keys in _parts(list(events)):
                self._write({key: events[key] for key in keys}, at)

    def _write(self, events: Mapping[str, RecordEvent | None], at: str) -> None:
        self._unrevealed += events
        number = self._head = self._head + 1  # a number is never used again, even if it was not written
        slot = {"n": number, "keys": self._unrevealed}
        puts: list[tuple[tuple[str, ...], str, Any]] = [(self._events, key, event) for key, event in events.items()]
        puts += [(self._slots, f"{self.writer}.{number % RING}", slot)]
        puts += [(self._writers, self.writer, {"head": number, "at": at})]
        known, self._seen = self._seen, None
        self._port.batch([PutOp(space, key, value, index=False) for space, key, value in puts])
        self._unrevealed = []
        if known is not None:
            self._seen = {**known, self.writer: number}

    def lose_track(self) -> None:
        """Read everything again at the next look."""
        self._seen = None

    def writers(self) -> dict[str, str]:
        """When each writer has written last."""
        return {writer: str(value.get("at", "")) for writer, value in self._port.everything(self._writers).items()}

    def drop_writers(self, writers: Iterable[str]) -> None:
        """Erase what is kept for the followers of writers that are gone; their events stay."""
        gone = [writer for writer in writers if writer != self.writer]
        slots = [key for key in self._port.everything(self._slots) if key.rpartition(".")[0] in set(gone)]
        deletes = [(self._slots, key) for key in slots] + [(self._writers, writer) for writer in gone]
        for some in _parts(deletes):
            self._port.batch([PutOp(space, key, None) for space, key in some])

    def _everything(self, heads: dict[str, int]) -> News:
        """All events. Those that come while they are read are among what comes after `heads`, and so are read again."""
        events = cast(Mapping[str, RecordEvent], self._port.everything(self._events))
        self._seen = heads
        self._head = max(self._head, heads.get(self.writer, 0))
        return News(True, dict(events))

    def _revealed(self, heads: Mapping[str, int]) -> list[str] | None:
        """The keys that were written since the last look; None where that can no longer be told."""
        seen = self._seen
        if seen is None or any(heads.get(writer, -1) < number for writer, number in seen.items()):
            return None
        behind = {writer: head - seen.get(writer, 0) for writer, head in heads.items()}
        if max(behind.values(), default=0) > RING:
            return None
        wanted = [(w, n) for w, head in heads.items() for n in range(head - behind[w] + 1, head + 1)]
        slots = self._port.get(self._slots, [f"{writer}.{number % RING}" for writer, number in wanted])
        if any(slot is None or slot.get("n") != n for slot, (_, n) in zip(slots, wanted, strict=True)):
            return None
        return list(dict.fromkeys(key for slot in slots if slot for key in slot["keys"]))


async def _awaited(store: BaseStore, ops: Sequence[Op]) -> list[Result]:
    return await store.abatch(ops)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _parts(items: Sequence[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), _AT_ONCE):
        yield list(items[start : start + _AT_ONCE])
