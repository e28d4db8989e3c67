"""Takes memories of other programs in: dated as they were, whole or not at all, and once however often it is done."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

from typing_extensions import TypedDict

from agentic_memory_bank.engines.conversation import TRUST, Turn
from agentic_memory_bank.engines.extractive.conversation import written
from agentic_memory_bank.nodes.messages import truncated
from agentic_memory_bank.nodes.react_mem.episodes import masked as without_credentials
from agentic_memory_bank.nodes.remember.views import stored_turn, verbatim_draft
from agentic_memory_bank.runs.foreign_memories import ForeignMemory, NotUnderstood, read_foreign
from agentic_memory_bank.state import record_events as events
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.record_events import RecordEvent
from agentic_memory_bank.state.records import digest, record_id
from agentic_memory_bank.tools.memories.record_store import KEEP_SECONDS, RecordStore
from agentic_memory_bank.tools.memories.validation import NewMemory, check_length, checked_fields, stamp, user_hash
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.personal_numbers import masked as without_numbers

WRITER: Final = "import"
MOST_TOLD: Final = 1_000
"""How many things that were not understood are told one by one."""

MOST_EMBEDDED: Final = 1_000
"""How many memories are embedded at once; the vectors of more take minutes, and are left to `maintain`."""


class LeftOut(TypedDict):
    """Something that was not taken in, or not as it was, and why."""

    place: str
    why: str


class ForeignImportReport(TypedDict):
    """What an import from another program has done."""

    stored: Sequence[str]
    """Ids of the memories that are new here."""
    known: int
    """How many were here before, or stand in the file more than once, or were forgotten here."""
    left_out: Sequence[LeftOut]
    """What was not understood, the first thousand."""
    left_out_count: int
    is_embedded: bool
    """Whether they are found by meaning already; else by their words, until `maintain` has made their vectors."""


def import_foreign(
    records: RecordStore, user: str, kind: str, text: str, now: datetime, room: int, **about: Any
) -> ForeignImportReport:
    """Take a file of another program in.

    Args:
        kind: The program, or the form: one of `KINDS`.
        text: What stands in the file.
        now: The time, for what has no date of its own.
        room: How many memories there is room for within the user's quota.
        about: Fields of all memories: `project`, `expires_at`.

    Raises:
        ExportError: The file is not of this kind. Nothing was taken in.
        InputError: It holds more than there is room for. Nothing was taken in.
        NoUserError, StorageError: As `RecordStore.store`.
    """
    owner, left_out = user_hash(user), list[LeftOut]()
    new: dict[str, list[RecordEvent]] = {}
    count = 0
    for number, one in enumerate(read_foreign(kind, text)):
        if isinstance(one, NotUnderstood):
            left_out.append({"place": one.place, "why": one.why})
            continue
        try:
            made = _events(owner, one, kind, now, about)
        except InputError as error:
            left_out.append({"place": one.id or f"memory {number}", "why": str(error)})
            continue
        if made:
            count += 1
            new.setdefault(made[0]["id"], made)
    known = {id for id in new if records.get(user, id) is not None}
    if len(new) - len(known) > room:  # the quota would take the place of what is here, which is used less
        raise InputError(
            f"The file holds {len(new) - len(known):,} memories that are new, and there is room for {room:,}. Raise "
            "MEMORY_BANK_MEMORY_QUOTA, or take in a part of it."
        )
    stored, _ = records.import_events(user, [event for id, made in new.items() if id not in known for event in made])
    is_embedded = len(stored) <= MOST_EMBEDDED
    if is_embedded:
        records.backfill_vectors(user)
    records.flush(KEEP_SECONDS)
    told: Sequence[LeftOut] = left_out[:MOST_TOLD]
    return {
        "stored": stored,
        "known": count - len(stored),
        "left_out": told,
        "left_out_count": len(left_out),
        "is_embedded": is_embedded,
    }


def _events(owner: str, one: ForeignMemory, kind: str, now: datetime, about: dict[str, Any]) -> list[RecordEvent]:
    """The events of a memory: that it came when it came, and was used now, so that it is not pruned as long unused."""
    at = min(one.at or now, now)
    draft = _turn(one, at, about) if one.role else _memory(one, kind, about)
    if draft is None:
        return []
    fields = {name: value for name, value in checked_fields(draft).items() if name != "project_name"}
    id = record_id(owner, draft.get("project", ""), fields["type"], fields["text"])
    return [events.create(id, stamp(at), fields), events.use(id, stamp(now), WRITER, 1)]


def _memory(one: ForeignMemory, kind: str, about: dict[str, Any]) -> NewMemory:
    check_length(one.text)  # before anything reads it
    text = without_numbers(without_credentials(clean(one.text)))
    noted = {"imported_from": kind, **({"imported_id": one.id[:200]} if one.id else {})}
    return cast(NewMemory, {"text": text, "type": "semantic", "trust": TRUST["user"], "metadata": noted, **about})


def _turn(one: ForeignMemory, at: datetime, about: dict[str, Any]) -> NewMemory | None:
    turn = Turn(
        "t" + digest(one.id)[:12],
        cast(Any, one.role),
        truncated(clean(one.text)),
        "",
        written(at.astimezone(UTC).date()),
    )
    said = stored_turn(turn, None, at)
    draft = verbatim_draft(said, clean(one.conversation)[:1_000], about.get("project", "")) if said else None
    return None if draft is None else cast(NewMemory, {**draft, **about})
