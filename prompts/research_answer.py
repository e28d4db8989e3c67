"""What is the answer, and which words say so? Asked by the researcher at the end."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, numbered
from agentic_memory_bank.prompts.fence import fence

INSTRUCTIONS = instructions(
    """
You answer a question from findings and from the numbered excerpts they were made of. The answer is as short as the
question allows: a name, a date, a number where that is what it asks for. It is in the language of the question.
Everything it says rests on a quote: words copied exactly from an excerpt. Where sources disagree, say so and quote
both. Where findings and excerpts do not hold the answer, say that it was not found, and give no answer and no quotes.
"""
)


class QuotedExcerpt(BaseModel):
    """Words of an excerpt."""

    excerpt: int = Field(description="Number of the excerpt.")
    words: str = Field(description="The words, copied exactly.")


class ResearchAnswer(BaseModel):
    """The answer with what it rests on."""

    is_found: bool = Field(description="Whether findings and excerpts hold an answer.")
    answer: str = Field(description="The answer; empty when there is none.")
    quotes: list[QuotedExcerpt] = Field(description="What it rests on; empty when there is no answer.")


def render(question: str, findings: Sequence[str], excerpts: Sequence[tuple[str, str]]) -> str:
    """Write the prompt.

    Args:
        question: The question, word for word.
        findings: What was found out.
        excerpts: Title, which may be empty, and text of each.
    """
    shown = [f"[{title}]\n{text}" if title else text for title, text in excerpts]
    parts = [fence("question", question), numbered("finding", findings), numbered("excerpt", shown)]
    return "\n\n".join(part for part in parts if part)
