"""Bring memories along from mem0: `.venv/bin/python examples/from_mem0.py`, from the repository's root."""

import json
import sys

from agentic_memory_bank import Memories

EXPORTED = json.dumps(
    {"results": [{"id": "1", "memory": "Prefers window seats on trains.", "created_at": "2024-03-05T10:00:00Z"}]}
)

with Memories() as memories:
    report = memories.import_from("mem0", EXPORTED, user="ana")
    sys.stdout.write(f"{len(report['stored'])} new, {report['known']} known\n")
    for found in memories.search("Which seats does she like?", user="ana", limit=1):
        sys.stdout.write(f"{found.record['created_at'][:10]} {found.record['text']}\n")
