"""A model whose answers depend on nothing but the question; served by a process of its own."""

import re
from typing import Any

from agentic_memory_bank.testing import ScriptedJudge


def find_conflicts(prompt: str) -> dict[str, Any]:
    """Two memories of one lighthouse say the same."""
    memories = {int(n): said for n, said in re.findall(r'<memory id="(\d+)">\n(.*?)\n</memory>', prompt, re.DOTALL)}
    empty = {"relation": "merge", "kind": "", "reason": "The same.", "new_claim": "", "other_claim": ""}
    return {
        "findings": [
            {"new": new, "other": other, **empty}
            for new, other in pairs(prompt)
            if "lighthouse" in memories[new] and "lighthouse" in memories[other]
        ]
    }


def find_related(prompt: str) -> dict[str, Any]:
    """Each new memory is related to the first it is shown with."""
    first = {new: other for new, other in reversed(pairs(prompt))}
    return {
        "related": [
            {
                "new": new,
                "other": other,
                "new_context": f"Seen beside number {other}.",
                "new_keywords": ["beside"],
                "other_context": "",
                "other_keywords": [],
            }
            for new, other in first.items()
        ]
    }


def pairs(prompt: str) -> list[tuple[int, int]]:
    """The pairs to judge."""
    lines = "".join(re.findall(r"<pairs>\n(.*?)\n</pairs>", prompt, re.DOTALL)).splitlines()
    told = [line.partition(": ") for line in lines]
    return [(int(new), int(other)) for new, _, others in told for other in others.split(", ")]


judge = ScriptedJudge(find_conflicts=find_conflicts, find_related=find_related)
