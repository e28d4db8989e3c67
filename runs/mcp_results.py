"""What the tools of the MCP server return: the fields are the schemas that clients are told."""

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from agentic_memory_bank.state.records import Record, RecordType


class McpMemory(TypedDict):
    """A memory of the user."""

    id: str
    text: str
    type: RecordType
    subject: str | None
    """Whom or what it is about, where known."""
    created_at: str
    updated_at: str
    quote: str
    """What it rests on, word for word; empty where it was stored as it is."""
    conversation: str
    """The conversation it was said in; empty where it was in none."""
    contradicts: list[str]
    """Ids of memories that cannot be true beside it."""


class McpMemories(TypedDict):
    """Memories, the best or the newest first."""

    memories: list[McpMemory]
    cursor: str | None
    """Hand it over to go on; null at the end."""


class McpRemembered(TypedDict):
    """What became of something that was to be remembered."""

    stored: list[McpMemory]
    """Memories that are new, or say it in place of others."""
    replaced: list[str]
    """Ids of memories that no longer hold."""
    contradictions: list[str]
    """Ids of memories that contradict it, where nothing says which holds."""
    note: str
    """Why nothing was stored; empty otherwise."""


class McpPart(TypedDict):
    """A part of a memory that would go."""

    id: str
    removed: list[str]
    left: str


class McpDeletionPreview(TypedDict):
    """What would be erased."""

    memories: list[McpMemory]
    derived: list[McpMemory]
    """What was drawn from them, and goes with them."""
    parts: list[McpPart]
    """Memories that lose a part, and keep the rest."""
    ids: list[str]
    """Hand these to `forget` to erase just this."""


class McpErased(TypedDict):
    """What is gone."""

    erased: list[str]


class McpContradiction(TypedDict):
    """Two memories that cannot both be true."""

    first: McpMemory
    second: McpMemory


class McpContradictions(TypedDict):
    """The contradictions that nobody has settled."""

    contradictions: list[McpContradiction]


class McpQuote(TypedDict):
    """Words that an answer rests on, and where they stand."""

    quote: str
    source: str
    start: int
    end: int


class McpAnswer(TypedDict):
    """An answer over documents."""

    answer: str
    """Empty where the documents hold none."""
    status: str
    sources: list[McpQuote]
    conflicts: list[dict[str, Any]]
    """Each contradiction of the documents, its claims, and what settled it."""


class McpResearched(TypedDict):
    """An answer from a memory of pages."""

    answer: str
    """Empty where the memory holds none."""
    status: str
    sources: list[McpQuote]
    rounds: int


class McpMemorized(TypedDict):
    """What became of texts that were memorized."""

    status: str
    pages: int
    """How many pages are new."""


class McpDocument(TypedDict, total=False):
    """A text to answer from, or to memorize."""

    text: str
    source: str
    """What it is called, so that quotes can name it."""


def memory_of(record: Record) -> McpMemory:
    """Show a memory."""
    sources = record["sources"]
    return {
        "id": record["id"],
        "text": record["text"],
        "type": record["type"],
        "subject": record["subject"],
        "created_at": record["created_at"],
        "updated_at": record["updated_at"],
        "quote": next((quote for source in sources for quote in source["quotes"]), ""),
        "conversation": sources[0]["conversation"] if sources else "",
        "contradicts": record["contradicts"],
    }


def quote_of(source: Mapping[str, Any]) -> McpQuote:
    """Show a source of an answer."""
    named = source["source"] or str(source.get("title", ""))
    return {"quote": source["quote"], "source": named, "start": source["start"], "end": source["end"]}
