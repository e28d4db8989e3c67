"""Memory as one JSON file and back: schema-versioned, with a sha256 inside, taken in whole or not at all."""

import base64
import hashlib
import json
import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NotRequired, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.nodes.deps import timestamp, utc_now
from agentic_memory_bank.runs.home import EXPORT_FORMAT, Home, checked_export, checked_thread, lease
from agentic_memory_bank.runs.homes import home_at, ledger_of, saver_of
from agentic_memory_bank.runs.ledger import Run
from agentic_memory_bank.state.errors import ExportError, InputError, RunError, StorageDamagedError, UnknownThreadError
from agentic_memory_bank.state.insight_doc import InsightDoc
from agentic_memory_bank.state.interaction_tree import InteractionTree
from agentic_memory_bank.state.memory_bank import AnswerSource, MemoryBankState, RunStatus
from agentic_memory_bank.state.query_graph import QueryGraph
from agentic_memory_bank.tools.documents.attachments import SHA256, AttachmentStore, AttachmentStores
from agentic_memory_bank.tools.storage.disk import write_whole

VERSION = 1
"""Version of an export without files, which every version of this package reads."""
VERSION_WITH_FILES = 2

_log = logging.getLogger("agentic_memory_bank")


class ExportedMemory(TypedDict):
    """The content of an export: the three layers and the last outcome; nothing temporary, and no vectors."""

    insight_doc: InsightDoc
    query_graph: QueryGraph
    interaction_tree: InteractionTree
    answer: str
    sources: list[AnswerSource]
    conflicts: list[dict[str, Any]]
    status: RunStatus
    now: str
    embeddings: str
    attachments: NotRequired[dict[str, str]]
    """The files that entries name, in base64, by the sha256 of their bytes."""


class _File(TypedDict):
    format: str
    version: int
    sha256: str
    memory: ExportedMemory


def canonical(value: object) -> bytes:
    """Write JSON in one way only, so that equal memories are equal bytes."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8")


def memory_digest(state: Mapping[str, Any]) -> str:
    """Compute the sha256 of the three layers: equal for runs that ended with the same memory."""
    layers = ("insight_doc", "query_graph", "interaction_tree")
    return hashlib.sha256(canonical({layer: state.get(layer, {}) for layer in layers})).hexdigest()


def files_of(thread: str, home: Home) -> AttachmentStore:
    """Open the attachment store of a thread."""
    return AttachmentStores(home.attachments(thread)).of(thread)


def write_export(
    path: Path, thread: str, state: Mapping[str, Any], embeddings: str, store: AttachmentStore | None = None
) -> None:
    """Write the memory of a thread to a file, 0600; the file is complete or not there.

    Args:
        state: State of the thread, as `read_state` gives it.
        store: Attachment store with the files that entries name. What still waits to be recognised is not exported.

    Raises:
        StorageError: The file cannot be written.
    """
    write_whole(path, exported(state, embeddings, store), part_of(path, thread))


def exported(state: Mapping[str, Any], embeddings: str, store: AttachmentStore | None = None) -> bytes:
    """Write the memory of a state as the content of an export. Arguments as for `write_export`."""
    memory: dict[str, Any] = {
        "insight_doc": state.get("insight_doc", {}),
        "query_graph": state.get("query_graph", {}),
        "interaction_tree": state.get("interaction_tree", {}),
        "answer": state.get("answer", ""),
        "sources": state.get("sources", []),
        "conflicts": state.get("conflicts", []),
        "status": state.get("status", "running"),
        "now": state.get("now", ""),
        "embeddings": embeddings,
    }
    version = VERSION
    if store and (files := _files(memory["interaction_tree"], store)):
        version, memory["attachments"] = VERSION_WITH_FILES, files
    digest = hashlib.sha256(canonical(memory)).hexdigest()
    content = canonical({"format": EXPORT_FORMAT, "version": version, "sha256": digest, "memory": memory})
    return content + b"\n"


def _files(tree: InteractionTree, store: AttachmentStore) -> dict[str, str]:
    """Read the files that entries name, in base64. A damaged one is left out, so that the rest can be exported."""
    found: dict[str, str] = {}
    for sha256 in sorted(named_files(tree) & set(store.kept())):
        try:
            found[sha256] = base64.b64encode(store.read(sha256)).decode()
        except StorageDamagedError as error:
            _log.warning("An attachment is left out of the export: %s", error)
    return found


def named_files(tree: InteractionTree) -> set[str]:
    """List the sha256 of each file that an entry names."""
    return {a["path"] for entry in tree.get("entries", {}).values() for a in entry["attachments"]}


def part_of(path: Path, thread: str) -> Path:
    """Name the file that an export is written to first: the same for a thread each time, so none is left behind."""
    return path.with_name(f".{path.name}.{hashlib.sha256(thread.encode()).hexdigest()[:12]}.part")


def read_export(path: Path) -> ExportedMemory:
    """Read and check an export.

    Raises:
        ExportError: The file is foreign, damaged, newer than this package, or breaks an invariant of memory.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # to open a pipe is to wait for its writer
            raise ExportError(f"{str(path)!r} cannot be read: it is a pipe, socket or device. Give a regular file.")
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ExportError(f"{str(path)!r} cannot be read: {why}. Give a file that an export wrote.") from None
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        raise ExportError(f"{path} is not JSON, or was cut short. Export the memory again.") from None
    if not isinstance(content, dict) or content.get("format") != EXPORT_FORMAT:
        raise ExportError(f"{path} is no export of this package (`format` is not '{EXPORT_FORMAT}').")
    if content.get("version") not in (VERSION, VERSION_WITH_FILES):
        raise ExportError(f"{path} was written by a newer version of this package. Update the package to import it.")
    if not _is_intact(content, raw):
        raise ExportError(f"{path} was changed or damaged: its sha256 does not match. Export the memory again.")
    try:
        memory = _adapter().validate_python(content, strict=True)["memory"]
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise ExportError(f"{path} does not hold a memory: {where} is not what it should be.") from None
    has_files = content["version"] == VERSION_WITH_FILES
    if has_files != ("attachments" in memory):
        raise ExportError(f"{path} does not hold a memory: its version is not that of its content.")
    _check_references(memory, path)
    _check_files(memory, path)
    return memory


def _is_intact(content: dict[str, Any], raw: bytes) -> bool:
    """Ask whether the file is, byte for byte, what an export writes for its content."""
    try:
        digest = hashlib.sha256(canonical(content.get("memory"))).hexdigest()
        return digest == content.get("sha256") and raw == canonical(content) + b"\n"
    except (ValueError, RecursionError):
        return False


def export_thread(thread: str, path: str | Path, *, home: str | Path | None = None) -> None:
    """Write the memory of a kept thread, or of an unfinished run, to a file.

    Raises:
        UnknownThreadError: Nothing is known of the thread.
        ThreadBusyError: The thread is being run right now.

    Example:
        >>> export_thread("observatory", "memory.json")
        >>> import_thread("memory.json", thread="copy")
    """
    place_of_file = checked_export(path)
    if place_of_file is None:
        raise InputError("An export needs the name of a file.")
    place = home_at(home).prepare()
    found = ledger_of(place).get(checked_thread(thread))
    with lease(place, thread):
        store = files_of(thread, place)
        write_export(place_of_file, thread, read_state(thread, home=home), found.embeddings, store)


def read_state(thread: str, *, home: str | Path | None = None) -> MemoryBankState:
    """Read the state of a thread as it was saved last.

    Raises:
        UnknownThreadError: Nothing is known of the thread.
    """
    place = home_at(home).prepare()
    found = ledger_of(place).get(checked_thread(thread))
    if not found.keep and not found.is_unfinished and not place.holds(thread):
        raise UnknownThreadError(f"The thread '{thread}' is erased; `memory-bank gc` removes what is left of its row.")
    place.make_folder(thread)
    with saver_of(place, thread) as saver:
        snapshot = build_memory_bank(checkpointer=saver).get_state(_config(thread))
    if snapshot.created_at is None and (found.state != "accepted" or found.continues):
        raise lost(thread)
    return cast("MemoryBankState", snapshot.values)


def lost(thread: str) -> StorageDamagedError:
    """Make the error for a thread that the ledger knows and the disk does not."""
    return StorageDamagedError(
        f"The checkpoints of the thread '{thread}' are lost. Clear it, and ask again or import an export."
    )


def check_is_kept(thread: str, place: Home) -> None:
    """Check that what a thread kept is still there, without making anything.

    Raises:
        StorageDamagedError: The memory is lost or damaged.
    """
    if place.has_folders and not place.checkpoints(thread).exists():
        raise lost(thread)
    with saver_of(place, thread) as saver:
        if saver.get_tuple(_config(thread)) is None:
            raise lost(thread)


def import_thread(path: str | Path, thread: str, *, home: str | Path | None = None) -> None:
    """Import a file as a new kept thread: as a whole, or not at all.

    Raises:
        ExportError: The file cannot be used.
        RunError: There is a thread of this name already.
    """
    memory = read_export(Path(path))
    place = home_at(home).prepare()
    ledger = ledger_of(place)
    with lease(place, checked_thread(thread)):
        if ledger.knows(thread):
            raise RunError(f"There is a thread '{thread}' already. Import under another name, or clear it first.")
        if place.has_folders and place.holds(thread) and not place.is_half(place.folder(thread)):
            raise RunError(
                f"There is a folder of a thread '{thread}' already. Import under another name, or clear it first."
            )
        place.clear(thread)  # what an import that was killed left behind
        place.make_folder(thread)
        try:
            place.begin_import(thread)
            _restore_files(memory, files_of(thread, place))
            _store(memory, thread, place)
            ledger.write(_imported(memory, thread))
            place.end_import(thread)
        except BaseException:
            place.clear(thread)
            raise


def _restore_files(memory: ExportedMemory, store: AttachmentStore) -> None:
    for data in memory.get("attachments", {}).values():
        store.keep(store.stage(base64.b64decode(data)))


def _store(memory: ExportedMemory, thread: str, place: Home) -> None:
    values: dict[str, Any] = {
        "insight_doc": Overwrite(memory["insight_doc"]),
        "query_graph": Overwrite(memory["query_graph"]),
        "interaction_tree": Overwrite(memory["interaction_tree"]),
        **{key: memory[key] for key in ("answer", "sources", "conflicts", "status", "now")},
    }
    with saver_of(place, thread) as saver:
        build_memory_bank(checkpointer=saver).update_state(_config(thread), values, as_node="adapter_out")


def _imported(memory: ExportedMemory, thread: str) -> Run:
    now = timestamp(utc_now())
    return Run(
        thread=thread,
        state="finished",
        question=memory["insight_doc"].get("goal", ""),
        documents=[],
        settings={},
        engine="import",
        embeddings=memory["embeddings"],
        keep=True,
        export=None,
        status=memory["status"],
        continues=True,
        created_at=now,
        updated_at=now,
    )


def _config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}


def _check_files(memory: ExportedMemory, path: Path) -> None:
    """Check that every file is named by the hash of its content, as an export names them."""
    for sha256, data in memory.get("attachments", {}).items():
        try:
            is_sound = hashlib.sha256(base64.b64decode(data, validate=True)).hexdigest() == sha256
        except ValueError:
            is_sound = False
        if not is_sound:
            raise ExportError(f"{path} was changed or damaged: an attachment is not what its sha256 says.")
    for entry in memory["interaction_tree"].get("entries", {}).values():
        entry["attachments"] = [a for a in entry["attachments"] if SHA256.fullmatch(a["path"])]


def _check_references(memory: ExportedMemory, path: Path) -> None:
    """Check that every anchor, edge and id leads somewhere, so that reading the memory cannot fail later."""
    graph, entries = memory["query_graph"], memory["interaction_tree"].get("entries", {})
    nodes, related = graph.get("nodes", {}), graph.get("related", {})
    anchors = [a for node in nodes.values() for a in node["anchors"]]
    for conflict in graph.get("conflicts", {}).values():
        for contradiction in conflict["contradictions"]:
            anchors += [claim["anchor"] for claim in contradiction["claims"]]
            anchors += contradiction.get("evidence", [])
    sound = (
        all(a["entry"] in entries and 0 <= a["start"] <= a["end"] <= len(entries[a["entry"]]["text"]) for a in anchors)
        and all(node["id"] == node_id for node_id, node in nodes.items())
        and all(entry["id"] == entry_id for entry_id, entry in entries.items())
        and set(related) == set(nodes)
        and all(a != b and b in nodes and a in related[b] for a, others in related.items() for b in others)
    )
    if not sound:
        raise ExportError(f"{path} does not hold a memory: an id in it leads nowhere.")


@cache
def _adapter() -> TypeAdapter[_File]:
    return TypeAdapter(_File)
