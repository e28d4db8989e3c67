"""One user's memories in one process: what was written of them, their index, and how they are erased."""

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.state import records as events
from agentic_memory_bank.state.errors import EmbeddingError, UnknownMemoryError
from agentic_memory_bank.state.records import Record, RecordEvent, Wanted, event_key, record_id, retention
from agentic_memory_bank.tools.embeddings.models import Encoder
from agentic_memory_bank.tools.memories.cascade import Cut, with_all_drawn
from agentic_memory_bank.tools.memories.event_log import Port, RecordLog
from agentic_memory_bank.tools.memories.fields import stamp
from agentic_memory_bank.tools.memories.index import RecordIndex, encoded
from agentic_memory_bank.tools.text.names import names_and_numbers

REEMBED: Final = "memory-bank maintain --reembed"
"""The command that makes all vectors anew."""
TOMBSTONES: Final = timedelta(days=30)
"""How long it is kept that a memory was forgotten: longer than any process goes on that has not heard of it."""
IDLE: Final = timedelta(days=1)
"""After which time a writer that has not written is taken for gone."""

MADE_UP: Final = 32
"""How many memories without a vector get one at a time."""


class Shelf:
    """One user's memories in this process: what was written of them, and their index."""

    def __init__(self, port: Port, owner: str, encoder: Encoder, clock: Callable[[], datetime]) -> None:
        self.lock = threading.Lock()
        self._owner, self._encoder, self._clock = owner, encoder, clock
        self._log = RecordLog(port, owner)
        self._pending: dict[str, RecordEvent | None] = {}
        self.index = RecordIndex(owner, "", None)
        self.is_indexing = False
        """Whether what the store has given is being read into the index: it answers, and this takes its time."""

    @contextmanager
    def opened(self) -> Iterator[None]:
        """One call: what others have written is taken in, and what it writes is written at once, at its end.

        Raises:
            StorageError: The store failed.
        """
        with self.lock:
            is_followed = False
            try:
                self.follow()
                is_followed = True
                yield
                if self._pending:
                    self._log.write(self._pending, stamp(self._clock()))
            except BaseException:
                if self._pending or not is_followed:
                    self._log.lose_track()  # the index has seen what was not written, or not what was
                raise
            finally:
                self._pending = {}

    def follow(self) -> None:
        """Take in what others have written."""
        news = self._log.news()
        if news.anew:
            self.index = RecordIndex(self._owner, model_of(self._encoder), self._encoder.dimension)
        self.is_indexing = True
        try:
            strays = self.index.apply(news.events)
        finally:
            self.is_indexing = False
        if strays:
            self.erase_keys(strays)

    def now(self, *records: Record) -> str:
        """The time, later than anything that happened to these memories."""
        last = max((max(r["updated_at"], r["created_at"], r["replaced_at"] or "") for r in records), default="")
        moment = stamp(self._clock())
        return moment if moment > last else stamp(datetime.fromisoformat(last) + timedelta(microseconds=1))

    def known(self, id: str) -> Record:
        """A memory that is there, current or replaced.

        Raises:
            UnknownMemoryError: There is none of this id.
        """
        record = self.index.records.get(id)
        if record is None or events.is_over(record, self.now()):
            raise UnknownMemoryError(f"This user has no memory {id!r}. List the memories to see which there are.")
        return record

    def write(self, written: Sequence[RecordEvent]) -> None:
        """Write events at the end of the call, and see them at once."""
        self._commit({event_key(event): self._owned(event) for event in written})

    def _owned(self, event: RecordEvent) -> RecordEvent:
        marks = {"marks": sorted(names_and_numbers(event["text"]))} if "text" in event else {}
        return cast(RecordEvent, {**event, **marks, "user": self._owner})

    def heir_of(self, id: str) -> Record:
        """The memory that a value was superseded by, or that one was; itself where it is current. Raises as `known`."""
        record, met = self.known(id), {id}
        while record["replaced_how"] == "supersede" and (by := record["replaced_by"] or "") in self.index.records:
            if by in met:
                break
            met.add(by)
            record = self.index.records[by]
        return record

    def erase_keys(self, keys: Sequence[str]) -> None:
        """Delete events by their keys."""
        self._commit(dict.fromkeys(keys))

    def _commit(self, keyed: Mapping[str, RecordEvent | None]) -> None:
        self._pending.update(keyed)
        self.index.apply(keyed)

    def begin(self, fields: Mapping[str, Any], after: Sequence[Record] = ()) -> Record:
        """Write the beginning of a memory under the first id of its text that was never taken."""
        id = self._free_id(fields["project_name"], fields["type"], fields["text"])
        kept = {name: value for name, value in fields.items() if name != "project_name"}
        self.write([events.create(id, self.now(*after), kept)])
        return self.index.records[id]

    def _free_id(self, project: str, type: str, text: str) -> str:
        generation, id = 0, ""
        while not id or id in self.index.records or id in self.index.forgotten:
            id = record_id(self._owner, project, type, text, generation)
            generation += 1
        return id

    def keep_left(self, cut: Cut, vector: Mapping[str, Any], gone: Collection[str]) -> None:
        """Write what is left of a memory as one of its own, as old and as often used, in the same place.

        Nothing is written of one that is gone by now; one that says the same already gets the sources.

        Args:
            cut: The memory, and what goes of it.
            vector: Of what is left, as an event holds it.
            gone: The ids of all that go.
        """
        record, left = cut.record, cut.left
        if record["id"] not in self.index.records:
            return
        sources = cut.sources
        known = self.index.same(record["project"], record["type"], left, self.now())
        if known is not None and known not in gone:
            now = self.now(self.index.records[known])
            self.write([events.see(known, now, source, record["trust"]) for source in sources])
            return
        same = ("type", "subject", "trust", "importance", "expires_at", "evidence")
        fields: dict[str, Any] = {name: cast(Any, record)[name] for name in same}
        fields |= {"text": left, "project": json.dumps(record["project"]), "source": None, "sources": sources, **vector}
        fields["attribute"] = None if cut.spans else record["attribute"]  # what it states may be what goes
        id = self._free_id(record["project"], record["type"], left)
        self.write([events.create(id, record["created_at"], fields), *self._as_it_stood(id, record, gone)])

    def _as_it_stood(self, id: str, record: Record, gone: Collection[str]) -> Iterator[RecordEvent]:
        """What else is known of a memory, said of the one that has what is left of it."""
        if record["access_count"] and record["used_at"]:
            yield events.use(id, record["used_at"], self._log.writer, record["access_count"])
        by, how, at = record["replaced_by"], record["replaced_how"], record["replaced_at"]
        if by and how and at and by not in gone:
            yield events.replace(id, at, by, how)
            if how == "consolidate" and by in self.index.records:
                yield {**events.see(by, self.now(self.index.records[by]), None, 0.0), "replaces": [id]}

    def used(self, record: Record) -> RecordEvent:
        """One more use by this writer."""
        event = self.index.event(f"{record['id']}.use.{self._log.writer}")
        return events.use(record["id"], self.now(), self._log.writer, 1 + (event.get("count", 0) if event else 0))

    def erase(self, ids: Collection[str]) -> Sequence[str]:
        """Erase memories and nothing else; what they superseded stays superseded."""
        there = [id for id in dict.fromkeys(ids) if id in self.index.records]
        keyed: dict[str, RecordEvent | None] = {}
        marks = self._marks_left_by(there)
        for id in there:
            mark = events.forget(id, self.now(self.index.records[id]))
            keyed[event_key(mark)] = {**mark, "user": self._owner}  # first: what is half erased is not there any more
            keyed.update(dict.fromkeys(self.index.keys_of(id)))
        self.write(marks)
        self._commit(keyed)
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

    def sweep(self) -> Sequence[str]:
        """Erase what is over, with what was drawn from it."""
        now = self.now()
        over = [id for id, record in self.index.records.items() if events.is_over(record, now)]
        return self.erase(with_all_drawn(self.index.records, over))

    def prune(self, least: float, types: Collection[str] | None = None) -> Sequence[str]:
        """Erase what is retained too little, and nothing else.

        Args:
            least: Retention below which it is.
            types: Of which types; None for all.
        """
        now, wanted = self._clock(), Wanted(types=None if types is None else frozenset(types))
        inside = [record for record in self.index.records.values() if wanted.holds(record)]
        return self.erase([record["id"] for record in inside if retention(record, now) < least])

    def drop_tombstones(self) -> int:
        """Erase the marks of what was forgotten long ago; how many they were."""
        before = stamp(self._clock() - TOMBSTONES)
        old = [id for id, at in self.index.forgotten.items() if at < before]
        self.erase_keys([f"{id}.gone" for id in old])
        return len(old)

    def drop_writers(self) -> int:
        """Erase what was kept for the followers of writers that are gone; how many they were."""
        before = stamp(self._clock() - IDLE)
        gone = [writer for writer, at in self._log.writers().items() if at < before]
        self._log.drop_writers(gone)
        return len(gone)

    def refuse_foreign(self, vectors: Sequence[NDArray[np.float32] | None]) -> None:
        """Refuse to work with vectors of two models: what is found would depend on chance.

        Args:
            vectors: Those that were made just now.

        Raises:
            EmbeddingError: What is stored is of another model, or of another length.
        """
        lengths = {len(vector) for vector in vectors if vector is not None} - {self.index.dimension or 0}
        if self.index.dimension and lengths:
            raise EmbeddingError(
                f"The embedding model {model_of(self._encoder)} makes vectors of {lengths.pop()} numbers; those of the "
                f"memories have {self.index.dimension}. Run `{REEMBED}`, or go back to the model they are of."
            )
        if self.index.foreign:
            example = next(iter(self.index.foreign.values()))
            raise EmbeddingError(
                f"{len(self.index.foreign):,} memories have vectors of another embedding model ({example}) than "
                f"that in use ({model_of(self._encoder)}). Run `{REEMBED}`, or go back to that model."
            )

    def reembed(self, encoder: Encoder) -> int:
        """Put vectors of this model in the place of others: the events stay what they are, so their keys do.

        The index is of no use afterwards; it holds vectors of one length.
        """
        keyed = self._embedded([*self.index.foreign, *sorted(self.index.bare)], encoder)
        self._pending.update(keyed)
        return len(keyed)

    def make_up(self, vectors: Sequence[tuple[str, NDArray[np.float32]]], model: str) -> int:
        """Give memories their vectors that have none yet; how many got one.

        Args:
            vectors: Each with the id of its memory, at least one. What is gone, or has one by now, is no error; beside
                vectors of another model none is given.
            model: That made them.
        """
        if self.index.foreign or {len(vector) for _, vector in vectors} - {self.index.dimension or len(vectors[0][1])}:
            return 0
        there = [(self.index.records[id], vector) for id, vector in vectors if id in self.index.bare]
        keyed = self._with_vectors(there, model)
        self._commit(keyed)
        return len(keyed)

    def _embedded(self, ids: Sequence[str], encoder: Encoder) -> dict[str, RecordEvent | None]:
        """The events of memories, with vectors of this model."""
        wanted = [self.index.records[id] for id in ids]
        vectors = encoder.vectors([record["text"] for record in wanted])
        return self._with_vectors(list(zip(wanted, vectors, strict=True)), encoder.model)

    def _with_vectors(
        self, records: Sequence[tuple[Record, NDArray[np.float32]]], model: str
    ) -> dict[str, RecordEvent | None]:
        keyed: dict[str, RecordEvent | None] = {}
        for record, vector in records:
            event = self.index.event(record["version"])
            if event is not None:
                keyed[record["version"]] = cast(RecordEvent, {**event, **vector_fields(vector, model)})
        return keyed


def vector_fields(vector: NDArray[np.float32], model: str) -> Mapping[str, Any]:
    """A vector as an event holds it."""
    return {"vector": encoded(vector), "model": model}


def model_of(encoder: Encoder) -> str:
    """The name of the model; empty where its files are not there."""
    try:
        return encoder.model
    except EmbeddingError:  # listing and forgetting go on without the model's files
        return ""
