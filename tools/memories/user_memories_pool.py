"""The users whose memories a process has at hand: as many indexes as fit, each kept in a file behind their backs."""

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Final

from agentic_memory_bank.state.errors import StorageError
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.memories.index_files import index_files_of
from agentic_memory_bank.tools.memories.store_adapter import StoreAdapter
from agentic_memory_bank.tools.memories.user_memories import UserMemories
from agentic_memory_bank.tools.memories.validation import stamp

EXIT_SECONDS: Final = 2.0
"""How long the end of the process waits for an index that is being kept, and for uses that are being written."""
TOGETHER_SECONDS: Final = 1.0
"""How long uses are gathered before they are written."""

_LOG = logging.getLogger(__name__)


class UserMemoriesPool:
    """The memories of the users who were active last, each read into one index.

    Args:
        most: How many bytes of memory the indexes take at most; that of the user who was active last always stays.
    """

    def __init__(self, adapter: StoreAdapter, encoder: Encoder, clock: Callable[[], datetime], most: int) -> None:
        self._adapter, self._encoder, self._clock, self._most = adapter, encoder, clock, most
        self._files = index_files_of(adapter.store)
        self._later = WorkerPool(None, 1, "memories-index", EXIT_SECONDS)
        self._counting = WorkerPool(None, 1, "memories-uses", EXIT_SECONDS)
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._users: OrderedDict[str, UserMemories] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._keeping: set[str] = set()
        self._used: set[UserMemories] = set()
        """Those of whom uses are noted and not written; of one user several, where the others are read no more."""
        self._is_counting = False
        """Whether they are going to be written."""
        self._process = os.getpid()

    def peek(self, owner: str) -> UserMemories | None:
        """The memories of a user as this process has read them; None where it has not."""
        return self._users.get(owner) if self._process == os.getpid() else None

    def drop(self, owner: str) -> None:
        """Read the memories of a user anew with the next call."""
        with self._lock:
            self._users.pop(owner, None)
            self._sizes.pop(owner, None)

    def flush(self, seconds: float) -> bool:
        """Wait until uses are written and indexes are kept in files; whether they are."""
        until = time.monotonic() + seconds
        self._count_later()
        is_counted = self._counting.flush(seconds) and not self._used
        return self._later.flush(max(0.0, until - time.monotonic())) and is_counted

    def count_use(self, owner: str, ids: Collection[str]) -> None:
        """Note that memories were used; it is written a little later."""
        self._check_process()
        memories = self._of(owner)
        memories.uses.note(ids, stamp(self._clock()))
        with self._lock:
            self._used.add(memories)
        self._count_later()

    def _count_later(self) -> None:
        with self._lock:
            if self._is_counting or not self._used:
                return
            self._is_counting = True
        if not self._counting.submit("uses", self._write_uses):  # the process is ending
            self._write_uses()

    def _write_uses(self) -> None:
        self._counting.pause(TOGETHER_SECONDS)
        with self._lock:
            used, self._used, self._is_counting = self._used, set(), False
        for memories in used:
            try:
                memories.write_uses()
            except StorageError as error:  # with the next use they are tried again
                _LOG.debug("Uses of memories are not written: %s", error)
                with self._lock:
                    self._used.add(memories)

    @contextmanager
    def opened(self, owner: str) -> Iterator[UserMemories]:
        """The memories of one user as they are now, for one call at a time.

        Raises:
            StorageError: The store failed.
        """
        self._check_process()
        memories = self._of(owner)
        with memories.opened():
            yield memories
        self._bound(owner, memories)
        if memories.wants_file():
            self._keep(owner, memories)

    def _check_process(self) -> None:
        if self._process != os.getpid():  # a fork has to write under a name of its own
            self._begin()

    def _of(self, owner: str) -> UserMemories:
        with self._lock:
            if owner not in self._users:
                self._users[owner] = UserMemories(self._adapter, owner, self._encoder, self._clock, self._files)
            self._users.move_to_end(owner)
            return self._users[owner]

    def _bound(self, owner: str, memories: UserMemories) -> None:
        """Drop the indexes that were used longest ago, until the others are small enough."""
        with self._lock:
            if self._users.get(owner) is memories:
                self._sizes[owner] = memories.index.size
            total = sum(self._sizes.values())
            while total > self._most and len(self._users) > 1 and (oldest := next(iter(self._users))) != owner:
                del self._users[oldest]
                total -= self._sizes.pop(oldest, 0)

    def _keep(self, owner: str, memories: UserMemories) -> None:
        def keep() -> None:
            try:
                memories.keep_index()
            finally:
                self._keeping.discard(owner)
            with suppress(StorageError), memories.opened():
                pass  # reads what was written meanwhile, which asked for no file while this was at it
            if memories.wants_file():
                self._keep(owner, memories)

        if owner not in self._keeping:
            self._keeping.add(owner)
            if not self._later.submit(owner, keep):
                self._keeping.discard(owner)
