"""What the stages of a conversation work with besides state and settings: who answers, recalls and remembers."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, cast
from weakref import WeakSet

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import ConversationEngine, Turn
from agentic_memory_bank.engines.factory import MeteredEngine
from agentic_memory_bank.engines.responder import Responder
from agentic_memory_bank.nodes.conversation.fitting import ConversationHistory, spare
from agentic_memory_bank.nodes.conversation.history import (
    as_messages,
    asked,
    earlier,
    new_messages,
    snapshot_of,
    turns_in,
    without,
)
from agentic_memory_bank.nodes.deps import BackgroundQueue, EngineDeps, Graph, Owner, context_of, owner_of
from agentic_memory_bank.nodes.memory_deps import mode_in_time
from agentic_memory_bank.nodes.messages import turns_of
from agentic_memory_bank.nodes.remember.saving import IncomingTurns, save_turns
from agentic_memory_bank.state.conversations import (
    ConversationSnapshot,
    ConversationState,
    MemoryContext,
    MemoryMode,
    RecallOutput,
    StoredConversation,
)
from agentic_memory_bank.tools.concurrency.circuit_breaker import CallFailed, circuit_breaker_of
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.memories.validation import stamp, user_hash

STATE_SHARE: Final = 0.5
"""Share of the time for recalling in which a conversation's state is read."""
LEAST_SHARE: Final = 0.1
"""Share of it that is left for recalling in any case."""
HISTORY: Final = 6
"""Turns before a message by which it is understood when memories are recalled for it."""
_DURABILITY: Final = "__pregel_durability"
"""How LangGraph hands the durability of a run on to graphs in it: with `sync` one without a saver fails (1.2.22)."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class QueuedTurns:
    """Turns that memories are drawn from. It lives as long as the job that holds it: nothing outlasts the queue."""

    owner: Owner
    conversation: str
    messages: Sequence[AnyMessage]
    turns: Sequence[Turn]
    at: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationDeps(EngineDeps[Responder]):
    """Dependencies of a conversation's stages; `engine` answers."""

    stores: RecordStores
    recall: Graph
    remember: Graph
    queue: BackgroundQueue
    summariser: ConversationEngine
    """Summarises a conversation of which nothing is kept yet."""
    waiting: "WeakSet[QueuedTurns]" = field(default_factory=WeakSet)
    """What was handed over to this process and could not be written down yet."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def mode(self, conversation: str, runtime: Runtime[MemoryContext]) -> MemoryMode:
        """Whether memories are recalled and kept; a store that does not say so in time is asked again before it keeps.

        Args:
            conversation: Its id.
            runtime: Names user and store.
        """
        context = context_of(runtime)
        return mode_in_time(self.stores, runtime.store, owner_of(runtime), context, conversation)

    def responder_for(self, runtime: Runtime[MemoryContext], conversation: str) -> MeteredEngine[Responder]:
        """Make the responder of a run; its answer is never taken from an earlier run.

        Args:
            runtime: Holds settings, thread and stream.
            conversation: Id of the conversation.
        """
        info = runtime.execution_info
        return self.metered(
            context_of(runtime),
            (info.thread_id if info else None) or conversation,
            f"{conversation} {self.clock().isoformat()}",
            on_event=runtime.stream_writer,
        )

    def standing(self, conversation: str, runtime: Runtime[MemoryContext]) -> ConversationSnapshot:
        """Where a conversation stands; as if nothing was kept of it where the store does not say so in time.

        What waits is looked at first: in the meantime it may be written, and then it is found twice, not never.
        """
        context, owner = context_of(runtime), owner_of(runtime)
        with self.lock:
            handed = sorted(self.waiting, key=lambda one: one.number)
        waiting = [one.turns for one in handed if (one.owner, one.conversation) == (owner, conversation)]

        def read() -> StoredConversation | None:
            records = self.stores.of(runtime.store, context)
            return records.conversations.get(owner.user, owner.project, conversation)

        def is_busy() -> bool:
            return self.stores.of(runtime.store, context).is_busy(owner.user)

        seconds = context.recall_timeout
        try:
            kept = circuit_breaker_of(self.stores).call(read, STATE_SHARE * seconds, seconds, is_busy)
        except CallFailed:
            kept = None
        return snapshot_of(kept, waiting)

    def recalled(
        self, state: ConversationState, standing: ConversationSnapshot, runtime: Runtime[MemoryContext], seconds: float
    ) -> RecallOutput:
        """What is recalled for the message that is answered, which is understood by the turns before it.

        Args:
            state: State of the conversation; its last message is recalled for.
            standing: The conversation as it was kept before them.
            runtime: LangGraph's runtime, whose context names the user and which may bring a store.
            seconds: How long it may take; nothing that fails here fails the message.
        """
        before, context = turns_in(standing), context_of(runtime)
        messages = [*as_messages(earlier(state["messages"], before)[-HISTORY:]), asked(state["messages"])]
        config = cast(RunnableConfig, {"configurable": {_DURABILITY: "exit"}})
        talked = ConversationHistory(state["messages"], before, standing["count"], lambda _: standing["digest"], "")
        tokens = max(context.recall_tokens, spare(talked, shown_tokens(context)))
        context = context.model_copy(update={"recall_timeout": seconds, "recall_tokens": tokens})
        wanted = {"messages": messages, "limit": context.conversation_limit}
        return cast(RecallOutput, self.recall.invoke(wanted, config, context=context))

    def at_hand(
        self, state: ConversationState, conversation: str, runtime: Runtime[MemoryContext]
    ) -> tuple[ConversationSnapshot, RecallOutput]:
        """Load the state of a conversation and recall for its message, both within the time for recalling.

        New messages are on disk before they are answered. Memories are recalled before that, so that a message does not
        recall itself.
        """
        limit, begun = context_of(runtime).recall_timeout, time.monotonic()

        def left() -> float:
            return max(LEAST_SHARE * limit, limit - (time.monotonic() - begun))

        standing = self.standing(conversation, runtime)
        standing = without(standing, turns_of([asked(state["messages"])]))  # kept already where a run goes on
        found = self.recalled(state, standing, runtime, left())
        if state.get("mode") == "on" and (new := new_messages(state["messages"], turns_in(standing))):
            self.keep(new, conversation, runtime, left())
        return standing, found

    def keep(
        self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[MemoryContext], seconds: float
    ) -> str:
        """Write messages down; what went wrong, empty where they are on disk.

        Args:
            messages: Messages that were not kept before.
            conversation: Id of the conversation.
            runtime: LangGraph's runtime, whose context names the user and which may bring a store.
            seconds: How long it may take.
        """
        owner, context = owner_of(runtime), context_of(runtime)
        said = IncomingTurns(owner, conversation, messages, context, self.clock())
        return save_turns(self.stores, runtime.store, said, seconds)

    def hand_over(
        self, messages: Sequence[AnyMessage], conversation: str, runtime: Runtime[MemoryContext]
    ) -> tuple[bool, str]:
        """Write messages down now, and have memories drawn from them later.

        Args:
            messages: Messages that were not kept before.
            conversation: Id of the conversation.
            runtime: LangGraph's runtime, whose context names the user and which may bring a store.

        Returns:
            Whether memories are drawn later, which they are not where too many conversations wait, and why the messages
            are not on disk; empty where they are.
        """
        owner = owner_of(runtime)
        context = context_of(runtime).model_copy(update={"user": owner.user, "project": owner.project})
        fault, at = self.keep(messages, conversation, runtime, context.recall_timeout), stamp(self.clock())
        with self.lock:
            number = max((one.number for one in self.waiting), default=0) + 1
            handed = QueuedTurns(owner, conversation, messages, turns_of(messages), at, number)
            if fault:
                self.waiting.add(handed)
        job = partial(_remember, self.remember, runtime.store, handed, context)
        return self.queue.submit(user_hash(owner.user), job), fault


def shown_tokens(context: MemoryContext) -> int:
    """Tokens that a model is shown of a conversation in place of all that was said."""
    return min(context.conversation_tokens, context.role("react").text_tokens(context.window_ratio))


def _remember(graph: Graph, store: BaseStore | None, handed: QueuedTurns, context: MemoryContext) -> Mapping[str, Any]:
    """Remember what was handed over, on a thread of the queue and in the store of the run it came from."""
    own = graph if store is None else graph.copy({"store": store})
    said = {"messages": list(handed.messages), "conversation_id": handed.conversation, "handed_at": handed.at}
    return own.invoke(said, context=context)
