"""What do several memories of a user show together? Asked when memories are reflected on."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, memory

INSTRUCTIONS = instructions(
    """
You look at the memories that are kept of one user and write down what several of them show together: a habit, a
preference, a course of events, a change that repeats. An insight says in one sentence what no single memory says, and
can be understood alone. It rests on at least three memories, and you name the numbers of all of them. Do not explain
why somebody does something, do not guess, do not judge anybody's character or health, and do not repeat a memory. Most
memories show nothing together: an empty list is a good answer.
"""
)


class ReflectedInsight(BaseModel):
    """One insight."""

    text: str = Field(description="The insight, in one sentence.")
    subject: str = Field(default="", description="Whom or what it is about, in at most three words.")
    evidence: list[int] = Field(description="Numbers of the memories that show it.")


class Insights(BaseModel):
    """What the memories show together."""

    insights: list[ReflectedInsight] = Field(description="The insights, the best supported first; may be empty.")


def render(memories: Sequence[tuple[str, str, str]]) -> str:
    """Write the prompt.

    Args:
        memories: Text, speaker and date of each; the last two may be empty.
    """
    shown = [
        memory(number, {"text": said, "said by": who, "date": when})
        for number, (said, who, when) in enumerate(memories, 1)
    ]
    return "\n\n".join(shown)
