"""What is over leaves the disk: expired pages with gc and maintain, memories of pages when they are erased, locks."""

import multiprocessing
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank import Memories, runs
from agentic_memory_bank.runs.home import Home, lease
from agentic_memory_bank.state.errors import ThreadBusyError, UnknownMemoryError
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.library import PageLibraries
from agentic_memory_bank.tools.pages.store import page_id
from agentic_memory_bank.tools.pages.stores import PageStores

CANARY = "quixotic-zymurgy"


def page(text: str) -> Page:
    return {
        "id": page_id(text),
        "title": "",
        "abstract": text,
        "text": text,
        "source": "",
        "metadata": {},
        "created_at": "",
        "expires_at": None,
    }


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def vectors_of(folder: Path) -> int:
    """How many vectors of pages are on disk."""
    count = 0
    for file in (folder / "pages").glob("*.vectors.sqlite"):
        with closing(sqlite3.connect(file)) as connection:
            count += connection.execute("SELECT COUNT(*) FROM vectors").fetchone()[0]
    return count


def expired(home: Path, name: str = "letters", user: str = "") -> None:
    """A memory of two pages, the time of one of which is over, and which were searched."""
    long_ago = datetime.now(UTC) - timedelta(days=9)
    with closing(PageStores(home, clock=lambda: long_ago)) as stores:
        store = stores.of(name, user)
        store.put([page("The lighthouse of Aldport is lit.")])
        store.set_ttl(timedelta(days=1))
        store.put([page(f"{CANARY} keeps the light.")])
        library = PageLibraries(lambda file: Encoder(HashEmbeddings(), cache=file)).of(store)
        assert len(library) == 2
        assert store.vectors is not None
        assert vectors_of(home) >= 2


def gc(home: Path) -> None:
    runs.collect_garbage(home=home)


def maintain(home: Path) -> None:
    with Memories(home=home, embeddings=HashEmbeddings()) as memories:
        assert memories.maintain()["pages"] == 2


@pytest.mark.parametrize("upkeep", [gc, maintain])
def test_the_text_and_vectors_of_expired_pages_leave_the_disk_with_upkeep(tmp_path: Path, upkeep: Any) -> None:
    expired(tmp_path)
    expired(tmp_path, "of a server", "ana")
    assert CANARY.encode() in everything(tmp_path)

    upkeep(tmp_path)

    assert CANARY.encode() not in everything(tmp_path)
    assert vectors_of(tmp_path) == 0
    assert [one["pages"] for one in runs.list_pages(tmp_path)] == [1, 1]


def test_a_memory_of_pages_that_cannot_be_read_keeps_upkeep_from_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expired(tmp_path)
    (tmp_path / "pages" / "0.sqlite").write_bytes(b"no database")

    runs.collect_garbage(home=tmp_path)

    assert CANARY.encode() not in everything(tmp_path)
    assert (tmp_path / "pages" / "0.sqlite").read_bytes() == b"no database"
    assert "could not be erased" in caplog.text


def test_memories_of_pages_are_listed_and_erased_by_name_and_user(tmp_path: Path) -> None:
    expired(tmp_path)
    expired(tmp_path, "letters", "ana")

    listed = runs.list_pages(tmp_path)
    assert [(one["memory"], one["user"], one["pages"]) for one in listed] == [("letters", "", 1), ("letters", "ana", 1)]
    assert listed[0]["ttl_seconds"] == 86_400

    assert runs.clear_pages("letters", home=tmp_path) == 1

    assert [(one["memory"], one["user"]) for one in runs.list_pages(tmp_path)] == [("letters", "ana")]
    with pytest.raises(UnknownMemoryError):
        runs.clear_pages("letters", home=tmp_path)
    runs.clear_pages("letters", user="ana", home=tmp_path)
    left = everything(tmp_path)
    assert CANARY.encode() not in left
    assert b"letters" not in left


# --- locks -----------------------------------------------------------------------------------------------------------


def test_runs_leave_no_lock_behind(tmp_path: Path) -> None:
    for number in range(3):
        runs.run(
            "How deep is the lake?",
            documents=["The lake is deep."],
            home=tmp_path,
            engine=ScriptedEngine(),
            embeddings=HashEmbeddings(),
            thread=f"t{number}" if number else None,
        )
    runs.clear("t1", home=tmp_path)

    assert list((tmp_path / "locks").iterdir()) == []


def test_gc_removes_the_locks_of_killed_processes_and_no_lock_that_is_held(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.prepare()
    for name in ("killed", "held"):
        home.lock(name).touch(0o600)

    with lease(home, "held"):
        runs.collect_garbage(home=tmp_path)
        assert home.locks() == [home.lock("held")]
        with pytest.raises(ThreadBusyError), lease(home, "held"):
            pass


OFTEN = 300
"""How many times each process has the lease."""


def _contend(folder: str, begin: Any, told: Any) -> None:
    """Take the lease so often, beside others; inside of it, nobody else is."""
    home, inside, held, clashes = Home(Path(folder)), Path(folder) / "inside", 0, 0
    begin.wait(120)
    while held + clashes < OFTEN:
        try:
            with lease(home, "t"):
                try:
                    os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    clashes += 1
                    continue
                inside.unlink()
                held += 1
        except ThreadBusyError:
            pass
    told.put(clashes)


def test_two_processes_never_hold_one_lease_although_its_file_is_removed_each_time(tmp_path: Path) -> None:
    Home(tmp_path).prepare()
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    begin = context.Barrier(3)
    workers = [context.Process(target=_contend, args=(str(tmp_path), begin, told)) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        assert [told.get(timeout=300) for _ in workers] == [0, 0, 0]
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
