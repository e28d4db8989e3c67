"""A lease per thread: whatever runs a thread holds its lock, in this process or another, and a dead holder loses it.

The file of a lock is removed while it is still held; a lock that somebody gets on a file without a name counts for
none (`filelock` looks), so that two never hold one lock.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.state.errors import ThreadBusyError
from agentic_memory_bank.tools.storage.disk import storage_errors


@contextmanager
def lease(home: Home, thread: str) -> Iterator[None]:
    """Hold the lock of a thread while something runs on it; the operating system frees it when the process dies.

    Raises:
        ThreadBusyError: The thread is held already; nothing was done.
    """
    with locked(home.lock(thread), f"The thread '{thread}'"):
        yield


@contextmanager
def locked(file: Path, what: str) -> Iterator[None]:
    """Hold a lock file.

    Raises:
        ThreadBusyError: Another holds the lock.
    """
    lock = FileLock(file, timeout=0, mode=0o600, thread_local=False)
    with storage_errors(file):
        try:
            lock.acquire()
        except Timeout:
            raise ThreadBusyError(f"{what} is in use by another run. Wait for it to end, then try again.") from None
    try:
        yield
    finally:
        with suppress(OSError):  # not everywhere can a file go that is open; then `gc` removes it
            file.unlink()
        lock.release()
