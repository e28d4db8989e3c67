"""Keeps Python from collecting garbage while very much is read: a collection then stops every thread for a while."""

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_reading = 0
_is_ours = False
"""Whether collecting was switched off here, and not by the program."""


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is collected meanwhile, in the whole process.

    What is read in has no cycles, and is looked through in vain, for longer each time; whoever waits for something
    within a time wakes too late. Where the program has switched collecting off, it stays off.
    """
    _begin()
    try:
        yield
    finally:
        _end()


def _begin() -> None:
    global _reading, _is_ours
    with _lock:
        if not _reading and gc.isenabled():
            gc.disable()
            _is_ours = True
        _reading += 1


def _end() -> None:
    global _reading, _is_ours
    with _lock:
        _reading = max(0, _reading - 1)
        if not _reading and _is_ours:
            gc.enable()
            _is_ours = False


def _after_fork() -> None:
    """A child has none of the threads that were reading."""
    global _lock, _reading
    _lock, _reading = threading.Lock(), 1
    _end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
