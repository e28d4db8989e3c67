"""Memories on Milvus: in a folder of one process, or on a server, with nothing left of what was forgotten."""

import base64
import errno
import json
import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.state.errors import (
    InputError,
    SettingsError,
    StorageDamagedError,
    StorageError,
    StorageFullError,
    StoreBusyError,
)
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import user_hash
from agentic_memory_bank.tools.storage.milvus_lite import LiteFolder
from agentic_memory_bank.tools.storage.milvus_store import MilvusRecordStore
from agentic_memory_bank.tools.storage.sqlite_store import ROOT

milvus_lite = pytest.importorskip("milvus_lite", reason='pip install "agentic-memory-bank[milvus]"')
CANARY = "canary-4821-Zanzibar"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Milvus Lite behind the protocol of a Milvus server, on a Unix socket."""
    pytest.importorskip("pymilvus", reason='pip install "agentic-memory-bank[milvus]"')
    from milvus_lite.adapter.grpc.server import start_server_in_thread

    with TemporaryDirectory(prefix="mv") as folder:
        serving, database, port = start_server_in_thread(f"{folder}/data", host=f"unix:{folder}/s")
        assert port == 1, "gRPC has no ports on Unix sockets"
        yield f"unix:{folder}/s:0"
        serving.stop(0).wait()
        database.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "bank" / "milvus"


@pytest.fixture
def lite(folder: Path) -> Iterator[MilvusRecordStore]:
    store = MilvusRecordStore(folder, dense=True)
    yield store
    store.close()


@pytest.fixture(params=["lite", "server"])
def store(request: pytest.FixtureRequest) -> Iterator[MilvusRecordStore]:
    if request.param == "lite":
        yield request.getfixturevalue("lite")
    else:
        name = f"t{abs(hash(request.node.name))}"
        served = MilvusRecordStore(request.getfixturevalue("server"), dense=True, collection=name)
        yield served
        served.close()


def values(store: MilvusRecordStore, *prefix: str) -> list[Any]:
    return sorted((item.key, item.value) for item in store.search(prefix, limit=1_000))


# --- as every store ----------------------------------------------------------------------------------------------


def test_the_store_answers_as_langgraphs_own(store: MilvusRecordStore) -> None:
    own = InMemoryStore()
    for asked in (store, own):
        asked.batch(
            [
                PutOp(("a",), "1", {"n": 1, "t": "x"}),
                PutOp(("a", "b"), "2", {"n": 2}),
                PutOp(("ab",), "3", {"n": 3, "t": "x"}),
                PutOp(("A",), "4", {"n": 4, "t": None}),
                PutOp(("a", "b", "c", "d"), "5", {"n": 5, "t": ["x"]}),
                PutOp(("a",), "gone", {}),
            ]
        )
        asked.put(("a",), "1", {"n": 10, "t": "x"})
        asked.delete(("a",), "gone")
        asked.delete(("a",), "never there")
    for prefix in [(), ("a",), ("a", "b"), ("a", "b", "c"), ("ab",), ("A",), ("x",)]:
        for chosen in [None, {"t": "x"}, {"n": {"$gt": 2}}, {"t": {"$ne": "x"}}]:
            search = SearchOp(prefix, filter=chosen, limit=50)
            ours, theirs = (
                sorted((i.namespace, i.key, json.dumps(i.value)) for i in asked.batch([search])[0])
                for asked in (store, own)
            )
            assert ours == theirs, search
    for condition in [(), (MatchCondition("prefix", ("a",)),), (MatchCondition("suffix", ("d",)),)]:
        op = ListNamespacesOp(condition, max_depth=2, limit=10)
        assert sorted(store.batch([op])[0]) == sorted(own.batch([op])[0])
    item, nothing, more = store.batch([GetOp(("a",), "1"), GetOp(("a",), "2"), SearchOp(("a",), limit=2, offset=1)])
    assert (item.value, nothing, len(more)) == ({"n": 10, "t": "x"}, None, 2)
    assert item.created_at < item.updated_at
    with pytest.raises(InputError, match=r"\$in"):
        store.search(("a",), filter={"n": {"$in": [1]}})


@pytest.mark.parametrize(
    "odd", ['"\' or id != "" or \'', "\\", "%_*", "用户", "\ud800", "\0", "a]", "", "{x}", "é" * 500]
)
def test_names_are_never_read_as_part_of_a_filter(store: MilvusRecordStore, odd: str) -> None:
    label = odd.strip("\0") or "-"  # LangGraph itself refuses the others
    store.batch([PutOp(("u", label), odd, {"own": odd}), PutOp(("u", "other"), "k", {"own": "other"})])

    found = store.get(("u", label), odd)
    assert found is not None
    assert (found.key, found.value) == (odd, {"own": odd})
    assert values(store, "u", label) == [(odd, {"own": odd})]
    assert values(store, "u", "other") == [("k", {"own": "other"})]
    assert store.get(("u", "other"), odd) is None
    assert sorted(store.list_namespaces(prefix=("u",))) == sorted([("u", label), ("u", "other")])


def test_long_values_are_kept_in_parts_that_follow_them(store: MilvusRecordStore) -> None:
    for text in ("猫" * 30_000, "b" * 200_000, "c" * 65_524, "short"):
        store.put(("a", "b"), "k", {"x": text})

        assert values(store, "a", "b") == [("k", {"x": text})]
        found = store.get(("a", "b"), "k")
        assert found is not None
        assert found.value == {"x": text}
    store.put(("a", "b"), "k", {"x": "d" * 70_000})
    store.delete(("a", "b"), "k")
    assert values(store) == []


def test_a_value_of_which_a_part_is_not_there_yet_is_not_there(lite: MilvusRecordStore) -> None:
    lite.put(("a", "b"), "k", {"x": "d" * 70_000})
    tables: Any = lite._tables()
    with tables._working() as database:
        (collection,) = (database.get_collection(name) for name in database.list_aliases())
        collection.delete([row["id"] for row in collection.query("part == 1", output_fields=["id"])])

    assert lite.get(("a", "b"), "k") is None
    assert values(lite, "a") == []


def test_what_cannot_be_kept_is_refused_before_anything_is_done(lite: MilvusRecordStore) -> None:
    lite.put(("a",), "k", {"x": 1})

    with pytest.raises(InputError, match="JSON"):
        lite.batch([PutOp(("a",), "k", None), PutOp(("a",), "new", {"x": {1}})])
    with pytest.raises(InputError, match="too long"):
        lite.put(("a",), "k" * 40_000, {})
    with pytest.raises(InputError, match="names no collection"):
        MilvusRecordStore("http://milvus", collection="a; drop")

    assert values(lite, "a") == [("k", {"x": 1})]


async def test_the_store_is_asked_from_async_code(store: MilvusRecordStore) -> None:
    await store.aput(("a", "b"), "k", {"x": "é\ud800"})

    found = await store.aget(("a", "b"), "k")
    assert found is not None
    assert found.value == {"x": "é\ud800"}
    await store.adelete(("a", "b"), "k")
    assert await store.asearch(("a",)) == []


# --- a folder ----------------------------------------------------------------------------------------------------


def test_looking_makes_no_folder_and_what_is_made_is_private(lite: MilvusRecordStore, folder: Path) -> None:
    assert lite.get(("a",), "k") is None
    assert lite.search(("a",)) == lite.list_namespaces() == lite.candidates("o", [1.0], 3, model="m") == []
    assert not folder.parent.exists()

    lite.put(("a",), "k", {"x": 1})

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    lite.close()
    assert values(lite, "a") == [("k", {"x": 1})], "what was closed opens again"


def child(code: str, *arguments: object, **options: Any) -> Any:
    begin = "import sys\nfrom agentic_memory_bank.tools.storage.milvus_store import MilvusRecordStore\n"
    command = [sys.executable, "-c", begin + code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_a_second_process_is_told_who_has_the_folder(lite: MilvusRecordStore, folder: Path) -> None:
    lite.put(("a",), "k", {"x": 1})
    with child("print(MilvusRecordStore(sys.argv[1]).get(('a',), 'k').value)", folder) as look:
        _, said = look.communicate()

    assert look.returncode == 1
    assert "StoreBusyError" in said
    assert f"another process ({os.getpid()})" in said
    lite.close()
    milvus_lite.MilvusLite(str(folder)).close()  # it is free


def test_a_forked_process_is_another_one(lite: MilvusRecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    lite.put(("a",), "k", {"x": 1})
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1)
        with pytest.raises(StoreBusyError):
            lite.get(("a",), "k")

    assert values(lite, "a") == [("k", {"x": 1})]


def test_what_was_written_is_there_after_the_process_was_killed(lite: MilvusRecordStore, folder: Path) -> None:
    code = (
        "store = MilvusRecordStore(sys.argv[1])\n"
        "for n in range(100_000):\n"
        "    store.put(('a', 'b'), str(n % 50), {'n': n})\n"
        "    print(n, flush=True)"
    )
    last = 0
    with child(code, folder) as writer:
        for line in writer.stdout:
            last = int(line)
            if last == 120:
                os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()

    found = {item.key: item.value["n"] for item in lite.search(("a", "b"), limit=1_000)}
    assert len(found) == 50
    assert max(found.values()) in (last, last + 1)
    assert all(n % 50 == int(key) and n > last - 50 for key, n in found.items())


def test_stores_of_one_process_share_a_folder_until_the_last_is_closed(lite: MilvusRecordStore, folder: Path) -> None:
    other = MilvusRecordStore(f"{folder.parent}/../{folder.parent.name}/{folder.name}")
    lite.put(("a",), "k", {"x": 1})
    assert values(other, "a") == [("k", {"x": 1})]

    lite.close()
    other.put(("a",), "k", {"x": 2})

    assert values(lite, "a") == [("k", {"x": 2})]
    other.close()


def test_a_full_disk_is_said_and_what_was_stored_before_is_there(
    lite: MilvusRecordStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lite.put(("a",), "k", {"x": 1})

    def full(log: Any, _: Any) -> None:
        log._data_sink.write(b"half of what was to be written")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("milvus_lite.storage.wal.WAL.write_insert", full)
        with pytest.raises(StorageFullError):
            lite.put(("a",), "k", {"x": 2})

    assert values(lite, "a") == [("k", {"x": 1})]
    lite.put(("a",), "k", {"x": 3})
    survivor = MilvusRecordStore(shutil.copytree(folder, folder.with_name("as it is on the disk")))
    assert values(survivor, "a") == values(lite, "a") == [("k", {"x": 3})]
    survivor.close()


def test_a_folder_of_others_is_refused_and_left_as_it_is(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "letters.txt").write_text("dear")
    with pytest.raises(StorageDamagedError, match="no store of memories"):
        MilvusRecordStore(folder).put(("a",), "k", {})
    assert [file.name for file in folder.iterdir()] == ["letters.txt"]

    with pytest.raises(StorageDamagedError, match="is a file"):
        MilvusRecordStore(folder / "letters.txt").put(("a",), "k", {})
    assert (folder / "letters.txt").read_text() == "dear"


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [("memories.json", '{"version": 99}', "newer"), ("aliases.json", None, "lost"), ("memories.json", "{", "failed")],
)
def test_a_damaged_or_newer_folder_is_refused(
    lite: MilvusRecordStore, folder: Path, file: str, content: str | None, said: str
) -> None:
    lite.put(("a",), "k", {"x": CANARY})
    lite.close()
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_text(content)

    with pytest.raises(StorageError, match=said):
        lite.get(("a",), "k")
    assert traces(folder), "it is left as it is"


def test_packages_that_are_not_there_are_named(
    lite: MilvusRecordStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "milvus_lite", None)
    monkeypatch.setitem(sys.modules, "pymilvus", None)

    for store in (lite, MilvusRecordStore("http://127.0.0.1:1")):
        with pytest.raises(SettingsError, match=r"agentic-memory-bank\[milvus\]"):
            store.put(("a",), "k", {})
    assert not folder.exists()


# --- forgetting --------------------------------------------------------------------------------------------------


def traces(folder: Path, canary: str = CANARY) -> list[str]:
    """The files in which a text stands, as it is or as Arrow and Parquet encode it."""
    return [
        file.name
        for file in folder.rglob("*")
        if file.is_file() and canary.encode() in file.read_bytes() + decoded(file)
    ]


def decoded(file: Path) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.suffix == ".parquet":
        return repr(pq.read_table(file).to_pylist()).encode()
    if file.suffix == ".arrow" and file.stat().st_size:
        with pa.OSFile(str(file)) as source:
            return repr([batch.to_pylist() for batch in pa.ipc.open_stream(source)]).encode()
    return b""


@pytest.mark.parametrize("in_segments", [False, True])
def test_nothing_is_left_of_what_was_forgotten(lite: MilvusRecordStore, folder: Path, in_segments: bool) -> None:
    memories = RecordStore(lite, Encoder(HashEmbeddings(16)))
    other = memories.store("bob", "The door is green.").record["id"]
    kept = memories.store("ann", "The river is long.").record["id"]
    said = memories.store("ann", f"The PIN is {CANARY}.", project="p").record["id"]
    memories.update("ann", said, f"The PIN was {CANARY}, says {CANARY}.")
    memories.supersede("ann", said, f"The PIN is {CANARY} again.")
    if in_segments:
        lite.close()
    assert traces(folder)

    memories.delete_all("ann", "p")

    assert traces(folder) == []
    lite.close()
    assert traces(folder) == []
    again = RecordStore(lite, Encoder(HashEmbeddings(16)))
    assert [r["id"] for r in again.list("ann").records] == [kept]
    assert [r["id"] for r in again.list("bob").records] == [other]


def test_nothing_is_left_of_any_part_of_what_was_long(lite: MilvusRecordStore, folder: Path) -> None:
    lite.put(("a", "b"), "k", {"x": f"{CANARY}, " * 10_000})
    lite.put(("a", "b"), "other", {"x": "stays"})
    assert traces(folder)

    lite.delete(("a", "b"), "k")

    assert traces(folder) == []
    assert values(lite, "a") == [("other", {"x": "stays"})]


def test_what_is_emptied_where_it_stands_is_erased_too(lite: MilvusRecordStore, folder: Path) -> None:
    lite.put(("a", "b", "states"), "k", {"pending": [CANARY], "digest": ""})
    lite.put(("a", "b", "states"), "k", {"pending": [], "digest": f"{CANARY}, longer than it was"})

    lite.put(("a", "b", "states"), "k", {"pending": [], "digest": ""})

    assert traces(folder) == []
    lite.put(("a", "b", "states"), "k", {"x": CANARY})
    lite.put(("a", "b", "states"), "k", {"x": CANARY.swapcase() + "longer"})
    assert traces(folder)
    lite.erase(("a", "b", "states"))
    assert traces(folder) == []


def test_what_many_batches_delete_is_erased_once(
    lite: MilvusRecordStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = RecordStore(lite, Encoder(HashEmbeddings(16)))
    memories.store_many("ann", [{"text": f"{CANARY} {n}"} for n in range(1_100)])
    calls: list[Any] = []
    erase = LiteFolder.erase
    monkeypatch.setattr(LiteFolder, "erase", lambda *given: (calls.append(given), erase(*given)))

    assert len(memories.delete_all("ann")) == 1_100

    assert traces(folder) == []
    assert len(calls) <= 2


def test_forgetting_among_many_copies_only_those_beside_it(
    lite: MilvusRecordStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentic_memory_bank.tools.storage.milvus_lite._MOST", 10)
    space = ("a", "b", "events")
    lite.batch([PutOp(space, f"k{n}", {"n": n} if n != 4 else {"n": 4, "x": CANARY}) for n in range(35)])
    lite.batch([PutOp(space, f"k{n}", {"n": -n}) for n in (3, 33, 40, 41)])  # where they are, and where there is room
    copied: list[int] = []
    insert = milvus_lite.Collection.insert

    def counted(collection: Any, rows: list[Any]) -> None:
        copied.append(len(rows))
        insert(collection, rows)

    monkeypatch.setattr(milvus_lite.Collection, "insert", counted)
    lite.delete(space, "k4")

    assert traces(folder) == []
    assert copied == [9]
    wanted = {f"k{n}": n for n in range(35) if n != 4} | {f"k{n}": -n for n in (3, 33, 40, 41)}
    for _ in range(2):
        assert {key: value["n"] for key, value in values(lite, *space)} == wanted
        assert [item and item.value["n"] for item in lite.batch([GetOp(space, "k41"), GetOp(space, "k0")])] == [-41, 0]
        lite.close()  # and as another process finds it
    lite.batch([PutOp(space, key, None) for key in wanted])
    assert list(folder.glob("collections/*")) == []


class Killed(BaseException):
    """Ends an operation in the middle, as the end of its process would."""


@pytest.mark.parametrize("step", ["delete", "create_collection", "insert", "alter_alias", "drop_collection", "rmtree"])
def test_forgetting_that_was_cut_short_is_done_at_the_next_opening(
    lite: MilvusRecordStore, folder: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    for n in range(5):
        lite.put(("a", "b"), str(n), {"x": f"kept {n}"})
    lite.put(("a", "b"), "gone", {"x": CANARY})

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    owner: Any = {"delete": milvus_lite.Collection, "insert": milvus_lite.Collection, "rmtree": "shutil.rmtree"}
    with monkeypatch.context() as patch:
        if step == "rmtree":
            patch.setattr("milvus_lite.db.shutil.rmtree", killed)
        else:
            patch.setattr(owner.get(step, milvus_lite.MilvusLite), step, killed)
        with pytest.raises(Killed):
            lite.delete(("a", "b"), "gone")
    lite.close()

    again = MilvusRecordStore(folder)
    found = values(again, "a")
    again.close()
    assert [item for item in found if item[0] != "gone"] == [(str(n), {"x": f"kept {n}"}) for n in range(5)]
    if step == "delete":
        assert ("gone", {"x": CANARY}) in found, "it was not forgotten yet"
    else:
        assert len(found) == 5
        assert traces(folder) == []
    assert list(folder.glob("erasing/*")) == []


def test_forgetting_that_was_cut_short_between_collections_is_done_when_it_is_asked_for_again(
    lite: MilvusRecordStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentic_memory_bank.tools.storage.milvus_lite._MOST", 1)  # each part in one of its own
    lite.put(("a", "b"), "gone", {"x": "猫" * 30_000 + CANARY})
    delete, done = milvus_lite.Collection.delete, list[Any]()

    def killed(collection: Any, ids: Any) -> None:
        if done:
            raise Killed
        done.append(ids)
        delete(collection, ids)

    with monkeypatch.context() as patch:
        patch.setattr(milvus_lite.Collection, "delete", killed)
        with pytest.raises(Killed):
            lite.delete(("a", "b"), "gone")
    lite.close()

    lite.delete(("a", "b"), "gone")

    assert done
    assert traces(folder) == []
    assert list(folder.glob("collections/*")) == []


# --- a server ----------------------------------------------------------------------------------------------------


def test_memories_are_kept_and_forgotten_on_a_server(server: str) -> None:
    one, other = (
        RecordStore(MilvusRecordStore(server, collection="memories"), Encoder(HashEmbeddings(16))) for _ in range(2)
    )
    id = one.store("ann", "I live in Rome.").record["id"]
    assert [hit.record["id"] for hit in other.search("ann", "Rome")] == [id]

    other.supersede("ann", id, "I live in Oslo.")

    assert [r["text"] for r in one.list("ann").records] == ["I live in Oslo."]
    assert len(other.delete_all("ann")) == 2
    assert one.list("ann").records == one.list("bob").records == []


def test_a_server_that_will_not_erase_now_is_said_and_the_item_is_gone(
    server: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pymilvus import MilvusClient
    from pymilvus.exceptions import MilvusException

    def refused(*_: Any, **__: Any) -> None:
        raise MilvusException(message="rate limit")

    store = MilvusRecordStore(server, collection="refusing")
    store.put(("a",), "k", {"x": 1})
    monkeypatch.setattr(MilvusClient, "flush", refused)
    with caplog.at_level(logging.WARNING, "agentic_memory_bank"):
        store.delete(("a",), "k")

    assert values(store) == []
    assert "call `erase` later" in caplog.text
    with pytest.raises(StorageError, match="rate limit"):
        store.erase(("a",))
    monkeypatch.undo()
    store.erase(("a",))


@pytest.mark.enable_socket
def test_no_password_stands_in_what_a_store_says(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MILVUS_TOKEN", "root:topsecret")
    store = MilvusRecordStore("http://joe:hunter22@127.0.0.1:1/db", timeout=0.2)

    with caplog.at_level(logging.DEBUG), pytest.raises(StorageError) as failed:
        store.put(("a",), "k", {})
    monkeypatch.setattr("pymilvus.MilvusClient", lambda **given: int(str(given)))
    with pytest.raises(StorageError) as refused:
        store.put(("a",), "k", {})

    assert repr(store) == "MilvusRecordStore('http://127.0.0.1:1/db')"
    said = [repr(store), str(failed.value), str(refused.value), repr(failed.value.__cause__), caplog.text]
    assert "127.0.0.1:1" in said[1]
    assert "***" in said[2]
    assert not any(secret in text for text in said for secret in ("topsecret", "hunter22"))


# --- candidates --------------------------------------------------------------------------------------------------


def event(id: str, vector: Any, model: str = "m") -> dict[str, Any]:
    return {
        "op": "create",
        "id": id,
        "vector": base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode(),
        "model": model,
    }


def test_the_nearest_memories_of_a_user_are_candidates(store: MilvusRecordStore) -> None:
    chance = np.random.default_rng(0)
    vectors = chance.normal(size=(60, 8)).astype("<f4")
    mine, theirs = (ROOT, user_hash("ann"), "events"), (ROOT, user_hash("bob"), "events")
    store.batch([PutOp(mine, f"k{n}", event(f"m{n}", v)) for n, v in enumerate(vectors)])
    store.batch([PutOp(theirs, f"k{n}", event(f"t{n}", v)) for n, v in enumerate(vectors)])
    store.put(mine, "other dimension", event("longer", [1.0] * 9))
    store.put(mine, "no vector", {"op": "use", "id": "m1", "vector": "***", "model": "m"})
    query = chance.normal(size=8)
    store.put(mine, "other model", event("other", query, "another"))
    near = np.argsort(-(vectors @ query) / np.linalg.norm(vectors, axis=1))

    assert store.candidates(user_hash("ann"), query, 10, model="m") == [f"m{n}" for n in near[:10]]
    assert store.candidates(user_hash("carl"), query, 10, model="m") == []
    assert store.candidates(user_hash("ann"), [1.0] * 9, 10, model="m") == ["longer"]
    store.delete(mine, f"k{near[0]}")
    store.put(mine, "revised", event(f"m{near[2]}", vectors[near[1]]))
    expected = [f"m{n}" for n in near[1:11]]
    assert sorted(store.candidates(user_hash("ann"), query, 10, model="m")) == sorted(expected)
    with pytest.raises(InputError):
        store.candidates(user_hash("ann"), query, 0, model="m")


def test_candidates_of_memories_are_found_by_their_vectors_and_not_when_forgotten(lite: MilvusRecordStore) -> None:
    encoder = Encoder(HashEmbeddings(16))
    memories = RecordStore(lite, encoder)
    ids = {text: memories.store("ann", text).record["id"] for text in ("a red door", "a blue river", "one more thing")}

    def asked() -> list[str]:
        return lite.candidates(user_hash("ann"), encoder.vector("a red door"), 2, model=encoder.model)

    assert asked()[0] == ids["a red door"]

    memories.delete("ann", [ids["a red door"]])

    assert ids["a red door"] not in asked()
