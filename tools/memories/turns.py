"""Who said a memory, in which turns, and beside which others; what it gains by that where it is searched."""

import json
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from numpy.typing import NDArray

from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.storage.kept_rows import KeptRows, RowForm
from agentic_memory_bank.tools.storage.section_file import SectionFile
from agentic_memory_bank.tools.text.attribution import ASSISTANT, USER, asks_the_assistant, unattributed
from agentic_memory_bank.tools.text.terms import tokenize

BESIDE: Final = (0.4, 0.0)
"""Shares of the best scores among the memories of the turns right before and after, and of the turns beyond, that a
memory has on top of its own."""
BESIDE_AMONG_PEOPLE: Final = (0.55, 0.3)
"""The same where people talk whose names are known: answers follow questions there, while most of what is said to an
assistant stands alone. Chosen with `benchmarks/memory_quality.py` and `everyday.py`, as is the one below."""
OF_ASSISTANT: Final = 0.4
"""What the words of an assistant lose, unless the query asks what it said: they are long, and mostly say again or
advise what the user asks about. Chosen with `benchmarks/long_chats.py`."""
OWN_WORDS: Final = 0.2
"""What a memory has on top where the query names who said it: people tell of themselves."""

_ASSISTANT: Final = frozenset(tokenize(ASSISTANT))


_Time = tuple[str, str, int]
"""When a memory came, its id, and where among its turns this one stands."""
_Line = list[tuple[_Time, str]]


def _times_read(told: dict[str, Any]) -> dict[str, _Time | None]:
    return {id: time and _time_read(time) for id, time in told.items()}


def _time_read(told: Any) -> _Time:
    moment, id, place = told
    return moment, id, place


def _line_read(told: list[Any]) -> _Line:
    return [(_time_read(time), turn) for time, turn in told]


_NAMED: Final = RowForm("turns", read=_times_read)
_TIMES: Final = RowForm("turn_times", read=_time_read)
_LINES: Final = RowForm("turn_lines", read=_line_read)


class AskedOf:
    """Of whom a query asks, which counts for what they said."""

    def __init__(self, query: str) -> None:
        self._words = frozenset(tokenize(query))
        self._is_addressed = asks_the_assistant(query)

    def gain(self, speaker: Collection[str] | None, near: float, beyond: float) -> float:
        """What a memory gains, or loses, on top of its own score.

        Args:
            speaker: The words of the name of who said it, as `speaker_terms` gives them.
            near: The best score among the memories of the turns right before and after.
            beyond: The same for the turns beyond these.
        """
        if not speaker or frozenset(speaker) == _ASSISTANT:
            lost = OF_ASSISTANT if speaker and not self._is_addressed else 0.0
            return BESIDE[0] * near + BESIDE[1] * beyond - lost
        is_named = not self._words.isdisjoint(speaker)
        return BESIDE_AMONG_PEOPLE[0] * near + BESIDE_AMONG_PEOPLE[1] * beyond + OWN_WORDS * is_named


def speaker_terms(text: str) -> frozenset[str]:
    """The words of the name of who said a memory; none for the user."""
    name = unattributed(text)[0]
    return frozenset() if name in ("", USER) else frozenset(tokenize(name))


class RecordTurns:
    """The turns of all conversations that memories name as their source, in the order in which they came.

    A turn is as old as the first memory whose first source it is: nothing else tells when it was said.

    Args:
        file: A file that its `arrays` were written to, to begin with.
    """

    def __init__(self, file: SectionFile | None = None) -> None:
        self._named: KeptRows[dict[str, _Time | None]] = KeptRows(_NAMED, file)
        """The memories of each turn, and what they tell of its time."""
        self._times: KeptRows[_Time] = KeptRows(_TIMES, file)
        self._lines: KeptRows[_Line] = KeptRows(_LINES, file)
        """The turns of each conversation, oldest first."""

    @property
    def held(self) -> int:
        """How many rows are in memory."""
        return self._named.held + self._times.held + self._lines.held

    def snapshot(self) -> "RecordTurns":
        """What it holds now, to be told by `arrays` while this one goes on."""
        twin = RecordTurns()
        twin._named, twin._times = self._named.snapshot(), self._times.snapshot()
        twin._lines = self._lines.snapshot()
        return twin

    def arrays(self) -> dict[str, Iterable[NDArray[Any]]]:
        """All of it, as the arrays of a file."""
        return self._named.arrays() | self._times.arrays() | self._lines.arrays()

    def add(self, record: Record) -> None:
        """Take in where a memory was said."""
        for conversation, turn, time in _spots(record):
            self._named.own(_key(conversation, turn), dict).setdefault(record["id"], time)
            self._settle(conversation, turn)

    def remove(self, record: Record) -> None:
        """Take it out; as it was when it was taken in."""
        for conversation, turn, _ in _spots(record):
            self._named.own(_key(conversation, turn), dict).pop(record["id"], None)
            self._settle(conversation, turn)

    def said_in(self, turns: Iterable[tuple[str, str]]) -> set[str]:
        """The ids of the memories that name any of these turns, each of a conversation, as their source."""
        return {id for turn in turns for id in self._named.get(_key(*turn), ())}

    def beside(self, record: Record) -> tuple[set[str], set[str]]:
        """The ids of the memories of the turns right before and after those of a memory, and of the turns beyond."""
        own = {(source["conversation"], turn) for source in record["sources"] for turn in source["turns"]}
        near = {spot for place in own for spot in self._around(*place)} - own
        beyond = {spot for place in near for spot in self._around(*place)} - own - near
        return self.said_in(near), self.said_in(beyond)

    def _around(self, conversation: str, turn: str) -> list[tuple[str, str]]:
        time = self._times.get(_key(conversation, turn))
        if time is None:
            return []
        line = self._lines[conversation]
        place = bisect_left(line, (time, turn))
        return [(conversation, other) for _, other in [*line[max(0, place - 1) : place], *line[place + 1 : place + 2]]]

    def _settle(self, conversation: str, turn: str) -> None:
        """Put a turn where it belongs by all that is known of its time."""
        key = _key(conversation, turn)
        before, line, named = self._times.pop(key, None), self._lines.own(conversation, list), self._named[key]
        if before is not None:
            del line[bisect_left(line, (before, turn))]
        told = [time for time in named.values() if time is not None]
        if told:
            self._times[key] = min(told)
            insort(line, (min(told), turn))
        if not named:
            del self._named[key]
        if not line:
            del self._lines[conversation]


def _key(conversation: str, turn: str) -> str:
    return json.dumps([conversation, turn])


def _spots(record: Record) -> Iterator[tuple[str, str, _Time | None]]:
    """The turns of a memory, and what it tells of their time: another source came later, nobody knows when."""
    for number, source in enumerate(record["sources"]):
        for place, turn in enumerate(source["turns"]):
            yield source["conversation"], turn, None if number else (record["created_at"], record["id"], place)
