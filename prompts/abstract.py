"""What does each page say, in one paragraph that stands on its own? Asked by the memorizer."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, numbered
from agentic_memory_bank.prompts.fence import escape

INSTRUCTIONS = instructions(
    """
You write the abstract of each page, by which the page is found later and its place in the whole is understood. An
abstract is one paragraph of plain sentences, 40 to 120 words, without headings, lists or line breaks. It keeps who,
what, when, where and how much: plans, decisions, actions, what stands in the way, names, dates, numbers, places and
identifiers, exactly as the page has them. It can be read alone: say who "she" and what "it" is, and turn "yesterday"
into a date, where the page, its title or an earlier abstract tells. Add nothing that is not there. State the facts
themselves; do not say that a page, a text or a user mentions them, and give neither advice nor questions. Earlier
abstracts only explain what a page refers to: what stands in them alone is left out.
"""
)


class Abstract(BaseModel):
    """One page in a paragraph."""

    id: int = Field(description="Number of the page.")
    abstract: str = Field(description="One paragraph that stands on its own.")


class Abstracts(BaseModel):
    """An abstract for each page."""

    abstracts: list[Abstract] = Field(description="One for each page, in their order.")


def asked(own: str) -> str:
    """The system message, with what the owner of the memory asks for besides."""
    return f"{INSTRUCTIONS}\n\nBesides, for this memory:\n{own.strip()}" if own.strip() else INSTRUCTIONS


def render(pages: Sequence[tuple[str, str]], earlier: Sequence[str]) -> str:
    """Write the prompt.

    Args:
        pages: Title, which may be empty, and text of each.
        earlier: Abstracts of pages before these.
    """
    before = f"<earlier>\n{numbered('abstract', earlier)}\n</earlier>\n\n" if earlier else ""
    return before + "\n\n".join(page(number, *shown) for number, shown in enumerate(pages, 1))


def page(number: int, title: str, text: str) -> str:
    """One page between its tags."""
    named = f"title: {escape(' '.join(title.split()))}\n" if title.strip() else ""
    return f'<page id="{number}">\n{named}{escape(text.strip())}\n</page>'
