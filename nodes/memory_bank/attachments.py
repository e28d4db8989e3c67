"""Recognises attachments: pictures by a model that sees, documents by a parser with limits, code as it stands."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import Engine, Picture, Recognizer
from agentic_memory_bank.nodes.executors import Report
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.prompts.recognize import UNTOLD
from agentic_memory_bank.state.errors import EngineError, LoadError, MemoryBankError, StorageError, ToolError
from agentic_memory_bank.state.insight_doc import Task
from agentic_memory_bank.state.interaction_tree import Attachment
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate, PendingAttachment, Result
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.documents.attached_files import attachment_of, files_in, picture_type
from agentic_memory_bank.tools.documents.attachments import AttachmentStore


class _Told(NamedTuple):
    text: str
    is_recognized: bool = True


def recognize(
    state: MemoryBankState, runtime: Runtime[Settings], task: Task, deps: BankDeps, looked: Report | None = None
) -> MemoryBankUpdate:
    """Turn waiting attachments into raw text, an entry each, and keep their files.

    One that cannot be read fails the step and leaves no entry; the others are remembered all the same. Where nobody
    sees, an entry says so, unless there is one already through which the picture is reached.

    Args:
        looked: What an executor saw in the pictures, where no model of the run sees.

    Raises:
        StorageError: What was recognised cannot be kept.
    """
    store, named = deps.files(state, runtime), _named(state)
    items = [item for item in state.get("waiting", []) if item["id"] in task["attachments"]]
    entries: list[dict[str, Any]] = []
    notes: list[str] = []
    is_whole = True
    for item, said in zip(items, _said(items, store, deps.engine, looked), strict=True):
        if isinstance(said, MemoryBankError):
            notes.append(f"{item['name']} could not be recognised. {said}")
            is_whole = False
            continue
        store.keep(item["sha256"])
        if said.is_recognized or item["sha256"] not in named:
            entries.append(_entry(item, said))
        if not said.is_recognized:
            notes.append(f"{item['name']} is kept, and was not recognised for want of a model that sees.")
    read = [str(entry["source"]) for entry in entries if entry["metadata"]["recognized"]]
    learned = [*([f"Read: {', '.join(read)}."] if read else []), *notes]
    on_the_way = [entry for entry in looked["entries"] if entry["kind"] != "trajectory"] if looked else []
    update: MemoryBankUpdate = {
        "result": {
            "task": task["id"],
            "status": "success" if is_whole else "failure",
            "learned": " ".join(learned),
            "answer": "",
            "sources": [],
            "entries": [*entries, *on_the_way],
            "verdict": None,
        }
    }
    if notes:
        update["degraded"] = [*state.get("degraded", []), *(f"recognize: {note}" for note in notes)]
    return update


def with_attachments(done: Report, store: AttachmentStore, most: int) -> Report:
    """What an executor did, with the files that its tools brought in the store and named by their entries.

    Args:
        done: What it did; an entry has as `brought` what a tool returned besides its text, and `keep` chooses of it.

    Raises:
        ToolError: A file is to be kept that no tool brought.
        StorageError: A file cannot be stored.
    """
    entries: list[dict[str, Any]] = []
    brought = [files_in(entry.get("brought"), most) for entry in done["entries"]]
    kept = _kept(done["keep"], {file.name for files in brought for file in files})
    for entry, each in zip(done["entries"], brought, strict=True):
        files = [file for file in each if kept is None or file.name in kept]
        for file in files:
            store.keep(store.stage(file.data))
        rest = {key: value for key, value in entry.items() if key != "brought"}
        if not str(rest["text"]).strip():
            rest["text"] = f"Returned: {', '.join(file.name for file in files)}." if files else ""
        if rest["text"]:
            entries.append({**rest, "attachments": [file.attachment() for file in files]} if files else rest)
    return {**done, "entries": entries, "keep": None}


def _kept(wanted: Sequence[str] | None, brought: Collection[str]) -> set[str] | None:
    """The names of the files that are worth keeping; None: all of them."""
    if wanted is None:
        return None
    if unknown := sorted(set(wanted).difference(brought)):
        listed = f"Those that came are {', '.join(sorted(brought))}." if brought else "No file came."
        raise ToolError(f"No tool brought a file called {', '.join(unknown)}. {listed}")
    return set(wanted)


def to_recognize(state: MemoryBankState, result: Result, store: AttachmentStore) -> list[PendingAttachment]:
    """The pictures that tools brought in a step and that are to be recognised, each content once in a thread.

    One that an entry names has had its turn, whatever came of it: it is not planned for ever, however often a tool
    returns it.

    Raises:
        StorageError: A picture cannot be read.
    """
    known = _named(state) | {item["sha256"] for item in state.get("waiting", [])}
    found = [attachment for entry in result["entries"] for attachment in entry.get("attachments", [])]
    news = {a["path"]: a for a in found if a["kind"] == "image" and a["path"] not in known}
    return [_waiting(attachment, store) for attachment in news.values()]


def _named(state: MemoryBankState) -> set[str]:
    """List the sha256 of each file that an entry names."""
    entries = state.get("interaction_tree", {}).get("entries", {}).values()
    return {attachment["path"] for entry in entries for attachment in entry["attachments"]}


def _waiting(attachment: Attachment, store: AttachmentStore) -> PendingAttachment:
    sha256 = attachment["path"]
    return {
        "id": attachment["id"],
        "name": attachment["name"],
        "kind": attachment["kind"],
        "type": picture_type(store.read(sha256)) or "",
        "sha256": sha256,
    }


def _said(
    items: Sequence[PendingAttachment], store: AttachmentStore, engine: Engine, looked: Report | None
) -> list[_Told | MemoryBankError]:
    """What each attachment says, or why it cannot be known."""
    found: dict[str, _Told | MemoryBankError] = {}
    pictures: dict[str, Picture] = {}
    for item in items:
        try:
            if item["kind"] == "image":
                pictures[item["id"]] = Picture(item["name"], store.read(item["sha256"]), item["type"])
            else:
                found[item["id"]] = _Told(store.text(item["name"], item["sha256"]))
        except (LoadError, StorageError) as error:
            found[item["id"]] = error
    found.update(_seen(pictures, engine, looked["recognized"] if looked else {}))
    return [found[item["id"]] for item in items]


def sees(engine: Engine) -> bool:
    """Say whether an engine looks at pictures."""
    return isinstance(engine, Recognizer) and engine.sees


def _seen(
    pictures: Mapping[str, Picture], engine: Engine, told: Mapping[str, str]
) -> dict[str, _Told | MemoryBankError]:
    """What each picture shows, by its id: as the engine says, or, where that does not see, an executor."""
    if not (isinstance(engine, Recognizer) and engine.sees):
        return {id: _Told(said) if (said := told.get(id)) else _Told(UNTOLD, is_recognized=False) for id in pictures}
    shown = list(pictures.values())
    said = contract.as_many(engine.recognize(shown), shown) if shown else []
    return {
        id: one if isinstance(one, EngineError) else _Told(contract.text(one))
        for id, one in zip(pictures, said, strict=True)
    }


def _entry(item: PendingAttachment, said: _Told) -> dict[str, Any]:
    return {
        "kind": "document",
        "text": said.text,
        "source": item["name"],
        "metadata": {"recognized": said.is_recognized},
        "attachments": [attachment_of(item)],
    }
