"""Let an agent of smolagents carry out the steps: `.venv/bin/python examples/with_smolagents.py MODEL`."""

import sys

from smolagents import LogLevel, OpenAIModel, Tool, ToolCallingAgent, tool

from agentic_memory_bank import run


@tool
def night_log(date: str) -> str:
    """Read what the watch wrote down in a night.

    Args:
        date: The night, such as '3 May 2011'.
    """
    return {"14 March 2016": "14 March 2016: seeing 0.6 arcseconds, wind from the west."}[date]


def work(step):
    """Carry out a step; what the agent did is remembered, call by call."""
    tools = [night_log, *map(Tool.from_langchain, step.tools)]
    agent = ToolCallingAgent(tools, OpenAIModel(sys.argv[1]), verbosity_level=LogLevel.OFF)
    return list(agent.run(step.prompt, stream=True))


question = "How good was the seeing on the night on which the Meridian Array opened?"
found = run(question, documents=["examples/meridian_array/annual_report.md"], execute=work, thread="seeing")
sys.stdout.write("\n".join([found["answer"], *(f"{one['source']}: {one['quote']}" for one in found["sources"])]) + "\n")
