"""Do memories contradict each other, or say the same? Asked by `analyze_conflict` for all pairs of a window at once."""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, memory
from agentic_memory_bank.prompts.fence import escape

INSTRUCTIONS = instructions(
    """
You keep the memory of a task free of contradictions and of repetitions. Each line under pairs names a new memory and
those it is to be compared with. For each pair decide:

conflict: both make a claim about the same attribute of the same subject at the same time, and not both claims can be
true. Another subject, another time, another level of detail, a part against a whole, a forecast against an outcome is
no conflict.
merge: both say the same, or one says all that the other says, and nothing in them disagrees.
neither: everything else. Being about the same subject is not enough for a merge.

Of a long memory you are shown the summary, and under words what of its text is nearest to the others.

A conflict comes before a merge. Report conflicts and merges only. In doubt report nothing. Under points stand places
where the wording differs; they are hints, and may be harmless.
"""
)


KINDS: Final = ("number", "date", "name", "negation", "other")
"""What differs in a conflict."""


class PairFinding(BaseModel):
    """A pair that is in conflict, or says the same."""

    new: int = Field(description="Number of the new memory.")
    other: int = Field(description="Number of the memory it was compared with.")
    relation: str = Field(description="How they relate.", json_schema_extra={"enum": ["conflict", "merge", "neither"]})
    kind: str = Field(
        description="For a conflict, what differs: number, date, name, negation or other. Otherwise empty.",
        json_schema_extra={"enum": [*KINDS, ""]},
    )
    reason: str = Field(description="One sentence. For a conflict it names both claims.")
    new_claim: str = Field(
        description="For a conflict, the words of the new memory, exactly as they stand. Otherwise empty."
    )
    other_claim: str = Field(description="The same of the other memory.")


class PairFindings(BaseModel):
    """What was found."""

    findings: list[PairFinding] = Field(description="Empty when no pair is in conflict or says the same.")


def render(
    memories: Mapping[int, Mapping[str, str]],
    pairs: Sequence[tuple[int, Sequence[int]]],
    points: Sequence[tuple[int, int, str, str]] = (),
) -> str:
    """Write the prompt.

    Args:
        memories: What each says, by number; each is shown once, however many pairs it is in.
        pairs: A new memory, and those to compare it with.
        points: Two memories, and words of each that do not agree.
    """
    shown = "\n".join(memory(number, fields) for number, fields in memories.items())
    asked = "\n".join(f"{new}: {', '.join(map(str, others))}" for new, others in pairs)
    hints = "\n".join(f"{a} and {b}: {escape(x)} | {escape(y)}" for a, b, x, y in points)
    return f"{shown}\n\n<pairs>\n{asked}\n</pairs>" + (f"\n\n<points>\n{hints}\n</points>" if hints else "")
