"""What do these excerpts say on the question? Asked by the researcher's `integrate`."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, numbered
from agentic_memory_bank.prompts.fence import fence

INSTRUCTIONS = instructions(
    """
You collect evidence on a question from numbered excerpts of a memory. Write down each fact that helps to answer it as
a finding of one or two sentences that can be understood alone, with names, dates and numbers as they stand, and with
the numbers of the excerpts that say it. Facts only, no answer, and nothing that no excerpt says. Of what is known
already, say nothing again; name the findings that the excerpts show to be wrong or beside the point. Where sources
disagree, write down both. At the end say whether all findings together answer the whole question. Where they do not,
name what is missing, up to five pieces, the most important first: each as a request that can be understood alone, with
the names known by now in place of descriptions, and with what to search for it.
"""
)


class GatheredFact(BaseModel):
    """One finding."""

    text: str = Field(description="The fact, in one or two sentences.")
    excerpts: list[int] = Field(description="Numbers of the excerpts that say it.")


class Missing(BaseModel):
    """One piece of information that is missing."""

    request: str = Field(description="What to find out, understood alone.")
    keywords: list[str] = Field(default_factory=list, description="Words or names that a page with it holds.")
    queries: list[str] = Field(default_factory=list, description="Sentences such a page might say.")
    excerpts: list[int] = Field(
        default_factory=list, description="Numbers of excerpts of whose page the rest should be read for it."
    )


class GatheredFacts(BaseModel):
    """What the excerpts say on the question."""

    findings: list[GatheredFact] = Field(
        description="New findings; empty when the excerpts hold nothing on the question."
    )
    wrong: list[int] = Field(description="Numbers of earlier findings to drop; mostly empty.")
    is_enough: bool = Field(description="Whether all findings together answer the whole question.")
    missing: list[Missing] = Field(default_factory=list, description="What is missing; empty when it is enough.")


def render(question: str, requests: Sequence[str], findings: Sequence[str], excerpts: Sequence[tuple[str, str]]) -> str:
    """Write the prompt.

    Args:
        question: What is to be found out in the end.
        requests: What the excerpts were searched for, where that is something else.
        findings: What is known; may be empty.
        excerpts: Title, which may be empty, and text of each.
    """
    shown = [f"[{title}]\n{text}" if title else text for title, text in excerpts]
    parts = [fence("question", question), numbered("request", [r for r in requests if r != question])]
    parts += [numbered("finding", findings), numbered("excerpt", shown)]
    return "\n\n".join(part for part in parts if part)
