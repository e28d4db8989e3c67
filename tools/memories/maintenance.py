"""Maintains one user's memories: deletes expired and unretained ones, and makes missing vectors."""

import heapq
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final, cast

from typing_extensions import TypedDict

from agentic_memory_bank.state.record_events import RecordEvent
from agentic_memory_bank.state.records import Record, RecordFilter, is_expired, retention
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.memories.deletion import with_derived
from agentic_memory_bank.tools.memories.user_memories import UserMemories
from agentic_memory_bank.tools.memories.validation import stamp
from agentic_memory_bank.tools.memories.vectors import Vector, vector_fields

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
    """Delete the memories that have expired, with what was derived from them."""
    now, records = memories.now(), memories.index.records
    return memories.delete(with_derived(records, [id for id, record in records.items() if is_expired(record, now)]))


def prune(memories: UserMemories, least: float, types: Collection[str] | None = None) -> Sequence[str]:
    """Delete the memories whose retention is below a least one; what was derived from them stays.

    Args:
        least: Retention, from 0 to 1, below which a memory is pruned.
        types: Types of memories to prune; None for all.
    """
    now, wanted = memories.clock(), RecordFilter(types=None if types is None else frozenset(types))
    inside = [record for record in memories.index.records.values() if wanted.matches(record)]
    return memories.delete([record["id"] for record in inside if retention(record, now) < least])


def delete_over_quota(memories: UserMemories, quota: int | None, spared: Collection[str] = ()) -> Sequence[str]:
    """Bring a user's memories below the quota, the least retained first.

    Args:
        quota: How many there may be; None for any number.
        spared: Ids of those that are kept in any case.
    """
    over = 0 if quota is None else len(memories.index.records) - quota
    if over <= 0:
        return []
    over += (quota or 0) // SPARE
    now = memories.clock()
    others = [record for id, record in memories.index.records.items() if id not in spared]
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
    memories.log.drop_writers(gone)
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
