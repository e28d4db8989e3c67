"""Keeps pages for good, by the name of a memory: an SQLite file each, of which nothing but the name reaches a graph.

A page is written once and never rewritten; it goes as a whole, when its time is over or its memory is cleared. What
came and went is a log of numbered events, so that an index follows a store by what changed since it looked last. Reads
never give a page that expired, whether or not it has been cleaned up.
"""

import hashlib
import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

from typing_extensions import TypedDict

from agentic_memory_bank.state.errors import StorageDamagedError, StorageError
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.tools.pages.rows import (
    BARE,
    FORM,
    REMEDY,
    VALID,
    WHOLE,
    databases,
    insert,
    page_of,
    remove,
    rows,
    stamp,
)
from agentic_memory_bank.tools.storage.database import DatabaseFile
from agentic_memory_bank.tools.storage.database_form import (
    rows_of,
    transaction,
)
from agentic_memory_bank.tools.storage.disk import erase_folder, storage_errors
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows

MEMORIZING: Final = "memorizing"
"""The work of making pages; other work is a research."""

_LOG = logging.getLogger(__name__)


class PageChanges(NamedTuple):
    """What happened to a store since an index looked at it last."""

    sequence: int
    """Number of the last event: what to ask with the next time."""
    put: list[Page]
    """Pages that came and are still there, in the order in which they came."""
    removed: list[str]
    """Ids of pages that are gone, some of which the caller may never have seen."""


class PutResult(NamedTuple):
    """What became of pages that were to be put."""

    added: list[str]
    duplicates: list[str]
    """Ids of those that were there already, or came twice."""


class PageStats(TypedDict):
    """How many pages a store has."""

    total: int
    valid: int
    expired: int
    """Their time is over, and they are not cleaned up yet."""
    ttl_seconds: float | None
    """How long new pages stay; None for ever."""


def page_id(text: str, source: str = "", title: str = "", date: str = "") -> str:
    """The id of a page: the same for the same words from the same place, however they are spaced."""
    said = [" ".join(text.split()), source, title, date]
    return "p" + hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def name_of(label: str) -> str:
    """What a memory is called where it is kept."""
    return hashlib.sha256(label.encode()).hexdigest()[:32]


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


class PageStore:
    """The pages of one memory; safe across threads, processes and a fork.

    Args:
        path: The file, 0600, made by the first page that is put. None keeps the pages in this process.
        label: What the memory is called, by whose; kept in the file.
        clock: Returns the time against which expiry is checked.
    """

    def __init__(self, path: Path | None = None, label: str = "", clock: Callable[[], datetime] = now) -> None:
        self._path = path
        self._label = label
        self._clock = clock
        self._file = DatabaseFile(path, FORM, begin=self._begin, reserve=True)

    @property
    def name(self) -> str:
        """What the memory is called where it is kept: a hash of whose it is and what they call it."""
        return self._path.stem if self._path else name_of(self._label)

    @property
    def path(self) -> Path | None:
        """The file, which need not be there yet; None where the pages are in memory alone."""
        return self._path

    def put(self, pages: Sequence[Page]) -> PutResult:
        """Keep pages, all of them or none; those that are there already stay as they are.

        A page without a time is stamped with that of now. One without an end gets the end that the store's time to
        live gives it.

        Raises:
            StorageFullError: The disk is full; nothing of these pages is kept.
            StorageDamagedError: The file is not what this package wrote; it stays as it is.
            StorageError: The file cannot be written.
        """
        if not pages:
            return PutResult([], [])
        with self._file.using() as database:
            self._clean_up(database)
        with self._file.writing() as database:
            ttl, now = self._ttl(database), stamp(self._clock())
            added, repeated = list[str](), list[str]()
            for page in pages:
                (added if insert(database, page, now, ttl) else repeated).append(page["id"])
        return PutResult(added, repeated)

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Erase pages for good; those that were there are returned."""
        wanted = list(dict.fromkeys(ids))
        if not self._file.is_there() or not wanted:
            return []

        def removed(database: sqlite3.Connection) -> list[str]:
            return remove(database, [i for (i,) in rows(database, "SELECT id FROM pages WHERE id IN ({})", wanted)])

        return self._erased(removed)

    def delete_all(self) -> list[str]:
        """Erase all pages, and the vectors beside them; indexes that follow hear of it."""
        if not self._file.is_there():
            return []

        def removed(database: sqlite3.Connection) -> list[str]:
            return remove(database, [row[0] for row in database.execute("SELECT id FROM pages")])

        gone = self._erased(removed)
        self._erase_vectors()
        return gone

    def erase(self) -> int:
        """Erase all of the memory: pages, vectors, answers of models and its name; how many pages it had."""
        self.erase_answers()
        count = len(self.delete_all())
        self.close()
        with storage_errors(self._file.place, REMEDY):
            for file in self.files():
                file.unlink(missing_ok=True)
        return count

    def exists(self) -> bool:
        """Ask whether there is such a memory: anything of its files, or where it needs none."""
        return self._path is None or any(file.exists() for file in self.files())

    @property
    def bytes(self) -> int:
        """How many bytes it takes on disk, answers of models aside."""
        return sum(file.stat().st_size for file in self.files() if file.is_file())

    def files(self) -> list[Path]:
        """All files of the store, those too that need not be there."""
        return [*databases(self._vectors_file), *databases(self._path)]

    def answers(self, work: str) -> Path | ThreadRows | None:
        """Where the answers of models are kept until a piece of work is done; None where it is in memory.

        Args:
            work: `MEMORIZING`, or the name of a research.
        """
        return None if self._path is None else self._folder_of(self._path, work) / "answers.sqlite"

    def erase_answers(self, work: str = "") -> None:
        """Erase the answers of a piece of work, or those of all."""
        if self._path is not None:
            for one in [work] if work else [MEMORIZING, ""]:
                erase_folder(self._folder_of(self._path, one))

    @staticmethod
    def _folder_of(path: Path, work: str) -> Path:
        """A folder, as SQLite makes several files."""
        return path.with_suffix(".answers") if work == MEMORIZING else path.with_suffix(".research") / work

    def _erased(self, work: Callable[[sqlite3.Connection], list[str]]) -> list[str]:
        """Erase pages, and the vectors beside them."""
        if gone := self._file.erase(work):
            self._erase_vectors()
        return gone

    def _erase_vectors(self) -> None:
        """Whoever has the file open goes on with it unnamed, and makes vectors again when it looks next."""
        for file in databases(self._vectors_file):
            file.unlink(missing_ok=True)

    def delete_expired(self) -> int:
        """Erase the pages that expired, and return how many they were."""
        if not self._file.is_there():
            return 0
        return len(self._erased(self._clean))

    def get(self, ids: Iterable[str]) -> list[Page]:
        """The pages of these ids, in this order; ids that are not there are left out."""
        wanted = list(dict.fromkeys(ids))
        with self._looking() as database:
            query = f"SELECT {WHOLE} FROM pages WHERE id IN ({{}}) AND {VALID}"
            found = {row[0]: page_of(row, self._path) for row in rows(database, query, wanted, stamp(self._clock()))}
        return [found[i] for i in wanted if i in found]

    def existing(self, ids: Iterable[str]) -> set[str]:
        """Those of these ids that are there."""
        wanted = list(dict.fromkeys(ids))
        with self._looking() as database:
            query = f"SELECT id FROM pages WHERE id IN ({{}}) AND {VALID}"
            return {i for (i,) in rows(database, query, wanted, stamp(self._clock()))}

    def pages(self, after: int = 0, limit: int = -1) -> list[tuple[int, Page]]:
        """The pages behind a position, in the order in which they came, each with its own position.

        Args:
            after: 0 for the first.
            limit: How many at most; -1 for all.
        """
        with self._looking() as database:
            query = f"SELECT position, {WHOLE} FROM pages WHERE position > ? AND {VALID} ORDER BY position LIMIT ?"
            rows = database.execute(query, (after, stamp(self._clock()), limit)).fetchall()
        return [(row[0], page_of(row[1:], self._path)) for row in rows]

    def last(self) -> Page | None:
        """The page that came last."""
        with self._looking() as database:
            query = f"SELECT {WHOLE} FROM pages WHERE {VALID} ORDER BY position DESC LIMIT 1"
            row = database.execute(query, (stamp(self._clock()),)).fetchone()
        return page_of(row, self._path) if row else None

    def changes(self, since: int = 0, *, texts: bool = True) -> PageChanges:
        """What came and went after an event: what an index has to put and remove, in any order, to hold the same.

        Pages that expired are among those that are removed, each time, until they are cleaned up.

        Args:
            since: `PageChanges.sequence` of the last time; 0 for everything.
            texts: Whether the raw texts are wanted; without them much less is read.
        """
        now = stamp(self._clock())
        with self._looking() as database, transaction(database, "BEGIN"):
            (last,) = database.execute("SELECT MAX(sequence) FROM events").fetchone()
            events = database.execute("SELECT kind, page, seal FROM events WHERE sequence > ?", (since,))
            for _ in rows_of(events, self._damaged_event):
                pass
            query = (
                f"SELECT {WHOLE if texts else BARE} FROM pages WHERE {VALID} AND id IN "
                "(SELECT page FROM events WHERE sequence > ?) ORDER BY position"
            )
            put = [page_of(found, self._path) for found in database.execute(query, (now, since))]
            gone = database.execute(
                "SELECT DISTINCT page FROM events WHERE sequence > ? AND page NOT IN (SELECT id FROM pages) "
                "UNION SELECT id FROM pages WHERE expires_at <= ?",
                (since, now),
            ).fetchall()
        return PageChanges(last or 0, put, [i for (i,) in gone])

    def stats(self) -> PageStats:
        """How many pages there are, and how long new ones stay."""
        with self._looking() as database:
            query = f"SELECT COUNT(*), COALESCE(SUM({VALID}), 0) FROM pages"
            total, valid = database.execute(query, (stamp(self._clock()),)).fetchone()
            ttl = self._ttl(database)
        seconds = ttl.total_seconds() if ttl else None
        return {"total": total, "valid": valid, "expired": total - valid, "ttl_seconds": seconds}

    def set_ttl(self, ttl: timedelta | None) -> None:
        """Say how long pages stay that are put from now on; those that are there keep their end.

        Args:
            ttl: None for ever; see `time_to_live`.
        """
        with self._file.writing() as database:
            seconds = "" if ttl is None else repr(ttl.total_seconds())
            database.execute("INSERT OR REPLACE INTO about (name, value) VALUES ('ttl', ?)", (seconds,))

    @property
    def vectors(self) -> Path | ThreadRows | None:
        """Where the vectors of its pages may be kept: a file beside it; None where it is in memory."""
        return self._vectors_file

    @property
    def _vectors_file(self) -> Path | None:
        return None if self._path is None else self._path.with_suffix(".vectors.sqlite")

    @property
    def identity(self) -> str:
        """Names this very store: another one, made in its place later, has another. Empty where there is none yet."""
        if not self._file.is_there():
            return ""
        with self._using() as database:
            return self._about(database, "identity")

    @property
    def owner(self) -> tuple[str, str]:
        """Whose memory it is, and what that calls it; the user is empty where there are no accounts."""
        with self._looking() as database:
            label = self._about(database, "label")
        user, name = json.loads(label) if label else ("", "")
        return user, name

    def close(self) -> None:
        """Close the file; the next call opens it again. Pages that are in memory alone are gone."""
        self._file.close()

    # --- the file ----------------------------------------------------------------------------------------------

    def _begin(self, database: sqlite3.Connection) -> None:
        about = [("identity", uuid4().hex), ("label", self._label)]
        database.executemany("INSERT INTO about (name, value) VALUES (?, ?)", about)

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        is_new = not self._file.is_open()
        with self._file.using() as database:
            if is_new:
                self._clean_up(database)
            yield database

    @contextmanager
    def _looking(self) -> Iterator[sqlite3.Connection]:
        """The store, or an empty one where there is none yet: looking makes no file."""
        if self._file.is_there():
            with self._using() as database:
                yield database
        else:
            with closing(FORM.in_memory(self._begin)) as database:
                yield database

    def _clean_up(self, database: sqlite3.Connection) -> None:
        """What is over is erased when a store is opened; where that cannot be, it is just not shown."""
        if database.execute("SELECT 1 FROM pages WHERE expires_at <= ? LIMIT 1", (stamp(self._clock()),)).fetchone():
            try:
                self.delete_expired()
            except StorageError as error:
                _LOG.warning("Pages that expired could not be erased: %s", error)

    def _clean(self, database: sqlite3.Connection) -> list[str]:
        rows = database.execute("SELECT id FROM pages WHERE expires_at <= ?", (stamp(self._clock()),)).fetchall()
        return remove(database, [i for (i,) in rows])

    def _ttl(self, database: sqlite3.Connection) -> timedelta | None:
        seconds = self._about(database, "ttl")
        return timedelta(seconds=float(seconds)) if seconds else None

    # --- what is read is what was written ------------------------------------------------------------------------

    def _about(self, database: sqlite3.Connection, name: str) -> str:
        query = "SELECT name, value, seal FROM about WHERE name = ?"
        rows = rows_of(
            database.execute(query, (name,)), lambda _: FORM.damaged(self._path, f"what it says of its {name}")
        )
        return next((value for _, value in rows), "")

    def _damaged_event(self, row: Sequence[Any]) -> StorageDamagedError:
        return FORM.damaged(self._path, f"what it says of the page {row[1]!r}")
