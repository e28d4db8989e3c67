"""The answers a task has paid for: kept as soon as they are checked, so that none is paid for twice, and counted."""

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from langchain_core.messages import BaseMessage, messages_from_dict, messages_to_dict

from agentic_memory_bank.state.errors import StorageDamagedError, StorageError, StorageFullError
from agentic_memory_bank.state.model_table import Role

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS calls (number INTEGER PRIMARY KEY, run TEXT NOT NULL, role TEXT NOT NULL, "
    "model TEXT NOT NULL, rung TEXT NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, key TEXT, answer TEXT)"
)
_INDEX: Final = "CREATE UNIQUE INDEX IF NOT EXISTS answers ON calls (key) WHERE key IS NOT NULL"
_RESULTS: Final = "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, result TEXT NOT NULL) WITHOUT ROWID"


@dataclass(frozen=True, slots=True)
class Call:
    """One request that was answered, well or badly."""

    run: str
    """The goal it was made for."""
    role: Role
    model: str
    rung: str
    """The form of structured output that served; empty where none did."""
    input_tokens: int
    output_tokens: int


class AnswerStore:
    """The answers of one task by the hash of model, parameters and prompt; safe across threads and a fork.

    Args:
        path: A file of the task, 0600, erased with it. None keeps the answers in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._inherited: list[sqlite3.Connection] = []

    def find(self, key: str) -> str | None:
        """The answer that was kept under a key, as JSON."""
        with self._open() as connection:
            row = connection.execute("SELECT answer FROM calls WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def note(self, call: Call, key: str | None = None, answer: str | None = None) -> None:
        """Count a call; with `key`, keep its answer, on disk before this returns."""
        row = (call.run, call.role, call.model, call.rung, call.input_tokens, call.output_tokens, key, answer)
        with self._open() as connection, connection:
            if key is not None:  # a question that was asked twice was paid for twice
                connection.execute("UPDATE calls SET key = NULL, answer = NULL WHERE key = ?", (key,))
            connection.execute(
                "INSERT INTO calls (run, role, model, rung, input, output, key, answer) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )

    def result(self, key: str) -> str | None:
        """The result of a tool that was kept under a key."""
        with self._open() as connection:
            row = connection.execute("SELECT result FROM results WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def keep_result(self, key: str, result: str) -> None:
        """Keep what a tool brought, on disk before this returns."""
        with self._open() as connection, connection:
            connection.execute("INSERT OR REPLACE INTO results (key, result) VALUES (?, ?)", (key, result))

    def keep_turns(self, step: str, turns: Sequence[BaseMessage]) -> None:
        """Keep how far an agent came with a step that had to wait: it may be told to finish with that."""
        self.keep_result(f"turns {step}", json.dumps(messages_to_dict(turns), default=str))

    def turns(self, step: str) -> list[BaseMessage]:
        """How far an agent came with a step."""
        kept = self.result(f"turns {step}")
        return messages_from_dict(json.loads(kept)) if kept else []

    def calls(self, run: str) -> list[tuple[Call, int]]:
        """The calls of a run, those alike put together, each with how many they were."""
        with self._open() as connection:
            rows = connection.execute(
                "SELECT run, role, model, rung, SUM(input), SUM(output), COUNT(*) FROM calls WHERE run = ? "
                "GROUP BY role, model, rung ORDER BY MIN(number)",
                (run,),
            ).fetchall()
        return [(Call(*row[:-1]), row[-1]) for row in rows]

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._connected()
            except sqlite3.DatabaseError as error:
                raise _explained(error, self._path) from error

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        if self._connection is not None:  # closing what was opened before a fork would drop the parent's locks
            self._inherited.append(self._connection)
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        self._connection = sqlite3.connect(self._path or ":memory:", timeout=30, check_same_thread=False)
        self._process = os.getpid()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
            self._connection.execute(f"PRAGMA {pragma}").fetchone()
        with self._connection:
            self._connection.execute(_TABLE)
            self._connection.execute(_INDEX)
            self._connection.execute(_RESULTS)
        return self._connection


def _explained(error: sqlite3.DatabaseError, path: Path | None) -> StorageError:
    code = getattr(error, "sqlite_errorname", "") or ""
    if code == "SQLITE_FULL":
        return StorageFullError(f"The disk is full at {path}. What was saved is intact: free some space, then resume.")
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StorageDamagedError(
            f"The answers at {path} are damaged. Remove the file; they are then asked for again."
        )
    return StorageError(f"The answers at {path} cannot be used: {error}.")
