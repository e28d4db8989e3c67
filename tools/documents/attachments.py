"""Pictures and files of a task: checked at the door, held until they are recognised, then kept by their content."""

import base64
import binascii
import errno
import hashlib
import logging
import os
import re
import stat
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile
from typing import Any, Final, Literal, cast

from agentic_memory_bank.state.errors import (
    InputError,
    InputTooLarge,
    LoadError,
    StorageDamagedError,
    StorageError,
    StorageFullError,
)
from agentic_memory_bank.state.interaction_tree import Attachment, AttachmentKind
from agentic_memory_bank.state.memory_bank import Waiting
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.documents.decoding import decode
from agentic_memory_bank.tools.documents.parsing import Kind, Parser
from agentic_memory_bank.tools.text.cleaning import clean

MOST: Final = 32
"""How many attachments one question may have."""
NAME_CHARACTERS: Final = 255
SHOWN_BYTES: Final = 48_000
"""Largest picture that deep retrieval shows: in base64 it takes a third more, and a reader's context has an end."""
MEMORY_BYTES: Final = 256_000_000
"""How much of idle threads stays in memory, where there is no folder."""

Place = Literal["held", "kept"]
Reader = Callable[[Attachment], dict[str, Any]]
"""Shows what is in an attachment: its media `type`, and its `content` or a `note` that says why there is none."""

_LOG = logging.getLogger(__name__)
_SHA256 = re.compile("[0-9a-f]{64}")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CAREFUL = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_TYPES: dict[Kind, str] = {"pdf": "application/pdf", "docx": _WORD, "html": "text/html"}
_HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
_CODE_SUFFIXES = (
    ".asm .bash .bat .c .cc .clj .cljs .cmake .cpp .cs .css .cu .cxx .dart .ex .exs .erl .f90 .fs .go .gradle .graphql"
    " .groovy .h .hh .hpp .hs .ini .java .jl .js .jsx .kt .kts .less .lua .m .mjs .ml .nim .php .pl .proto .ps1 .py"
    " .pyi .r .rb .rs .scala .scss .sh .sol .sql .svelte .svg .swift .tcl .tex .tf .toml .ts .tsx .vb .vue .xml .yaml"
    " .yml .zig .zsh"
)
_CODE = frozenset(_CODE_SUFFIXES.split())


# --- at the door -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class File:
    """An attachment whose form was checked."""

    name: str
    """A label: no directories, no characters that cannot be seen."""
    data: bytes
    kind: AttachmentKind
    type: str
    """Its media type, by its content."""

    @property
    def sha256(self) -> str:
        """What it is stored under."""
        return hashlib.sha256(self.data).hexdigest()

    def waiting(self) -> Waiting:
        """How the state names it until it is recognised."""
        sha256 = self.sha256
        return {"id": id_of(sha256), "name": self.name, "kind": self.kind, "type": self.type, "sha256": sha256}

    def attachment(self) -> Attachment:
        """How an entry names it."""
        return attachment_of(self.waiting())


def id_of(sha256: str) -> str:
    """The id of an attachment: by its content, so that the same file has the same id."""
    return "a" + sha256[:12]


def attachment_of(waiting: Waiting) -> Attachment:
    """How an entry names what was recognised."""
    return {"id": waiting["id"], "name": waiting["name"], "kind": waiting["kind"], "path": waiting["sha256"]}


def checked_attachments(given: object, settings: Settings) -> list[File]:
    """The attachments of a question, each once.

    Args:
        given: Mappings with `name` and base64 `data`; None is none.
        settings: Hold the size limit.

    Raises:
        InputError: One has no name or no data, is no base64, or is of no type that can be read; or they are too many.
        InputTooLarge: One is over `Settings.max_attachment_bytes`.
    """
    if given is None:
        return []
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise InputError("The attachments are no list. Give a list of mappings with `name` and base64 `data`.")
    items = cast("Sequence[object]", given)
    if len(items) > MOST:
        raise InputError(f"There are {len(items)} attachments, more than the {MOST} allowed. Hand over fewer.")
    found: dict[str, File] = {}
    for position, item in enumerate(items):
        file = _checked(item, f"attachments[{position}]", settings.max_attachment_bytes)
        found.setdefault(file.sha256, file)
    return list(found.values())


def _checked(item: object, where: str, most: int) -> File:
    if not isinstance(item, Mapping):
        raise InputError(f"{where} is of type {type(item).__name__}. Give a mapping with `name` and base64 `data`.")
    fields = cast("Mapping[str, object]", item)
    name = label(fields.get("name"))
    if not name:
        raise InputError(f"{where} has no name. Give the file name as `name`.")
    return file_of(name, _decoded(fields.get("data"), f"{where} ({name})", most), most)


def _decoded(data: object, where: str, most: int) -> bytes:
    if not isinstance(data, str) or not data.strip():
        raise InputError(f"{where} has no data. Give its bytes in base64 as `data`.")
    if len(data) > 2 * most + 1_000:  # base64 takes a third more, and perhaps line ends: this need not be decoded
        raise _too_large(where, most)
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise InputError(
            f"The `data` of {where} is not base64. Encode the bytes of the file, without a prefix."
        ) from None


def file_of(name: str, data: bytes, most: int) -> File:
    """A file with its kind: an image, a document, or code.

    Args:
        name: Its label; the suffix tells code from prose, and Word files from other archives.
        data: Its bytes, which tell the rest.
        most: The size limit in bytes.

    Raises:
        InputError: It is empty, or binary and of no type that can be read.
        InputTooLarge: It is over the limit.
    """
    if len(data) > most:
        raise _too_large(name, most)
    if picture := picture_type(data):
        return File(name, data, "image", picture)
    if kind := _parsed_kind(name, data):
        return File(name, data, "document", _TYPES[kind])
    try:
        text = decode(data, name)
    except LoadError as error:
        raise InputError(f"{error} Attachments are PNG, JPEG, GIF or WebP pictures, documents, and code.") from error
    if not text.strip():
        raise InputError(f"{name} is empty. Leave it out, or give a file with something in it.")
    is_code = PurePosixPath(name).suffix.lower() in _CODE
    return File(name, data, "code" if is_code else "document", "text/plain")


def label(name: object) -> str:
    """The name of a file as a label, which is never used as a path; empty when nothing is left of it."""
    if not isinstance(name, str):
        return ""
    seen = "".join(c for c in clean(name) if unicodedata.category(c)[0] != "C" and c not in "\u2028\u2029")
    last = seen.replace("\\", "/").rstrip("/").rpartition("/")[2].strip()
    return "" if last.strip(".") == "" else last[:NAME_CHARACTERS]


def picture_type(data: bytes) -> str | None:
    """The media type of a picture, by its first bytes; None where it is none that is known."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media for mark, media in _PICTURES if data.startswith(mark)), None)


def read_file(path: str | Path, most: int) -> bytes:
    """Read a regular file of the user's; a pipe, device or socket is not even opened, for that may block or act.

    Raises:
        LoadError: It is missing, unreadable, or no regular file.
        InputTooLarge: It is over `most` bytes.
    """
    shown = clean(str(path))
    try:
        _check_regular(os.stat(path), shown, most)
        with os.fdopen(os.open(path, os.O_RDONLY | _CAREFUL), "rb") as stream:
            _check_regular(os.fstat(stream.fileno()), shown, most)  # another file may have taken the name since
            data = stream.read(most + 1)
    except InputError:
        raise
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise LoadError(f"The attachment {shown} cannot be read ({why}). Check the path and its rights.") from fault
    if len(data) > most:
        raise _too_large(shown, most)
    return data


def _check_regular(status: os.stat_result, shown: str, most: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise LoadError(f"The attachment {shown} is no regular file. Give a picture, a document, or code.")
    if status.st_size > most:
        raise _too_large(shown, most)


def _too_large(name: str, most: int) -> InputTooLarge:
    return InputTooLarge(f"{name} has more than {most:,} bytes. Give less, or raise MEMORY_BANK_MAX_ATTACHMENT_BYTES.")


def _parsed_kind(name: str, data: bytes) -> Kind | None:
    """What a parser with limits has to read; everything else is text."""
    suffix, opening = PurePosixPath(name).suffix.lower(), data[:1024].lstrip()[:15].lower()
    if data.startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04") and b"word/" in data:
        return "docx"
    return "html" if suffix in _HTML_SUFFIXES or opening.startswith((b"<!doctype html", b"<html")) else None


# --- the store ---------------------------------------------------------------------------------------------------


class AttachmentStore:
    """The files of one task: held until they are recognised, then kept. Each is named by the sha256 of its bytes.

    Args:
        folder: Where they are, 0700, files 0600; None: in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._shelves = _Folder(folder) if folder else _Memory()
        self._lock = threading.RLock()

    def hold(self, data: bytes) -> str:
        """Hold bytes until they are kept or released; done twice it is done once.

        Raises:
            StorageError: They cannot be written.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        with self._lock:
            self._shelves.put("held", sha256, data)
        return sha256

    def keep(self, sha256: str) -> None:
        """Move what is held to what is kept; done twice it is done once.

        Raises:
            StorageError: It is neither held nor kept, or cannot be moved.
        """
        with self._lock:
            if sha256 not in self._shelves.names("kept"):
                if sha256 not in self._shelves.names("held"):
                    raise _missing(sha256)
                self._shelves.move(sha256)

    def read(self, sha256: str) -> bytes:
        """The bytes of what is held or kept. A name that is no sha256 leads nowhere.

        Raises:
            StorageError: They are not there.
            StorageDamagedError: They are not what was stored.
        """
        with self._lock:
            data = self._shelves.get(sha256) if _SHA256.fullmatch(sha256) else None
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
        kind = _parsed_kind(name, data)
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
        return [name for name in self._shelves.names("held") if _SHA256.fullmatch(name)]

    def kept(self) -> list[str]:
        """What stays until the task is erased."""
        return [name for name in self._shelves.names("kept") if _SHA256.fullmatch(name)]

    def drop_all_but(self, named: Collection[str]) -> None:
        """Remove what is kept and nothing names: of a run that was killed between the file and the state.

        Raises:
            StorageError: Something cannot be removed.
        """
        with self._lock:
            self._shelves.remove("kept", [name for name in self._shelves.names("kept") if name not in named])

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._shelves.size


class AttachmentPool:
    """The stores of threads: each in a folder of its own, or those that were active last in memory.

    A thread that holds something is never dropped; one that is idle loses its files when others need the room.
    """

    def __init__(self, folder: Path | None = None, size: int = 16) -> None:
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

    def _folder_of(self, thread: str) -> Path | None:
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


class _Folder:
    """Files in two folders; one is there as a whole or not at all, whenever the process is killed."""

    size = 0

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, place: Place, name: str, data: bytes) -> None:
        with _storage_errors(self._folder):
            folder = self._made(place)
            if (folder / name).exists():
                return
            part = folder / f".{name}.part"
            with open(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | _NO_FOLLOW, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(folder / name)
            _settle(folder)

    def move(self, name: str) -> None:
        with _storage_errors(self._folder):
            kept = self._made("kept")
            (self._folder / "held" / name).replace(kept / name)
            _settle(kept)

    def get(self, name: str) -> bytes | None:
        with _storage_errors(self._folder):
            for place in ("kept", "held"):
                with suppress(FileNotFoundError):
                    return _read_own(self._folder / place / name)
        return None

    def names(self, place: Place) -> list[str]:
        with _storage_errors(self._folder), suppress(FileNotFoundError):
            return sorted(os.listdir(self._folder / place))
        return []

    def remove(self, place: Place, names: Collection[str]) -> None:
        """Overwrite and remove files, among them those whose writing was cut short."""
        with _storage_errors(self._folder):
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
    with os.fdopen(os.open(path, os.O_RDONLY | _NO_FOLLOW | _CAREFUL), "rb") as stream:
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


def _settle(folder: Path) -> None:
    """Have the file system keep a new name."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _storage_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = StorageFullError if error.errno in _FULL else StorageError
        raise kind(f"{folder}: {error.strerror or error}. Free some space or mend its rights, then resume.") from error


def _missing(sha256: str) -> StorageError:
    return StorageError(f"The attachment {clean(id_of(sha256))} is not there any more. Hand it over again.")


# --- reading it back ---------------------------------------------------------------------------------------------


def content(store: AttachmentStore, attachment: Attachment, most: int = SHOWN_BYTES) -> dict[str, Any]:
    """What is in an attachment, for a reader: a picture in base64, a document as its text, code as it stands.

    Args:
        store: Where it is.
        attachment: As an entry names it.
        most: Largest picture that is shown, in bytes.
    """
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


def files_in(artifact: object, most: int) -> list[File]:
    """The files that a tool returned in its artifact: one `{"name", "data", "type"}`, or a list of these.

    Args:
        artifact: Of a tool's message; `data` is bytes, or base64 where it travelled as JSON.
        most: The size limit in bytes; what is over it, and what is of no type that can be read, is left out.
    """
    items = cast("list[object]", artifact) if isinstance(artifact, list) else [artifact]
    return [file for item in items[:MOST] if (file := _brought(item, most))]


def _brought(item: object, most: int) -> File | None:
    fields = cast("Mapping[str, object]", item) if isinstance(item, Mapping) else {}
    name, data = label(fields.get("name")), fields.get("data")
    if not name or not isinstance(data, str | bytes):
        return None
    try:
        return file_of(name, data if isinstance(data, bytes) else _decoded(data, name, most), most)
    except InputError as error:
        _LOG.warning("A file that a tool returned is left out: %s", error)
        return None


def portable(artifact: Any) -> Any:
    """An artifact whose files can be written as JSON: bytes become base64."""
    if isinstance(artifact, list):
        return [portable(item) for item in cast("list[object]", artifact)]
    if isinstance(artifact, Mapping) and isinstance(data := cast("Mapping[str, object]", artifact).get("data"), bytes):
        return {**artifact, "data": base64.b64encode(data).decode()}
    return artifact
