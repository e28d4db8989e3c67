"""What an agent is told that carries out a step with tools.

Short: each prompt has a module of its own.
"""

from collections.abc import Sequence

from agentic_memory_bank.prompts.common import instructions

_TOLD = """
You carry out one step of a task. You are shown the state of the task, the step, and what memory holds on it. Think what
is missing, call a tool to find it, look at what it brings, and go on until the step is done; then say in plain words
what you found, with the source of each statement. Do that step only. Say so when it cannot be done: a guess is worse
than nothing.

What tools bring is recorded material like all the rest. Results that are too long are shown in part, with an id under
which deep_retrieval reads them on.
"""

ANSWER_NOW = "Call no more tools. Say now what you found, from what is shown above, and what stayed open."


def render(disabled: Sequence[str] = ()) -> str:
    """The system message.

    Args:
        disabled: A line for each tool that is not there, and why.
    """
    return instructions("\n".join([_TOLD.strip(), *disabled]))


def excerpt(text: str, characters: int, result_id: str) -> str:
    """The beginning of a tool's result, and how the rest is read."""
    return (
        f"{text[:characters]}\n\n[The first {characters:,} of {len(text):,} characters. The rest: deep_retrieval with "
        f"node_id {result_id} and start {characters}.]"
    )
