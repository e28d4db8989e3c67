"""What memory does is counted by the OpenTelemetry API, without a word of anybody's; without the API nothing fails."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.tools import metrics
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings


class Counted(ModuleType):
    """Stands for `opentelemetry.metrics`."""

    def __init__(self) -> None:
        super().__init__("opentelemetry.metrics")
        self.counts: Counter[tuple[str, ...]] = Counter()

    def get_meter(self, name: str) -> "Counted":
        assert name == "agentic_memory_bank"
        return self

    def create_counter(self, name: str, *, description: str) -> Any:
        assert description
        return _Adding(name, self.counts)


class _Adding:
    def __init__(self, name: str, counts: Counter[tuple[str, ...]]) -> None:
        self.name, self.counts = name, counts

    def add(self, amount: int, attributes: Mapping[str, str] | None = None) -> None:
        self.counts[(self.name, *(attributes or {}).values())] += amount


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    metrics._counter_of.cache_clear()
    yield
    metrics._counter_of.cache_clear()


def talked() -> None:
    with Memories(InMemoryStore(), embeddings=HashEmbeddings(64)) as memories:
        memories.remember([("user", "My dog is called Biscuit.")], user="ana", end=True)
        memories.recall("What is my dog called?", user="ana")
        memories.recall("Thanks!", user="ana")


def test_recalls_and_changes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted()
    monkeypatch.setitem(sys.modules, "opentelemetry.metrics", counted)
    talked()
    assert counted.counts == {
        ("memory_bank.memories.changes", "stored"): 1,
        ("memory_bank.memories.shown",): 1,
        ("memory_bank.recalls", "used"): 1,
        ("memory_bank.recalls", "ignored", "greeting"): 1,
    }


def test_without_the_api_memory_works_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.metrics", None)
    talked()
    assert metrics._counter_of(metrics.RECALLS) is None
