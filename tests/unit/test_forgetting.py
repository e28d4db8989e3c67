"""After a user is forgotten, no byte of what they said is left: not in any store, copy, queue, checkpoint or log."""

import logging
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.sqlite import SqliteStore

from agentic_memory_bank import Memories
from agentic_memory_bank.graph.conversation import build_conversation
from agentic_memory_bank.tools.concurrency.circuit_breaker import circuit_breaker_of
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories import index_keeper
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.memories.validation import user_hash
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

CANARY = "Zanzibarquux"
THREAD = f"about {CANARY}"
PROJECT = f"project {CANARY}"


class Place(NamedTuple):
    """Where memories are kept, and all that is kept there, decoded."""

    store: BaseStore
    everything: Callable[[], bytes]


@pytest.fixture(autouse=True)
def _indexes_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes are kept in files from the first memories on."""
    monkeypatch.setattr(index_keeper, "FEWEST", 2)


@pytest.fixture(params=["sqlite", "sqlite of langgraph", "postgres", "milvus lite"])
def place(request: pytest.FixtureRequest, home: Path, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as opened:
        if request.param == "sqlite":
            store = SqliteRecordStore(home / "memories.sqlite")
            opened.callback(store.close)
            yield Place(store, lambda: of_files(home))
        elif request.param == "sqlite of langgraph":
            connection = sqlite3.connect(tmp_path / "s", isolation_level=None, check_same_thread=False)
            opened.callback(connection.close)
            yield Place(
                SqliteStore(connection),
                lambda: of_tables(connection, "SELECT name FROM sqlite_master WHERE type = 'table'") + of_files(home),
            )
        elif request.param == "postgres":
            connect = opened.enter_context(request.getfixturevalue("on_postgres")())
            store: Any = connect()
            other: Any = connect()  # the store's own connection may be in use, as uses are written behind its calls
            named = "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'"
            yield Place(store, lambda: of_tables(other.conn, named) + of_files(home))
        else:
            folder = tmp_path / "bank" / "milvus"
            connect = opened.enter_context(request.getfixturevalue("on_milvus_lite")(folder))
            yield Place(connect(), lambda: of_files(folder) + of_files(home))


def of_files(folder: Path) -> bytes:
    return b"".join(file.read_bytes() + decoded(file) for file in sorted(folder.rglob("*")) if file.is_file())


def decoded(file: Path) -> bytes:
    """What Milvus writes as Arrow and Parquet, which may be compressed."""
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        return repr(pq.read_table(file).to_pylist()).encode()
    if file.suffix == ".arrow" and file.stat().st_size:
        import pyarrow as pa

        with pa.OSFile(str(file)) as source:
            return repr([batch.to_pylist() for batch in pa.ipc.open_stream(source)]).encode()
    return b""


def of_tables(connection: Any, named: str) -> bytes:
    """Every row of every table."""
    rows = [list(row.values()) if isinstance(row, dict) else list(row) for row in connection.execute(named).fetchall()]
    return b"".join(repr(connection.execute(f'SELECT * FROM "{name}"').fetchall()).encode() for (name,) in rows)


def fill(memories: Memories, store: BaseStore, saver: InMemorySaver) -> None:
    """The word stands in all that is kept of a user: see `KEPT`."""
    said = f"My friend {CANARY} lives in Rome. We met {CANARY} in May."
    memories.remember(said, user="ana", conversation_id="a", end=True)
    memories.remember(f"I visited {CANARY} in Oslo.", user="ana", conversation_id=THREAD, project=PROJECT)
    old = memories.store(f"{CANARY} has a dog.", user="ana")
    memories.update(old["id"], f"{CANARY} has a cat.", user="ana")
    memories.supersede(old["id"], f"{CANARY} has a horse.", user="ana")
    for amount in ("is $10,000", "is now $12,000", "is now $15,000"):
        memories.store(f"My budget for {CANARY} {amount}.", user="ana")
    memories.consolidate(user="ana")
    for day in (3, 10, 17):
        memories.store(f"I ran with {CANARY} on {day} March 2026.", user="ana")
    memories.reflect(user="ana")
    memories.recall(f"What do I know of {CANARY}?", user="ana")
    picture = {"type": "image", "base64": "UklG", "mime_type": "image/webp", "filename": f"{CANARY}.webp"}
    parts = [{"type": "text", "text": f"This is {CANARY} in Bergen."}, picture]
    stores, queue = RecordStores(store, Encoder(HashEmbeddings())), WorkerPool(10)
    chat = build_conversation(stores=stores, embeddings=HashEmbeddings(), background=queue, checkpointer=saver)
    for turn in range(8):
        content: Any = parts if turn == 0 else f"On day {turn} we went to see {CANARY} again."
        chat.invoke(
            {"messages": [{"role": "user", "content": content}], "conversation_id": THREAD},  # type: ignore[typeddict-item]
            {"configurable": {"thread_id": THREAD}},
            context={"user": "ana", "remember_every": 4},  # type: ignore[arg-type]
        )
    queue.close(30)
    circuit_breaker_of(stores).flush(30)


KEPT = ("create", "revise", "replace", "consolidate", "supersede", "reflective", "pending", "digest")
"""What the events and states are called in which the word stands before it is forgotten."""


def test_no_byte_of_a_forgotten_user_is_left_anywhere(
    place: Place, home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    saver, begun, go = InMemorySaver(), threading.Event(), threading.Event()
    with Memories(place.store, embeddings=HashEmbeddings(), checkpointer=saver) as memories:
        fill(memories, place.store, saver)
        memories.store("Rex is my dog.", user="ben")
        before = place.everything()
        assert [word for word in (*KEPT, CANARY) if word.encode() not in before] == []
        assert CANARY in repr(saver.storage) + repr(saver.blobs)
        remember = memories._remembered  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(memories, "_remembered", lambda *given: (begun.set(), go.wait(30), remember(*given))[-1])
        for number in range(2):  # one is being remembered, one waits
            memories.remember_later(f"{CANARY} {number} is late.", user="ana", conversation_id=f"l{number}", end=True)
        assert begun.wait(30)

        memories.delete_all(user="ana")
        go.set()
        assert memories.flush(60)

        for left in (place.everything(), of_files(home), caplog.text.encode()):
            assert CANARY.encode() not in left
            assert CANARY.lower().encode() not in left
        assert CANARY not in repr(saver.storage) + repr(saver.blobs) + repr(saver.writes)
        assert held_by_the_index(memories) == []
        assert memories.search(CANARY, user="ana", project=None, threshold=None) == []
        assert memories.recall(f"Who is {CANARY}?", user="ana", project=PROJECT)["memories"] == []
    assert b"Rex" in place.everything()
    assert CANARY.encode() not in place.everything() + of_files(home)


def held_by_the_index(memories: Memories) -> list[str]:
    known = memories._records._users.peek(user_hash("ana"))  # pyright: ignore[reportPrivateUsage]
    assert known is not None
    return list(known.index.records)


@pytest.mark.parametrize("seed", [9, 32])
def test_no_copy_that_moving_rows_left_in_a_page_outlives_what_is_deleted(tmp_path: Path, seed: int) -> None:
    store, chance = SqliteRecordStore(tmp_path / "kept" / "memories.sqlite"), random.Random(seed)
    there, gone = dict[str, str](), list[str]()
    for number in range(400):
        fate, key = chance.random(), chance.choice(sorted(there)) if there else ""
        if fate < 0.2 and key:
            gone.append(there.pop(key))
            store.delete(("ann",), key)
        else:
            key = key if fate < 0.5 and key else str(number)
            there[key] = f"Secret {number:05d} "
            store.put(("ann",), key, {"text": there[key] * chance.randrange(5, 60)})
    store.close()

    kept = store.path.read_bytes()

    assert [secret for secret in gone if secret.encode() in kept] == []
