"""Keep a memory under a name, ask it twice, and erase it: `.venv/bin/python examples/kept_memory.py`."""

import sys
from pathlib import Path

from agentic_memory_bank import clear, run

DOCUMENTS = Path(__file__).with_name("meridian_array")

first = run("What is the diameter of the mirror?", documents=[DOCUMENTS], thread="meridian")
second = run("When did the Meridian Array open?", thread="meridian")  # without documents, from memory
clear("meridian")
sys.stdout.write(f"{first['answer']}\n\n{second['answer']}\n")
