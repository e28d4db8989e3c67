"""Stage 3: what was said is stored, and queued for the extraction of memories."""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.conversation.deps import ConversationDeps
from agentic_memory_bank.nodes.conversation.history import new_messages, turns_in
from agentic_memory_bank.nodes.messages import turns_of
from agentic_memory_bank.nodes.remember.views import queued_receipt, receipt
from agentic_memory_bank.state.conversations import ConversationState, ConversationUpdate, MemoryContext


def remember(state: ConversationState, runtime: Runtime[MemoryContext], deps: ConversationDeps) -> ConversationUpdate:
    """Store and queue what is new, unless memory is off; a failure here does not fail the message.

    Where too much waits already, memories are drawn with a later message.

    Raises:
        NoUserError: Nobody is named whose memories are meant.
    """
    if state.get("mode") != "on":
        return {"remembered": receipt("disabled")}
    conversation = state["conversation_id"]
    standing = state["standing"] if "standing" in state else deps.standing(conversation, runtime)
    new = new_messages(state["messages"], turns_in(standing))
    if not new:
        return {"remembered": receipt("nothing")}
    is_queued, fault = deps.hand_over(new, conversation, runtime)
    return {"remembered": queued_receipt(len(turns_of(new)), fault, is_queued=is_queued)}
