"""Keeps single memories of a user: pins them, copies them before they are deleted, and brings them back from a copy."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from agentic_memory_bank.state import record_events as events
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.record_events import RecordEvent, event_key, is_deleted_with
from agentic_memory_bank.state.records import Record, record_id
from agentic_memory_bank.tools.memories.deletion import Deletion, Redaction, with_derived
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
    all_erased_at: Mapping[str, str]
    """By project, when all memories had last been deleted; empty for never."""

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


def copied(memories: UserMemories, deletion: Deletion, all_erased_at: Mapping[str, str]) -> MemoryCopy:
    """Copy what a deletion takes."""
    index = memories.index
    keys = dict.fromkeys(key for id in deletion.gone_ids for key in index.keys_of(id))
    events = {key: event for key in keys if (event := index.event(key))}
    return MemoryCopy(memories.owner, deletion, events, all_erased_at)


def restore(memories: UserMemories, copy: MemoryCopy, all_erased_at: Mapping[str, str]) -> list[str]:
    """Bring back what was deleted, under its ids and with its history; the ids of what came back.

    What was left of a memory of which a part was taken goes, since the whole is there again. What was erased besides
    stays erased, with what was derived from it: the same words or the part that was left, by itself or with all others.

    Args:
        all_erased_at: As in the copy, by now.

    Raises:
        InputError: The copy is of another user's memories.
    """
    if copy.owner != memories.owner:
        raise InputError("These are the memories of another user. Name the user of whom they were copied.")
    index = memories.index
    known = {record["id"]: record for record in copy.deletion.records}
    projects = {project for project, at in all_erased_at.items() if at != copy.all_erased_at.get(project)}
    erased = [
        id for id, record in known.items() if record["project"] in projects or _is_erased(memories, record, known)
    ]
    erased += [cut.record["id"] for cut in copy.deletion.redacted if _lost_its_rest(memories, cut)]
    stays = {id for id in with_derived(known, erased, _drawn_among(known)) if id not in index.records}
    gone = [id for id in known if id not in index.records and id not in stays]
    cuts = [cut for cut in copy.deletion.redacted if cut.record["id"] not in stays]
    memories.delete([id for cut in cuts if (id := _remainder(memories, cut))])
    memories.delete_events([event_key(events.forget(id, "")) for id in gone if id in index.deleted])
    back = {key: event for key, event in copy.events.items() if not any(is_deleted_with(event, id) for id in stays)}
    memories.commit(back)
    return [id for id in gone if id in index.records]


def _drawn_among(known: Mapping[str, Record]) -> Callable[[str], Collection[str]]:
    """Which of some memories were drawn from each: no index has those any more that are gone."""
    drawn = defaultdict[str, list[str]](list)
    for id, record in known.items():
        for source in {*record["evidence"], *record["replaces"]}:
            drawn[source].append(id)
    return lambda id: drawn.get(id, ())


def _is_erased(memories: UserMemories, record: Record, known: Collection[str]) -> bool:
    """Whether another memory of the same words was erased after this one."""
    deleted = memories.index.deleted
    for text in {record["text"], *(was["text"] for was in record["history"])}:
        generation, id = 0, record_id(memories.owner, record["project"], record["type"], text, 0)
        while id in deleted or id in memories.index.records:
            if id not in known and deleted.get(id, "") > deleted.get(record["id"], ""):
                return True
            generation += 1
            id = record_id(memories.owner, record["project"], record["type"], text, generation)
    return False


def _lost_its_rest(memories: UserMemories, cut: Redaction) -> bool:
    """Whether what was left of a memory is no longer there."""
    record = cut.record
    if record["id"] in memories.index.records or not cut.remaining:
        return False
    return memories.index.same_text(record["project"], record["type"], cut.remaining, memories.now()) is None


def _remainder(memories: UserMemories, cut: Redaction) -> str | None:
    """The memory that was made of what is left of another, if it is there; one that was known before is none."""
    record = cut.record
    if record["id"] in memories.index.records or not cut.remaining:
        return None
    id = memories.index.same_text(record["project"], record["type"], cut.remaining, memories.now())
    is_made = id is not None and memories.index.records[id]["created_at"] == record["created_at"]
    return id if is_made else None
