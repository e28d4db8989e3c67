"""What is the one next step? Asked by `plan`."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, memory
from agentic_memory_bank.prompts.fence import escape, fence

INSTRUCTIONS = instructions(
    """
You plan a task one step at a time. You are shown the goal, the steps that are done with what was learned, what is new
in memory, what of it was merged, and the contradictions that are settled or stay open. Name the one next step,
concrete enough to be carried out by somebody who sees only that step and the memory; or say that nothing is left to do.

Only the kinds of step that are listed can be carried out. A step of kind answer reads memory and answers the goal:
plan it as soon as what is known suffices, or when nothing more can be found out. Do not plan again what was done, and
after a failed step plan another way. After a successful answer nothing is left to do.
"""
)

KINDS: Mapping[str, str] = {
    "search": "search: find information outside of memory",
    "solve": "solve: work something out from what is known",
    "answer": "answer: answer the goal from memory",
}


class Plan(BaseModel):
    """The next step, or none."""

    is_done: bool = Field(description="True when nothing is left to do.")
    kind: str = Field(description="One of the kinds that are listed; empty when nothing is left to do.")
    description: str = Field(description="The step, in one or two sentences; empty when nothing is left to do.")


def render(
    goal: str,
    kinds: Sequence[str],
    done: Sequence[str],
    news: Sequence[Mapping[str, str]],
    conflicts: Sequence[str],
    merges: Sequence[str] = (),
) -> str:
    """Write the prompt; everything but the goal may be empty."""
    parts = [fence("task", goal), "<kinds>\n" + "\n".join(KINDS.get(kind, kind) for kind in kinds) + "\n</kinds>"]
    parts += [_list("done", done), _list("contradictions", conflicts), _list("merged", merges)]
    parts += [memory(i, fields) for i, fields in enumerate(news, 1)]
    return "\n\n".join(part for part in parts if part)


def _list(tag: str, lines: Sequence[str]) -> str:
    return f"<{tag}>\n" + "\n".join(f"- {escape(line)}" for line in lines) + f"\n</{tag}>" if lines else ""
