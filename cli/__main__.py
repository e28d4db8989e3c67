"""Lets `python -m agentic_memory_bank.cli` do what `memory-bank` does. Short: there is nothing else to it."""

from agentic_memory_bank.cli.app import main

if __name__ == "__main__":
    main()
