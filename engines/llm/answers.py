"""The answers a task has paid for: kept as soon as they are checked, so that none is paid for twice, and counted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, messages_from_dict, messages_to_dict

from agentic_memory_bank.state.errors import StorageDamagedError
from agentic_memory_bank.state.model_table import Role
from agentic_memory_bank.tools.storage.database import DatabaseFile
from agentic_memory_bank.tools.storage.database_form import DatabaseForm, rows_of, seal_over

_CALL: Final = "run, role, model, rung, input, output, key, answer"
_MOST_TOKENS: Final = 1_000_000_000
"""More than any window holds."""
_ESTIMATED: Final = " estimated"
"""Behind the form of a call whose tokens no server told."""
_FORM: Final = DatabaseForm(
    name="file of paid answers",
    application=0x414D4241,  # "AMBA"
    version=1,
    remedy="Remove the file; they are then asked for again.",
    schema=(
        "CREATE TABLE calls (number INTEGER PRIMARY KEY, run TEXT NOT NULL, role TEXT NOT NULL, model TEXT NOT NULL, "
        "rung TEXT NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, key TEXT, answer TEXT, "
        f"{seal_over(_CALL)})",
        "CREATE UNIQUE INDEX answers ON calls (key) WHERE key IS NOT NULL",
        f"CREATE TABLE results (key TEXT PRIMARY KEY, result TEXT NOT NULL, {seal_over('key, result')}) WITHOUT ROWID",
    ),
    older=frozenset({(0, 0)}),
    scanned={"calls": _CALL, "results": "key, result"},
    is_new_when_empty=True,
)


@dataclass(frozen=True, slots=True)
class Call:
    """One request that was answered, well or badly."""

    run: str
    """The goal it was made for."""
    role: Role
    model: str
    mode: str
    """The form of structured output that served; empty where none did."""
    input_tokens: int
    output_tokens: int
    is_estimated: bool = False
    """Whether the server did not say how many tokens these are."""


def call_of(run: str, role: Role, model: str, mode: str, message: AIMessage, estimated: tuple[int, int]) -> Call:
    """Record an answered call with its cost, as the server reports it or else as estimated."""
    told = _told(message)
    return Call(run, role, model, mode, *(told or estimated), is_estimated=told is None)


def _told(message: AIMessage) -> tuple[int, int] | None:
    """What a server says of its tokens; None for what cannot be so: a budget goes by it."""
    usage: Any = message.usage_metadata or {}
    spent = usage.get("input_tokens"), usage.get("output_tokens")
    return spent if all(type(count) is int and 0 <= count <= _MOST_TOKENS for count in spent) else None


class AnswerStore:
    """The answers of one task by the hash of model, parameters and prompt; safe across threads and a fork.

    Args:
        path: A file of the task, 0600, erased with it. None keeps the answers in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._file = DatabaseFile(path, _FORM)

    def find(self, key: str) -> str | None:
        """The answer that was kept under a key, as JSON."""
        with self._file.using() as database:
            rows = database.execute(f"SELECT {_CALL}, seal FROM calls WHERE key = ?", (key,)).fetchall()
        return next((row[-1] for row in rows_of(rows, self._damaged)), None)

    def note(self, call: Call, key: str | None = None, answer: str | None = None) -> None:
        """Count a call; with `key`, keep its answer, on disk before this returns."""
        form = f"{call.mode}{_ESTIMATED}" if call.is_estimated else call.mode
        row = (call.run, call.role, call.model, form, call.input_tokens, call.output_tokens, key, answer)
        with self._file.writing() as database:
            if key is not None:  # a question that was asked twice was paid for twice
                database.execute("UPDATE calls SET key = NULL, answer = NULL WHERE key = ?", (key,))
            database.execute(f"INSERT INTO calls ({_CALL}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def result(self, key: str) -> str | None:
        """The result of a tool that was kept under a key."""
        with self._file.using() as database:
            rows = database.execute("SELECT key, result, seal FROM results WHERE key = ?", (key,)).fetchall()
        return next((result for _, result in rows_of(rows, self._damaged)), None)

    def keep_result(self, key: str, result: str) -> None:
        """Keep what a tool brought, on disk before this returns."""
        with self._file.writing() as database:
            database.execute("INSERT OR REPLACE INTO results (key, result) VALUES (?, ?)", (key, result))

    def keep_turns(self, step: str, turns: Sequence[BaseMessage]) -> None:
        """Keep how far an agent came with a step that had to wait: it may be told to finish with that."""
        self.keep_result(f"turns {step}", json.dumps(messages_to_dict(turns), default=str))

    def turns(self, step: str) -> list[BaseMessage]:
        """How far an agent came with a step."""
        kept = self.result(f"turns {step}")
        return messages_from_dict(json.loads(kept)) if kept else []

    def calls(self, run: str) -> list[tuple[Call, int]]:
        """The calls of a run, those alike put together, each with how many they were."""
        with self._file.using() as database:
            rows = database.execute(
                "SELECT run, role, model, rung, SUM(input), SUM(output), COUNT(*) FROM calls WHERE run = ? "
                "GROUP BY role, model, rung ORDER BY MIN(number)",
                (run,),
            ).fetchall()
        return [
            (Call(run, role, model, form.removesuffix(_ESTIMATED), told, said, form.endswith(_ESTIMATED)), count)
            for run, role, model, form, told, said, count in rows
        ]

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._file.close()

    def _damaged(self, row: Sequence[Any]) -> StorageDamagedError:
        return _FORM.damaged(self._file.path, f"an answer to {row[1]!r}" if len(row) > 3 else "the result of a tool")
