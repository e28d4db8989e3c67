"""What an SQLite file of this package looks like: its tables, a seal on each row, and the check when it is opened."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentic_memory_bank.state.errors import StorageDamagedError
from agentic_memory_bank.tools.storage.disk import is_full

_PAGE: Final = 4_096
"""Bytes of a page, unless another program made the file."""
LOG_PAGES: Final = 64
"""Pages after which the log is written back: with more, a full disk could have no room to do so."""


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
        """Make a database of this form at a place where none is."""
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
        try:
            self.fill(database, begin)
        except BaseException:
            database.close()
            raise
        return database

    def open(self, path: Path) -> sqlite3.Connection:
        """Open a database that is there. What this package did not write is refused, and nothing is written to it.

        Where a full disk has no room for what processes share of the log, the database is held alone.

        Raises:
            StorageDamagedError: It is empty, foreign, damaged, or newer than this package.
        """
        if path.stat().st_size == 0:  # SQLite would take it for a new database
            raise StorageDamagedError(f"The {self.name} at {path} is empty, without even a header. {self.remedy}")
        if _is_log_damaged(beside(path, "-wal")):
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
        if beside(path, "-wal").exists() or path.stat().st_size > _PAGE:
            return False
        with (
            suppress(sqlite3.Error, UnicodeError),
            closing(_connected(_address(path), uri=True, alone=True)) as database,
        ):
            application, pages = one(database, "PRAGMA application_id"), one(database, "PRAGMA page_count")
            is_bare = pages == 1 and one(database, "SELECT count(*) FROM sqlite_schema") == 0
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
        application, version = one(database, "PRAGMA application_id"), one(database, "PRAGMA user_version")
        if application == self.application and version > self.version:
            raise StorageDamagedError(
                f"The {self.name} at {path} was written by a newer version of this package. Install that version."
            )
        is_older = (application, version) in self.older and not found.intersection(self.schema[:1])
        is_ours = (application, version) == (self.application, self.version) and found.issuperset(self.schema)
        if not is_ours and not (is_older and self._tables <= _tables(database)):
            raise StorageDamagedError(f"The file {path} is no {self.name} of this package. {self.remedy}")
        said = one(database, "PRAGMA integrity_check(1)")
        if said == "ok" and _is_cut(database, path):
            said = "it is cut short"
        if said != "ok":
            raise StorageDamagedError(f"The {self.name} at {path} is damaged ({said}). {self.remedy}")
        return is_older

    def _scan(self, database: sqlite3.Connection, path: Path) -> None:
        for table, columns in self.scanned.items():
            if one(database, f"SELECT count(*) FROM {table} WHERE seal IS NOT sealed({columns})"):
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
            if one(database, "PRAGMA user_version") == self.version:  # another process was quicker
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
    log = beside(path, "-wal")
    if log.exists() and log.stat().st_size:  # the missing pages may be there
        return False
    return path.stat().st_size < one(database, "PRAGMA page_count") * one(database, "PRAGMA page_size")


class Connection(sqlite3.Connection):
    """Closes with the last who holds it: a store need not be closed, and Python 3.13 warns where nobody closes."""

    def __del__(self) -> None:
        with suppress(sqlite3.Error):
            self.close()


def _connected(place: str, *, uri: bool, alone: bool = False) -> sqlite3.Connection:
    database = sqlite3.connect(
        place, uri=uri, check_same_thread=False, timeout=30, isolation_level=None, factory=Connection
    )
    try:
        database.create_function("sealed", -1, sealed, deterministic=True)
        if alone:
            database.execute("PRAGMA locking_mode=EXCLUSIVE").fetchone()
        for pragma in ("busy_timeout=30000", "trusted_schema=ON", "temp_store=MEMORY", "synchronous=FULL"):
            database.execute(f"PRAGMA {pragma}").fetchone()
        database.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}").fetchone()
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


def beside(path: Path, suffix: str) -> Path:
    """The file of the same name with a suffix behind it."""
    return path.with_name(path.name + suffix)


def one(database: sqlite3.Connection, query: str) -> Any:
    """The first value that a query gives."""
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
