"""Counts the uses of one user's memories apart from all else: noted at once, and written later, many together."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple, cast

from agentic_memory_bank.state import record_events as events
from agentic_memory_bank.state.record_events import RecordEvent, event_key
from agentic_memory_bank.tools.memories.event_log import EventLog
from agentic_memory_bank.tools.memories.store_adapter import StoreAdapter


class _Uses(NamedTuple):
    times: int
    last: str
    """When the last one was, as a stamp."""


class UseCounts:
    """The uses that this process has counted; safe across threads.

    They are written by a writer of their own, so that whoever searches waits for none of it; the index reads them as
    it reads what other processes write, but from memory. Each event has the whole count of this writer: one that was
    written, though the store said it was not, is counted once.
    """

    def __init__(self, adapter: StoreAdapter, owner: str) -> None:
        self.log: Final = EventLog(adapter, owner)
        """The writer of uses, which nobody else writes with."""
        self._owner = owner
        self._noting, self._writing = threading.Lock(), threading.Lock()
        self._noted: dict[str, _Uses] = {}
        self._written: dict[str, int] = {}

    def note(self, ids: Collection[str], at: str) -> None:
        """Note one more use of each of these memories, known or not."""
        self._add({id: _Uses(1, at) for id in ids})

    def key_of(self, id: str) -> str:
        """The key of the event that counts the uses of a memory here."""
        return event_key(events.use(id, "", self.log.writer, 0))

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Write no use while somebody erases, and none afterwards of what is forgotten."""
        with self._writing:
            self.log.forget_written()
            yield

    def write(self, known_of: Callable[[Collection[str]], Collection[str]]) -> None:
        """Write what is noted of the memories that there are; what cannot be written stays noted.

        Args:
            known_of: Tells which of some ids are those of memories.

        Raises:
            StorageError: The store failed.
        """
        with self._noting:
            noted, self._noted = self._noted, {}
        try:
            known = known_of(noted)
            with self._writing:
                self._write({id: noted[id] for id in known})
        except BaseException:
            self._add(noted)
            raise

    def _write(self, noted: Mapping[str, _Uses]) -> None:
        there = [id for id, is_gone in zip(noted, self.log.are_forgotten(list(noted)), strict=True) if not is_gone]
        counts = {id: self._written.get(id, 0) + noted[id].times for id in there}
        written = [events.use(id, noted[id].last, self.log.writer, count) for id, count in counts.items()]
        if written:
            keyed = {event_key(event): cast(RecordEvent, {**event, "user": self._owner}) for event in written}
            self.log.write(keyed, max(event["at"] for event in written))
        self._written.update(counts)

    def _add(self, noted: Mapping[str, _Uses]) -> None:
        with self._noting:
            for id, uses in noted.items():
                before = self._noted.get(id, _Uses(0, ""))
                self._noted[id] = _Uses(before.times + uses.times, max(before.last, uses.last))
