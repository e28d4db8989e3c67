"""What is the one memory that stands for several? Asked by `integrate`, for as many groups as fit a window."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, memory
from agentic_memory_bank.prompts.fence import escape

INSTRUCTIONS = instructions(
    """
You make one memory of each group of memories. The summary says once what they say together: all details of each,
nothing twice, nothing that none of them says. Where they differ in age and nobody was found right, the newer one is
current, and the older one is named as such.

What stands under refuted was examined and found wrong: the summary does not say it as true. What stands under
established was found true and stands in the summary with its qualifiers (which part, which time, under which
condition), also where both claims hold with different ones.

The neighbours were related to the old memories and are now related to the new one: give context and keywords anew for
those that need it, with their numbers.
"""
)


class Neighbour(BaseModel):
    """What a neighbour is about now."""

    id: int = Field(description="Number of the neighbour in its group.")
    context: str = Field(description="One sentence.")
    keywords: list[str] = Field(description="Three to eight words or names.")


class Merged(BaseModel):
    """The one memory of a group."""

    group: int = Field(description="Number of the group.")
    summary: str = Field(description="What all of them say, 200 words at most.")
    context: str = Field(description="One sentence: what it is about.")
    keywords: list[str] = Field(description="Three to eight words or names it would be looked up by.")
    description: str = Field(description="One sentence: what was put together, and why.")
    neighbours: list[Neighbour] = Field(description="Those that changed; may be empty.")


class Integrations(BaseModel):
    """One memory for each group."""

    merged: list[Merged] = Field(description="In the order of the groups.")


def render(
    memories: Sequence[Mapping[str, str]],
    neighbours: Sequence[Mapping[str, str]],
    cause: str,
    refuted: Sequence[str],
    established: Sequence[str],
) -> str:
    """Write one group.

    Args:
        memories: What each says, its full text where that fits.
        neighbours: Context and keywords of each.
        cause: `merge`, when they say the same, or `conflict`, when a contradiction between them was settled.
        refuted: Words that were found wrong.
        established: What was found true.
    """
    parts = [f"cause: {cause}", *(memory(i, fields) for i, fields in enumerate(memories, 1))]
    if neighbours:
        shown = "\n".join(memory(i, fields) for i, fields in enumerate(neighbours, 1))
        parts.append(f"<neighbours>\n{shown}\n</neighbours>")
    parts += [f"<refuted>{escape(words)}</refuted>" for words in refuted]
    parts += [f"<established>{escape(words)}</established>" for words in established]
    return "\n".join(parts)


def join(groups: Sequence[str]) -> str:
    """Write the prompt: groups that were rendered, each under its number."""
    return "\n\n".join(f'<group id="{i}">\n{group}\n</group>' for i, group in enumerate(groups, 1))
