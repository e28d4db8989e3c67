"""What a deletion would delete, shown before it is done."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.deletion import Deletion, Redaction

if TYPE_CHECKING:
    pass


class DeletionPreview(NamedTuple):
    """What forgetting would erase: shown first, and erased by its `ids`."""

    matched: Sequence[Record]
    """The memories that are meant."""
    derived: Sequence[Record]
    """Those that go with them: consolidations and insights drawn from them, and what they were consolidated from."""
    redacted: Sequence[Redaction]
    """Memories that lose a part: what goes is `gone`, what stays `left`."""
    ids: Sequence[str]
    """All of it, to be handed to `forget`; of a part it says which."""


def several(ids: object) -> Collection[str]:
    """The ids; one alone, not in a list, would be taken for its letters, and nothing be erased.

    Raises:
        InputError: They are no collection.
    """
    if isinstance(ids, str) or not isinstance(ids, Collection):
        raise InputError(f"The ids of memories come in a list, such as [{ids!r}].")
    return cast("Collection[str]", ids)


def preview_of(reached: Deletion, ids: Collection[str]) -> DeletionPreview:
    """What is reached, told apart by whether it was named; a turn of which nothing is left is as good as erased."""
    named = {id.partition(":")[0] for id in ids}
    whole = [*reached.deleted, *(cut.record for cut in reached.redacted if not cut.remaining)]
    found = [record for record in whole if record["id"] in named]
    drawn = [record for record in whole if record["id"] not in named]
    return DeletionPreview(found, drawn, [cut for cut in reached.redacted if cut.remaining], reached.ids)
