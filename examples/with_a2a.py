"""Ask a running `langgraph dev` over A2A, with `a2a-sdk`: `.venv/bin/python examples/with_a2a.py [URL]`."""

import asyncio
import sys

from a2a.client import ClientConfig, create_client
from a2a.helpers import get_stream_response_text, new_data_part, new_message, new_text_part
from a2a.types import Role, SendMessageRequest

PARTS = [new_text_part("How wide is the mirror?"), new_data_part({"documents": ["The mirror is 8.2 metres wide."]})]


async def main(url: str = "http://127.0.0.1:2024") -> None:
    """Ask the agent whose card is there."""
    async with await create_client(url, ClientConfig(streaming=False)) as client:
        async for event in client.send_message(SendMessageRequest(message=new_message(PARTS, role=Role.ROLE_USER))):
            sys.stdout.write(get_stream_response_text(event) + "\n")


asyncio.run(main(*sys.argv[1:]))
