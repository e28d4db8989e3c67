"""The answers a task has paid for, where its runs are in a database: any process that goes on with it has them."""

import json
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from agentic_memory_bank.engines.llm.answers import AnswerStore, Call
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows

_ANSWER: Final = "answer"
_CALL: Final = "call"
_RESULT: Final = "result"


class SharedAnswers(AnswerStore):
    """The answers of one task as rows of its thread."""

    def __init__(self, rows: ThreadRows) -> None:
        self._rows = rows

    def find(self, key: str) -> str | None:
        """The answer that was kept under a key, as JSON."""
        return self._text(_ANSWER, key)

    def note(self, call: Call, key: str | None = None, answer: str | None = None) -> None:
        """Count a call; with `key`, keep its answer, in the database before this returns."""
        spent = [call.run, call.role, call.model, call.mode, call.input_tokens, call.output_tokens, call.is_estimated]
        rows = [(_CALL, uuid4().hex, json.dumps(spent).encode())]
        if key is not None and answer is not None:
            rows.append((_ANSWER, key, answer.encode("utf-8", "surrogatepass")))
        self._rows.put(rows)

    def result(self, key: str) -> str | None:
        """The result of a tool that was kept under a key."""
        return self._text(_RESULT, key)

    def keep_result(self, key: str, result: str) -> None:
        """Keep what a tool brought, in the database before this returns."""
        self._rows.put([(_RESULT, key, result.encode("utf-8", "surrogatepass"))])

    def calls(self, run: str) -> list[tuple[Call, int]]:
        """The calls of a run, those alike put together, each with how many they were."""
        found: dict[tuple[Any, ...], list[int]] = {}
        for row in self._rows.all(_CALL):
            of, role, model, mode, told, said, is_estimated = json.loads(row)
            if of == run:
                sums = found.setdefault((role, model, mode, is_estimated), [0, 0, 0])
                for place, count in enumerate((told, said, 1)):
                    sums[place] += count
        return [
            (Call(run, role, model, mode, told, said, is_estimated), count)
            for (role, model, mode, is_estimated), (told, said, count) in found.items()
        ]

    def close(self) -> None:
        """Do nothing: connections are lent for each call."""

    def _text(self, kind: str, key: str) -> str | None:
        found = self._rows.get(kind, [key]).get(key)
        return None if found is None else found.decode("utf-8", "surrogatepass")


def answers_at(place: Path | ThreadRows | None) -> AnswerStore:
    """Open the answers of a task: those of a file, of a thread's rows, or in memory."""
    return SharedAnswers(place) if isinstance(place, ThreadRows) else AnswerStore(place)
