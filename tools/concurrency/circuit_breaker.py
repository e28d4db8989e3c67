"""Keeps memories that are slow or out of reach from delaying or failing a request, and says so once an outage.

What goes wrong with memories is never what a request fails of. There are eight rows of it (seed 001, section 11), each
with one line of the log, in `LINES`:

unavailable  ERROR    the store cannot be opened, or fails: the request goes on without memories
timeout      WARNING  it takes longer than it may: the same
embedding    WARNING  the message cannot be embedded: the same
extraction   WARNING  no model can be had to draw memories from a conversation: nothing is stored of this batch
parse        WARNING  what a model has drawn cannot be read: the same
alone        DEBUG    the message is the first one: it is searched with its own words
nothing      DEBUG    no memory is above the threshold: none is shown
found        DEBUG    so many memories are above it

A line of the first five is written when an outage begins, and not again before all has gone well for a minute; so is
`UNKEPT`, that nothing is remembered meanwhile. No line says whose memories are meant, or a word of what anybody said.
"""

import atexit
import contextvars
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any, Final, Literal, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from agentic_memory_bank.state.errors import EmbeddingError, InputError, MemoryBankError

Row = Literal["unavailable", "timeout", "unkept", "embedding", "extraction", "parse", "alone", "nothing", "found"]
"""What is said of memories in the log."""


class Line(NamedTuple):
    """A line of the log."""

    level: int
    text: str


LINES: Final[Mapping[Row, Line]] = {
    "unavailable": Line(
        logging.ERROR, "The store of memories is unavailable (%s): conversations go on without it until it answers."
    ),
    "timeout": Line(
        logging.WARNING, "The search of memories took longer than %g seconds: the message is answered without them."
    ),
    "embedding": Line(logging.WARNING, "The message could not be embedded (%s): it is answered without memories."),
    "extraction": Line(
        logging.WARNING, "No memories could be drawn from a conversation (%s): nothing is stored of this batch."
    ),
    "parse": Line(
        logging.WARNING, "What was drawn from a conversation cannot be read (%s): nothing is stored of this batch."
    ),
    "alone": Line(logging.DEBUG, "There is no conversation before the message: only its own words are searched."),
    "nothing": Line(logging.DEBUG, "No memory is above the threshold: none is shown."),
    "found": Line(logging.DEBUG, "Memories above the threshold: %d."),
}
"""The rows; `%s` is the kind of error, and, in our own words, what to do about it."""
UNKEPT: Final = Line(logging.WARNING, "Nothing is remembered for now (%s). Hand over again later what was said.")
"""Besides the rows: what `remember` says while the store is down."""
_SAID: Final[Mapping[Row, Line]] = {**LINES, "unkept": UNKEPT}

THREADS: Final = 8
"""How many calls of a store are under way at most; a call that hangs keeps its thread until it comes back."""
WAITING: Final = 1_000
"""How many jobs wait in the background at most."""
FAILURES: Final = 3
"""After so many failures in a row, nothing is asked of the store for a while."""
PAUSE: Final = 5.0
"""Seconds after which it is looked again."""
QUIET: Final = 60.0
"""Seconds without a failure after which another one is another outage."""
LOADING: Final = 120.0
"""Seconds that loading a model of embeddings may take."""
IDLE: Final = 5.0
"""Seconds after which a thread with nothing to do ends."""
PARTING: Final = 2.0
"""Seconds that what is under way has when the process ends."""

_LOG = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class Unanswered(Exception):
    """Nothing came of a call: the request goes on without it. It is logged already, once an outage.

    Args:
        row: What went wrong.
        kind: Of error; for a receipt.
    """

    def __init__(self, row: Row, kind: str) -> None:
        super().__init__(f"{row}: {kind}")
        self.row: Row = row
        self.kind = kind


class Outages:
    """Says once an outage what goes wrong. Safe across threads.

    Args:
        now: A clock that is never set back, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._last: dict[Row, float] = {}
        self._under_way: set[Row] = set()

    def begin(self, row: Row, *told: object) -> None:
        """Note a failure; it is logged if it is the first of an outage.

        Args:
            row: What went wrong.
            told: What stands in its line.
        """
        now = self._now()
        with self._lock:
            is_new = row not in self._under_way and now - self._last.get(row, -QUIET) >= QUIET
            self._under_way.add(row)
            self._last[row] = now
        if is_new:
            say(row, *told)

    def end(self, *rows: Row) -> None:
        """Note that this goes well again."""
        with self._lock:
            self._under_way.difference_update(rows)


def say(row: Row, *told: object) -> None:
    """Write the line of a row."""
    _LOG.log(_SAID[row].level, _SAID[row].text, *told)


def kind_of(error: BaseException) -> str:
    """An error for people: its kind, and what to do where those are words of ours.

    What a foreign error says is left out: it may hold a key, or what somebody said.
    """
    is_ours = isinstance(error, MemoryBankError) and error.__cause__ is None
    return f"{type(error).__name__}: {error}" if is_ours else type(error).__name__


class Guard:
    """Calls a store within a time limit, and leaves one alone that fails. Safe across threads and a fork.

    After `FAILURES` failures in a row nothing is asked for `PAUSE` seconds; then one call is let through, and with its
    answer all are. What hangs is left behind, on one of a few threads.

    Args:
        now: A clock that is never set back, in seconds.
        threads: How many calls are under way at most.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, threads: int = THREADS) -> None:
        self.outages = Outages(now)
        self._now = now
        self._calls = _Threads("memories", threads)
        self._models = _Threads("memories-model", threads)
        self._later = _Threads("memories-later", 1, WAITING)
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_until = 0.0
        self._unloadable_until = 0.0

    def call(
        self,
        job: Callable[[], _Result],
        seconds: float,
        limit: float | None = None,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> _Result:
        """The result of a call of the store.

        Args:
            job: What is called, on a thread of its own.
            seconds: How long it may take; from 0.
            limit: The time limit it is part of, for the log. Default: `seconds`.
            is_busy: Whether it is not the store that takes its time. Then it is not left alone for that: the next call
                finds what this one has begun to get ready.

        Raises:
            Unanswered: There is none within the time, or the store is left alone.
            InputError: The store has refused what it was asked for.
        """
        if not self._may_call():
            raise Unanswered("unavailable", "resting")
        running = self._calls.start(job)
        wait([running], max(0.0, seconds))
        if not running.done():
            running.cancel()
            told = seconds if limit is None else limit
            if is_busy():
                self.outages.begin("timeout", told)
            else:
                self._fail("timeout", told)
            raise Unanswered("timeout", "timeout")
        return self._result(running)

    def load(self, job: Callable[[], None]) -> None:
        """Load a model of embeddings, which takes its time once; after a failure, not again for a minute.

        Raises:
            Unanswered: It cannot be loaded.
        """
        if self._now() < self._unloadable_until:
            raise Unanswered("embedding", "EmbeddingError")
        running = self._models.start(job)
        wait([running], LOADING)
        error = running.exception() if running.done() else EmbeddingError("Loading the model takes too long.")
        if error is not None:
            self._unloadable_until = self._now() + QUIET
            self.outages.begin("embedding", kind_of(error))
            raise Unanswered("embedding", type(error).__name__)

    def within(self, job: Callable[[], _Result], seconds: float) -> _Result:
        """The result of something that is no call of a store, such as one of a model; it is nobody's outage.

        Raises:
            TimeoutError: There is none within the time.
            Exception: As the job does.
        """
        running = self._models.start(job)
        wait([running], seconds)
        if not running.done():
            running.cancel()
            raise TimeoutError
        return running.result()

    def later(self, job: Callable[[], object]) -> bool:
        """Do something in the background, if it may be: nobody waits for it, and nobody hears of it if it fails.

        Returns:
            Whether it is going to be tried.
        """
        if self.is_resting:
            return False
        return not self._later.start(lambda: self._quietly(job)).cancelled()

    def settle(self, seconds: float) -> bool:
        """Wait for what is in the background; whether it is done."""
        return self._later.settle(seconds)

    @property
    def is_resting(self) -> bool:
        """Whether the store is left alone."""
        with self._lock:
            return self._now() < self._closed_until

    def _quietly(self, job: Callable[[], object]) -> None:
        try:
            job()
        except InputError:
            _LOG.debug("What was to be done in the background was refused.", exc_info=True)
        except Exception as error:  # whatever a foreign store raises
            self._fail("unavailable", kind_of(error))

    def _may_call(self) -> bool:
        """Whether the store may be asked. While it rests one call at a time finds out whether it answers again."""
        with self._lock:
            now = self._now()
            if now < self._closed_until:
                return False
            if self._failures >= FAILURES:
                self._closed_until = now + PAUSE
            return True

    def _result(self, running: "Future[_Result]") -> _Result:
        error = running.exception()
        if error is None:
            self._answered()
            self.outages.end("embedding")
            return running.result()
        if isinstance(error, InputError):
            self._answered()
            raise error
        if isinstance(error, EmbeddingError):
            self._answered()
            self.outages.begin("embedding", kind_of(error))
            raise Unanswered("embedding", type(error).__name__)
        self._fail("unavailable", kind_of(error))
        raise Unanswered("unavailable", type(error).__name__)

    def _fail(self, row: Row, told: object) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= FAILURES:
                self._closed_until = self._now() + PAUSE
        self.outages.begin(row, told)

    def _answered(self) -> None:
        with self._lock:
            self._failures = 0
            self._closed_until = 0.0
        self.outages.end("unavailable", "timeout")


class _Job(Future[_Result]):
    """What is to be done, and what became of it."""

    def __init__(self, work: Callable[[], _Result]) -> None:
        super().__init__()
        self._work = work
        self._context = contextvars.copy_context()

    def do(self) -> None:
        """Do it, unless nobody waits for it any more."""
        if not self.set_running_or_notify_cancel():
            return
        try:
            self.set_result(self._context.run(self._work))
        except BaseException as error:  # whoever waits hears of it
            self.set_exception(error)


class _Threads:
    """A few threads that a hanging job keeps no process from ending; begun when they are needed.

    Args:
        name: Of the threads.
        most: How many there are at most.
        waiting: How many jobs wait at most; a further one is cancelled at once. None: as many as come.
    """

    def __init__(self, name: str, most: int, waiting: int | None = None) -> None:
        self._name, self._most, self._waiting = name, most, waiting
        self._begin()
        _all[self] = None

    def start(self, work: Callable[[], _Result]) -> "_Job[_Result]":
        """Have something done as soon as a thread is free."""
        job = _Job(work)
        if self._process != os.getpid():  # a fork has none of the threads, and locks as they were
            self._begin()
        with self._changed:
            self._drop_cancelled()
            if self._waiting is not None and len(self._jobs) >= self._waiting:
                job.cancel()
                return job
            self._jobs.append(job)
            if len(self._jobs) > self._idle and self._count < self._most:
                self._count += 1
                threading.Thread(target=self._work, name=self._name, daemon=True).start()
            self._changed.notify()
        return job

    def settle(self, seconds: float) -> bool:
        """Wait until nothing is to be done; whether that is so."""
        if self._process != os.getpid():
            return True
        with self._changed:
            return self._changed.wait_for(lambda: not self._jobs and self._idle == self._count, seconds)

    def _begin(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._jobs: deque[_Job[Any]] = deque()
        self._count = self._idle = 0

    def _drop_cancelled(self) -> None:
        while self._jobs and self._jobs[0].cancelled():
            self._jobs.popleft()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                self._changed.notify_all()
                is_wanted = self._changed.wait_for(lambda: bool(self._jobs), IDLE)
                self._idle -= 1
                if not is_wanted:
                    self._count -= 1
                    return
                job = self._jobs.popleft()
            job.do()
            del job  # what it holds is not kept until the next one comes


_all: "WeakKeyDictionary[_Threads, None]" = WeakKeyDictionary()
_guards: "WeakKeyDictionary[object, Guard]" = WeakKeyDictionary()
_guards_lock = threading.Lock()


def guard_of(stores: object) -> Guard:
    """The guard of stores, one for all who use them: what fails for one of them, fails for all.

    Args:
        stores: The `RecordStores` of a graph.
    """
    with _guards_lock:
        guard = _guards.get(stores)
        if guard is None:
            guard = _guards[stores] = Guard()
        return guard


@atexit.register
def _part() -> None:
    """Give what is under way a little time; what hangs is left behind."""
    until = time.monotonic() + PARTING
    for threads in list(_all):
        threads.settle(max(0.0, until - time.monotonic()))
