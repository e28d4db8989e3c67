"""Stage 1: what the user's memories hold on the message, and where the conversation stands."""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.conversation.deps import ConversationDeps
from agentic_memory_bank.nodes.conversation.history import DISABLED, asked, conversation_of
from agentic_memory_bank.nodes.deps import context_of, owner_of
from agentic_memory_bank.state.conversations import ConversationState, ConversationUpdate, MemoryContext


def recall(state: ConversationState, runtime: Runtime[MemoryContext], deps: ConversationDeps) -> ConversationUpdate:
    """Recall, unless memory is switched off; no failure of the store fails the message.

    Raises:
        InputError: There is no message to answer, or the conversation's id is none.
        NoUserError: Nobody is named whose memories are meant.
        SettingsError: A model that the settings name cannot be asked, or is not that of this graph's embeddings.
    """
    asked(state.get("messages", []))
    if deps.engines:
        deps.engines.check(context_of(runtime))
    conversation = conversation_of(state, runtime)
    if state.get("mode") == "off":
        return {"conversation_id": conversation, "recalled": DISABLED, "block": "", "memories": []}
    owner_of(runtime)
    deps.stores.encoder.check(context_of(runtime))
    standing, found = deps.at_hand(state, conversation, runtime)
    return {
        "conversation_id": conversation,
        "standing": standing,
        "block": found.get("block", ""),
        "memories": found.get("memories", []),
        "recalled": found["receipt"],
    }
