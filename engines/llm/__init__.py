"""The engine that asks chat models: few calls, none paid twice, and no answer taken that breaks its contract."""

from agentic_memory_bank.engines.llm.bank import ChatBankEngine
from agentic_memory_bank.engines.llm.models import ChatModels

__all__ = ["ChatBankEngine", "ChatModels"]
