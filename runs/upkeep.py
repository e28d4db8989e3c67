"""Housekeeping of runs on disk: what `memory-bank gc` removes."""

from contextlib import suppress
from pathlib import Path

from agentic_memory_bank.runs.export import files_of, named_files, part_of, read_state
from agentic_memory_bank.runs.home import Home, erase_folder
from agentic_memory_bank.runs.lease import lease, locked
from agentic_memory_bank.runs.ledger import Ledger, Run
from agentic_memory_bank.state.errors import StorageDamagedError, ThreadBusyError, UnknownThreadError


def collect_garbage(*, unfinished: bool = False, home: str | Path | None = None) -> list[str]:
    """Erase what no run needs: leftovers of killed runs that were finished, and folders no run knows.

    Args:
        unfinished: Also erase runs that were never finished; they can then no longer be resumed.
        home: Folder of all runs.

    Returns:
        What was erased: thread names, or folder names where no thread is known.
    """
    place = Home(Path(home) if home else None)
    place.prepare()
    ledger = Ledger(place.ledger)
    erased: list[str] = []
    for found in ledger.all():
        with suppress(ThreadBusyError, UnknownThreadError), lease(place, found.thread):
            if _is_needless(ledger.get(found.thread), unfinished):
                forget(place, ledger, found.thread)
                erased.append(found.thread)
            else:
                _tidy(place, found.thread, is_finished=not ledger.get(found.thread).is_unfinished)
    for folder in place.strays(ledger.threads()):
        with suppress(ThreadBusyError), locked(place.lock_of(folder), "This thread"):
            if folder in place.strays(ledger.threads()):  # nobody took the thread up before it was locked
                erase_folder(folder)
                erased.append(folder.name)
    return erased


def _tidy(place: Home, thread: str, *, is_finished: bool) -> None:
    """Remove the files of a finished run that no entry names: it was killed between a file and the state."""
    if is_finished and place.attachments(thread).exists():
        with suppress(StorageDamagedError):
            named = named_files(read_state(thread, home=place.path).get("interaction_tree", {}))
            store = files_of(thread, place)
            store.release()
            store.drop_all_but(named)


def forget(place: Home, ledger: Ledger, thread: str) -> None:
    """Erase all of a thread, and last its row: killed in between, the row tells that something is left."""
    with suppress(StorageDamagedError, OSError):
        found = ledger.find(thread)
        if found and found.export:
            part_of(Path(found.export), thread).unlink(missing_ok=True)
    place.erase(thread)
    ledger.remove(thread)


def _is_needless(found: Run, unfinished: bool) -> bool:
    return unfinished if found.is_unfinished else not found.keep
