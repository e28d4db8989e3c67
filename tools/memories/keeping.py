"""Keeps single memories of a user: pins them, copies them before they are deleted, and brings them back from a copy."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from agentic_memory_bank.state import record_events as events
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.record_events import RecordEvent, event_key
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.deletion import Deletion, Redaction
from agentic_memory_bank.tools.memories.user_memories import UserMemories
from agentic_memory_bank.tools.memories.validation import stamp


class MemoryCopy(NamedTuple):
    """Memories with all that happened to them, as they were before a deletion. It lives in the process alone."""

    owner: str
    """The hash of the user whose they are."""
    deletion: Deletion
    """What the deletion takes."""
    events: Mapping[str, RecordEvent]
    """What happened to them, by key, without vectors."""

    @property
    def ids(self) -> list[str]:
        """The ids to hand to `delete` so that just this is deleted."""
        return self.deletion.ids


def pin(memories: UserMemories, id: str, *, pinned: bool) -> Record:
    """Pin a memory, or pin it no longer; where it is so already, nothing happens.

    Raises:
        UnknownMemoryError: There is none of this id.
    """
    record = memories.get(id)
    if bool(record["pinned_at"]) != pinned:
        memories.write([events.pin(id, _after_all(memories, record), pinned=pinned)])
    return memories.index.records[id]


def _after_all(memories: UserMemories, record: Record) -> str:
    """The time, later than any other pin of this memory: the last one holds."""
    known = (memories.index.event(key) for key in memories.index.keys_of(record["id"]))
    last = max((event["at"] for event in known if event and event["op"] == "pin"), default="")
    moment = memories.now(record)
    return moment if moment > last else stamp(datetime.fromisoformat(last) + timedelta(microseconds=1))


def copied(memories: UserMemories, deletion: Deletion) -> MemoryCopy:
    """Copy what a deletion takes."""
    index = memories.index
    keys = dict.fromkeys(key for id in deletion.gone_ids for key in index.keys_of(id))
    return MemoryCopy(memories.owner, deletion, {key: event for key in keys if (event := index.event(key))})


def restore(memories: UserMemories, copy: MemoryCopy) -> list[str]:
    """Bring back what was deleted, under its ids and with its history; the ids of what came back.

    What was left of a memory of which a part was taken goes, since the whole is there again.

    Raises:
        InputError: The copy is of another user's memories.
    """
    if copy.owner != memories.owner:
        raise InputError("These are the memories of another user. Name the user of whom they were copied.")
    index = memories.index
    gone = [id for id in copy.deletion.gone_ids if id not in index.records]
    memories.delete([id for cut in copy.deletion.redacted if (id := _remainder(memories, cut))])
    memories.delete_events([event_key(events.forget(id, "")) for id in gone if id in index.deleted])
    memories.commit(copy.events)
    return [id for id in gone if id in index.records]


def _remainder(memories: UserMemories, cut: Redaction) -> str | None:
    """The memory that was made of what is left of another, if it is there; one that was known before is none."""
    record = cut.record
    if record["id"] in memories.index.records or not cut.remaining:
        return None
    id = memories.index.same_text(record["project"], record["type"], cut.remaining, memories.now())
    is_made = id is not None and memories.index.records[id]["created_at"] == record["created_at"]
    return id if is_made else None
