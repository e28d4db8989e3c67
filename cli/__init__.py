"""The command line, `memory-bank`: one module a group of commands. Short: `app` holds them together."""

from agentic_memory_bank.cli.app import main

__all__ = ["main"]
