"""The state of an agent with four tiers of memory, and how it is read."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, NotRequired, cast

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import OmitFromOutput, PrivateStateAttr
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.prebuilt.tool_node import ToolCallRequest
from typing_extensions import TypedDict

from agentic_memory_bank.nodes.deps import Owner, context_of, owner_of
from agentic_memory_bank.nodes.messages import text_of
from agentic_memory_bank.nodes.react_mem import recording, steps
from agentic_memory_bank.nodes.react_mem.budget import Tally
from agentic_memory_bank.nodes.react_mem.deps import Scope
from agentic_memory_bank.nodes.react_mem.recall import HeldRecollection
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.react_mem import Condensed, Recollection
from agentic_memory_bank.tools.concurrency.outage_log import error_kind
from agentic_memory_bank.tools.memories.validation import user_hash

TROUBLES: Final = 64
"""Number of failed invocations whose trouble is kept."""


REASON: Final = 200
"""Longest message of a failed tool, in characters."""


class Mark(TypedDict):
    """Identifies an invocation."""

    id: str
    conversation: str
    end: bool
    """Whether the conversation ends with it."""
    question: NotRequired[HumanMessage]
    """Text of the question: another middleware may remove the message itself."""


class FourTierState(AgentState[Any]):
    """The state of an agent with four tiers of memory. What was recalled never enters a checkpoint."""

    conversation_id: NotRequired[Annotated[str, OmitFromOutput]]
    """Id of the conversation that goes on. Default: the thread's id, or a new one."""
    end: NotRequired[Annotated[bool, OmitFromOutput, UntrackedValue]]
    """Whether the conversation ends with this invocation."""
    invocation: NotRequired[Annotated[Mark, PrivateStateAttr]]
    recollection: NotRequired[Annotated[Any, PrivateStateAttr, UntrackedValue]]
    """`HeldRecollection`: whoever streams the state sees ids, and no word of what was recalled."""
    condensed: NotRequired[Annotated[Condensed, PrivateStateAttr]]


class Trouble(NamedTuple):
    """How far an invocation came before it failed, and what the error was."""

    messages: Sequence[AnyMessage]
    kind: str

    @classmethod
    def of(cls, messages: Sequence[AnyMessage], call: ToolCallRequest | None, error: Exception) -> "Trouble":
        """Describe an error, and add the result of the tool call that raised it."""
        if call is None:
            return cls(messages, error_kind(error))
        text, name = f"{type(error).__name__}: {error}"[:REASON], call.tool_call["name"]
        failed = ToolMessage(text, tool_call_id=call.tool_call["id"] or "", name=name, status="error")
        return cls([*messages, failed], f"{name} raised {type(error).__name__}")


class Troubles:
    """The troubles of the last invocations that failed; safe across threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noted: OrderedDict[str, Trouble] = OrderedDict()

    def note(self, id: str, trouble: Trouble) -> None:
        """Note the trouble of an invocation."""
        with self._lock:
            self._noted[id] = trouble
            while len(self._noted) > TROUBLES:
                self._noted.popitem(last=False)

    def take(self, id: str) -> Trouble | None:
        """Take out the trouble of an invocation."""
        with self._lock:
            return self._noted.pop(id, None)


class OwnerRuntime(NamedTuple):
    """The part of a runtime that `owner_of` reads."""

    context: MemoryContext
    server_info: Any


def current_question(question: HumanMessage | None, messages: Sequence[AnyMessage]) -> HumanMessage | None:
    """Read a question as it is among the messages by now, or else as it was: what was masked since stays masked."""
    if question is None or question.id is None:
        return question
    there = (message for message in messages if isinstance(message, HumanMessage) and message.id == question.id)
    now = next(there, None)
    return question if now is None else HumanMessage(text_of(now), id=question.id)


def recollection_of(state: FourTierState) -> Recollection | None:
    """Read what was recalled; None before that, or after a resume."""
    held = state.get("recollection")
    return held.found if isinstance(held, HeldRecollection) else None


def tally_of(state: FourTierState) -> Tally | None:
    """Read the tally of the invocation, where `AgentLimits` keeps one."""
    held = cast("Mapping[str, Any]", state).get("tally")
    return held if isinstance(held, Tally) else None


def owner_named(context: MemoryContext) -> Owner:
    """Make the owner of memories from a user and project, outside of any run.

    Raises:
        NoUserError: No user is named.
    """
    user_hash(context.user)
    return Owner(cast(str, context.user), context.project)


def invocation_id(messages: Sequence[AnyMessage]) -> str:
    """Make the id of an invocation: the same when it goes on after a crash; empty where nothing is asked."""
    asked = steps.split(messages)
    return recording.invocation_id(asked.question, len(asked.before)) if asked.question else ""


def with_instructions(message: SystemMessage | None, text: str) -> SystemMessage:
    """Append to instructions, whose parts stay as they are, marks for a provider's cache included."""
    if message is None or isinstance(message.content, str):
        return SystemMessage(f"{message.text}\n\n{text}" if message else text)
    return SystemMessage([*message.content, {"type": "text", "text": text}])


def thread_of(runtime: Any) -> str:
    """Read the id of a thread; empty where there is none."""
    info = runtime.execution_info
    return (info.thread_id if info else None) or ""


def context_from(runtime: Any, default: MemoryContext | None) -> MemoryContext:
    """Read settings, user and project of an invocation, whatever its context is.

    Args:
        runtime: Its context may be a `MemoryContext`, a mapping, or any object with `user` and `project`.
        default: Settings of an agent whose context names none.
    """
    given = runtime.context
    if isinstance(given, MemoryContext | dict) or (given is None and default is None):
        return context_of(runtime)
    named = {name: getattr(given, name, None) for name in ("user", "project", "enable_memory", "auto_store")}
    known = {name: value for name, value in named.items() if value is not None}
    return (default or MemoryContext.of(None)).model_copy(update=known)


def scope_from(runtime: Any, context: MemoryContext, conversation: str) -> Scope:
    """Read which conversation an invocation belongs to, and in which store it is kept.

    Raises:
        NoUserError: No user is named.
    """
    owner = owner_of(OwnerRuntime(context, runtime.server_info))  # pyright: ignore[reportArgumentType]
    named = context.model_copy(update={"user": owner.user, "project": owner.project})
    return Scope(owner, conversation, named, runtime.store)
