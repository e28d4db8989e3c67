"""What flows through the memorizer: texts in, the drafts of a run and what became of them, pages out."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.channels.ephemeral_value import EphemeralValue
from pydantic import with_config
from typing_extensions import TypedDict

from agentic_memory_bank.state.memory_bank import Allowance, LayerChannel, MessagesIn, Usage
from agentic_memory_bank.state.pages import Page

Status = Literal["running", "completed", "stopped"]


class Memorized(TypedDict):
    """A page that was written to the memory."""

    id: str
    title: str


class SkippedText(TypedDict):
    """A text, or a part of one, of which no page was made."""

    text: int
    """Index of the text in the input, from 0."""
    reason: Literal["empty", "duplicate", "stopped"]
    """`duplicate`: the memory has that page; `stopped`: the run ended before its turn, hand it over again."""
    id: NotRequired[str]
    """Id of the page that it is, or would have become."""


class PendingPage(TypedDict):
    """A page without its abstract."""

    text: int
    page: Page


class Work(TypedDict, total=False):
    """Pages of a run: those that wait, and what became of the others."""

    id: str
    waiting: list[PendingPage]
    kept: list[Memorized]
    skipped: list[SkippedText]


class WorkEdit(TypedDict):
    """One change of the work. `v` is the version of the edit's form; old forms fold forever."""

    v: int
    op: Literal["open", "keep"]
    id: NotRequired[str]
    waiting: NotRequired[list[PendingPage]]
    kept: NotRequired[list[Memorized]]
    skipped: NotRequired[list[SkippedText]]


def open_work(work_id: str, waiting: Sequence[PendingPage], skipped: Sequence[SkippedText]) -> WorkEdit:
    """Start with new texts, in place of earlier ones."""
    return {"v": 1, "op": "open", "id": work_id, "waiting": list(waiting), "skipped": list(skipped)}


def keep(kept: Sequence[Memorized], skipped: Sequence[SkippedText]) -> WorkEdit:
    """Record what became of the first waiting pages, as many as are named."""
    return {"v": 1, "op": "keep", "kept": list(kept), "skipped": list(skipped)}


def apply_work_edits(work: Work, updates: Iterable[Sequence[WorkEdit]]) -> Work:
    """Fold edits into the work. Total: an edit that cannot apply changes nothing.

    Args:
        work: The work so far; it is not changed.
        updates: One sequence of edits per write, oldest first.
    """
    for edits in updates:
        for edit in edits:
            work = _apply(work, edit)
    return work


def _apply(work: Work, edit: WorkEdit) -> Work:
    match edit:
        case {"op": "open", "id": work_id, "waiting": waiting, "skipped": skipped}:
            return {"id": work_id, "waiting": waiting, "kept": [], "skipped": skipped}
        case {"op": "keep", "kept": kept, "skipped": skipped}:
            done = {page["id"] for page in kept} | {one.get("id", "") for one in skipped}
            return {
                **work,
                "waiting": [w for w in work.get("waiting", []) if w["page"]["id"] not in done],
                "kept": [*work.get("kept", []), *kept],
                "skipped": [*work.get("skipped", []), *skipped],
            }
        case _:
            return work


class AbstractContext(TypedDict):
    """A page of this round, with what it may refer to."""

    id: str
    earlier: list[str]
    """Abstracts of the pages before it that are most like it, best first."""
    previous: str
    """Abstract of the page just before it."""


@with_config(use_attribute_docstrings=True)
class MemorizerInput(TypedDict, total=False):
    """Input of `memorizer`."""

    messages: MessagesIn
    """In place of `texts`: what the user said last. The answer then comes as a message, too."""
    texts: list[Any]
    """Strings, LangChain `Document`s, messages, or mappings with `text` and, if known, `source`, `title` and `date`. A
    list inside is one session: its messages become one text. So do messages that follow each other. Required unless
    `messages` are given."""
    memory: str
    """The name of the memory, each user's own. Required unless `messages` are given; then it is `default`."""


class MemorizerOutput(TypedDict):
    """Output of `memorizer`."""

    messages: NotRequired[list[AnyMessage]]
    """The answer in words, where it was asked in messages."""
    pages: list[Memorized]
    """The new pages, in the order of the texts."""
    skipped: list[SkippedText]
    """Texts of which no page was made, and why."""
    usage: Usage
    """Calls and tokens of models."""
    status: Status
    """`completed`, or `stopped` where texts were left over at a budget."""
    degraded: list[str]
    """Stages that failed and were passed over, with the kind of error; never its text."""


class MemorizerFields(TypedDict, total=False):
    """What stages of the memorizer read and write as it stands."""

    memory: str
    now: str
    """The time of this run, read once, so that a stage that runs again writes the same."""
    started: float
    """When the run began or was last allowed to go on, in seconds since 1970."""
    drafts: list[AbstractContext]
    """The pages of this round: what a judge is shown is fixed here, so that no answer is paid for twice."""
    abstracts: list[str]
    """Abstracts of the drafts, in their order."""
    in_messages: bool
    """Whether it was asked in messages, and is answered in one."""
    pages: list[Memorized]
    skipped: list[SkippedText]
    status: Status
    degraded: list[str]
    usage: Usage
    allowance: Allowance
    judge: str
    """The chat models the run was begun with; empty without any."""


class MemorizerState(MemorizerFields, total=False):
    """Everything a stage can read."""

    texts: Annotated[list[Any], EphemeralValue]
    """What was handed over is there for the first stage only, so that refused input does not come up again."""
    messages: Annotated[list[AnyMessage], EphemeralValue]
    work: Annotated[Work, LayerChannel(apply_work_edits)]


WHOLE: Final = frozenset(("texts", "work", "drafts", "abstracts"))
"""What is about as long as the texts themselves; it is empty once they are pages."""


class MemorizerUpdate(MemorizerFields, total=False):
    """What a stage returns: edits for the work, new values for the rest."""

    messages: list[AnyMessage]
    texts: list[Any]
    work: Sequence[WorkEdit]
