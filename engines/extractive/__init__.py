"""The offline engine: selects and never writes. The modules beside this file are for others, those in its rooms not."""

from agentic_memory_bank.engines.extractive.comparing.comparison import differ
from agentic_memory_bank.engines.extractive.comparing.documents import contradictions
from agentic_memory_bank.engines.extractive.engine import ExtractiveEngine

__all__ = ["ExtractiveEngine", "contradictions", "differ"]
