"""What flows through recall, remember and conversation: messages in; memories, receipts and answers out."""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, NotRequired, Required, get_args

from langchain_core.messages import AnyMessage
from langgraph.channels.ephemeral_value import EphemeralValue
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.graph.message import add_messages
from pydantic import Field, WrapValidator, with_config
from typing_extensions import TypedDict

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.memory_bank import MessagesIn, Usage
from agentic_memory_bank.state.records import RecordType, UserHash
from agentic_memory_bank.state.settings import Settings

RecallOutcome = Literal["used", "missing", "ignored", "disabled", "unavailable"]
"""Outcome of recall: memories were found; none fits; the message needs none; memory is switched off; recall failed."""
MemoryMode = Literal["on", "recall", "off"]
"""Whether memories are recalled and kept, recalled only, or neither."""
MEMORY_MODES: Final[tuple[MemoryMode, ...]] = get_args(MemoryMode)
"""All modes, the strictest last."""
Trigger = Literal["turns", "end", "idle", "drift"]
"""Why memories were extracted from a conversation: enough turns, its end, its silence, or another topic."""


def _as_found(user: object, checked: Callable[[object], str | None]) -> str | None:
    """Whom maintenance found in a store is passed on as such: pydantic would make a text like any other of it."""
    return user if isinstance(user, UserHash) else checked(user)


def add_said(said: Any, more: Any) -> Any:
    """Add messages to a conversation, as LangGraph's `add_messages` does.

    Raises:
        InputError: They are no messages.
    """
    try:
        return add_messages(said, more)
    except (ValueError, TypeError, NotImplementedError, KeyError, AttributeError) as error:
        raise InputError(
            f"The messages cannot be read ({type(error).__name__}). Each is a message of LangChain's, or a mapping of "
            "role and content."
        ) from None


class MemoryContext(Settings):
    """Context of an invocation: its user and project, and settings.

    The user comes with each invocation alone: no variable of the environment names one.

    Example:
        >>> recall.invoke({"messages": messages}, context=MemoryContext(user="ana", recall_limit=3))
        >>> recall.invoke({"messages": messages}, context={"user": "ana", "recall_limit": 3})  # the same
    """

    _from_callers_alone = frozenset(("user", "project", "enable_memory", "auto_store", "tool_names"))

    user: Annotated[str | None, WrapValidator(_as_found)] = Field(
        default=None, description="Whose memories are meant. On a server: who is authenticated."
    )
    project: str = Field(default="", description="Which of the user's projects. Empty: memories without a project.")
    enable_memory: bool = Field(default=True, description="Whether anything is recalled or remembered.")
    auto_store: bool = Field(
        default=True, description="Whether what is said is kept. False: memories are recalled, and nothing is stored."
    )
    tool_names: tuple[str, ...] = Field(default=(), description="Names of the tools that the answering model has.")


# --- recall --------------------------------------------------------------------------------------------------------


class RecalledMemory(TypedDict):
    """A memory that was recalled. Times are ISO 8601 in UTC."""

    id: str
    type: RecordType
    text: str
    cosine: float
    """Cosine of query and memory, from -1 to 1; never a fused score."""
    score: float
    """Score by which the memories of one recall are ordered."""
    shared: list[str]
    """Rare names and numbers that query and memory share."""
    trust: float
    """How far its best source is trusted, from 0 to 1."""
    created_at: str
    updated_at: str
    conversations: list[str]
    """The conversations it was said in."""
    turns: list[str]
    """The ids of the turns it was said in."""
    contradicts: list[str]
    """Ids of memories that contradict it."""


class RecallReceipt(TypedDict):
    """Tells what recall did, without any text of a message or memory."""

    outcome: RecallOutcome
    reason: str
    """Why the gate was closed, or what failed; empty where memories were found."""
    searched: int
    """How many memories passed the threshold."""
    shown: list[str]
    """Ids of the memories in the block."""
    cosines: dict[str, float]
    """The cosine of the message and each memory that passed, by its id: what a threshold is chosen from."""
    degraded: list[str]
    """Stages that failed, with the kind of error."""


@with_config(use_attribute_docstrings=True)
class RecallInput(TypedDict, total=False):
    """Input of `recall`; what is left out has the default of the settings."""

    messages: Required[MessagesIn]
    """The conversation; its last message is what memories are recalled for."""
    types: list[RecordType] | None
    """Types of memories to search; None: all."""
    limit: int
    """Most memories to recall."""
    threshold: float | None
    """Least cosine of a memory, from -1 to 1; None: no threshold."""
    as_of: str | None
    """A day in ISO 8601: what was true then is recalled. None: today, or the time that the message asks about."""
    is_fact: bool | None
    """Whether it asks for a fact of the world: nothing is recalled then, unless it says "my"; None: its words tell."""
    needs_tool: bool | None
    """Whether a tool answers the message, so that nothing is recalled; None: its words and the tools' names tell."""


class RecallOutput(TypedDict):
    """Output of `recall`."""

    memories: list[RecalledMemory]
    """The recalled memories, best first."""
    block: str
    """The memories, fenced, for a message of the role user; empty where there are none."""
    receipt: RecallReceipt
    """What recall did, and what failed."""


class RecallRequest(TypedDict):
    """A checked request to recall."""

    types: list[RecordType] | None
    limit: int
    threshold: float | None
    by_kind: bool
    """Whether the threshold is that of embedder, language and kind of memory, in place of `threshold`."""
    as_of: str | None
    everything: NotRequired[bool]
    """Whether all that is known of the user is asked for; a checkpoint of an earlier version does not say so."""


class RecallState(TypedDict, total=False):
    """Everything a stage of recall can read. What was recalled never enters a checkpoint."""

    messages: list[AnyMessage]
    types: Annotated[list[RecordType] | None, EphemeralValue]
    limit: Annotated[int, EphemeralValue]
    threshold: Annotated[float | None, EphemeralValue]
    as_of: Annotated[str | None, EphemeralValue]
    is_fact: Annotated[bool | None, EphemeralValue]
    needs_tool: Annotated[bool | None, EphemeralValue]
    asked: RecallRequest
    query: str
    passages: list[str]
    """Passages that a memory with the answer might hold, written by a model (HyDE)."""
    waited: Annotated[float, UntrackedValue]
    """Seconds of the time for recalling that are gone before the search."""
    found: Annotated[list[RecalledMemory], UntrackedValue]
    memories: Annotated[list[RecalledMemory], UntrackedValue]
    block: Annotated[str, UntrackedValue]
    receipt: RecallReceipt


RecallUpdate = RecallState
"""What a stage of recall returns: some of it."""


# --- remember ------------------------------------------------------------------------------------------------------


class RememberReceipt(TypedDict):
    """Tells what `remember` did, without any text of a message or memory."""

    outcome: Literal["remembered", "waiting", "nothing", "disabled", "unavailable", "queued", "dropped"]
    """`remembered`: memories were extracted; `waiting`: turns are kept and wait for a trigger; `nothing`: nothing was
    new; `disabled`: memory is off; `unavailable`: it failed; `queued`: memories are extracted later, from turns that
    are kept unless `degraded` says otherwise; `dropped`: nothing is kept."""
    trigger: Trigger | None
    turns: int
    """How many turns were new."""
    contradictions: list[tuple[str, str]]
    """Pairs of ids of memories that contradict each other."""
    degraded: list[str]


@with_config(use_attribute_docstrings=True)
class RememberInput(TypedDict, total=False):
    """Input of `remember`."""

    messages: MessagesIn
    """The conversation, or what is new of it: a turn that was handed over before is known by its id. Required unless
    `conversation_id` is given."""
    conversation_id: str
    """Id of the conversation that goes on. Default: the thread's id, or one made of what was said."""
    end: bool
    """Whether the conversation has ended, so that memories are extracted at once."""
    handed_at: str
    """When it was handed over, ISO 8601 in UTC. Default: now. Nothing is remembered where all memories were deleted
    since then."""


class RememberOutput(TypedDict):
    """Output of `remember`."""

    stored: list[str]
    """Ids of new memories."""
    updated: list[str]
    """Ids of memories that got another source or wording."""
    superseded: list[str]
    """Ids of memories that a new value replaced."""
    receipt: RememberReceipt
    """What `remember` did, and what failed."""


class StoredTurn(TypedDict):
    """One turn as the state of a conversation keeps it until memories are extracted from it."""

    id: str
    role: Literal["user", "assistant"]
    text: str
    speaker: str
    date: str


class StoredConversation(TypedDict):
    """Where a conversation stands. Kept beside the user's memories until its time is over, or it is forgotten."""

    v: int
    project: str
    """As JSON in ASCII, since no database keeps every text unchanged."""
    conversation: str
    """Its id, likewise."""
    seen: list[str]
    """Which turns were handed over, the latest last: hashes, which say nothing of what was said."""
    pending: list[StoredTurn]
    """Turns from which no memories have been extracted yet."""
    due: Trigger | None
    """Why memories are to be extracted from them as soon as possible; None as long as they wait."""
    raw: list[str]
    """Ids of those that are memories of their own, word for word, or are to become some."""
    recent: list[StoredTurn]
    """The last turns, word for word."""
    drawn: list[StoredTurn]
    """The last turns from which memories were extracted, as context for the next ones."""
    digest: dict[str, list[str]]
    """Topic, facts, decisions and what is open, in place of everything before."""
    count: int
    """How many turns there were."""
    at: str
    """When the last one came."""
    expires_at: str
    failures: int
    """How often in a row extraction from the pending turns failed."""
    to_forget: list[str]
    """How many turns there were when the user was asked whether some memories are to be erased, and their ids: no word
    of them. It holds for the next turn."""


class DueConversation(TypedDict):
    """A conversation from which memories are extracted now."""

    conversation: str
    trigger: Trigger
    turns: list[str]
    """Ids of the turns from which they are extracted."""


class RememberState(TypedDict, total=False):
    """Everything a stage of remember can read. What is extracted never enters a checkpoint; it is extracted again."""

    messages: list[AnyMessage]
    end: Annotated[bool, EphemeralValue]
    handed_at: Annotated[str, EphemeralValue]
    drawn: Annotated[Any, UntrackedValue]
    """The extracted facts."""
    weighed: Annotated[Any, UntrackedValue]
    """The resolution of the extracted facts."""
    conversation_id: str
    now: str
    started: float
    draws: list[DueConversation]
    stored: list[str]
    updated: list[str]
    superseded: list[str]
    receipt: RememberReceipt
    usage: Usage


RememberUpdate = RememberState
"""What a stage of remember returns: some of it."""


# --- conversation --------------------------------------------------------------------------------------------------


@with_config(use_attribute_docstrings=True)
class ConversationInput(TypedDict, total=False):
    """Input of `conversation`."""

    messages: Required[Annotated[MessagesIn, add_said]]
    """New messages, or the whole conversation; the last one is answered."""
    conversation_id: str
    """Id of the conversation that goes on. Default: the thread's id, or a new one."""


class ConversationOutput(TypedDict):
    """Output of `conversation`."""

    messages: Annotated[list[AnyMessage], add_said]
    """The messages, the answer last."""
    conversation_id: str
    """Id of the conversation, to go on with it."""
    recalled: RecallReceipt
    """What was recalled for the answer."""
    remembered: RememberReceipt
    """What became of the message and its answer."""
    usage: Usage
    """Calls and tokens of models."""


class ConversationSnapshot(TypedDict):
    """Where a conversation stands before a message of it is answered, as far as that is kept."""

    turns: list[StoredTurn]
    """The last turns that were handed over before, those too that wait to be remembered."""
    digest: dict[str, list[str]]
    count: int
    """How many turns are kept, or were."""


class ConversationState(TypedDict, total=False):
    """Everything a stage of a conversation can read."""

    messages: Annotated[list[AnyMessage], add_said]
    conversation_id: str
    mode: MemoryMode
    """Whether memories are recalled and kept here."""
    standing: Annotated[ConversationSnapshot, UntrackedValue]
    block: Annotated[str, UntrackedValue]
    memories: Annotated[list[RecalledMemory], UntrackedValue]
    recalled: RecallReceipt
    remembered: RememberReceipt
    usage: Usage


ConversationUpdate = ConversationState
"""What a stage of a conversation returns: some of it."""
