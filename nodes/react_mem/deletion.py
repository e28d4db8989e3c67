"""Erases what agents remember: of a user, of a project, or of one conversation."""

from collections.abc import Sequence

from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import MAX_LIMIT, conversation_of, project_of


def delete_memories(
    records: RecordStore, user: str, project: str | None = None, conversation: str | None = None
) -> int:
    """Erase facts, episodes, summaries and results; how many memories they were.

    Of one conversation only what has no other source goes: a fact that was also said elsewhere stays.

    Args:
        records: Store of the memories.
        user: Id of the user whose memories are meant.
        project: Which project; an empty text means memories without one, None all.
        conversation: Which conversation; None for all.

    Raises:
        NoUserError: Nobody is named.
        StorageError: The store failed; called once more, it goes on.
    """
    if conversation is None:
        return len(records.delete_all(user, project))
    records.agents.delete(user, project, conversation)
    _forget_state(records, user, project, conversation)
    gone = [one["id"] for one in _all(records, user, project) if _is_of(one, conversation)]
    return len(records.delete(user, gone, quoting=False)) if gone else 0


def _forget_state(records: RecordStore, user: str, project: str | None, conversation: str) -> None:
    states = records.conversations
    with states.editing(user):
        for state in states.list_all(user):
            if conversation_of(state) == conversation and project in (None, project_of(state)):
                states.put(user, {**state, "pending": [], "recent": [], "drawn": [], "digest": {}})


def _all(records: RecordStore, user: str, project: str | None) -> Sequence[Record]:
    found: list[Record] = []
    cursor = None
    while True:
        page = records.list(user, project=project, limit=MAX_LIMIT, cursor=cursor, replaced=True)
        found += page.records
        cursor = page.cursor
        if cursor is None:
            return found


def _is_of(record: Record, conversation: str) -> bool:
    return {source["conversation"] for source in record["sources"]} == {conversation}
