"""Test doubles for users of this package: the ones its own tests are written with."""

from agentic_memory_bank.testing.clock import TickingClock
from agentic_memory_bank.testing.scripted import ScriptedEngine

__all__ = ["ScriptedEngine", "TickingClock"]
