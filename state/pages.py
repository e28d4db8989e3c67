"""Pages: what research searches. A page is a text word for word with an abstract above it.

Short: every layer needs these two types and nothing else.
"""

from dataclasses import dataclass
from typing import Any

from typing_extensions import TypedDict


class Page(TypedDict):
    """One session, chunk or document of a memory (abstract + raw text = page)."""

    id: str
    """From the content, so that the same text has the same id in every process."""
    title: str
    """What its source calls it; empty when nothing does."""
    abstract: str
    """One paragraph that stands on its own."""
    text: str
    """Word for word as it came."""
    source: str
    metadata: dict[str, Any]
    """Whatever came with the source, such as its date."""
    created_at: str
    expires_at: str | None
    """When it is no longer there for anyone, in UTC; None for never."""


@dataclass(frozen=True, slots=True)
class PageSearch:
    """What one round of research looks for: all of it is searched at once (keyword, vector, page index)."""

    request: str
    """The question or follow-up request in full."""
    keywords: tuple[str, ...] = ()
    """Short literal words, each of them looked for on its own."""
    queries: tuple[str, ...] = ()
    """Sentences whose meaning is looked for."""
    pages: tuple[str, ...] = ()
    """Ids of pages to read whole; unknown ones are dropped."""
