"""Stage 1, the door: new turns are kept word for word at once, and it is seen whether it is time to draw memories."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.nodes.deps import Owner, context_of, owner_of
from agentic_memory_bank.nodes.memory_deps import MemoryDeps, keeps
from agentic_memory_bank.nodes.messages import checked_messages, turns_of
from agentic_memory_bank.nodes.remember.saving import (
    IncomingTurns,
    checked_conversation,
    conversation_named,
    is_silent,
    save_state,
    store_verbatim,
)
from agentic_memory_bank.nodes.remember.unkept import without_unkept
from agentic_memory_bank.nodes.remember.views import AROUND, receipt
from agentic_memory_bank.state.conversations import (
    DueConversation,
    MemoryContext,
    RememberState,
    RememberUpdate,
    StoredConversation,
    Trigger,
)
from agentic_memory_bank.state.errors import EmbeddingError
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.memories.conversation_states import ConversationStates
from agentic_memory_bank.tools.memories.validation import conversation_of, project_of, stamp
from agentic_memory_bank.tools.text.cleaning import clean

MOST_OTHERS: Final = 3
"""How many other conversations of the user, silent by now, memories are drawn from in one call."""


def take_in(state: RememberState, runtime: Runtime[MemoryContext], deps: MemoryDeps) -> RememberUpdate:
    """Keep what is new of a conversation, and say which conversations memories are drawn from now.

    Raises:
        NoUserError: Nobody is named.
        InputError: The messages or the id of the conversation cannot be used.
        StorageError: The store failed.
        SettingsError: A model that the settings name cannot be asked, or is not that of this graph's embeddings.
    """
    context, nothing = context_of(runtime), _nothing()
    if not context.enable_memory:
        return {**nothing, "receipt": receipt("disabled")}
    owner, now = owner_of(runtime), deps.clock()
    messages = _messages(state)
    conversation = _named(state, turns_of(messages), runtime)
    messages = without_unkept(messages)
    deps.stores.encoder.check(context)
    if deps.engines:
        deps.engines.check(context)
    records = deps.records(runtime)
    if not keeps(records, owner, context, conversation):
        return {**nothing, "receipt": receipt("disabled")}
    begun: RememberUpdate = {
        **nothing,
        "conversation_id": conversation,
        "now": stamp(now),
        "started": now.timestamp(),
    }
    end = bool(state.get("end"))
    handed = IncomingTurns(owner, conversation, messages, context, now, state.get("handed_at", ""), end)
    noted = save_state(records, handed)
    if noted is None:
        return {**begun, "receipt": receipt("dropped")}
    store_verbatim(records, handed, noted.state)
    records.backfill_vectors(owner.user)
    trigger = noted.state["due"] or _drift(noted.state, turns_of(messages), context, deps.stores.encoder)
    draws = [_draw(noted.state, trigger)] if trigger else []
    if trigger or noted.is_first:
        draws += _others(records.conversations, owner, conversation, context, now)
    outcome = "waiting" if noted.state["pending"] else "nothing"
    return {**begun, "draws": draws, "receipt": receipt(outcome, trigger, noted.new)}


def _nothing() -> RememberUpdate:
    return {"draws": [], "stored": [], "updated": [], "superseded": []}


def _messages(state: RememberState) -> Sequence[BaseMessage]:
    """What is handed over; nothing is enough where a conversation is named that may have ended."""
    given = state.get("messages")
    return [] if not given and state.get("conversation_id") else checked_messages(given)


def _named(state: RememberState, turns: Sequence[Turn], runtime: Runtime[MemoryContext]) -> str:
    """The id of the conversation: as given, that of the thread, or one made of what was said."""
    given = checked_conversation(state.get("conversation_id"))
    info = runtime.execution_info
    thread = info.thread_id if info else None
    return given or clean(thread or conversation_named(turns))


# --- whether it is time ----------------------------------------------------------------------------------------------


def _drift(
    state: StoredConversation, turns: Sequence[Turn], context: MemoryContext, encoder: Encoder
) -> Trigger | None:
    """Whether the last message of the user is about something else than the turns before it."""
    if context.remember_drift is None or not state["pending"]:
        return None
    handed = {turn.id for turn in turns}
    waiting = [*state["drawn"], *state["pending"]]
    place = next((place for place, said in enumerate(waiting) if said["id"] in handed), len(waiting))
    before = [said["text"] for said in waiting[:place][-AROUND:]]
    new = [said["text"] for said in waiting[place:] if said["id"] in handed and said["role"] == "user"]
    return "drift" if new and before and _is_far(new[-1], before, context.remember_drift, encoder) else None


def _is_far(text: str, before: Sequence[str], least: float, encoder: Encoder) -> bool:
    try:
        vectors = encoder.vectors([text, *before])
    except EmbeddingError:
        return False
    mean = vectors[1:].mean(axis=0)
    length = float((mean @ mean) ** 0.5)
    return length > 0 and float(vectors[0] @ mean) / length < least


def _draw(state: StoredConversation, trigger: Trigger) -> DueConversation:
    return {
        "conversation": conversation_of(state),
        "trigger": trigger,
        "turns": [said["id"] for said in state["pending"]],
    }


def _others(
    states: ConversationStates, owner: Owner, conversation: str, context: MemoryContext, now: datetime
) -> list[DueConversation]:
    """The user's other conversations of this project whose time has come, those that wait longest first.

    They have ended in silence, or whoever was to draw memories from them is gone.
    """
    others = [
        state
        for state in states.list_all(owner.user)
        if state["pending"] and project_of(state) == owner.project and conversation_of(state) != conversation
    ]
    return [_draw(state, why) for state in others if (why := _why(state, context, now)) is not None][:MOST_OTHERS]


def _why(state: StoredConversation, context: MemoryContext, now: datetime) -> Trigger | None:
    if state["due"]:
        return state["due"]
    return "idle" if is_silent(state, context, now) else None
