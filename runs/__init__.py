"""Durable runs: started, resumed, exported, imported and erased."""

from agentic_memory_bank.runs.export import export_thread, import_thread, memory_digest, read_state
from agentic_memory_bank.runs.running import RunOutput, arun, clear, resume, run
from agentic_memory_bank.runs.upkeep import collect_garbage

__all__ = [
    "RunOutput",
    "arun",
    "clear",
    "collect_garbage",
    "export_thread",
    "import_thread",
    "memory_digest",
    "read_state",
    "resume",
    "run",
]
