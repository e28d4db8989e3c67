"""The run ledger: what was asked of each thread, written before the first step, so that no run is ever forgotten."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from agentic_memory_bank.state.errors import DamagedRowError, StorageDamagedError, UnknownThreadError
from agentic_memory_bank.tools.storage.database import DatabaseFile, cut_log
from agentic_memory_bank.tools.storage.database_form import DatabaseForm, rows_of, seal_over, transaction

RunState = Literal["accepted", "running", "paused", "finished"]
"""`accepted`: nothing is saved yet but the input; `running`: a checkpoint exists; `finished`: only kept, or cleared."""

COLUMNS = (
    "thread, state, question, documents, settings, engine, embeddings, keep, export, status, continues,"
    " created_at, updated_at, usage, attachments, outside"
)
_FORM = DatabaseForm(
    name="ledger of runs",
    application=0x414D4252,  # "AMBR"
    version=1,
    remedy="",
    schema=(
        "CREATE TABLE runs (thread TEXT PRIMARY KEY, state TEXT NOT NULL, question TEXT NOT NULL, "
        "documents TEXT NOT NULL, settings TEXT NOT NULL, engine TEXT NOT NULL, embeddings TEXT NOT NULL, "
        "keep INTEGER NOT NULL, export TEXT, status TEXT NOT NULL, continues INTEGER NOT NULL, "
        "created_at TEXT NOT NULL, updated_at TEXT NOT NULL, usage TEXT, attachments TEXT NOT NULL DEFAULT '[]', "
        f"outside INTEGER NOT NULL DEFAULT 0, {seal_over(COLUMNS)})",
    ),
    older=frozenset({(0, 0)}),
    is_new_when_empty=True,
)


@dataclass(frozen=True, slots=True)
class Run:
    """One row of the ledger. Settings are plain values; keys of providers are never among them."""

    thread: str
    state: RunState
    question: str
    documents: list[dict[str, Any]]
    settings: dict[str, Any]
    engine: str
    embeddings: str
    keep: bool
    export: str | None
    status: str
    continues: bool
    """Whether the thread held memory before this run; if so, missing checkpoints mean that it is lost."""
    created_at: str
    updated_at: str
    usage: dict[str, Any] | None = None
    """Usage of models at the last end or pause; None where no model was asked."""
    attachments: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """Attachments of the question, by `name` and base64 `data`."""
    outside: bool = False
    """Whether an executor outside carries the steps out, each handed to it in a pause."""

    @property
    def is_unfinished(self) -> bool:
        """Ask whether there is something to resume."""
        return self.state != "finished"


class Ledger:
    """Reads and writes the table of runs; each method opens and closes the database, so processes do not block."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, run: Run) -> None:
        """Add or replace the run of a thread."""
        row = row_of(run)
        with self._file() as file, file.using() as database:
            database.execute(f"INSERT OR REPLACE INTO runs ({COLUMNS}) VALUES ({', '.join('?' * len(row))})", row)
            cut_log(database)

    def update(
        self, thread: str, state: RunState, status: str, at: str, usage: Mapping[str, Any] | None = None
    ) -> None:
        """Update the status of a run and, where it is given, its usage.

        The documents and attachments of a finished run are dropped: it no longer needs them.

        Raises:
            StorageDamagedError: The row is damaged.
        """
        dropped = ", documents = '[]', attachments = '[]'" if state == "finished" else ""
        with self._file() as file, file.using() as database:
            with transaction(database):
                _rows(database, "WHERE thread = ?", thread)  # else what is damaged in it would get a seal that is sound
                database.execute(
                    "UPDATE runs SET state = ?, status = ?, updated_at = ?, usage = COALESCE(?, usage)"
                    f"{dropped} WHERE thread = ?",
                    (state, status, at, as_json(usage), thread),
                )
            if dropped:
                cut_log(database)

    def remove(self, thread: str) -> None:
        """Erase the row of a run; its bytes are overwritten and the log is cut."""
        with self._file() as file:
            file.erase(lambda database: database.execute("DELETE FROM runs WHERE thread = ?", (thread,)))

    def knows(self, thread: str) -> bool:
        """Ask whether there is a row of this thread, readable or not."""
        with self._file() as file, file.using() as database:
            return database.execute("SELECT 1 FROM runs WHERE thread = ?", (thread,)).fetchone() is not None

    def threads(self) -> list[str]:
        """List the names of all threads, those of damaged rows included."""
        with self._file() as file, file.using() as database:
            return [row[0] for row in database.execute("SELECT thread FROM runs ORDER BY thread")]

    def find(self, thread: str) -> Run | None:
        """Find the run of a thread; None where there is none."""
        with self._file() as file, file.using() as database:
            found = _rows(database, "WHERE thread = ?", thread)
        return run_of(found[0]) if found else None

    def get(self, thread: str) -> Run:
        """Get the run of a thread.

        Raises:
            UnknownThreadError: There is none.
        """
        run = self.find(thread)
        if run is None:
            raise UnknownThreadError(f"Nothing is known of the thread '{thread}'. `memory-bank runs` lists them.")
        return run

    def all(self) -> list[Run]:
        """List all runs, the latest first."""
        with self._file() as file, file.using() as database:
            rows = _rows(database, "ORDER BY updated_at DESC, thread")
        return [run_of(row) for row in rows]

    @contextmanager
    def _file(self) -> Iterator[DatabaseFile]:
        try:
            if self._path.exists() and not self._path.stat().st_size and self._has_threads():
                raise StorageDamagedError("it is empty")
            with closing(DatabaseFile(self._path, _FORM, reserve=True)) as file:
                yield file
        except DamagedRowError:
            raise
        except StorageDamagedError as error:
            raise StorageDamagedError(
                f"The ledger of runs at {self._path} is damaged, or was not written by this version of the package "
                f"({error}). Put back a copy of it; or move it away, which gives up what it said of the runs: "
                "`memory-bank gc` then erases the folders without memory and names the others."
            ) from error

    def _has_threads(self) -> bool:
        threads = self._path.parent / "threads"
        return threads.is_dir() and any(threads.iterdir())


def no_memory(thread: str) -> UnknownThreadError:
    """Make the error for a question to an empty thread that has nothing else to answer from."""
    return UnknownThreadError(
        f"The thread '{thread}' holds no memory to answer from. Give documents with the question, or name a thread "
        "that is kept; `memory-bank runs` lists them."
    )


def _rows(database: sqlite3.Connection, where: str, *given: str) -> list[tuple[Any, ...]]:
    query = f"SELECT {COLUMNS}, seal FROM runs {where}"
    return list(rows_of(database.execute(query, given), _damaged))


def _damaged(row: Sequence[Any]) -> DamagedRowError:
    return DamagedRowError(
        f"The ledger's row of the thread '{row[0]}' is damaged. Put back a copy of the ledger, or clear that thread."
    )


def row_of(run: Run) -> tuple[Any, ...]:
    """A run as a row of the table."""
    return (
        run.thread,
        run.state,
        run.question,
        json.dumps(run.documents, ensure_ascii=False),
        json.dumps(run.settings),
        run.engine,
        run.embeddings,
        int(run.keep),
        run.export,
        run.status,
        int(run.continues),
        run.created_at,
        run.updated_at,
        as_json(run.usage),
        json.dumps(run.attachments),
        int(run.outside),
    )


def as_json(usage: Mapping[str, Any] | None) -> str | None:
    """Usage as it stands in a row."""
    return json.dumps(usage) if usage is not None else None


def run_of(row: tuple[Any, ...]) -> Run:
    """Read a row.

    Raises:
        DamagedRowError: It is not what was written.
    """
    try:
        found = Run(*row)
        documents, settings, attachments = json.loads(row[3]), json.loads(row[4]), json.loads(row[-2])
        usage = json.loads(found.usage or "null")  # type: ignore[arg-type] - a row holds text where a run holds a mapping
        is_sound = isinstance(documents, list) and isinstance(settings, dict) and isinstance(usage, dict | None)
        is_sound = is_sound and isinstance(attachments, list)
        if found.state not in get_args(RunState) or not is_sound:
            raise ValueError(found.state)
        return replace(
            found,
            documents=documents,
            settings=settings,
            usage=usage,
            attachments=attachments,
            keep=bool(found.keep),
            continues=bool(found.continues),
            outside=bool(found.outside),
        )
    except (TypeError, ValueError) as error:
        raise _damaged(row) from error
