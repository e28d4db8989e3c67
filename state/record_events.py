"""The events of a memory: how they are made, keyed by their content, and folded into a record."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NotRequired, cast

from typing_extensions import TypedDict

from agentic_memory_bank.state.records import (
    TYPES,
    EarlierWording,
    MemorySource,
    Metadata,
    Record,
    RecordType,
    Replacement,
    digest,
)

_FORM: Final = 1
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_ONE_OFF: Final = frozenset(("vector", "model", "marks"))
_REPEATABLE: Final = frozenset(("create", "see", "replace", "contradict"))


class RecordEvent(TypedDict):
    """One thing that happened to a memory. `v` is the version of the event's form; old forms fold forever."""

    v: int
    op: Literal["create", "see", "revise", "replace", "use", "contradict", "pin", "forget"]
    id: str
    at: str
    user: NotRequired[str]
    text: NotRequired[str]
    type: NotRequired[RecordType]
    project: NotRequired[str]
    """As JSON in ASCII, since no database keeps every text unchanged and projects must never mix."""
    subject: NotRequired[str | None]
    attribute: NotRequired[str | None]
    source: NotRequired[MemorySource | None]
    sources: NotRequired[list[MemorySource]]
    trust: NotRequired[float]
    importance: NotRequired[float | None]
    expires_at: NotRequired[str | None]
    evidence: NotRequired[list[str]]
    metadata: NotRequired[Metadata]
    """Left out where there is none, as in events of old."""
    replaces: NotRequired[list[str]]
    how: NotRequired[Replacement]
    by: NotRequired[str]
    other: NotRequired[str]
    pinned: NotRequired[bool]
    writer: NotRequired[str]
    count: NotRequired[int]
    vector: NotRequired[str]
    """Vector of the text, little-endian float32 in base64; empty where it could not be made."""
    model: NotRequired[str]
    """The embedding model that made it."""
    marks: NotRequired[list[str]]
    """The names and numbers of the text, so that an index need not read every text for them."""


def event_key(event: RecordEvent) -> str:
    """Make the key of an event from its content, so that the same event written twice is kept once."""
    own = event["id"]
    if event["op"] == "forget":
        return f"{own}.gone"
    if event["op"] == "use":
        return f"{own}.use.{event.get('writer', '')}"
    left_out = _ONE_OFF | {"at"} if event["op"] in _REPEATABLE else _ONE_OFF
    return f"{own}.{digest({name: value for name, value in event.items() if name not in left_out})[:24]}"


_MIDDLING: Final = 0.5


def create(id: str, at: str, fields: Mapping[str, Any]) -> RecordEvent:
    """Make the event that begins a memory; with `replaces` and `how` in the fields, it replaces others in one write."""
    return cast(RecordEvent, {**fields, "v": _FORM, "op": "create", "id": id, "at": at})


def see(id: str, at: str, source: MemorySource | None, trust: float) -> RecordEvent:
    """Make the event that a memory has another source."""
    return {"v": _FORM, "op": "see", "id": id, "at": at, "source": source, "trust": trust}


def revise(id: str, at: str, text: str, fields: Mapping[str, Any]) -> RecordEvent:
    """Make the event that changes the text of a memory; the earlier text goes to its history."""
    return cast(RecordEvent, {**fields, "v": _FORM, "op": "revise", "id": id, "at": at, "text": text})


def replace(id: str, at: str, by: str, how: Replacement) -> RecordEvent:
    """Make the event that a memory is replaced by another, which may be deleted later."""
    return {"v": _FORM, "op": "replace", "id": id, "at": at, "by": by, "how": how}


def use(id: str, at: str, writer: str, count: int) -> RecordEvent:
    """Make the event that counts one writer's uses of a memory: each writer has its own, so that no count is lost."""
    return {"v": _FORM, "op": "use", "id": id, "at": at, "writer": writer, "count": count}


def contradict(a: str, b: str, at: str) -> RecordEvent:
    """Make the event that two memories contradict each other."""
    first, second = sorted((a, b))
    return {"v": _FORM, "op": "contradict", "id": first, "other": second, "at": at}


def pin(id: str, at: str, *, pinned: bool) -> RecordEvent:
    """Make the event that a memory is pinned, or no longer."""
    return {"v": _FORM, "op": "pin", "id": id, "at": at, "pinned": pinned}


def forget(id: str, at: str) -> RecordEvent:
    """Make the tombstone of a deleted memory, without any of its content."""
    return {"v": _FORM, "op": "forget", "id": id, "at": at}


def is_event(value: object) -> bool:
    """Ask whether a value has the fields of an event; others are passed over."""
    if not isinstance(value, Mapping) or not all(isinstance(value.get(name), str) for name in ("op", "id", "at")):
        return False
    return _STAMP.fullmatch(value["at"]) is not None


def mentions(event: RecordEvent) -> list[str]:
    """List the ids of the memories that an event concerns, its own first."""
    own = event["id"]
    others = [*_strings(event.get("replaces")), *_strings([event.get("other")])]
    return list(dict.fromkeys([own, *others]))


def is_deleted_with(event: RecordEvent, id: str) -> bool:
    """Ask whether an event is deleted with a memory."""
    return event["op"] != "forget" and id in (event["id"], event.get("other"))


def fold_record(id: str, events: Mapping[str, RecordEvent]) -> Record | None:
    """Fold the events that mention a memory into what it is now, in whatever order they came.

    Total: an event that cannot apply changes nothing.

    Args:
        events: The record's events, by their keys in the store.

    Returns:
        The record; None where it is deleted, or its first event is missing.
    """
    ordered = sorted(((e["at"], key, e) for key, e in events.items() if is_event(e)), key=lambda found: found[:2])
    if any(event["op"] == "forget" and event["id"] == id for _, _, event in ordered):
        return None
    begun = next(((key, r) for _, key, e in ordered if (r := _begun(id, key, e)) is not None), None)
    if begun is None:
        return None
    first, record = begun
    for _, key, event in ordered:
        if key != first:
            record = _applied(record, key, event)
    return record


def _begun(id: str, key: str, event: Any) -> Record | None:
    match event:
        case {"op": "create", "id": own, "text": str() as text, "type": str() as type, "at": at} if own == id:
            project = _project(event.get("project"))
            if type not in TYPES or project is None:
                return None
        case _:
            return None
    return {
        "id": id,
        "type": type,
        "text": text,
        "subject": _string(event.get("subject")),
        "attribute": _string(event.get("attribute")),
        "user": _string(event.get("user")) or "",
        "project": project,
        "sources": _sources([event.get("source"), *_list(event.get("sources"))]),
        "trust": _share(event.get("trust"), _MIDDLING),
        "importance": _share(event.get("importance"), _MIDDLING),
        "created_at": at,
        "updated_at": at,
        "expires_at": _string(event.get("expires_at")),
        "access_count": 0,
        "used_at": None,
        "history": [],
        "replaces": _without(id, _strings(event.get("replaces"))),
        "evidence": _without(id, _strings(event.get("evidence"))),
        "replaced_by": None,
        "replaced_how": None,
        "replaced_at": None,
        "contradicts": [],
        "metadata": _metadata(event.get("metadata")),
        "pinned_at": None,
        "version": key,
    }


def _applied(record: Record, key: str, event: Any) -> Record:
    own = record["id"]
    match event:
        case {"op": "revise", "id": id, "text": str() as text} if id == own:
            return _revised(record, key, text, event)
        case {"op": "use", "id": id, "count": int() as count, "at": at} if id == own and count > 0:
            used = max(at, record["used_at"] or at)
            return {**record, "access_count": record["access_count"] + count, "used_at": used}
        case {"op": "pin", "id": id, "pinned": bool() as pinned, "at": at} if id == own:
            return {**record, "pinned_at": (record["pinned_at"] or at) if pinned else None}
        case {"op": "create" | "see", "id": id} if id == own:
            return _seen(record, event)
        case {"op": "replace", "id": id, "by": str() as by, "how": how, "at": at} if id == own:
            return _replaced(record, by, how, at)
        case {"op": "create", "id": by, "how": how, "at": at} if own in _strings(event.get("replaces")):
            return _replaced(record, by, how, at)
        case {"op": "contradict", "id": a, "other": str() as b} if own in (a, b) and a != b:
            other = b if own == a else a
            return {**record, "contradicts": sorted({*record["contradicts"], other})}
        case _:
            return record


def _revised(record: Record, key: str, text: str, event: Any) -> Record:
    before: list[EarlierWording] = (
        [{"text": record["text"], "at": record["updated_at"]}] if text != record["text"] else []
    )
    seen = _seen(record, event)
    return {
        **seen,
        "text": text,
        "importance": _share(event.get("importance"), record["importance"]),
        "expires_at": _string(event["expires_at"]) if "expires_at" in event else record["expires_at"],
        "updated_at": event["at"],
        "history": [*record["history"], *before],
        "version": key,
    }


def _seen(record: Record, event: Any) -> Record:
    """Add the sources of another event of the same text, and keep the better trust."""
    said_in = [s for s in _sources([event.get("source"), *_list(event.get("sources"))]) if s not in record["sources"]]
    named = _without(record["id"], _strings(event.get("replaces")))
    drawn = _without(record["id"], _strings(event.get("evidence")))
    return {
        **record,
        "sources": [*record["sources"], *said_in],
        "trust": max(record["trust"], _share(event.get("trust"), 0.0)),
        "replaces": list(dict.fromkeys([*record["replaces"], *named])),
        "evidence": list(dict.fromkeys([*record["evidence"], *drawn])),
    }


def _replaced(record: Record, by: str, how: Any, at: str) -> Record:
    if by == record["id"] or (how != "supersede" and how != "consolidate"):
        return record
    return {**record, "replaced_by": by, "replaced_how": how, "replaced_at": at}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _strings(value: object) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]


def _without(own: str, ids: Iterable[str]) -> list[str]:
    return [id for id in dict.fromkeys(ids) if id != own]


def _share(value: Any, otherwise: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    return float(min(1.0, max(0.0, value))) if is_number else otherwise


def _project(value: object) -> str | None:
    try:
        found = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return _string(found)


def _sources(values: Iterable[object]) -> list[MemorySource]:
    found: list[MemorySource] = []
    for value in values:
        if isinstance(value, Mapping):
            source: MemorySource = {
                "conversation": _string(value.get("conversation")) or "",
                "turns": _strings(value.get("turns")),
                "quotes": _strings(value.get("quotes")),
            }
            if source not in found:
                found.append(source)
    return found


def _metadata(value: object) -> Metadata:
    kinds = (str, int, float, bool, type(None))
    noted = cast("Mapping[Any, Any]", value) if isinstance(value, Mapping) else {}
    return {name: one for name, one in noted.items() if isinstance(name, str) and isinstance(one, kinds)}
