"""Runs LangGraph's own tests of stores on ours: `python tests/project/store_peers.py FOLDER`, with pytest-mock.

FOLDER holds `checkpoint/test_store.py` and `checkpoint-sqlite/test_*.py` of LangGraph's repository, which are not
copied here. Their stores are replaced by ours when they are imported; nothing in the files is changed.
"""

import asyncio
import inspect
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import langgraph.store.memory
import langgraph.store.sqlite
import langgraph.store.sqlite.aio
import pytest

from agentic_memory_bank.tools.storage.item_lifetimes import Sweeper
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore


class PeerStore(SqliteRecordStore):
    """Ours, opened as LangGraph's stores are."""

    def __init__(self, place: Path | None = None, **options: Any) -> None:
        taken = inspect.signature(SqliteRecordStore.__init__).parameters
        given = {name: value for name, value in options.items() if name in taken and value is not None}
        super().__init__(place or Path(tempfile.mkdtemp()) / "store.sqlite", **given)

    @classmethod
    @contextmanager
    def from_conn_string(cls, given: str, **options: Any) -> Iterator["PeerStore"]:
        """Open a store in a file, or in one of its own."""
        store = cls(None if given == ":memory:" else Path(f"{given}.records"), **options)
        try:
            yield store
        finally:
            store.close()

    def setup(self) -> None:
        """There is nothing to set up."""


class AsyncPeerStore(PeerStore):
    """The same for asynchronous code."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, given: str, **options: Any) -> AsyncIterator["AsyncPeerStore"]:  # type: ignore[override]
        """Open a store in a file, or in one of its own."""
        with PeerStore.from_conn_string.__func__(cls, given, **options) as store:  # type: ignore[attr-defined]
            yield store

    async def setup(self) -> None:  # type: ignore[override]
        """There is nothing to set up."""

    async def sweep_ttl(self) -> int:  # type: ignore[override]
        """Sweep, awaited."""
        return await asyncio.to_thread(super().sweep_ttl)

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:  # type: ignore[override]
        """Sweep at intervals, awaited; the sweeper calls what is not."""
        self._sweeper = Sweeper(super().sweep_ttl)
        super().start_ttl_sweeper(sweep_interval_minutes)

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # type: ignore[override]
        """End sweeping, awaited."""
        return super().stop_ttl_sweeper(timeout)


def main() -> int:
    """Run the tests, and return pytest's verdict."""
    folder = Path(sys.argv[1])
    langgraph.store.memory.InMemoryStore = PeerStore  # type: ignore[misc]
    langgraph.store.sqlite.SqliteStore = PeerStore  # type: ignore[misc]
    langgraph.store.sqlite.AsyncSqliteStore = AsyncPeerStore  # type: ignore[misc]
    langgraph.store.sqlite.aio.AsyncSqliteStore = AsyncPeerStore  # type: ignore[misc]
    tests = ModuleType("tests")
    tests.__path__ = [str(folder / "checkpoint")]
    sys.modules["tests"] = tests
    files = [folder / "checkpoint" / "test_store.py", *sorted((folder / "checkpoint-sqlite").glob("test_*.py"))]
    options = ["-q", "--no-header", "-o", "asyncio_mode=auto", "-o", "addopts=", "--import-mode=importlib"]
    root = ["--rootdir", str(folder), "-c", "/dev/null", "-p", "no:cacheprovider"]
    return pytest.main([*options, *root, *sys.argv[2:], *map(str, files)])


if __name__ == "__main__":
    sys.exit(main())
