"""The ResearchEngine protocol: the judgements behind memorizer and researcher, and the values that go in and out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from agentic_memory_bank.engines.base import Span
from agentic_memory_bank.state.pages import PageSearch

_MARK: Final = re.compile(r"^\s*(?:#{1,6}\s+|[-*•·]\s+|\d{1,3}[.)]\s+)")
_LEAD: Final = re.compile(
    r"(?:^|(?<=[.!?] ))(?:(?:in )?(?:this|the) "
    r"(?:page|text|passage|document|excerpt|abstract|session|conversation|dialogue)"
    r"(?: (?:says|states|mentions|notes|reports|explains|describes|records|shows|tells us))"
    r"|the (?:user|assistant|speaker|author) (?:has )?(?:said|says|stated|states|mentioned|mentions|told us))"
    r" that (\S)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PageDraft:
    """A text that is to become a page, with what it may refer to."""

    title: str
    """Title of its source, with its date; empty for none."""
    text: str
    """The text, word for word."""
    earlier: tuple[str, ...] = ()
    """Abstracts of the pages before it that are most like it, best first."""
    previous: str = ""
    """Abstract of the page just before it."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A page as the planner is shown it: title and abstract alone."""

    page: str
    title: str
    abstract: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of a page, word for word."""

    page: str
    title: str
    """Title of the page, with its date where it has one."""
    text: str
    score: float
    """Score of its retrieval."""
    source: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class SupportedFinding:
    """A fact that was found, and the ids of the pages that say so."""

    text: str
    pages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """State of the research that an engine is shown."""

    request: str
    """The request of the user."""
    open: tuple[str, ...] = ()
    """The requests of this round, the most important first; the first round has the request itself."""
    findings: tuple[SupportedFinding, ...] = ()
    asked: tuple[str, ...] = ()
    """Requests of earlier rounds."""
    outlines: tuple[Outline, ...] = ()
    """Outlines of the pages whose title and abstract fit best."""
    titles: tuple[str, ...] = ()
    """Titles of further pages."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What an engine gathered from excerpts."""

    findings: tuple[SupportedFinding, ...]
    """New findings; earlier ones stay."""
    dropped: tuple[int, ...] = ()
    """Indices of earlier findings that are wrong or beside the point."""
    is_enough: bool = False
    """Whether the findings now answer the whole request."""
    missing: tuple[PageSearch, ...] = ()
    """Requests for the next round where they do not, the most important first, if the excerpts show any."""


@dataclass(frozen=True, slots=True)
class Reflection:
    """What is still missing."""

    is_enough: bool
    requests: tuple[str, ...] = ()
    """Requests for the next round, the most important first; each can be understood alone."""


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
    """Whether it follows from the findings; otherwise it is a guess."""


@runtime_checkable
class ResearchEngine(Protocol):
    """Makes the judgements of `memorizer` and `researcher`.

    Raises:
        EngineError: From any method, when nothing can be judged.
    """

    @property
    def name(self) -> str:
        """Name of the engine."""
        ...

    def abstract(self, drafts: Sequence[PageDraft]) -> Sequence[str | None]:
        """Summarise each text in one paragraph that stands on its own; None where that failed."""
        ...

    def plan_searches(self, inquiry: Inquiry) -> Sequence[PageSearch]:
        """Plan the searches of each open request, in their order; only outlined pages may be named."""
        ...

    def gather(self, inquiry: Inquiry, excerpts: Sequence[Excerpt]) -> Gathered:
        """Gather from the excerpts the facts that the request asks for, with their pages."""
        ...

    def reflect(self, inquiry: Inquiry) -> Reflection:
        """Judge whether the findings suffice, and request what is missing."""
        ...

    def respond(self, inquiry: Inquiry, excerpts: Sequence[Excerpt]) -> ResearchResponse:
        """Answer the request from findings and excerpts, with quotes; without quotes when they do not hold it."""
        ...


def paragraph(said: str) -> str:
    """Write an abstract as one paragraph, without headings, bullets and phrases such as "the text says that"."""
    lines = [_MARK.sub("", line).strip() for line in said.splitlines()]
    joined = " ".join(" ".join(lines).split())
    return _LEAD.sub(lambda found: found[1].upper(), joined)
