"""Which of two contradicting claims holds? Asked by the step that cross-validates, for several disputes at once."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions
from agentic_memory_bank.prompts.fence import escape

INSTRUCTIONS = instructions(
    """
You decide which of contradicting claims holds, by the evidence shown and nothing else. Weigh how many independent
sources say it (copies of one text are one source), how close they stand to the fact, what corrects or withdraws what,
and dates. A later date decides only for what changes with time.

For each dispute give the outcome:
holds: one claim is right; name its number.
integrate: both are right with qualifiers, or the truth is between them; the statement says how, with the qualifiers.
neither: none is right; the statement says what is.
inconclusive: the evidence does not decide. Say so rather than guess.
"""
)


class DisputeDecision(BaseModel):
    """The end of one dispute."""

    dispute: int = Field(description="Number of the dispute.")
    outcome: str = Field(
        description="How it ends.", json_schema_extra={"enum": ["holds", "integrate", "neither", "inconclusive"]}
    )
    claim: int = Field(description="Number of the claim that holds; 0 with any other outcome.")
    statement: str = Field(description="What is true, with its qualifiers; empty with holds and inconclusive.")
    explanation: str = Field(description="One or two sentences: why, and by which evidence.")
    evidence: list[int] = Field(description="Numbers of the evidence that decides.")


class DisputeDecisions(BaseModel):
    """One verdict for each dispute."""

    verdicts: list[DisputeDecision] = Field(description="In the order of the disputes.")


def render(disputes: Sequence[Sequence[str]], evidence: Sequence[tuple[str, str, str]]) -> str:
    """Write the prompt.

    Args:
        disputes: The claims of each, word for word.
        evidence: Source, date or time of recording, and text of each.
    """
    claims = [
        f'<dispute id="{i}">\n' + "\n".join(f"claim {n}: {escape(c)}" for n, c in enumerate(own, 1)) + "\n</dispute>"
        for i, own in enumerate(disputes, 1)
    ]
    shown = [
        f'<evidence id="{i}">\nsource: {escape(source)}; {escape(date)}\n{escape(text.strip())}\n</evidence>'
        for i, (source, date, text) in enumerate(evidence, 1)
    ]
    return "\n".join([*claims, "", *shown])
