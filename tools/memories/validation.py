"""Checks what callers hand over: memories, filters, limits, cursors; and says what a search asks and finds."""

import hashlib
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from typing_extensions import TypedDict

from agentic_memory_bank.state.errors import InputError, InputTooLarge, NoUserError
from agentic_memory_bank.state.records import (
    TYPES,
    MemorySource,
    Metadata,
    Record,
    RecordFilter,
    RecordType,
    Replacement,
    UserHash,
)
from agentic_memory_bank.tools.text.cleaning import clean

MAX_TEXT: Final = 16_384
"""Longest memory, in characters."""
MAX_METADATA: Final = 4_096
"""Most characters of a memory's metadata, as JSON."""
MAX_LIMIT: Final = 100
"""How many memories one call returns at most, whatever it asks for."""


class MemoryFields(TypedDict, total=False):
    """The fields of a memory besides its text."""

    type: RecordType
    """`semantic` unless said otherwise."""
    project: str
    """Empty, or left out: it belongs to no project."""
    subject: str | None
    attribute: str | None
    source: MemorySource | None
    trust: float
    """How far the source is trusted, from 0 to 1; 0.5 unless said otherwise."""
    importance: float
    """From 0 to 1; 0.5 unless said otherwise."""
    expires_at: datetime | None
    evidence: Sequence[str]
    """Ids of the memories that it was drawn from; it is deleted with them."""
    metadata: Metadata
    """What the application notes of it for itself."""


class NewMemory(MemoryFields):
    """A memory to be stored."""

    text: str


_FIELDS: Final = NewMemory.__annotations__.keys()


def user_hash(user: object) -> str:
    """Hash a user's id, as it stands in namespaces.

    Only texts are users: the number 1 is refused, so that it is never taken for the text "1". Texts are compared as
    they are: case, white space inside and composed characters count.

    Raises:
        NoUserError: No user is named.
        InputError: It is no text.
    """
    if isinstance(user, UserHash):
        return str(user)
    if user is None or (isinstance(user, str) and not user.strip()):
        raise NoUserError("Nobody is named whose memories are meant. Give the id of the authenticated user.")
    if not isinstance(user, str):
        raise InputError(f"A user is named by a text, not by {user!r}. Give str(...) of it, everywhere the same.")
    return hashlib.sha256(b"user\0" + user.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def stamp(moment: datetime) -> str:
    """ISO 8601 in UTC, of one length, so that times compare as texts."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def check_length(text: str) -> None:
    """Check that a memory is not too long to be one.

    Raises:
        InputTooLarge: It is.
    """
    if len(text) > MAX_TEXT:
        raise InputTooLarge(f"A memory has {len(text):,} characters, more than {MAX_TEXT:,}. Store it in parts.")


def checked_fields(draft: Mapping[str, Any]) -> dict[str, Any]:
    """Check the fields of a new memory, and turn them into those of an event.

    Raises:
        InputError: It cannot be kept.
    """
    if unknown := sorted(draft.keys() - _FIELDS):
        raise InputError(f"A memory has no {unknown[0]!r}. It has {', '.join(sorted(_FIELDS))}.")
    text, type, project = draft.get("text"), draft.get("type", "semantic"), draft.get("project", "")
    if not isinstance(text, str) or not clean(text).strip():
        raise InputError("A memory needs a text that is not blank.")
    check_length(text)
    if type not in TYPES:
        raise InputError(f"There is no type of memory {type!r}. Use one of {', '.join(TYPES)}.")
    if not isinstance(project, str):
        raise InputError(f"A project is named by a text, not by {project!r}. Leave it out where there is none.")
    metadata = checked_metadata(draft.get("metadata"))
    return {
        **({"metadata": metadata} if metadata else {}),
        "text": clean(text),
        "type": type,
        "project": json.dumps(project),
        "project_name": project,
        "subject": _cleaned(draft.get("subject"), "subject"),
        "attribute": _cleaned(draft.get("attribute"), "attribute"),
        "source": _source(draft.get("source")),
        "trust": _share(draft.get("trust", 0.5), "trust"),
        "importance": _share(draft.get("importance", 0.5), "importance"),
        "expires_at": _end(draft.get("expires_at")),
        "evidence": _texts(draft.get("evidence", ()), "evidence"),
    }


def checked_metadata(given: object) -> Metadata:
    """Check what an application notes of a memory.

    Raises:
        InputError: It is no mapping of texts to texts, numbers, booleans and None, or too long.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(_is_noted(name, value) for name, value in given.items()):
        raise InputError("The metadata of a memory maps texts to texts, finite numbers, booleans and None.")
    if len(json.dumps(dict(given))) > MAX_METADATA:
        raise InputTooLarge(f"The metadata of a memory has more than {MAX_METADATA:,} characters as JSON.")
    return {clean(name): clean(value) if isinstance(value, str) else value for name, value in given.items()}


def _is_noted(name: object, value: object) -> bool:
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return isinstance(name, str) and (value is None or isinstance(value, str | bool) or is_number)


def checked_filter(project: object, types: Collection[str] | None) -> RecordFilter:
    """Check a filter by project and types.

    Raises:
        InputError: A type or a project has no meaning.
    """
    if project is not None and not isinstance(project, str):
        raise InputError(f"A project is named by a text, not by {project!r}. Give None for all.")
    those: object = () if types is None else types
    unknown = [those] if isinstance(those, str) or not isinstance(those, Collection) else _unknown(those)
    if unknown:
        raise InputError(f"There is no type of memory {unknown[0]!r}. Give some of {', '.join(TYPES)}.")
    return RecordFilter(project, None if types is None else frozenset(types))


def _unknown(types: Collection[object]) -> list[object]:
    return sorted((one for one in types if one not in TYPES), key=str)


def checked_limit(limit: object) -> int:
    """Check a limit, and cap it at `MAX_LIMIT`.

    Raises:
        InputError: It is no whole number from 1.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InputError(f"A limit is a whole number from 1, not {limit!r}.")
    return min(limit, MAX_LIMIT)


def sort_key(record: Record) -> tuple[str, str]:
    """What memories are sorted by: their age, then their id."""
    return record["created_at"], record["id"]


def checked_cursor(cursor: str | None) -> tuple[str, str] | None:
    """Check a cursor: where a listing goes on.

    Raises:
        InputError: It is no cursor of a listing.
    """
    if cursor is None:
        return None
    try:
        created, id = json.loads(cursor)
        return str(created), str(id)
    except (TypeError, ValueError):
        raise InputError("This cursor is none. Give that of the listing before, or none for the first.") from None


def _cleaned(value: object, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"The {name} of a memory is a text, not {value!r}.")
    return None if value is None else clean(value)


def _texts(values: object, name: str) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Collection) or not all(isinstance(v, str) for v in values):
        raise InputError(f"The {name} of a memory is a list of texts, not {values!r}.")
    return [clean(value) for value in values]


def _source(value: object) -> MemorySource | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InputError("The source of a memory is a mapping of conversation, turns and quotes.")
    return {
        "conversation": _cleaned(value.get("conversation", ""), "conversation") or "",
        "turns": _texts(value.get("turns", ()), "turns"),
        "quotes": _texts(value.get("quotes", ()), "quotes"),
    }


def _share(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"The {name} of a memory is a number from 0 to 1, not {value!r}.")
    return float(value)


def _end(value: object) -> str | None:
    if value is None:
        return None
    with suppress(OverflowError):  # no year of UTC has it
        if isinstance(value, datetime) and value.tzinfo is not None:
            return stamp(value)
    raise InputError(f"A memory ends at a time with a time zone, not at {value!r}. Use datetime.now(UTC) + ...")


def project_of(state: Mapping[str, object]) -> str:
    """The project that a conversation belongs to, by its state; empty for none."""
    return json.loads(str(state["project"]))


def conversation_of(state: Mapping[str, object]) -> str:
    """The id of a conversation, by its state."""
    return json.loads(str(state["conversation"]))


class MemoryHit(NamedTuple):
    """A memory that a search found."""

    record: Record
    score: float
    """What orders the hits: keywords and meaning together, of the memory or of what was consolidated into it, and a
    share of what was said right before or after. Comparable within one search only."""
    cosine: float
    """Between query and memory, from -1 to 1, of nothing else; 0 where the memory has no vector yet."""
    keyword: float
    """How well the words fit, from 0 to 1, 1 for the best of this search."""
    marks: tuple[str, ...]
    """The rare names and numbers that query and memory share."""
    coverage: float = 0.0
    """Share of the words of the query that the memory holds, each by its rarity among all memories."""
    rarest: float = 0.0
    """The rarity of the rarest word they share: 1 for one that no other memory holds."""
    before: str = ""
    """The words of what the memory has taken the place of, where whoever searched looked."""


class RecordThreshold(NamedTuple):
    """A threshold that is not the same for all memories."""

    least: float
    """The lowest there is."""
    of: Callable[[Record], float]
    """That of a memory."""


Threshold = float | RecordThreshold | None
"""Least raw cosine of a hit that shares no rare name or number with the query. None: no threshold."""


class Listing(NamedTuple):
    """Some memories, newest first."""

    records: Sequence[Record]
    cursor: str | None
    """What to ask on with; None at the end."""


class MemoryQuery(NamedTuple):
    """What is looked for; the fields are the arguments of `RecordStore.search`."""

    query: str
    project: str | None = None
    types: Collection[str] | None = None
    limit: int = 5
    threshold: Threshold = None
    replaced: bool = False


def checked_query(asked: MemoryQuery) -> RecordFilter:
    """The filter of a query.

    Raises:
        InputError: A type, the limit or the threshold has no meaning.
    """
    checked_limit(asked.limit)
    if not isinstance(asked.query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"What is looked for is a text, not {asked.query!r}.")
    least: object = asked.threshold.least if isinstance(asked.threshold, RecordThreshold) else asked.threshold
    if least is not None and (isinstance(least, bool) or not isinstance(least, int | float) or not -1 <= least <= 1):
        raise InputError("A threshold is a cosine from -1 to 1. Give None for no threshold.")
    return checked_filter(asked.project, asked.types)


def inherited_fields(olds: Sequence[Record], how: Replacement) -> Mapping[str, Any]:
    """The fields that a memory has from those it replaces, unless others are given."""
    first = olds[0]
    own: dict[str, Any] = {name: first[name] for name in ("type", "project", "subject", "attribute", "importance")}
    if how == "consolidate":
        ends = [datetime.fromisoformat(old["expires_at"]) for old in olds if old["expires_at"]]
        own |= {"trust": max(old["trust"] for old in olds), "expires_at": min(ends, default=None)}
        own |= {"importance": max(old["importance"] for old in olds)}
    return own
