"""What does each topic say, in few words? Asked by `structure`."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions
from agentic_memory_bank.prompts.fence import escape

INSTRUCTIONS = instructions(
    """
You turn the topics of a text into memories. Each is read later in place of the text, so its summary keeps what can be
asked
for: who, what, when, how much, under which condition, and on whose word. Keep every figure, date, name and identifier
of weight exactly; leave out phrasing, repetition and asides; add nothing that is not there. A summary has a third of
the length of its topic, and 120 words at most. Where a topic contradicts itself, the summary says both.
"""
)


class StructuredMemory(BaseModel):
    """One topic as a memory."""

    id: int = Field(description="Number of the topic.")
    summary: str = Field(description="What the topic says.")
    context: str = Field(description="One sentence: what it is about and where it belongs.")
    keywords: list[str] = Field(description="Three to eight words or names it would be looked up by.")


class StructuredMemories(BaseModel):
    """A memory for each topic."""

    memories: list[StructuredMemory] = Field(description="One for each topic, in their order.")


def render(topics: Sequence[tuple[str, str, Sequence[str]]]) -> str:
    """Write the prompt.

    Args:
        topics: Text, context and keywords of each; the latter two are hints and may be empty.
    """
    return "\n\n".join(_topic(i, *topic) for i, topic in enumerate(topics, 1))


def _topic(number: int, text: str, context: str, keywords: Sequence[str]) -> str:
    hints = [f"about: {escape(context)}"] if context else []
    hints += [f"keywords: {escape(', '.join(keywords))}"] if keywords else []
    return "\n".join([f'<topic id="{number}">', *hints, escape(text.strip()), "</topic>"])
