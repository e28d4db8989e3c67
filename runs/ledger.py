"""The run ledger: what was asked of each thread, written before the first step, so that no run is ever forgotten."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from agentic_memory_bank.runs.database import connect, truncate_log
from agentic_memory_bank.runs.home import storage_errors
from agentic_memory_bank.state.errors import StorageDamagedError, UnknownThreadError

RunState = Literal["accepted", "running", "paused", "finished"]
"""`accepted`: nothing is saved yet but the input; `running`: a checkpoint exists; `finished`: only kept, or cleared."""

_TABLE = """
CREATE TABLE IF NOT EXISTS runs (
    thread TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    question TEXT NOT NULL,
    documents TEXT NOT NULL,
    settings TEXT NOT NULL,
    engine TEXT NOT NULL,
    embeddings TEXT NOT NULL,
    keep INTEGER NOT NULL,
    export TEXT,
    status TEXT NOT NULL,
    continues INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
)
"""
_HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'runs'"
_COLUMNS = (
    "thread, state, question, documents, settings, engine, embeddings, keep, export, status, continues,"
    " created_at, updated_at"
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the ledger knows it. Settings are plain values; keys of providers are never among them."""

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
    """Whether the thread held memory before this run: without its checkpoints, that is lost."""
    created_at: str
    updated_at: str

    @property
    def is_unfinished(self) -> bool:
        """Whether there is something to resume."""
        return self.state != "finished"


class Ledger:
    """The table of runs. Every method opens and closes the database, so processes do not get in each other's way."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, run: Run) -> None:
        """Add or replace the run of a thread."""
        row = (
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
        )
        with self._database() as database:
            database.execute(f"INSERT OR REPLACE INTO runs ({_COLUMNS}) VALUES ({', '.join('?' * len(row))})", row)
            truncate_log(database)

    def update(self, thread: str, state: RunState, status: str, at: str) -> None:
        """Note how far a run is. A finished run no longer needs its documents, so they are dropped."""
        with self._database() as database:
            database.execute(
                "UPDATE runs SET state = ?, status = ?, updated_at = ? WHERE thread = ?", (state, status, at, thread)
            )
            if state == "finished":
                database.execute("UPDATE runs SET documents = '[]' WHERE thread = ?", (thread,))
                truncate_log(database)

    def remove(self, thread: str) -> None:
        """Forget a run; its bytes are overwritten and the log is cut."""
        with self._database() as database:
            database.execute("DELETE FROM runs WHERE thread = ?", (thread,))
            truncate_log(database)

    def knows(self, thread: str) -> bool:
        """Whether there is a row of this thread, readable or not."""
        with self._database() as database:
            return database.execute("SELECT 1 FROM runs WHERE thread = ?", (thread,)).fetchone() is not None

    def threads(self) -> list[str]:
        """The names of all threads, readable rows or not."""
        with self._database() as database:
            return [row[0] for row in database.execute("SELECT thread FROM runs ORDER BY thread")]

    def find(self, thread: str) -> Run | None:
        """The run of a thread, if there is one."""
        with self._database() as database:
            row = database.execute(f"SELECT {_COLUMNS} FROM runs WHERE thread = ?", (thread,)).fetchone()
        return _run(row) if row else None

    def get(self, thread: str) -> Run:
        """The run of a thread.

        Raises:
            UnknownThreadError: There is none.
        """
        run = self.find(thread)
        if run is None:
            raise UnknownThreadError(f"Nothing is known of the thread '{thread}'. `memory-bank runs` lists them.")
        return run

    def all(self) -> list[Run]:
        """All runs, the latest first."""
        with self._database() as database:
            rows = database.execute(f"SELECT {_COLUMNS} FROM runs ORDER BY updated_at DESC, thread").fetchall()
        return [_run(row) for row in rows]

    @contextmanager
    def _database(self) -> Iterator[Any]:
        try:
            with storage_errors(self._path):
                was_there = self._path.exists()
                with closing(connect(self._path)) as database:
                    # Threads first: whoever else begins right now makes the table before a thread.
                    if was_there and self._has_threads() and not database.execute(_HAS_TABLE).fetchone():
                        raise StorageDamagedError("it holds no table of runs")
                    database.execute(_TABLE)
                    yield database
                    database.commit()
        except StorageDamagedError as error:
            raise StorageDamagedError(
                f"The ledger of runs at {self._path} is damaged, or was not written by this version of the "
                "package. Put back a copy of it; or move it away, which gives up the runs it knew: `memory-bank gc` "
                "then erases what they left."
            ) from error

    def _has_threads(self) -> bool:
        threads = self._path.parent / "threads"
        return threads.is_dir() and any(threads.iterdir())


def _run(row: tuple[Any, ...]) -> Run:
    try:
        found = Run(*row)
        documents, settings = json.loads(row[3]), json.loads(row[4])
        if found.state not in get_args(RunState) or not isinstance(documents, list) or not isinstance(settings, dict):
            raise ValueError(found.state)
        return replace(
            found, documents=documents, settings=settings, keep=bool(found.keep), continues=bool(found.continues)
        )
    except (TypeError, ValueError) as error:
        raise StorageDamagedError(
            f"The ledger's row of the thread '{row[0]}' is damaged; clear that thread."
        ) from error
