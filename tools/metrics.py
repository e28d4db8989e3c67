"""Counts what memory does, by the OpenTelemetry API where that is installed; else nothing is counted.

Only the API is used: whoever wants figures installs an SDK with an exporter and sets a provider, as for any library.
No text, user, project or id is among the attributes, so that counters can go where memories may not.
"""

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Final, Protocol, cast

METER: Final = "agentic_memory_bank"
RECALLS: Final = "memory_bank.recalls"
"""Recalls, by `outcome` and, where the gate was closed, `reason`."""
SHOWN: Final = "memory_bank.memories.shown"
"""Memories that were put into a block."""
CHANGES: Final = "memory_bank.memories.changes"
"""What was drawn from turns, by `change`: `stored`, `updated` or `superseded`."""

_TOLD: Final = {
    RECALLS: "Recalls, by outcome.",
    SHOWN: "Memories that were shown.",
    CHANGES: "Memories that were stored, updated or superseded.",
}


class Counter(Protocol):
    """What is used of a counter."""

    def add(self, amount: int, attributes: Mapping[str, str] | None = None) -> None:
        """Count so many."""


class _Metrics(Protocol):
    def get_meter(self, name: str) -> "_Meter": ...


class _Meter(Protocol):
    def create_counter(self, name: str, *, description: str) -> Counter: ...


def count(name: str, amount: int = 1, **attributes: str) -> None:
    """Count something, where anybody counts.

    Args:
        name: One of the counters above.
        amount: How many; 0 counts nothing.
        attributes: What tells the counts apart: never words of anybody's.
    """
    counter = _counter_of(name) if amount else None
    if counter is not None:
        counter.add(amount, attributes)


@lru_cache(maxsize=len(_TOLD))
def _counter_of(name: str) -> Counter | None:
    """A counter; None where the API is not installed."""
    try:
        metrics = cast(_Metrics, import_module("opentelemetry.metrics"))
    except ImportError:
        return None
    return metrics.get_meter(METER).create_counter(name, description=_TOLD[name])
