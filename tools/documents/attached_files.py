"""Checks pictures and files that are handed over: names, sizes, and the kind of each by its content."""

import base64
import binascii
import hashlib
import logging
import os
import stat
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast

from agentic_memory_bank.state.errors import (
    InputError,
    InputTooLarge,
    LoadError,
)
from agentic_memory_bank.state.interaction_tree import Attachment, AttachmentKind
from agentic_memory_bank.state.memory_bank import PendingAttachment
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.documents.files import decode
from agentic_memory_bank.tools.documents.parsing import Kind
from agentic_memory_bank.tools.text.cleaning import clean

MOST: Final = 32
"""How many attachments one question may have."""
NAME_CHARACTERS: Final = 255
_LOG = logging.getLogger(__name__)
CAREFUL = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)

_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)

DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_TYPES: dict[Kind, str] = {"pdf": "application/pdf", "docx": DOCX, "html": "text/html"}
_HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})

_CODE_SUFFIXES = (
    ".asm .bash .bat .c .cc .clj .cljs .cmake .cpp .cs .css .cu .cxx .dart .ex .exs .erl .f90 .fs .go .gradle .graphql"
    " .groovy .h .hh .hpp .hs .ini .java .jl .js .jsx .kt .kts .less .lua .m .mjs .ml .nim .php .pl .proto .ps1 .py"
    " .pyi .r .rb .rs .scala .scss .sh .sol .sql .svelte .svg .swift .tcl .tex .tf .toml .ts .tsx .vb .vue .xml .yaml"
    " .yml .zig .zsh"
)

_CODE = frozenset(_CODE_SUFFIXES.split())


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A checked attachment."""

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

    def waiting(self) -> PendingAttachment:
        """How the state names it until it is recognised."""
        sha256 = self.sha256
        return {"id": id_of(sha256), "name": self.name, "kind": self.kind, "type": self.type, "sha256": sha256}

    def attachment(self) -> Attachment:
        """How an entry names it."""
        return attachment_of(self.waiting())


def id_of(sha256: str) -> str:
    """The id of an attachment: by its content, so that the same file has the same id."""
    return "a" + sha256[:12]


def attachment_of(waiting: PendingAttachment) -> Attachment:
    """Name a recognised attachment for its entry."""
    return {"id": waiting["id"], "name": waiting["name"], "kind": waiting["kind"], "path": waiting["sha256"]}


def checked_attachments(given: object, settings: Settings) -> list[AttachedFile]:
    """The attachments of a question, each once.

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
    found: dict[str, AttachedFile] = {}
    for position, item in enumerate(items):
        file = _checked(item, f"attachments[{position}]", settings.max_attachment_bytes)
        found.setdefault(file.sha256, file)
    return list(found.values())


def _checked(item: object, where: str, most: int) -> AttachedFile:
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


def file_of(name: str, data: bytes, most: int) -> AttachedFile:
    """A file with its kind: an image, a document, or code.

    Args:
        name: Its label; the suffix tells code from prose, and Word files from other archives.
        data: Its bytes, which tell the rest.

    Raises:
        InputError: It is empty, or binary and of no type that can be read.
        InputTooLarge: It is over the limit.
    """
    if len(data) > most:
        raise _too_large(name, most)
    if picture := picture_type(data):
        return AttachedFile(name, data, "image", picture)
    if kind := parsed_kind(name, data):
        return AttachedFile(name, data, "document", _TYPES[kind])
    try:
        text = decode(data, name)
    except LoadError as error:
        raise InputError(f"{error} Attachments are PNG, JPEG, GIF or WebP pictures, documents, and code.") from error
    if not text.strip():
        raise InputError(f"{name} is empty. Leave it out, or give a file with something in it.")
    is_code = PurePosixPath(name).suffix.lower() in _CODE
    return AttachedFile(name, data, "code" if is_code else "document", "text/plain")


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
        with os.fdopen(os.open(path, os.O_RDONLY | CAREFUL), "rb") as stream:
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


def parsed_kind(name: str, data: bytes) -> Kind | None:
    """What a parser with limits has to read; everything else is text."""
    suffix, opening = PurePosixPath(name).suffix.lower(), data[:1024].lstrip()[:15].lower()
    if data.startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04") and b"word/" in data:
        return "docx"
    return "html" if suffix in _HTML_SUFFIXES or opening.startswith((b"<!doctype html", b"<html")) else None


def files_in(artifact: object, most: int) -> list[AttachedFile]:
    """The files that a tool returned in its artifact: one `{"name", "data", "type"}`, or a list of these.

    Args:
        artifact: Artifact of a tool's message; `data` is bytes, or base64 where it travelled as JSON.
        most: The size limit in bytes; what is over it, and what is of no type that can be read, is left out.
    """
    items = cast("list[object]", artifact) if isinstance(artifact, list) else [artifact]
    return [file for item in items[:MOST] if (file := _brought(item, most))]


def _brought(item: object, most: int) -> AttachedFile | None:
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
    """Make an artifact that can be written as JSON: bytes become base64."""
    if isinstance(artifact, list):
        return [portable(item) for item in cast("list[object]", artifact)]
    if isinstance(artifact, Mapping) and isinstance(data := cast("Mapping[str, object]", artifact).get("data"), bytes):
        return {**artifact, "data": base64.b64encode(data).decode()}
    return artifact
