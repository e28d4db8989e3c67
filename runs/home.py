"""Where runs live on disk: one folder per thread, readable by its owner only, and one that runs it at a time.

Whatever runs a thread holds its lock, in this process or another, and a dead holder loses it. The file of a lock is
removed while it is still held; a lock that somebody gets on a file without a name counts for none (`filelock` looks),
so that two never hold one lock.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self
from uuid import uuid4

from filelock import FileLock, Timeout

from agentic_memory_bank.state.errors import InputError, StorageError, ThreadBusyError
from agentic_memory_bank.tools.storage.disk import default_home, erase_folder, storage_errors
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows

EXPORT_FORMAT: Final = "agentic-memory-bank"
"""Value of the field `format` in an export."""
LONGEST_NAME: Final = 200
"""Longest name of an export, in bytes: that of the part file is longer, and file systems allow 255."""

_ERASED = ".erased"
_IMPORTING = ".importing"


class Home:
    """The folder that holds the ledger, the locks, and a folder for each thread."""

    has_folders = True
    """Whether each thread has one; without, its rows are in a database."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path else default_home()

    def prepare(self) -> Self:
        """Make the folders that are not there, 0700; a folder of somebody else's making keeps its rights.

        Raises:
            StorageError: The place cannot be written.
        """
        try:
            is_new = not self.path.exists()
            for folder in (self.path, self.path / "threads", self.path / "locks"):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if is_new:
                os.chmod(self.path, 0o700)
        except OSError as error:
            raise StorageError(
                f"The folder {self.path} cannot be used ({error.strerror}). Set MEMORY_BANK_HOME to one you can write."
            ) from error
        return self

    def is_there(self) -> bool:
        """Ask whether there may be runs; a folder without a ledger has none."""
        return self.ledger.exists()

    def holds(self, thread: str) -> bool:
        """Ask whether anything of a thread is kept besides its row in the ledger."""
        return self.folder(thread).exists()

    @property
    def of_pages(self) -> Path | None:
        """The folder of memories of pages; None where they are in a database."""
        return self.path if self.has_folders else None

    @property
    def ledger(self) -> Path:
        """The database of runs."""
        return self.path / "runs.sqlite"

    def folder(self, thread: str) -> Path:
        """Path of the folder of a thread, named by a hash, since a thread may be called anything."""
        return self.path / "threads" / _name(thread)

    def lock(self, thread: str) -> Path:
        """Path of the file that is locked while a thread runs; it holds nothing."""
        return self.path / "locks" / f"{_name(thread)}.lock"

    def checkpoints(self, thread: str) -> Path:
        """Path of the checkpoints of a thread."""
        return self.folder(thread) / "checkpoints.sqlite"

    def vectors(self, thread: str) -> Path | ThreadRows:
        """Path of the vector cache of a thread."""
        return self.folder(thread) / "vectors.sqlite"

    def answers(self, thread: str) -> Path | ThreadRows:
        """Path of the answers of chat models that a thread has paid for."""
        return self.folder(thread) / "answers.sqlite"

    def attachments(self, thread: str) -> Path | ThreadRows:
        """Path of the attachments of a thread."""
        return self.folder(thread) / "attachments"

    def make_folder(self, thread: str) -> None:
        """Make the folder of a thread, 0700."""
        with storage_errors(self.folder(thread)):
            self.folder(thread).mkdir(mode=0o700, parents=True, exist_ok=True)

    def clear(self, thread: str) -> None:
        """Erase everything of a thread from disk; files are overwritten before they are removed.

        The folder is renamed first, so that a thread is there as a whole or not at all when the process is killed.
        """
        folder = self.folder(thread)
        gone = folder.with_suffix(_ERASED)
        with storage_errors(folder):
            erase_folder(gone)  # what an erasure that was killed left behind
            if folder.exists():
                folder.rename(gone)
                erase_folder(gone)

    def orphans(self) -> list[str]:
        """List threads that the ledger does not know; of a folder, `strays` lists what may be one."""
        return []

    def strays(self, known: Iterable[str]) -> list[Path]:
        """List folders of threads that the ledger does not know, or whose erasure was not completed."""
        names = {_name(thread) for thread in known}
        threads = self.path / "threads"
        return [f for f in sorted(threads.iterdir()) if f.name not in names] if threads.is_dir() else []

    def is_half(self, folder: Path) -> bool:
        """Ask whether a folder is left over from an erasure or an import that was not completed."""
        return folder.suffix == _ERASED or (folder / _IMPORTING).exists()

    def begin_import(self, thread: str) -> None:
        """Mark the folder of a thread as being imported: until `end_import`, its content is in the export as well."""
        with storage_errors(self.folder(thread)):
            (self.folder(thread) / _IMPORTING).touch(mode=0o600)

    def end_import(self, thread: str) -> None:
        """Remove the mark of `begin_import`, once the ledger knows the thread."""
        with storage_errors(self.folder(thread)):
            (self.folder(thread) / _IMPORTING).unlink(missing_ok=True)

    def locks(self) -> list[Path]:
        """List the files of all locks: those that are held, and those of processes that were killed."""
        return sorted((self.path / "locks").glob("*.lock"))

    @contextmanager
    def lease(self, thread: str) -> Iterator[None]:
        """Hold the lock of a thread while something runs on it; the system frees it when the process dies.

        Raises:
            ThreadBusyError: It is held already; nothing was done.
        """
        with locked(self.lock(thread), f"The thread '{thread}'"):
            yield

    def hold(self, name: str, what: str) -> AbstractContextManager[Any]:
        """Hold what else one process works on at a time, such as a memory of pages.

        Args:
            name: What is held, by a name that stands for it alone.
            what: What that is, for messages.

        Raises:
            ThreadBusyError: It is held already; nothing was done.
        """
        return locked(self.lock(name), what)

    def lock_of(self, folder: Path) -> Path:
        """Path of the lock of the thread that a folder belongs to, or belonged to."""
        return self.path / "locks" / f"{folder.stem}.lock"


class GeneratedName(str):
    """The name of a run that nobody has named."""

    __slots__ = ()

    @classmethod
    def new(cls) -> "GeneratedName":
        """Make a name that no other run has."""
        return cls(uuid4().hex[:12])


def checked_thread(thread: object) -> str:
    """Check a thread id, and return it as it is stored.

    Raises:
        InputError: It is not a non-empty string; `1` and `"1"` would be the same thread to LangGraph.
    """
    if not isinstance(thread, str) or not thread.strip():
        raise InputError(f"A thread is named by a non-empty string, not by {thread!r}.")
    if "\0" in thread or thread.encode("utf-8", "replace").decode() != thread:
        raise InputError(f"The thread name {thread!r} holds characters that cannot be stored. Use another.")
    return thread


def checked_export(path: str | Path | None) -> Path | None:
    """Where an export is to be written.

    Raises:
        InputError: It is a folder, pipe or device, or its name cannot be one of a file.
    """
    if path is None or path == "":
        return None
    place = Path(path).absolute()
    refused = f"The export cannot be written to {str(path)!r}"
    try:
        if not place.name or "\0" in str(place) or len(os.fsencode(place.name)) > LONGEST_NAME or place.is_dir():
            raise InputError(f"{refused}. Give the name of a file.")
        if place.exists() and not place.is_file():
            raise InputError(f"{refused}: it is no regular file. Give another name.")
    except OSError as error:
        raise InputError(f"{refused} ({error.strerror}). Give another name.") from error
    return place


def _name(thread: str) -> str:
    return hashlib.sha256(thread.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@contextmanager
def lease(home: Home, thread: str) -> Iterator[None]:
    """Hold a thread while something runs on it. Raises as `Home.lease`."""
    with home.lease(thread):
        yield


@contextmanager
def locked(file: Path, what: str) -> Iterator[None]:
    """Hold a lock file.

    Raises:
        ThreadBusyError: Somebody else holds it.
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
