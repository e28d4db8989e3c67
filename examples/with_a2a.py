"""Ask a running `langgraph dev` over A2A, with `a2a-sdk`: `.venv/bin/python examples/with_a2a.py [URL]`."""

import asyncio
import sys

from a2a.client import ClientConfig, create_client
from a2a.helpers import get_stream_response_text, new_data_part, new_message, new_text_part
from a2a.types import Role, SendMessageRequest
from langgraph_sdk import get_sync_client

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:2024"
PARTS = [new_text_part("How wide is the mirror?"), new_data_part({"documents": ["The mirror is 8.2 metres wide."]})]


async def main(card: str) -> None:
    """Send a message to the agent of a card."""
    async with await create_client(URL, ClientConfig(streaming=False), relative_card_path=card) as client:
        async for event in client.send_message(SendMessageRequest(message=new_message(PARTS, role=Role.ROLE_USER))):
            sys.stdout.write(get_stream_response_text(event) + "\n")


bank = get_sync_client(url=URL).assistants.search(graph_id="memory_bank")[0]["assistant_id"]
asyncio.run(main(f"/.well-known/agent-card.json?assistant_id={bank}"))
