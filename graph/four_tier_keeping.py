"""Stands behind the hooks of an agent's memory: whom it serves, what it keeps later, what applications call."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware import AgentMiddleware
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.engines.factory import AnswerPool, EngineFactory, chat_conversation_engine
from agentic_memory_bank.graph.four_tier_state import (
    TROUBLES,
    OwnModels,
    ToolOffer,
    Trouble,
    context_from,
    invocation_id,
    owner_named,
    scope_from,
    thread_of,
)
from agentic_memory_bank.graph.remember import build_remember
from agentic_memory_bank.nodes.deps import BackgroundQueue, Clock, utc_now
from agentic_memory_bank.nodes.forgetting import ForgettingTurn
from agentic_memory_bank.nodes.memory_deps import mode_in_time
from agentic_memory_bank.nodes.react_mem import recording, steps, told
from agentic_memory_bank.nodes.react_mem.agent_tools import AgentMemoryTools
from agentic_memory_bank.nodes.react_mem.deletion import delete_memories
from agentic_memory_bank.nodes.react_mem.deps import AgentDeps, Scope
from agentic_memory_bank.nodes.react_mem.recall import recall_for_agent, receipt
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.model_table import REMEMBER_ROLES
from agentic_memory_bank.state.react_mem import Recollection
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.memories.stores import RecordStores, stores_for
from agentic_memory_bank.tools.memories.validation import user_hash

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels


_LOG = logging.getLogger(__name__)
AMISS: Final = "Something is amiss with the memory of an agent (%s): it goes on without."


class FourTierKeeping(AgentMiddleware[Any, Any, Any]):
    """Keeps what agents did, and forgets it. `FourTierMemory` has the arguments, and the hooks."""

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
        shared = stores or stores_for(store, embeddings, clock, utc_now)
        self._queue = background or WorkerPool(MemoryContext.of(None).remember_queue)
        offline, pool = ExtractiveConversationEngine(), AnswerPool(answers)

        def judged_by(given: "GivenModels | None", drawing: "GivenModels | None") -> AgentDeps:
            parts: dict[str, Any] = {"engine": engine, "models": drawing, "clock": clock, "answers": answers}
            engines = EngineFactory(offline, engine, given, pool, REMEMBER_ROLES, chat_conversation_engine)
            remember = build_remember(stores=shared, checkpointer=False, **parts)
            return AgentDeps(
                stores=shared, remember=remember, queue=self._queue, engine=offline, engines=engines, clock=clock
            )

        self._own = OwnModels(judged_by, models, is_judged=engine is not None)
        self.deps = self._own.default
        self._context = context
        self.tools = AgentMemoryTools(self.deps, self._scope_of).tools()
        self._offer = ToolOffer(self.tools)
        self._troubles: LruCache[str, Trouble] = LruCache(TROUBLES)

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

    def delete_all(
        self,
        user: str,
        project: str | None = None,
        conversation_id: str | None = None,
        *,
        store: BaseStore | None = None,
    ) -> int:
        """Delete what agents remember of a user, a project or a conversation, and count the memories.

        Args:
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
        trouble = self._troubles.pop(id) or Trouble.of(messages, None, error)
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

    def is_on(self, conversation: str, runtime: Runtime[Any]) -> bool:
        """Whether memory takes part in a conversation: neither its context nor its user has switched it off."""
        context = self._context_of(runtime)
        return context.enable_memory and self._is_on(self._scope_of(runtime, conversation))

    def told(self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[Any]) -> ForgettingTurn:
        """Forget what the last message tells to. Arguments as in `recalled`."""
        return self._told(self._scope_of(runtime, conversation), messages)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _is_on(self, scope: Scope) -> bool:
        try:
            mode = mode_in_time(self.deps.stores, scope.store, scope.owner, scope.context, scope.conversation)
        except Exception as error:  # whatever keeps anything asks again
            _LOG.error(AMISS, type(error).__name__)
            return True
        return mode != "off"

    def _told(self, scope: Scope, messages: Sequence[AnyMessage]) -> ForgettingTurn:
        try:
            return told.hear(self.deps, scope, messages)
        except Exception as error:
            _LOG.error(AMISS, type(error).__name__)
            return told.NOTHING

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
            was_silent, deps = recording.record_now(self.deps, scope, done), self._own.deps(scope.context, id)
            self._later(scope, partial(recording.record, deps, scope, done, was_silent=was_silent))

    def _end_later(self, scope: Scope) -> None:
        self._later(scope, partial(recording.end_conversation, self.deps, scope, self.deps.now()))

    def _later(self, scope: Scope, job: Callable[[], object]) -> None:
        try:
            self._queue.submit(user_hash(scope.owner.user), job)
        except Exception as error:  # a queue of the application's own
            _LOG.error(AMISS, type(error).__name__)

    def _context_of(self, runtime: Any) -> MemoryContext:
        """Read settings, user and project of an invocation, whatever type its context has."""
        return context_from(runtime, self._context)

    def _scope_of(self, runtime: Any, conversation: str) -> Scope:
        context = self._context_of(runtime)
        self.deps.stores.encoder.check(context)
        return scope_from(runtime, context, conversation)
