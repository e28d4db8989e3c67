"""Memories that outlive a conversation: the events that are kept of each, and the record these events fold into."""

import hashlib
import json
import math
import unicodedata
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, get_args

from typing_extensions import TypedDict

RecordType = Literal["semantic", "procedural", "episodic", "reflective", "verbatim"]
"""A fact, a way of doing something, something that happened, an insight drawn from other memories, or what was said
word for word."""
Replacement = Literal["supersede", "consolidate"]
"""Why a memory is no longer current: its value changed, or it was drawn together with others."""

TYPES: Final[tuple[RecordType, ...]] = get_args(RecordType)
PRUNABLE_TYPES: Final[frozenset[RecordType]] = frozenset(("verbatim", "episodic"))
"""What maintenance prunes; facts stay until they are forgotten."""
FIRST_STRENGTH: Final = 30.0
"""S0 of the retention, in days: what a memory that was never used has."""
PRUNE_BELOW: Final = 0.1
"""Retention below which a memory is pruned."""


class UserHash(str):
    """The hash of a user, where nobody has said who it is: what maintenance finds in a store, and nobody else hands in.

    No text that comes from outside is one, so that a hash opens nothing.
    """


class MemorySource(TypedDict):
    """Where a memory was said: the conversation, its turns, and the words themselves."""

    conversation: str
    turns: list[str]
    quotes: list[str]


class EarlierWording(TypedDict):
    """What a memory said before it was revised, and since when."""

    text: str
    at: str


class Record(TypedDict):
    """One memory, as all its events have made it. Times are ISO 8601 in UTC, of one length."""

    id: str
    type: RecordType
    text: str
    subject: str | None
    """Whom or what it is about, where that is known; with `attribute`, what a new value of the same supersedes."""
    attribute: str | None
    user: str
    """The hash that stands for the user; who it is cannot be read from it."""
    project: str
    """Empty for what belongs to no project."""
    sources: list[MemorySource]
    trust: float
    """How far its best source is trusted, from 0 to 1."""
    importance: float
    """From 0 to 1."""
    created_at: str
    updated_at: str
    expires_at: str | None
    """From when on it is not shown any more; None for never."""
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
    version: str
    """Names the event its wording is from; another one after each revision."""


class RecordFilter(NamedTuple):
    """Which of a user's memories are meant; None leaves it open."""

    project: str | None = None
    """An empty text means those without a project."""
    types: frozenset[str] | None = None

    def matches(self, record: Record) -> bool:
        """Whether a memory is one of them."""
        return self.project in (None, record["project"]) and (self.types is None or record["type"] in self.types)


# --- names -------------------------------------------------------------------------------------------------------


def normalized(text: str) -> str:
    """A text as it is compared with others for being the same: however it is spaced and composed; case counts."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def record_id(user: str, project: str, type: str, text: str, generation: int = 0) -> str:
    """The id of a memory: the same for the same words of the same type in the same place.

    Args:
        user: The hash of the user.
        project: Project of the memory; empty for none.
        type: Type of the memory.
        text: Text of the memory.
        generation: How often the id was taken already by what is no longer current, or forgotten.
    """
    return "m" + digest([user, project, type, normalized(text), generation])[:31]


# --- folding -----------------------------------------------------------------------------------------------------


# --- time --------------------------------------------------------------------------------------------------------


def is_expired(record: Record, now: str) -> bool:
    """Whether the time of a memory is over."""
    return record["expires_at"] is not None and record["expires_at"] <= now


def retention(record: Record, now: datetime) -> float:
    """How well a memory is retained, R = exp(-t / S): t the days since its last use, S = 30 + how often it was used."""
    last = datetime.fromisoformat(record["used_at"] or record["created_at"])
    days = max(timedelta(), now - last) / timedelta(days=1)
    return math.exp(-days / (FIRST_STRENGTH + record["access_count"]))


def digest(value: object) -> str:
    """The hash of a value, as ids are made of it."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
