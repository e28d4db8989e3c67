"""Keeps each user's index in a file beside the store, so that a process need not make it anew from all events.

A file is a copy of what the store holds: it says up to which event, is replaced as a whole, and is removed before
anything is erased from the store. Nobody writes one while another process erases, nor from what is out of date.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple
from unicodedata import unidata_version

from filelock import FileLock, Timeout
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.tools.memories.index import RecordIndex
from agentic_memory_bank.tools.storage.disk import default_home, storage_errors
from agentic_memory_bank.tools.storage.section_file import (
    SectionDamagedError,
    SectionFile,
    part_of,
    write_sections,
)
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

RULES: Final = (
    *("tools/text/*.py", "state/record*.py", "tools/storage/kept_rows.py", "tools/storage/section_file.py"),
    *("tools/search/index_slots.py", "tools/search/near_vectors.py", "tools/search/stored_items.py"),
    "tools/search/query.py",
    *("tools/memories/index.py", "tools/memories/record_tables.py", "tools/memories/turns.py"),
    "tools/memories/vectors.py",
)
"""The code that says what an index holds."""
KEPT_SECONDS: Final = 7 * 24 * 3_600.0
"""How long a file is kept that nobody opens, where the store is not beside it and may be used by other machines."""
SHARED: Final = "indexes"
"""The folder, in the home of all that is kept, for stores that are not files of this package."""

_LOG = logging.getLogger(__name__)


@cache
def rules_of_indexes() -> str:
    """A hash of the code that makes indexes: one that other rules have made, or another stemmer, is made anew."""
    root, digest = Path(__file__).parents[2], hashlib.sha256()
    for file in sorted(path for rule in RULES for path in root.glob(rule)):
        digest.update(file.read_bytes())
    digest.update(f"{unidata_version} {version('PyStemmer')}".encode())
    return digest.hexdigest()[:16]


class KeptIndex(NamedTuple):
    """An index as it stands in a file, or is to be written to one."""

    found: RecordIndex
    heads: Mapping[str, int]
    """For each writer the number of its last event that the index holds."""


class IndexFiles:
    """The files of a store, in one folder; safe across threads and processes.

    Args:
        is_shared: Whether other machines may use the store, so that files are removed that nobody opens any more.
    """

    def __init__(self, folder: Path, *, is_shared: bool = False) -> None:
        self.folder, self._is_shared = folder, is_shared

    def open(self, owner: str, model: str, dimension: int | None) -> KeptIndex | None:
        """The index of a user as it was last written; None where there is none, or none that may be used."""
        path = self._path(owner)
        try:
            file = SectionFile(path)
            told = file.header
            wanted = {"rules": rules_of_indexes(), "owner": owner, "model": model}
            if any(told.get(name) != value for name, value in wanted.items()):
                return None
            if None not in (dimension, told["index"]["dimension"]) and dimension != told["index"]["dimension"]:
                return None
            kept = KeptIndex(RecordIndex(owner, model, dimension, file), dict(told["heads"]))
            path.touch()
            return kept
        except FileNotFoundError:
            return None
        except (SectionDamagedError, OSError, KeyError, TypeError, ValueError) as error:
            _LOG.warning("The index of a user's memories cannot be used (%s): it is made anew.", error)
            return None

    def write(self, index: RecordIndex, owner: str, model: str, heads: Mapping[str, int]) -> None:
        """Write the index of a user; to be called within `writing`.

        Raises:
            OSError: It cannot be written; what was there before stays.
        """
        small, arrays = index.kept()
        told = {"owner": owner, "model": model, "heads": dict(heads), "index": small}
        write_sections(self._path(owner), {"rules": rules_of_indexes(), **told}, arrays)

    @contextmanager
    def writing(self, owner: str) -> Iterator[bool]:
        """Around the check that an index is up to date, and its writing; whether nobody else writes or erases now.

        Raises:
            OSError: There can be no file.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._is_shared:
            self._sweep()
        lock = self._lock(owner, seconds=0)
        try:
            lock.acquire()
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def erase(self, owner: str, change: Callable[[], None]) -> None:
        """Remove the file of a user and carry out what erases from the store: nobody writes a file in between.

        Raises:
            StorageError: The file cannot be removed; nothing is changed.
        """
        was_there = self.folder.is_dir()
        if not was_there:
            change()
        if self.folder.is_dir():  # the first file may have been written in between
            with storage_errors(self._path(owner)), self._lock(owner):
                self._remove(owner)
                if was_there:
                    change()

    def discard_before(self, owner: str, heads: Mapping[str, int]) -> None:
        """Remove the file of a user, unless it was written when all up to these events was known.

        Raises:
            StorageError: The file cannot be removed.
        """
        if not self.folder.is_dir():
            return
        with storage_errors(self._path(owner)), self._lock(owner):
            try:
                known = SectionFile(self._path(owner)).header["heads"]
            except (SectionDamagedError, OSError, KeyError, ValueError):
                known = {}
            if any(known.get(writer, 0) < number for writer, number in heads.items()):
                self._remove(owner)

    def _path(self, owner: str) -> Path:
        return self.folder / f"{owner}.index"

    def _lock(self, owner: str, seconds: float = -1) -> FileLock:
        return FileLock(self.folder / f".{owner[:2]}.lock", timeout=seconds, mode=0o600, thread_local=False)

    def _remove(self, owner: str) -> None:
        path = self._path(owner)
        for place in (path, part_of(path)):
            place.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove files that nobody has opened for long: what they hold may be erased elsewhere by now."""
        for path in self.folder.glob("*.index*"):
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - KEPT_SECONDS:
                    path.unlink()


def index_files_of(store: BaseStore) -> IndexFiles | None:
    """Where the indexes of a store are kept: beside its file, in the home of this machine, or nowhere.

    What is in memory alone leaves nothing on the disk.
    """
    if isinstance(store, InMemoryStore):
        return None
    if isinstance(store, SqliteRecordStore):
        return IndexFiles(store.path.with_suffix(".indexes"))
    try:
        return IndexFiles(default_home() / SHARED, is_shared=True)
    except SettingsError:
        return None
