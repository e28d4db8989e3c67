"""Works over all memories of a user: merges those that say the same, and derives insights from what recurs."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Final

from agentic_memory_bank.engines.conversation import (
    ConversationEngine,
    ExistingMemory,
    Fact,
    Insight,
    Resolution,
    TurnQuote,
)
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine, is_comparable
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.text.terms import tokenize

COMPARED: Final = 10
"""With how many of the memories most like it a memory is compared."""
LEAST_ALIKE: Final = 0.3
"""Cosine below which memories are not compared."""
HELD: Final = 0.6
"""Share of the shorter memory's terms that the longer one must hold for both to be merged: two memories may repeat each
other in part, and each say something more."""
INSIGHT_TRUST: Final = 0.5
INSIGHT_IMPORTANCE: Final = 0.7


@dataclass(frozen=True, slots=True)
class ComparedMemory:
    """A memory prepared for comparison."""

    record: Record
    known: ExistingMemory
    terms: frozenset[str]
    """Terms of what it says, without speaker and date."""

    def holds(self, other: "ComparedMemory") -> float:
        """Compute the share of the shorter memory's terms that the longer one holds, from 0 to 1."""
        return len(self.terms & other.terms) / max(1, min(len(self.terms), len(other.terms)))


class MemoryGroup:
    """Memories that repeat or correct each other, and the one that is current."""

    def __init__(self, first: ComparedMemory) -> None:
        self.members = [first]
        self.head = first

    def take(self, others: "MemoryGroup", head: ComparedMemory) -> None:
        """Merge another group into this one."""
        self.members += others.members
        self.head = head


def consolidate(
    records: RecordStore, user: str, those: Iterable[Record], encoder: Encoder, engine: ConversationEngine
) -> Sequence[Record]:
    """Merge memories of one type and project that repeat, refine or correct each other, and are not pinned.

    Returns:
        The merged memories; each was written in one step with the marks of its parts.

    Raises:
        EngineError, EmbeddingError, StorageError: The engine, the embeddings or the store failed.
    """
    lasting = [r for r in those if r["type"] not in ("reflective", "verbatim") and not r["pinned_at"]]
    lasting.sort(key=lambda record: (record["project"], record["type"], record["created_at"], record["id"]))
    made: list[Record] = []
    for _, some in groupby(lasting, key=lambda record: (record["project"], record["type"])):
        for group in _grouped(records, user, list(some), encoder, engine):
            made.append(_united(records, user, group))
    return made


def _united(records: RecordStore, user: str, group: MemoryGroup) -> Record:
    head = group.head.record
    ids = [member.record["id"] for member in group.members]
    return records.consolidate(
        user, ids, head["text"], subject=head["subject"], attribute=head["attribute"], trust=head["trust"]
    )


def _grouped(
    records: RecordStore, user: str, those: Sequence[Record], encoder: Encoder, engine: ConversationEngine
) -> Iterator[MemoryGroup]:
    """Group memories of one type and project, oldest first; only groups of two and more."""
    readings = [_reading(record) for record in those]
    groups = {reading.known.id: MemoryGroup(reading) for reading in readings}
    similar = {n: alike for n, alike in enumerate(_similar(readings, encoder)) if alike}
    facts = [_fact(readings[n]) for n in similar]
    resolutions = engine.resolve(facts, list(similar.values()))
    by_words = ExtractiveConversationEngine().resolve(facts, list(similar.values()))
    for n, resolution, offline in zip(similar, resolutions, by_words, strict=True):
        if resolution.verdict == "contradicts":
            for id in resolution.known:
                records.mark_contradiction(user, readings[n].known.id, id)
        else:
            is_of_a_model = resolution != offline
            _unite(readings[n], resolution, groups, 0.0 if is_of_a_model else HELD)
    yield from {group.head.known.id: group for group in groups.values() if len(group.members) > 1}.values()


def _reading(record: Record) -> ComparedMemory:
    known = ExistingMemory.of(record)
    return ComparedMemory(record, known, frozenset(tokenize(known.words)))


def _similar(readings: Sequence[ComparedMemory], encoder: Encoder) -> Iterator[list[ExistingMemory]]:
    """Find for each memory the earlier ones most like it, speaker and date aside."""
    vectors = encoder.vectors([reading.known.words for reading in readings])
    for n, reading in enumerate(readings):
        cosines = (vectors[:n] @ vectors[n]).tolist()
        nearest = heapq.nlargest(COMPARED, range(n), key=lambda other: (cosines[other], -other))
        yield [
            replace(readings[other].known, cosine=cosines[other])
            for other in nearest
            if cosines[other] >= LEAST_ALIKE and _may_unite(reading, readings[other])
        ]


def _may_unite(ours: ComparedMemory, theirs: ComparedMemory) -> bool:
    """Ask whether two memories may be merged; those marked as a contradiction may not."""
    return theirs.known.id not in ours.record["contradicts"] and is_comparable(ours.known, theirs.known)


def _fact(reading: ComparedMemory) -> Fact:
    """Show a stored memory to the engine in the form of a new fact."""
    record, known = reading.record, reading.known
    return Fact(
        record["text"],
        record["type"],
        (TurnQuote("", known.words, (0, len(known.words))),),
        record["subject"],
        record["attribute"],
        speaker=known.speaker,
        date=known.date,
        trust=record["trust"],
        importance=record["importance"],
    )


def _unite(reading: ComparedMemory, resolution: Resolution, groups: dict[str, MemoryGroup], least: float) -> None:
    """Merge a memory with those it corrects, and with those it repeats where the current one says as much."""
    is_changed = resolution.verdict == "supersede"
    if resolution.verdict not in ("same", "revise", "supersede") or (is_changed and reading.known.type == "episodic"):
        return  # what happened has happened
    for id in resolution.known:
        ours, theirs = groups[reading.known.id], groups[id]
        if ours is theirs or not (is_changed or reading.holds(theirs.head) >= least):
            continue
        is_ours = resolution.verdict == "revise" or (is_changed and resolution.is_newer)
        theirs.take(ours, ours.head if is_ours else theirs.head)
        for member in ours.members:
            groups[member.known.id] = theirs


def store_insights(
    records: RecordStore,
    user: str,
    project: str,
    those: Iterable[Record],
    engine: ConversationEngine,
    end: datetime | None = None,
) -> Sequence[Record]:
    """Derive insights from several memories, and store them as memories of the type `reflective`.

    An insight is deleted with any of the memories it rests on; a new one of the same subject replaces the one before.

    Raises:
        EngineError, EmbeddingError, StorageError: The engine, the embeddings or the store failed.
    """
    everything = list(those)
    before = {record["subject"]: record for record in everything if record["type"] == "reflective"}
    basis = [
        ExistingMemory.of(record, 1.0) for record in everything if record["type"] not in ("reflective", "verbatim")
    ]
    made = (
        _kept(records, user, project, insight, before.get(insight.subject), end) for insight in engine.reflect(basis)
    )
    return [record for record in made if record is not None]


def _kept(
    records: RecordStore, user: str, project: str, insight: Insight, before: Record | None, end: datetime | None
) -> Record | None:
    """Store an insight; None where it is known already."""
    if before is not None and before["text"] != insight.text:
        return records.supersede(user, before["id"], insight.text, evidence=insight.evidence, expires_at=end)
    stored = records.store(
        user,
        insight.text,
        type="reflective",
        project=project,
        subject=insight.subject or None,
        trust=INSIGHT_TRUST,
        importance=INSIGHT_IMPORTANCE,
        evidence=insight.evidence,
        expires_at=end,
    )
    return stored.record if stored.is_new else None
