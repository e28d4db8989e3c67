"""Pictures and files of a task: checked at the door, held until they are recognised, then kept by their content."""

import base64
import hashlib
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final, Literal

from agentic_memory_bank.state.errors import (
    LoadError,
    StorageDamagedError,
    StorageError,
)
from agentic_memory_bank.state.interaction_tree import Attachment
from agentic_memory_bank.tools.documents.attached_files import CAREFUL, id_of, parsed_kind, picture_type
from agentic_memory_bank.tools.documents.files import decode
from agentic_memory_bank.tools.documents.parsing import Parser
from agentic_memory_bank.tools.storage.disk import storage_errors, sync_folder
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows
from agentic_memory_bank.tools.text.cleaning import clean

SHOWN_BYTES: Final = 48_000
"""Largest picture that deep retrieval shows: in base64 it takes a third more, and a reader's context has an end."""
MEMORY_BYTES: Final = 256_000_000
"""How much of idle threads stays in memory, where there is no folder."""

Place = Literal["held", "kept"]
Reader = Callable[[Attachment], dict[str, Any]]
"""Shows what is in an attachment: its media `type`, and its `content` or a `note` that says why there is none."""

SHA256 = re.compile("[0-9a-f]{64}")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


# --- the store ---------------------------------------------------------------------------------------------------


class AttachmentStore:
    """The files of one task: held until they are recognised, then kept. Each is named by the sha256 of its bytes.

    Args:
        folder: Where they are, 0700, files 0600; rows of a thread in a database; None: in memory.
    """

    def __init__(self, folder: Path | ThreadRows | None = None) -> None:
        self._shelves = _Rows(folder) if isinstance(folder, ThreadRows) else _Folder(folder) if folder else _Memory()
        self._lock = threading.RLock()

    def stage(self, data: bytes) -> str:
        """Hold bytes until they are kept or released; done twice it is done once.

        Raises:
            StorageError: They cannot be written.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        with self._lock:
            self._shelves.put("held", sha256, data)
        return sha256

    def keep(self, sha256: str) -> None:
        """Move a held file to the kept ones; a second call does nothing.

        Raises:
            StorageError: It is neither held nor kept, or cannot be moved.
        """
        with self._lock:
            if sha256 not in self._shelves.names("kept"):
                if sha256 not in self._shelves.names("held"):
                    raise _missing(sha256)
                self._shelves.move(sha256)

    def read(self, sha256: str) -> bytes:
        """Read a held or kept file. A name that is no sha256 is refused.

        Raises:
            StorageError: They are not there.
            StorageDamagedError: They are not what was stored.
        """
        with self._lock:
            data = self._shelves.get(sha256) if SHA256.fullmatch(sha256) else None
        if data is None:
            raise _missing(sha256)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise StorageDamagedError(f"The attachment {id_of(sha256)} is damaged on disk. Hand it over again.")
        return data

    def text(self, name: str, sha256: str) -> str:
        """The text of a document or of code; PDF, Word and HTML are parsed by a child process with limits.

        Raises:
            LoadError: It cannot be turned into text.
            StorageError: It is not there.
        """
        data = self.read(sha256)
        kind = parsed_kind(name, data)
        if kind is None:
            return clean(decode(data, name))
        with self._shelves.file(sha256, data) as path, Parser() as parser:
            return "\n\n".join(clean(part.text) for part in parser.parse(path, kind, name))

    def release(self) -> None:
        """Let go of all that is held.

        Raises:
            StorageError: Something cannot be removed.
        """
        with self._lock:
            self._shelves.remove("held", self._shelves.names("held"))

    def held(self) -> list[str]:
        """What waits to be kept or released."""
        return [name for name in self._shelves.names("held") if SHA256.fullmatch(name)]

    def kept(self) -> list[str]:
        """What stays until the task is erased."""
        return [name for name in self._shelves.names("kept") if SHA256.fullmatch(name)]

    def delete_unnamed(self, named: Collection[str]) -> None:
        """Remove kept files that no entry names, of a run that was killed after the file and before the state.

        Raises:
            StorageError: Something cannot be removed.
        """
        with self._lock:
            self._shelves.remove("kept", [name for name in self._shelves.names("kept") if name not in named])

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._shelves.size


class AttachmentStores:
    """The stores of threads: each in a folder of its own, or those that were active last in memory.

    A thread that holds something is never dropped; one that is idle loses its files when others need the room.
    """

    def __init__(self, folder: Path | ThreadRows | None = None, size: int = 16) -> None:
        self._folder, self._size = folder, size
        self._stores: OrderedDict[str, AttachmentStore] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, thread: str) -> AttachmentStore:
        """The store of a thread."""
        with self._lock:
            store = self._stores.pop(thread, None) or AttachmentStore(self._folder_of(thread))
            idle = [name for name, other in self._stores.items() if not other.held()]
            self._stores[thread] = store
            while idle and self._is_full():
                del self._stores[idle.pop(0)]
            return store

    def _folder_of(self, thread: str) -> Path | ThreadRows | None:
        if isinstance(self._folder, ThreadRows):
            return self._folder
        name = hashlib.sha256(thread.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._folder / name if self._folder else None

    def _is_full(self) -> bool:
        return len(self._stores) > self._size or sum(store.size for store in self._stores.values()) > MEMORY_BYTES


class _Memory:
    """Files in memory."""

    def __init__(self) -> None:
        self._files: dict[Place, dict[str, bytes]] = {"held": {}, "kept": {}}

    def put(self, place: Place, name: str, data: bytes) -> None:
        self._files[place].setdefault(name, data)

    def move(self, name: str) -> None:
        self._files["kept"][name] = self._files["held"].pop(name)

    def get(self, name: str) -> bytes | None:
        return self._files["kept"].get(name) or self._files["held"].get(name)

    def names(self, place: Place) -> list[str]:
        return list(self._files[place])

    def remove(self, place: Place, names: Collection[str]) -> None:
        for name in names:
            del self._files[place][name]

    @contextmanager
    def file(self, name: str, data: bytes) -> Iterator[Path]:
        """A file for the parser, for as long as it reads."""
        with NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            yield Path(file.name)

    @property
    def size(self) -> int:
        return sum(len(data) for files in self._files.values() for data in files.values())


class _Rows:
    """Files as rows of a thread in a database."""

    size = 0

    def __init__(self, rows: ThreadRows) -> None:
        self._rows = rows

    def put(self, place: Place, name: str, data: bytes) -> None:
        self._rows.put([(place, name, data)])

    def move(self, name: str) -> None:
        self._rows.move(name, "held", "kept")

    def get(self, name: str) -> bytes | None:
        return self._rows.get("kept", [name]).get(name) or self._rows.get("held", [name]).get(name)

    def names(self, place: Place) -> list[str]:
        return self._rows.keys(place)

    def remove(self, place: Place, names: Collection[str]) -> None:
        self._rows.remove(place, names)

    @contextmanager
    def file(self, name: str, data: bytes) -> Iterator[Path]:
        """A file for the parser, for as long as it reads."""
        with _Memory().file(name, data) as path:
            yield path


class _Folder:
    """Files in two folders; one is there as a whole or not at all, whenever the process is killed."""

    size = 0

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, place: Place, name: str, data: bytes) -> None:
        with storage_errors(self._folder):
            folder = self._made(place)
            if (folder / name).exists():
                return
            part = folder / f".{name}.part"
            with open(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | _NO_FOLLOW, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(folder / name)
            sync_folder(folder)

    def move(self, name: str) -> None:
        with storage_errors(self._folder):
            kept = self._made("kept")
            (self._folder / "held" / name).replace(kept / name)
            sync_folder(kept)

    def get(self, name: str) -> bytes | None:
        with storage_errors(self._folder):
            for place in ("kept", "held"):
                with suppress(FileNotFoundError):
                    return _read_own(self._folder / place / name)
        return None

    def names(self, place: Place) -> list[str]:
        with storage_errors(self._folder), suppress(FileNotFoundError):
            return sorted(os.listdir(self._folder / place))
        return []

    def remove(self, place: Place, names: Collection[str]) -> None:
        """Overwrite and remove files, among them those whose writing was cut short."""
        with storage_errors(self._folder):
            for name in names:
                _erase(self._folder / place / name)

    @contextmanager
    def file(self, name: str, data: bytes) -> Iterator[Path]:
        """The file itself, so that no copy is left behind by a kill."""
        places = [self._folder / place / name for place in ("kept", "held")]
        yield next((path for path in places if path.exists()), places[0])

    def _made(self, place: Place) -> Path:
        folder = self._folder / place
        for made in (self._folder.parent, self._folder, folder):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def _read_own(path: Path) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | _NO_FOLLOW | CAREFUL), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise FileNotFoundError(path)
        return stream.read()


def _erase(path: Path) -> None:
    """Overwrite and remove a file; where the disk has no room even for that, remove it."""
    with suppress(OSError):
        if path.is_file() and not path.is_symlink():
            with path.open("r+b") as file:
                file.write(b"\0" * path.stat().st_size)
                file.flush()
                os.fsync(file.fileno())
    path.unlink(missing_ok=True)


def _missing(sha256: str) -> StorageError:
    return StorageError(f"The attachment {clean(id_of(sha256))} is not there any more. Hand it over again.")


# --- reading it back ---------------------------------------------------------------------------------------------


def content(store: AttachmentStore, attachment: Attachment, most: int = SHOWN_BYTES) -> dict[str, Any]:
    """What is in an attachment, for a reader: a picture in base64, a document as its text, code as it stands."""
    try:
        if attachment["kind"] != "image":
            return {"content": store.text(attachment["name"], attachment["path"])}
        data = store.read(attachment["path"])
    except (StorageError, LoadError) as error:
        return {"note": str(error)}
    media = picture_type(data) or "application/octet-stream"
    if len(data) > most:
        return {"type": media, "note": f"The picture has {len(data):,} bytes; at most {most:,} are shown here."}
    return {"type": media, "content": base64.b64encode(data).decode()}
