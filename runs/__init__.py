"""Durable runs: started, resumed, exported, imported and erased. Loaded on first use: a list of runs needs no graph."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_memory_bank.runs.export import export_thread, import_thread, memory_digest, read_state
    from agentic_memory_bank.runs.running import RunOutput, arun, clear, resume, run
    from agentic_memory_bank.runs.upkeep import collect_garbage, forget_pages, list_pages

__all__ = [
    "RunOutput",
    "arun",
    "clear",
    "collect_garbage",
    "export_thread",
    "forget_pages",
    "import_thread",
    "list_pages",
    "memory_digest",
    "read_state",
    "resume",
    "run",
]

_HOMES = {
    "RunOutput": "running",
    "arun": "running",
    "clear": "running",
    "collect_garbage": "upkeep",
    "export_thread": "export",
    "forget_pages": "upkeep",
    "import_thread": "export",
    "list_pages": "upkeep",
    "memory_digest": "export",
    "read_state": "export",
    "resume": "running",
    "run": "running",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
