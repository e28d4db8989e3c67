"""Gives what is known of a user who asks for all of it: what was told last comes first.

Short: the graph of recall and agents with memory share it.
"""

from collections.abc import Collection
from typing import Final

from agentic_memory_bank.engines.extractive.conversation import only_asks
from agentic_memory_bank.nodes.deps import Owner
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.text.attribution import USER, unattributed

MOST_OF_ALL: Final = 20
"""How many memories are shown where nobody says how many."""
MANY: Final = 4
"""Times the limit that are looked through: turns whose facts were drawn may stand before them."""


def all_that_is_known(records: RecordStore, owner: Owner, types: Collection[str] | None, limit: int) -> list[Record]:
    """The latest of what a user has told, no more than the limit; turns only where nothing was drawn from them yet.

    Args:
        records: The memories of all users.
        owner: Whose are meant.
        types: Types of memories; None for all.
        limit: The most that are returned.

    Raises:
        StorageError: The store failed.
    """
    found = records.list(owner.user, project=owner.project, types=types, limit=MANY * limit).records
    drawn = [one for one in found if one["type"] != "verbatim"]
    return (drawn or [one for one in found if _tells(one)])[:limit]


def _tells(turn: Record) -> bool:
    speaker, _, words = unattributed(turn["text"])
    return speaker == USER and not only_asks(words)
