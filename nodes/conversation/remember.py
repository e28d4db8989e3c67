"""Stage 3: what was said is handed over to be remembered, later and by somebody else; nobody waits for it."""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.conversation.history import turns_in, unheard
from agentic_memory_bank.nodes.conversation.kit import TalkKit
from agentic_memory_bank.nodes.memories import context_of
from agentic_memory_bank.nodes.spoken import turns_of
from agentic_memory_bank.state.conversations import MemoryContext, RememberReceipt, Talk, TalkUpdate


def remember(state: Talk, runtime: Runtime[MemoryContext], kit: TalkKit) -> TalkUpdate:
    """Hand over what is new, unless memory is switched off. Where too much waits it is dropped; the receipt says so.

    Raises:
        NoUserError: Nobody is named whose memories are meant.
    """
    if not context_of(runtime).enable_memory:
        return {"remembered": _receipt("disabled", 0)}
    conversation = state["conversation_id"]
    standing = state["standing"] if "standing" in state else kit.standing(conversation, runtime)
    new = unheard(state["messages"], turns_in(standing))
    if not new:
        return {"remembered": _receipt("nothing", 0)}
    is_queued = kit.hand_over(new, conversation, runtime)
    return {"remembered": _receipt("queued" if is_queued else "dropped", len(turns_of(new)))}


def _receipt(outcome: str, turns: int) -> RememberReceipt:
    return {"outcome": outcome, "trigger": None, "turns": turns, "contradictions": [], "degraded": []}  # pyright: ignore[reportReturnType]
