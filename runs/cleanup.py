"""Housekeeping of runs on disk: what `memory-bank gc` removes."""

import logging
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from agentic_memory_bank.runs.checkpoints import open_saver
from agentic_memory_bank.runs.export import files_of, named_files, part_of, read_state
from agentic_memory_bank.runs.home import Home, lease, locked
from agentic_memory_bank.runs.homes import home_at, ledger_of
from agentic_memory_bank.runs.ledger import Ledger, Run
from agentic_memory_bank.state.errors import (
    DamagedRowError,
    StorageDamagedError,
    StorageError,
    ThreadBusyError,
    UnknownMemoryError,
    UnknownThreadError,
)
from agentic_memory_bank.tools.pages.stores import PageStores, checked_name, delete_expired_pages, page_stores
from agentic_memory_bank.tools.storage.disk import erase_folder

_LOG = logging.getLogger(__name__)


def collect_garbage(*, unfinished: bool = False, home: str | Path | None = None) -> list[str]:
    """Erase leftovers of killed runs, folders without memory, stale locks, and expired pages.

    A folder that holds memory and that the ledger does not know stays, and so does one whose row is damaged: a warning
    in the log names it.

    Args:
        unfinished: Whether unfinished runs are erased, too; they can then no longer be resumed.
        home: Folder of all runs. Default: the database of `MEMORY_BANK_DATABASE_URL`, `MEMORY_BANK_HOME`, or the user's
            state folder.

    Returns:
        Names of the threads that were erased, or of their folders where no thread is known.
    """
    place = home_at(home).prepare()
    ledger = ledger_of(place)
    erased: list[str] = []
    for thread in ledger.threads():
        with suppress(ThreadBusyError, UnknownThreadError), lease(place, thread):
            try:
                found = ledger.get(thread)
            except DamagedRowError as error:
                _LOG.warning("Nothing of the thread '%s' was erased: %s", thread, error)
                continue
            place.end_import(thread)
            if _is_needless(found, unfinished):
                clear_thread(place, ledger, thread)
                erased.append(thread)
            else:
                _tidy(place, thread, is_finished=not found.is_unfinished)
    for folder in place.strays(ledger.threads()):
        with suppress(ThreadBusyError), locked(place.lock_of(folder), "This thread"):
            if folder not in place.strays(ledger.threads()):  # somebody took the thread up before it was locked
                continue
            if thread := memory_in(place, folder):
                _LOG.warning("%s", _stray(folder, thread))
            else:
                erase_folder(folder)
                erased.append(folder.name)
    for thread in place.orphans():
        with suppress(ThreadBusyError), lease(place, thread):
            if not ledger.knows(thread):  # else somebody took it up before it was held
                place.clear(thread)
                erased.append(thread)
    for file in place.locks():
        with suppress(ThreadBusyError), locked(file, "This lock"):
            """Whoever held it was killed: letting it go removes it."""
    pages = delete_expired_pages(place.of_pages)
    return [*erased, f"{pages} pages whose time was over"] if pages else erased


class PageMemory(TypedDict):
    """Describes a memory of pages that is kept on disk."""

    memory: str
    user: str
    """Id of its user; empty for the command line and for servers without accounts."""
    pages: int
    ttl_seconds: float | None
    """How long new pages stay; None for ever."""
    bytes: int


def list_pages(home: str | Path | None = None) -> list[PageMemory]:
    """List the memories of pages of all users, by user and name.

    Args:
        home: Folder of all memories. Default: the database of `MEMORY_BANK_DATABASE_URL`, `MEMORY_BANK_HOME`, or the
            user's state folder.

    Raises:
        StorageError: One of them cannot be read.
    """
    found: list[PageMemory] = []
    for store in page_stores(home_at(home).of_pages):
        with closing(store):
            (user, name), stats = store.owner, store.stats()
            found.append(
                {
                    "memory": name,
                    "user": user,
                    "pages": stats["valid"],
                    "ttl_seconds": stats["ttl_seconds"],
                    "bytes": store.bytes,
                }
            )
    return sorted(found, key=lambda one: (one["user"], one["memory"]))


def clear_pages(memory: str, *, user: str = "", home: str | Path | None = None) -> int:
    """Erase a memory of pages from disk (pages, vectors, answers of models, its name) and count its pages.

    Args:
        memory: Name of the memory of pages.
        user: Id of the user whose memories are meant.
        home: Folder of all memories. Default: the database of `MEMORY_BANK_DATABASE_URL`, `MEMORY_BANK_HOME`, or the
            user's state folder.

    Raises:
        UnknownMemoryError: There is none.
        ThreadBusyError: It is being memorized for right now.
        StorageError: It cannot be erased.
    """
    place = home_at(home).prepare()
    with closing(PageStores(place.of_pages)) as stores:
        store = stores.of(checked_name(memory), user)
        if not store.exists():
            raise UnknownMemoryError(f"There is no memory of pages {memory!r}. `memory-bank pages` lists them.")
        with place.hold(f"memory {store.name}", f"The memory '{memory}'"):
            return store.erase()


def memory_in(place: Home, folder: Path) -> str | None:
    """Name the thread whose memory a folder holds: the folder itself where that cannot be read, None for no memory.

    A folder is not erased because its row in the ledger is missing: the ledger may be what is damaged.
    """
    checkpoints = folder / place.checkpoints("").name
    if place.is_half(folder) or not checkpoints.exists():
        return None
    try:
        with open_saver(checkpoints) as saver:
            row = saver.conn.execute("SELECT thread_id FROM checkpoints LIMIT 1").fetchone()
    except StorageError:
        return folder.name
    return row[0] if row else None


def check_is_no_stray(place: Home, thread: str) -> None:
    """Check that a thread without a row in the ledger has no memory, before it is begun.

    Raises:
        StorageDamagedError: The thread has memory: its row was lost.
    """
    if place.has_folders and memory_in(place, folder := place.folder(thread)):
        raise StorageDamagedError(_stray(folder, thread))


def _stray(folder: Path, thread: str) -> str:
    return (
        f"The folder {folder} holds memory of the thread '{thread}', which the ledger of runs does not know. Put "
        "back a copy of the ledger, or clear that thread; nothing of it was erased."
    )


def _tidy(place: Home, thread: str, *, is_finished: bool) -> None:
    """Remove files of a finished run that no entry names: it was killed after a file and before its state."""
    if is_finished and place.attachments(thread).exists():
        with suppress(StorageDamagedError):
            named = named_files(read_state(thread, home=place.path).get("interaction_tree", {}))
            store = files_of(thread, place)
            store.release()
            store.delete_unnamed(named)


def clear_thread(place: Home, ledger: Ledger, thread: str) -> None:
    """Erase all of a thread, and last its row: killed in between, the row tells that it is to be erased."""
    with suppress(StorageError, OSError):  # a disk that is full, or a damaged row, keeps nothing from being erased
        found = ledger.find(thread)
        if found and (found.keep or found.is_unfinished):
            ledger.write(replace(found, keep=False, state="finished"))
        if found and found.export:
            part_of(Path(found.export), thread).unlink(missing_ok=True)
    place.clear(thread)
    ledger.remove(thread)


def _is_needless(found: Run, unfinished: bool) -> bool:
    return unfinished if found.is_unfinished else not found.keep
