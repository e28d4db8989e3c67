"""Hands the events of one user's memories out and takes them in again: all of their history, and nothing forgotten.

Without vectors, which are made anew, and without the user, who may have another name elsewhere.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.record_events import RecordEvent, event_key, forget, is_event, mentions
from agentic_memory_bank.tools.memories.user_memories import UserMemories
from agentic_memory_bank.tools.memories.validation import MAX_TEXT
from agentic_memory_bank.tools.text.cleaning import clean

_LEFT_OUT: Final = ("vector", "model", "marks", "user")
_ID: Final = re.compile(r"m[0-9a-f]{31}")


@with_config(ConfigDict(extra="forbid", strict=True))
class _TransferredEvent(RecordEvent):
    """An event as it is handed over: none of its parts may be another's."""


_EVENTS: Final = TypeAdapter(list[_TransferredEvent])


def outgoing(memories: UserMemories) -> list[Mapping[str, Any]]:
    """All events of a user, in an order that is the same wherever they are kept."""
    index = memories.index
    keys = [*index.all_keys(), *(event_key(forget(id, at)) for id, at in index.deleted.items())]
    found = (index.event(key) for key in keys)
    plain = [{name: value for name, value in event.items() if name not in _LEFT_OUT} for event in found if event]
    return sorted(plain, key=lambda event: (event["at"], json.dumps(event, sort_keys=True)))


def checked_events(given: object) -> list[RecordEvent]:
    """The events of an export.

    Raises:
        InputError: They are none, or say what no event says.
    """
    try:
        events = cast(list[RecordEvent], _EVENTS.validate_python(given))
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(f"These are no memories that can be taken in: {where} is not what it should be.") from None
    for number, event in enumerate(events):
        named = [*mentions(event), *event.get("evidence", ()), event.get("by") or event["id"]]
        text = event.get("text", "")
        if not (is_event(event) and all(map(_ID.fullmatch, named)) and text == clean(text) and len(text) <= MAX_TEXT):
            raise InputError(f"These are no memories that can be taken in: event {number} is not what it should be.")
    return events


def incoming(memories: UserMemories, events: Iterable[RecordEvent]) -> tuple[list[str], list[str]]:
    """Take events in that are not there; what was forgotten, here or there, stays so.

    Returns:
        The ids of memories that are new, and of those that were forgotten there and are here.
    """
    index, known = memories.index, set(memories.index.records)
    events = list(events)
    gone = {event["id"] for event in events if event["op"] == "forget"}
    closed = gone | set(index.deleted)
    wanted = [event for event in events if event["op"] != "forget" and closed.isdisjoint(_about(event))]
    fresh = [event for event in wanted if index.event(event_key(_as_kept(event, memories.owner))) is None]
    memories.write(fresh)
    new = [id for id in dict.fromkeys(event["id"] for event in fresh) if id in index.records and id not in known]
    return new, sorted(gone & known)


def _about(event: RecordEvent) -> Sequence[str]:
    """The memories that an event has to go with when they are forgotten."""
    return [event["id"], *([event["other"]] if "other" in event else [])]


def _as_kept(event: RecordEvent, owner: str) -> RecordEvent:
    return {**event, "user": owner}
