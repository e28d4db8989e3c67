"""Stage 1, the door in: takes what the caller hands over; at each loop start it recalls memory for the planned step."""

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.deps import timestamp, work_progress
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.views import digest, lines
from agentic_memory_bank.nodes.messages import request_in
from agentic_memory_bank.state import insight_doc, interaction_tree
from agentic_memory_bank.state.errors import InputTooLarge, StorageError
from agentic_memory_bank.state.interaction_tree import Entry
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate, PendingAttachment, Recalled
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.long_work import told_to
from agentic_memory_bank.tools.documents.attached_files import AttachedFile, checked_attachments
from agentic_memory_bank.tools.documents.attachments import AttachmentStore
from agentic_memory_bank.tools.documents.loaders import as_documents
from agentic_memory_bank.tools.text.cleaning import checked_text


def adapter_in(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Take in a question with its documents, or enhance the planned step with what memory holds on it.

    Raises:
        InputError: The question or message is empty, a document is not text, or an attachment cannot be used.
        InputTooLarge: The documents together are over `Settings.max_input_characters`, or an attachment is over
            `Settings.max_attachment_bytes`.
        StorageError: The attachments cannot be held.
        SettingsError: A model that the settings name cannot be asked, or is not that of this graph's embeddings.
    """
    now = timestamp(deps.clock(), state.get("now", ""))
    asks = state.get("question") is not None or state.get("messages")
    handed_over = asks or state.get("documents") or state.get("attachments")
    is_waiting = state.get("incoming") and not handed_over
    if not is_waiting and (handed_over or not state.get("insight_doc", {}).get("current")):
        return _take_in(state, runtime, deps, now)
    with told_to(work_progress(runtime, "adapter_in")):
        return {"now": now, "recalled": _recall(state, runtime, deps), **lines(state)}


def _take_in(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps, now: str) -> MemoryBankUpdate:
    settings, messages = Settings.of(runtime), state.get("messages")
    question = checked_text(
        request_in(messages) if messages and not state.get("question") else state.get("question"), "question"
    )
    documents = checked_documents(state.get("documents"), settings)
    deps.encoder.check(settings)
    if deps.engines:
        deps.engines.check(settings)
    if deps.research:
        deps.research.check(settings)
    files = checked_attachments(state.get("attachments"), settings)
    entries = [_entry(position, document, now) for position, document in enumerate(documents)]
    archived = len(state.get("insight_doc", {}).get("archived", []))
    known = state.get("insight_doc", {}).get("id", "")
    given = (*(entry["id"] for entry in entries), *(file.sha256 for file in files))
    doc_id = "i" + digest(question, archived, known, *given)[:12]
    waiting = _held(state, files, deps.files(state, runtime, doc_id))
    return {
        "in_messages": bool(messages),
        "question": None,
        "documents": [],
        "attachments": [],
        "insight_doc": [insight_doc.open_goal(doc_id, question)],
        "interaction_tree": [interaction_tree.append(entry) for entry in entries],
        "now": now,
        "started": deps.clock().timestamp(),
        "incoming": _to_remember(state, entries),
        "waiting": waiting,
        "topics": [],
        "fresh": [],
        "candidates": {},
        "merging": [],
        "verdict": None,
        "recalled": [],
        "result": None,
        "trail": [],
        "degraded": [],
        "answer": "",
        "sources": [],
        "conflicts": [],
        "status": "running",
        "usage": {"calls": 0, "input_tokens": 0, "output_tokens": 0},
        "allowance": {},
        "judge": deps.engines.models_of(settings) if deps.engines else "",
        **lines(state, entries),
    }


def _held(state: MemoryBankState, files: Sequence[AttachedFile], store: AttachmentStore) -> list[PendingAttachment]:
    """Hold what is to be recognised, in place of what waited before; what was recognised before is known."""
    known = {
        attachment["path"]
        for entry in state.get("interaction_tree", {}).get("entries", {}).values()
        for attachment in entry["attachments"]
        if entry["metadata"].get("recognized")
    }
    news = [file for file in files if file.sha256 not in known]
    store.release()
    try:
        for file in news:
            store.stage(file.data)
    except StorageError:
        store.release()
        raise
    return [file.waiting() for file in news]


def checked_documents(documents: Sequence[Any] | None, settings: Settings) -> list[Document]:
    """The documents as they are stored.

    Raises:
        InputError: One is not text.
        InputTooLarge: Together they are over the limit.
    """
    taken = as_documents(documents if documents is not None else [])
    total = sum(len(document.page_content) for document in taken)
    if total > settings.max_input_characters:
        raise InputTooLarge(
            f"The documents hold {total:,} characters, more than the {settings.max_input_characters:,} allowed. "
            "Hand over fewer, or raise MEMORY_BANK_MAX_INPUT_CHARACTERS."
        )
    return taken


def _entry(position: int, document: Document, now: str) -> Entry:
    metadata = {key: value for key, value in document.metadata.items() if key != "source"}
    source = str(document.metadata.get("source") or "input")
    text = document.page_content  # cleaned by `checked_documents`
    return {
        "id": "e" + digest(position, source, sorted(metadata.items(), key=str), text)[:12],
        "kind": "document",
        "text": text,
        "created_at": now,
        "source": source,
        "metadata": metadata,
        "tool_calls": [],
        "attachments": [],
    }


def _to_remember(state: MemoryBankState, entries: Sequence[Entry]) -> list[str]:
    """The new entries, and those an earlier run took in and was stopped before it remembered them."""
    owned = {a["entry"] for node in state.get("query_graph", {}).get("nodes", {}).values() for a in node["anchors"]}
    known = state.get("interaction_tree", {}).get("entries", {})
    waiting = [entry_id for entry_id, entry in known.items() if entry_id not in owned and entry["text"]]
    return list(dict.fromkeys(waiting + [e["id"] for e in entries if e["id"] not in owned]))


def _recall(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> list[Recalled]:
    """What memory holds on the step; the memories of a conflict under validation are always among it."""
    graph, tree, doc = state.get("query_graph", {}), state.get("interaction_tree", {}), state["insight_doc"]
    task = doc.get("current")
    if task is None or task["kind"] == "recognize" or not graph.get("nodes"):
        return []
    query = doc["goal"] if task["kind"] == "answer" else task["description"]
    recalled = deps.index(state, runtime).recall(graph, tree, query, Settings.of(runtime))
    conflict = graph.get("conflicts", {}).get(task["conflict"] or "")
    found = {item["node"] for item in recalled}
    for node_id in conflict["nodes"] if conflict else []:
        if node_id not in found:
            recalled.append({"node": node_id, "score": 0.0, "hit": True, "passages": []})
    return recalled
