"""Opens the SQLite files of this package: made whole or not at all, checked, sealed row by row, and erased for good."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from filelock import FileLock

from agentic_memory_bank.state.errors import StorageFullError
from agentic_memory_bank.tools.storage.database_form import LOG_PAGES, DatabaseForm, beside, one, transaction
from agentic_memory_bank.tools.storage.disk import Reserve, database_errors, storage_errors

Result = TypeVar("Result")

_SCRUBBED: Final = 8
"""Free pages that are overwritten in one step, so that the step fits into little space."""
_REWRITTEN: Final = 32 * 1024 * 1024
"""Bytes of a file up to which it is written anew after each erasure: some 5 ms of CPU for 1 MB."""


# --- files -------------------------------------------------------------------------------------------------------


class DatabaseFile:
    """One file of a form: opened once in a process, and safe across threads, processes and a fork.

    Args:
        path: The file, 0600, made by the first use. None keeps all of it in this process.
        begin: Writes the first rows of a new one.
        reserve: Whether space is set aside beside it, so that it can be erased from on a full disk.
    """

    def __init__(
        self,
        path: Path | None,
        form: DatabaseForm,
        *,
        begin: Callable[[sqlite3.Connection], object] | None = None,
        reserve: bool = False,
    ) -> None:
        self.path = path
        self._form = form
        self._begin = begin
        self._reserve = Reserve(path.parent) if path and reserve else None
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._depth = 0
        """How often it is in use now, all in one thread; only the innermost use may see another file."""
        self._is_alone = False
        self._opened: tuple[int, int, int] | None = None
        """The process and the file (device, inode) that the connection belongs to."""
        self._inherited: list[sqlite3.Connection] = []

    @property
    def place(self) -> Path:
        """The file as it is named in messages."""
        return self.path or Path(":memory:")

    def is_there(self) -> bool:
        """Whether there is a file, or none is needed."""
        with self._errors():
            return self.path is None or self.path.exists()

    def is_open(self) -> bool:
        """Whether it is open in this process, and is the file that has the name now."""
        return self._connection is not None and (self.path is None or self._opened == self._file())

    @contextmanager
    def using(self) -> Iterator[sqlite3.Connection]:
        """The database, opened or made.

        Raises:
            StorageFullError: The disk is full.
            StorageDamagedError: The file is not what this package wrote; it stays as it is.
            StorageError: The file cannot be used.
        """
        with self._lock:
            with self._errors():
                database = self._open()
            self._depth += 1
            try:
                with database_errors(self.place, self._form.remedy):  # an OSError from here on is the caller's
                    yield database
            finally:
                self._depth -= 1
                if self._is_alone:  # others may use it in between
                    self._drop()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, which waits for those of other processes. Raises as `using`."""
        with self.using() as database, transaction(database):
            yield database

    def erase(self, action: Callable[[sqlite3.Connection], Result]) -> Result:
        """Carry out what erases, in one transaction, and leave nothing of it in the file or its log.

        On a full disk it takes a detour that needs little space: rows go first, and what they leave is overwritten in
        small steps.

        Raises:
            StorageFullError: There is not even that space.
            StorageError: As `using`.
        """
        with self._lock:
            try:
                with self.writing() as database:
                    done = action(database)
            except StorageFullError:
                with self._spare_space():
                    return self._erase_sparingly(action)
            try:
                with self.using() as database:
                    cut_log(database)
                    _rewrite(database)
            except StorageFullError:
                with self._spare_space():
                    self._erase_sparingly(lambda _: None)
            return done

    def close(self) -> None:
        """Close the file; the next use opens it again. What is in memory alone is gone."""
        with self._lock:
            self._drop()

    def _erase_sparingly(self, action: Callable[[sqlite3.Connection], Result]) -> Result:
        with self.using() as database:
            database.execute("PRAGMA secure_delete=FAST").fetchone()  # free pages are not written now, but below
            with transaction(database):
                done = action(database)
            cut_log(database)
            _scrub(database)
            _rewrite(database)
            self._drop()
        return done

    @contextmanager
    def _spare_space(self) -> Iterator[None]:
        self._drop()  # its log has room for nothing, and may be longer than it has to be
        if self._reserve is None:
            yield
            return
        self._reserve.release()
        try:
            yield
        finally:
            self._reserve.fill()

    def _errors(self) -> Any:
        return storage_errors(self.place, self._form.remedy)

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None:
            if self.is_open():
                return self._connection
            if self._depth:  # further out somebody is at work with it
                self._let_go(self._connection)
            self._drop()
        if self.path is None:
            self._connection = self._form.in_memory(self._begin)
            return self._connection
        self._make(self.path)
        self._connection = self._form.open(self.path)
        self._is_alone = one(self._connection, "PRAGMA locking_mode") == "exclusive"
        self._opened = self._file()
        return self._connection

    def _make(self, path: Path) -> None:
        """Make it under another name, then give it its own: a file of that name is whole, or it is damaged."""
        if path.exists() and not self._form.was_never_made(path):
            return
        _make_folder(path.parent)
        with FileLock(path.parent / ".making", mode=0o600):
            if path.exists() and not self._form.was_never_made(path):
                return
            half = path.with_suffix(".half")
            try:
                for suffix in ("", "-wal", "-shm", "-journal"):
                    beside(half, suffix).unlink(missing_ok=True)
                os.close(os.open(half, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                self._form.make(half, self._begin)
            except BaseException:
                for suffix in ("", "-wal", "-shm", "-journal"):
                    with suppress(OSError):
                        beside(half, suffix).unlink(missing_ok=True)
                raise
            half.replace(path)
            if self._reserve:
                self._reserve.fill()

    def _drop(self) -> None:
        if (connection := self._connection) is not None:
            self._let_go(connection)
            if connection not in self._inherited:
                with suppress(sqlite3.Error):  # closing may try to write to the same full disk
                    connection.close()
        self._is_alone = False

    def _let_go(self, connection: sqlite3.Connection) -> None:
        """Use it no more; it is closed with the last who holds it."""
        if self._opened and self._opened[0] != os.getpid():
            # Closing what was opened before a fork would drop the parent's locks on the file: keep it, unused.
            self._inherited.append(connection)
        self._connection = self._opened = None

    def _file(self) -> tuple[int, int, int] | None:
        with suppress(OSError):
            status = os.stat(self.place)
            return os.getpid(), status.st_dev, status.st_ino
        return None


def _make_folder(folder: Path) -> None:
    for place in (folder.parent, folder):
        if not place.exists():
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.chmod(place, 0o700)


def cut_log(database: sqlite3.Connection) -> None:
    """Write the log back and cut it to nothing, so that erased text does not stay in it."""
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _scrub(database: sqlite3.Connection) -> None:
    """Overwrite the free pages, some at a time: each step needs little space, and takes no page that is not there."""
    database.execute("DROP TABLE IF EXISTS scrubbed")  # of a process that was killed here
    if one(database, "PRAGMA freelist_count") < 2:
        return
    size = one(database, "PRAGMA page_size")
    database.execute("CREATE TABLE scrubbed (zeros BLOB)")
    while (free := one(database, "PRAGMA freelist_count")) > 1:
        database.execute("INSERT INTO scrubbed VALUES (zeroblob(?))", ((min(free, _SCRUBBED) - 1) * (size - 8),))
        cut_log(database)
    database.execute("DROP TABLE scrubbed")
    cut_log(database)


def _rewrite(database: sqlite3.Connection) -> None:
    """Write the file anew where it is small or mostly free, and there is room to do so.

    SQLite overwrites a deleted row where it stands, but not the copies of it that were left behind when rows moved
    within a page; and it keeps free pages.
    """
    free, pages = one(database, "PRAGMA freelist_count"), one(database, "PRAGMA page_count")
    is_small = pages * one(database, "PRAGMA page_size") <= _REWRITTEN
    if is_small or (free > LOG_PAGES and 2 * free > pages):
        with suppress(sqlite3.OperationalError):
            database.execute("VACUUM")
            cut_log(database)
