"""Let an agent of the OpenAI Agents SDK carry out the steps of a memory bank: its work is remembered, step by step.

In the developers' environment (`make dev`), from the repository's root, with any server of the OpenAI interface:
`.venv/bin/python examples/with_openai_agents.py MODEL --base-url http://127.0.0.1:8000/v1`. The key is that of the
variable OPENAI_API_KEY. The bank itself judges offline.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents import Agent, Model, OpenAIChatCompletionsModel, Runner, Tool, function_tool, set_tracing_disabled
from langchain_core.documents import Document
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from openai import AsyncOpenAI

from agentic_memory_bank import build_memory_bank
from agentic_memory_bank.tools.search.deep_retrieval import deep_retrieval

QUESTION = "How good was the seeing on the night on which the Meridian Array opened?"
REPORT = Path(__file__).with_name("meridian_array") / "annual_report.md"
THREAD: Any = {"configurable": {"thread_id": "seeing"}}
NIGHTS = {"14 March 2016": "14 March 2016: seeing 0.6 arcseconds, wind from the west.", "15 March 2016": "Clouds."}
FAILED = "This call failed:"


def failed(_: Any, error: Exception) -> str:
    """What the model is told of a tool that failed; the mark tells the bank that there is nothing to remember."""
    return f"{FAILED} {error}"


@function_tool(failure_error_function=failed)
def night_log(date: str) -> str:
    """Read what the watch wrote down in a night.

    Args:
        date: The night, such as '3 May 2011'.
    """
    if date not in NIGHTS:
        raise ValueError(f"Nothing was written down on '{date}'.")
    return NIGHTS[date]


def reading(memory: dict[str, Any]) -> Tool:
    """Make the bank's tool that reads the raw text behind a memory one of the SDK's."""
    read = deep_retrieval(memory["query_graph"], memory["interaction_tree"])

    @function_tool(name_override=read.name, description_override=read.description, failure_error_function=failed)
    def retrieve(node_id: str) -> str:
        return read.invoke({"node_id": node_id})

    return retrieve


def transcript(agent: Agent, prompt: str) -> Iterator[dict[str, Any]]:
    """Let the agent work, and tell what it did in the messages that the bank is resumed with."""
    for item in Runner.run_sync(agent, prompt, max_turns=12).to_input_list():
        match item:
            case {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}:
                call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": _object(arguments)}}
                yield {"role": "assistant", "content": "", "tool_calls": [call]}
            case {"type": "function_call_output", "call_id": call_id, "output": output}:
                yield {"role": "tool", "tool_call_id": call_id, "content": output, "status": _status(output)}
            case {"type": "message", "role": "assistant", "content": parts}:
                yield {"role": "assistant", "content": "".join(part.get("text", "") for part in parts)}


def _object(arguments: str) -> str:
    """The arguments of a call; what is no JSON object, which a model may send, are none."""
    try:
        return arguments if isinstance(json.loads(arguments), dict) else "{}"
    except ValueError:
        return "{}"


def _status(output: str) -> str:
    return "error" if output.startswith(FAILED) else "success"


def ask(model: Model) -> dict[str, Any]:
    """Ask the bank, and carry out each step it hands out.

    Returns:
        The answer; as its sources the raw text of what it names; and all that is remembered.
    """
    bank = build_memory_bank(execute="outside", checkpointer=InMemorySaver())
    document = Document(REPORT.read_text(encoding="utf-8"), metadata={"source": REPORT.name})
    found: Any = bank.invoke({"question": QUESTION, "documents": [document]}, THREAD)
    while waiting := found.get("__interrupt__"):
        asked, memory = waiting[0].value, bank.get_state(THREAD).values
        agent = Agent("observer", tools=[night_log, reading(memory)], model=model)
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
    parser = argparse.ArgumentParser(description="A memory bank whose steps an agent of the OpenAI SDK carries out.")
    parser.add_argument("model", help="name of the agent's model")
    parser.add_argument("--base-url", help="where it is served; by default OPENAI_BASE_URL, or OpenAI itself")
    given = parser.parse_args()
    # The SDK would send a trace of every run, prompts and results of tools included, to OpenAI, wherever the model is.
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=given.base_url, api_key=os.environ.get("OPENAI_API_KEY", "none"))
    found = ask(OpenAIChatCompletionsModel(given.model, client))
    sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
