"""Stage 0: what a user tells the memory to forget is forgotten, before anything is recalled, answered or kept."""

from functools import partial
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.nodes.conversation.deps import ConversationDeps
from agentic_memory_bank.nodes.conversation.history import DISABLED, asked, conversation_of, earlier, turns_in
from agentic_memory_bank.nodes.deps import context_of, owner_of
from agentic_memory_bank.nodes.forgetting import ForgettingListener
from agentic_memory_bank.nodes.remember.views import receipt
from agentic_memory_bank.state.conversations import ConversationState, ConversationUpdate, MemoryContext

Next = Literal["recall", "remember", "__end__"]


def told(state: ConversationState, runtime: Runtime[MemoryContext], deps: ConversationDeps) -> Command[Next]:
    """Forget what the message tells to, and answer; any other message goes on to be answered as ever.

    What such a message tells besides goes on to be remembered.

    Raises:
        InputError: There is no message to answer, or the conversation's id is none.
        NoUserError: Nobody is named whose memories are meant.
    """
    message, context = asked(state.get("messages", [])), context_of(runtime)
    if not context.enable_memory:
        return Command(goto="recall", update={"mode": "off"})
    conversation = conversation_of(state, runtime)
    mode = deps.mode(conversation, runtime)

    def said_before() -> list[Turn]:
        return earlier(state["messages"], turns_in(deps.standing(conversation, runtime)))

    records = partial(deps.stores.of, runtime.store, context)
    listener = ForgettingListener(
        records, owner_of(runtime), conversation, context, deps.clock(), deps.queue, deps.stores.encoder, said_before
    )
    heard = listener.hear(state["messages"], message)
    if not heard.is_answered:
        update: ConversationUpdate = {"messages": heard.messages} if heard.messages else {}
        return Command(goto="recall", update={**update, "conversation_id": conversation, "mode": mode})
    done: ConversationUpdate = {
        "messages": heard.messages,
        "conversation_id": conversation,
        "recalled": {**DISABLED, "outcome": "ignored", "reason": "told the memory"},
        "remembered": receipt("nothing"),
    }
    return Command(goto="remember" if heard.news else "__end__", update={**done, "mode": mode})
