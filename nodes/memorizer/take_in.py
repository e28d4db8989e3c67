"""Stage 1, the door: texts become drafts of pages, long ones cut, and those that the memory has are left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, cast

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import Span
from agentic_memory_bank.nodes.deps import timestamp
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.nodes.messages import pages_in_words, request_in
from agentic_memory_bank.nodes.page_deps import UNNAMED, PageDeps
from agentic_memory_bank.state import memorizer
from agentic_memory_bank.state.errors import InputError, InputTooLarge
from agentic_memory_bank.state.memorizer import (
    MemorizerOutput,
    MemorizerState,
    MemorizerUpdate,
    PendingPage,
    SkippedText,
)
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.documents.loaders import as_documents
from agentic_memory_bank.tools.pages.store import PageStore, page_id
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.tokens import estimate_tokens, passages

UNITS_PER_PAGE = 2
"""A paragraph longer than this part of a page may be cut, between two sentences, so that pages are filled."""
_SPEAKERS = ("role", "speaker")
_OF_A_TURN = ("role", "message_id")
_BY_TURN = ("turn_lines", "turn_starts", "turn_dates")
"""Lists of a loaded dialogue that have an item for each turn."""


@dataclass(frozen=True, slots=True)
class _Source:
    """One text as it came."""

    text: int
    document: Document
    is_turn: bool
    """Whether it is one message, which goes with those around it."""


def take_in(state: MemorizerState, runtime: Runtime[Settings], deps: PageDeps) -> MemorizerUpdate:
    """Cut the input into pages, and leave out empty and known ones.

    Raises:
        InputError: The memory has no name, or something that is handed over is no text.
        InputTooLarge: The texts together are over `Settings.max_input_characters`.
        StorageError: The memory cannot be read, or is damaged.
        SettingsError: A model that the settings name cannot be asked.
    """
    settings, now, messages = Settings.of(runtime), timestamp(deps.clock()), state.get("messages")
    memory = state.get("memory") or (UNNAMED if messages else "")
    store = deps.store(memory, runtime)
    skipped: list[SkippedText] = []
    texts = [request_in(messages)] if messages and not state.get("texts") else state.get("texts")
    sources = _sources(texts, skipped)
    _check_size(sources, settings)
    if deps.engines:
        deps.engines.check(settings)
    drafts = [PendingPage(text=s.text, page=page) for s in sources for page in _pages(s.document, settings, now)]
    waiting = _new(drafts, store, skipped)
    runtime.stream_writer({"stage": "take_in", "pages": len(waiting), "skipped": len(skipped)})
    work_id = "m" + digest(memory, *(w["page"]["id"] for w in waiting))[:12]
    begun: MemorizerUpdate = {
        "in_messages": bool(messages),
        "memory": memory,
        "texts": [],
        "work": [memorizer.open_work(work_id, waiting, skipped)],
        "now": now,
        "started": deps.clock().timestamp(),
        "drafts": [],
        "abstracts": [],
        "pages": [],
        "skipped": skipped,
        "status": "running" if waiting else "completed",
        "degraded": [],
        "usage": {"calls": 0, "input_tokens": 0, "output_tokens": 0},
        "allowance": {},
        "judge": deps.engines.models_of(settings) if deps.engines else "",
    }
    if messages and not waiting:
        begun["messages"] = [AIMessage(pages_in_words(cast("MemorizerOutput", begun)))]
    return begun


def _new(drafts: Sequence[PendingPage], store: PageStore, skipped: list[SkippedText]) -> list[PendingPage]:
    """The drafts that the memory does not have, each once."""
    known = store.existing(draft["page"]["id"] for draft in drafts)
    found: list[PendingPage] = []
    for draft in drafts:
        id_ = draft["page"]["id"]
        if id_ in known:
            skipped.append({"text": draft["text"], "reason": "duplicate", "id": id_})
        else:
            known.add(id_)
            found.append(draft)
    return found


# --- texts -------------------------------------------------------------------------------------------------------


def _sources(texts: object, skipped: list[SkippedText]) -> list[_Source]:
    """The texts as documents; messages that follow each other are one text."""
    if not isinstance(texts, Sequence) or isinstance(texts, str | bytes):
        given = "missing" if texts is None else f"of type {type(texts).__name__}"
        raise InputError(f"The texts are {given}. Hand over a list of strings, documents or messages as `texts`.")
    found: list[_Source] = []
    for number, item in enumerate(cast("Sequence[object]", texts)):
        read = list(_read(number, item))
        if not read:
            skipped.append({"text": number, "reason": "empty"})
        for source in read:
            if source.is_turn and found and found[-1].is_turn:
                found[-1] = _joined([found[-1], source])
            else:
                found.append(source)
    return found


def _read(number: int, item: object) -> Iterator[_Source]:
    """One item that was handed over; a list of messages is a session of its own."""
    items = [one for one in item if not _is_blank(one)] if isinstance(item, list | tuple) else [item]
    items = [one for one in items if not _is_blank(one)]
    turns = bool(items) and all(map(_is_turn, items))
    sources = [_Source(number, document, turns) for document in _documents(number, items)]
    if turns and isinstance(item, list | tuple) and sources:
        yield _Source(number, _joined(sources).document, is_turn=False)
    else:
        yield from sources


def _documents(number: int, items: Sequence[object]) -> list[Document]:
    try:
        documents = as_documents(list(items))
    except InputError as error:
        raise InputError(f"texts[{number}] cannot be taken: {error}") from error
    for position, document in enumerate(documents, 1):
        if document.metadata.get("source") == f"document {position}":  # a place in a list says nothing of its origin
            del document.metadata["source"]
    return documents


def _is_blank(item: object) -> bool:
    text = item.page_content if isinstance(item, Document) else item
    return text is None or (isinstance(text, str) and not clean(text).strip())


def _is_turn(item: object) -> bool:
    return isinstance(item, BaseMessage) or (isinstance(item, Mapping) and any(item.get(name) for name in _SPEAKERS))


def _joined(turns: Sequence[_Source]) -> _Source:
    """Messages as one text, a line each; what only one of them says of itself is left out."""
    text = "\n".join(turn.document.page_content for turn in turns)
    shared = {k: v for k, v in turns[0].document.metadata.items() if k not in _OF_A_TURN}
    for turn in turns[1:]:
        shared = {k: v for k, v in shared.items() if turn.document.metadata.get(k) == v}
    return _Source(turns[0].text, Document(text, metadata=shared), is_turn=True)


def _check_size(sources: Sequence[_Source], settings: Settings) -> None:
    total = sum(len(source.document.page_content) for source in sources)
    if total > settings.max_input_characters:
        raise InputTooLarge(
            f"The texts hold {total:,} characters, more than the {settings.max_input_characters:,} allowed. Hand over "
            "fewer, or raise MEMORY_BANK_MAX_INPUT_CHARACTERS."
        )


# --- pages -------------------------------------------------------------------------------------------------------


def _pages(document: Document, settings: Settings, now: str) -> list[Page]:
    """The pages of a text; each carries the title and the metadata of the whole."""
    text, metadata = document.page_content, document.metadata
    source, title, date = str(metadata.get("source") or ""), title_of(metadata), str(metadata.get("date") or "")
    spans = page_spans(text, settings.page_tokens)
    return [
        {
            "id": page_id(text[start:end], source, title, date),
            "title": title,
            "abstract": "",
            "text": text[start:end],
            "source": source,
            "metadata": _of_part(metadata, (start, end), number, len(spans)),
            "created_at": now,
            "expires_at": None,
        }
        for number, (start, end) in enumerate(spans, 1)
    ]


def title_of(metadata: Mapping[str, Any]) -> str:
    """What a text is called: its title, and of a dialogue the session; the date where it has no title of its own."""
    session = metadata.get("session")
    named = session if str(session).lower().startswith("session") else f"session {session}"
    title = metadata.get("title")
    parts = (title, named if session else None, None if title else metadata.get("date"))
    return ", ".join(" ".join(str(part).split()) for part in parts if part)


def page_spans(text: str, limit: int) -> list[Span]:
    """Cut a text into stretches of about the same size, at paragraphs where that can be; no character is lost."""
    total = estimate_tokens(text)
    if total <= limit:
        return [(0, len(text))]
    aim = total / ceil(total / limit)
    found: list[Span] = []
    used = 0
    for start, end in passages(text, max(1, limit // UNITS_PER_PAGE)):
        tokens = estimate_tokens(text[start:end])
        if found and used + tokens <= limit and used < aim:
            found[-1], used = (found[-1][0], end), used + tokens
        else:
            found.append((start, end))
            used = tokens
    return found


def _of_part(metadata: Mapping[str, Any], span: Span, part: int, parts: int) -> dict[str, Any]:
    """The metadata of one page: that of its text, without its source, and with what holds for its turns alone."""
    kept = {key: value for key, value in metadata.items() if key != "source"}
    if parts == 1:
        return kept
    starts = cast("list[int]", kept.get("turn_starts") or [])
    inside = [i for i, start in enumerate(starts) if span[0] <= start < span[1]]
    for name in _BY_TURN:
        if isinstance(values := kept.get(name), list) and len(values) == len(starts):
            kept[name] = [values[i] for i in inside]
    if starts:
        kept["turn_starts"] = [starts[i] - span[0] for i in inside]
    return {**kept, "part": part, "parts": parts}
