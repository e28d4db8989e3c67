"""What is the answer, and which words say so? Asked by the step that answers from memory."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, numbered
from agentic_memory_bank.prompts.fence import escape, fence

INSTRUCTIONS = instructions(
    """
You answer a question from numbered passages and from nothing else. The answer is as short as the question allows, in
the language of the question. Every statement rests on a quote: words copied exactly from a passage, long enough to be
understood. Where passages disagree, say so and quote both. What is marked as established was found out when sources
that disagree were checked: it holds before what a passage says, and the quotes are those that come closest to it. Where
the passages do not hold the answer, say that it was not found, and give no answer and no quotes.
"""
)


class QuotedPassage(BaseModel):
    """Words of a passage."""

    passage: int = Field(description="Number of the passage.")
    words: str = Field(description="The words, copied exactly.")


class AnswerFromMemory(BaseModel):
    """The answer with what it rests on."""

    is_found: bool = Field(description="Whether the passages hold an answer.")
    answer: str = Field(description="The answer; empty when there is none.")
    quotes: list[QuotedPassage] = Field(description="What it rests on; empty when there is no answer.")


def render(question: str, passages: Sequence[str], refuted: Sequence[str] = (), established: Sequence[str] = ()) -> str:
    """Write the prompt; what a validation found wrong is named, so that it is not used, and what it found true."""
    shown = numbered("passage", passages)
    wrong = "\n".join(f"<refuted>{escape(words)}</refuted>" for words in refuted)
    true = "\n".join(f"<established>{escape(words)}</established>" for words in established)
    return "\n\n".join(part for part in (fence("question", question), shown, wrong, true) if part)
