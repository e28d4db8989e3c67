"""Durable runs: start, resume, export, import and erase. Loaded on first use: a list of runs needs no graph."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_memory_bank.runs.bank_runs import arun, clear, resume, run
    from agentic_memory_bank.runs.cleanup import clear_pages, collect_garbage, list_pages
    from agentic_memory_bank.runs.export import export_thread, import_thread, memory_digest, read_state
    from agentic_memory_bank.runs.run_steps import RunOutput
    from agentic_memory_bank.runs.settling import settle, unsettle

__all__ = [
    "RunOutput",
    "arun",
    "clear",
    "collect_garbage",
    "export_thread",
    "clear_pages",
    "import_thread",
    "list_pages",
    "memory_digest",
    "read_state",
    "resume",
    "run",
    "settle",
    "unsettle",
]

_HOMES = {
    "RunOutput": "bank_runs",
    "arun": "bank_runs",
    "clear": "bank_runs",
    "collect_garbage": "cleanup",
    "export_thread": "export",
    "clear_pages": "cleanup",
    "import_thread": "export",
    "list_pages": "cleanup",
    "memory_digest": "export",
    "read_state": "export",
    "resume": "bank_runs",
    "run": "bank_runs",
    "settle": "settling",
    "unsettle": "settling",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
