"""What flows through the researcher: a request, what each round looks for and finds, the answer with its sources."""

from typing import Annotated, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.channels.ephemeral_value import EphemeralValue
from pydantic import with_config
from typing_extensions import TypedDict

from agentic_memory_bank.state.memory_bank import Allowance, MessagesIn, Usage
from agentic_memory_bank.state.pages import Page

ResearchStatus = Literal["running", "answered", "partial", "not_found", "stopped", "failed"]
"""`partial`: there is an answer, and the evidence was not judged to be enough."""


class Finding(TypedDict):
    """A fact that was found, and the pages that say so."""

    text: str
    pages: list[str]


class ResearchSource(TypedDict):
    """A quote of the answer: the words, and where they stand."""

    quote: str
    page: str
    title: str
    source: str
    start: int
    end: int


class PlannedSearch(TypedDict):
    """The searches for one request."""

    request: str
    keywords: list[str]
    queries: list[str]
    pages: list[str]


class PageStretch(TypedDict):
    """A stretch of a page that a search found, and that is or was shown to the engine."""

    page: str
    start: int
    end: int
    """-1 for the end of the page."""
    score: float


class Round(TypedDict):
    """Summary of one round, for the output."""

    requests: list[str]
    searches: list[PlannedSearch]
    pages: list[str]
    """Ids of pages with something new, best first."""
    findings: int
    """How many findings there were after the round."""
    known: list[str]
    """What they said: the interim result."""
    enough: bool


class Investigation(TypedDict):
    """Identifies the request and memory of a run."""

    id: str


@with_config(use_attribute_docstrings=True)
class ResearcherInput(TypedDict, total=False):
    """Input of `researcher`."""

    request: str
    """What to find out. Required unless `messages` are given."""
    messages: MessagesIn
    """In place of `request`: what the user said last. The answer then comes as a message, too."""
    memory: str
    """The name of the memory, each user's own. Required unless `messages` are given; then it is `default`.
    A graph that was built with retrievers searches them alone where no memory is named."""


class ResearcherOutput(TypedDict):
    """Output of `researcher`."""

    messages: NotRequired[list[AnyMessage]]
    """The answer in words, where it was asked in messages."""
    answer: str
    """The answer; empty where the memory holds none."""
    sources: list[ResearchSource]
    """The quotes that the answer rests on."""
    findings: list[Finding]
    """The facts that were found, with their pages."""
    rounds: list[Round]
    """What each round searched and found."""
    status: ResearchStatus
    """How the research ended; `partial` where the evidence was not judged to be enough."""
    usage: Usage
    """Calls and tokens of models."""
    degraded: list[str]
    """Stages that failed and were passed over, with the kind of error; never its text."""


class ResearcherState(TypedDict, total=False):
    """Everything a stage can read. Text of pages is not in it: it is read from the memory where it is shown.

    Only what retrievers found is kept with its text.
    """

    request: Annotated[str | None, EphemeralValue]
    """What was handed over is there for the first stage only, so that refused input does not come up again."""
    messages: Annotated[list[AnyMessage], EphemeralValue]
    memory: str
    question: str
    """The request, as it is kept for later rounds."""
    work: Investigation
    in_messages: bool
    """Whether it was asked in messages, and is answered in one."""
    requests: list[str]
    """The planned searches of this round."""
    leads: list[PlannedSearch]
    """Searches that `integrate` proposed for the next round: no planner has to be asked for them."""
    searches: list[PlannedSearch]
    found: list[PageStretch]
    """Stretches that this round found and that were not shown before."""
    retrieved: dict[str, Page]
    """What retrievers found, by the ids it has in this run: nobody else could be asked for it again."""
    shown: list[PageStretch]
    """All stretches that were shown, in the order in which they were found."""
    asked: list[str]
    """Every request so far, and the fingerprint of every search, so that none is made twice."""
    is_enough: bool
    started: float
    """When the run began or was last allowed to go on, in seconds since 1970."""
    answer: str
    sources: list[ResearchSource]
    findings: list[Finding]
    rounds: list[Round]
    status: ResearchStatus
    degraded: list[str]
    usage: Usage
    allowance: Allowance
    judge: str
    """The chat models the run was begun with; empty without any."""


ResearcherUpdate = ResearcherState
"""What a stage returns: some of it."""
