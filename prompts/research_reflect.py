"""Is that enough, and what is missing? Asked by the researcher's `reflect`.

Short: each prompt has a module of its own.
"""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, numbered
from agentic_memory_bank.prompts.fence import fence

INSTRUCTIONS = instructions(
    """
You judge whether what was found answers a question, and if not, what to look for next in the same memory. Think of
every piece of information the question needs; a question may need one fact to ask for the next. It is enough when all
of them are among the findings. Otherwise write up to five requests, the most important first. Each names exactly one
missing piece, can be understood without the others and without the question, and uses the names that are known by now
in place of descriptions. Ask for nothing that was asked before in the same words.
"""
)


class FindingsReview(BaseModel):
    """Whether it is enough, and what is missing."""

    is_enough: bool = Field(description="Whether the findings answer the whole question.")
    requests: list[str] = Field(description="What to look for next; empty when it is enough.")


def render(question: str, findings: Sequence[str], asked: Sequence[str]) -> str:
    """Write the prompt; findings may be empty, `asked` are the requests of earlier rounds."""
    parts = [fence("question", question), numbered("finding", findings), numbered("asked", asked)]
    return "\n\n".join(part for part in parts if part)
