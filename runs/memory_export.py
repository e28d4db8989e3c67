"""A user's memories as JSON and back, with all of their history; and as LangChain's documents, for other tools."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypedDict

from agentic_memory_bank.state.errors import ExportError, InputError
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.record_store import RecordStore

if TYPE_CHECKING:
    from langchain_core.documents import Document

FORMAT: Final = "agentic-memory-bank memories"
VERSION: Final = 1


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
        raise ExportError("This is not JSON, or was cut short. Export the memories again.") from None
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise ExportError(f"This is no export of memories (`format` is not '{FORMAT}').")
    if given.get("version") != VERSION:
        raise ExportError("This was written by a newer version of this package. Update the package to import it.")
    if given.get("sha256") != _hash(given.get("events")):
        raise ExportError("The export was changed or damaged: its sha256 does not match. Export the memories again.")
    try:
        stored, erased = records.import_events(user, given["events"])
    except InputError as error:
        raise ExportError(str(error)) from None
    records.backfill_vectors(user)
    return {"stored": stored, "erased": erased}


def as_documents(those: Iterable[Record]) -> "list[Document]":
    """Memories as documents: the text, and all else that is known as metadata, its history among it."""
    from langchain_core.documents import Document

    return [
        Document(record["text"], id=record["id"], metadata={name: record[name] for name in record if name != "text"})
        for record in those
    ]


def documents_json(documents: "Sequence[Document]") -> str:
    """Documents, a line of JSON each."""
    plain = ({"id": one.id, "page_content": one.page_content, "metadata": one.metadata} for one in documents)
    return "".join(f"{_canonical(document)}\n" for document in plain)


def _hash(events: object) -> str:
    return hashlib.sha256(_canonical(events).encode()).hexdigest()


def _canonical(value: Mapping[str, Any] | object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
