"""Opens the SQLite files of this package: made whole or not at all, checked, sealed row by row, and erased for good."""

import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from filelock import FileLock

from agentic_memory_bank.state.errors import StorageDamagedError, StorageFullError
from agentic_memory_bank.tools.storage.disk import Reserve, database_errors, is_full, storage_errors

Result = TypeVar("Result")

_SCRUBBED: Final = 8
"""Free pages that are overwritten in one step, so that the step fits into little space."""
_PAGE: Final = 4_096
"""Bytes of a page, unless another program made the file."""
_LOG_PAGES: Final = 64
"""Pages after which the log is written back: with more, a full disk could have no room to do so."""


# --- seals -------------------------------------------------------------------------------------------------------


def sealed(*values: object) -> bytes:
    """A short hash over the values of a row: a row that is not what was written does not have it."""
    digest = hashlib.blake2b(digest_size=8)
    for value in values:
        raw = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        digest.update(b"%s%d:" % (_KINDS.get(type(value), b"o"), len(raw)))
        digest.update(raw)
    return digest.digest()


_KINDS: Final[Mapping[type, bytes]] = {str: b"t", bytes: b"b", int: b"i", float: b"f"}


def seal_over(columns: str, name: str = "seal") -> str:
    """The definition of a column that SQLite fills by itself, whoever writes the row, and never while reading."""
    return f"{name} BLOB GENERATED ALWAYS AS (sealed({columns})) STORED"


# --- forms -------------------------------------------------------------------------------------------------------


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
    older: frozenset[tuple[int, int]] = frozenset()
    """Application and version of files whose rows are taken over into this form when they are opened."""
    scanned: Mapping[str, str] = field(default_factory=dict[str, str])
    """The tables all of whose seals are compared when a file is opened, and the columns each seal is over."""
    is_new_when_empty: bool = False
    """Whether a file without a byte is one that nothing was written to yet, and not one that lost all."""

    def make(self, place: Path | str, begin: Callable[[sqlite3.Connection], object] | None = None) -> None:
        """Make a database of this form at a place where none is.

        Args:
            place: The file.
            begin: Writes the first rows.
        """
        with closing(_connected(str(place), uri=False)) as database:
            self.fill(database, begin)
            database.execute("PRAGMA journal_mode=WAL").fetchone()  # last: until here all is in the file itself

    def fill(self, database: sqlite3.Connection, begin: Callable[[sqlite3.Connection], object] | None = None) -> None:
        """Make the tables and first rows, all or none."""
        with transaction(database):
            for statement in (*self._header, *self.schema):
                database.execute(statement)
            if begin:
                begin(database)

    def in_memory(self, begin: Callable[[sqlite3.Connection], object] | None = None) -> sqlite3.Connection:
        """A database of this form without a file."""
        database = _connected(":memory:", uri=False)
        self.fill(database, begin)
        return database

    def open(self, path: Path) -> sqlite3.Connection:
        """Open a database that is there. What this package did not write is refused, and nothing is written to it.

        Where a full disk has no room for what processes share of the log, the database is held alone.

        Raises:
            StorageDamagedError: It is empty, foreign, damaged, or newer than this package.
        """
        if path.stat().st_size == 0:  # SQLite would take it for a new database
            raise StorageDamagedError(f"The {self.name} at {path} is empty, without even a header. {self.remedy}")
        if _is_log_damaged(_beside(path, "-wal")):
            raise StorageDamagedError(
                f"The log {path}-wal of the {self.name} is damaged: what was written last is lost. Put a copy back, or "
                "move the log away to go on with what was written before it."
            )
        try:
            return self._opened(path, alone=False)
        except sqlite3.OperationalError as error:
            if not is_full(error):
                raise
        except UnicodeError as error:  # SQLite names what is damaged, and that is no text any more
            raise StorageDamagedError(f"The {self.name} at {path} is damaged ({error}). {self.remedy}") from error
        return self._opened(path, alone=True)

    def was_never_made(self, path: Path) -> bool:
        """Whether a making that failed has left this: an empty file of ours, as older versions did on a full disk."""
        if path.stat().st_size == 0:
            return self.is_new_when_empty
        if _beside(path, "-wal").exists() or path.stat().st_size > _PAGE:
            return False
        with (
            suppress(sqlite3.Error, UnicodeError),
            closing(_connected(_address(path), uri=True, alone=True)) as database,
        ):
            application, pages = _one(database, "PRAGMA application_id"), _one(database, "PRAGMA page_count")
            is_bare = pages == 1 and _one(database, "SELECT count(*) FROM sqlite_schema") == 0
            return is_bare and application in {self.application, *(older for older, _ in self.older)}
        return False

    def _opened(self, path: Path, *, alone: bool) -> sqlite3.Connection:
        database = _connected(_address(path), uri=True, alone=alone)
        try:
            with transaction(database, "BEGIN"):
                is_older = self._check(database, path)
            if is_older:
                self._take_over(database)
            with transaction(database, "BEGIN"):
                self._scan(database, path)
        except BaseException:
            database.close()
            raise
        return database

    @property
    def _header(self) -> tuple[str, str]:
        return f"PRAGMA application_id={self.application}", f"PRAGMA user_version={self.version}"

    def _check(self, database: sqlite3.Connection, path: Path) -> bool:
        """See that it is ours and sound; whether it is of an older version."""
        found = {sql for (sql,) in database.execute("SELECT sql FROM sqlite_schema WHERE sql NOT NULL")}
        application, version = _one(database, "PRAGMA application_id"), _one(database, "PRAGMA user_version")
        if application == self.application and version > self.version:
            raise StorageDamagedError(
                f"The {self.name} at {path} was written by a newer version of this package. Install that version."
            )
        is_older = (application, version) in self.older and not found.intersection(self.schema[:1])
        is_ours = (application, version) == (self.application, self.version) and found.issuperset(self.schema)
        if not is_ours and not (is_older and self._tables <= _tables(database)):
            raise StorageDamagedError(f"The file {path} is no {self.name} of this package. {self.remedy}")
        said = _one(database, "PRAGMA integrity_check(1)")
        if said == "ok" and _is_cut(database, path):
            said = "it is cut short"
        if said != "ok":
            raise StorageDamagedError(f"The {self.name} at {path} is damaged ({said}). {self.remedy}")
        return is_older

    def _scan(self, database: sqlite3.Connection, path: Path) -> None:
        for table, columns in self.scanned.items():
            if _one(database, f"SELECT count(*) FROM {table} WHERE seal IS NOT sealed({columns})"):
                raise self.damaged(path, f"a row of its table `{table}`")

    def damaged(self, path: Path | None, what: str) -> StorageDamagedError:
        """The error for a row that is not what was written."""
        where = f" at {path}" if path else ""
        return StorageDamagedError(f"The {self.name}{where} is damaged: {what} is not what was written. {self.remedy}")

    @property
    def _tables(self) -> set[str]:
        return {statement.split()[2] for statement in self.schema if statement.startswith("CREATE TABLE")}

    def _take_over(self, database: sqlite3.Connection) -> None:
        """Give the rows of an older version their seals: they are moved into tables of this form, all or none."""
        with transaction(database):
            if _one(database, "PRAGMA user_version") == self.version:  # another process was quicker
                return
            numbers = _numbers(database)
            for (index,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL"):
                database.execute(f"DROP INDEX {index}")
            for table in self._tables:
                database.execute(f"ALTER TABLE {table} RENAME TO older_{table}")
            for statement in self.schema:
                database.execute(statement)
            for table in self._tables:
                names = ", ".join(row[1] for row in database.execute(f"PRAGMA table_info(older_{table})"))
                database.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM older_{table}")
                database.execute(f"DROP TABLE older_{table}")
            for name, number in numbers.items():
                database.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
                database.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (name, number))
            for statement in self._header:
                database.execute(statement)


def _numbers(database: sqlite3.Connection) -> dict[str, int]:
    if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'").fetchone():
        return {}
    return dict(database.execute("SELECT name, seq FROM sqlite_sequence").fetchall())


def _tables(database: sqlite3.Connection) -> set[str]:
    return {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def _is_cut(database: sqlite3.Connection, path: Path) -> bool:
    """Whether pages are missing at the end. SQLite takes a part of a page for a whole one, with zeros in it."""
    log = _beside(path, "-wal")
    if log.exists() and log.stat().st_size:  # the missing pages may be there
        return False
    return path.stat().st_size < _one(database, "PRAGMA page_count") * _one(database, "PRAGMA page_size")


def _connected(place: str, *, uri: bool, alone: bool = False) -> sqlite3.Connection:
    database = sqlite3.connect(place, uri=uri, check_same_thread=False, timeout=30, isolation_level=None)
    try:
        database.create_function("sealed", -1, sealed, deterministic=True)
        if alone:
            database.execute("PRAGMA locking_mode=EXCLUSIVE").fetchone()
        for pragma in ("busy_timeout=30000", "trusted_schema=ON", "temp_store=MEMORY", "synchronous=FULL"):
            database.execute(f"PRAGMA {pragma}").fetchone()
        database.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}").fetchone()
        database.execute("PRAGMA secure_delete=ON").fetchone()
    except BaseException:
        database.close()
        raise
    return database


def _address(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=rw"


def _is_log_damaged(log: Path) -> bool:
    """As `write_ahead_log` has it, which loads numpy; most databases are opened without a log."""
    with suppress(FileNotFoundError):
        if log.stat().st_size:
            from agentic_memory_bank.tools.storage.write_ahead_log import is_damaged

            return is_damaged(log)
    return False


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _one(database: sqlite3.Connection, query: str) -> Any:
    return database.execute(query).fetchone()[0]


@contextmanager
def transaction(database: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """One transaction; a writing one waits for those of other processes before it reads anything."""
    database.execute(begin)
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk has rolled it back already
            database.execute("ROLLBACK")
        raise


# --- files -------------------------------------------------------------------------------------------------------


class DatabaseFile:
    """One file of a form: opened once in a process, and safe across threads, processes and a fork.

    Args:
        path: The file, 0600, made by the first use. None keeps all of it in this process.
        form: What it looks like.
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
            try:
                with database_errors(self.place, self._form.remedy):  # an OSError from here on is the caller's
                    yield database
            finally:
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
                    _shrink(database)
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
            _shrink(database)
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
            # Closing what was opened before a fork would drop the parent's locks on the file: keep it, unused.
            self._inherited.append(self._connection)
            self._connection = None
        if self.path is None:
            self._connection = self._form.in_memory(self._begin)
            return self._connection
        self._make(self.path)
        self._connection = self._form.open(self.path)
        self._is_alone = _one(self._connection, "PRAGMA locking_mode") == "exclusive"
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
                    _beside(half, suffix).unlink(missing_ok=True)
                os.close(os.open(half, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                self._form.make(half, self._begin)
            except BaseException:
                for suffix in ("", "-wal", "-shm", "-journal"):
                    with suppress(OSError):
                        _beside(half, suffix).unlink(missing_ok=True)
                raise
            half.replace(path)
            if self._reserve:
                self._reserve.fill()

    def _drop(self) -> None:
        if self._connection is not None and self.is_open():
            with suppress(sqlite3.Error):  # closing may try to write to the same full disk
                self._connection.close()
        self._connection = self._opened = None
        self._is_alone = False

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
    if _one(database, "PRAGMA freelist_count") < 2:
        return
    size = _one(database, "PRAGMA page_size")
    database.execute("CREATE TABLE scrubbed (zeros BLOB)")
    while (free := _one(database, "PRAGMA freelist_count")) > 1:
        database.execute("INSERT INTO scrubbed VALUES (zeroblob(?))", ((min(free, _SCRUBBED) - 1) * (size - 8),))
        cut_log(database)
    database.execute("DROP TABLE scrubbed")
    cut_log(database)


def _shrink(database: sqlite3.Connection) -> None:
    """Give free pages back to the disk, where they are many and most, and there is room to do so."""
    free = _one(database, "PRAGMA freelist_count")
    if free > _LOG_PAGES and 2 * free > _one(database, "PRAGMA page_count"):
        with suppress(sqlite3.OperationalError):
            database.execute("VACUUM")
            cut_log(database)


def rows_of(
    rows: Iterable[Sequence[Any]], damaged: Callable[[Sequence[Any]], StorageDamagedError]
) -> Iterator[tuple[Any, ...]]:
    """Rows without their seal, which stands last and is over all that stands before it.

    Raises:
        StorageDamagedError: What `damaged` makes of a row that is not what was written.
    """
    for row in rows:
        *values, seal = row
        if sealed(*values) != seal:
            raise damaged(row)
        yield tuple(values)
