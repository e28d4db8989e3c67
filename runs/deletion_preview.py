"""What a deletion would delete, shown before it is done."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.deletion import Deletion, Redaction

if TYPE_CHECKING:
    pass


class DeletionPreview(NamedTuple):
    """Shows what a deletion would delete; hand `ids` to `Memories.delete` to do just that."""

    matched: Sequence[Record]
    """Memories that were named or described."""
    derived: Sequence[Record]
    """Memories that go with them: consolidations and insights derived from them, and what they were merged from."""
    redacted: Sequence[Redaction]
    """Memories that lose a part: `removed` is the text that goes, `remaining` what stays."""
    ids: Sequence[str]
    """Ids of all of it, those of parts included, to be handed to `Memories.delete`."""


def several(ids: object) -> Collection[str]:
    """Check a collection of ids; a single text would be taken for its letters, and nothing would be deleted.

    Raises:
        InputError: It is a text, or no collection.
    """
    if isinstance(ids, str) or not isinstance(ids, Collection):
        raise InputError(f"The ids of memories come in a list, such as [{ids!r}].")
    return cast("Collection[str]", ids)


def preview_of(reached: Deletion, ids: Collection[str]) -> DeletionPreview:
    """Make the preview of a planned deletion; a turn of which nothing remains counts as deleted whole."""
    named = {id.partition(":")[0] for id in ids}
    whole = [*reached.deleted, *(cut.record for cut in reached.redacted if not cut.remaining)]
    found = [record for record in whole if record["id"] in named]
    drawn = [record for record in whole if record["id"] not in named]
    return DeletionPreview(found, drawn, [cut for cut in reached.redacted if cut.remaining], reached.ids)
