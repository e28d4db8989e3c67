"""Does work on a few background threads: bounded, in order for each key, and no job keeps the process from ending."""

import atexit
import contextvars
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from importlib import import_module
from typing import Any, Final, TypeVar
from weakref import WeakSet

EXIT_SECONDS: Final = 5.0
"""How long the end of the process waits for the jobs of a pool."""
IDLE_SECONDS: Final = 5.0
"""How long a thread without work stays."""

_LOG = logging.getLogger(__name__)
_Result = TypeVar("_Result")
_all: WeakSet["WorkerPool"] = WeakSet()


class Job(Future[_Result]):
    """A call that waits for a thread, and its result. Jobs of one key are done one after the other."""

    def __init__(self, work: Callable[[], _Result], key: str | None, context: contextvars.Context) -> None:
        super().__init__()
        self.key = key
        self._work, self._context = work, context

    def run(self) -> None:
        """Do it, unless it was cancelled; what it raises is for whoever waits for the result."""
        if not self.set_running_or_notify_cancel():
            return
        try:
            self.set_result(self._context.run(self._work))
        except BaseException as error:
            self.set_exception(error)


class WorkerPool:
    """A queue of jobs and the threads that do them, begun when they are needed. Safe across threads and a fork.

    After a fork the child begins with an empty queue: the jobs are the parent's.

    Args:
        size: How many jobs wait at most, of all keys together; a further one is dropped. None: any number.
        exit_seconds: How long the end of the process waits for the jobs. Default: `EXIT_SECONDS`.
    """

    def __init__(
        self,
        size: int | None,
        workers: int = 1,
        name: str = "memory-background",
        exit_seconds: float | None = None,
    ) -> None:
        self._size = None if size is None else max(1, size)
        self._workers, self._name, self.exit_seconds = max(1, workers), name, exit_seconds
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Job[Any]] = deque()
        self._running: dict[threading.Thread, Job[Any]] = {}
        self._threads: set[threading.Thread] = set()
        self._is_closed = self._is_full = False
        self._flushing = 0
        self.dropped = 0
        """How many jobs were dropped, since the queue was full or the pool was closed first."""

    def start(self, work: Callable[[], _Result], key: str | None = None) -> Job[_Result]:
        """Queue a call; the returned future is cancelled where the queue is full or closed.

        Args:
            key: Jobs of one key run one at a time, in the order in which they came. None: as soon as a thread is
                free.
        """
        return self._queue(Job(work, key, contextvars.copy_context()))

    def submit(self, key: str, job: Callable[[], object]) -> bool:
        """Queue a job behind those of the same key; return whether it was accepted. What it raises is logged.

        It runs in a fresh `contextvars` context, so that a graph in it is no subgraph of the caller's and does not
        stream into the caller's events.
        """
        return not self._queue(Job(partial(_logged, job), key, contextvars.Context())).cancelled()

    def _queue(self, job: Job[_Result]) -> Job[_Result]:
        with self._changed:
            while self._waiting and self._waiting[0].cancelled():
                self._waiting.popleft()
            if self._is_closed or (self._size is not None and len(self._waiting) >= self._size):
                self._drop(1)
                job.cancel()
                return job
            self._waiting.append(job)
            if len(self._threads) < min(self._workers, len(self._waiting) + len(self._running)):
                self._start_thread()
            self._changed.notify_all()
        return job

    def drop(self, key: str) -> int:
        """Take the jobs of a key that were not begun out of the queue; how many they were."""
        with self._changed:
            kept = [job for job in self._waiting if job.key != key]
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
            self._flushing += 1
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: not self._waiting and not self._running, timeout)
            finally:
                self._flushing -= 1

    def pause(self, seconds: float) -> None:
        """Wait so long within a job, unless somebody waits for the jobs or the pool is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._flushing > 0, seconds)

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Take no more jobs, and wait so many seconds for those that are there; the rest is dropped."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self.flush(timeout)
        with self._changed:
            if self._waiting:
                self._drop(len(self._waiting))
                self._waiting.clear()
            self._changed.notify_all()

    def _drop(self, count: int) -> None:
        self.dropped += count
        if not self._is_full:
            self._is_full = True
            why = "the end came first" if self._is_closed else f"{self._size:,} wait already"
            _LOG.warning("Jobs of memory are dropped, since %s: what was said is kept, and made up for later.", why)

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._work, name=self._name, daemon=True)
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is ending, or there are no more threads: the next job tries again
            self._threads.discard(thread)

    def _work(self) -> None:
        own = threading.current_thread()
        while True:
            with self._changed:
                job = self._next(own)
            if job is None:
                return
            job.run()
            del job  # what it holds is not kept until the next one comes
            with self._changed:
                self._running.pop(own, None)
                self._changed.notify_all()

    def _next(self, own: threading.Thread) -> Job[Any] | None:
        """The next job of a key of which none is being done; None when this thread is of no use any more."""
        until = time.monotonic() + IDLE_SECONDS
        while True:
            busy = {job.key for job in self._running.values() if job.key is not None}
            place = next((n for n, job in enumerate(self._waiting) if job.key not in busy), None)
            if place is not None:
                job = self._running[own] = self._waiting[place]
                del self._waiting[place]
                self._is_full = False
                return job
            left = until - time.monotonic()
            if (self._is_closed and not self._waiting) or left <= 0:
                self._threads.discard(own)
                return None
            self._changed.wait(left)


def _logged(job: Callable[[], object]) -> None:
    try:
        job()
    except BaseException as error:
        _LOG.error("A job of memory failed (%s): what was said is kept, and tried again later.", type(error).__name__)
        _LOG.debug("Why:", exc_info=error)


def _at_exit() -> None:
    begun = time.monotonic()
    for pool in list(_all):
        seconds = EXIT_SECONDS if pool.exit_seconds is None else pool.exit_seconds
        pool.close(max(0.0, begun + seconds - time.monotonic()))


def _after_fork() -> None:
    for pool in list(_all):
        pool._begin()  # pyright: ignore[reportPrivateUsage]


# Jobs use pools of threads, which take nothing more once `atexit` has its turn. What is registered last comes first.
import_module("concurrent.futures.thread")
getattr(threading, "_register_atexit", atexit.register)(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
