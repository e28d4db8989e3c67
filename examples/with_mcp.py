"""Speak with `memory-bank mcp` as a client: `.venv/bin/python examples/with_mcp.py`, from the repository's root."""

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters

SERVER = ["-m", "agentic_memory_bank.cli", "mcp", "--user", "ana"]


async def main() -> None:
    """Tell the server something, and ask for it."""
    async with Client(StdioServerParameters(command=sys.executable, args=SERVER, env=dict(os.environ))) as client:
        await client.call_tool("remember", {"text": "I moved to Lisbon last month."})
        found = await client.call_tool("recall", {"query": "Where do I live?"})
        sys.stdout.write(f"{found.structured_content}\n")


asyncio.run(main())
