"""Memory for agents on LangGraph: the public surface, loaded on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_memory_bank.engines.base import Engine
    from agentic_memory_bank.graph.memorizer import build_memorizer
    from agentic_memory_bank.graph.memorizer import graph as memorizer
    from agentic_memory_bank.graph.memory_bank import build_memory_bank
    from agentic_memory_bank.graph.memory_bank import graph as memory_bank
    from agentic_memory_bank.graph.middleware import MemoryBankMiddleware
    from agentic_memory_bank.graph.researcher import build_researcher
    from agentic_memory_bank.graph.researcher import graph as researcher
    from agentic_memory_bank.runs import arun, clear, resume, run
    from agentic_memory_bank.state.errors import MemoryBankError
    from agentic_memory_bank.state.settings import Settings

__all__ = [
    "Engine",
    "MemoryBankError",
    "MemoryBankMiddleware",
    "Settings",
    "arun",
    "build_memorizer",
    "build_memory_bank",
    "build_researcher",
    "clear",
    "memorizer",
    "memory_bank",
    "researcher",
    "resume",
    "run",
]

_HOMES = {
    "Engine": ("engines.base", "Engine"),
    "MemoryBankError": ("state.errors", "MemoryBankError"),
    "MemoryBankMiddleware": ("graph.middleware", "MemoryBankMiddleware"),
    "Settings": ("state.settings", "Settings"),
    "arun": ("runs", "arun"),
    "build_memorizer": ("graph.memorizer", "build_memorizer"),
    "build_memory_bank": ("graph.memory_bank", "build_memory_bank"),
    "build_researcher": ("graph.researcher", "build_researcher"),
    "clear": ("runs", "clear"),
    "memorizer": ("graph.memorizer", "graph"),
    "memory_bank": ("graph.memory_bank", "graph"),
    "researcher": ("graph.researcher", "graph"),
    "resume": ("runs", "resume"),
    "run": ("runs", "run"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    value = getattr(import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
