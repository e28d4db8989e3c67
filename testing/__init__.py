"""Test doubles for users of this package: the ones its own tests are written with."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentic_memory_bank.testing.faults import (
    Fault,
    bad_json,
    closed_port,
    cut,
    drip,
    empty,
    failing,
    fenced,
    hang,
    html,
    http_error,
    ignoring_tools,
    no_choices,
    no_finish_reason,
    null_content,
    raw_body,
    refusing,
    reset,
    thinking,
)
from agentic_memory_bank.testing.judge import ScriptedJudge
from agentic_memory_bank.testing.replies import ChatRequest, EmbeddingRequest, Reply, ToolCall, hashed_vectors
from agentic_memory_bank.testing.scripted import ScriptedEngine, TickingClock

if TYPE_CHECKING:
    from agentic_memory_bank.testing.model_server import ModelServer, SpawnedServer

__all__ = [
    "ChatRequest",
    "EmbeddingRequest",
    "Fault",
    "ModelServer",
    "Reply",
    "ScriptedEngine",
    "ScriptedJudge",
    "SpawnedServer",
    "TickingClock",
    "ToolCall",
    "bad_json",
    "closed_port",
    "cut",
    "drip",
    "empty",
    "failing",
    "fenced",
    "hang",
    "hashed_vectors",
    "html",
    "http_error",
    "ignoring_tools",
    "no_choices",
    "no_finish_reason",
    "null_content",
    "raw_body",
    "refusing",
    "reset",
    "thinking",
]

# On first use: a module that was imported with its package cannot be run by `python -m` without a warning.
_LATER = ("ModelServer", "SpawnedServer")


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.model_server"), name)
