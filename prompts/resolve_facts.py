"""What becomes of new memories beside those they are most like? Asked by `remember` before it stores."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, memory
from agentic_memory_bank.prompts.fence import fence

INSTRUCTIONS = instructions(
    """
You keep the memories of one user free of repetition and up to date. Compare the new memory with each known one and say:
- same: the known one says all of it already;
- revise: both say the same, the new one says it better or more exactly;
- supersede: both state the same attribute of the same subject, and its value has changed in between (somebody moved,
  a budget was raised), or the user corrects what they said;
- contradicts: different speakers say what cannot both be true, and nothing tells which holds;
- unrelated: anything else. Other people, other things, other times and other conditions are unrelated, and so are
  things of which one may have several: two pets, two trips, two dishes somebody likes.
In doubt say unrelated: what is kept twice can be united later, what is replaced by mistake misleads.

There are several new memories; each stands above the known ones that it is compared with, and with no others.
"""
)


class FactDecision(BaseModel):
    """One known memory beside one of the new ones."""

    new: int = Field(description="Number of the new memory.")
    id: int = Field(description="Number of the known memory among those below this new one.")
    verdict: Literal["same", "revise", "supersede", "contradicts", "unrelated"] = Field(description="How they relate.")
    new_value: str = Field(default="", description="For supersede and contradicts: the value in the new memory.")
    known_value: str = Field(default="", description="For supersede and contradicts: the value in the known one.")
    reason: str = Field(default="", description="Why, in one sentence.")


class FactDecisions(BaseModel):
    """How the new memories relate to the known ones."""

    verdicts: list[FactDecision] = Field(description="One for each pair that is not unrelated.")


def render(pairs: Sequence[tuple[str, str, str, Sequence[tuple[str, str, str]]]]) -> str:
    """Write the prompt.

    Args:
        pairs: Each new memory with its speaker and date (both may be empty), and the same of each known one.
    """
    return "\n\n".join(f"New memory {number}:\n{_pair(*pair)}" for number, pair in enumerate(pairs, 1))


def _pair(text: str, speaker: str, date: str, known: Sequence[tuple[str, str, str]]) -> str:
    shown = [
        memory(number, {"text": said, "said by": who, "date": when})
        for number, (said, who, when) in enumerate(known, 1)
    ]
    return "\n\n".join((fence("text", text, speaker=speaker, date=date), *shown))
