"""Logs failures of memory once an outage, and not at every request.

A request never fails because its memories are slow or out of reach. Each fault has one line of the log (`LOG_LINES`):

unavailable  ERROR    the store cannot be opened, or fails: the request goes on without memories
timeout      WARNING  it takes longer than it may: the same
embedding    WARNING  the message cannot be embedded: the same
extraction   WARNING  no model can be had to extract memories from a conversation: nothing is stored of this batch
parse        WARNING  the answer of the model that extracts cannot be read: the same
alone        DEBUG    the message is the first one: it is searched with its own words
nothing      DEBUG    no memory is above the threshold: none is shown
found        DEBUG    so many memories are above it

A line of the first five is written when an outage begins, and not again before all has gone well for a minute; so is
`NOT_REMEMBERED`. No line says whose memories are meant, or a word of what anybody said.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from agentic_memory_bank.state.errors import MemoryBankError

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
    """Logs a failure once an outage. Safe across threads.

    Args:
        now: A clock that is never set back, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._last: dict[MemoryFault, float] = {}
        self._under_way: set[MemoryFault] = set()

    def begin(self, fault: MemoryFault, *told: object) -> None:
        """Note a failure; it is logged if it is the first of an outage.

        Args:
            fault: The error that was raised.
            told: What stands in its line.
        """
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
