"""What the index of one user's memories holds: tables that begin with a file, or with nothing, and what one may ask."""

import json
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from typing import Any, Final, Self, cast

from agentic_memory_bank.state.record_events import RecordEvent, is_deleted_with
from agentic_memory_bank.state.records import Record, normalized
from agentic_memory_bank.tools.memories.turns import RecordTurns
from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
from agentic_memory_bank.tools.storage.kept_rows import KeptRows, RowForm, set_form
from agentic_memory_bank.tools.storage.section_file import Arrays, SectionFile

_BYTES_PER_ROW: Final = 2_000
_BYTES_PER_ID: Final = 300


class RecordTables:
    """The tables of an index; `RecordIndex` fills and searches them.

    Args:
        owner: The hash of the user; events of others are passed over, wherever they come from.
        model: The embedding model; vectors of others are not searched.
        dimension: The length of its vectors; None where that is not known yet.
        file: A file that such tables were written to, to begin with what it holds.
    """

    def __init__(self, owner: str, model: str, dimension: int | None = None, file: SectionFile | None = None) -> None:
        kept: Mapping[str, Any] = file.header["index"] if file is not None else {}
        self._owner, self._model = owner, model
        self.dimension: int | None = kept.get("dimension", dimension)
        """The length of the vectors; None as long as there are none and nobody has said it."""
        self._events: KeptRows[RecordEvent] = KeptRows(RowForm("events"), file)
        self._vectors: dict[str, str] = dict(kept.get("vectors", {}))
        """Of events that came and are not in the index yet."""
        self._keys: KeptRows[set[str]] = KeptRows(set_form("keys"), file)
        self._index = HybridIndex(file)
        self._indexed: KeptRows[tuple[str, list[str]]] = KeptRows(RowForm("indexed", read=tuple), file)
        """Of each memory that is searched the event of its text, and its names and numbers."""
        self._speakers: KeptRows[set[str]] = KeptRows(set_form("speakers"), file)
        """The names of those who said a memory, in words."""
        self._holders: KeptRows[set[str]] = KeptRows(set_form("holders"), file)
        self._alike: KeptRows[set[str]] = KeptRows(set_form("alike"), file)
        self._places: KeptRows[set[str]] = KeptRows(set_form("places"), file)
        self._idle: set[str] = set(kept.get("idle", ()))
        self._ending: set[str] = set(kept.get("ending", ()))
        self._parts: set[str] = set(kept.get("parts", ()))
        self._drawn: KeptRows[set[str]] = KeptRows(set_form("drawn"), file)
        """Of each memory those that name it as their evidence, or as what they stand for."""
        self._turns = RecordTurns(file)
        self.records: KeptRows[Record] = KeptRows(RowForm("records"), file)
        """All that are not forgotten, by id."""
        self.deleted: dict[str, str] = dict(kept.get("deleted", {}))
        """When each was forgotten, by id."""
        self.other_model: dict[str, str] = dict(kept.get("other_model", {}))
        """Which memories have a vector of another model or dimension, and whose."""
        self.unembedded: set[str] = set(kept.get("unembedded", ()))
        """Which have none, since it could not be made."""

    # --- the file --------------------------------------------------------------------------------------------------

    def snapshot(self) -> Self:
        """What it holds now, to be told by `kept` while this one goes on; it takes less time than `kept` does."""
        twin = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, KeptRows | RecordTurns | HybridIndex):
                setattr(twin, name, value.snapshot())
            elif isinstance(value, set | dict):
                setattr(twin, name, copy(value))
        return twin

    def kept(self) -> tuple[Mapping[str, Any], Arrays]:
        """All of it, as the header and the arrays of a file that an index can begin with."""
        small = ("dimension", "other_model", "deleted")
        told = {name: getattr(self, name) for name in small} | {"vectors": self._vectors}
        sets = {"idle": self._idle, "ending": self._ending, "parts": self._parts, "unembedded": self.unembedded}
        arrays = dict(self._index.arrays())
        for rows in self._all_rows():
            arrays |= rows.arrays()
        return told | {name: sorted(ids) for name, ids in sets.items()}, arrays

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes; what is mapped from a file is not counted."""
        rows = sum(rows.held for rows in self._all_rows())
        return _BYTES_PER_ROW * rows + _BYTES_PER_ID * len(self.records) + self._index.size

    def is_stored(self, keys: Iterable[str]) -> bool:
        """Whether any of these events is in the file that it began with."""
        return any(map(self._events.is_stored, keys))

    def differing(self, events: Mapping[str, RecordEvent | None]) -> dict[str, RecordEvent | None]:
        """Of all events that there are, those that it does not hold as they are; None for those it holds besides."""
        gone = dict.fromkeys(key for key in self._events if key not in events)
        return gone | {
            key: event
            for key, event in events.items()
            if event is None or self._events.get(key) != without_vector(event)
        }

    def _all_rows(self) -> list[KeptRows[Any] | RecordTurns]:
        sets = [self._keys, self._speakers, self._holders, self._alike, self._places, self._drawn]
        return [self._events, self._indexed, self.records, *sets, self._turns]

    # --- rows --------------------------------------------------------------------------------------------------------

    def event(self, key: str) -> RecordEvent | None:
        """An event, without its vector."""
        return self._events.get(key)

    def keys_of(self, id: str) -> list[str]:
        """The keys of all events that have to go when a memory is forgotten."""
        return [key for key in sorted(self._keys.get(id, ())) if is_deleted_with(self._events[key], id)]

    def all_keys(self) -> list[str]:
        """The keys of all events that say anything of what was not forgotten."""
        return [key for key, event in self._events.items() if event["op"] != "forget"]

    def drawn_from(self, id: str) -> Collection[str]:
        """The ids of memories that name another one as their evidence, or as what they stand for."""
        return self._drawn.get(id, set[str]())

    def said_in(self, turns: Iterable[tuple[str, str]]) -> Collection[str]:
        """The ids of memories that name any of these turns, each of a conversation, as their source."""
        return self._turns.said_in(turns)

    def place(self, record: Record) -> None:
        """Note where a memory belongs."""
        id = record["id"]
        self._alike.own(content_key(record), set[str]).add(id)
        self._places.own(_place_key(record), set[str]).add(id)
        if record["expires_at"] is not None:
            self._ending.add(id)
        if record["replaced_by"] is not None:
            self._parts.add(id)
        for source in _drawn_sources(record):
            self._drawn.own(source, set[str]).add(id)
        self._turns.add(record)

    def unplace(self, record: Record) -> None:
        """Take it out of there."""
        id = record["id"]
        for sets, name in ((self._alike, content_key(record)), (self._places, _place_key(record))):
            discard(sets, name, id)
        for source in _drawn_sources(record):
            discard(self._drawn, source, id)
        self._ending.discard(id)
        self._parts.discard(id)
        self._turns.remove(record)
        self._idle.discard(id)


def content_key(record: Record) -> str:
    """What a memory says, and where: those that share it say the same."""
    return json.dumps([record["project"], record["type"], normalized(record["text"])])


def _place_key(record: Record) -> str:
    return json.dumps([record["project"], record["type"]])


def _drawn_sources(record: Record) -> set[str]:
    return {*record["evidence"], *record["replaces"]}


def discard(sets: KeptRows[set[str]], name: str, id: str) -> None:
    """Take an id out of the set of a name, and the set away when nothing else is in it."""
    inside = sets.own(name, set[str])
    inside.discard(id)
    if not inside:
        del sets[name]


def without_vector(event: RecordEvent) -> RecordEvent:
    """An event as the index holds it."""
    return cast(RecordEvent, {name: value for name, value in event.items() if name != "vector"})
