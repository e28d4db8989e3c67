"""Where this package keeps things on disk, and what is said when a disk or a database fails."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from agentic_memory_bank.state.errors import SettingsError, StorageDamagedError, StorageError, StorageFullError

CLEAR_THE_THREAD: Final = "Clear the thread and start again, or import an export."
"""What is done about a damaged database of a run."""

RESERVED: Final = 256 * 1024
"""Bytes that are set aside for erasing on a full disk: what one step of it takes, and to write a log back before it."""

_CHUNK: Final = 1 << 20
_NO_SPACE = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_WRITE")
FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the file system reports when there is no space, or none that may be used."""
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ", "SQLITE_TOOBIG", "SQLITE_FORMAT")
_FOREIGN = ("SQLITE_ERROR", "SQLITE_CONSTRAINT", "SQLITE_MISMATCH")
"""What SQLite reports when tables and columns are not those that are asked for."""


def default_home() -> Path:
    """`MEMORY_BANK_HOME`, or `agentic-memory-bank` in the user's state folder (XDG).

    Raises:
        SettingsError: The folder is given by the home of a user, and there is no such user.
    """
    home = os.environ.get("MEMORY_BANK_HOME")
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    place = Path(home) if home else Path(state) / "agentic-memory-bank"
    try:
        return place.expanduser()
    except RuntimeError:
        raise SettingsError(
            f"The folder of all runs, {place}, is in the home of a user who has none. Set MEMORY_BANK_HOME to a folder "
            "you can write."
        ) from None


@contextmanager
def storage_errors(place: Path, remedy: str = CLEAR_THE_THREAD) -> Iterator[None]:
    """Turn what SQLite and the file system report into errors that say what to do.

    Args:
        remedy: What is done about a database that is damaged.

    Raises:
        StorageFullError: The disk, or a quota, is full.
        StorageDamagedError: A database is not a database, its pages are damaged, or its tables are foreign.
        StorageError: Anything else about storage.
    """
    try:
        with database_errors(place, remedy):
            yield
    except OSError as error:
        kind = StorageFullError if error.errno in FULL else StorageError
        raise kind(f"{place}: {error.strerror or error}. Free some space or mend its rights, then resume.") from error


@contextmanager
def database_errors(place: Path, remedy: str = CLEAR_THE_THREAD) -> Iterator[None]:
    """As `storage_errors`, for what SQLite reports alone: an OSError of the caller's own code stays what it is."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _explained(error, place, remedy) from error


def _explained(error: sqlite3.DatabaseError, place: Path, remedy: str) -> StorageError:
    code = getattr(error, "sqlite_errorname", "") or ""
    if is_full(error):
        return StorageFullError(
            f"The disk is full at {place}, or a quota is. What was saved is intact: free some space, then resume."
        )
    is_bare = not code and type(error) is sqlite3.OperationalError  # Python could not decode what SQLite has read
    if is_bare or type(error) is sqlite3.DatabaseError or code.startswith(_DAMAGED):
        return StorageDamagedError(f"The database at {place} is damaged ({error}). {remedy}")
    if code.startswith(_FOREIGN):
        return StorageDamagedError(
            f"The database at {place} does not have the tables of this package ({error}). {remedy}"
        )
    return StorageError(
        f"The database at {place} cannot be used ({error}). Mend its rights, or end the program that holds it, then "
        "try again."
    )


def is_full(error: sqlite3.Error) -> bool:
    """Whether a database could not be written for want of space, or because of a quota or a limit of files."""
    return (getattr(error, "sqlite_errorname", "") or "").startswith(_NO_SPACE)


class Reserve:
    """Space that is set aside in a folder, so that something can be erased there when the disk is full."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / ".reserve"

    def fill(self) -> None:
        """Set the space aside, where it is not and there is enough to spare."""
        with suppress(OSError):
            disk = os.statvfs(self._file.parent)
            size = min(RESERVED, disk.f_bavail * disk.f_frsize // 8)
            if self._file.exists() and self._file.stat().st_size >= size:
                return
            handle = os.open(self._file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            try:
                os.write(handle, os.urandom(size))  # zeros take no space on some file systems
            finally:
                os.close(handle)

    def release(self) -> None:
        """Give the space back to the disk."""
        with suppress(OSError):
            os.truncate(self._file, 0)


def sync_folder(folder: Path) -> None:
    """Have the file system keep what stands in a folder, such as a new name, before anything else is done."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: Path, content: bytes, part: Path) -> None:
    """Write a file, whole or not at all, which nobody else may read.

    Args:
        part: Where it is written before it gets its name.

    Raises:
        StorageError: It cannot be written.
    """
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
            sync_folder(path.parent)
        finally:
            part.unlink(missing_ok=True)


def erase_folder(folder: Path) -> None:
    """Overwrite and remove all files of a folder, and the folder.

    Raises:
        StorageError: Something could not be removed.
    """
    with storage_errors(folder):
        for file in sorted(folder.rglob("*")):
            if file.is_file() and not file.is_symlink():
                try:
                    _overwrite(file)
                except OSError as error:
                    if error.errno not in FULL:  # some file systems need space for this: removing gives it back
                        raise
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)


def _overwrite(file: Path) -> None:
    size = file.stat().st_size
    with file.open("r+b") as handle:
        for start in range(0, size, _CHUNK):
            handle.write(b"\0" * min(_CHUNK, size - start))
        handle.flush()
        os.fsync(handle.fileno())
