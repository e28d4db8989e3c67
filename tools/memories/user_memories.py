"""One user's memories in one process: their events, their index, and every change to them."""

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, cast

from agentic_memory_bank.state import record_events as events
from agentic_memory_bank.state.errors import EmbeddingError, InputError, UnknownMemoryError
from agentic_memory_bank.state.record_events import RecordEvent, event_key
from agentic_memory_bank.state.records import MemorySource, Record, Replacement, is_expired, record_id
from agentic_memory_bank.tools.concurrency.garbage import uncollected
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.memories.deletion import Redaction
from agentic_memory_bank.tools.memories.event_log import EventLog
from agentic_memory_bank.tools.memories.index import RecordIndex
from agentic_memory_bank.tools.memories.index_files import IndexFiles
from agentic_memory_bank.tools.memories.index_keeper import IndexKeeper
from agentic_memory_bank.tools.memories.store_adapter import StoreAdapter
from agentic_memory_bank.tools.memories.use_counts import UseCounts
from agentic_memory_bank.tools.memories.validation import stamp
from agentic_memory_bank.tools.memories.vectors import REEMBED, Vector, model_of
from agentic_memory_bank.tools.storage.section_file import SectionDamagedError
from agentic_memory_bank.tools.text.names import names_and_numbers

_SECOND: Final = 19
"""Characters of a stamp up to its second."""


class StoreResult(NamedTuple):
    """Outcome of storing a memory."""

    record: Record
    is_new: bool
    """Whether it is new; otherwise its source was added to a known one."""


class UserMemories:
    """One user's memories in this process; the lock of `opened` serves one call at a time."""

    def __init__(
        self,
        adapter: StoreAdapter,
        owner: str,
        encoder: Encoder,
        clock: Callable[[], datetime],
        files: IndexFiles | None = None,
    ) -> None:
        self.lock = threading.Lock()
        self.owner, self.encoder, self.clock = owner, encoder, clock
        self.uses = UseCounts(adapter, owner)
        self.log = EventLog(adapter, owner, self.uses.log)
        self.index = RecordIndex(owner, "")
        self._keeper = IndexKeeper(files, owner)
        self._is_begun = False  # whether the index holds all that was written, and nothing else
        self._is_indexing = False
        self._erasures = 0  # an index that was read from a file before the last of them holds what is gone
        self._pending: dict[str, RecordEvent | None] = {}
        self._created = ""  # when the last memory was stored, as a stamp

    @contextmanager
    def opened(self) -> Iterator[None]:
        """One call: what others have written is read first, and what the call writes is written at its end.

        Raises:
            StorageError: The store failed.
        """
        with self.lock:
            is_current = False
            try:
                with nullcontext() if self._is_begun else uncollected():
                    self._refresh()
                is_current = True
                yield
                if self._pending:
                    self._write()
            except SectionDamagedError as error:  # in what is compared only when it is read
                self._is_begun = False
                raise self._keeper.discard() from error
            except BaseException:
                if self._pending or not is_current:
                    self._is_begun = False  # the index holds events that were not written, or lacks some that were
                raise
            finally:
                self._pending = {}

    @property
    def is_indexing(self) -> bool:
        """Whether many events are being read into the index, which takes its time, however fast the store is."""
        return self._is_indexing or self.log.is_reading_all

    def _refresh(self) -> None:
        """Read what others have written."""
        if not self._is_begun:
            model, dimension = model_of(self.encoder), self.encoder.dimension
            kept = self._keeper.open(model, dimension)
            self.index = kept.found if kept else RecordIndex(self.owner, model, dimension)
            self.log.reset(kept.heads if kept else None)
        changes = self.log.changes()
        events = changes.events
        if changes.is_complete:
            events = self.index.differing(events)
            self._keeper.outdate()
        self._keeper.follow(self.index, events, self.log.seen or {})
        self._erasures += None in events.values()
        self._is_indexing = True
        try:
            leftovers = self.index.apply(events)
        finally:
            self._is_indexing = False
        self._is_begun = True
        if leftovers:
            self.delete_events(leftovers)

    def _write(self) -> None:
        """Write what the call wants written."""
        pending, at = self._pending, stamp(self.clock())
        self._erasures += (is_erasing := None in pending.values())
        with self.uses.held_back() if is_erasing else nullcontext():
            self._keeper.write(pending, lambda: self.log.write(pending, at))

    def write_uses(self) -> None:
        """Write the uses that were noted; nobody who searches waits for that.

        Raises:
            StorageError: The store failed; they stay noted.
        """
        self.uses.write(self._known)

    def _known(self, ids: Collection[str]) -> Collection[str]:
        with self.lock:
            if self._is_begun and all(id in self.index.records for id in ids):
                return list(ids)
        with self.opened():  # others may have stored them; and a call that failed leaves an index without memories
            return [id for id in ids if id in self.index.records]

    def drop_writers(self, writers: Sequence[str]) -> None:
        """Erase the slots of writers that are gone; the index goes on without them.

        Raises:
            StorageError: The store failed.
        """
        self.log.drop_writers(writers)
        if writers:
            self._keeper.outdate()

    def wants_file(self) -> bool:
        """Whether so much is new that the index should be kept in a file."""
        return self._is_begun and self._keeper.wants(self.index)

    def keep_index(self) -> None:
        """Keep the index in a file, where it can be, and go on with that, beside whoever searches and writes."""
        with self.lock:
            if not self.wants_file():
                return
        model, dimension, erasures = model_of(self.encoder), self.encoder.dimension, self._erasures
        kept = self._keeper.renew(self.log.reader(), model, dimension)
        with ExitStack() as held:
            with self.lock:
                taken = self._keeper.begin(held, self.index, self.log) if kept is None and self.wants_file() else None
            kept = kept if taken is None else self._keeper.keep(taken, model, dimension)
        with self.lock:
            if kept is not None and self._is_begun and erasures == self._erasures:  # else it is kept with a later call
                self.index = kept.found
                self.log.reset(kept.heads)  # what came meanwhile is read with the next call
                self._keeper.note_kept()

    # --- reading ---------------------------------------------------------------------------------------------------

    def now(self, *records: Record) -> str:
        """The time, later than anything that happened to these memories."""
        last = max((max(r["updated_at"], r["created_at"], r["replaced_at"] or "") for r in records), default="")
        moment = stamp(self.clock())
        return moment if moment > last else stamp(datetime.fromisoformat(last) + timedelta(microseconds=1))

    def get(self, id: str) -> Record:
        """A memory, current or replaced.

        Raises:
            UnknownMemoryError: There is none of this id, or it has expired.
        """
        record = self.index.records.get(id)
        if record is None or is_expired(record, self.now()):
            raise UnknownMemoryError(f"This user has no memory {id!r}. List the memories to see which there are.")
        return record

    def successor_of(self, id: str) -> Record:
        """The memory that supersedes another one, over any number of steps; itself where it is current.

        Raises:
            UnknownMemoryError: There is none of this id.
        """
        record, seen = self.get(id), {id}
        while record["replaced_how"] == "supersede" and (by := record["replaced_by"] or "") in self.index.records:
            if by in seen:
                break
            seen.add(by)
            record = self.index.records[by]
        return record

    def check_model(self, vectors: Sequence[Vector | None]) -> None:
        """Check that vectors of two embedding models are not mixed: hits would be random.

        Raises:
            EmbeddingError: The stored vectors are of another model, or of another length.
        """
        lengths = {len(vector) for vector in vectors if vector is not None} - {self.index.dimension or 0}
        if self.index.dimension and lengths:
            raise EmbeddingError(
                f"The embedding model {model_of(self.encoder)} makes vectors of {lengths.pop()} numbers; those of the "
                f"memories have {self.index.dimension}. Run `{REEMBED}`, or go back to the model they are of."
            )
        if self.index.other_model:
            example = next(iter(self.index.other_model.values()))
            raise EmbeddingError(
                f"{len(self.index.other_model):,} memories have vectors of another embedding model ({example}) than "
                f"that in use ({model_of(self.encoder)}). Run `{REEMBED}`, or go back to that model."
            )

    # --- writing ---------------------------------------------------------------------------------------------------

    def write(self, written: Sequence[RecordEvent]) -> None:
        """Write events at the end of the call; the index holds them at once."""
        self.commit({event_key(event): self._owned(event) for event in written})

    def commit(self, keyed: Mapping[str, RecordEvent | None]) -> None:
        """Write events under their keys, and delete those that are None."""
        self._pending.update(keyed)
        self._keeper.count(self.index, keyed)
        self.index.apply(keyed)

    def commit_unindexed(self, keyed: Mapping[str, RecordEvent | None]) -> None:
        """Write events that the index cannot hold, such as vectors of another length."""
        self._pending.update(keyed)

    def delete_events(self, keys: Sequence[str]) -> None:
        """Delete events by their keys."""
        self.commit(dict.fromkeys(keys))

    def _owned(self, event: RecordEvent) -> RecordEvent:
        marks = {"marks": sorted(names_and_numbers(event["text"]))} if "text" in event else {}
        return cast(RecordEvent, {**event, **marks, "user": self.owner})

    def add(self, fields: Mapping[str, Any], vector: Mapping[str, Any]) -> StoreResult:
        """Store a memory; where the user has one of the same text, add the source to that.

        A memory of the same text from the same source is the same even where it was replaced since: a job that runs
        twice stores once.
        """
        same_text = fields["project_name"], fields["type"], fields["text"]
        known = self.index.same_source(fields) or self.index.same_text(*same_text, self.now())
        if known is None:
            return StoreResult(self.create({**fields, **vector}), True)
        return StoreResult(self.add_source(known, fields["source"], fields["trust"]), False)

    def add_source(self, id: str, source: MemorySource | None, trust: float) -> Record:
        """Add a source to a memory, and trust it as its best source is trusted."""
        record = self.index.records[id]
        if (source is not None and source not in record["sources"]) or trust > record["trust"]:
            self.write([events.see(id, self.now(record), source, trust)])
        return self.index.records[id]

    def create(self, fields: Mapping[str, Any], after: Sequence[Record] = ()) -> Record:
        """Write a new memory under the first id of its text that was never used, later than some others.

        No two are stored at one time: of what was said in one breath, the later turn is the newer one.
        """
        id = self._free_id(fields["project_name"], fields["type"], fields["text"])
        kept = {name: value for name, value in fields.items() if name != "project_name"}
        moment = self.now(*after)
        if self._created[:_SECOND] == moment[:_SECOND] and moment <= self._created:
            moment = stamp(datetime.fromisoformat(self._created) + timedelta(microseconds=1))
        self._created = moment
        self.write([events.create(id, moment, kept)])
        return self.index.records[id]

    def replace(
        self, olds: Sequence[Record], how: Replacement, fields: Mapping[str, Any], vector: Mapping[str, Any]
    ) -> Record:
        """Write a memory in place of others, which stay, marked: both at once.

        Raises:
            InputError: They are not of one type and project.
        """
        check_replaceable(olds, fields)
        same = self.index.same_text(fields["project_name"], fields["type"], fields["text"], self.now())
        if same is not None and how == "supersede":
            return self._supersede_by(same, olds[0], fields)
        sources = [source for old in olds for source in old["sources"]] if how == "consolidate" else []
        replaced = {"replaces": [old["id"] for old in olds], "how": how, "sources": sources, **vector}
        return self.create({**fields, **replaced}, after=olds)

    def _supersede_by(self, id: str, old: Record, fields: Mapping[str, Any]) -> Record:
        """Let a memory that is known already supersede another one; it gets the source."""
        record = self.index.records[id]
        written = [events.see(id, self.now(record), fields["source"], fields["trust"])]
        if old["id"] != id:
            written.append(events.replace(old["id"], self.now(old), id, "supersede"))
        self.write(written)
        return self.index.records[id]

    def relate(
        self, own: Record, supersedes: Sequence[Record], superseded_by: Record | None, contradicts: Sequence[Record]
    ) -> Record:
        """Mark how a memory stands to others; marks that are there are not written twice."""
        id = own["id"]
        olds = list({old["id"]: old for old in supersedes if old["id"] != id}.values())
        written = [events.replace(old["id"], self.now(old), id, "supersede") for old in olds]
        if superseded_by is not None and superseded_by["id"] != id:
            written.append(events.replace(id, self.now(own), superseded_by["id"], "supersede"))
        written += [events.contradict(id, o["id"], self.now(*contradicts)) for o in contradicts if o["id"] != id]
        if olds:
            seen = events.see(id, self.now(own), None, 0.0)
            written.append({**seen, "replaces": [old["id"] for old in olds]})
        self.write(written)
        return self.index.records[id]

    def create_remainder(self, cut: Redaction, vector: Mapping[str, Any], gone: Collection[str]) -> None:
        """Write what is left of a redacted memory as a memory of its own, of the same age, use and place.

        Nothing is written of one that is gone by now; a memory of the same text gets the sources instead.

        Args:
            vector: That of the remaining text, as the fields of an event.
            gone: The ids of all memories that are deleted with it.
        """
        record, left, sources = cut.record, cut.remaining, cut.sources
        if record["id"] not in self.index.records:
            return
        known = self.index.same_text(record["project"], record["type"], left, self.now())
        if known is not None and known not in gone:
            self.write([events.see(known, self.now(self.index.records[known]), s, record["trust"]) for s in sources])
            return
        same = ("type", "subject", "trust", "importance", "expires_at", "evidence")
        fields: dict[str, Any] = {name: cast(Any, record)[name] for name in same}
        fields |= {"text": left, "project": json.dumps(record["project"]), "source": None, "sources": sources, **vector}
        fields["attribute"] = None if cut.spans else record["attribute"]  # its value may be what is removed
        id = self._free_id(record["project"], record["type"], left)
        self.write([events.create(id, record["created_at"], fields), *self._history_of(record, id, gone)])

    def _history_of(self, record: Record, id: str, gone: Collection[str]) -> Iterator[RecordEvent]:
        """The use, the pin and the replacement of a memory, as events of another one."""
        if record["pinned_at"]:
            yield events.pin(id, record["pinned_at"], pinned=True)
        if record["access_count"] and record["used_at"]:
            yield events.use(id, record["used_at"], self.log.writer, record["access_count"])
        by, how, at = record["replaced_by"], record["replaced_how"], record["replaced_at"]
        if by and how and at and by not in gone:
            yield events.replace(id, at, by, how)
            if how == "consolidate" and by in self.index.records:
                yield {**events.see(by, self.now(self.index.records[by]), None, 0.0), "replaces": [id]}

    def delete(self, ids: Collection[str]) -> Sequence[str]:
        """Delete memories and nothing else; what they superseded stays superseded."""
        there = [id for id in dict.fromkeys(ids) if id in self.index.records]
        keyed: dict[str, RecordEvent | None] = {}
        marks = self._marks_left_by(there)
        for id in there:
            tombstone = events.forget(id, self.now(self.index.records[id]))
            keyed[event_key(tombstone)] = {**tombstone, "user": self.owner}  # first: half deleted is not shown
            keyed.update(dict.fromkeys([*self.index.keys_of(id), self.uses.key_of(id)]))
        self.write(marks)
        self.commit(keyed)
        return there

    def _marks_left_by(self, ids: Collection[str]) -> list[RecordEvent]:
        records, gone = self.index.records, set(ids)
        return [
            events.replace(old, record["replaced_at"] or "", record["replaced_by"] or "", "supersede")
            for id in ids
            for old in records[id]["replaces"]
            if old not in gone and (record := records.get(old)) is not None
            if record["replaced_by"] == id and record["replaced_how"] == "supersede"
        ]

    def _free_id(self, project: str, type: str, text: str) -> str:
        generation, id = 0, ""
        while not id or id in self.index.records or id in self.index.deleted:
            id = record_id(self.owner, project, type, text, generation)
            generation += 1
        return id


def check_replaceable(olds: Sequence[Record], fields: Mapping[str, Any], alike: Collection[str] = ()) -> None:
    """Refuse that a memory replaces those of another project, or of another type.

    Args:
        alike: Types that may replace each other.

    Raises:
        InputError: It would.
    """
    for old in olds:
        is_alike = old["type"] == fields["type"] or {old["type"], fields["type"]} <= {*alike}
        if old["project"] != fields["project_name"] or not is_alike:
            raise InputError(
                "Only memories of one type and one project take each other's place. Store another one instead."
            )
