"""Where this package keeps things on disk, and what is said when a disk or a database fails."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentic_memory_bank.state.errors import SettingsError, StorageDamagedError, StorageError, StorageFullError

CLEAR_THE_THREAD: Final = "Clear the thread and start again, or import an export."
"""What is done about a damaged database of a run."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
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
        place: What is worked on.
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
        kind = StorageFullError if error.errno in _FULL else StorageError
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
    if code.startswith("SQLITE_FULL"):
        return StorageFullError(f"The disk is full at {place}. What was saved is intact: free some space, then resume.")
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or type(error) is sqlite3.DatabaseError:
        return StorageDamagedError(f"The database at {place} is damaged ({error}). {remedy}")
    if code.startswith(_FOREIGN):
        return StorageDamagedError(
            f"The database at {place} does not have the tables of this package ({error}). {remedy}"
        )
    return StorageError(
        f"The database at {place} cannot be used ({error}). Mend its rights, or end the program that holds it, then "
        "try again."
    )


@dataclass(frozen=True, slots=True)
class DatabaseForm:
    """What an SQLite file of this package looks like, so that any other is refused and stays as it is."""

    name: str
    """What it is called in messages, such as `page store`."""
    application: int
    """In the header of the file."""
    version: int
    schema: tuple[str, ...]
    remedy: str
    """What is done about a damaged one."""

    def make(self, place: Path | str) -> sqlite3.Connection:
        """A new database of this form, without rows; `:memory:` for one without a file."""
        database = _connected(str(place), uri=False)
        for pragma in (f"application_id={self.application}", f"user_version={self.version}", "journal_mode=WAL"):
            database.execute(f"PRAGMA {pragma}").fetchone()
        database.execute("BEGIN IMMEDIATE")
        for statement in self.schema:
            database.execute(statement)
        database.execute("COMMIT")
        return database

    def open(self, path: Path) -> sqlite3.Connection:
        """Open a database that is there. What this package did not write is refused, and nothing is written to it.

        Raises:
            StorageDamagedError: It is empty, foreign, damaged, or newer than this package.
        """
        if path.stat().st_size == 0:  # SQLite would take it for a new database
            raise StorageDamagedError(f"The {self.name} at {path} is empty, without even a header. {self.remedy}")
        database = _connected(f"{path.absolute().as_uri()}?mode=rw", uri=True)
        try:
            self._check(database, path)
        except BaseException:
            database.close()
            raise
        return database

    def _check(self, database: sqlite3.Connection, path: Path) -> None:
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if application == self.application and version > self.version:
            raise StorageDamagedError(
                f"The {self.name} at {path} was written by a newer version of this package. Install that version."
            )
        found = {sql for (sql,) in database.execute("SELECT sql FROM sqlite_schema WHERE sql NOT NULL")}
        if application != self.application or not found.issuperset(self.schema):
            raise StorageDamagedError(f"The file {path} is no {self.name} of this package. {self.remedy}")
        (said,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            raise StorageDamagedError(f"The {self.name} at {path} is damaged ({said}). {self.remedy}")


def _connected(place: str, *, uri: bool) -> sqlite3.Connection:
    database = sqlite3.connect(place, uri=uri, check_same_thread=False, timeout=30, isolation_level=None)
    for pragma in ("busy_timeout=30000", "secure_delete=ON", "synchronous=FULL", "temp_store=MEMORY"):
        database.execute(f"PRAGMA {pragma}").fetchone()
    return database
