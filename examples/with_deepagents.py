"""Give a deep agent a memory of its user as files: `.venv/bin/python examples/with_deepagents.py openai:MODEL`."""

import sys

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from langchain.chat_models import init_chat_model

from agentic_memory_bank import Memories
from agentic_memory_bank.runs.deep_agents import INSTRUCTIONS, MemoryBackend

with Memories() as memories:
    memories.remember("My sister Anna plays the cello.", user="ana", conversation_id="monday", end=True)
    files = CompositeBackend(StateBackend(), {"/memories/": MemoryBackend(memories, user="ana")})
    model = init_chat_model(sys.argv[1])
    agent = create_deep_agent(model, backend=files, memory=["/memories/me.md"], system_prompt=INSTRUCTIONS)
    for message in agent.invoke({"messages": ["Which instrument does my sister play?"]})["messages"]:
        sys.stdout.write(f"{message.type}: {message.text}\n")
