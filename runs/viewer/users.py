"""The snapshot of a user: memories with their validity, history and source turns, and what a message recalls."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentic_memory_bank.runs.viewer.snapshot import ShownRecall, ShownRecord, ShownText, UserSnapshot
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.validation import MAX_LIMIT
from agentic_memory_bank.tools.text.attribution import unattributed

if TYPE_CHECKING:
    from agentic_memory_bank.runs.memories import Memories


def user_snapshot(memories: "Memories", user: str, question: str | None = None) -> UserSnapshot:
    """Take the snapshot of a user.

    Args:
        memories: The memories of all users.
        user: Whose memories are shown.
        question: A message: the snapshot says which memories it recalls.

    Raises:
        NoUserError, StorageError: As `Memories.list`.
    """
    records = list(all_records(memories, user))
    return {
        "kind": "user",
        "name": user,
        "mode": memories.mode(user=user),
        "records": [shown_record(record) for record in records if record["type"] != "verbatim"],
        "texts": _turns(records),
        "recall": None if question is None else shown_recall(memories, user, question),
    }


def all_records(memories: "Memories", user: str) -> Iterator[Record]:
    """List all memories of a user, of all projects, replaced ones too, the newest first."""
    cursor: str | None = None
    while True:
        page = memories.list(user=user, project=None, limit=MAX_LIMIT, cursor=cursor, replaced=True)
        yield from page.records
        if (cursor := page.cursor) is None:
            return


def shown_record(record: Record) -> ShownRecord:
    """What the viewer shows of a memory."""
    return {
        "id": record["id"],
        "type": record["type"],
        "text": record["text"],
        "subject": record["subject"],
        "attribute": record["attribute"],
        "project": record["project"],
        "sources": list(record["sources"]),
        "trust": record["trust"],
        "importance": record["importance"],
        "at": record["created_at"],
        "updated": record["updated_at"],
        "until": record["replaced_at"] or (None if record["pinned_at"] else record["expires_at"]),
        "pinned": record["pinned_at"],
        "used": record["access_count"],
        "history": list(record["history"]),
        "replaces": record["replaces"],
        "replaced_by": record["replaced_by"],
        "replaced_how": record["replaced_how"],
        "evidence": record["evidence"],
        "contradicts": record["contradicts"],
    }


def _turns(records: list[Record]) -> dict[str, ShownText]:
    """The turns that are kept word for word, by conversation and turn: what other memories quote."""
    turns: dict[str, ShownText] = {}
    for record in records:
        if record["type"] != "verbatim":
            continue
        speaker, _, _ = unattributed(record["text"])
        for source in record["sources"]:
            for turn in source["turns"]:
                turns[f"{source['conversation']}/{turn}"] = {
                    "source": source["conversation"],
                    "title": speaker,
                    "kind": "turn",
                    "at": record["created_at"],
                    "page": None,
                    "text": "\n".join(source["quotes"]) or record["text"],
                    "abstract": "",
                }
    return turns


def shown_recall(memories: "Memories", user: str, question: str) -> ShownRecall:
    """Recall for a message, and say what was found and held back, with cosine and score."""
    found = memories.recall(question, user=user)
    receipt = found["receipt"]
    shown: list[dict[str, Any]] = [
        {"id": one["id"], "cosine": one["cosine"], "score": one["score"], "shared": one["shared"]}
        for one in found["memories"]
    ]
    recalled = {one["id"] for one in shown}
    held_back = [{"id": id, "cosine": cosine} for id, cosine in receipt["cosines"].items() if id not in recalled]
    return {
        "question": question,
        "outcome": receipt["outcome"],
        "reason": receipt["reason"],
        "shown": shown,
        "held_back": sorted(held_back, key=lambda one: -one["cosine"]),
    }
