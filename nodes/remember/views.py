"""Turns as the state of a conversation keeps them, as engines see them, and as memories hold them word for word."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Final, cast

from agentic_memory_bank.engines.conversation import DIGEST_TOPIC, TRUST, Digest, Turn
from agentic_memory_bank.engines.extractive.conversation import day_of, is_idle_talk, safe_words, written
from agentic_memory_bank.state.conversations import MemoryContext, RememberReceipt, StoredTurn, Trigger
from agentic_memory_bank.state.settings import Sensitive
from agentic_memory_bank.tools.memories.validation import NewMemory
from agentic_memory_bank.tools.text.attribution import USER, attributed
from agentic_memory_bank.tools.text.cleaning import clean, is_cjk
from agentic_memory_bank.tools.text.personal_numbers import HIDDEN
from agentic_memory_bank.tools.text.sensitive import without

AROUND: Final = 5
"""How many turns before a batch come with it, and how many last turns a conversation keeps."""
RAW_IMPORTANCE: Final = 0.3
SEEN: Final = 2_000
"""How many turns of a conversation are known again."""


def stored_turn(
    turn: Turn, before: Turn | None, now: datetime, left_out: Collection[Sensitive] = ()
) -> StoredTurn | None:
    """A turn as it is kept; None where nothing of it may be.

    Args:
        turn: As it was said.
        before: What was said just before, where that is known.
        now: When it was, where the turn does not say.
        left_out: What nothing is kept of.
    """
    words = clean(without(safe_words(turn, before), left_out)).strip()
    if not words.replace(HIDDEN, "").strip(" .,，。") or turn.role not in ("user", "assistant"):
        return None
    day = day_of(turn.date) or now.astimezone(UTC).date()
    return {"id": turn.id, "role": turn.role, "text": words, "speaker": turn.speaker, "date": turn.date or written(day)}


def turn_of(said: StoredTurn) -> Turn:
    """A turn as an engine sees it."""
    return Turn(said["id"], said["role"], said["text"], said["speaker"], said["date"])


def verbatim_draft(said: StoredTurn, conversation: str, project: str) -> NewMemory | None:
    """A turn as a memory of its own, word for word; None where it says nothing worth finding."""
    if is_idle_talk(said["text"], refuses=said["role"] != "user"):
        return None
    day = day_of(said["date"])
    speaker = said["speaker"] or (USER if said["role"] == "user" else said["role"])
    shown = written(day, chinese=is_cjk(said["text"])) if day else ""
    return {
        "text": attributed(speaker, shown, said["text"]),
        "type": "verbatim",
        "project": project,
        "source": {"conversation": conversation, "turns": [said["id"]], "quotes": [said["text"]]},
        "trust": TRUST[said["role"]],
        "importance": RAW_IMPORTANCE,
    }


def expiry_of(now: datetime, context: MemoryContext) -> datetime | None:
    """When the time of new memories is over; None for never."""
    return now + timedelta(days=context.memory_ttl_days) if context.memory_ttl_days else None


def retention_days(context: MemoryContext) -> float:
    """Days that what is kept of a conversation stays: no longer than the memories that come from it."""
    return min(context.conversation_days, context.memory_ttl_days or context.conversation_days)


def turn_hash(turn: Turn) -> str:
    """What is kept of a turn that was handed over, so that it is known again: a hash."""
    return hashlib.sha256(f"seen {turn.id}".encode()).hexdigest()[:16]


def digest_turns(digest: Mapping[str, Sequence[str]]) -> list[Turn]:
    """Where a conversation stood, as turns that go before those since then."""
    told = [one for name in ("goal", "facts", "decisions", "open") for one in reversed(digest.get(name, ()))]
    topic = [Turn(DIGEST_TOPIC, "system", "\n".join(digest["topic"]))] if digest.get("topic") else []
    return [*topic, *(Turn(f"digest {place}", "user", one) for place, one in enumerate(dict.fromkeys(told)))]


def stored_digest(digest: Digest) -> dict[str, list[str]]:
    """Where a conversation stands, as its state keeps it."""
    return {name: [clean(one) for one in said] for name, said in asdict(digest).items() if said}


def queued_receipt(turns: int, fault: str, *, is_queued: bool) -> RememberReceipt:
    """What became of turns that memories are drawn from later.

    Args:
        turns: How many they were.
        fault: Why they are not on disk; empty where they are.
        is_queued: Whether somebody sees to them.
    """
    degraded = [f"keep: {fault}"] if fault else []
    return receipt("queued" if is_queued else "dropped" if fault else "waiting", turns=turns, degraded=degraded)


def receipt(
    outcome: str,
    trigger: Trigger | None = None,
    turns: int = 0,
    degraded: Sequence[str] = (),
    contradictions: Sequence[tuple[str, str]] = (),
) -> RememberReceipt:
    """What remembering did."""
    found = {"outcome": outcome, "trigger": trigger, "turns": turns}
    return cast(RememberReceipt, {**found, "contradictions": list(contradictions), "degraded": list(degraded)})
