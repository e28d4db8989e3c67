"""Keep notes in a LangGraph store and find one by meaning: `.venv/bin/python examples/with_store.py`, from the root."""

import sys
import tempfile
from pathlib import Path

from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.models import default_embeddings
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

with tempfile.TemporaryDirectory() as folder:
    index = {"embed": default_embeddings(Settings()), "dims": 384, "fields": ["text"]}
    store = SqliteRecordStore(Path(folder) / "notes.sqlite", index=index, ttl={"default_ttl": 24 * 60})
    store.put(("ana", "notes"), "dome", {"text": "The dome was painted white.", "year": 2011})
    store.put(("ana", "notes"), "key", {"text": "The spare key hangs behind the portrait.", "year": 2016})
    for found in store.search(("ana",), query="Which colour does the roof have?", filter={"year": {"$lt": 2015}}):
        sys.stdout.write(f"{found.value['text']} {found.score:.2f}\n")
    store.close()
