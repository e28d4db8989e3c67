"""Stage 3: what was said is written down, and handed over: memories are drawn from it later, by somebody else."""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.conversation.history import turns_in, unheard
from agentic_memory_bank.nodes.conversation.kit import TalkKit
from agentic_memory_bank.nodes.memories import context_of
from agentic_memory_bank.nodes.remember.views import handed_over, receipt
from agentic_memory_bank.nodes.spoken import turns_of
from agentic_memory_bank.state.conversations import MemoryContext, Talk, TalkUpdate


def remember(state: Talk, runtime: Runtime[MemoryContext], kit: TalkKit) -> TalkUpdate:
    """Write down and hand over what is new, unless memory is switched off. Nothing that fails here fails the message.

    Where too much waits already, memories are drawn with a later message.

    Raises:
        NoUserError: Nobody is named whose memories are meant.
    """
    if not context_of(runtime).enable_memory:
        return {"remembered": receipt("disabled")}
    conversation = state["conversation_id"]
    standing = state["standing"] if "standing" in state else kit.standing(conversation, runtime)
    new = unheard(state["messages"], turns_in(standing))
    if not new:
        return {"remembered": receipt("nothing")}
    is_queued, fault = kit.hand_over(new, conversation, runtime)
    return {"remembered": handed_over(len(turns_of(new)), fault, is_queued=is_queued)}
