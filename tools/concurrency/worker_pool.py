"""Does what nobody waits for on threads of its own: bounded, in order for each user, and never in anybody's way."""

import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import Final
from weakref import WeakSet

EXIT_SECONDS: Final = 5.0
"""How long the end of the process waits for what is still to be done."""
IDLE_SECONDS: Final = 10.0
"""How long a thread without work stays."""

_LOG = logging.getLogger(__name__)
_all: WeakSet["Background"] = WeakSet()

Job = Callable[[], object]


class Background:
    """A queue of jobs, those of one key in their order and one at a time.

    What a job raises is logged, without its words, and never reaches anybody. A job that is handed over while the
    queue is full is dropped and counted. After a fork the child begins with an empty queue: the jobs are the parent's.

    Args:
        size: How many jobs wait at most, of all keys together.
        workers: How many are done at the same time.
    """

    def __init__(self, size: int, workers: int = 1) -> None:
        self._size, self._workers = max(1, size), max(1, workers)
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[tuple[str, Job]] = deque()
        self._running: dict[threading.Thread, str] = {}
        self._threads: set[threading.Thread] = set()
        self._is_closed = self._is_full = False
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """How many jobs were dropped, since the queue was full or the end came first."""
        return self._dropped

    def submit(self, key: str, job: Job) -> bool:
        """Have something done later; returns at once, and whether it will be.

        Args:
            key: Whose it is: jobs of one key are done in the order in which they came.
            job: What is done.
        """
        with self._changed:
            if self._is_closed or len(self._waiting) >= self._size:
                self._drop(1)
                return False
            self._waiting.append((key, job))
            if len(self._threads) < min(self._workers, len(self._waiting) + len(self._running)):
                self._start()
            self._changed.notify_all()
            return True

    def drop(self, key: str) -> int:
        """Take the jobs of a key that were not begun out of the queue; how many they were."""
        with self._changed:
            kept = [(whose, job) for whose, job in self._waiting if whose != key]
            count = len(self._waiting) - len(kept)
            self._waiting = deque(kept)
            self._changed.notify_all()
            return count

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything is done; whether it is.

        Args:
            timeout: Seconds to wait at most; None: as long as it takes.
        """
        with self._changed:
            if threading.current_thread() in self._threads:
                return False
            return self._changed.wait_for(lambda: not self._waiting and not self._running, timeout)

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Take nothing more, and wait so many seconds for what is still to be done; the rest is dropped."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self.flush(timeout)
        with self._changed:
            if self._waiting:
                self._drop(len(self._waiting))
                self._waiting.clear()
            self._changed.notify_all()

    # --- inside ----------------------------------------------------------------------------------------------------

    def _drop(self, count: int) -> None:
        self._dropped += count
        if not self._is_full:
            self._is_full = True
            why = "the end came first" if self._is_closed else f"{self._size:,} wait already"
            _LOG.warning("Jobs of memory are dropped, since %s: what was said is kept, and made up for later.", why)

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name="memory-background", daemon=True)
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is ending, or there are no more threads: the next job tries again
            self._threads.discard(thread)

    def _work(self) -> None:
        own = threading.current_thread()
        while True:
            with self._changed:
                taken = self._taken(own)
            if taken is None:
                return
            _do(taken[1])
            del taken  # what a job holds is not kept until the next one comes
            with self._changed:
                self._running.pop(own, None)
                self._changed.notify_all()

    def _taken(self, own: threading.Thread) -> tuple[str, Job] | None:
        """The next job of a key of which none is being done; None when this thread is of no use any more."""
        until = time.monotonic() + IDLE_SECONDS
        while True:
            busy = set(self._running.values())
            place = next((n for n, (key, _) in enumerate(self._waiting) if key not in busy), None)
            if place is not None:
                taken = self._waiting[place]
                del self._waiting[place]
                self._running[own] = taken[0]
                self._is_full = False
                return taken
            left = until - time.monotonic()
            if (self._is_closed and not self._waiting) or left <= 0:
                self._threads.discard(own)
                return None
            self._changed.wait(left)


def _do(job: Job) -> None:
    try:
        job()
    except BaseException as error:
        _LOG.error("A job of memory failed (%s): what was said is kept, and tried again later.", type(error).__name__)
        _LOG.debug("Why:", exc_info=error)


def _at_exit() -> None:
    end = time.monotonic() + EXIT_SECONDS
    for background in list(_all):
        background.close(max(0.0, end - time.monotonic()))


def _after_fork() -> None:
    for background in list(_all):
        background._begin()  # pyright: ignore[reportPrivateUsage]


# Jobs use pools of threads, which take nothing more once `atexit` has its turn. What is registered last comes first.
import_module("concurrent.futures.thread")
getattr(threading, "_register_atexit", atexit.register)(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
