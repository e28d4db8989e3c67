"""Let an agent of smolagents carry out the steps of a memory bank: it is handed each step, and its work is remembered.

In the developers' environment (`make dev`), from the repository's root, with any server of the OpenAI interface:
`.venv/bin/python examples/with_smolagents.py MODEL --base-url http://127.0.0.1:8000/v1`. The key is that of the
variable OPENAI_API_KEY. The bank itself judges offline.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from smolagents import LogLevel, OpenAIModel, Tool, ToolCallingAgent, tool
from smolagents.agents import ToolOutput
from smolagents.memory import FinalAnswerStep, ToolCall

from agentic_memory_bank import build_memory_bank
from agentic_memory_bank.tools.search.deep_retrieval import deep_retrieval as reader_of

QUESTION = "How good was the seeing on the night on which the Meridian Array opened?"
REPORT = Path(__file__).with_name("meridian_array") / "annual_report.md"
THREAD: Any = {"configurable": {"thread_id": "seeing"}}
NIGHTS = {"14 March 2016": "14 March 2016: seeing 0.6 arcseconds, wind from the west.", "15 March 2016": "Clouds."}


@tool
def night_log(date: str) -> str:
    """Read what the watch wrote down in a night.

    Args:
        date: The night, such as '3 May 2011'.
    """
    if date not in NIGHTS:
        raise ValueError(f"Nothing was written down on '{date}'.")
    return NIGHTS[date]


def reading(memory: dict[str, Any]) -> Tool:
    """Make the bank's tool that reads the raw text behind a memory one of smolagents."""
    reader = reader_of(memory["query_graph"], memory["interaction_tree"])

    @tool
    def deep_retrieval(node_id: str) -> str:
        """Read the complete raw text behind a memory.

        Args:
            node_id: The id that stands in brackets before the memory.
        """
        return reader.invoke({"node_id": node_id})

    return deep_retrieval


def transcript(agent: ToolCallingAgent, prompt: str) -> Iterator[dict[str, Any]]:
    """Let the agent work, and tell what it did in the messages that the bank is resumed with.

    A call that failed stands without a result: an error is nothing to remember.
    """
    for event in agent.run(prompt, stream=True):
        match event:
            case ToolCall(name=name) if name != "final_answer":
                yield {"role": "assistant", "content": "", "tool_calls": [_call(event)]}
            case ToolOutput(is_final_answer=False):
                yield {"role": "tool", "tool_call_id": event.id, "content": event.observation}
            case FinalAnswerStep():
                yield {"role": "assistant", "content": str(event.output)}


def _call(made: ToolCall) -> dict[str, Any]:
    """A call as the bank reads it; arguments that are no object, which a model may send, are no arguments."""
    arguments = made.arguments if isinstance(made.arguments, dict) else {}
    return {"id": made.id, "type": "function", "function": {"name": made.name, "arguments": json.dumps(arguments)}}


def ask(model: OpenAIModel) -> dict[str, Any]:
    """Ask the bank, and carry out each step it hands out.

    Returns:
        The answer; as its sources the raw text of what it names; and all that is remembered.
    """
    bank = build_memory_bank(execute="outside", checkpointer=InMemorySaver())
    document = Document(REPORT.read_text(encoding="utf-8"), metadata={"source": REPORT.name})
    found: Any = bank.invoke({"question": QUESTION, "documents": [document]}, THREAD)
    while waiting := found.get("__interrupt__"):
        asked, memory = waiting[0].value, bank.get_state(THREAD).values
        agent = ToolCallingAgent([night_log, reading(memory)], model, max_steps=12, verbosity_level=LogLevel.OFF)
        # Anything but a step is a limit that was reached: then the bank ends with what it has.
        done = list(transcript(agent, asked["prompt"])) if asked["reason"] == "execute" else "finish"
        found = bank.invoke(Command(resume=done), THREAD)
    entries = bank.get_state(THREAD).values["interaction_tree"]["entries"].values()
    remembered = [{name: entry[name] for name in ("kind", "source", "text", "tool_calls")} for entry in entries]
    named = [entry for entry in remembered if entry["source"] in found["answer"]]
    sources = [entry for entry in named if entry["kind"] != "trajectory"]
    return {"answer": found["answer"], "sources": sources, "remembered": remembered}


def main() -> None:
    """Read the command line, and print what came of the question."""
    parser = argparse.ArgumentParser(description="A memory bank whose steps an agent of smolagents carries out.")
    parser.add_argument("model", help="name of the agent's model")
    parser.add_argument("--base-url", help="where it is served; by default OPENAI_BASE_URL, or OpenAI itself")
    given = parser.parse_args()
    key = os.environ.get("OPENAI_API_KEY", "none")
    found = ask(OpenAIModel(given.model, api_base=given.base_url, api_key=key))
    sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
