"""The checkpointer runs use: SQLite on disk, decoding nothing but plain data."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from agentic_memory_bank.runs.database import connect


def serializer() -> JsonPlusSerializer:
    """State is plain data, so no type is ever imported or called when a checkpoint is read (CVE-2026-28277)."""
    return JsonPlusSerializer(pickle_fallback=False, allowed_msgpack_modules=[])


@contextmanager
def open_saver(path: Path) -> Iterator[SqliteSaver]:
    """Open the checkpoints of a thread.

    Raises:
        StorageError: The database cannot be opened, or is damaged.
    """
    with closing(connect(path)) as connection:
        saver = SqliteSaver(connection, serde=serializer())
        saver.setup()
        yield saver
