"""Keeps pages in a Postgres database: the memories of all users in one schema, which any number of processes share."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final
from uuid import uuid4

from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.tools.pages.rows import stamp, times_of
from agentic_memory_bank.tools.pages.store import PageChanges, PageStats, PageStore, PutResult, now
from agentic_memory_bank.tools.storage.postgres_schema import PostgresSchema
from agentic_memory_bank.tools.storage.thread_rows import SCHEMA, ThreadRows

_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS memories (memory TEXT PRIMARY KEY, label TEXT NOT NULL, identity TEXT NOT NULL, "
    "ttl DOUBLE PRECISION, sequence BIGINT NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS pages (memory TEXT NOT NULL REFERENCES memories ON DELETE CASCADE, id TEXT NOT NULL, "
    "position BIGINT NOT NULL, said TEXT NOT NULL, text TEXT NOT NULL, created_at TEXT NOT NULL, expires_at TEXT, "
    "PRIMARY KEY (memory, id))",
    "CREATE UNIQUE INDEX IF NOT EXISTS places ON pages (memory, position)",
    "CREATE INDEX IF NOT EXISTS ends ON pages (memory, expires_at) WHERE expires_at IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS removals (memory TEXT NOT NULL REFERENCES memories ON DELETE CASCADE, "
    "sequence BIGINT NOT NULL, page TEXT NOT NULL, PRIMARY KEY (memory, sequence))",
    SCHEMA,
)
"""A page is at the number of the event that brought it; `removals` has the events that took one away."""
_VALID: Final = "(expires_at IS NULL OR expires_at > %(now)s)"
_WHOLE: Final = "position, id, said, text, created_at, expires_at"
_BARE: Final = "position, id, said, '', created_at, expires_at"


@cache
def page_database(url: str) -> PostgresSchema:
    """The tables of pages at an address; its connections serve the whole process."""
    return PostgresSchema(url, "memory_bank_pages", "pages", "try again", _make_tables)


def shared_page_stores(url: str) -> list[PageStore]:
    """Open all memories of pages of a database, of all users.

    Raises:
        StorageError: The database cannot be used.
    """
    with page_database(url).connection() as database:
        found = database.execute("SELECT label FROM memories ORDER BY label").fetchall()
    return [SharedPageStore(url, label) for (label,) in found]


class SharedPageStore(PageStore):
    """The pages of one memory in a database; safe across threads, processes and a fork.

    Who writes holds the row of the memory until all is written, so that the numbers of events come in their order.

    Args:
        url: As libpq understands it, such as `postgresql://user:password@host/database`.
        label: What the memory is called, by whose.
        clock: Returns the time against which expiry is checked.
    """

    def __init__(self, url: str, label: str, clock: Callable[[], datetime] = now) -> None:
        super().__init__(None, label, clock)
        self._database = page_database(url)
        self._rows = ThreadRows(self._database.connection, self.name)
        self._is_tidy = False

    def put(self, pages: Sequence[Page]) -> PutResult:
        """Keep pages, all of them or none. Raises as `PageStore.put`."""
        if not pages:
            return PutResult([], [])
        self._is_tidy = True
        fresh, repeated = dict[str, Page](), list[str]()
        with self._writing() as database:
            self._begin_shared(database)
            self._remove(database, self._expired(database))
            known = self._those_of(database, [page["id"] for page in pages])
            for page in pages:
                if page["id"] in known or page["id"] in fresh:
                    repeated.append(page["id"])
                else:
                    fresh[page["id"]] = page
            if fresh:
                self._insert(database, list(fresh.values()))
        return PutResult(list(fresh), repeated)

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Erase pages for good; those that were there are returned."""
        wanted = list(dict.fromkeys(ids))
        return self._erase(lambda database: self._those_of(database, wanted)) if wanted else []

    def delete_all(self) -> list[str]:
        """Erase all pages, and their vectors; indexes that follow hear of it."""
        return self._erase(lambda database: self._ids(database, "SELECT id FROM pages WHERE memory = %(memory)s"))

    def delete_expired(self) -> int:
        """Erase the pages that expired, and return how many they were."""
        return len(self._erase(self._expired))

    def erase(self) -> int:
        """Erase all of the memory: pages, vectors, answers of models and its name; how many pages it had."""
        with self._writing() as database:
            gone = self._ids(database, "SELECT id FROM pages WHERE memory = %(memory)s")
            database.execute("DELETE FROM memories WHERE memory = %(memory)s", self._named())
            database.execute(
                "DELETE FROM kept WHERE thread = %(memory)s OR starts_with(thread, %(memory)s || ' ')", self._named()
            )
        return len(gone)

    def exists(self) -> bool:
        """Ask whether there is such a memory."""
        return bool(self.identity)

    @property
    def bytes(self) -> int:
        """How many bytes its pages, vectors and answers take, without what the database adds."""
        with self._database.connection() as database:
            query = (
                "SELECT (SELECT COALESCE(SUM(octet_length(said) + octet_length(text)), 0) FROM pages "
                "WHERE memory = %(memory)s) + (SELECT COALESCE(SUM(octet_length(value)), 0) FROM kept "
                "WHERE thread = %(memory)s OR starts_with(thread, %(memory)s || ' '))"
            )
            return int(self._one(database, query)[0])

    def get(self, ids: Iterable[str]) -> list[Page]:
        """The pages of these ids, in this order; ids that are not there are left out."""
        wanted = list(dict.fromkeys(ids))
        found = {page["id"]: page for _, page in self._found(_WHOLE, "id = ANY(%(ids)s)", ids=wanted)}
        return [found[id] for id in wanted if id in found]

    def existing(self, ids: Iterable[str]) -> set[str]:
        """Those of these ids that are there."""
        with self._looking() as database:
            query = f"SELECT id FROM pages WHERE memory = %(memory)s AND id = ANY(%(ids)s) AND {_VALID}"
            return set(self._ids(database, query, ids=list(ids)))

    def pages(self, after: int = 0, limit: int = -1) -> list[tuple[int, Page]]:
        """The pages behind a position, in the order in which they came. See `PageStore.pages`."""
        most = None if limit < 0 else limit
        return self._found(_WHOLE, "position > %(after)s", "ORDER BY position LIMIT %(most)s", after=after, most=most)

    def last(self) -> Page | None:
        """The page that came last."""
        found = self._found(_WHOLE, "TRUE", "ORDER BY position DESC LIMIT 1")
        return found[0][1] if found else None

    def changes(self, since: int = 0, *, texts: bool = True) -> PageChanges:
        """What came and went after an event. See `PageStore.changes`."""
        with self._looking() as database, database.transaction():
            database.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            row = self._one(database, "SELECT sequence FROM memories WHERE memory = %(memory)s")
            put = self._read(
                database, _WHOLE if texts else _BARE, "position > %(since)s", "ORDER BY position", since=since
            )
            gone = self._ids(
                database,
                "SELECT DISTINCT page FROM removals WHERE memory = %(memory)s AND sequence > %(since)s AND page NOT IN "
                "(SELECT id FROM pages WHERE memory = %(memory)s) "
                "UNION SELECT id FROM pages WHERE memory = %(memory)s AND expires_at <= %(now)s",
                since=since,
            )
        return PageChanges(row[0] if row else 0, [page for _, page in put], gone)

    def stats(self) -> PageStats:
        """How many pages there are, and how long new ones stay."""
        with self._looking() as database:
            query = f"SELECT COUNT(*), COALESCE(SUM({_VALID}::int), 0) FROM pages WHERE memory = %(memory)s"
            total, valid = self._one(database, query)
            row = self._one(database, "SELECT ttl FROM memories WHERE memory = %(memory)s")
        return {"total": total, "valid": valid, "expired": total - valid, "ttl_seconds": row[0] if row else None}

    def set_ttl(self, ttl: timedelta | None) -> None:
        """Say how long pages stay that are put from now on. See `PageStore.set_ttl`."""
        with self._writing() as database:
            self._begin_shared(database)
            seconds = None if ttl is None else ttl.total_seconds()
            query = "UPDATE memories SET ttl = %(ttl)s WHERE memory = %(memory)s"
            database.execute(query, self._named(ttl=seconds))

    @property
    def vectors(self) -> ThreadRows:
        """The rows in which the vectors of its pages are kept, for all processes."""
        return self._rows

    def answers(self, work: str) -> ThreadRows:
        """The rows in which the answers of models are kept until a piece of work is done."""
        return ThreadRows(self._database.connection, f"{self.name} {work}")

    def erase_answers(self, work: str = "") -> None:
        """Erase the answers of a piece of work, or those of all."""
        named = self._named(work=f"{self.name} {work}")
        with self._database.connection() as database:
            if work:
                database.execute("DELETE FROM kept WHERE thread = %(work)s", named)
            else:
                database.execute("DELETE FROM kept WHERE starts_with(thread, %(work)s)", named)

    @property
    def identity(self) -> str:
        """Names this very store; empty where there is none yet. See `PageStore.identity`."""
        with self._database.connection() as database:
            row = self._one(database, "SELECT identity FROM memories WHERE memory = %(memory)s")
        return row[0] if row else ""

    @property
    def owner(self) -> tuple[str, str]:
        """Whose memory it is, and what that calls it."""
        user, name = json.loads(self._label)
        return user, name

    def close(self) -> None:
        """Do nothing: connections are lent for each call."""

    # --- rows --------------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        """One transaction, in which nobody else writes to this memory."""
        with self._database.connection() as database, database.transaction():
            database.execute("SELECT 1 FROM memories WHERE memory = %(memory)s FOR UPDATE", self._named())
            yield database

    @contextmanager
    def _looking(self) -> Iterator[Any]:
        """Lend a connection; what is over is erased at the first look."""
        if not self._is_tidy:
            self._is_tidy = True
            with self._database.connection() as database:
                is_over = bool(self._expired(database))
            if is_over:
                self.delete_expired()
        with self._database.connection() as database:
            yield database

    def _begin_shared(self, database: Any) -> None:
        """Make the row of the memory where there is none, and hold it."""
        database.execute(
            "INSERT INTO memories (memory, label, identity) VALUES (%(memory)s, %(label)s, %(identity)s) "
            "ON CONFLICT (memory) DO NOTHING",
            self._named(label=self._label, identity=uuid4().hex),
        )
        database.execute("SELECT 1 FROM memories WHERE memory = %(memory)s FOR UPDATE", self._named())

    def _insert(self, database: Any, pages: Sequence[Page]) -> None:
        (seconds,) = self._one(database, "SELECT ttl FROM memories WHERE memory = %(memory)s")
        ttl, moment = None if seconds is None else timedelta(seconds=seconds), stamp(self._clock())
        first = self._next(database, len(pages)) - len(pages) + 1
        rows: list[tuple[Any, ...]] = []
        for position, page in enumerate(pages, first):
            said = [page["title"], page["abstract"], page["source"], page["metadata"]]
            told = json.dumps(said, ensure_ascii=False)
            rows.append((self.name, page["id"], position, told, page["text"], *times_of(page, moment, ttl)))
        with database.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO pages (memory, id, position, said, text, created_at, expires_at) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s)",
                rows,
            )

    def _remove(self, database: Any, ids: Sequence[str]) -> None:
        """Delete pages, and note it for the indexes that follow."""
        if not ids:
            return
        last = self._next(database, len(ids))
        named = self._named(ids=list(ids), numbers=list(range(last - len(ids) + 1, last + 1)))
        database.execute("DELETE FROM pages WHERE memory = %(memory)s AND id = ANY(%(ids)s)", named)
        database.execute(
            "INSERT INTO removals (memory, sequence, page) "
            "SELECT %(memory)s, number, id FROM unnest(%(numbers)s::bigint[], %(ids)s::text[]) AS gone (number, id)",
            named,
        )

    def _erase(self, which: Callable[[Any], Iterable[str]]) -> list[str]:
        """Erase pages and, where there were any, all vectors: which are whose is not kept."""
        with self._writing() as database:
            gone = list(which(database))
            self._remove(database, gone)
            if gone:
                database.execute("DELETE FROM kept WHERE thread = %(memory)s", self._named())
        return gone

    def _next(self, database: Any, count: int) -> int:
        query = "UPDATE memories SET sequence = sequence + %(count)s WHERE memory = %(memory)s RETURNING sequence"
        return self._one(database, query, count=count)[0]

    def _expired(self, database: Any) -> list[str]:
        return self._ids(database, "SELECT id FROM pages WHERE memory = %(memory)s AND expires_at <= %(now)s")

    def _those_of(self, database: Any, ids: Sequence[str]) -> set[str]:
        query = "SELECT id FROM pages WHERE memory = %(memory)s AND id = ANY(%(ids)s)"
        return set(self._ids(database, query, ids=list(ids)))

    def _found(self, columns: str, where: str, order: str = "", **given: Any) -> list[tuple[int, Page]]:
        with self._looking() as database:
            return self._read(database, columns, where, order, **given)

    def _read(self, database: Any, columns: str, where: str, order: str = "", **given: Any) -> list[tuple[int, Page]]:
        query = f"SELECT {columns} FROM pages WHERE memory = %(memory)s AND {where} AND {_VALID} {order}"
        return [(row[0], _page(row)) for row in database.execute(query, self._named(**given)).fetchall()]

    def _ids(self, database: Any, query: str, **given: Any) -> list[str]:
        return [id for (id,) in database.execute(query, self._named(**given)).fetchall()]

    def _one(self, database: Any, query: str, **given: Any) -> Any:
        return database.execute(query, self._named(**given)).fetchone()

    def _named(self, **given: Any) -> dict[str, Any]:
        return {"memory": self.name, "now": stamp(self._clock()), **given}


def _page(row: Sequence[Any]) -> Page:
    _, id, said, text, created_at, expires_at = row
    title, abstract, source, metadata = json.loads(said)
    return {
        "id": id,
        "title": title,
        "abstract": abstract,
        "text": text,
        "source": source,
        "metadata": metadata,
        "created_at": created_at,
        "expires_at": expires_at,
    }


def _make_tables(database: Any) -> None:
    for statement in _TABLES:
        database.execute(statement)
