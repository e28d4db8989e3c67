"""Where does this conversation stand? Asked when its history is compressed.

Short: each prompt has a module of its own.
"""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions
from agentic_memory_bank.prompts.fence import fence

INSTRUCTIONS = instructions(
    """
You write down where a conversation stands, in place of its history. Keep what later turns need: what it is about now,
facts with their last values, decisions, and what is open: questions without an answer, and what is still to be done.
What was corrected is left out, and so are greetings, thanks and how an answer was reached. Names and numbers are kept
exactly; no credential is written down. Everything together takes no more words than you are given.
"""
)


class State(BaseModel):
    """Where a conversation stands."""

    topic: str = Field(description="What it is about now, in a few words.")
    facts: list[str] = Field(description="Facts with their last values, the most important first.")
    decisions: list[str] = Field(description="What was decided; may be empty.")
    open: list[str] = Field(description="What is open; may be empty.")


def render(turns: Sequence[tuple[str, str]], words: int) -> str:
    """Write the prompt.

    Args:
        turns: Who said what, oldest first.
        words: How many the answer may take.
    """
    shown = [fence("text", said, speaker=speaker) for speaker, said in turns]
    return "\n\n".join((*shown, fence("request", f"Write at most {words} words.")))
