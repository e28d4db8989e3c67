"""The engine that asks chat models: few calls, none paid twice, and no answer taken that breaks its contract."""

from agentic_memory_bank.engines.llm.engine import ChatEngine
from agentic_memory_bank.engines.llm.models import ChatModels

__all__ = ["ChatEngine", "ChatModels"]
