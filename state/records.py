"""Records: the memories of users that outlive a conversation, each folded from its events."""

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, get_args

from typing_extensions import TypedDict

RecordType = Literal["semantic", "procedural", "episodic", "reflective", "verbatim"]
"""A fact, a way of doing something, something that happened, an insight drawn from other memories, or what was said
word for word."""
Replacement = Literal["supersede", "consolidate"]
"""Why a memory is no longer current: its value changed, or it was consolidated with others."""

TYPES: Final[tuple[RecordType, ...]] = get_args(RecordType)
PRUNABLE_TYPES: Final[frozenset[RecordType]] = frozenset(("verbatim", "episodic"))
"""What maintenance prunes; facts stay until they are forgotten."""
FIRST_STRENGTH: Final = 30.0
"""S of a memory that was never used, in days; see `retention`."""
PRUNE_BELOW: Final = 0.1
"""Retention below which a memory is pruned."""


class UserHash(str):
    """The hash of a user, as maintenance finds it in a store.

    It is a type of its own: a text from outside is never taken for one, so that knowing a hash gives no access.
    """


class MemorySource(TypedDict):
    """Where a memory was said: the conversation, its turns, and the words themselves."""

    conversation: str
    turns: list[str]
    quotes: list[str]


Metadata = Mapping[str, str | int | float | bool | None]
"""What an application notes of a memory for itself: shown to no model, searched by nobody, erased with the memory."""


class EarlierWording(TypedDict):
    """What a memory said before it was revised, and since when."""

    text: str
    at: str


class Record(TypedDict):
    """One memory of a user, folded from its events. Times are ISO 8601 in UTC, of one length."""

    id: str
    type: RecordType
    text: str
    subject: str | None
    """Whom or what it is about, where known; a new value of the same subject and attribute supersedes it."""
    attribute: str | None
    user: str
    """Hash of the user's id."""
    project: str
    """Project of the memory; empty for none."""
    sources: list[MemorySource]
    trust: float
    """How far its best source is trusted, from 0 to 1."""
    importance: float
    """Importance, from 0 to 1."""
    created_at: str
    updated_at: str
    expires_at: str | None
    """When it expires; None for never."""
    access_count: int
    used_at: str | None
    history: list[EarlierWording]
    """Earlier wordings, oldest first."""
    replaces: list[str]
    evidence: list[str]
    """The memories that an insight was drawn from."""
    replaced_by: str | None
    replaced_how: Replacement | None
    replaced_at: str | None
    contradicts: list[str]
    metadata: Metadata
    """What was noted of it when it was stored."""
    pinned_at: str | None
    """Since when it is pinned; None where it is not."""
    version: str
    """Key of the event that set the text; it changes with each revision."""


class RecordFilter(NamedTuple):
    """Filters the memories of a user; None stands for all."""

    project: str | None = None
    """An empty text means those without a project."""
    types: frozenset[str] | None = None

    def matches(self, record: Record) -> bool:
        """Ask whether a memory passes the filter."""
        return self.project in (None, record["project"]) and (self.types is None or record["type"] in self.types)


# --- names -------------------------------------------------------------------------------------------------------


def normalized(text: str) -> str:
    """Normalize a text to compare it with others: white space and composed characters do not count, case does."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def record_id(user: str, project: str, type: str, text: str, generation: int = 0) -> str:
    """Make the id of a memory: the same for the same text, type, project and user.

    Args:
        generation: How many replaced or deleted memories have had the same text.
    """
    return "m" + digest([user, project, type, normalized(text), generation])[:31]


# --- time --------------------------------------------------------------------------------------------------------


def is_expired(record: Record, now: str) -> bool:
    """Ask whether a memory has expired; one that is pinned has not."""
    return not record["pinned_at"] and record["expires_at"] is not None and record["expires_at"] <= now


def retention(record: Record, now: datetime) -> float:
    """Compute the retention of a memory, R = exp(-t / S): t days since its last use, S = 30 + number of uses."""
    last = datetime.fromisoformat(record["used_at"] or record["created_at"])
    days = max(timedelta(), now - last) / timedelta(days=1)
    return math.exp(-days / (FIRST_STRENGTH + record["access_count"]))


def digest(value: object) -> str:
    """Hash a value, to make an id of it."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
