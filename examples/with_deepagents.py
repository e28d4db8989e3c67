"""Give a deep agent a memory of its user as files: `.venv/bin/python examples/with_deepagents.py`, from the root."""

import sys
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from agentic_memory_bank import Memories
from agentic_memory_bank.runs.deep_agents import INSTRUCTIONS, MemoryBackend


class StandIn(GenericFakeChatModel):
    """Greps memory once; put a chat model of your own in its place."""

    def bind_tools(self, tools: Any, **options: Any) -> "StandIn":
        """Takes the tools as they are."""
        return self


with Memories() as memories:
    memories.remember("My sister Anna plays the cello.", user="ana", conversation_id="monday", end=True)
    files = CompositeBackend(StateBackend(), {"/memories/": MemoryBackend(memories, user="ana")})
    asked = {"pattern": "Which instrument does my sister play?", "output_mode": "content"}
    search = {"name": "grep", "args": asked, "id": "1"}
    model = StandIn(messages=iter([AIMessage("", tool_calls=[search]), AIMessage("The cello.")]))
    agent = create_deep_agent(model, backend=files, memory=["/memories/me.md"], system_prompt=INSTRUCTIONS)
    for message in agent.invoke({"messages": ["What does Anna play?"]})["messages"]:
        sys.stdout.write(f"{message.type}: {message.text}\n")
