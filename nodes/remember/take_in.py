"""Stage 1, the door: new turns are kept word for word at once, and it is seen whether it is time to draw memories."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.nodes.memories import MemoryKit, Owner, context_of, owner_of
from agentic_memory_bank.nodes.remember.views import AROUND, SEEN, end_of, mark, raw, receipt, saying, turn_of
from agentic_memory_bank.nodes.spoken import checked_messages, repeated_in, turns_of
from agentic_memory_bank.state.conversations import (
    ConversationState,
    Draw,
    MemoryContext,
    RememberState,
    RememberUpdate,
    Saying,
    Trigger,
)
from agentic_memory_bank.state.errors import EmbeddingError, InputError
from agentic_memory_bank.tools.conversation_states import ConversationStates, conversation_of, new_state, project_of
from agentic_memory_bank.tools.embeddings import Encoder
from agentic_memory_bank.tools.record_drafts import Draft, stamp
from agentic_memory_bank.tools.records import RecordStore
from agentic_memory_bank.tools.text import clean

MOST_OTHERS: Final = 3
"""How many other conversations of the user, silent by now, memories are drawn from in one call."""
LONGEST_ID: Final = 1_000


def take_in(state: RememberState, runtime: Runtime[MemoryContext], kit: MemoryKit) -> RememberUpdate:
    """Keep what is new of a conversation, and say which conversations memories are drawn from now.

    Raises:
        NoUserError: Nobody is named.
        InputError: The messages or the id of the conversation cannot be used.
        StorageError: The store failed.
        SettingsError: A model that the settings name cannot be asked.
    """
    context, nothing = context_of(runtime), _nothing()
    if not context.enable_memory:
        return {**nothing, "receipt": receipt("disabled")}
    owner, now = owner_of(runtime), kit.clock()
    turns = _turns(state)
    conversation = _named(state, turns, runtime)
    if kit.judges:
        kit.judges.check(context)
    records = kit.records(runtime)
    states = records.conversations
    begun: RememberUpdate = {
        **nothing,
        "conversation_id": conversation,
        "now": stamp(now),
        "started": now.timestamp(),
    }
    with states.editing(owner.user):
        if state.get("handed_at", stamp(now)) < states.forgotten_at(owner.user, owner.project):
            return {**begun, "receipt": receipt("dropped")}
        before = states.get(owner.user, owner.project, conversation)
        after, new = _grown(before or new_state(owner.project, conversation), turns, context, now)
        if new:
            if context.remember_turns:
                repeated = repeated_in(checked_messages(state.get("messages")))
                worth = [said for said in new if said and said["id"] not in repeated]
                _keep(records, owner, conversation, worth, end_of(now, context))
            states.put(owner.user, after)
    trigger = _trigger(state, before, after, context, now, kit.stores.encoder)
    draws = [_draw(after, trigger)] if trigger else []
    if trigger or before is None:
        draws += _silent(states, owner, conversation, context, now)
    outcome = "waiting" if after["pending"] else "nothing"
    return {**begun, "draws": draws, "receipt": receipt(outcome, trigger, len(new))}


def _nothing() -> RememberUpdate:
    return {"draws": [], "stored": [], "updated": [], "superseded": []}


def _turns(state: RememberState) -> list[Turn]:
    """What is handed over; nothing is enough where a conversation is named that may have ended."""
    given = state.get("messages")
    return [] if not given and state.get("conversation_id") else turns_of(checked_messages(given))


def _named(state: RememberState, turns: Sequence[Turn], runtime: Runtime[MemoryContext]) -> str:
    """The id of the conversation: as given, that of the thread, or one made of what was said."""
    given: object = state.get("conversation_id")
    if given is not None and (not isinstance(given, str) or not given.strip() or len(given) > LONGEST_ID):
        raise InputError(
            f"A conversation is named by a text of at most {LONGEST_ID:,} characters, not by {str(given)[:40]!r}."
        )
    info = runtime.execution_info
    thread = info.thread_id if info else None
    return clean(str(given or thread or "c" + mark(Turn(" ".join(turn.id for turn in turns), "user", ""))))


# --- what is new -----------------------------------------------------------------------------------------------------


def _grown(
    state: ConversationState, turns: Sequence[Turn], context: MemoryContext, now: datetime
) -> tuple[ConversationState, list[Saying | None]]:
    """The conversation with what is new of it; and that, None for each turn of which nothing may be kept."""
    seen = set(state["seen"])
    fresh = [turn for turn in turns if mark(turn) not in seen]
    new = list(_sayings(state, turns, seen, now, context))
    said = [one for one in new if one]
    grown: ConversationState = {
        **state,
        "seen": [*state["seen"], *(mark(turn) for turn in fresh)][-SEEN:],
        "pending": [*state["pending"], *said],
        "recent": [*state["recent"], *said][-AROUND:],
        "count": state["count"] + len(fresh),
        "at": stamp(now),
        "expires_at": stamp(now + timedelta(days=context.conversation_days)),
    }
    return grown, new


def _sayings(
    state: ConversationState, turns: Sequence[Turn], seen: set[str], now: datetime, context: MemoryContext
) -> Iterator[Saying | None]:
    """What is kept of each new turn; what was said just before tells whether it answers for a credential."""
    before = turn_of(state["recent"][-1]) if state["recent"] else None
    for turn in turns:
        if mark(turn) not in seen:
            yield saying(turn, before, now, context.remember_without)
        before = turn


def _keep(
    records: RecordStore, owner: Owner, conversation: str, new: Sequence[Saying], expires_at: datetime | None
) -> None:
    """Keep turns word for word; what a killed run has kept is not kept again."""
    drafts = [draft for said in new if (draft := raw(said, conversation, owner.project))]
    known = records.all_said_by(owner.user, drafts)
    fresh: list[Draft] = [
        {**draft, "expires_at": expires_at} for draft, there in zip(drafts, known, strict=True) if there is None
    ]
    if fresh:
        records.store_many(owner.user, fresh)


# --- whether it is time ----------------------------------------------------------------------------------------------


def _trigger(
    state: RememberState,
    before: ConversationState | None,
    after: ConversationState,
    context: MemoryContext,
    now: datetime,
    encoder: Encoder,
) -> Trigger | None:
    if not after["pending"]:
        return None
    if state.get("end"):
        return "end"
    if len(after["pending"]) >= context.remember_every * (1 + after["failures"]):
        return "turns"
    if before and before["pending"] and _is_silent(before, context, now):
        return "idle"
    return "drift" if before and _has_drifted(before, after, context, encoder) else None


def _is_silent(state: ConversationState, context: MemoryContext, now: datetime) -> bool:
    return state["at"] <= stamp(now - timedelta(minutes=context.remember_idle_minutes))


def _has_drifted(before: ConversationState, after: ConversationState, context: MemoryContext, encoder: Encoder) -> bool:
    """Whether the user's new message is about something else than the turns before it."""
    known = {said["id"] for said in before["recent"]}
    new = [said["text"] for said in after["recent"] if said["id"] not in known and said["role"] == "user"]
    if context.remember_drift is None or not new or not before["recent"]:
        return False
    try:
        vectors = encoder.vectors([new[-1], *(said["text"] for said in before["recent"])])
    except EmbeddingError:
        return False
    mean = vectors[1:].mean(axis=0)
    length = float((mean @ mean) ** 0.5)
    return length > 0 and float(vectors[0] @ mean) / length < context.remember_drift


def _draw(state: ConversationState, trigger: Trigger) -> Draw:
    return {
        "conversation": conversation_of(state),
        "trigger": trigger,
        "turns": [said["id"] for said in state["pending"]],
    }


def _silent(
    states: ConversationStates, owner: Owner, conversation: str, context: MemoryContext, now: datetime
) -> list[Draw]:
    """The user's other conversations of this project that have ended in silence, those that wait longest first."""
    others = [
        state
        for state in states.of(owner.user)
        if state["pending"] and project_of(state) == owner.project and conversation_of(state) != conversation
    ]
    return [_draw(state, "idle") for state in others if _is_silent(state, context, now)][:MOST_OTHERS]
