"""The offline engine: selects and never writes."""

from agentic_memory_bank.engines.extractive.engine import ExtractiveEngine

__all__ = ["ExtractiveEngine"]
