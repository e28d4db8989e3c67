"""The ResearchEngine protocol: the judgements behind memorizer and researcher, and the values that go in and out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from agentic_memory_bank.engines.base import Span
from agentic_memory_bank.state.pages import PageSearch

_MARK: Final = re.compile(r"^\s*(?:#{1,6}\s+|[-*•·]\s+|\d{1,3}[.)]\s+)")
_LEAD: Final = re.compile(
    r"^(?:(?:in )?(?:this|the) (?:page|text|passage|document|excerpt|abstract|session|conversation|dialogue)"
    r"(?: (?:says|states|mentions|notes|reports|explains|describes|records|shows|tells us))"
    r"|the (?:user|assistant|speaker|author) (?:has )?(?:said|says|stated|states|mentioned|mentions|told us)) that ",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PageDraft:
    """A text that is to become a page, with what it may refer to."""

    title: str
    """What its source calls it, with its date; empty when nothing does."""
    text: str
    """Word for word."""
    earlier: tuple[str, ...] = ()
    """Abstracts of the pages before it that are most like it, best first."""
    previous: str = ""
    """Abstract of the page just before it."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A page as the planner sees it: by its title and abstract alone."""

    page: str
    title: str
    abstract: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of a page, word for word."""

    page: str
    title: str
    """What the page is called, with its date where it has one."""
    text: str
    score: float
    """That of its retrieval."""
    source: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class SupportedFinding:
    """One thing that was found out, and the ids of the pages that say so."""

    text: str
    pages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Where research stands."""

    request: str
    """What is to be found out in the end."""
    open: tuple[str, ...] = ()
    """The requests of this round, the most important first; the first round has the request itself."""
    findings: tuple[SupportedFinding, ...] = ()
    asked: tuple[str, ...] = ()
    """The requests of earlier rounds."""
    outlines: tuple[Outline, ...] = ()
    """The pages whose headers fit best."""
    titles: tuple[str, ...] = ()
    """Of further pages."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a judge made of excerpts."""

    findings: tuple[SupportedFinding, ...]
    """New ones; what was found before stays."""
    dropped: tuple[int, ...] = ()
    """Positions of earlier findings that turned out to be wrong, or beside the point."""
    is_enough: bool = False
    """Whether the findings answer the request now, all of it."""
    missing: tuple[PageSearch, ...] = ()
    """What to search next where they do not, the most important first, if the excerpts show it."""


@dataclass(frozen=True, slots=True)
class Reflection:
    """What is still missing."""

    is_enough: bool
    requests: tuple[str, ...] = ()
    """What to look for next, the most important first; each can be understood alone."""


@dataclass(frozen=True, slots=True)
class PageQuote:
    """A stretch of an excerpt (by its index) that the answer rests on."""

    excerpt: int
    span: Span


@dataclass(frozen=True, slots=True)
class ResearchResponse:
    """The answer and the quotes it rests on; no quotes when nothing was found."""

    text: str
    quotes: tuple[PageQuote, ...] = ()
    is_sure: bool = True
    """Whether it rests on what the findings say; else it is a guess, however much was found."""


@runtime_checkable
class ResearchEngine(Protocol):
    """Who judges pages. Stages ask an engine and nothing else, so a graph runs alike with a chat model and without.

    Raises:
        EngineError: From any method, when no judgement can be had.
    """

    @property
    def name(self) -> str:
        """What runs are recorded under."""
        ...

    def abstract(self, drafts: Sequence[PageDraft]) -> Sequence[str | None]:
        """Say what each text says in one paragraph that stands on its own; None where that could not be done."""
        ...

    def plan_searches(self, inquiry: Inquiry) -> Sequence[PageSearch]:
        """Say what to search for each open request, in their order; of pages only those that are outlined."""
        ...

    def gather(self, inquiry: Inquiry, excerpts: Sequence[Excerpt]) -> Gathered:
        """Find in the excerpts what the request asks for: facts with their pages, no answer."""
        ...

    def reflect(self, inquiry: Inquiry) -> Reflection:
        """Say whether the findings are enough, and what to look for where they are not."""
        ...

    def respond(self, inquiry: Inquiry, excerpts: Sequence[Excerpt]) -> ResearchResponse:
        """Answer the request from findings and excerpts, with quotes; without quotes when they do not hold it."""
        ...


def paragraph(said: str) -> str:
    """An abstract as one line: without headings and bullets, and without words about the text in place of its own."""
    lines = [_MARK.sub("", line).strip() for line in said.splitlines()]
    joined = " ".join(" ".join(lines).split())
    bare = _LEAD.sub("", joined, count=1)
    return bare if bare == joined else bare[:1].upper() + bare[1:]
