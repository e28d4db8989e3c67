"""Which topics does a text hold? Asked by `classify`; the answer names paragraphs by number and copies nothing."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, numbered
from agentic_memory_bank.prompts.fence import fence

MOST_TOPICS = 16
"""Topics asked for at most in one call: what becomes of them must fit one answer each of the later judgements."""

INSTRUCTIONS = instructions(
    f"""
You divide material into topics for the memory of a task. The paragraphs are numbered. Put those that are about the
same subject into one topic, also when they do not follow each other; facts that a reader would look up together
belong together. Texts that disagree about a subject belong to the same topic only if they stand in the same text.
Leave nothing
out: what fits nowhere is a topic of its own. Name {MOST_TOPICS} topics at most, rather few broad ones than many
narrow ones.
"""
)


class Range(BaseModel):
    """Paragraphs that follow each other."""

    first: int = Field(description="Number of the first paragraph.")
    last: int = Field(description="Number of the last one; the same as the first for a single paragraph.")


class ParagraphTopic(BaseModel):
    """Paragraphs about one subject."""

    paragraphs: list[Range] = Field(description="The paragraphs of the topic.")
    context: str = Field(description="One sentence: what the topic is about.")
    keywords: list[str] = Field(description="Three to eight words or names it would be looked up by.")


class Topics(BaseModel):
    """The topics of the material."""

    topics: list[ParagraphTopic] = Field(description="All topics, in the order in which they begin.")


def render(task: str, texts: Sequence[Sequence[str]]) -> str:
    """Write the prompt: the task for which the material is kept, and the paragraphs of all texts, counted through."""
    shown: list[str] = []
    number = 1
    for text in texts:
        shown.append(f"<text>\n{numbered('p', text, first=number)}\n</text>")
        number += len(text)
    return f"{fence('task', task)}\n\n" + "\n\n".join(shown)
