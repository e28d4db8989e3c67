"""What runs keep where a Postgres database is named: one schema of tables, which any number of processes share."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, DeltaChannelHistory, get_checkpoint_id
from langgraph.checkpoint.postgres import PostgresSaver

from agentic_memory_bank.runs.checkpoints import PackedSerializer
from agentic_memory_bank.runs.ledger import COLUMNS, Ledger, Run, RunState, as_json, row_of, run_of
from agentic_memory_bank.tools.storage.postgres_schema import PostgresSchema
from agentic_memory_bank.tools.storage.thread_rows import SCHEMA, ThreadRows

_RUNS: Final = (
    "CREATE TABLE IF NOT EXISTS runs (thread TEXT PRIMARY KEY, state TEXT NOT NULL, question TEXT NOT NULL, "
    "documents TEXT NOT NULL, settings TEXT NOT NULL, engine TEXT NOT NULL, embeddings TEXT NOT NULL, "
    "keep INTEGER NOT NULL, export TEXT, status TEXT NOT NULL, continues INTEGER NOT NULL, "
    "created_at TEXT NOT NULL, updated_at TEXT NOT NULL, usage TEXT, attachments TEXT NOT NULL, "
    "outside INTEGER NOT NULL)"
)
_ORDERED: Final = "ALTER TABLE checkpoints ADD COLUMN IF NOT EXISTS written BIGINT GENERATED ALWAYS AS IDENTITY"
"""Which checkpoint was written last: their ids come from the clocks of machines, which differ."""
_OF_A_THREAD: Final = {
    "checkpoints": "thread_id",
    "checkpoint_blobs": "thread_id",
    "checkpoint_writes": "thread_id",
    "kept": "thread",
}
"""The tables that hold what a thread keeps, and the column that names it."""


class RunDatabase:
    """The tables of runs in one database; safe across threads, processes and a fork."""

    def __init__(self, url: str) -> None:
        self._schema = PostgresSchema(url, "memory_bank_runs", "runs", "resume", _make_tables)

    def connection(self) -> AbstractContextManager[Any]:
        """Lend a connection that commits each statement by itself. Raises as `PostgresSchema.connection`."""
        return self._schema.connection()

    def lock(self, name: str, what: str) -> AbstractContextManager[Any]:
        """Hold a thread, or work on a memory of pages. Raises as `PostgresSchema.lock`.

        Who writes checkpoints through the connection that holds a thread writes none once the lock is lost.
        """
        return self._schema.lock(name, what)

    @contextmanager
    def saver(self, held: Any = None) -> Iterator[BaseCheckpointSaver[Any]]:
        """Lend the saver of all threads.

        Args:
            held: The connection that holds the thread, where something is written.
        """
        with self._schema.explained():
            if held is not None:
                yield SharedSaver(held, serde=PackedSerializer())
                return
            with self.connection() as lent:
                yield SharedSaver(lent, serde=PackedSerializer())

    def rows(self, thread: str) -> ThreadRows:
        """The rows of a thread."""
        return ThreadRows(self.connection, thread)

    def holds(self, thread: str) -> bool:
        """Ask whether anything of a thread is kept besides its row in the ledger."""
        with self.connection() as database:
            return any(
                database.execute(f"SELECT 1 FROM {table} WHERE {column} = %s LIMIT 1", (thread,)).fetchone()
                for table, column in _OF_A_THREAD.items()
            )

    def clear(self, thread: str, held: Any = None) -> None:
        """Erase everything of a thread besides its row in the ledger, all or nothing.

        Args:
            held: The connection that holds the thread.
        """
        with (
            nullcontext(held) if held else self.connection() as database,
            self._schema.explained(),
            database.transaction(),
        ):
            for table, column in _OF_A_THREAD.items():
                database.execute(f"DELETE FROM {table} WHERE {column} = %s", (thread,))

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        self._schema.close()

    def orphans(self) -> list[str]:
        """List threads that the ledger does not know, of imports that were killed."""
        parts = [f"SELECT {column} AS thread FROM {table}" for table, column in _OF_A_THREAD.items()]
        with self.connection() as database:
            found = database.execute(f"{' UNION '.join(parts)} EXCEPT SELECT thread FROM runs ORDER BY thread")
            return [thread for (thread,) in found.fetchall()]


@cache
def run_database(url: str) -> RunDatabase:
    """The tables of runs at an address; its connections serve the whole process."""
    return RunDatabase(url)


def _make_tables(database: Any) -> None:
    for statement in (_RUNS, SCHEMA):
        database.execute(statement)
    SharedSaver(database).setup()
    database.execute(_ORDERED)


class SharedSaver(PostgresSaver):
    """Saves checkpoints in Postgres, compressed and checked, and takes the one that was written last for the latest.

    LangGraph's own takes the one with the largest id, and looks for ancestors among smaller ones; ids come from the
    clocks of machines, so where a run goes on on one whose clock is behind, it would pass over what was saved.
    """

    MIGRATIONS = [statement.replace(" CONCURRENTLY", "") for statement in PostgresSaver.MIGRATIONS]
    """All in one transaction: nobody uses tables that are being made."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint: the one that is named, or the latest."""
        if not get_checkpoint_id(config):
            place = config.get("configurable", {})
            with self._cursor() as cursor:
                latest = cursor.execute(
                    "SELECT checkpoint_id FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = %s "
                    "ORDER BY written DESC LIMIT 1",
                    (place["thread_id"], place.get("checkpoint_ns", "")),
                ).fetchone()
            if latest is None:
                return None
            config = {"configurable": {**place, "checkpoint_id": latest["checkpoint_id"]}}
        return super().get_tuple(config)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Follow the parents of a checkpoint, whatever their ids are."""
        return BaseCheckpointSaver.get_delta_channel_history(self, config=config, channels=channels)


class SharedLedger(Ledger):
    """The table of runs in a Postgres database."""

    def __init__(self, database: RunDatabase) -> None:
        self._database = database

    def write(self, run: Run) -> None:
        """Add or replace the run of a thread."""
        row = row_of(run)
        renewed = ", ".join(f"{name.strip()} = excluded.{name.strip()}" for name in COLUMNS.split(","))
        with self._database.connection() as database:
            database.execute(
                f"INSERT INTO runs ({COLUMNS}) VALUES ({', '.join(['%s'] * len(row))}) "
                f"ON CONFLICT (thread) DO UPDATE SET {renewed}",
                row,
            )

    def update(
        self, thread: str, state: RunState, status: str, at: str, usage: Mapping[str, Any] | None = None
    ) -> None:
        """Update the status of a run and, where it is given, its usage."""
        dropped = ", documents = '[]', attachments = '[]'" if state == "finished" else ""
        with self._database.connection() as database:
            database.execute(
                "UPDATE runs SET state = %s, status = %s, updated_at = %s, usage = COALESCE(%s, usage)"
                f"{dropped} WHERE thread = %s",
                (state, status, at, as_json(usage), thread),
            )

    def remove(self, thread: str) -> None:
        """Erase the row of a run."""
        with self._database.connection() as database:
            database.execute("DELETE FROM runs WHERE thread = %s", (thread,))

    def knows(self, thread: str) -> bool:
        """Ask whether there is a row of this thread."""
        return self.find(thread) is not None

    def threads(self) -> list[str]:
        """List the names of all threads."""
        with self._database.connection() as database:
            return sorted(thread for (thread,) in database.execute("SELECT thread FROM runs").fetchall())

    def find(self, thread: str) -> Run | None:
        """Find the run of a thread; None where there is none."""
        with self._database.connection() as database:
            row = database.execute(f"SELECT {COLUMNS} FROM runs WHERE thread = %s", (thread,)).fetchone()
        return run_of(row) if row else None

    def all(self) -> list[Run]:
        """List all runs, the latest first."""
        with self._database.connection() as database:
            rows = database.execute(f"SELECT {COLUMNS} FROM runs ORDER BY updated_at DESC, thread").fetchall()
        return [run_of(row) for row in rows]
