"""`FourTierMemory`, a middleware for `langchain.agents.create_agent`: four tiers of memory for an agent.

before     facts, episodes and the conversation are recalled, once an invocation, in parallel and within a time limit
during     they stand in one message before the question; steps over the threshold are shown in few words
after      a summary, the results of tools, what was said and an episode are kept; facts follow in the background
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from langchain.agents.middleware import ModelRequest, ModelResponse, hook_config
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command

from agentic_memory_bank.graph.four_tier_keeping import AMISS, FourTierKeeping
from agentic_memory_bank.graph.four_tier_state import (
    FourTierState,
    Mark,
    Trouble,
    current_question,
    invocation_id,
    recollection_of,
    tally_of,
    thread_of,
    with_instructions,
)
from agentic_memory_bank.nodes.agent_messages import calls_no_tools
from agentic_memory_bank.nodes.messages import text_of
from agentic_memory_bank.nodes.react_mem import lessons, steps, working_memory
from agentic_memory_bank.nodes.react_mem.assemble import assemble_prompt
from agentic_memory_bank.nodes.react_mem.deps import Scope
from agentic_memory_bank.nodes.react_mem.lifecycle import checked_conversation
from agentic_memory_bank.nodes.react_mem.recall import HeldRecollection, empty_recollection, recall_for_agent, receipt
from agentic_memory_bank.nodes.react_mem.told import kept
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.react_mem import Recollection

_LOG = logging.getLogger(__name__)
_Request = ModelRequest[Any]


class FourTierMemory(FourTierKeeping):
    """Gives an agent of `create_agent` facts, episodes, its conversation and a bounded working memory.

    Each invocation names its user as `context={"user": ..., "project": ...}` (a mapping, a `MemoryContext`, or any
    object with these fields); on a server it is whoever is authenticated. With `enable_memory` false, the agent's
    requests are those of the plain agent, and no store is touched. A failure of memory never fails the agent.

    Args:
        engine: Judges what is remembered, in place of chat models: `ExtractiveConversationEngine()` does by rule.
        models: A LangChain chat model, or a mapping of roles to chat models, for what is remembered: `extract` and
            `summarise`. Default: the models that the settings name, or else the agent's own model.
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

    # --- hooks -----------------------------------------------------------------------------------------------------

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: FourTierState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Open the invocation; one that only tells memory to forget is answered here, and no model is asked.

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
        scope, ends = self._scope_of(runtime, conversation), bool(state.get("end"))
        heard = self._told(scope, state["messages"])
        if heard.is_answered:
            self._keep_later(scope, id, state["messages"], "", heard.news) if heard.news else None
            self._end_later(scope) if ends else None
            return {"invocation": None, "messages": heard.messages, "jump_to": "end"}
        if not self._is_on(scope):
            return {"invocation": None}
        now = current_question(asked.question, heard.messages) or asked.question  # without what is not to be kept
        question = HumanMessage(text_of(now), id=asked.question.id)
        mark: Mark = {"id": id, "conversation": conversation, "end": ends, "question": question}
        return {"invocation": mark, **({"messages": heard.messages} if heard.messages else {})}

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

    # --- inside ----------------------------------------------------------------------------------------------------

    def _shown(self, request: _Request) -> _Request:
        """Add memory to a request; where memory is off, only the tools of memory are taken out."""
        state = cast("FourTierState", request.state)
        mark, own = self._mark(state, request.runtime), {id(tool) for tool in self.tools}
        others = [tool for tool in request.tools if id(tool) not in own]
        if mark is None:
            return request.override(tools=others)
        self._own.note(mark["id"], request.model)
        context, messages = self._context_of(request.runtime), kept(request.messages)
        if len(messages) < len(request.messages):
            request = request.override(messages=messages)
        try:
            shown = assemble_prompt(messages, recollection_of(state), context, mark["id"], state.get("condensed"))
        except Exception as error:
            _LOG.error(AMISS, type(error).__name__)
            shown = None
        taken = {getattr(tool, "name", None) for tool in others}
        offered = [
            tool
            for tool in self._offer.tools(context, has_ids=shown is not None and shown.has_ids)
            if tool.name not in taken and not calls_no_tools(request.model)
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
        deps = self._own.deps(scope.context, id)
        made = lessons.condense(deps, scope, exchanges, id, told, tally_of(state)) if is_new else None
        return {"condensed": made} if made else {}

    def _recollected(self, scope: Scope, messages: Sequence[AnyMessage], id: str) -> Recollection:
        try:
            return recall_for_agent(self.deps, scope, messages, id)
        except Exception as error:
            _LOG.error(AMISS, type(error).__name__)
            return empty_recollection(id, f"search: {type(error).__name__}")

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
        self._troubles.put(mark["id"], Trouble.of(state["messages"], call, error))

    def _mark(self, state: Mapping[str, Any] | FourTierState, runtime: Any) -> Mark | None:
        """Read the id of the invocation; None where memory is off."""
        return cast("Mark | None", state.get("invocation")) if self._context_of(runtime).enable_memory else None
