"""The page stores of a home or a database, by user and name, with checks of their names and times to live."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from agentic_memory_bank.state.errors import InputError, StorageError
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.pages.store import PageStore, name_of, now
from agentic_memory_bank.tools.storage.disk import default_home
from agentic_memory_bank.tools.storage.postgres import DATABASE_URL, not_installed

MAX_NAME: Final = 1_000
"""Longest name of a memory, in characters."""


_FOLDER: Final = "pages"

_LOG = logging.getLogger(__name__)


def checked_name(name: object) -> str:
    """The name of a memory as it is kept.

    Raises:
        InputError: It is empty, too long, or no text that can be kept.
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"A memory is named by a non-empty string, not by {name!r}. Give it as `memory`.")
    if len(name) > MAX_NAME:
        raise InputError(
            f"The name of a memory has {len(name):,} characters, more than {MAX_NAME:,}. Use a shorter one."
        )
    if "\0" in name or name.encode("utf-8", "replace").decode() != name:
        raise InputError(f"The memory name {name!r} holds characters that cannot be kept. Use another.")
    return name


class PageStores:
    """All memories of one place, by user and name; each store is opened once in a process.

    Args:
        folder: The home of all that is kept. Default: the database of `MEMORY_BANK_DATABASE_URL`, `MEMORY_BANK_HOME`,
            or the user's state folder, as they are when a memory is asked for.
        in_memory: Keep everything in this process, for as long as this object lasts.
        clock: Returns the time against which expiry is checked.
        size: How many stores stay open.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        in_memory: bool = False,
        clock: Callable[[], datetime] = now,
        size: int = 256,
    ) -> None:
        self._folder = folder
        self._in_memory = in_memory
        self._clock = clock
        self._stores: LruCache[tuple[Path | str | None, str], PageStore]
        self._stores = LruCache(sys.maxsize if in_memory else size, PageStore.close)

    def of(self, name: str, user: str = "") -> PageStore:
        """The pages of a memory. Users never share one: the same name is another memory for each of them.

        Args:
            name: Any text; it is hashed, never used as a path.
            user: Who is authenticated; empty where nobody has to be.

        Raises:
            InputError: The name cannot be kept.
            SettingsError: There is no folder for it, or what reads a database is not installed.
        """
        label = json.dumps([str(user), checked_name(name)])
        url = None if self._in_memory or self._folder else os.environ.get(DATABASE_URL)
        if url:
            return self._stores.get((url, label), lambda: _shared(url, label, self._clock))
        path = None if self._in_memory else self._path(label)
        return self._stores.get((path, label), lambda: PageStore(path, label, self._clock))

    def close(self) -> None:
        """Close all files."""
        for store in self._stores.values():
            store.close()

    def _path(self, label: str) -> Path:
        return (self._folder or default_home()) / _FOLDER / f"{name_of(label)}.sqlite"


def _shared(url: str, label: str, clock: Callable[[], datetime]) -> PageStore:
    with _reader_of_databases():
        from agentic_memory_bank.tools.pages.shared_store import SharedPageStore

        return SharedPageStore(url, label, clock)


@contextmanager
def _reader_of_databases() -> Iterator[None]:
    try:
        yield
    except ImportError:
        raise not_installed() from None


def page_stores(folder: Path | None = None) -> list[PageStore]:
    """Open all page stores of a home, of all users; the caller closes each.

    Args:
        folder: The home of all that is kept. Default: as `PageStores` says.

    Raises:
        SettingsError: What reads a database is not installed.
        StorageError: The database cannot be used.
    """
    if (url := os.environ.get(DATABASE_URL)) and folder is None:
        with _reader_of_databases():
            from agentic_memory_bank.tools.pages.shared_store import shared_page_stores

            return shared_page_stores(url)
    files = sorted(((folder or default_home()) / _FOLDER).glob("*.sqlite"))
    return [PageStore(file) for file in files if file.suffixes == [".sqlite"]]


def delete_expired_pages(home: Path | None = None) -> int:
    """Erase the pages of all memories that expired, from disk too; how many they were.

    A memory that cannot be read is left as it is, and the log says so.

    Args:
        home: Folder of all memories. Default: the database of `MEMORY_BANK_DATABASE_URL`, if it names one, and
            `MEMORY_BANK_HOME`, or the user's state folder.
    """
    stores, count = page_stores(home), 0
    if home is None and os.environ.get(DATABASE_URL):  # those of the folder stay there, and end there, too
        stores += page_stores(default_home())
    for store in stores:
        try:
            with closing(store):
                count += store.delete_expired()
        except StorageError as error:
            _LOG.warning("Pages that expired could not be erased: %s", error)
    return count
