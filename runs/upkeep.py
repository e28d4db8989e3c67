"""Housekeeping of runs on disk: what `memory-bank gc` removes."""

from pathlib import Path

from agentic_memory_bank.runs.home import Home, erase_folder
from agentic_memory_bank.runs.lease import lease
from agentic_memory_bank.runs.ledger import Ledger
from agentic_memory_bank.state.errors import ThreadBusyError


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
        if found.keep and not found.is_unfinished or found.is_unfinished and not unfinished:
            continue
        try:
            with lease(place, found.thread):
                place.erase(found.thread)
                ledger.remove(found.thread)
                erased.append(found.thread)
        except ThreadBusyError:
            continue
    for folder in place.strays({found.thread for found in ledger.all()}):
        erase_folder(folder)
        erased.append(folder.name)
    return erased
