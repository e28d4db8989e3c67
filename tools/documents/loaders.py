"""Turns what a user hands over, files and folders or objects, into LangChain documents that a citation can name."""

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, cast

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage

from agentic_memory_bank.state.errors import InputError, LoadError
from agentic_memory_bank.tools.documents.files import (
    MAX_BYTES,
    BinaryError,
    UnusableError,
    cannot_open,
    decode,
    is_folder,
    read,
    shown,
)
from agentic_memory_bank.tools.documents.parsing import Kind, Parser
from agentic_memory_bank.tools.text.cleaning import clean

_LOG = logging.getLogger(__name__)
_PARSED: dict[str, Kind] = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".dotx": "docx",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
}
_LINES_OF_JSON = (".jsonl", ".ndjson")
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_TEXTS = ("text", "page_content", "content")
_SPEAKERS = ("speaker", "role")
_DATES = ("date", "time", "timestamp", "datetime")
_SESSIONS = ("session", "session_id")
_MESSAGE_TYPES = ("human", "ai", "system", "tool", "function", "developer")
_DEEPEST = 8  # levels of lists in the input, and of values in metadata


class SkippedFile(NamedTuple):
    """A file or folder inside a folder that was not read, and why."""

    path: str
    reason: str


# --- files -------------------------------------------------------------------------------------------------------


def load(path: str | Path, *, max_bytes: int = MAX_BYTES) -> list[Document]:
    """Read one file, or every usable file of a folder; see `load_all`."""
    return load_all([path], max_bytes=max_bytes)


def load_all(
    paths: Iterable[str | Path], *, max_bytes: int = MAX_BYTES, skipped: list[SkippedFile] | None = None
) -> list[Document]:
    """Read files and folders: text, Markdown, HTML, PDF, DOCX, and JSON lines of texts or dialogue turns.

    PDF, Word and HTML files are parsed in a child process with limits. Folders are read to the bottom, in the order
    of their names; hidden files, links to folders, empty files and files of other types are left out.

    Args:
        max_bytes: The size above which a file is refused.
        skipped: Is given what was left out of folders, with the reason (which is logged, too).

    Returns:
        One document per text file, page of a PDF, session of a dialogue, or line of plain JSON texts. Metadata:
        `source` (the path as given) and, where there are such, `page` (from 1) and `pages`, `title`, `author`,
        `line` (from 1), `session`, `date`, and for dialogues `turn_lines` and `turn_starts`: the line in the file
        and the offset in the text of each turn.

    Raises:
        LoadError: A path is missing, unreadable, empty, no regular file, damaged, or in an unknown encoding; or a
            folder holds nothing that can be read.
        InputTooLarge: A file is larger than `max_bytes`.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    documents: list[Document] = []
    with Parser() as parser:
        for path in given:
            if is_folder(Path(path)):
                documents += _load_folder(Path(path), parser, max_bytes, [] if skipped is None else skipped)
            else:
                documents += _load_file(Path(path), parser, max_bytes)
    return documents


def _load_folder(folder: Path, parser: Parser, max_bytes: int, skipped: list[SkippedFile]) -> list[Document]:
    documents: list[Document] = []
    before = len(skipped)
    for path in _files_of(folder, skipped):
        try:
            documents += _load_file(path, parser, max_bytes)
        except (UnusableError, BinaryError) as reason:
            skipped.append(SkippedFile(str(path), str(reason)))
    for path, reason in skipped[before:]:
        _LOG.info("Left out: %s (%s)", path, reason)
    if not documents:
        reasons = "".join(f"\n  {path}: {reason}" for path, reason in skipped[before : before + 5])
        raise LoadError(f"The folder {shown(folder)} holds no file that can be read.{reasons or ' It is empty.'}")
    return documents


def _files_of(folder: Path, skipped: list[SkippedFile]) -> Iterator[Path]:
    def stop(fault: OSError) -> None:
        raise cannot_open(Path(fault.filename or folder), fault) from fault

    for place, folders, files in os.walk(folder, onerror=stop):
        here = Path(place)
        for name in sorted(folders):
            if name.startswith("."):
                skipped.append(SkippedFile(str(here / name), "hidden"))
            elif (here / name).is_symlink():
                skipped.append(SkippedFile(str(here / name), "a link to a folder"))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith("."):
                skipped.append(SkippedFile(str(here / name), "hidden"))
            else:
                yield here / name


def _load_file(path: Path, parser: Parser, max_bytes: int) -> list[Document]:
    name, suffix = shown(path), path.suffix.lower()
    data = read(path, max_bytes)
    kind = _PARSED.get(suffix) or _sniffed(data[:1024], suffix)
    if kind is not None:
        parts = parser.parse(path, kind, name)
        return [Document(clean(part.text), metadata={"source": name} | _cleaned(part.metadata)) for part in parts]
    if data.startswith(_OLD_OFFICE):
        raise UnusableError(f"{name} is in an old Office format. Save it as DOCX or PDF, and load that.")
    text = clean(decode(data, name))
    if not text.strip():
        raise UnusableError(f"{name} holds nothing but white space. Give a file with text.")
    if suffix in _LINES_OF_JSON:
        return _from_json_lines(text, name)
    return [Document(text, metadata={"source": name})]


def _sniffed(head: bytes, suffix: str) -> Kind | None:
    if head.startswith(b"%PDF-"):
        return "pdf"
    opening = head.lstrip()[:15].lower()
    return "html" if not suffix and opening.startswith((b"<!doctype html", b"<html")) else None


# --- lines of JSON -----------------------------------------------------------------------------------------------


class _JsonLine(NamedTuple):
    line: int
    speaker: str  # empty for a plain text
    text: str
    session: str
    date: str
    rest: dict[str, Any]


def _from_json_lines(text: str, name: str) -> list[Document]:
    """Make one document per run of turns in one session, and one per plain text."""
    # Only "\n" ends a line of JSON: `splitlines` would also cut at U+2028, which may stand inside a string.
    rows = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    records = [_record(line, number, name) for number, line in rows]
    spoken = [record for record in records if record.text.strip()]
    if not spoken:
        raise LoadError(f"No line of {name} holds any text. Give objects with speaker and text, or with text alone.")
    runs = groupby(spoken, key=lambda record: (record.session, None if record.speaker else record.line))
    return [_from_records(list(run), name) for _, run in runs]


def _from_records(run: list[_JsonLine], name: str) -> Document:
    first = run[0]
    metadata: dict[str, Any] = {"source": name, "line": first.line}
    metadata |= {key: value for key, value in (("session", first.session), ("date", first.date)) if value}
    if not first.speaker:
        return Document(first.text, metadata=first.rest | metadata)
    turns = [f"{record.speaker}: {record.text}" for record in run]
    starts = [0]
    for turn in turns[:-1]:
        starts.append(starts[-1] + len(turn) + 1)
    metadata |= {"turn_lines": [record.line for record in run], "turn_starts": starts}
    if any(record.date != first.date for record in run):
        metadata["turn_dates"] = [record.date for record in run]
    return Document("\n".join(turns), metadata=metadata)


def _record(line: str, number: int, name: str) -> _JsonLine:
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise LoadError(f"Line {number} of {name} is not JSON ({fault}). Give one JSON object per line.") from fault
    if not isinstance(found, dict):
        raise LoadError(f"Line {number} of {name} is no object. Give objects like {_EXAMPLE}.")
    fields = cast(dict[str, Any], found)
    text = _text_in(fields)
    if text is None:
        raise LoadError(f"Line {number} of {name} has no text. Give objects like {_EXAMPLE}.")
    used = (*_TEXTS, *_SPEAKERS, *_DATES, *_SESSIONS, "source", "line")
    scalars = {key: value for key, value in fields.items() if isinstance(value, str | int | float | bool)}
    rest = {clean(key): value for key, value in scalars.items() if key not in used}
    if "source" in scalars:
        rest["origin"] = scalars["source"]
    date = " ".join(_line(fields[key]) for key in _DATES if fields.get(key) not in (None, ""))
    return _JsonLine(number, _speaker(fields), clean(text), _first(fields, _SESSIONS), date, _cleaned(rest))


_EXAMPLE = '{"speaker": "Ann", "text": "Hello"}'


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((_line(fields[name]) for name in names if fields.get(name) not in (None, "")), "")


def _line(value: object) -> str:
    return " ".join(clean(str(value)).split())


def _speaker(fields: Mapping[str, Any]) -> str:
    kind = fields.get("type")
    return _first(fields, _SPEAKERS) or (str(kind) if kind in _MESSAGE_TYPES and "content" in fields else "")


def _text_in(fields: Mapping[str, Any]) -> str | None:
    """Return the text of an object, or `None`; chat models also write it as null, or as a list of parts."""
    named = [fields[name] for name in _TEXTS if name in fields]
    value = next((value for value in named if value is not None), "" if named else None)
    if isinstance(value, list):
        parts = [cast(dict[str, Any], part) for part in cast(list[object], value) if isinstance(part, dict)]
        return "\n".join(str(part["text"]) for part in parts if "text" in part)
    return value if isinstance(value, str) else None


# --- objects -----------------------------------------------------------------------------------------------------


class StoredDocument(dict[str, Any]):
    """A document as `as_documents` made it, as plain data: cleaned before, it is taken as it is.

    Only code of this package makes one. What comes back from a checkpoint, a ledger or a request is a mapping like any
    other, and is cleaned.
    """

    @classmethod
    def of(cls, document: Document) -> "StoredDocument":
        """A loaded or converted document as plain data."""
        return cls(text=document.page_content, metadata=document.metadata)


def as_documents(items: object) -> list[Document]:
    """Turn what a graph takes as its input into documents; strings are texts and never paths.

    Args:
        items: Strings, dicts (`text` or `page_content`, and perhaps `source`, `title`, `date`, `session` and
            `metadata`; or `role` and `content`), LangChain documents and messages, or lists of these.

    Returns:
        Copies, cleaned, with plain metadata that has a `source` (`document 1`, ... where none is given). A message
        becomes `speaker: text`; one that only calls tools is left out.

    Raises:
        InputError: Something is of another type, or has no text.
    """
    documents: list[Document] = []
    for place, item in _flat(items, "", 0):
        document = _as_document(item, place or "documents")
        if document is not None:
            document.metadata.setdefault("source", f"document {len(documents) + 1}")
            documents.append(document)
    return documents


def _flat(items: object, place: str, depth: int) -> Iterator[tuple[str, object]]:
    if not isinstance(items, list | tuple):
        yield place, items
        return
    if depth == _DEEPEST:
        raise InputError(f"documents{place} is a list inside too many lists. Give a flat list of documents.")
    for index, item in enumerate(cast(list[object], items)):
        yield from _flat(item, f"{place}[{index}]", depth + 1)


def _as_document(item: object, place: str) -> Document | None:
    where = place if place == "documents" else f"documents{place}"
    if isinstance(item, str):
        return _document(item, {}, where)
    if isinstance(item, StoredDocument):
        return Document(item["text"], metadata=dict(item["metadata"]))
    if isinstance(item, Document):
        return _document(item.page_content, item.metadata, where)
    if isinstance(item, BaseMessage):
        return _from_message(item, where)
    if isinstance(item, dict):
        return _from_dict(cast(dict[str, Any], item), where)
    raise InputError(
        f"{where} is of type {type(item).__name__}, which is no document. "
        "Give a string, a dict with `text`, a LangChain Document or message, or a list of these."
    )


def _from_message(message: BaseMessage, where: str) -> Document | None:
    text = str(message.text)
    if not text.strip() and getattr(message, "tool_calls", None):
        return None
    metadata = {"role": message.type} | ({"message_id": message.id} if message.id else {})
    return _document(text, metadata, where, speaker=message.name or message.type)


_SAID_OF_ITSELF = ("title", "date", "session")
"""What a mapping may say of itself beside its text, without wrapping it in `metadata`."""


def _from_dict(fields: dict[str, Any], where: str) -> Document:
    text = _text_in(fields)
    if text is None:
        raise InputError(f"{where} is a dict without a `text`, `page_content` or `content` that is a string.")
    metadata: object = fields.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise InputError(f"The `metadata` of {where} is of type {type(metadata).__name__}. Give a dict.")
    said = {name: fields[name] for name in _SAID_OF_ITSELF if fields.get(name)}
    source = {"source": str(fields["source"])} if fields.get("source") else {}
    return _document(text, {**said, **cast(Mapping[str, Any], metadata), **source}, where, speaker=_speaker(fields))


def _document(text: str, metadata: Mapping[str, Any], where: str, *, speaker: str = "") -> Document:
    cleaned = clean(text)
    if not cleaned.strip():
        raise InputError(f"{where} has no text. Leave it out, or give one.")
    return Document(f"{_line(speaker)}: {cleaned}" if speaker else cleaned, metadata=_cleaned(metadata))


def _cleaned(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {_text_of(key, "key"): _value(key, value) for key, value in metadata.items()}


def _value(key: object, value: object) -> object:
    try:
        return _plain(value, 0)
    except InputError as refused:
        raise InputError(f"The metadata {_text_of(key, 'key')!r} cannot be kept. {refused}") from refused.__cause__


def _plain(value: object, depth: int) -> object:
    """Copy a value as data that every store can write: what is none becomes its text."""
    value = _number(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value)  # of a type of its own, such as numpy's, it could not be written
    if isinstance(value, int) and abs(value) < 1 << 63:
        return int(value)
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in cast(list[object], value)]
    if depth < _DEEPEST and isinstance(value, Mapping):
        pairs = cast(Mapping[object, object], value).items()
        return {_text_of(key, "key"): _plain(item, depth + 1) for key, item in pairs}
    return _text_of(value, "value")


def _number(value: object) -> object:
    """A number of numpy as Python's own; whatever else has a `dtype` stays what it is."""
    dtype = getattr(value, "dtype", None)
    is_number = getattr(dtype, "kind", None) in ("b", "i", "u", "f") and getattr(value, "shape", None) == ()
    return cast(Any, value).item() if is_number else value


def _text_of(value: object, what: str) -> str:
    try:
        return clean(str(value))
    except RecursionError:
        raise InputError(f"A {what} in a document's metadata is nested too deeply. Give flat metadata.") from None
    except Exception as fault:  # it is anybody's, and Python itself writes no number of more than 4300 digits
        kind = type(value).__name__
        refused = f"A {what} in a document's metadata is of type {kind} and has no text ({fault}). Give text."
        raise InputError(refused) from fault
