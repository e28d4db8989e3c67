"""Deep retrieval: from a memory back to the raw text it stands for, whole and in the order in which it arrived."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field, WithJsonSchema

from agentic_memory_bank.state.errors import ToolError
from agentic_memory_bank.state.interaction_tree import Attachment, Entry, InteractionTree, current_id
from agentic_memory_bank.state.query_graph import QueryGraph
from agentic_memory_bank.tools.documents.attachments import Reader

DESCRIPTION = (
    "Read the complete raw text behind a memory. Use it when the summary is not detailed enough, or to see how "
    "something was found out. Give the id that stands in brackets before the memory."
)


_Optional = Annotated[str | None, WithJsonSchema({"type": "string", "nullable": True})]
"""An argument that may be left out; the schema is in the one form that smolagents and OpenAPI know, too."""


class _RetrievalArguments(BaseModel):
    node_id: str = Field(description="The id of a memory, as shown in brackets.")
    entry_id: _Optional = Field(default=None, description="Only this entry of the memory.")
    attachment_id: _Optional = Field(default=None, description="Only this attachment, with the entry it belongs to.")


def deep_retrieve(
    graph: QueryGraph,
    tree: InteractionTree,
    node_id: str,
    entry_id: str | None = None,
    attachment_id: str | None = None,
    read: Reader | None = None,
) -> list[dict[str, Any]]:
    """The entries a memory rests on, oldest first (deep retrieval).

    A memory that was merged away is read through the one that holds its text now.

    Args:
        graph: The Query Graph, which holds the memories.
        tree: The Interaction Tree, which holds the raw text.
        node_id: Id of the memory to read.
        entry_id: Id of the one entry to read; otherwise all of the memory.
        attachment_id: Only this attachment, with the entries it belongs to.
        read: Shows what is in an attachment. Without it attachments are only named.

    Returns:
        For each entry its id, whole text, time, source, metadata, tool calls and attachments, and as `spans` the
        stretches of the text that the memory stands for. An attachment has its id, name, kind and path, and as
        `content` a picture in base64, the text of a document, or code as it stands; or a `note` why it has none.

    Raises:
        ToolError: There is no such memory, or no such entry or attachment of it.
    """
    node = graph.get("nodes", {}).get(current_id(tree, node_id))
    if node is None:
        raise ToolError(f"There is no memory '{node_id}'. Use an id that is shown in brackets before a memory.")
    spans: dict[str, list[list[int]]] = {}
    for anchor in node["anchors"]:
        spans.setdefault(anchor["entry"], []).append([anchor["start"], anchor["end"]])
    if entry_id is not None and entry_id not in spans:
        raise ToolError(f"The memory '{node_id}' has no entry '{entry_id}'. Its entries: {', '.join(spans)}.")
    entries = tree.get("entries", {})
    found = [entries[i] for i in spans if i in entries and entry_id in (None, i)]
    arrival = {name: position for position, name in enumerate(entries)}
    found.sort(key=lambda entry: (entry["created_at"], arrival[entry["id"]]))
    if attachment_id is not None:
        found = _holding(found, attachment_id, node_id)
    return [_shown(entry, spans[entry["id"]], attachment_id, read) for entry in found]


def _holding(entries: Sequence[Entry], attachment_id: str, node_id: str) -> list[Entry]:
    known = dict.fromkeys(a["id"] for entry in entries for a in entry["attachments"])
    if attachment_id not in known:
        has = f"Its attachments: {', '.join(known)}." if known else "It has none."
        raise ToolError(f"The memory '{node_id}' has no attachment '{attachment_id}'. {has}")
    return [entry for entry in entries if any(a["id"] == attachment_id for a in entry["attachments"])]


def _shown(
    entry: Entry, spans: list[list[int]], attachment_id: str | None = None, read: Reader | None = None
) -> dict[str, Any]:
    wanted = [a for a in entry["attachments"] if attachment_id in (None, a["id"])]
    return {
        "id": entry["id"],
        "text": entry["text"],
        "created_at": entry["created_at"],
        "source": entry["source"],
        "metadata": entry["metadata"],
        "tool_calls": entry["tool_calls"],
        "attachments": [{**a, **(_content(entry, a, read) if read else {})} for a in wanted],
        "spans": spans,
    }


def _content(entry: Entry, attachment: Attachment, read: Reader) -> dict[str, Any]:
    """What is in an attachment; the text of one that was recognised is the text of its entry."""
    if attachment["kind"] != "image" and entry["metadata"].get("recognized"):
        return {"content": entry["text"]}
    return read(attachment)


def deep_retrieval(graph: QueryGraph, tree: InteractionTree, read: Reader | None = None) -> BaseTool:
    """The tool an executor calls. A wrong id gives the agent a sentence to act on, never an exception.

    Args:
        graph: The Query Graph, which holds the memories.
        tree: The Interaction Tree, which holds the raw text.
        read: Shows what is in an attachment.
    """

    def retrieve(node_id: str, entry_id: str | None = None, attachment_id: str | None = None) -> str:
        try:
            found = deep_retrieve(graph, tree, node_id, entry_id or None, attachment_id or None, read)
            return json.dumps(found, ensure_ascii=False)
        except ToolError as error:
            return str(error)

    return StructuredTool.from_function(
        func=retrieve, name="deep_retrieval", description=DESCRIPTION, args_schema=_RetrievalArguments
    )
