"""Maintains one user's memories: deletes what is over, makes missing vectors, hands events out and takes them in.

Events are handed over without vectors, which are made anew, and without the user, whose name may be another elsewhere.
"""

import heapq
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.record_events import RecordEvent, event_key, forget, is_event, mentions
from agentic_memory_bank.state.records import Record, RecordFilter, retention
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.memories.deletion import with_derived
from agentic_memory_bank.tools.memories.user_memories import UserMemories
from agentic_memory_bank.tools.memories.validation import MAX_TEXT, stamp
from agentic_memory_bank.tools.memories.vectors import Vector, vector_fields
from agentic_memory_bank.tools.text.cleaning import clean

TOMBSTONES: Final = timedelta(days=30)
"""How long the mark of a deleted memory is kept: longer than any process goes on that has not read it."""
IDLE: Final = timedelta(days=1)
"""How long a writer may write nothing before it is taken for gone."""
SPARE: Final = 100
"""Over the quota, one memory in so many is deleted besides, so that not every further memory ranks them all."""


class StoreMaintenance(TypedDict):
    """What maintenance has deleted: numbers of memories, of tombstones, and of writers that are gone."""

    expired: int
    pruned: int
    over_quota: int
    tombstones: int
    writers: int


def delete_expired(memories: UserMemories) -> Sequence[str]:
    """Delete the memories that have expired, with what was derived from them and is not pinned."""
    now, index, records = memories.now(), memories.index, memories.index.records
    over = with_derived(records, [id for id in records if index.is_over(id, now)], index.drawn_from)
    return memories.delete([id for id in over if not records[id]["pinned_at"]])


def prune(memories: UserMemories, least: float, types: Collection[str] | None = None) -> Sequence[str]:
    """Delete the memories whose retention is below a least one; what was derived from them stays, as what is pinned.

    Args:
        least: Retention, from 0 to 1, below which a memory is pruned.
    """
    now, wanted = memories.clock(), RecordFilter(types=None if types is None else frozenset(types))
    inside = [r for r in memories.index.records.values() if wanted.matches(r) and not r["pinned_at"]]
    return memories.delete([record["id"] for record in inside if retention(record, now) < least])


def delete_over_quota(memories: UserMemories, quota: int | None, spared: Collection[str] = ()) -> Sequence[str]:
    """Bring a user's memories below the quota, the least retained first; those that are pinned stay."""
    over = 0 if quota is None else len(memories.index.records) - quota
    if over <= 0:
        return []
    over += (quota or 0) // SPARE
    now = memories.clock()
    others = [r for id, r in memories.index.records.items() if id not in spared and not r["pinned_at"]]
    weakest = heapq.nsmallest(over, others, key=lambda r: (retention(r, now), r["created_at"], r["id"]))
    return memories.delete([record["id"] for record in weakest])


def delete_tombstones(memories: UserMemories) -> int:
    """Delete the marks of memories that were deleted long ago; how many they were."""
    before = stamp(memories.clock() - TOMBSTONES)
    old = [id for id, at in memories.index.deleted.items() if at < before]
    memories.delete_events([f"{id}.gone" for id in old])
    return len(old)


def delete_idle_writers(memories: UserMemories) -> int:
    """Delete the slots of writers that are gone, and count them."""
    before = stamp(memories.clock() - IDLE)
    gone = [writer for writer, at in memories.log.writers().items() if at < before]
    memories.drop_writers(gone)
    return len(gone)


def reembed(memories: UserMemories, encoder: Encoder) -> int:
    """Make the vectors anew that are missing or of another model: the texts stay, so the keys of the events do.

    The index is of no use afterwards, since it holds vectors of one length.
    """
    index = memories.index
    wanted = [index.records[id] for id in [*index.other_model, *sorted(index.unembedded)]]
    vectors = encoder.vectors([record["text"] for record in wanted])
    keyed = _with_vectors(memories, list(zip(wanted, vectors, strict=True)), encoder.model)
    memories.commit_unindexed(keyed)
    return len(keyed)


def backfill_vectors(memories: UserMemories, vectors: Sequence[tuple[str, Vector]], model: str) -> int:
    """Give memories without a vector one; how many got one.

    Args:
        vectors: At least one, each with the id of its memory. A memory that is gone, or has a vector by now, is no
            error; nothing is written where the stored vectors are of another model.
    """
    index = memories.index
    if index.other_model or {len(vector) for _, vector in vectors} - {index.dimension or len(vectors[0][1])}:
        return 0
    keyed = _with_vectors(memories, [(index.records[id], v) for id, v in vectors if id in index.unembedded], model)
    memories.commit(keyed)
    return len(keyed)


def _with_vectors(
    memories: UserMemories, records: Sequence[tuple[Record, Vector]], model: str
) -> Mapping[str, RecordEvent | None]:
    found = ((record["version"], memories.index.event(record["version"]), vector) for record, vector in records)
    return {key: cast(RecordEvent, {**event, **vector_fields(vector, model)}) for key, event, vector in found if event}


_LEFT_OUT: Final = ("vector", "model", "marks", "user")
_ID: Final = re.compile(r"m[0-9a-f]{31}")


@with_config(ConfigDict(extra="forbid", strict=True))
class _TransferredEvent(RecordEvent):
    """An event as it is handed over: none of its parts may be another's."""


_EVENTS: Final = TypeAdapter(list[_TransferredEvent])


def outgoing(memories: UserMemories) -> list[Mapping[str, Any]]:
    """All events of a user, in an order that is the same wherever they are kept."""
    index = memories.index
    keys = [*index.all_keys(), *(event_key(forget(id, at)) for id, at in index.deleted.items())]
    found = (index.event(key) for key in keys)
    plain = [{name: value for name, value in event.items() if name not in _LEFT_OUT} for event in found if event]
    return sorted(plain, key=lambda event: (event["at"], json.dumps(event, sort_keys=True)))


def checked_events(given: object) -> list[RecordEvent]:
    """The events of an export.

    Raises:
        InputError: They are none, or say what no event says.
    """
    try:
        events = cast(list[RecordEvent], _EVENTS.validate_python(given))
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(f"These are no memories that can be taken in: {where} is not what it should be.") from None
    for number, event in enumerate(events):
        named = [*mentions(event), *event.get("evidence", ()), event.get("by") or event["id"]]
        text = event.get("text", "")
        if not (is_event(event) and all(map(_ID.fullmatch, named)) and text == clean(text) and len(text) <= MAX_TEXT):
            raise InputError(f"These are no memories that can be taken in: event {number} is not what it should be.")
    return events


def incoming(memories: UserMemories, events: Iterable[RecordEvent]) -> tuple[list[str], list[str]]:
    """Take events in that are not there; what was forgotten, here or there, stays so.

    Returns:
        The ids of memories that are new, and of those that were forgotten there and are here.
    """
    index, known = memories.index, set(memories.index.records)
    events = list(events)
    gone = {event["id"] for event in events if event["op"] == "forget"}
    closed = gone | set(index.deleted)
    wanted = [event for event in events if event["op"] != "forget" and closed.isdisjoint(_about(event))]
    fresh = [event for event in wanted if index.event(event_key(_as_kept(event, memories.owner))) is None]
    memories.write(fresh)
    new = [id for id in dict.fromkeys(event["id"] for event in fresh) if id in index.records and id not in known]
    return new, sorted(gone & known)


def _about(event: RecordEvent) -> Sequence[str]:
    """The memories that an event has to go with when they are forgotten."""
    return [event["id"], *([event["other"]] if "other" in event else [])]


def _as_kept(event: RecordEvent, owner: str) -> RecordEvent:
    return {**event, "user": owner}
