"""Decides when one user's index is kept in a file, and keeps it there; without files it does nothing."""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Final

from agentic_memory_bank.state.errors import StorageError
from agentic_memory_bank.state.record_events import RecordEvent
from agentic_memory_bank.tools.memories.event_log import EventLog
from agentic_memory_bank.tools.memories.index import RecordIndex
from agentic_memory_bank.tools.memories.index_files import IndexFiles, KeptIndex
from agentic_memory_bank.tools.storage.section_file import SectionDamagedError

FEWEST: Final = 512
"""Memories, and changes to them, from which on an index is kept in a file: reading fewer events takes no time."""
MOST_UNKEPT: Final = 1_024
"""Changes after which it is kept again, however large it is."""
SHARE: Final = 64
"""Below that, one change for so many memories."""
REST: Final = 60.0
"""Seconds after which it is tried again where it could not be written."""
SOON: Final = 1.0
"""The same where others are at it."""

_LOG = logging.getLogger(__name__)


class IndexKeeper:
    """Keeps the index of one user; the owner serves one call at a time."""

    def __init__(self, files: IndexFiles | None, owner: str) -> None:
        self._files, self._owner = files, owner
        self._unkept: set[str] = set()
        """The keys of what changed since the index was kept, or was read from its file."""
        self._is_stale = False
        """Whether the file holds what is gone by now, or says how far it goes by writers that are gone."""
        self._rests_until = 0.0

    def open(self, model: str, dimension: int | None) -> KeptIndex | None:
        """The index as it was kept last; None where it was not, or vectors are of another model."""
        self._unkept, self._is_stale = set(), False
        return self._files.open(self._owner, model, dimension) if self._files is not None and model else None

    def count(self, index: RecordIndex, events: Mapping[str, RecordEvent | None]) -> None:
        """Count what is about to change; what is gone from the index is not to stay in the file."""
        self._unkept.update(events)
        if index.is_stored(key for key, event in events.items() if event is None):
            self.outdate()

    def outdate(self) -> None:
        """Have the file made anew."""
        self._is_stale = True

    def follow(self, index: RecordIndex, events: Mapping[str, RecordEvent | None], heads: Mapping[str, int]) -> None:
        """Count what others have changed; what they erased, maybe on another machine, is erased from the file.

        Args:
            heads: How far the events go that this process has read.

        Raises:
            StorageError: The file cannot be removed.
        """
        is_erased = any(event is None and index.event(key) is not None for key, event in events.items())
        if is_erased and self._files is not None:
            self._files.discard_before(self._owner, heads)
        self.count(index, events)

    def write(self, events: Mapping[str, RecordEvent | None], write: Callable[[], None]) -> None:
        """Write events to the store; before any is erased there, the file goes.

        Raises:
            StorageError: The store failed, or the file cannot be removed, and nothing is written.
        """
        if self._files is not None and any(event is None for event in events.values()):
            self._files.erase(self._owner, write)
        else:
            write()

    def discard(self) -> StorageError:
        """Remove a file that turned out to be damaged while it was read; what to raise, for the call to be repeated.

        Raises:
            StorageError: The file cannot be removed.
        """
        if self._files is not None:
            self._files.erase(self._owner, lambda: None)
        return StorageError("The index of a user's memories was damaged. It is made anew: try again.")

    def wants(self, index: RecordIndex) -> bool:
        """Whether so much is new that the index should be kept."""
        if self._files is None or time.monotonic() < self._rests_until:
            return False
        count = len(index.records)
        is_much = len(self._unkept) >= min(MOST_UNKEPT, max(FEWEST, count // SHARE))
        return count >= FEWEST and (is_much or self._is_stale)

    def renew(self, log: EventLog, model: str, dimension: int | None) -> KeptIndex | None:
        """Bring the file up to date, beside whoever searches meanwhile; None where there is none, or it cannot be.

        Args:
            log: A reader of the same events that nobody else uses.
        """
        if self._files is None or not model:
            return None
        with suppress(OSError, StorageError, SectionDamagedError):  # whoever keeps an index as it is, meets them, too
            return self._renewed(self._files, log, model, dimension)
        return None

    def begin(self, held: ExitStack, index: RecordIndex, log: EventLog) -> KeptIndex | None:
        """An index as it is, for `keep`; None where it cannot be kept now.

        Args:
            held: Holds the file until it is written: whoever erases waits for that, nobody else does.
        """
        self._rests_until = time.monotonic() + REST
        if self._files is None or index.other_model:
            return None
        try:
            is_alone = held.enter_context(self._files.writing(self._owner))
            if is_alone and log.is_current() and log.seen is not None:
                return KeptIndex(index.snapshot(), log.seen)
        except (OSError, StorageError) as error:
            _LOG.debug("An index is not kept in a file: %s", error)
            return None
        self._rests_until = time.monotonic() + SOON
        return None

    def keep(self, taken: KeptIndex, model: str, dimension: int | None) -> KeptIndex | None:
        """Keep an index as it was; the same as it stands in the file, or None where that cannot be."""
        if self._files is None or not model:
            return None
        try:
            found = self._files.open(self._owner, model, dimension)
            if found is None or found.heads != taken.heads:  # else another process was quicker
                self._files.write(taken.found, self._owner, model, taken.heads)
                found = self._files.open(self._owner, model, dimension)
        except (OSError, StorageError, SectionDamagedError) as error:
            _LOG.debug("An index is not kept in a file: %s", error)
            return None
        self._rests_until = 0.0 if found else time.monotonic() + SOON
        return found

    def note_kept(self) -> None:
        """Count changes from here on: the index is that of the file."""
        self._unkept, self._is_stale = set(), False

    def _renewed(self, files: IndexFiles, log: EventLog, model: str, dimension: int | None) -> KeptIndex | None:
        """While the file is locked nobody erases, here or in another process: what is read is not gone when written."""
        with files.writing(self._owner) as is_alone:
            kept = files.open(self._owner, model, dimension) if is_alone else None
            if kept is None:
                return None
            log.reset(kept.heads)
            changes = log.changes()
            events = kept.found.differing(changes.events) if changes.is_complete else changes.events
            if kept.found.apply(events) or kept.found.other_model or log.seen is None:
                return None
            if log.seen == kept.heads:  # another process was quicker
                return kept
            files.write(kept.found, self._owner, model, log.seen)
            return files.open(self._owner, model, dimension)
