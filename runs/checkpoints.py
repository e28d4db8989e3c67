"""The checkpointer runs use: SQLite on disk, compressed and checked, decoding nothing but plain data."""

import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id
from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from agentic_memory_bank.state.errors import StorageDamagedError, StorageError
from agentic_memory_bank.tools.storage.database import DatabaseFile
from agentic_memory_bank.tools.storage.database_form import DatabaseForm, seal_over
from agentic_memory_bank.tools.storage.disk import CLEAR_THE_THREAD

_WORTH_PACKING = 512
"""Size in bytes from which a value is compressed; shorter ones only get a checksum."""
_MOST = 1 << 30
"""Largest size in bytes that a value may unpack to: SQLite stores none that is larger."""
_PLACE = "thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL"
_CHECKPOINT = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
_WRITE = "thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value"
_FORM = DatabaseForm(
    name="database of saved steps",
    application=0x414D4243,  # "AMBC"
    version=1,
    remedy=CLEAR_THE_THREAD,
    schema=(
        f"CREATE TABLE checkpoints ({_PLACE}, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB, "
        f"{seal_over(_CHECKPOINT)}, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))",
        f"CREATE TABLE writes ({_PLACE}, task_id TEXT NOT NULL, task_path TEXT NOT NULL DEFAULT '', "
        f"idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB, {seal_over(_WRITE)}, "
        "PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx))",
    ),
    older=frozenset({(0, 0)}),
    scanned={"checkpoints": _CHECKPOINT, "writes": _WRITE},
    is_new_when_empty=True,
)
"""The tables of LangGraph's `SqliteSaver`, which finds them made, with a seal on each row: on the columns that its
serializer never sees as well."""


class PackedSerializer(JsonPlusSerializer):
    """Serializes by LangGraph's msgpack, compressed, with a checksum: a changed byte is an error, never other data.

    State is plain data, so no type is ever imported or called when a checkpoint is read (CVE-2026-28277); a value
    that asks for one was not written by this package.
    """

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, allowed_msgpack_modules=[])

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Encode a value.

        Raises:
            StorageError: The value is too large, or of a type that cannot be stored.
        """
        try:
            kind, data = super().dumps_typed(obj)
        except (TypeError, ValueError, RecursionError) as error:
            raise StorageError(
                f"A value cannot be stored ({error}). Hand over plain data: text, numbers, lists."
            ) from error
        if len(data) >= _WORTH_PACKING:
            return f"{kind}+zlib", zlib.compress(data, 1)
        return f"{kind}+crc32", data + zlib.crc32(data).to_bytes(4, "big")

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Decode a value.

        Raises:
            StorageDamagedError: The bytes are not what was written.
        """
        kind, _, packing = str(data[0]).partition("+")
        try:
            unpacked = _unpacked(packing, data[1])
            with _no_foreign_types():
                return super().loads_typed((kind, unpacked))
        except (ValueError, TypeError, KeyError, IndexError, NotImplementedError, RecursionError, zlib.error) as error:
            raise _damaged(error) from error


def _damaged(fault: Exception) -> StorageDamagedError:
    return StorageDamagedError(
        f"A saved step is damaged ({fault}). Clear the thread and start again, or import an export."
    )


def _unpacked(packing: str, data: bytes) -> bytes:
    if packing == "crc32" and zlib.crc32(data[:-4]).to_bytes(4, "big") == data[-4:]:
        return data[:-4]
    if packing != "zlib":
        raise ValueError("its checksum does not match")
    stream = zlib.decompressobj()
    unpacked = stream.decompress(data, _MOST)
    if not stream.eof or stream.unused_data:
        raise ValueError("it is cut short or too long")
    return unpacked


_refused = threading.local()


def _note(event: SerdeEvent) -> None:
    _refused.name = f"{event['module']}.{event['name']}"


@contextmanager
def _no_foreign_types() -> Iterator[None]:
    """Refuse types that LangGraph would turn into plain data: here they are a sign of a forged value."""
    _refused.name = None
    yield
    if _refused.name:
        raise ValueError(f"it asks for the type {_refused.name}, which is never stored")


register_serde_event_listener(_note)


class LatestSaver(SqliteSaver):
    """Saves checkpoints, and takes the one that was written last for the latest.

    LangGraph's own takes the one with the largest id, and ids come from the clock of the machine: after it was set
    back, everything a new process saves would be passed over.
    """

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint: the one that is named, or the latest.

        Raises:
            StorageDamagedError: The checkpoint is not what was written.
        """
        configurable = config.get("configurable", {})
        if not get_checkpoint_id(config):
            with self.cursor(transaction=False) as cursor:
                place = str(configurable["thread_id"]), configurable.get("checkpoint_ns", "")
                latest = cursor.execute(
                    "SELECT checkpoint_id FROM checkpoints NOT INDEXED WHERE thread_id = ? AND checkpoint_ns = ?"
                    " ORDER BY rowid DESC LIMIT 1",
                    place,
                ).fetchone()
            if latest is None:
                return None
            config = {"configurable": {**configurable, "checkpoint_id": latest[0]}}
        try:
            return super().get_tuple(config)
        except (TypeError, ValueError) as error:  # its metadata, which no serializer of ours reads
            raise _damaged(error) from error


@contextmanager
def open_saver(path: Path) -> Iterator[SqliteSaver]:
    """Open the checkpoints of a thread.

    Raises:
        StorageError: The database cannot be opened, or is damaged.
    """
    with closing(DatabaseFile(path, _FORM)) as file, file.using() as connection:
        connection.isolation_level = "DEFERRED"  # the saver ends its transactions by itself
        for pragma in ("synchronous=NORMAL", "wal_autocheckpoint=1000"):
            connection.execute(f"PRAGMA {pragma}").fetchone()
        saver = LatestSaver(connection, serde=PackedSerializer())
        saver.setup()
        yield saver
