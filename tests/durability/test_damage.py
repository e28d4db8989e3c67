"""What a disk does to files: no wrong answer, nothing lost in silence, and a full disk is no dead end."""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from agentic_memory_bank import runs
from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.state.errors import MemoryBankError, StorageDamagedError, StorageFullError
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.store import PageStore
from agentic_memory_bank.tools.storage.database_form import sealed
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

sys.path.insert(0, str(Path(__file__).parents[1] / "attack"))

from damaging import DAMAGES, KINDS, outcomes, page

QUESTION = "When was the lighthouse lit?"


# --- damage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_gives_the_right_answer_or_an_error(kind: str, damage: str, tmp_path: Path) -> None:
    found = list(outcomes(kind, damage, 6 if kind in ("ledger", "checkpoints") else 20, tmp_path))

    assert [outcome.done for outcome in found if not outcome.is_held] == []


def ask(home: Path, thread: str, **options: Any) -> Any:
    given = {"engine": ScriptedEngine(), "embeddings": HashEmbeddings(), "home": home, **options}
    return runs.run(QUESTION, documents=["The lighthouse was lit by gas in 1931."], thread=thread, **given)


def test_checkpoints_that_are_cut_in_the_middle_of_a_page_are_damaged(tmp_path: Path) -> None:
    ask(tmp_path, "t", keep=True)
    file = Home(tmp_path).checkpoints("t")
    os.truncate(file, file.stat().st_size - 4_004)

    with pytest.raises(StorageDamagedError, match=r"cut short|malformed|damaged"):
        ask(tmp_path, "t")


def test_a_run_whose_stream_has_no_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs.run_steps, "_advance", lambda *_: None)

    with pytest.raises(StorageDamagedError, match="has no end"):
        ask(tmp_path, "t")


def test_a_ledger_row_with_a_flipped_bit_is_an_error_and_erases_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for thread in ("kept", "other"):
        ask(tmp_path, thread, keep=True)
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as rows:  # as `keep` would be with its only bit flipped
        rows.create_function("sealed", -1, lambda *_: b"of another row", deterministic=True)
        rows.execute("UPDATE runs SET keep = 0 WHERE thread = 'kept'")
        rows.commit()

    assert runs.collect_garbage(home=tmp_path) == []
    assert "'kept' was erased" in caplog.text
    assert Home(tmp_path).checkpoints("kept").exists()
    with pytest.raises(StorageDamagedError, match="'kept'"):
        ask(tmp_path, "kept")
    assert ask(tmp_path, "other")["status"] == "completed"


def test_a_folder_with_memory_is_not_erased_for_want_of_a_row(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ask(tmp_path, "t", keep=True)
    (tmp_path / "runs.sqlite").unlink()

    assert runs.collect_garbage(unfinished=True, home=tmp_path) == []
    assert "memory of the thread 't'" in caplog.text
    with pytest.raises(StorageDamagedError, match="does not know"):
        ask(tmp_path, "t")
    assert Home(tmp_path).checkpoints("t").exists()
    runs.clear("t", home=tmp_path)
    assert not Home(tmp_path).folder("t").exists()


# --- older files ---------------------------------------------------------------------------------------------------


def older(path: Path, application: int, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        for statement in (f"PRAGMA application_id={application}", "PRAGMA user_version=1", "PRAGMA journal_mode=WAL"):
            database.execute(statement)
        for statement in statements:
            database.execute(statement)
        database.commit()


def test_a_store_of_an_older_version_is_taken_over(tmp_path: Path) -> None:
    older(
        tmp_path / "m.sqlite",
        0x414D424D,
        "CREATE TABLE items (namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "
        "created_at TEXT NOT NULL, updated_at TEXT NOT NULL, PRIMARY KEY (namespace, key))",
        "INSERT INTO items VALUES ('a.b', 'k', '{\"x\": 1}', '2024-01-01T00:00:00+00:00', '2024-01-01T00:00:00+00:00')",
    )
    for _ in range(2):
        with closing(SqliteRecordStore(tmp_path / "m.sqlite")) as store:
            found = store.get(("a", "b"), "k")
            assert found is not None
            assert found.value == {"x": 1}
            store.put(("a",), "new", {})


def test_a_page_store_of_an_older_version_is_taken_over(tmp_path: Path) -> None:
    older(
        tmp_path / "p.sqlite",
        0x414D4250,
        "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE pages (position INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, "
        "abstract TEXT NOT NULL, text TEXT NOT NULL, source TEXT NOT NULL, metadata TEXT NOT NULL, "
        "created_at TEXT NOT NULL, expires_at TEXT)",
        "CREATE INDEX expiry ON pages (expires_at) WHERE expires_at IS NOT NULL",
        "CREATE TABLE events (sequence INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, page TEXT NOT NULL)",
        "INSERT INTO about VALUES ('identity', 'abc')",
        "INSERT INTO pages VALUES (7, 'p1', 't', 'a', 'the text', 's', '{}', '2024-01-01T00:00:00Z', NULL)",
        "INSERT INTO events VALUES (9, 'put', 'p1')",
    )
    with closing(PageStore(tmp_path / "p.sqlite")) as store:
        assert [(n, p["text"]) for n, p in store.pages()] == [(7, "the text")]
        assert store.changes().sequence == 9
        assert store.identity == "abc"
        store.put([page(1)])
        assert [n for n, _ in store.pages()] == [7, 8]


def test_an_empty_store_that_a_full_disk_has_left_is_replaced(tmp_path: Path) -> None:
    older(tmp_path / "m.sqlite", 0x414D424D)
    older(tmp_path / "p.sqlite", 0x414D4250)
    assert (tmp_path / "m.sqlite").stat().st_size == 4_096

    with (
        closing(SqliteRecordStore(tmp_path / "m.sqlite")) as store,
        closing(PageStore(tmp_path / "p.sqlite")) as leaves,
    ):
        store.put(("a",), "k", {"x": 1})
        leaves.put([page(1)])
        assert len(store.search(("a",))) == leaves.stats()["total"] == 1


# --- a full disk ---------------------------------------------------------------------------------------------------


def _make_with_room_for(size: int, folder: str) -> None:
    """Fails to make both stores in files that may not be larger; the limit is this process's own."""
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    for _ in range(50):
        for make in (_put_an_item, _put_a_page):
            try:
                make(Path(folder))
            except StorageFullError:
                continue
            os._exit(3)
    opened = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]  # the parent's are among them
    os._exit(4 if any(file.startswith(folder) for file in opened) else 0)


def _put_an_item(folder: Path) -> None:
    with closing(SqliteRecordStore(folder / "memories.sqlite")) as store:
        store.put(("a",), "k", {"x": 1})


def _put_a_page(folder: Path) -> None:
    with closing(PageStore(folder / "pages" / "p.sqlite")) as store:
        store.put([page(1)])


@pytest.mark.skipif(sys.platform != "linux", reason="reads descriptors in /proc")
@pytest.mark.parametrize("size", [0, 4_096, 8_192])
def test_a_store_that_cannot_be_made_leaves_nothing_and_can_be_made_later(tmp_path: Path, size: int) -> None:
    child = get_context("fork").Process(target=_make_with_room_for, args=(size, str(tmp_path)))
    child.start()
    child.join()

    assert child.exitcode == 0
    assert [f.name for f in tmp_path.rglob("*.sqlite*") if "shm" not in f.name and f.stat().st_size == 0] == []
    _put_an_item(tmp_path)
    _put_a_page(tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Makes a disk of a size, where that is allowed."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(size: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("mounting is not allowed here")
        return place

    yield mount
    subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)


def fill(disk: Path) -> None:
    handle = os.open(disk / "filling", os.O_CREAT | os.O_WRONLY)
    try:
        while os.write(handle, b"x" * 4_096):
            pass
    except OSError:
        os.close(handle)


def put_until_full(items: SqliteRecordStore, leaves: PageStore) -> int:
    """How many items, each with a page, there was room for."""
    for count in range(100_000):
        try:
            items.put(("a",), f"k{count}", {"x": f"CANARY {count} " * 250})
            leaves.put([{**page(count), "text": f"CANARY LEAF {count} " * 200}])
        except StorageFullError:
            return count
    raise AssertionError("the disk has no end")


def everything_in(folder: Path) -> bytes:
    return b"".join(f.read_bytes() for f in folder.rglob("*") if f.is_file())


def test_both_stores_are_made_on_a_disk_that_was_full_when_they_were_begun(small_disk: Callable[[str], Path]) -> None:
    disk = small_disk("56k")
    for make in (_put_an_item, _put_a_page):
        with pytest.raises(StorageFullError):
            make(disk)
    subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)

    _put_an_item(disk)
    _put_a_page(disk)


@pytest.mark.parametrize("is_open", [True, False])
def test_stores_are_erased_from_on_a_full_disk(small_disk: Callable[[str], Path], is_open: bool) -> None:
    disk = small_disk("4m")
    items, leaves = SqliteRecordStore(disk / "memories.sqlite"), PageStore(disk / "p.sqlite")
    count = put_until_full(items, leaves)
    if not is_open:
        items.close()
        leaves.close()
    fill(disk)

    items.delete(("a",), "k3")
    assert items.get(("a",), "k3") is None
    assert leaves.delete([page(5)["id"]]) == [page(5)["id"]]
    assert b"LEAF 5 " not in everything_in(disk)
    items.batch([PutOp(("a",), f"k{n}", None) for n in range(count + 1)])
    assert len(leaves.delete_all()) >= count - 1

    assert items.search(("a",)) == leaves.pages() == []
    items.close()
    leaves.close()
    assert b"CANARY" not in everything_in(disk)
    leaves.put([page(n) for n in range(20)])
    assert leaves.stats()["total"] == 20, "what was erased is free again"
    leaves.close()


@pytest.mark.parametrize("erase", ["clear", "gc"])
def test_a_thread_is_erased_on_a_full_disk(small_disk: Callable[[str], Path], erase: str) -> None:
    disk = small_disk("4m")
    ask(disk, "t", keep=True)
    ask(disk, "other", keep=True)
    if erase == "gc":
        with closing(sqlite3.connect(disk / "runs.sqlite")) as rows:
            rows.create_function("sealed", -1, sealed, deterministic=True)
            rows.execute("UPDATE runs SET keep = 0 WHERE thread = 't'")
            rows.commit()
    fill(disk)

    if erase == "gc":
        assert runs.collect_garbage(home=disk) == ["t"]
    else:
        runs.clear("t", home=disk)

    assert not Home(disk).folder("t").exists()
    assert runs.read_state("other", home=disk)["answer"]


def test_a_memory_is_read_on_a_full_disk(small_disk: Callable[[str], Path]) -> None:
    disk = small_disk("2m")
    _put_an_item(disk)
    _put_a_page(disk)
    fill(disk)

    with (
        closing(SqliteRecordStore(disk / "memories.sqlite")) as store,
        closing(PageStore(disk / "pages" / "p.sqlite")) as leaves,
    ):
        assert len(store.search(("a",))) == len(leaves.pages()) == 1
        with pytest.raises(MemoryBankError):
            store.put(("a",), "large", {"x": "y" * 500_000})
