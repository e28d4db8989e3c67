"""What flows through recall, remember and conversation: messages in; memories, receipts and answers out."""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, Required, get_args

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
"""What came of recalling: memories were found; none fits; the message needs none; memory is switched off; it failed."""
MemoryMode = Literal["on", "recall", "off"]
"""Memories are recalled and kept; recalled only; neither."""
MEMORY_MODES: Final[tuple[MemoryMode, ...]] = get_args(MemoryMode)
"""The strictest last."""
Trigger = Literal["turns", "end", "idle", "drift"]
"""Why memories were drawn from a conversation: enough turns, its end, its silence, or another topic."""


def _as_found(user: object, checked: Callable[[object], str | None]) -> str | None:
    """Whom maintenance found in a store is passed on as such: pydantic would make a text like any other of it."""
    return user if isinstance(user, UserHash) else checked(user)


def add_said(said: Any, more: Any) -> Any:
    """Add messages to a conversation, as LangGraph's `add_messages` does.

    Raises:
        InputError: They are none.
    """
    try:
        return add_messages(said, more)
    except (ValueError, TypeError, NotImplementedError, KeyError, AttributeError) as error:
        raise InputError(
            f"The messages cannot be read ({type(error).__name__}). Each is a message of LangChain's, or a mapping of "
            "role and content."
        ) from None


class MemoryContext(Settings):
    """Settings of an invocation, and on whose behalf it is made.

    Who that is comes with each invocation and from nowhere else: no variable of the environment names a user.
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
    """A memory as it is handed out. Times are ISO 8601 in UTC."""

    id: str
    type: RecordType
    text: str
    cosine: float
    """Of query and memory, from -1 to 1; never a fused score."""
    score: float
    """What orders memories within one recall."""
    shared: list[str]
    """Rare names and numbers that query and memory have in common."""
    trust: float
    """How far its best source is trusted, from 0 to 1."""
    created_at: str
    updated_at: str
    conversations: list[str]
    """The conversations it was said in."""
    turns: list[str]
    """The ids of the turns it was said in."""
    contradicts: list[str]
    """Ids of memories that cannot be true beside it."""


class RecallReceipt(TypedDict):
    """What recalling did, without a word of what anybody said."""

    outcome: RecallOutcome
    reason: str
    """What closed the gate, or what failed; empty where memories were found."""
    searched: int
    """How many memories passed the threshold."""
    shown: list[str]
    """Ids of the memories in the block."""
    degraded: list[str]
    """What was done without: the stage, and the kind of error."""


@with_config(use_attribute_docstrings=True)
class RecallInput(TypedDict, total=False):
    """What the caller hands in; what is left out has the default of the settings."""

    messages: Required[MessagesIn]
    """The conversation; its last message is what memories are recalled for."""
    types: list[RecordType] | None
    """Which types of memories are searched; None: all."""
    limit: int
    """How many memories at most."""
    threshold: float | None
    """Least raw cosine, from -1 to 1; None: no threshold."""
    as_of: str | None
    """The day, ISO 8601, on which what is recalled was true; None for now, or for when the message asks about."""


class RecallOutput(TypedDict):
    """What the caller gets back."""

    memories: list[RecalledMemory]
    block: str
    """The memories, fenced, for a message of the role user; empty where there are none."""
    receipt: RecallReceipt


class RecallRequest(TypedDict):
    """What is recalled, once it is certain that it can be."""

    types: list[RecordType] | None
    limit: int
    threshold: float | None
    by_kind: bool
    """Whether the threshold is that of embedder, language and kind of memory, in place of `threshold`."""
    as_of: str | None


class RecallState(TypedDict, total=False):
    """Everything a stage of recall can read. What was recalled never enters a checkpoint."""

    messages: list[AnyMessage]
    types: Annotated[list[RecordType] | None, EphemeralValue]
    limit: Annotated[int, EphemeralValue]
    threshold: Annotated[float | None, EphemeralValue]
    as_of: Annotated[str | None, EphemeralValue]
    asked: RecallRequest
    query: str
    passages: list[str]
    """What a memory with the answer might say (HyDE)."""
    found: Annotated[list[RecalledMemory], UntrackedValue]
    memories: Annotated[list[RecalledMemory], UntrackedValue]
    block: Annotated[str, UntrackedValue]
    receipt: RecallReceipt


class RecallUpdate(TypedDict, total=False):
    """What a stage of recall returns."""

    asked: RecallRequest
    query: str
    passages: list[str]
    found: list[RecalledMemory]
    memories: list[RecalledMemory]
    block: str
    receipt: RecallReceipt


# --- remember ------------------------------------------------------------------------------------------------------


class RememberReceipt(TypedDict):
    """What remembering did, without a word of what anybody said."""

    outcome: Literal["remembered", "waiting", "nothing", "disabled", "unavailable", "queued", "dropped"]
    """Memories were drawn; turns are kept, and wait for a trigger; nothing was new; memory is off; it failed; memories
    are drawn later, from turns that are kept unless `degraded` says so; nothing of it is kept."""
    trigger: Trigger | None
    turns: int
    """How many turns were new."""
    contradictions: list[tuple[str, str]]
    """Pairs of memories that cannot both be true."""
    degraded: list[str]


@with_config(use_attribute_docstrings=True)
class RememberInput(TypedDict, total=False):
    """What the caller hands in."""

    messages: MessagesIn
    """The conversation, or what is new of it: a turn that was handed over before is known by its id. Required unless
    `conversation_id` is given."""
    conversation_id: str
    """Which conversation goes on. Default: the thread's id, or one made of what was said."""
    end: bool
    """Whether the conversation has ended, so that memories are drawn at once."""
    handed_at: str
    """When it was handed over, where that was before now: ISO 8601 in UTC. Where something was forgotten all at once
    since then, nothing is remembered."""


class RememberOutput(TypedDict):
    """What the caller gets back: ids of memories."""

    stored: list[str]
    updated: list[str]
    superseded: list[str]
    receipt: RememberReceipt


class StoredTurn(TypedDict):
    """One turn as the state of a conversation keeps it until memories are drawn from it."""

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
    """Turns that no memories have been drawn from yet."""
    due: Trigger | None
    """Why memories are to be drawn from them as soon as somebody can; None as long as they wait."""
    raw: list[str]
    """Ids of those that are memories of their own, word for word, or are to become some."""
    recent: list[StoredTurn]
    """The last turns, word for word."""
    drawn: list[StoredTurn]
    """The last turns that memories were drawn from: what comes next is understood with them."""
    digest: dict[str, list[str]]
    """Topic, facts, decisions and what is open, in place of everything before."""
    count: int
    """How many turns there were."""
    at: str
    """When the last one came."""
    expires_at: str
    failures: int
    """How often in a row no memories could be drawn from what is pending."""
    to_forget: list[str]
    """How many turns there were when the user was asked whether some memories are to be erased, and their ids: no word
    of them. It holds for the next turn."""


class DueConversation(TypedDict):
    """A conversation that memories are drawn from now."""

    conversation: str
    trigger: Trigger
    turns: list[str]
    """Ids of the turns they are drawn from."""


class RememberState(TypedDict, total=False):
    """Everything a stage of remember can read. What is drawn never enters a checkpoint: it is drawn again."""

    messages: list[AnyMessage]
    conversation_id: str
    end: Annotated[bool, EphemeralValue]
    handed_at: Annotated[str, EphemeralValue]
    now: str
    started: float
    draws: list[DueConversation]
    drawn: Annotated[Any, UntrackedValue]
    """`nodes.remember.drawing.Drawn`."""
    weighed: Annotated[Any, UntrackedValue]
    """`nodes.remember.weighing.Weighed`."""
    stored: list[str]
    updated: list[str]
    superseded: list[str]
    receipt: RememberReceipt
    usage: Usage


class RememberUpdate(TypedDict, total=False):
    """What a stage of remember returns."""

    conversation_id: str
    now: str
    started: float
    draws: list[DueConversation]
    drawn: Any
    weighed: Any
    stored: list[str]
    updated: list[str]
    superseded: list[str]
    receipt: RememberReceipt
    usage: Usage


# --- conversation --------------------------------------------------------------------------------------------------


@with_config(use_attribute_docstrings=True)
class ConversationInput(TypedDict, total=False):
    """What the caller hands in."""

    messages: Required[Annotated[MessagesIn, add_said]]
    """New messages, or the whole conversation; the last one is answered."""
    conversation_id: str
    """Which conversation goes on. Default: the thread's id, or a new one."""


class ConversationOutput(TypedDict):
    """What the caller gets back."""

    messages: Annotated[list[AnyMessage], add_said]
    conversation_id: str
    recalled: RecallReceipt
    remembered: RememberReceipt
    usage: Usage


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


class ConversationUpdate(TypedDict, total=False):
    """What a stage of a conversation returns."""

    messages: list[AnyMessage]
    conversation_id: str
    mode: MemoryMode
    standing: ConversationSnapshot
    block: str
    memories: list[RecalledMemory]
    recalled: RecallReceipt
    remembered: RememberReceipt
    usage: Usage
