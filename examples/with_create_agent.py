"""Give an agent of your own a memory: `create_agent` with `MemoryBankMiddleware`, over sixty turns in a small window.

From the repository's root: `.venv/bin/python examples/with_create_agent.py`; with a model of your own:
`.venv/bin/python examples/with_create_agent.py openai:NAME`. Without one a stand-in quotes what it is shown.
"""

import re
import sys
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank import MemoryBankMiddleware

FACT = "Remember this: the spare key of the dome hangs behind the portrait of Ottilie Brandt."
QUESTION = "Where does the spare key of the dome hang?"


class StandIn(BaseChatModel):
    """Says what memory quotes word for word, and nothing when it is shown no memory."""

    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def bind_tools(self, tools: Any, **options: Any) -> "StandIn":
        """Calls none."""
        return self

    def _generate(self, messages: list[BaseMessage], *given: Any, **options: Any) -> ChatResult:
        shown = "\n".join(message.text for message in messages if "<memory>" in message.text)
        quotes = re.findall(r"^verbatim \(user.*?\): (.*)$", shown, re.MULTILINE)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("\n".join(quotes) or "I see."))])


def main() -> None:
    """Tell a fact, talk of other things until it has left the window, and ask for it."""
    agent = create_agent(
        init_chat_model(sys.argv[1]) if len(sys.argv) > 1 else StandIn(),
        middleware=[MemoryBankMiddleware(budget=2_000, keep_last=2)],
        checkpointer=InMemorySaver(),
    )
    thread: Any = {"configurable": {"thread_id": "night shift"}}
    chatter = [f"Plate {n} of the survey shows {n * 3} galaxies, {n} of them without a name." for n in range(1, 60)]
    for said in (FACT, *chatter, QUESTION):
        state = agent.invoke({"messages": [HumanMessage(said)]}, thread)
    tree = agent.get_state(thread).values["interaction_tree"]
    sys.stdout.write(f"{state['messages'][-1].text}\n\n")
    sys.stdout.write(f"{len(state['messages'])} messages in the window, {len(tree['entries'])} in memory\n")


if __name__ == "__main__":
    main()
