"""The events of one user's memories in a LangGraph `BaseStore`: written once, and followed while others write, too.

A `BaseStore` has no compare-and-swap, so no key but one's own is ever changed. Events stand under keys made of what
they say. Each writer numbers what it writes in a ring of slots of its own and keeps the last number under its name: who
follows reads the names, then the slots behind what it knows, then the events these name, and nothing else. Who was
overtaken by the ring, or meets a writer that is gone, reads everything again.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast
from uuid import uuid4

from langgraph.store.base import PutOp

from agentic_memory_bank.state.record_events import RecordEvent, event_key, forget
from agentic_memory_bank.tools.memories.store_adapter import StoreAdapter, in_batches
from agentic_memory_bank.tools.storage.sqlite_store import ROOT

RING: Final = 4_096
"""How many of its last writes each writer keeps for those who follow."""
_REMEMBERED: Final = 64
"""How many of its last writes a writer remembers for the companion that reads them; older ones the store tells."""


class EventChanges(NamedTuple):
    """Events that were written since the last read."""

    is_complete: bool
    """Whether these are all events there are; otherwise those that changed."""
    events: Mapping[str, RecordEvent | None]
    """By key; None for one that is no longer there."""


class EventLog:
    """The events of one user, as one writer sees and writes them; the owner serves one call at a time.

    Args:
        companion: Another writer of this process, whose writes are read from memory where it remembers them: no
            round trip to the store for what this process wrote itself.
    """

    def __init__(self, adapter: StoreAdapter, owner: str, companion: "EventLog | None" = None) -> None:
        self._adapter, self._owner, self._companion = adapter, owner, companion
        self._events = (ROOT, owner, "events")
        self._slots = (ROOT, owner, "slots")
        self._writers = (ROOT, owner, "writers")
        self._seen: dict[str, int] | None = None
        self._head = 0
        self._unrevealed: list[str] = []
        self._remembered: dict[int, Mapping[str, RecordEvent | None]] = {}
        self.is_reading_all = False
        """Whether all events are being read, from a store that has just answered."""
        self.writer = uuid4().hex[:16]
        """Names this writer; no other has the same name, ever."""

    def reader(self) -> "EventLog":
        """Another reader of the same events, which nobody else uses."""
        return EventLog(self._adapter, self._owner)

    def changes(self) -> EventChanges:
        """Read the events written since the last call; all events at the first call and after a failure.

        Raises:
            StorageError: The store failed.
        """
        heads = self._heads()
        behind = self._behind(heads)
        remembered, asked = self._remembered_of(behind or [])
        keys = None if behind is None else self._revealed(asked)
        if keys is None:
            return self._everything(heads)
        values = self._adapter.get(self._events, keys)
        self._seen = heads
        read = zip(keys, cast(list[RecordEvent | None], values), strict=True)
        return EventChanges(False, {**remembered, **dict(read)})

    def write(self, events: Mapping[str, RecordEvent | None], at: str) -> None:
        """Write events, and delete those that are None. What is one event is written whole or not at all.

        Raises:
            StorageError: The store failed; what of it was written is found out at the next look.
        """
        with self._adapter.together():
            for keys in in_batches(list(events)):
                self._write({key: events[key] for key in keys}, at)

    def _write(self, events: Mapping[str, RecordEvent | None], at: str) -> None:
        self._unrevealed += events
        number = self._head = self._head + 1  # a number is never used again, even if it was not written
        slot = {"n": number, "keys": self._unrevealed}
        puts: list[tuple[tuple[str, ...], str, Any]] = [(self._events, key, event) for key, event in events.items()]
        puts += [(self._slots, f"{self.writer}.{number % RING}", slot)]
        puts += [(self._writers, self.writer, {"head": number, "at": at})]
        known, self._seen = self._seen, None
        self._adapter.batch([PutOp(space, key, value, index=False) for space, key, value in puts])
        if len(self._unrevealed) == len(events):  # else it reveals what an earlier write may or may not have written
            self._remembered[number] = events
            self._remembered.pop(number - _REMEMBERED, None)
        self._unrevealed = []
        if known is not None:
            self._seen = {**known, self.writer: number}

    def forget_written(self) -> None:
        """Remember no more what was written, since some of it is about to be erased: the companion asks the store."""
        self._remembered = {}

    def are_forgotten(self, ids: Sequence[str]) -> list[bool]:
        """Whether each of some memories is forgotten, as the store says now.

        Raises:
            StorageError: The store failed.
        """
        marks = self._adapter.get(self._events, [event_key(forget(id, "")) for id in ids])
        return [mark is not None for mark in marks]

    @property
    def seen(self) -> Mapping[str, int] | None:
        """For each writer the number of its last event that was read; None where all are read with the next look."""
        return self._seen

    def is_current(self) -> bool:
        """Whether nobody has written since the last look.

        Raises:
            StorageError: The store failed.
        """
        return self._seen is not None and self._heads() == self._seen

    def reset(self, seen: Mapping[str, int] | None = None) -> None:
        """Go on behind these numbers, or read everything again with the next `changes`."""
        self._seen = None if seen is None else dict(seen)

    def writers(self) -> dict[str, str]:
        """When each writer has written last."""
        return {writer: str(value.get("at", "")) for writer, value in self._adapter.everything(self._writers).items()}

    def drop_writers(self, writers: Iterable[str]) -> None:
        """Erase the slots of writers that are gone; their events stay. Whoever wrote since the last look stays, too."""
        if self._seen is None:
            return
        heads, seen = self._heads(), self._seen
        gone = [one for one in writers if one != self.writer and one in seen and heads.get(one) == seen[one]]
        slots = [key for key in self._adapter.everything(self._slots) if key.rpartition(".")[0] in set(gone)]
        deletes = [(self._slots, key) for key in slots] + [(self._writers, writer) for writer in gone]
        for some in in_batches(deletes):
            self._adapter.batch([PutOp(space, key, None) for space, key in some])
        self._seen = {writer: number for writer, number in seen.items() if writer not in gone}

    def _heads(self) -> dict[str, int]:
        writers = self._adapter.everything(self._writers)
        return {writer: _number(value.get("head")) for writer, value in writers.items()}

    def _everything(self, heads: dict[str, int]) -> EventChanges:
        """All events. Those that come while they are read are among what comes after `heads`, and so are read again."""
        self.is_reading_all = True
        try:
            events = cast(Mapping[str, RecordEvent], self._adapter.everything(self._events))
        finally:
            self.is_reading_all = False
        self._seen = heads
        self._head = max(self._head, heads.get(self.writer, 0))
        return EventChanges(True, dict(events))

    def _behind(self, heads: Mapping[str, int]) -> list[tuple[str, int]] | None:
        """Writers and numbers of what was written since the last look; None where that can no longer be told."""
        seen = self._seen
        if seen is None or any(heads.get(writer, -1) < number for writer, number in seen.items()):
            return None
        behind = {writer: head - seen.get(writer, 0) for writer, head in heads.items()}
        if max(behind.values(), default=0) > RING:
            return None
        return [(w, n) for w, head in heads.items() for n in range(head - behind[w] + 1, head + 1)]

    def _remembered_of(
        self, written: Sequence[tuple[str, int]]
    ) -> tuple[Mapping[str, RecordEvent | None], Sequence[tuple[str, int]]]:
        """What the companion remembers of some writes, and those that the store must be asked for."""
        if self._companion is None:
            return {}, written
        remembered: dict[str, RecordEvent | None] = {}
        asked: list[tuple[str, int]] = []
        for writer, number in written:
            events = self._companion._remembered.get(number) if writer == self._companion.writer else None
            if events is None:
                asked.append((writer, number))
            else:
                remembered |= events
        return remembered, asked

    def _revealed(self, written: Sequence[tuple[str, int]]) -> list[str] | None:
        """The keys that some writes changed; None where that can no longer be told."""
        slots = self._adapter.get(self._slots, [f"{writer}.{number % RING}" for writer, number in written])
        if any(slot is None or slot.get("n") != n for slot, (_, n) in zip(slots, written, strict=True)):
            return None
        return list(dict.fromkeys(key for slot in slots if slot for key in slot["keys"]))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
