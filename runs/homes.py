"""Opens what runs keep: the ledger, checkpoints and rows of a database where one is named, or else files of a home."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.runs.ledger import Ledger
from agentic_memory_bank.state.errors import UnknownThreadError
from agentic_memory_bank.tools.storage.postgres import DATABASE_URL, not_installed
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from agentic_memory_bank.runs.database import RunDatabase


class SharedHome(Home):
    """A home whose runs and memories of pages are in a database, for all processes that name it."""

    has_folders = False

    def __init__(self, database: "RunDatabase") -> None:
        super().__init__()
        self.database = database
        self._held: dict[str, Any] = {}
        """The connections that hold threads here."""

    def prepare(self) -> "SharedHome":
        """Make nothing: the tables are made by their first use."""
        return self

    def is_there(self) -> bool:
        """Ask whether there may be runs."""
        return True

    def holds(self, thread: str) -> bool:
        """Ask whether anything of a thread is kept besides its row in the ledger."""
        return self.database.holds(thread)

    def vectors(self, thread: str) -> ThreadRows:
        """Where the vectors of a thread are kept."""
        return self.database.rows(thread)

    def answers(self, thread: str) -> ThreadRows:
        """Where the answers of chat models are kept that a thread has paid for."""
        return self.database.rows(thread)

    def attachments(self, thread: str) -> ThreadRows:
        """Where the attachments of a thread are kept."""
        return self.database.rows(thread)

    def make_folder(self, thread: str) -> None:
        """Make nothing: a thread is there as soon as it has a row."""

    def clear(self, thread: str) -> None:
        """Erase everything of a thread, all or nothing; the ledger's row is another matter."""
        self.database.clear(thread, self._held.get(thread))

    def orphans(self) -> list[str]:
        """List threads that the ledger does not know, of imports that were killed."""
        return self.database.orphans()

    def begin_import(self, thread: str) -> None:
        """Mark nothing: in a database, whatever the ledger does not know was left by an import that was killed."""

    def end_import(self, thread: str) -> None:
        """Remove no mark."""

    def strays(self, known: object) -> list[Path]:
        """List no folders: there are none."""
        return []

    def locks(self) -> list[Path]:
        """List no files: the database frees what a dead process held."""
        return []

    @contextmanager
    def lease(self, thread: str) -> Iterator[None]:
        """Hold a thread while something runs on it, in whatever process.

        Raises:
            ThreadBusyError: It is held already; nothing was done.
            StorageError: The database cannot be used.
        """
        with self.database.lock(thread, f"The thread '{thread}'") as held:
            self._held[thread] = held
            try:
                yield
            finally:
                del self._held[thread]

    def hold(self, name: str, what: str) -> AbstractContextManager[Any]:
        """Hold what else one process works on at a time. Raises as `lease`."""
        return self.database.lock(name, what)

    def saver(self, thread: str) -> "AbstractContextManager[BaseCheckpointSaver[Any]]":
        """Lend the saver; what holds a thread writes through what it is held by."""
        return self.database.saver(self._held.get(thread))


def home_at(path: str | Path | None = None) -> Home:
    """The home of runs: a folder that is named, the database of `MEMORY_BANK_DATABASE_URL`, or the usual folder.

    Raises:
        SettingsError: A database is named, and what reads one is not installed.
    """
    url = os.environ.get(DATABASE_URL)
    if path or not url:
        return Home(path)
    try:
        from agentic_memory_bank.runs.database import run_database
    except ImportError:
        raise not_installed() from None
    return SharedHome(run_database(url))


def ledger_of(home: Home) -> Ledger:
    """Open the table of runs of a home."""
    if not isinstance(home, SharedHome):
        return Ledger(home.ledger)
    from agentic_memory_bank.runs.database import SharedLedger

    return SharedLedger(home.database)


def saver_of(home: Home, thread: str) -> "AbstractContextManager[BaseCheckpointSaver[Any]]":
    """Open the checkpoints of a thread.

    Raises:
        StorageError: They cannot be opened, or are damaged; so is what fails while they are open.
    """
    if isinstance(home, SharedHome):
        return home.saver(thread)
    from agentic_memory_bank.runs.checkpoints import open_saver  # what only asks the ledger waits for no graph

    return open_saver(home.checkpoints(thread))


def has_trace(home: Home, thread: str) -> bool:
    """Ask whether anything of a thread is kept, readable or not: its folder first, as the disk may be full."""
    return home.holds(thread) or (home.is_there() and ledger_of(home).knows(thread))


def check_has_trace(home: Home, thread: str) -> None:
    """Check that something of a thread is kept.

    Raises:
        UnknownThreadError: Nothing is.
    """
    if not has_trace(home, thread):
        raise UnknownThreadError(f"Nothing is known of the thread '{thread}'. `memory-bank runs` lists them.")
