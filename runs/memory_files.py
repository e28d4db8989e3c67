"""A user's memories in files: as JSON and back with all of their history, as LangChain's documents, as Markdown.

In Markdown one file is a subject and one line a memory, its id in a comment behind it.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

from agentic_memory_bank.nodes.react_mem.episodes import is_episode
from agentic_memory_bank.state.errors import ExportError, InputError
from agentic_memory_bank.state.records import Record, RecordType
from agentic_memory_bank.tools.memories.record_store import KEEP_SECONDS, RecordStore
from agentic_memory_bank.tools.text.attribution import USER

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from pandas import DataFrame

    from agentic_memory_bank.runs.memories import Memories

SHOWN: Final[tuple[RecordType, ...]] = ("semantic", "procedural", "episodic", "reflective")
"""The types of memories that have lines; turns are evidence, and no text to be edited."""
OWN: Final = "me"
"""The file of what is about the user, or about nobody that is named."""
LONGEST_NAME: Final = 60
"""Characters of a file's name."""

_LINE: Final = re.compile(r"[-*] (?P<text>\S[^\n]*)")
_ID: Final = re.compile(r"<!-- (?P<id>m[0-9a-f]{31}) -->\Z")
_UNFIT: Final = re.compile(r"[^\w-]+")
_HEADING: Final = re.compile(r"# (?P<subject>\S[^\n]*)")


class MemoryLine(NamedTuple):
    """A line of a file that is a memory, or is to become one."""

    text: str
    id: str
    """Empty for a line that somebody has written."""


def current(memories: "Memories", user: str, project: str) -> list[Record]:
    """The memories of a user and project that have lines, the oldest first."""
    found: list[Record] = []
    cursor: str | None = None
    while True:
        page = memories.list(user=user, project=project, types=SHOWN, limit=100, cursor=cursor)
        found += (record for record in page.records if not is_episode(record))
        cursor = page.cursor
        if cursor is None:
            return sorted(found, key=lambda record: (record["created_at"], record["id"]))


def shown(text: str) -> str:
    """A memory on one line; what looks like a comment in it is none."""
    return " ".join(text.replace("<!--", "< !--").split())


def mark(text: str) -> str:
    """By what a line is known that was written before: no word of it."""
    return hashlib.sha256(shown(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def file_name(subject: str | None) -> str:
    """The name of a subject's file; two subjects have never the same."""
    if subject is None or subject == USER:
        return f"{OWN}.md"
    plain = _UNFIT.sub("-", subject).strip("-").casefold()[:LONGEST_NAME]
    is_exact = plain == subject and plain not in (OWN, "")
    if is_exact:
        return f"{plain}.md"
    told_apart = hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain or 'about'}-{told_apart}.md"


def subject_in(name: str, text: str) -> str | None:
    """What a file is about: what its heading says, or else its name."""
    stem = name.removesuffix(".md")
    if stem == OWN:
        return None
    headed = next((found["subject"] for line in text.splitlines() if (found := _HEADING.fullmatch(line.strip()))), "")
    return headed.strip() or stem


def parsed(text: str) -> list[MemoryLine]:
    """The memories of a file, in their order; all else in it is the user's own."""
    return [line for line in map(_memory, text.splitlines()) if line is not None]


def updated(text: str, subject: str | None, records: Mapping[str, Record], more: Sequence[Record]) -> str:
    """A file as it should read: each memory as it is, those that are gone left out, what else stands in it untouched.

    Args:
        text: The file as it reads; empty where there is none.
        subject: What it is about.
        records: What its lines say, by their ids; a line of another id goes.
        more: Memories that it lacks.
    """
    lines = text.splitlines() if text.strip() else [f"# {shown(subject or 'Me')}", ""]
    kept: list[str] = []
    met = set[str]()
    for line in lines:
        found = _memory(line)
        if found is None or not found.id:
            kept.append(line)
        elif found.id in records and found.id not in met:
            kept.append(_line(records[found.id]))
            met.add(found.id)
    return "\n".join([*kept, *map(_line, more)]) + "\n"


def named(text: str, ids: Iterable[tuple[str, str]]) -> str:
    """A file in which lines that somebody has written have become memories.

    Args:
        ids: The text of each such line, and the id it has now.
    """
    known = dict(ids)
    lines: list[str] = []
    for line in text.splitlines():
        found = _memory(line)
        is_new = found is not None and not found.id and found.text in known
        lines.append(f"{line.rstrip()} <!-- {known[found.text]} -->" if found is not None and is_new else line)
    return "\n".join(lines) + "\n"


def _memory(line: str) -> MemoryLine | None:
    found = _LINE.fullmatch(line.rstrip())
    if found is None:
        return None
    behind = _ID.search(found["text"])
    text = shown(found["text"][: behind.start()] if behind else found["text"])
    return MemoryLine(text, behind["id"] if behind else "") if text else None


def _line(record: Record) -> str:
    return f"- {shown(record['text'])} <!-- {record['id']} -->"


FORMAT: Final = "agentic-memory-bank memories"
VERSION: Final = 1
_OTHERS: Final = "What another program exported is taken in with its name: `--from`, in code `import_from`."


class ImportReport(TypedDict):
    """What an import has done."""

    stored: Sequence[str]
    """Ids of the memories that are new here."""
    erased: Sequence[str]
    """Ids of those that are gone here since they were forgotten where the export comes from."""


def exported(records: RecordStore, user: str) -> str:
    """A user's memories as JSON: every event of each, and which were forgotten; the same text for the same memories."""
    events = list(records.export_events(user))
    head = f'"format":"{FORMAT}","version":{VERSION},"sha256":"{_hash(events)}"'
    return f'{{{head},"events":{_canonical(events)}}}\n'  # what it is, first: a file is told by how it begins


def imported(records: RecordStore, user: str, text: str) -> ImportReport:
    """Take an export in, whole or not at all; done twice, it is done once.

    Raises:
        ExportError: It is foreign, damaged, or newer than this package.
    """
    try:
        given: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise ExportError(f"This is not JSON, or was cut short. Export the memories again. {_OTHERS}") from None
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise ExportError(f"This is no export of memories (`format` is not '{FORMAT}'). {_OTHERS}")
    if given.get("version") != VERSION:
        raise ExportError("This was written by a newer version of this package. Update the package to import it.")
    if given.get("sha256") != _hash(given.get("events")):
        raise ExportError("The export was changed or damaged: its sha256 does not match. Export the memories again.")
    try:
        stored, erased = records.import_events(user, given["events"])
    except InputError as error:
        raise ExportError(str(error)) from None
    records.backfill_vectors(user)
    records.flush(KEEP_SECONDS)
    return {"stored": stored, "erased": erased}


def as_documents(those: Iterable[Record]) -> "list[Document]":
    """Memories as documents: the text, and all else that is known as metadata, its history among it."""
    from langchain_core.documents import Document

    return [
        Document(record["text"], id=record["id"], metadata={name: record[name] for name in record if name != "text"})
        for record in those
    ]


def as_dataframe(those: Iterable[Record]) -> "DataFrame":
    """Memories as a table: a row each, by their ids, times as times.

    Raises:
        InputError: pandas is not installed.
    """
    try:
        from pandas import DataFrame, to_datetime
    except ImportError:
        raise InputError('A table needs pandas: pip install "agentic-memory-bank[pandas]".') from None
    table = DataFrame.from_records([dict(record) for record in those], columns=list(Record.__annotations__))
    for name in ("created_at", "updated_at", "expires_at", "used_at", "replaced_at", "pinned_at"):
        table[name] = to_datetime(table[name], utc=True)
    return table.set_index("id")


def documents_json(documents: "Sequence[Document]") -> str:
    """Documents, a line of JSON each."""
    plain = ({"id": one.id, "page_content": one.page_content, "metadata": one.metadata} for one in documents)
    return "".join(f"{_canonical(document)}\n" for document in plain)


def as_markdown(documents: "Sequence[Document]") -> str:
    """What holds now, a line each with its day, the oldest first: `--from markdown` takes it in again."""
    now = [one for one in reversed(documents) if one.metadata["replaced_by"] is None]
    return "".join(f"- {one.metadata['created_at'][:10]}: {shown(one.page_content)}\n" for one in now)


def as_mem0(documents: "Sequence[Document]") -> str:
    """What holds now, as mem0 lists its memories."""
    results = [
        {
            "id": one.id,
            "memory": one.page_content,
            "created_at": one.metadata["created_at"],
            "updated_at": one.metadata["updated_at"],
            "metadata": one.metadata["metadata"],
        }
        for one in documents
        if one.metadata["replaced_by"] is None
    ]
    return json.dumps({"results": results}, indent=1) + "\n"


def _hash(events: object) -> str:
    return hashlib.sha256(_canonical(events).encode()).hexdigest()


def _canonical(value: Mapping[str, Any] | object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
