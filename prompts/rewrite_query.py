"""What should be searched for this message? Asked by `recall` before it searches."""

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions
from agentic_memory_bank.prompts.fence import fence

LAST_TURNS: Final = 5
"""How many turns of the conversation are shown."""

INSTRUCTIONS = instructions(
    """
You write the query with which a user's memories of earlier conversations are searched. Say what the message is about in
at most 50 words that can be understood without the conversation: names in place of "it", "that one" and "she", dates
and numbers as they stand. Where the message is understood alone, repeat it. Do not answer it, and add nothing that
neither the message nor the conversation says.
"""
)
WITH_PASSAGE = instructions(
    """
You write the query with which a user's memories of earlier conversations are searched. Say what the message is about in
at most 50 words that can be understood without the conversation: names in place of "it", "that one" and "she", dates
and numbers as they stand. Where the message is understood alone, repeat it. Then write one sentence as a memory with
the answer might say it. It only helps to find such memories: leave out names and numbers that you do not know.
"""
)


class Rewritten(BaseModel):
    """The query."""

    query: str = Field(description="The message as it can be understood alone.")
    passage: str = Field(default="", description="A sentence a memory with the answer might say, if asked for.")


def render(message: str, turns: Sequence[tuple[str, str]]) -> str:
    """Write the prompt.

    Args:
        message: What the user has just said.
        turns: Who said what before it, oldest first; the last few are shown.
    """
    shown = [fence("text", said, speaker=speaker) for speaker, said in turns[-LAST_TURNS:]]
    return "\n\n".join((*shown, fence("request", message)))
