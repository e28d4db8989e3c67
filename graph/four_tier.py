"""`FourTierMemory`, a middleware for `langchain.agents.create_agent`: four tiers of memory for an agent.

before     facts, episodes and the conversation are recalled, once an invocation, in parallel and within a time limit
during     they stand in one message before the question; steps over the threshold are shown in few words
after      a summary, the results of tools, what was said and an episode are kept; facts follow in the background
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.engines.factory import AnswerPool, EngineFactory, chat_conversation_engine
from agentic_memory_bank.graph.four_tier_state import (
    FourTierState,
    Mark,
    Trouble,
    Troubles,
    context_from,
    current_question,
    invocation_id,
    owner_named,
    recollection_of,
    scope_from,
    tally_of,
    thread_of,
    with_instructions,
)
from agentic_memory_bank.graph.remember import build_remember
from agentic_memory_bank.graph.tool_offer import ToolOffer
from agentic_memory_bank.nodes.deps import BackgroundQueue, Clock, utc_now
from agentic_memory_bank.nodes.messages import text_of
from agentic_memory_bank.nodes.react_mem import lessons, recording, steps, working_memory
from agentic_memory_bank.nodes.react_mem.agent_tools import AgentMemoryTools
from agentic_memory_bank.nodes.react_mem.assemble import assemble_prompt
from agentic_memory_bank.nodes.react_mem.deletion import delete_memories
from agentic_memory_bank.nodes.react_mem.deps import AgentDeps, Scope
from agentic_memory_bank.nodes.react_mem.lifecycle import checked_conversation
from agentic_memory_bank.nodes.react_mem.recall import HeldRecollection, empty_recollection, recall_for_agent, receipt
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.model_table import REMEMBER_ROLES
from agentic_memory_bank.state.react_mem import Recollection
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.memories.stores import RecordStores, stores_for
from agentic_memory_bank.tools.memories.validation import user_hash

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels


_LOG = logging.getLogger(__name__)
_AMISS: Final = "Something is amiss with the memory of an agent (%s): it goes on without."
_Request = ModelRequest[Any]


class FourTierMemory(AgentMiddleware[Any, Any, Any]):
    """Gives an agent of `create_agent` facts, episodes, its conversation and a bounded working memory.

    Each invocation names its user as `context={"user": ..., "project": ...}` (a mapping, a `MemoryContext`, or any
    object with these fields); on a server it is whoever is authenticated. With `enable_memory` false, the agent's
    requests are those of the plain agent, and no store is touched. A failure of memory never fails the agent.

    Args:
        engine: Judges what is remembered, in place of chat models and of the extractive engine.
        models: A LangChain chat model, or a mapping of roles to chat models, for what is remembered: `extract` and
            `summarise`. Default: the models that the settings name, or else the extractive engine.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        store: Store in which memories are kept. Default: the server's store, or else a file.
        stores: Stores shared with other graphs, in place of `store` and `embeddings`.
        clock: Returns the current time; a fixed one makes runs repeatable.
        answers: File in which answers to judgements are kept. Default: in memory.
        background: Queue for what is done after the answer. Default: one of its own, which `flush` waits for.
        context: Settings, user and project for invocations whose context names none.

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
        background: BackgroundQueue | None = None,
        context: MemoryContext | None = None,
    ) -> None:
        super().__init__()
        offline = ExtractiveConversationEngine()
        shared = stores or stores_for(store, embeddings, clock, utc_now)
        self._queue = background or WorkerPool(MemoryContext.of(None).remember_queue)
        self.deps = AgentDeps(
            stores=shared,
            remember=build_remember(
                engine=engine, models=models, stores=shared, clock=clock, answers=answers, checkpointer=False
            ),
            queue=self._queue,
            engine=offline,
            engines=EngineFactory(
                offline, engine, models, AnswerPool(answers), REMEMBER_ROLES, chat_conversation_engine
            ),
            clock=clock,
        )
        self._context = context
        self._reader = AgentMemoryTools(self.deps, self._scope_of)
        self.tools = self._reader.tools()
        self._offer = ToolOffer(self.tools)
        self._troubles = Troubles()

    # --- hooks -----------------------------------------------------------------------------------------------------

    def before_agent(self, state: FourTierState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Open the invocation: check its user, and give it an id.

        Raises:
            NoUserError: No user is named.
            InputError: The conversation's id is no text.
            SettingsError: The settings name embeddings that cannot be used, or others than those of this agent.
        """
        asked = steps.split(state["messages"])
        if not self._context_of(runtime).enable_memory or asked.question is None:
            return None
        id = invocation_id(state["messages"])
        conversation = checked_conversation(state.get("conversation_id") or thread_of(runtime) or f"c{id[1:]}")
        self._scope_of(runtime, conversation)
        question = HumanMessage(text_of(asked.question), id=asked.question.id)
        mark: Mark = {"id": id, "conversation": conversation, "end": bool(state.get("end")), "question": question}
        return {"invocation": mark}

    def before_model(self, state: FourTierState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Recall, at first and after a resume; have a model condense older steps where `condense_with_model` is on."""
        mark = self._mark(state, runtime)
        if mark is None:
            return None
        scope = self._scope_of(runtime, mark["conversation"])
        update: dict[str, Any] = {}
        asked = current_question(mark.get("question"), state["messages"])
        if asked is not None and asked.content != cast(HumanMessage, mark.get("question")).content:
            update["invocation"] = {**mark, "question": asked}  # masked by another middleware in front
        known = recollection_of(state)
        if known is None or known["invocation"] != mark["id"]:
            found = self._recollected(scope, state["messages"], mark["id"])
            update["recollection"] = HeldRecollection(found)
            runtime.stream_writer({"memory": receipt(found)})
        if scope.context.condense_with_model:
            update |= self._condensed(state, scope, mark["id"])
        return update or None

    async def abefore_model(self, state: FourTierState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Do what `before_model` does, in a thread so that nothing blocks."""
        return await asyncio.to_thread(self.before_model, state, runtime)

    def wrap_model_call(
        self, request: _Request, handler: Callable[[_Request], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add facts, episodes, conversation and condensed steps to the request."""
        with self._noting(request.state, request.runtime):
            return handler(self._shown(request))

    async def awrap_model_call(
        self, request: _Request, handler: Callable[[_Request], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Do what `wrap_model_call` does; the prompt is made in a thread so that nothing blocks."""
        with self._noting(request.state, request.runtime):
            return await handler(await asyncio.to_thread(self._shown, request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Call a tool; note an error that ends the agent."""
        with self._noting(request.state, request.runtime, request):
            context = self._active_context(request)
            return self._offer.refusal(request, context) or self._offer.corrected(request, handler(request), context)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Do what `wrap_tool_call` does."""
        with self._noting(request.state, request.runtime, request):
            context = self._active_context(request)
            refusal = self._offer.refusal(request, context)
            return refusal or self._offer.corrected(request, await handler(request), context)

    def after_agent(self, state: FourTierState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store what was done, and queue the extraction of facts and lessons."""
        mark = self._mark(state, runtime)
        if mark is not None:
            scope = self._scope_of(runtime, mark["conversation"])
            messages = steps.answered(state["messages"], is_structured="structured_response" in state)
            self._keep_later(scope, mark["id"], messages, "", current_question(mark.get("question"), state["messages"]))
            if mark["end"]:
                self._end_later(scope)
        return None

    # --- for applications --------------------------------------------------------------------------------------------

    def flush(self, timeout: float | None = None) -> bool:
        """Wait for the queue; return whether all of it was done in time."""
        flush = getattr(self._queue, "flush", None)
        return bool(flush(timeout)) if flush else True

    def end(self, conversation: str, runtime: Runtime[Any]) -> None:
        """End a conversation in the background: extract its facts, and make one episode of several tasks.

        Raises:
            NoUserError: No user is named.
        """
        self._end_later(self._scope_of(runtime, conversation))

    def end_idle(self, user: str, project: str = "", *, store: BaseStore | None = None) -> int:
        """End conversations of a user that have long been silent, and count them; call it until it returns 0.

        Args:
            user: Id of the user whose conversations are meant.
            project: Project whose memories are meant; an empty text for those without one.
            store: Store of the memories, where none was given to the constructor.

        Raises:
            MemoryBankError: Something could not be stored.
        """
        context = (self._context or MemoryContext.of(None)).model_copy(update={"user": user, "project": project})
        return recording.end_idle(self.deps, Scope(owner_named(context), "", context, store))

    def purge(
        self,
        user: str,
        project: str | None = None,
        conversation_id: str | None = None,
        *,
        store: BaseStore | None = None,
    ) -> int:
        """Delete what agents remember of a user, a project or a conversation, and count the memories.

        Args:
            user: Id of the user whose memories are meant.
            project: Project whose memories are meant; an empty text for those without one, None for all.
            conversation_id: Id of the conversation; None for all.
            store: Store of the memories, where none was given to the constructor.

        Raises:
            NoUserError: No user is named.
            StorageError: The store failed; another call goes on where this one ended.
        """
        key = user_hash(user)
        drop = getattr(self._queue, "drop", None)
        if conversation_id is None and drop:
            drop(key)
        self.flush()
        return delete_memories(self.deps.stores.of(store), user, project, conversation_id)

    def failed(
        self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[Any], error: Exception
    ) -> None:
        """Store in the background how far a failed agent came; called by whoever runs it, who sees it fail."""
        asked = steps.split(messages)
        if asked.question is None or not self._context_of(runtime).enable_memory:
            return
        id = invocation_id(messages)
        trouble = self._troubles.take(id) or Trouble.of(messages, None, error)
        scope = self._scope_of(runtime, conversation or thread_of(runtime) or f"c{id[1:]}")
        self._keep_later(scope, id, trouble.messages, trouble.kind, asked.question)

    def recalled(self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[Any]) -> Recollection:
        """Recall for whoever answers without an agent."""
        found = recall_for_agent(self.deps, self._scope_of(runtime, conversation), messages, invocation_id(messages))
        runtime.stream_writer({"memory": receipt(found)})
        return found

    def done(self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[Any]) -> None:
        """Store in the background what was done without an agent; arguments as in `recalled`, then the answer."""
        self._keep_later(self._scope_of(runtime, conversation), invocation_id(messages), messages, "")

    # --- inside ----------------------------------------------------------------------------------------------------

    def _shown(self, request: _Request) -> _Request:
        """Add memory to a request; where memory is off, only the tools of memory are taken out."""
        state = cast("FourTierState", request.state)
        mark, own = self._mark(state, request.runtime), {id(tool) for tool in self.tools}
        others = [tool for tool in request.tools if id(tool) not in own]
        if mark is None:
            return request.override(tools=others)
        context = self._context_of(request.runtime)
        try:
            shown = assemble_prompt(
                request.messages, recollection_of(state), context, mark["id"], state.get("condensed")
            )
        except Exception as error:
            _LOG.error(_AMISS, type(error).__name__)
            shown = None
        taken = {getattr(tool, "name", None) for tool in others}
        offered = [
            tool
            for tool in self._offer.tools(context, has_ids=shown is not None and shown.has_ids)
            if tool.name not in taken
        ]
        changed = request.override(tools=[*others, *offered])
        if context.additional_context:
            changed = changed.override(
                system_message=with_instructions(changed.system_message, context.additional_context)
            )
        return changed.override(messages=shown.messages) if shown else changed

    def _active_context(self, request: ToolCallRequest) -> MemoryContext | None:
        """Read the context of an invocation; None where memory is off."""
        is_on = self._mark(cast("FourTierState", request.state), request.runtime)
        return self._context_of(request.runtime) if is_on else None

    def _condensed(self, state: FourTierState, scope: Scope, id: str) -> dict[str, Any]:
        exchanges, told = steps.split(state["messages"]).exchanges, state.get("condensed")
        shown = working_memory.fitted(exchanges, scope.context, id, told)
        is_new = shown.is_cut and not (told and told["invocation"] == id and shown.condensed == told["text"])
        made = lessons.condense(self.deps, scope, exchanges, id, told, tally_of(state)) if is_new else None
        return {"condensed": made} if made else {}

    def _recollected(self, scope: Scope, messages: Sequence[AnyMessage], id: str) -> Recollection:
        try:
            return recall_for_agent(self.deps, scope, messages, id)
        except Exception as error:
            _LOG.error(_AMISS, type(error).__name__)
            return empty_recollection(id, f"search: {type(error).__name__}")

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
            done = recording.DoneTask(id, self.deps.now(), told, asked.exchanges, failure)
            was_silent = recording.record_now(self.deps, scope, done)
            self._later(scope, partial(recording.record, self.deps, scope, done, was_silent=was_silent))

    def _end_later(self, scope: Scope) -> None:
        self._later(scope, partial(recording.end_conversation, self.deps, scope, self.deps.now()))

    def _later(self, scope: Scope, job: Callable[[], object]) -> None:
        try:
            self._queue.submit(user_hash(scope.owner.user), job)
        except Exception as error:  # a queue of the application's own
            _LOG.error(_AMISS, type(error).__name__)

    @contextmanager
    def _noting(self, state: Any, runtime: Any, call: ToolCallRequest | None = None) -> Iterator[None]:
        """Note an error on its way to the caller."""
        try:
            yield
        except GraphBubbleUp:
            raise
        except Exception as error:
            self._note(cast("FourTierState", state), runtime, call, error)
            raise

    def _note(self, state: FourTierState, runtime: Any, call: ToolCallRequest | None, error: Exception) -> None:
        mark = self._mark(state, runtime)
        if mark is None:
            return
        self._troubles.note(mark["id"], Trouble.of(state["messages"], call, error))

    def _mark(self, state: Mapping[str, Any] | FourTierState, runtime: Any) -> Mark | None:
        """Read the id of the invocation; None where memory is off."""
        return cast("Mark | None", state.get("invocation")) if self._context_of(runtime).enable_memory else None

    def _context_of(self, runtime: Any) -> MemoryContext:
        """Read settings, user and project of an invocation, whatever type its context has."""
        return context_from(runtime, self._context)

    def _scope_of(self, runtime: Any, conversation: str) -> Scope:
        context = self._context_of(runtime)
        self.deps.stores.encoder.check(context)
        return scope_from(runtime, context, conversation)
