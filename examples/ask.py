"""Ask over documents that disagree: `.venv/bin/python examples/ask.py`, from the repository's root."""

import sys
from pathlib import Path

from agentic_memory_bank import run

QUESTION = "When did the Meridian Array open, and what is the diameter of its mirror?"

found = run(QUESTION, documents=[Path(__file__).with_name("meridian_array")])
lines = [found["answer"], ""]
lines += [f"“{source['quote']}” ({Path(source['source']).name})" for source in found["sources"]]
for conflict in found["conflicts"]:
    lines += ["", f"{conflict['kind']}: {conflict['reason']}", f"{conflict['outcome']}: {conflict['explanation']}"]
sys.stdout.write("\n".join(lines) + "\n")
