"""Memory for agents on LangGraph: the public surface, loaded on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_memory_bank.engines.base import Engine
    from agentic_memory_bank.graph.conversation import build_conversation
    from agentic_memory_bank.graph.conversation import graph as conversation
    from agentic_memory_bank.graph.four_tier import FourTierMemory
    from agentic_memory_bank.graph.memorizer import build_memorizer
    from agentic_memory_bank.graph.memorizer import graph as memorizer
    from agentic_memory_bank.graph.memory_bank import build_memory_bank
    from agentic_memory_bank.graph.memory_bank import graph as memory_bank
    from agentic_memory_bank.graph.middleware import MemoryBankMiddleware
    from agentic_memory_bank.graph.react_mem import build_react_mem
    from agentic_memory_bank.graph.react_mem import graph as react_mem
    from agentic_memory_bank.graph.recall import build_recall
    from agentic_memory_bank.graph.recall import graph as recall
    from agentic_memory_bank.graph.remember import build_remember
    from agentic_memory_bank.graph.remember import graph as remember
    from agentic_memory_bank.graph.researcher import build_researcher
    from agentic_memory_bank.graph.researcher import graph as researcher
    from agentic_memory_bank.runs import arun, clear, resume, run
    from agentic_memory_bank.runs.async_memories import AsyncMemories
    from agentic_memory_bank.runs.chat_history import MemoryChatHistory
    from agentic_memory_bank.runs.memories import Memories
    from agentic_memory_bank.runs.retrievers import BankRetriever, MemoryRetriever, PageRetriever
    from agentic_memory_bank.runs.viewer.shown import view
    from agentic_memory_bank.state.errors import MemoryBankError
    from agentic_memory_bank.state.settings import Settings

__all__ = [
    "AsyncMemories",
    "BankRetriever",
    "Engine",
    "FourTierMemory",
    "Memories",
    "MemoryBankError",
    "MemoryBankMiddleware",
    "MemoryChatHistory",
    "MemoryRetriever",
    "PageRetriever",
    "Settings",
    "arun",
    "build_conversation",
    "build_memorizer",
    "build_memory_bank",
    "build_react_mem",
    "build_recall",
    "build_remember",
    "build_researcher",
    "clear",
    "conversation",
    "memorizer",
    "memory_bank",
    "react_mem",
    "recall",
    "remember",
    "researcher",
    "resume",
    "run",
    "view",
]

_HOMES = {
    "AsyncMemories": ("runs.async_memories", "AsyncMemories"),
    "BankRetriever": ("runs.retrievers", "BankRetriever"),
    "Engine": ("engines.base", "Engine"),
    "FourTierMemory": ("graph.four_tier", "FourTierMemory"),
    "Memories": ("runs.memories", "Memories"),
    "MemoryBankError": ("state.errors", "MemoryBankError"),
    "MemoryBankMiddleware": ("graph.middleware", "MemoryBankMiddleware"),
    "MemoryChatHistory": ("runs.chat_history", "MemoryChatHistory"),
    "MemoryRetriever": ("runs.retrievers", "MemoryRetriever"),
    "PageRetriever": ("runs.retrievers", "PageRetriever"),
    "Settings": ("state.settings", "Settings"),
    "arun": ("runs", "arun"),
    "build_conversation": ("graph.conversation", "build_conversation"),
    "build_memorizer": ("graph.memorizer", "build_memorizer"),
    "build_memory_bank": ("graph.memory_bank", "build_memory_bank"),
    "build_react_mem": ("graph.react_mem", "build_react_mem"),
    "build_recall": ("graph.recall", "build_recall"),
    "build_remember": ("graph.remember", "build_remember"),
    "build_researcher": ("graph.researcher", "build_researcher"),
    "clear": ("runs", "clear"),
    "conversation": ("graph.conversation", "graph"),
    "memorizer": ("graph.memorizer", "graph"),
    "memory_bank": ("graph.memory_bank", "graph"),
    "react_mem": ("graph.react_mem", "graph"),
    "recall": ("graph.recall", "graph"),
    "remember": ("graph.remember", "graph"),
    "researcher": ("graph.researcher", "graph"),
    "resume": ("runs", "resume"),
    "run": ("runs", "run"),
    "view": ("runs.viewer.shown", "view"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentic_memory_bank.tools.concurrency.garbage import uncollected

    module, attribute = _HOMES[name]
    # What modules make stays: to look through all of it again and again takes a tenth of the import.
    with uncollected():
        value = getattr(import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
