"""The state of an agent with four tiers of memory and how it is read; which tools it is offered, which model judges."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, NotRequired, cast

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import OmitFromOutput, PrivateStateAttr
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.prebuilt.tool_node import INVALID_TOOL_NAME_ERROR_TEMPLATE, ToolCallRequest
from langgraph.types import Command
from typing_extensions import TypedDict

from agentic_memory_bank.nodes.deps import Owner, context_of, owner_of
from agentic_memory_bank.nodes.messages import text_of
from agentic_memory_bank.nodes.react_mem import recording, steps
from agentic_memory_bank.nodes.react_mem.budget import Tally
from agentic_memory_bank.nodes.react_mem.deps import AgentDeps, Scope
from agentic_memory_bank.nodes.react_mem.recall import HeldRecollection
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.model_table import REMEMBER_ROLES
from agentic_memory_bank.state.react_mem import Condensed, Recollection
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.circuit_breaker import error_kind
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.memories.validation import user_hash

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

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


class ToolOffer:
    """Chooses among the tools of an agent's memory.

    Args:
        tools: `deep_retrieval` first, then those that a setting offers.
    """

    def __init__(self, tools: Sequence[BaseTool]) -> None:
        self._tools = tools

    def tools(self, context: MemoryContext, *, has_ids: bool) -> list[BaseTool]:
        """List the tools that are offered.

        Args:
            context: Its `memory_tools` offers those that search and store facts.
            has_ids: Whether there is anything that `deep_retrieval` can read.
        """
        reader, *others = self._tools
        return [*([reader] if has_ids else []), *(others if context.memory_tools else [])]

    def refusal(self, request: ToolCallRequest, context: MemoryContext | None) -> ToolMessage | None:
        """Answer a call of a tool that is not offered: that there is no such tool; None for any other call.

        Args:
            context: None where memory is off.
        """
        is_hidden = request.tool is not None and id(request.tool) in self._hidden(context)
        return self._unknown(request, context) if is_hidden else None

    def corrected(
        self, request: ToolCallRequest, result: ToolMessage | Command[Any], context: MemoryContext | None
    ) -> ToolMessage | Command[Any]:
        """Take the tools that are not offered out of the list that an agent is shown when it calls an unknown tool.

        Another middleware may well have such a tool, so that it is asked first.
        """
        start = INVALID_TOOL_NAME_ERROR_TEMPLATE.partition("{available_tools}")[0]
        if request.tool is not None or not isinstance(result, ToolMessage) or result.status != "error":
            return result
        is_unknown = result.text.startswith(start.format(requested_tool=request.tool_call["name"]))
        return self._unknown(request, context) if is_unknown else result

    def _hidden(self, context: MemoryContext | None) -> set[int]:
        offered = self.tools(context, has_ids=True) if context else []
        return {id(tool) for tool in self._tools} - {id(tool) for tool in offered}

    def _unknown(self, request: ToolCallRequest, context: MemoryContext | None) -> ToolMessage:
        hidden = {*self._hidden(context), id(self._tools[0])}
        name, others = request.tool_call["name"], [t.name for t in request.runtime.tools if id(t) not in hidden]
        text = INVALID_TOOL_NAME_ERROR_TEMPLATE.format(requested_tool=name, available_tools=", ".join(others))
        return ToolMessage(text, name=name, tool_call_id=request.tool_call["id"] or "", status="error")


INVOCATIONS: Final = 64
"""Of how many invocations it is known which model answered."""
MODELS: Final = 4
"""For how many models what judges is kept."""


class OwnModels:
    """Knows which model answered an invocation, and has it judge.

    Args:
        made_with: Makes what an agent's memory works with: the models that judge, and those that draw memories.
        is_judged: Whether an engine was given, so that no model is asked.
    """

    def __init__(
        self,
        made_with: Callable[["GivenModels | None", "GivenModels | None"], AgentDeps],
        models: "GivenModels | None",
        *,
        is_judged: bool,
    ) -> None:
        self.default = made_with(models, models)
        """What stands in where an agent has no model, or another one is named."""
        named = isinstance(models, Mapping) and any(role in models for role in REMEMBER_ROLES)
        self._is_given = is_judged or named or isinstance(models, BaseChatModel)
        self._made_with = made_with
        self._asked: LruCache[str, BaseChatModel] = LruCache(INVOCATIONS)
        self._made: LruCache[int, AgentDeps] = LruCache(MODELS)

    def note(self, id: str, model: Any) -> None:
        """Note which model an invocation asks."""
        if not self._is_given and isinstance(model, BaseChatModel):
            self._asked.put(id, model)

    def deps(self, settings: Settings, id: str) -> AgentDeps:
        """What judges an invocation: by rule where its model is not known, or a budget of money lacks its price."""
        model = self._asked.peek(id)
        if model is None or settings.has_models(REMEMBER_ROLES) or not _is_affordable(settings, model):
            return self.default
        # Where a conversation stands is told by an agent's own summaries: nobody is paid to say it once more.
        return self._made.get(_address(model), lambda: self._made_with(model, {"extract": model}))


def _address(model: BaseChatModel) -> int:
    """By what a model is known as long as it is kept, which what is made of it sees to."""
    return id(model)


def _is_affordable(settings: Settings, model: BaseChatModel) -> bool:
    from agentic_memory_bank.engines.llm.models import name_of

    return settings.budget_money is None or name_of(model) in settings.prices
