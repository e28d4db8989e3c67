"""Let the OpenAI Agents SDK carry out the steps: `.venv/bin/python examples/with_openai_agents.py MODEL`."""

import sys

from agents import Agent, Runner, function_tool, set_default_openai_api, set_tracing_disabled

from agentic_memory_bank import run


@function_tool
def night_log(date: str) -> str:
    """Read what the watch wrote down in a night, such as that of '3 May 2011'."""
    return {"14 March 2016": "14 March 2016: seeing 0.6 arcseconds, wind from the west."}[date]


def work(step):
    """Carry out a step; what the agent did is remembered, call by call."""
    own = [function_tool(one.func, name_override=one.name, description_override=one.description) for one in step.tools]
    return Runner.run_sync(Agent("observer", tools=[night_log, *own], model=sys.argv[1]), step.prompt).to_input_list()


set_default_openai_api("chat_completions")  # as servers of other models speak it
set_tracing_disabled(True)  # a trace holds prompts and results, and would go to OpenAI
question = "How good was the seeing on the night on which the Meridian Array opened?"
found = run(question, documents=["examples/meridian_array/annual_report.md"], execute=work, thread="seeing")
sys.stdout.write("\n".join([found["answer"], *(f"{one['source']}: {one['quote']}" for one in found["sources"])]) + "\n")
