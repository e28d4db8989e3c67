"""Give an agent of LangChain a memory: `.venv/bin/python examples/with_create_agent.py openai:MODEL`, from the root."""

import sys

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank import MemoryBankMiddleware

FACT = "Remember this: the spare key of the dome hangs behind the portrait of Ottilie Brandt."
CHATTER = [f"Plate {n} of the survey shows {n * 3} galaxies, {n} of them without a name." for n in range(1, 60)]

memory = MemoryBankMiddleware(budget=2_000, keep_last=2)
agent = create_agent(sys.argv[1], middleware=[memory], checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "night shift"}}
for said in (FACT, *CHATTER, "Where does the spare key of the dome hang?"):
    state = agent.invoke({"messages": [("user", said)]}, thread)
entries = agent.get_state(thread).values["interaction_tree"]["entries"]
sys.stdout.write(f"{state['messages'][-1].text}\n")
sys.stdout.write(f"{len(state['messages'])} messages in the window, {len(entries)} in memory\n")
