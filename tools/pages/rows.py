"""The rows of a page store: the form of its file, how long pages stay, and how they are written, read and removed."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.tools.storage.database_form import (
    DatabaseForm,
    seal_over,
    sealed,
)

REMEDY: Final = (
    "It is left as it is: nothing was read from it or written to it. Put a copy of the file back in its place, or move "
    "it away and memorize again."
)
"""What is done about a damaged store."""


_LOOKUP: Final = 500  # SQLite takes at least 999 parameters in one statement


_COLUMNS: Final = "id, title, abstract, text, source, metadata, created_at, expires_at"


_SAID: Final = _COLUMNS.replace(" text,", " text_seal,")
"""What the seal of a page is over: the seal of its text in place of that, so that a page is checked without it."""


FORM: Final = DatabaseForm(
    name="page store",
    application=0x414D4250,  # "AMBP"
    version=2,
    remedy=REMEDY,
    schema=(
        f"CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL, {seal_over('name, value')}) WITHOUT ROWID",
        "CREATE TABLE pages (position INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, "
        "abstract TEXT NOT NULL, text TEXT NOT NULL, source TEXT NOT NULL, metadata TEXT NOT NULL, "
        f"created_at TEXT NOT NULL, expires_at TEXT, {seal_over('text', 'text_seal')}, {seal_over(_SAID)})",
        "CREATE INDEX expiry ON pages (expires_at) WHERE expires_at IS NOT NULL",
        "CREATE TABLE events (sequence INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, page TEXT NOT NULL, "
        f"{seal_over('kind, page')})",
    ),
    older=frozenset({(0x414D4250, 1)}),
)


WHOLE: Final = f"{_SAID}, seal, text"


BARE: Final = f"{_SAID}, seal, NULL"


VALID: Final = "(expires_at IS NULL OR expires_at > ?)"


def stamp(moment: datetime) -> str:
    """ISO 8601 in UTC, of one length, so that times compare as texts."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def databases(file: Path | None) -> list[Path]:
    """A database with the files that SQLite and the cache put beside it, itself last."""
    return [file.with_name(file.name + suffix) for suffix in ("-wal", "-shm", ".damaged", "")] if file else []


def rows(database: sqlite3.Connection, query: str, ids: Sequence[str], *more: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of any number of ids."""
    for start in range(0, len(ids), _LOOKUP):
        some = ids[start : start + _LOOKUP]
        yield from database.execute(query.format(",".join("?" * len(some))), (*some, *more)).fetchall()


def time_to_live(
    days: float = 0, hours: float = 0, minutes: float = 0, seconds: float | None = None
) -> timedelta | None:
    """How long pages stay: `seconds` where they are given, otherwise the sum of the others; None when that is 0.

    Raises:
        InputError: It is negative, or longer than a calendar.
    """
    try:
        given = timedelta(days=days, hours=hours, minutes=minutes) if seconds is None else timedelta(seconds=seconds)
        is_usable = timedelta() <= given <= timedelta(days=365_000)
    except (OverflowError, TypeError, ValueError):
        is_usable, given = False, timedelta()
    if not is_usable:
        raise InputError("Pages stay for a time of 0 (for ever) to 1,000 years. Give days, hours, minutes or seconds.")
    return given or None


def times_of(page: Page, now: str, ttl: timedelta | None) -> tuple[str, str | None]:
    """When a page that is put came, and when it ends: as it says itself, or else as the store's time to live does."""
    created = page.get("created_at") or now
    return created, page.get("expires_at") or (stamp(datetime.fromisoformat(created) + ttl) if ttl else None)


def page_of(row: Sequence[Any], file: Path | None) -> Page:
    """A page from its row; without its text where that was not read.

    Raises:
        StorageDamagedError: It is not what was written.
    """
    *said, seal, text = row
    if sealed(*said) != seal or (text is not None and sealed(text) != said[3]):
        raise FORM.damaged(file, f"the page {row[0]!r}")
    identity, title, abstract, _, source, metadata, created_at, expires_at = said
    return {
        "id": identity,
        "title": title,
        "abstract": abstract,
        "text": text or "",
        "source": source,
        "metadata": json.loads(metadata),
        "created_at": created_at,
        "expires_at": expires_at,
    }


def insert(database: sqlite3.Connection, page: Page, now: str, ttl: timedelta | None) -> bool:
    """Write a page and its event, unless it is there."""
    created, expires = times_of(page, now, ttl)
    metadata = json.dumps(page["metadata"], ensure_ascii=False)
    said = (page["id"], page["title"], page["abstract"], page["text"], page["source"], metadata, created, expires)
    marks = ",".join("?" * len(said))
    written = database.execute(f"INSERT OR IGNORE INTO pages ({_COLUMNS}) VALUES ({marks})", said).rowcount
    if written:
        database.execute("INSERT INTO events (kind, page) VALUES ('put', ?)", (page["id"],))
    return bool(written)


def remove(database: sqlite3.Connection, ids: Sequence[str]) -> list[str]:
    """Delete pages, and note it for the indexes that follow."""
    database.executemany("DELETE FROM pages WHERE id = ?", [(i,) for i in ids])
    database.executemany("INSERT INTO events (kind, page) VALUES ('remove', ?)", [(i,) for i in ids])
    return list(ids)
