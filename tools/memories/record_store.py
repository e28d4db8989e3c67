"""Keeps each user's memories across conversations in a LangGraph `BaseStore`: stored once, updated, found, deleted.

What a user's memories are is a fold of events (`state/records.py`), which any number of processes write at the same
time (`tools/memories/event_log.py`); each process keeps an index of the users it serves (`tools/memories/index.py`).
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Unpack

from agentic_memory_bank.state import record_events as events
from agentic_memory_bank.state.errors import EmbeddingError, InputError
from agentic_memory_bank.state.record_events import RecordEvent
from agentic_memory_bank.state.records import (
    PRUNABLE_TYPES,
    PRUNE_BELOW,
    MemorySource,
    Record,
    RecordFilter,
    RecordType,
    Replacement,
    normalized,
)
from agentic_memory_bank.tools.memories import keeping, maintenance
from agentic_memory_bank.tools.memories.deletion import Deletion
from agentic_memory_bank.tools.memories.keeping import MemoryCopy
from agentic_memory_bank.tools.memories.maintenance import StoreMaintenance
from agentic_memory_bank.tools.memories.record_reader import RecordReader
from agentic_memory_bank.tools.memories.user_memories import StoreResult, check_replaceable
from agentic_memory_bank.tools.memories.validation import (
    MemoryFields,
    NewMemory,
    checked_fields,
    checked_filter,
    inherited_fields,
    user_hash,
)
from agentic_memory_bank.tools.spans import memory_operation
from agentic_memory_bank.tools.text.cleaning import clean

BACKFILL_BATCH: Final = 32
"""How many missing vectors are made at a time."""
EXTRACTED: Final[frozenset[str]] = frozenset(("semantic", "procedural", "episodic"))
"""Types of memories of which a new one may replace one of another type."""
FLUSH_SECONDS: Final = 2.0
"""How long an export and maintenance wait for uses that are being written."""
KEEP_SECONDS: Final = 60.0
"""How long an import waits until the index of what may be very many memories is kept for the next process."""
UPDATABLE: Final = frozenset(("source", "trust", "importance", "expires_at"))
"""Fields that `update` may change besides the text."""


class RecordStore(RecordReader):
    """Stores, updates and deletes the memories of all users; `RecordReader` finds them."""

    # --- writing ---------------------------------------------------------------------------------------------------

    def store(
        self,
        user: str,
        text: str,
        *,
        supersedes: Sequence[str] = (),
        superseded_by: str | None = None,
        contradicts: Sequence[str] = (),
        **fields: Unpack[MemoryFields],
    ) -> StoreResult:
        """Store a memory, and in the same write how it stands to others; a memory known already gets the source.

        Example:
            >>> records.store("ana", "Ana lives in Lisbon.", supersedes=[berlin["id"]])  # doctest: +SKIP

        Args:
            supersedes: Ids of memories whose value it replaces, since it is newer.
            superseded_by: Id of the memory whose value is newer: this one is stored as superseded.
            contradicts: Ids of memories that cannot be true beside it.
            fields: Its type, project, source and so on.

        Raises:
            InputError: A field cannot be kept, or it supersedes a memory of another type or project.
            UnknownMemoryError: A memory it is related to does not exist.
            EmbeddingError: The stored vectors are of another model.
            StorageError: The store failed; nothing half-written is ever read.
        """
        draft: NewMemory = {"text": text, **fields}
        if not (supersedes or superseded_by or contradicts):
            return self.store_many(user, [draft])[0]
        owner, checked = user_hash(user), checked_fields(draft)
        vector = self._embed([checked["text"]])[0]
        with self._users.opened(owner) as memories:
            memories.check_model([vector])
            olds = [memories.successor_of(id) for id in supersedes]
            newer = memories.get(superseded_by) if superseded_by else None
            others = [memories.get(id) for id in contradicts]
            check_replaceable(olds, checked, EXTRACTED)  # what is planned may change what is a habit
            stored = memories.add(checked, self._fields_of(vector))
            record = memories.relate(stored.record, olds, newer, others)
            maintenance.delete_over_quota(memories, self._quota, {record["id"]})
            return StoreResult(memories.index.records[record["id"]], stored.is_new)

    @memory_operation("upsert_memory")
    def store_many(self, user: str, drafts: Sequence[NewMemory], *, embed: bool = True) -> Sequence[StoreResult]:
        """Store several memories, embedded together; none is stored where one cannot be. Raises as `store`.

        Args:
            embed: Whether to embed them now. If not, they are found by their words until `backfill_vectors` is called.
        """
        owner, checked = user_hash(user), [checked_fields(draft) for draft in drafts]
        vectors = self._embed([fields["text"] for fields in checked]) if embed else [None] * len(checked)
        with self._users.opened(owner) as memories:
            if embed:
                memories.check_model(vectors)
            pairs = zip(checked, vectors, strict=True)
            stored = [memories.add(fields, self._fields_of(vector)) for fields, vector in pairs]
            maintenance.delete_over_quota(memories, self._quota, {one.record["id"] for one in stored})
            has_unembedded = bool(memories.index.unembedded)
        if has_unembedded and embed and all(vector is not None for vector in vectors):
            self.backfill_vectors(user)
        return stored

    def backfill_vectors(self, user: str) -> int:
        """Make the vectors that are missing of a user's memories; how many were made.

        Where the model fails, these memories are found by their words alone, and the next call tries again.
        """
        owner, made = user_hash(user), 0
        with self._users.opened(owner) as memories:
            texts = {id: memories.index.records[id]["text"] for id in sorted(memories.index.unembedded)}
        for start in range(0, len(texts), BACKFILL_BATCH):
            some = list(texts)[start : start + BACKFILL_BATCH]
            vectors = self._embed([texts[id] for id in some])
            found = [(id, vector) for id, vector in zip(some, vectors, strict=True) if vector is not None]
            if not found:
                break
            with self._users.opened(owner) as memories:
                made += maintenance.backfill_vectors(memories, found, self._encoder.model)
        return made

    def embed_ahead(self, texts: Sequence[str]) -> None:
        """Make vectors before a lock is held; where the model fails, nothing happens."""
        with suppress(EmbeddingError):
            self._encoder.vectors([clean(text) for text in texts])

    @memory_operation("update_memory")
    def update(self, user: str, id: str, text: str, **fields: Unpack[MemoryFields]) -> Record:
        """Change the text of a memory: its vector follows, the earlier text goes to its history.

        Args:
            fields: A new `source`, `trust`, `importance` or `expires_at`; no other field can change.

        Raises:
            UnknownMemoryError: This user has no such memory.
            InputError, EmbeddingError: As `store`.
        """
        owner = user_hash(user)
        if fixed := sorted(fields.keys() - UPDATABLE):
            raise InputError(f"The {fixed[0]} of a memory cannot be updated. Store another, and delete this one.")
        given = {"text": text, **fields}
        changed = {name: value for name, value in checked_fields(given).items() if name in given}
        vector = self._embed([changed.pop("text")])[0]
        with self._users.opened(owner) as memories:
            memories.check_model([vector])
            record = memories.get(id)
            if normalized(clean(text)) != normalized(record["text"]) or changed:
                fields_of = {**changed, **self._fields_of(vector)}
                memories.write([events.revise(id, memories.now(record), clean(text), fields_of)])
            return memories.index.records[id]

    def supersede(self, user: str, id: str, text: str, **fields: Unpack[MemoryFields]) -> Record:
        """Store a new value in place of a memory, which stays, dated and marked, and is found only where asked for.

        Fields that are not given (type, project, subject, attribute) are those of the old memory.

        Returns:
            The new memory.

        Raises:
            UnknownMemoryError: This user has no such memory.
            InputError, EmbeddingError: As `store`.
        """
        return self._replace(user, [id], text, fields, "supersede")

    def consolidate(self, user: str, ids: Sequence[str], text: str, **fields: Unpack[MemoryFields]) -> Record:
        """Store one memory in place of several, all at once or not at all; they stay, marked, and it names them.

        It has their sources, their best trust and the earliest of their ends. When one of them is deleted, it is, too,
        and the others are current again.

        Raises:
            UnknownMemoryError: This user has no such memory.
            InputError: They are fewer than two, of several types, or of several projects.
            EmbeddingError: As `store`.
        """
        if len(set(ids)) < 2:
            raise InputError("At least two memories are consolidated. Update a single one.")
        return self._replace(user, list(dict.fromkeys(ids)), text, fields, "consolidate")

    @memory_operation("update_memory")
    def _replace(self, user: str, ids: Sequence[str], text: str, given: MemoryFields, how: Replacement) -> Record:
        owner = user_hash(user)
        vector = self._embed([clean(text)])[0]
        with self._users.opened(owner) as memories:
            memories.check_model([vector])
            olds = [memories.successor_of(id) if how == "supersede" else memories.get(id) for id in ids]
            fields = checked_fields({"text": text, **inherited_fields(olds, how), **given})
            record = memories.replace(olds, how, fields, self._fields_of(vector))
            maintenance.delete_over_quota(memories, self._quota, {record["id"]})
            return record

    def add_source(self, user: str, id: str, source: MemorySource, trust: float) -> Record:
        """Add a source to a memory that says the same in other words.

        Raises:
            UnknownMemoryError: This user has no such memory.
        """
        with self._users.opened(user_hash(user)) as memories:
            memories.get(id)
            return memories.add_source(id, source, trust)

    def mark_consolidated(self, user: str, ids: Collection[str], by: str) -> Sequence[str]:
        """Mark memories as consolidated into one that is there: they are no longer found, and deleted with it.

        Args:
            ids: Ids of the memories; those that do not exist, or are replaced already or pinned, are no error.

        Returns:
            The ids of those that were marked.

        Raises:
            UnknownMemoryError: This user has no memory `by`.
        """
        with self._users.opened(user_hash(user)) as memories:
            whole, records = memories.get(by), memories.index.records
            known = [records[id] for id in dict.fromkeys(ids) if id != by and id in records]
            there = [one["id"] for one in known if not (one["replaced_by"] or one["pinned_at"])]
            if there:
                seen: RecordEvent = {**events.see(by, memories.now(whole), None, 0.0), "replaces": there}
                marks = (events.replace(id, memories.now(records[id]), by, "consolidate") for id in there)
                memories.write([seen, *marks])
            return there

    def mark_superseded(self, user: str, id: str, by: str) -> Record:
        """Mark a memory as superseded by another one that is there; returns the marked memory.

        Raises:
            UnknownMemoryError: This user has no such memory.
            InputError: They are the same.
        """
        if id == by:
            raise InputError("A memory cannot supersede itself. Name two.")
        with self._users.opened(user_hash(user)) as memories:
            record, _ = memories.get(id), memories.get(by)
            memories.write([events.replace(id, memories.now(record), by, "supersede")])
            return memories.index.records[id]

    def mark_contradiction(self, user: str, a: str, b: str) -> None:
        """Mark that two memories cannot both be true; both stay as they are.

        Raises:
            UnknownMemoryError: This user has no such memory.
            InputError: They are the same.
        """
        if a == b:
            raise InputError("A memory does not contradict itself. Name two.")
        with self._users.opened(user_hash(user)) as memories:
            one, _ = memories.get(a), memories.get(b)
            memories.write([events.contradict(a, b, memories.now(one))])

    def pin(self, user: str, id: str, *, pinned: bool) -> Record:
        """Pin a memory, which maintenance and consolidation leave alone, or pin it no longer. Raises as `update`."""
        with self._users.opened(user_hash(user)) as memories:
            return keeping.pin(memories, id, pinned=pinned)

    def count_use(self, user: str, ids: Collection[str]) -> None:
        """Count that memories were used, which retains them longer. Unknown ids are no error.

        Nothing is waited for: uses are written in the background, those of about a second together. `flush` writes
        them at once; the end of the process does, too.
        """
        self._users.count_use(user_hash(user), ids)

    def flush(self, seconds: float) -> bool:
        """Wait until all that is done in the background is done; whether it is."""
        return self._users.flush(seconds)

    # --- handing over ----------------------------------------------------------------------------------------------

    def export_events(self, user: str) -> Sequence[Mapping[str, Any]]:
        """Export all events of a user's memories, deletions among them, without vectors and without the user's id."""
        self.flush(FLUSH_SECONDS)
        with self._users.opened(user_hash(user)) as memories:
            return maintenance.outgoing(memories)

    def import_events(self, user: str, events: object) -> tuple[Sequence[str], Sequence[str]]:
        """Take exported events in: those that are there already are passed over, and what was forgotten stays so.

        Returns:
            The ids of the memories that are new, and of those that went since they were forgotten where they come from.

        Raises:
            InputError: They are no events.
        """
        checked = maintenance.checked_events(events)
        with self._users.opened(user_hash(user)) as memories:
            new, gone = maintenance.incoming(memories, checked)
            maintenance.delete_over_quota(memories, self._quota, set(new))
        return new, self.delete(user, gone) if gone else []

    # --- deleting --------------------------------------------------------------------------------------------------

    def delete(self, user: str, ids: Collection[str], *, quoting: bool = True) -> Sequence[str]:
        """Delete memories with their history and what was derived from them; a tombstone without content stays.

        A consolidated memory is deleted with those it was made of, or with those of them that are named. Turns of
        conversations, and memories of which a part is named, lose that part: the rest stays, as a memory of its own.

        Args:
            ids: Ids of memories, or of parts of them as `preview_delete` names them. Unknown ids are no error.
            quoting: Whether facts go with the turns that they quote.

        Returns:
            The ids of all memories that are gone.

        Raises:
            InputError: A part is named of a memory whose text has changed since.
        """
        return self._delete(user, self.preview_delete(user, ids, quoting=quoting))

    def delete_all(self, user: str, project: str | None = None, type: RecordType | None = None) -> Sequence[str]:
        """Delete all memories of a user, or those of a project, of a type, or both. Returns and raises as `delete`.

        Args:
            project: An empty text means the memories without a project; None all.
            type: The type of the memories; None for all.
        """
        wanted = checked_filter(project, None if type is None else [type])
        self.conversations.delete(user, project)
        if type is None:
            self.agents.delete(user, project)
        gone = self._delete(user, self.preview_delete_all(user, project, type))
        if wanted == RecordFilter():
            with self._users.opened(user_hash(user)) as memories:
                memories.delete_events(memories.index.all_keys())  # those of memories that never were whole
        return gone

    def restore(self, user: str, copy: MemoryCopy) -> Sequence[str]:
        """Bring back what was deleted since a copy was made; the ids of what came back."""
        with self._users.opened(user_hash(user)) as memories:
            back = keeping.restore(memories, copy, self._all_erased_at(user, list(copy.all_erased_at)))
        self.backfill_vectors(user)
        return back

    @memory_operation("delete_memory")
    def _delete(self, user: str, planned: Deletion) -> Sequence[str]:
        words, left = planned.turn_words, [cut.remaining for cut in planned.redacted if cut.remaining]
        turns: list[MemorySource] = [{"conversation": c, "turns": [turn], "quotes": []} for c, turn in words]
        self.agents.delete_turns(user, turns)
        self.conversations.redact_turns(user, words)  # first: nothing is extracted again from what is half deleted
        vectors = iter(self._embed(left) if left else [])
        with self._users.opened(user_hash(user)) as memories:
            for cut in planned.redacted:
                if cut.remaining:
                    memories.create_remainder(cut, self._fields_of(next(vectors)), planned.gone_ids)
            return memories.delete(planned.gone_ids)

    def maintain(self, least: float = PRUNE_BELOW) -> StoreMaintenance:
        """For all users: delete what expired, is not retained or over the quota, and tombstones and writers of old.

        Facts are pruned only where the setting `memory_prune_facts` says so. One process runs this from time to time.

        Raises:
            StorageError: The store failed.
        """
        self.flush(FLUSH_SECONDS)
        done: StoreMaintenance = {"expired": 0, "pruned": 0, "over_quota": 0, "tombstones": 0, "writers": 0}
        prunable = None if self._settings.memory_prune_facts else PRUNABLE_TYPES
        for owner in self._adapter.owners():
            with self._users.opened(owner) as memories:
                done["expired"] += len(maintenance.delete_expired(memories))
                done["pruned"] += len(maintenance.prune(memories, least, prunable))
                done["over_quota"] += len(maintenance.delete_over_quota(memories, self._quota))
                done["tombstones"] += maintenance.delete_tombstones(memories)
                done["writers"] += maintenance.delete_idle_writers(memories)
            self.conversations.delete_expired(owner)
            self.agents.delete_expired(owner)
        return done

    def reembed(self) -> int:
        """Make the vectors of all users' memories that are missing or of another model; how many were made.

        Raises:
            EmbeddingError: They cannot be made.
            StorageError: The store failed.
        """
        made = 0
        for owner in self._adapter.owners():
            with self._users.opened(owner) as memories:
                made += maintenance.reembed(memories, self._encoder)
            self._users.drop(owner)  # an index holds vectors of one length
        return made
