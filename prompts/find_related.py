"""Which memories belong together? Asked by `analyze_related` for all pairs of a window at once."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, memory

INSTRUCTIONS = instructions(
    """
You draw the edges of a memory graph. Each line under pairs names a new memory and those it may be related to. Two
memories are related when a question about one is answered better by reading the other too: a shared subject, cause
and effect, a part and its whole, a step and the next. A shared word alone is not enough.

For each related pair give context and keywords anew for those of the two that the relation says something new about:
the sentence of context still says what the memory itself is about, now with its place beside the other. Leave context
empty and keywords empty where nothing changes.
"""
)


class RelatedPair(BaseModel):
    """Two memories that belong together."""

    new: int = Field(description="Number of the new memory.")
    other: int = Field(description="Number of the related memory.")
    new_context: str = Field(description="New context of the new memory, or empty.")
    new_keywords: list[str] = Field(description="New keywords of the new memory, or empty.")
    other_context: str = Field(description="New context of the other memory, or empty.")
    other_keywords: list[str] = Field(description="New keywords of the other memory, or empty.")


class RelatedPairs(BaseModel):
    """The related pairs."""

    related: list[RelatedPair] = Field(description="Empty when no pair is related.")


def render(memories: Mapping[int, Mapping[str, str]], pairs: Sequence[tuple[int, Sequence[int]]]) -> str:
    """Write the prompt; each memory is shown once, however many pairs it is in."""
    shown = "\n".join(memory(number, fields) for number, fields in memories.items())
    asked = "\n".join(f"{new}: {', '.join(map(str, others))}" for new, others in pairs)
    return f"{shown}\n\n<pairs>\n{asked}\n</pairs>"
