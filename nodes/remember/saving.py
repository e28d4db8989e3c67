"""Keeps what was said at once, word for word: no model is asked here, so that none can lose a turn.

The state of the conversation is written first, since that needs no index: what waits in it is never lost. Then each
turn becomes a memory of its own, whose vector follows. What a killed process left out, whoever comes next makes up for.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.nodes.deps import Owner
from agentic_memory_bank.nodes.memory_deps import keeps
from agentic_memory_bank.nodes.messages import repeated_in, turns_of
from agentic_memory_bank.nodes.remember.views import (
    AROUND,
    SEEN,
    expiry_of,
    retention_days,
    stored_turn,
    turn_hash,
    turn_of,
    verbatim_draft,
)
from agentic_memory_bank.state.conversations import MemoryContext, StoredConversation, StoredTurn, Trigger
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.concurrency.circuit_breaker import CallFailed, circuit_breaker_of
from agentic_memory_bank.tools.memories.conversation_states import new_state
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.memories.validation import NewMemory, conversation_of, stamp
from agentic_memory_bank.tools.text.cleaning import clean

LONGEST_ID: Final = 1_000


@dataclass(frozen=True, slots=True)
class IncomingTurns:
    """What is to be kept, and on whose behalf."""

    owner: Owner
    conversation: str
    messages: Sequence[AnyMessage | BaseMessage]
    context: MemoryContext
    now: datetime
    at: str = ""
    """When it was handed over, where that was before now."""
    end: bool = False
    """Whether the conversation has ended."""


@dataclass(frozen=True, slots=True)
class SavedTurns:
    """Where a conversation stands with what is new of it."""

    state: StoredConversation
    new: int
    """How many turns were new."""
    is_first: bool
    """Whether it begins with these turns; they may have been noted before."""


def save_turns(stores: RecordStores, store: BaseStore | None, handed: IncomingTurns, seconds: float) -> str:
    """Write down what was said, before anybody goes on.

    Args:
        stores: Finds the store in which memories are kept.
        store: Store that the runtime brings, if any.
        handed: Turns that were handed over.
        seconds: How long it may take.

    Returns:
        What went wrong; empty where it is on disk.
    """
    guard, until = circuit_breaker_of(stores), time.monotonic() + seconds

    def records() -> RecordStore:
        return stores.of(store, handed.context)

    def is_busy() -> bool:
        return records().is_busy(handed.owner.user)

    try:
        noted = guard.call(lambda: save_state(records(), handed), seconds, is_busy=is_busy)
    except CallFailed as failure:
        return failure.kind
    if noted is not None and noted.state["raw"]:
        with suppress(CallFailed):  # an index that is being read takes its time: then this is made up for
            guard.call(
                lambda: store_verbatim(records(), handed, noted.state),
                until - time.monotonic(),
                seconds,
                is_busy,
            )
    return ""


def save_state(records: RecordStore, handed: IncomingTurns) -> SavedTurns | None:
    """Write down where the conversation stands with what is new, and whether it is time to draw memories.

    Returns:
        None where something was forgotten all at once since it was handed over, or memory is switched off: nothing of
        it is kept.

    Raises:
        NoUserError, StorageError: As `ConversationStates.get`.
    """
    (user, project), states = handed.owner, records.conversations
    turns = turns_of(handed.messages)
    if not keeps(records, handed.owner, handed.context, handed.conversation):
        return None
    with states.editing(user):
        before, forgotten_at = states.get_with_deletion(user, project, handed.conversation)
        if (handed.at or stamp(handed.now)) < forgotten_at:
            return None
        after, new = _grown(before or new_state(project, handed.conversation), turns, handed)
        due: StoredConversation = {**after, "due": _due(before, after, handed)}
        if new or due["due"] != after["due"]:
            states.put(user, due)
    return SavedTurns(due, new, due["count"] <= len(turns) and not due["drawn"])


def store_verbatim(records: RecordStore, handed: IncomingTurns, state: StoredConversation) -> None:
    """Make memories, without vectors, of the turns that wait and are none yet.

    Raises:
        NoUserError, StorageError: As `RecordStore.store`.
    """
    user, project = handed.owner
    wanted = set(state["raw"])
    sayings = [said for said in state["pending"] if said["id"] in wanted]
    drafts = [draft for said in sayings if (draft := verbatim_draft(said, conversation_of(state), project))]
    known = records.find_same(user, drafts)
    end = expiry_of(handed.now, handed.context)
    fresh: list[NewMemory] = [
        {**draft, "expires_at": end} for draft, there in zip(drafts, known, strict=True) if there is None
    ]
    if fresh:
        records.store_many(user, fresh, embed=False)


def checked_conversation(given: object) -> str | None:
    """The id of a conversation as it is kept; None where it is not named.

    Raises:
        InputError: It is no text, or too long.
    """
    if given is None:
        return None
    if not isinstance(given, str) or not given.strip() or len(given) > LONGEST_ID:
        raise InputError(
            f"A conversation is named by a text of at most {LONGEST_ID:,} characters, not by {str(given)[:40]!r}."
        )
    return clean(given)


def conversation_named(turns: Sequence[Turn]) -> str:
    """The id of a conversation that nobody names: one made of what was said."""
    return clean("c" + turn_hash(Turn(" ".join(turn.id for turn in turns), "user", "")))


def is_silent(state: StoredConversation, context: MemoryContext, now: datetime) -> bool:
    """Whether nothing was said for so long that the conversation has ended."""
    return state["at"] <= stamp(now - timedelta(minutes=context.remember_idle_minutes))


# --- what is new -----------------------------------------------------------------------------------------------------


def _grown(state: StoredConversation, turns: Sequence[Turn], handed: IncomingTurns) -> tuple[StoredConversation, int]:
    """The conversation with what is new of it, and how many turns that is."""
    seen = set(state["seen"])
    fresh = [turn for turn in turns if turn_hash(turn) not in seen]
    if not fresh:
        return state, 0
    said = list(_sayings(state, turns, seen, handed))
    repeated = repeated_in(handed.messages) if handed.context.remember_turns else {one["id"] for one in said}
    grown: StoredConversation = {
        **state,
        "seen": [*state["seen"], *(turn_hash(turn) for turn in fresh)][-SEEN:],
        "pending": [*state["pending"], *said],
        "raw": [*state["raw"], *(one["id"] for one in said if one["id"] not in repeated)],
        "recent": [*state["recent"], *said][-AROUND:],
        "count": state["count"] + len(fresh),
        "at": stamp(handed.now),
        "expires_at": stamp(handed.now + timedelta(days=retention_days(handed.context))),
    }
    return grown, len(fresh)


def _sayings(
    state: StoredConversation, turns: Sequence[Turn], seen: set[str], handed: IncomingTurns
) -> Iterator[StoredTurn]:
    """What is kept of each new turn; what was said just before tells whether it answers for a credential."""
    before = turn_of(state["recent"][-1]) if state["recent"] else None
    for turn in turns:
        is_new = turn_hash(turn) not in seen
        if is_new and (said := stored_turn(turn, before, handed.now, handed.context.remember_without)):
            yield said
        before = turn


def _due(before: StoredConversation | None, after: StoredConversation, handed: IncomingTurns) -> Trigger | None:
    """Why memories are to be drawn, once it is known: the process that knows it may not live to do it."""
    if not after["pending"]:
        return None
    if handed.end:
        return "end"
    if len(after["pending"]) >= handed.context.remember_every * (1 + after["failures"]):
        return "turns"
    if before and before["pending"] and is_silent(before, handed.context, handed.now):
        return "idle"
    return after["due"]
