"""Four tiers of memory for an agent you have already: a middleware for `langchain.agents.create_agent`.

before     facts, episodes and the conversation are recalled, once an invocation, in parallel and within a time limit
during     they stand in one message before the question; steps over the threshold are shown in few words
after      a summary, the results of tools, what was said and an episode are kept; facts follow in the background
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, NotRequired, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import OmitFromOutput, PrivateStateAttr
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import INVALID_TOOL_NAME_ERROR_TEMPLATE, ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command
from typing_extensions import TypedDict

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.engines.extractive.remembering.engine import ExtractiveConversationEngine
from agentic_memory_bank.engines.factory import AnswerPool, Judges
from agentic_memory_bank.graph.remember import build_remember
from agentic_memory_bank.nodes.kit import Clock, utc_now
from agentic_memory_bank.nodes.memories import Owner, context_of, owner_of
from agentic_memory_bank.nodes.react_mem import keeping, lessons, steps, working
from agentic_memory_bank.nodes.react_mem.assemble import assembled
from agentic_memory_bank.nodes.react_mem.kit import Queue, Scope, TierKit
from agentic_memory_bank.nodes.react_mem.opening import named
from agentic_memory_bank.nodes.react_mem.purging import purge
from agentic_memory_bank.nodes.react_mem.reading import Reader
from agentic_memory_bank.nodes.react_mem.recalling import Held, nothing, receipt, recollect
from agentic_memory_bank.nodes.react_mem.spending import Tally
from agentic_memory_bank.nodes.spoken import said
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.model_table import REMEMBER_ROLES
from agentic_memory_bank.state.react_mem import Condensed, Recollection
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.concurrency.outage_log import error_kind
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.memories.stores import RecordStores, stores_for
from agentic_memory_bank.tools.memories.validation import user_hash as hashed

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.asking import Asker
    from agentic_memory_bank.engines.llm.models import GivenModels

TROUBLES: Final = 64
"""Of how many invocations that failed it is known how far they came."""
REASON: Final = 200
"""Characters of what a tool says of its failure."""

_LOG = logging.getLogger(__name__)
_AMISS: Final = "Something is amiss with the memory of an agent (%s): it goes on without."
_Request = ModelRequest[Any]


class Mark(TypedDict):
    """Names an invocation."""

    id: str
    conversation: str
    end: bool
    """Whether the conversation ends with it."""
    question: NotRequired[HumanMessage]
    """Its words: another middleware may take the message itself out."""


class FourTierState(AgentState[Any]):
    """The state of an agent with four tiers of memory. What was recalled never enters a checkpoint."""

    conversation_id: NotRequired[Annotated[str, OmitFromOutput]]
    """Which conversation goes on. Default: the thread's id, or a new one."""
    end: NotRequired[Annotated[bool, OmitFromOutput, UntrackedValue]]
    """Whether the conversation ends with this invocation."""
    invocation: NotRequired[Annotated[Mark, PrivateStateAttr]]
    recollection: NotRequired[Annotated[Any, PrivateStateAttr, UntrackedValue]]
    """`Held`: whoever streams the state sees ids, and no word of what was recalled."""
    condensed: NotRequired[Annotated[Condensed, PrivateStateAttr]]


class Trouble(NamedTuple):
    """How far an invocation came that failed."""

    messages: Sequence[AnyMessage]
    kind: str


class FourTierMemory(AgentMiddleware[Any, Any, Any]):
    """Gives an agent of `create_agent` facts, episodes, its conversation and a working memory that is bounded.

    On whose behalf it works comes with each invocation, as `context={"user": ..., "project": ...}` (`MemoryContext`, or
    any object with these fields), or from whoever is authenticated on a server. With `enable_memory` false the agent's
    requests are what they are without it, and no store is touched. Nothing that fails in memory fails the agent.

    Args:
        engine: Who judges what is remembered, in place of chat models and of the extractive engine.
        models: A LangChain chat model, or a mapping of roles to chat models, for what is remembered: `extract` and
            `summarise`. Default: the models that the settings name, or else the extractive engine.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        store: Where memories are kept. Default: the server's store, or else a file.
        stores: The same, shared with other graphs, in place of `store` and `embeddings`.
        clock: Tells the time.
        answers: File in which answers to judgements are kept. Default: in memory.
        background: Keeps things after the answer. Default: a queue of its own, which `flush` waits for.
        context: Settings, user and project of an agent whose context says nothing of them.

    Raises:
        SettingsError: A setting has a value that is not allowed.

    Example:
        >>> agent = create_agent(model, tools, middleware=[FourTierMemory()], context_schema=MemoryContext)
        >>> agent.invoke({"messages": [...], "conversation_id": "c1"}, context=MemoryContext(user="ann"))
    """

    state_schema = FourTierState

    def __init__(
        self,
        *,
        engine: ConversationEngine | None = None,
        models: "GivenModels | None" = None,
        embeddings: Embeddings | None = None,
        store: BaseStore | None = None,
        stores: RecordStores | None = None,
        clock: Clock = utc_now,
        answers: Path | None = None,
        background: Queue | None = None,
        context: MemoryContext | None = None,
    ) -> None:
        super().__init__()
        offline = ExtractiveConversationEngine()
        shared = stores or stores_for(store, embeddings, clock, utc_now)
        self._queue = background or WorkerPool(MemoryContext.of(None).remember_queue)
        self.kit = TierKit(
            stores=shared,
            remember=build_remember(
                engine=engine, models=models, stores=shared, clock=clock, answers=answers, checkpointer=False
            ),
            queue=self._queue,
            offline=offline,
            judges=Judges(offline, engine, models, AnswerPool(answers), REMEMBER_ROLES, _chat_engine),
            clock=clock,
        )
        self._context = context
        self._reader = Reader(self.kit, self._scope_of)
        self.tools = self._reader.tools()
        self._troubles: LruCache[str, Trouble] = LruCache(TROUBLES)

    # --- hooks -----------------------------------------------------------------------------------------------------

    def before_agent(self, state: FourTierState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Name the invocation.

        Raises:
            NoUserError: Nobody is named whose memories are meant.
            InputError: The conversation's id is no text.
            SettingsError: The settings name embeddings that cannot be used, or others than those of this agent.
        """
        asked = steps.split(state["messages"])
        if not self._context_of(runtime).enable_memory or asked.question is None:
            return None
        id = _id_of(state["messages"])
        conversation = named(state.get("conversation_id") or _thread(runtime) or f"c{id[1:]}")
        self._scope_of(runtime, conversation)
        question = HumanMessage(said(asked.question), id=asked.question.id)
        mark: Mark = {"id": id, "conversation": conversation, "end": bool(state.get("end")), "question": question}
        return {"invocation": mark}

    def before_model(self, state: FourTierState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Recall, the first time or after a resume; and have a model condense older steps, where that is wanted."""
        mark = self._mark(state, runtime)
        if mark is None:
            return None
        scope = self._scope_of(runtime, mark["conversation"])
        update: dict[str, Any] = {}
        asked = _as_it_stands(mark.get("question"), state["messages"])
        if asked is not None and asked.content != cast(HumanMessage, mark.get("question")).content:
            update["invocation"] = {**mark, "question": asked}  # masked by another middleware in front
        known = _found(state)
        if known is None or known["invocation"] != mark["id"]:
            found = self._recollected(scope, state["messages"], mark["id"])
            update["recollection"] = Held(found)
            runtime.stream_writer({"memory": receipt(found)})
        if scope.context.condense_with_model:
            update |= self._condensed(state, scope, mark["id"])
        return update or None

    async def abefore_model(self, state: FourTierState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The same in a thread, so that nothing blocks."""
        return await asyncio.to_thread(self.before_model, state, runtime)

    def wrap_model_call(
        self, request: _Request, handler: Callable[[_Request], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Ask the model with what memory holds."""
        with self._noting(request.state, request.runtime):
            return handler(self._shown(request))

    async def awrap_model_call(
        self, request: _Request, handler: Callable[[_Request], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The same; the prompt is put together in a thread, so that nothing blocks."""
        with self._noting(request.state, request.runtime):
            return await handler(await asyncio.to_thread(self._shown, request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Call a tool; an error that ends the agent is noted."""
        with self._noting(request.state, request.runtime, request):
            return self._refused(request) or self._corrected(request, handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """The same."""
        with self._noting(request.state, request.runtime, request):
            return self._refused(request) or self._corrected(request, await handler(request))

    def after_agent(self, state: FourTierState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Write down what was done, and hand it over: facts and lessons follow, and nobody waits for them."""
        mark = self._mark(state, runtime)
        if mark is not None:
            scope = self._scope_of(runtime, mark["conversation"])
            messages = steps.answered(state["messages"], is_structured="structured_response" in state)
            self._keep_later(scope, mark["id"], messages, "", _as_it_stands(mark.get("question"), state["messages"]))
            if mark["end"]:
                self._end_later(scope)
        return None

    # --- for applications --------------------------------------------------------------------------------------------

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything is kept that was handed over; whether it is.

        Args:
            timeout: Seconds to wait at most.
        """
        flush = getattr(self._queue, "flush", None)
        return bool(flush(timeout)) if flush else True

    def end(self, conversation: str, runtime: Runtime[Any]) -> None:
        """End a conversation, in the background: its facts are drawn, several tasks become an episode.

        Raises:
            NoUserError: Nobody is named whose conversation is meant.
        """
        self._end_later(self._scope_of(runtime, conversation))

    def end_idle(self, user: str, project: str = "", *, store: BaseStore | None = None) -> int:
        """End conversations of a user that are silent for long; how many. Call it until it is 0.

        Args:
            user: Whose.
            project: Which.
            store: In which store, where none was given to the constructor.

        Raises:
            MemoryBankError: Something could not be kept.
        """
        context = (self._context or MemoryContext.of(None)).model_copy(update={"user": user, "project": project})
        return keeping.end_idle(self.kit, Scope(_named(context), "", context, store))

    def purge(
        self,
        user: str,
        project: str | None = None,
        conversation_id: str | None = None,
        *,
        store: BaseStore | None = None,
    ) -> int:
        """Erase what agents remember of a user, a project or a conversation; how many memories they were.

        Args:
            user: Whose.
            project: Which; an empty text means those without a project, None all.
            conversation_id: Which; None for all.
            store: In which store, where none was given to the constructor.

        Raises:
            NoUserError: Nobody is named.
            StorageError: The store failed; called once more, it goes on.
        """
        key = hashed(user)
        drop = getattr(self._queue, "drop", None)
        if conversation_id is None and drop:
            drop(key)
        self.flush()
        return purge(self.kit.stores.of(store), user, project, conversation_id)

    def failed(
        self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[Any], error: Exception
    ) -> None:
        """Keep how far an agent came that failed, in the background. For whoever runs it: an agent cannot see it.

        Args:
            messages: What it was given.
            conversation: Its id; empty for that of the thread.
            runtime: Of whoever runs it.
            error: What it raised.
        """
        asked = steps.split(messages)
        if asked.question is None or not self._context_of(runtime).enable_memory:
            return
        id = _id_of(messages)
        trouble = self._troubles.pop(id) or Trouble(messages, error_kind(error))
        scope = self._scope_of(runtime, conversation or _thread(runtime) or f"c{id[1:]}")
        self._keep_later(scope, id, trouble.messages, trouble.kind, asked.question)

    def recalled(self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[Any]) -> Recollection:
        """What memory holds on what is asked, for whoever answers without an agent.

        Args:
            messages: Of the conversation.
            conversation: Its id.
            runtime: Of whoever answers.
        """
        found = recollect(self.kit, self._scope_of(runtime, conversation), messages, _id_of(messages))
        runtime.stream_writer({"memory": receipt(found)})
        return found

    def done(self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[Any]) -> None:
        """Keep what was done, in the background. Arguments as in `recalled`, with the answer at the end."""
        self._keep_later(self._scope_of(runtime, conversation), _id_of(messages), messages, "")

    # --- inside ----------------------------------------------------------------------------------------------------

    def _shown(self, request: _Request) -> _Request:
        """The request with memory; unchanged where memory is off, but for our tools, which are not offered then."""
        state = cast("FourTierState", request.state)
        mark, own = self._mark(state, request.runtime), {id(tool) for tool in self.tools}
        others = [tool for tool in request.tools if id(tool) not in own]
        if mark is None:
            return request.override(tools=others)
        context = self._context_of(request.runtime)
        try:
            shown = assembled(request.messages, _found(state), context, mark["id"], state.get("condensed"))
        except Exception as error:
            _LOG.error(_AMISS, type(error).__name__)
            shown = None
        taken = {getattr(tool, "name", None) for tool in others}
        offered = [
            tool for tool in self._offered(shown is not None and shown.has_ids, context) if tool.name not in taken
        ]
        changed = request.override(tools=[*others, *offered])
        if context.additional_context:
            changed = changed.override(system_message=_with(changed.system_message, context.additional_context))
        return changed.override(messages=shown.messages) if shown else changed

    def _offered(self, has_ids: bool, context: MemoryContext) -> list[BaseTool]:
        reader, *others = self.tools
        return [
            *([reader] if has_ids else []),
            *(others if context.memory_tools else []),
        ]

    def _refused(self, request: ToolCallRequest) -> ToolMessage | None:
        """What the plain agent is told of a tool of ours that is not offered: that there is none."""
        is_hidden = request.tool is not None and id(request.tool) in self._hidden(request)
        return self._unknown(request) if is_hidden else None

    def _corrected(self, request: ToolCallRequest, result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
        """What the plain agent is told of a tool that it does not have, without those of ours that are not offered.

        Another middleware may well have such a tool, so that it is asked first.
        """
        start = INVALID_TOOL_NAME_ERROR_TEMPLATE.partition("{available_tools}")[0]
        if request.tool is not None or not isinstance(result, ToolMessage) or result.status != "error":
            return result
        is_unknown = result.text.startswith(start.format(requested_tool=request.tool_call["name"]))
        return self._unknown(request) if is_unknown else result

    def _hidden(self, request: ToolCallRequest) -> set[int]:
        state, context = cast("FourTierState", request.state), self._context_of(request.runtime)
        offered = self._offered(has_ids=True, context=context) if self._mark(state, request.runtime) else []
        return {id(tool) for tool in self.tools} - {id(tool) for tool in offered}

    def _unknown(self, request: ToolCallRequest) -> ToolMessage:
        hidden = {*self._hidden(request), id(self.tools[0])}
        name, others = request.tool_call["name"], [t.name for t in request.runtime.tools if id(t) not in hidden]
        text = INVALID_TOOL_NAME_ERROR_TEMPLATE.format(requested_tool=name, available_tools=", ".join(others))
        return ToolMessage(text, name=name, tool_call_id=request.tool_call["id"] or "", status="error")

    def _condensed(self, state: FourTierState, scope: Scope, id: str) -> dict[str, Any]:
        exchanges, told = steps.split(state["messages"]).exchanges, state.get("condensed")
        shown = working.fitted(exchanges, scope.context, id, told)
        is_new = shown.is_cut and not (told and told["invocation"] == id and shown.condensed == told["text"])
        made = lessons.condense(self.kit, scope, exchanges, id, told, _tally(state)) if is_new else None
        return {"condensed": made} if made else {}

    def _recollected(self, scope: Scope, messages: Sequence[AnyMessage], id: str) -> Recollection:
        try:
            return recollect(self.kit, scope, messages, id)
        except Exception as error:
            _LOG.error(_AMISS, type(error).__name__)
            return nothing(id, f"search: {type(error).__name__}")

    def _keep_later(
        self,
        scope: Scope,
        id: str,
        messages: Sequence[AnyMessage],
        failure: str,
        question: HumanMessage | None = None,
    ) -> None:
        asked = steps.split(messages)
        told = question or asked.question
        if told is not None:
            done = keeping.Done(id, self.kit.now(), told, asked.exchanges, failure)
            was_silent = keeping.keep_now(self.kit, scope, done)
            self._later(scope, partial(keeping.keep, self.kit, scope, done, was_silent=was_silent))

    def _end_later(self, scope: Scope) -> None:
        self._later(scope, partial(keeping.end, self.kit, scope, self.kit.now()))

    def _later(self, scope: Scope, job: Callable[[], object]) -> None:
        try:
            self._queue.submit(hashed(scope.owner.user), job)
        except Exception as error:  # a queue of the application's own
            _LOG.error(_AMISS, type(error).__name__)

    def _noting(self, state: Any, runtime: Any, call: ToolCallRequest | None = None) -> "_Noting":
        return _Noting(partial(self._note, cast("FourTierState", state), runtime, call))

    def _note(self, state: FourTierState, runtime: Any, call: ToolCallRequest | None, error: Exception) -> None:
        mark = self._mark(state, runtime)
        if mark is None:
            return
        messages, kind = list(state["messages"]), error_kind(error)
        if call is not None:
            text, name = f"{type(error).__name__}: {error}"[:REASON], call.tool_call["name"]
            messages.append(ToolMessage(text, tool_call_id=call.tool_call["id"] or "", name=name, status="error"))
            kind = f"{name} raised {type(error).__name__}"
        self._troubles.put(mark["id"], Trouble(messages, kind))

    def _mark(self, state: Mapping[str, Any] | FourTierState, runtime: Any) -> Mark | None:
        """Which invocation this is; None where memory is off."""
        return cast("Mark | None", state.get("invocation")) if self._context_of(runtime).enable_memory else None

    def _context_of(self, runtime: Any) -> MemoryContext:
        """Settings, user and project of an invocation, whatever its context is."""
        given = runtime.context
        if isinstance(given, MemoryContext | dict) or (given is None and self._context is None):
            return context_of(runtime)
        base = self._context or MemoryContext.of(None)
        named = {name: getattr(given, name, None) for name in ("user", "project", "enable_memory")}
        return base.model_copy(update={name: value for name, value in named.items() if value is not None})

    def _scope_of(self, runtime: Any, conversation: str) -> Scope:
        context = self._context_of(runtime)
        self.kit.stores.encoder.check(context)
        owner = owner_of(_Told(context, runtime.server_info))  # pyright: ignore[reportArgumentType]
        told = context.model_copy(update={"user": owner.user, "project": owner.project})
        return Scope(owner, conversation, told, runtime.store)


class _Told(NamedTuple):
    """As much of a runtime as says on whose behalf it runs."""

    context: MemoryContext
    server_info: Any


class _Noting:
    """Notes an error on its way to whoever called."""

    def __init__(self, note: Callable[[Exception], None]) -> None:
        self._note = note

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, GraphBubbleUp):
            self._note(error)


def _as_it_stands(question: HumanMessage | None, messages: Sequence[AnyMessage]) -> HumanMessage | None:
    """A question as it is among the messages by now, or else as it was: what was masked since is kept masked."""
    if question is None or question.id is None:
        return question
    there = (message for message in messages if isinstance(message, HumanMessage) and message.id == question.id)
    now = next(there, None)
    return question if now is None else HumanMessage(said(now), id=question.id)


def _found(state: FourTierState) -> Recollection | None:
    held = state.get("recollection")
    return held.found if isinstance(held, Held) else None


def _tally(state: FourTierState) -> Tally | None:
    """The account of the invocation, where `AgentLimits` keeps one."""
    held = cast("Mapping[str, Any]", state).get("tally")
    return held if isinstance(held, Tally) else None


def _named(context: MemoryContext) -> Owner:
    """On whose behalf something is done outside of any run."""
    hashed(context.user)
    return Owner(cast(str, context.user), context.project)


def _id_of(messages: Sequence[AnyMessage]) -> str:
    asked = steps.split(messages)
    return keeping.invocation_id(asked.question, len(asked.before)) if asked.question else ""


def _with(message: SystemMessage | None, text: str) -> SystemMessage:
    """Instructions with more behind them; their parts stay what they are, marks for a provider's cache included."""
    if message is None or isinstance(message.content, str):
        return SystemMessage(f"{message.text}\n\n{text}" if message else text)
    return SystemMessage([*message.content, {"type": "text", "text": text}])


def _thread(runtime: Any) -> str:
    info = runtime.execution_info
    return (info.thread_id if info else None) or ""


def _chat_engine(asker: "Asker", offline: ConversationEngine) -> ConversationEngine:
    from agentic_memory_bank.engines.llm.lessons import ChatLessonEngine

    return ChatLessonEngine(asker, offline)
