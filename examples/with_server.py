"""Ask a running `langgraph dev`, and fork with another question: `.venv/bin/python examples/with_server.py [URL]`."""

import sys

from langgraph_sdk import get_sync_client

SAID = ["The mirror is 8.2 metres wide.", "The canteen serves fish soup on Fridays."]

client = get_sync_client(url=sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:2024")
thread = client.threads.create()["thread_id"]
first = client.runs.wait(thread, "memory_bank", input={"question": "How wide is the mirror?", "documents": SAID})
before = next(state for state in client.threads.get_history(thread, limit=100) if "plan" in state["next"])
asked = {"question": "What does the canteen serve?"}
client.threads.update_state(thread, asked, checkpoint_id=before["checkpoint"]["checkpoint_id"])
second = client.runs.wait(thread, "memory_bank", input=None)
sys.stdout.write(f"{first['answer']}\n{second['answer']}\n")
client.threads.delete(thread)
