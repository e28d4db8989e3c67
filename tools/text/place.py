"""Where a sentence stands in its document, as `places` finds it."""

from dataclasses import dataclass
from typing import Literal

from agentic_memory_bank.tools.text.spans import Span

_MOST_LEAD_IN = 60
"""How much of what opens a list is shown with a quote, in characters."""
Kind = Literal["text", "heading", "item", "row", "turn", "header", "code"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sentence stands.

    Attributes:
        name: Name of the document (its file, its source); may be empty.
        title: What the document calls itself: its first heading, or the subject of a mail.
        headings: The headings above the sentence, outermost first, the title left out.
        numbers: The numbers of those headings, and of the clause or list item ("3", "3.1", "a").
        lead_in: What opens the list or table ("Not supported:"), or the question that a turn answers.
        row: Label of the row.
        columns: Labels of the columns, one for each cell; empty where the table has none.
        speaker: Who says it, in a transcript or chat.
        sender: Who wrote the mail it stands in.
        time: When that was said, as written there.
        kind: What the sentence is part of.
    """

    name: str = ""
    title: str = ""
    headings: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    lead_in: str = ""
    row: str = ""
    columns: tuple[str, ...] = ()
    speaker: str = ""
    sender: str = ""
    time: str = ""
    kind: Kind = "text"

    @property
    def is_code(self) -> bool:
        """Whether it is part of a block of code."""
        return self.kind == "code"

    def line(self) -> str:
        """The place in one line, outermost first, as it is shown with a quote ("PEP 602 > Schedule > 3.9")."""
        opened = "" if self.row else self.lead_in.rstrip(":： ")[:_MOST_LEAD_IN]
        parts = (self.title or self.name, *self.headings, opened, self.row, self.speaker or self.sender)
        return " > ".join(dict.fromkeys(" ".join(part.split()) for part in parts if part.strip()))


@dataclass(frozen=True, slots=True)
class Placed:
    """A sentence, row or list item, `text[start:end]`, and where it stands; for a row also the span of each cell."""

    start: int
    end: int
    place: Place
    cells: tuple[Span, ...] = ()
