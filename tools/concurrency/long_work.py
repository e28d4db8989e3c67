"""Long work tells how far it is to whoever listens, and ends where nobody waits for it any more."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from agentic_memory_bank.tools.concurrency.waiting import check_waited_for

Item = TypeVar("Item")

Listener = Callable[[str, int, int], object]
"""Told what is counted, how much of it is done, and how much there is."""
TOLD_EVERY: Final = 1.0
"""Seconds between two pieces of news."""

_LISTENER: Final[ContextVar[Listener | None]] = ContextVar("listener", default=None)


@contextmanager
def told_to(listener: Listener) -> Iterator[None]:
    """Let a listener hear of the long work that is done meanwhile.

    Who does it may be an engine, or an index, whose interfaces know nothing of progress.
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(counted: str, done: int, whole: int) -> None:
    """Say how far the work is, where somebody listens."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(counted, done, whole)


def with_progress(items: Sequence[Item], counted: str) -> Iterator[Item]:
    """Go through the items of long work; what takes less than a second is not told of.

    Args:
        items: What is worked on, one after the other.
        counted: What the items are by then, such as "compared".

    Raises:
        CancelledError: Nobody waits for this any more; see `check_waited_for`.
    """
    last, has_told = time.monotonic(), False
    for done, item in enumerate(items):
        check_waited_for()
        if done and time.monotonic() - last >= TOLD_EVERY:
            tell(counted, done, len(items))
            last, has_told = time.monotonic(), True
        yield item
    if has_told:
        tell(counted, len(items), len(items))
