"""Whatever store a server brings, one index is kept for it, and a store that is asynchronous only is waited for."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.state.errors import StorageError
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores


class Wrapped(AsyncBatchedBaseStore):
    """As `langgraph dev` hands out its own store: an object per thread around the one there is."""

    def __init__(self, store: BaseStore) -> None:
        super().__init__()
        self._store = store

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._store.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self._store.abatch(ops)


class Awaited(AsyncBatchedBaseStore):
    """As LangGraph's asynchronous stores: what is called from a thread is carried out on the loop of the store."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = InMemoryStore()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        assert asyncio.get_running_loop() is self._loop
        return await self.inner.abatch(ops)


class AwaitedOnly(Awaited):
    """One whose synchronous methods only say that there are none."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise NotImplementedError


class Loopless(BaseStore):
    """One that belongs to no loop."""

    def __init__(self) -> None:
        self.inner = InMemoryStore()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise NotImplementedError

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self.inner.abatch(ops)


def stores() -> RecordStores:
    return RecordStores(None, Encoder(HashEmbeddings()))


async def test_what_a_server_wraps_anew_keeps_its_index() -> None:
    found, inner = stores(), InMemoryStore()

    first, second = found.of(Wrapped(inner)), found.of(Wrapped(inner))

    assert first is second is found.of(inner)
    assert found.of(Wrapped(InMemoryStore())) is not first


@pytest.mark.parametrize("kind", [Awaited, AwaitedOnly, Loopless])
async def test_an_asynchronous_store_keeps_memories_that_threads_work_on(kind: Any) -> None:
    records = stores().of(kind())

    stored = await asyncio.to_thread(records.store, "ann", "A note.")
    found = await asyncio.to_thread(records.search, "ann", "note")

    assert [one.record["id"] for one in found] == [stored.record["id"]]
    await asyncio.to_thread(records.delete_all, "ann")
    assert (await asyncio.to_thread(records.list, "ann")).records == []


async def test_on_the_loop_it_lives_on_such_a_store_is_an_error_and_no_deadlock() -> None:
    records = stores().of(Awaited())

    with pytest.raises(StorageError, match="Synchronous calls"):
        records.list("ann")
