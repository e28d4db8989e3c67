"""What every test shares: a clean environment, a home of its own, and a memory bank that loads no model."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agentic_memory_bank.graph.memory_bank import MemoryBank
    from agentic_memory_bank.testing import ScriptedEngine, TickingClock
    from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

FOREIGN = ("MEMORY_BANK_", "OPENAI_", "DEEPSEEK_", "SERPER_", "JINA_", "TAVILY_", "LANGSMITH_", "LANGCHAIN_")
"""Variables of the person who runs the tests that no test may see."""

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # LangGraph reads it when it is imported, so fixtures import lazily
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hide the person's variables from the test, and the person's home from what the test writes."""
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORY_BANK_HOME", str(tmp_path_factory.mktemp("home") / "bank"))


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
