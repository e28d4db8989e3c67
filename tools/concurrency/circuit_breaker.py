"""A circuit breaker around a store of memories: calls end in time, and a store that fails is left alone for a while."""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import Final, Literal, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from agentic_memory_bank.state.errors import (
    EmbeddingError,
    InputError,
    MemoryBankError,
    StorageDamagedError,
    StorageError,
    StorageFullError,
)
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool

MemoryFault = Literal[
    "unavailable", "timeout", "unkept", "embedding", "extraction", "parse", "alone", "nothing", "found"
]
"""What can go wrong with memories, or is noted of them, in the log."""


class LogLine(NamedTuple):
    """A line of the log."""

    level: int
    text: str


LOG_LINES: Final[Mapping[MemoryFault, LogLine]] = {
    "unavailable": LogLine(
        logging.ERROR, "The store of memories is unavailable (%s): conversations go on without it until it answers."
    ),
    "timeout": LogLine(
        logging.WARNING, "The search of memories took longer than %g seconds: the message is answered without them."
    ),
    "embedding": LogLine(logging.WARNING, "The message could not be embedded (%s): it is answered without memories."),
    "extraction": LogLine(
        logging.WARNING, "No memories could be drawn from a conversation (%s): nothing is stored of this batch."
    ),
    "parse": LogLine(
        logging.WARNING, "What was drawn from a conversation cannot be read (%s): nothing is stored of this batch."
    ),
    "alone": LogLine(logging.DEBUG, "There is no conversation before the message: only its own words are searched."),
    "nothing": LogLine(logging.DEBUG, "No memory is above the threshold: none is shown."),
    "found": LogLine(logging.DEBUG, "Memories above the threshold: %d."),
}
"""The lines; `%s` is the kind of error, and, in our own words, what to do about it."""
NOT_REMEMBERED: Final = LogLine(
    logging.WARNING, "Nothing is remembered for now (%s). Hand over again later what was said."
)
"""What `remember` says while the store is down."""
_SAID: Final[Mapping[MemoryFault, LogLine]] = {**LOG_LINES, "unkept": NOT_REMEMBERED}
OUTAGE_SECONDS: Final = 60.0
"""Seconds without a failure after which another one is another outage."""

_LOG = logging.getLogger(__name__)


class OutageLog:
    """Logs a failure once an outage. Safe across threads."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._last: dict[MemoryFault, float] = {}
        self._under_way: set[MemoryFault] = set()

    def begin(self, fault: MemoryFault, *told: object) -> None:
        """Note a failure; it is logged if it is the first of an outage."""
        now = self._now()
        with self._lock:
            is_new = fault not in self._under_way and now - self._last.get(fault, -OUTAGE_SECONDS) >= OUTAGE_SECONDS
            self._under_way.add(fault)
            self._last[fault] = now
        if is_new:
            log_fault(fault, *told)

    def end(self, *faults: MemoryFault) -> None:
        """Note that this goes well again."""
        with self._lock:
            self._under_way.difference_update(faults)


def log_fault(fault: MemoryFault, *told: object) -> None:
    """Write the line of a fault, whether or not it was written before."""
    _LOG.log(_SAID[fault].level, _SAID[fault].text, *told)


def error_kind(error: BaseException) -> str:
    """An error for people: its kind, and what to do where those are words of ours.

    What a foreign error says is left out: it may hold a key, or what somebody said.
    """
    is_ours = isinstance(error, MemoryBankError) and error.__cause__ is None
    return f"{type(error).__name__}: {error}" if is_ours else type(error).__name__


THREADS: Final = 8
"""How many calls of a store are under way at most; a call that hangs keeps its thread until it comes back."""
QUEUE_SIZE: Final = 1_000
"""How many jobs wait in the background at most."""
FAILURE_LIMIT: Final = 3
"""After so many failures in a row, nothing is asked of the store for a while."""
TRIES: Final = 3
"""How often a call of a store that fails is tried, where there is time: that is one failure."""
RETRY_SECONDS: Final = 0.1
"""How long after a failure it is tried again."""
OPEN_SECONDS: Final = 5.0
"""How long the store is left alone then; after that one call finds out whether it answers again."""
LOAD_SECONDS: Final = 120.0
"""Seconds that loading a model of embeddings may take."""
EXIT_SECONDS: Final = 2.0
"""How long the end of the process waits for calls that are under way."""

RESTING: Final = 10_000
"""Of how many others it is known whether they are left alone."""

_Result = TypeVar("_Result")


class CallFailed(Exception):
    """Nothing came of a call: the request goes on without it. It is logged already, once an outage."""

    def __init__(self, fault: MemoryFault, kind: str) -> None:
        super().__init__(f"{fault}: {kind}")
        self.fault: MemoryFault = fault
        self.kind = kind


class CircuitBreaker:
    """Calls a store within a time limit, and leaves one alone that fails. Safe across threads and a fork.

    After `FAILURE_LIMIT` failures in a row nothing is asked for `OPEN_SECONDS` seconds; then one call is let through,
    and with its answer all are. What hangs is left behind, on one of a few threads.

    Args:
        threads: How many calls are under way at most.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, threads: int = THREADS) -> None:
        self.outages = OutageLog(now)
        self._now = now
        self._calls = WorkerPool(None, threads, "memories", EXIT_SECONDS)
        self._models = WorkerPool(None, threads, "memories-model", EXIT_SECONDS)
        self._later = WorkerPool(QUEUE_SIZE, 1, "memories-later", EXIT_SECONDS)
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_until = 0.0
        self._resting: LruCache[Hashable, float] = LruCache(RESTING)
        self._unloadable_until = 0.0

    def call(
        self,
        job: Callable[[], _Result],
        seconds: float,
        limit: float | None = None,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> _Result:
        """The result of a call of the store; one that fails is tried again, as often as `TRIES` says and time allows.

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
            raise CallFailed("unavailable", "resting")
        running = self._calls.start(partial(_tried, job, time.monotonic() + seconds))
        wait([running], max(0.0, seconds))
        if running.cancelled():  # the process is ending
            raise CallFailed("unavailable", "closed")
        if not running.done():
            running.cancel()
            told = seconds if limit is None else limit
            if is_busy():
                self.outages.begin("timeout", told)
            else:
                self._fail("timeout", told)
            raise CallFailed("timeout", "timeout")
        return self._result(running)

    def load_model(self, job: Callable[[], None]) -> None:
        """Load a model of embeddings, which takes its time once; after a failure, not again for a minute.

        Raises:
            Unanswered: It cannot be loaded.
        """
        if self._now() < self._unloadable_until:
            raise CallFailed("embedding", "EmbeddingError")
        running = self._models.start(job)
        wait([running], LOAD_SECONDS)
        error = running.exception() if running.done() else EmbeddingError("Loading the model takes too long.")
        if error is not None:
            self._unloadable_until = self._now() + OUTAGE_SECONDS
            self.outages.begin("embedding", error_kind(error))
            raise CallFailed("embedding", type(error).__name__)

    def run_within(self, job: Callable[[], _Result], seconds: float) -> _Result:
        """Run something other than a call of the store, such as of a model, within a time; its failure is no outage.

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

    def rests(self, key: Hashable) -> bool:
        """Whether something other than the store is left alone, by a name of the caller's."""
        return self._now() < (self._resting.peek(key) or 0.0)

    def rest(self, key: Hashable, seconds: float) -> None:
        """Leave something other than the store alone for a while; what rests already does not rest longer."""
        if not self.rests(key):
            self._resting.put(key, self._now() + seconds)

    def run_later(self, job: Callable[[], object]) -> bool:
        """Run something in the background, unless the breaker is open; a failure is not reported.

        Returns:
            Whether it is going to be tried.
        """
        if self.is_open:
            return False
        return not self._later.start(lambda: self._quietly(job)).cancelled()

    def flush(self, seconds: float) -> bool:
        """Wait for background work; return whether all of it is done."""
        return self._later.flush(seconds)

    @property
    def is_open(self) -> bool:
        """Whether the store is left alone."""
        with self._lock:
            return self._now() < self._closed_until

    def _quietly(self, job: Callable[[], object]) -> None:
        try:
            job()
        except InputError:
            _LOG.debug("What was to be done in the background was refused.", exc_info=True)
        except Exception as error:  # whatever a foreign store raises
            self._fail("unavailable", error_kind(error))

    def _may_call(self) -> bool:
        """Whether the store may be asked. While it rests one call at a time finds out whether it answers again."""
        with self._lock:
            now = self._now()
            if now < self._closed_until:
                return False
            if self._failures >= FAILURE_LIMIT:
                self._closed_until = now + OPEN_SECONDS
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
            self.outages.begin("embedding", error_kind(error))
            raise CallFailed("embedding", type(error).__name__)
        self._fail("unavailable", error_kind(error))
        raise CallFailed("unavailable", type(error).__name__)

    def _fail(self, fault: MemoryFault, told: object) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= FAILURE_LIMIT:
                self._closed_until = self._now() + OPEN_SECONDS
        self.outages.begin(fault, told)

    def _answered(self) -> None:
        with self._lock:
            self._failures = 0
            self._closed_until = 0.0
        self.outages.end("unavailable", "timeout")


def _tried(job: Callable[[], _Result], until: float) -> _Result:
    """Call a store again that failed, but not one whose answer would be the same or would come too late."""
    for _ in range(TRIES - 1):
        try:
            return job()
        except (StorageDamagedError, StorageFullError):
            raise
        except StorageError:
            if time.monotonic() + RETRY_SECONDS >= until:
                raise
            time.sleep(RETRY_SECONDS)
    return job()


_breakers: "WeakKeyDictionary[object, CircuitBreaker]" = WeakKeyDictionary()
_breakers_lock = threading.Lock()


def circuit_breaker_of(stores: object) -> CircuitBreaker:
    """The circuit breaker of stores, one for all who use them: what fails for one of them, fails for all.

    Args:
        stores: The `RecordStores` of a graph.
    """
    with _breakers_lock:
        breaker = _breakers.get(stores)
        if breaker is None:
            breaker = _breakers[stores] = CircuitBreaker()
        return breaker
