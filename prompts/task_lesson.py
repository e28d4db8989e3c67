"""What does a task teach? Asked once an agent has carried one out.

Short: each prompt has a module of its own.
"""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions
from agentic_memory_bank.prompts.fence import fence

INSTRUCTIONS = instructions(
    """
You keep what an agent learns from its tasks. You are shown the goal of one, its steps and its outcome. Write down the
lesson for whoever has a similar goal: what failed and with what arguments, what worked instead, which way to take at
once. Say nothing that the steps do not show. No credential is written down, nor anything about a person that the task
itself does not need.
"""
)


class Lesson(BaseModel):
    """What a task teaches."""

    lesson: str = Field(description="In one to three sentences; empty where it teaches nothing.")


def render(goal: str, steps: Sequence[str], outcome: str) -> str:
    """Write the prompt."""
    return "\n\n".join((fence("task", goal), fence("tool_response", "\n".join(steps)), fence("answer", outcome)))
