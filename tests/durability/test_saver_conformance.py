"""The saver of durable runs does what LangGraph's own suite asks of every saver."""

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate

from agentic_memory_bank.runs.checkpoints import open_saver


class Awaited(BaseCheckpointSaver[Any]):
    """The saver, whose methods are not asynchronous, as the suite calls it."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver

    def get_next_version(self, *given: Any) -> Any:
        return self._saver.get_next_version(*given)

    async def aget_tuple(self, *given: Any) -> Any:
        return await asyncio.to_thread(self._saver.get_tuple, *given)

    async def aput(self, *given: Any) -> Any:
        return await asyncio.to_thread(self._saver.put, *given)

    async def aput_writes(self, *given: Any, **options: Any) -> None:
        await asyncio.to_thread(self._saver.put_writes, *given, **options)

    async def adelete_thread(self, *given: Any) -> None:
        await asyncio.to_thread(self._saver.delete_thread, *given)

    async def alist(self, *given: Any, **options: Any) -> AsyncIterator[Any]:
        def listed() -> list[Any]:
            found: Iterator[Any] = self._saver.list(*given, **options)
            return list(found)

        for one in await asyncio.to_thread(listed):
            yield one


@pytest.fixture(params=["files", "database"])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], AbstractContextManager[Any]]]:
    """Opens a saver that holds nothing."""
    numbers = iter(range(100))
    if request.param == "files":
        yield lambda: open_saver(tmp_path / f"{next(numbers)}.sqlite")
        return
    url = request.getfixturevalue("postgres")
    database = importlib.import_module("agentic_memory_bank.runs.database").RunDatabase(url)

    @contextmanager
    def emptied() -> Iterator[Any]:
        with database.connection() as connection:
            connection.execute("TRUNCATE checkpoints, checkpoint_blobs, checkpoint_writes")
        with database.saver() as opened:
            yield opened

    yield emptied
    database.close()


async def test_the_saver_passes_the_suite_of_langgraph(fresh: Callable[[], AbstractContextManager[Any]]) -> None:
    @checkpointer_test(name="durable runs")
    async def saver() -> Any:
        with fresh() as opened:
            yield Awaited(opened)

    report = await validate(saver)

    failed = {name: result.failures for name, result in report.results.items() if result.detected and not result.passed}
    assert failed == {}
    tried = {name for name, result in report.results.items() if result.detected}
    if {"put", "put_writes", "get_tuple", "list", "delete_thread"} - tried:
        pytest.fail(f"Only {sorted(tried)} was tried.")
