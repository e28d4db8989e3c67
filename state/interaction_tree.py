"""The Interaction Tree: all raw text that arrived, verbatim and read-only, and which memories were merged."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

EntryKind = Literal["document", "dialogue", "tool_result", "trajectory", "verdict", "answer"]
AttachmentKind = Literal["image", "document", "code"]


class Anchor(TypedDict):
    """A stretch of an entry's text: characters `start` up to, not including, `end`."""

    entry: str
    start: int
    end: int


class Attachment(TypedDict):
    """A file that belongs to an entry."""

    id: str
    name: str
    """What the file was called: a label, never a path."""
    kind: AttachmentKind
    path: str
    """Where it is in the attachment store: the sha256 of its bytes."""


class Entry(TypedDict):
    """One piece of raw text as it came in. Nothing of it is ever rewritten."""

    id: str
    kind: EntryKind
    text: str
    created_at: str
    """When it arrived: ISO 8601 in UTC with microseconds, so that text order is time order."""
    source: str
    """Where it comes from: a file name, a URL, a speaker, or `input`."""
    metadata: dict[str, Any]
    """What a citation needs besides the source: page, title, date of the source."""
    tool_calls: list[dict[str, Any]]
    attachments: list[Attachment]


MergeStrategy = Literal["same", "fuller", "together", "verdict"]
"""How memories become one: all say the same; the fullest holds what the others say; each adds something; or a verdict
on their contradiction says what stands."""


class MergeEvent(TypedDict):
    """A read-only note that memories were merged; the raw text they point at stays as it was."""

    node: str
    merged: list[str]
    at: str
    cause: Literal["merge", "conflict"]
    description: str
    merge_strategy: NotRequired[MergeStrategy]
    """Missing where memories were merged before it was noted."""
    confidence: NotRequired[float]
    """How near the members are to each other: the least cosine to the first of them. Not noted without vectors."""


class InteractionTree(TypedDict, total=False):
    """Entries in order of arrival, and the merge events. Both only ever grow, until they are forgotten."""

    entries: dict[str, Entry]
    merges: list[MergeEvent]


class TreeEdit(TypedDict):
    """One change of the Interaction Tree. `v` is the version of the edit's form; old forms fold forever."""

    v: int
    op: Literal["append", "merged", "forget"]
    entry: NotRequired[Entry]
    event: NotRequired[MergeEvent]
    ids: NotRequired[list[str]]


def append(entry: Entry) -> TreeEdit:
    """Add raw text. An entry whose id is known already is left as it is: raw text is never rewritten."""
    return {"v": 1, "op": "append", "entry": entry}


def merged(event: MergeEvent) -> TreeEdit:
    """Record that memories were merged into one."""
    return {"v": 1, "op": "merged", "event": event}


def forget_entries(ids: Sequence[str]) -> TreeEdit:
    """Remove entries for good, on the user's wish."""
    return {"v": 1, "op": "forget", "ids": list(ids)}


def apply_tree_edits(tree: InteractionTree, updates: Iterable[Sequence[TreeEdit]]) -> InteractionTree:
    """Fold edits into a new tree. Total: an edit that cannot apply changes nothing."""
    entries, merges = dict(tree.get("entries", {})), list(tree.get("merges", []))
    for edits in updates:
        for edit in edits:
            _apply(edit, entries, merges)
    return {"entries": entries, "merges": merges}


def _apply(edit: TreeEdit, entries: dict[str, Entry], merges: list[MergeEvent]) -> None:
    match edit:
        case {"op": "append", "entry": {"id": str()} as entry}:
            entries.setdefault(entry["id"], entry)
        case {"op": "merged", "event": event}:
            if event not in merges[-64:]:  # a stage that ran twice after a crash says the same thing twice
                merges.append(event)
        case {"op": "forget", "ids": ids}:
            for entry_id in ids:
                entries.pop(entry_id, None)
        case _:
            pass


def text_of(tree: InteractionTree, anchor: Anchor) -> str:
    """Read the verbatim text an anchor names; empty when its entry was forgotten."""
    entry = tree.get("entries", {}).get(anchor["entry"])
    return entry["text"][anchor["start"] : anchor["end"]] if entry else ""


def current_id(tree: InteractionTree, node_id: str) -> str:
    """Follow the merge events from a memory that was merged away to the one that holds its text now."""
    heirs = {old: event["node"] for event in tree.get("merges", []) for old in event["merged"]}
    seen = {node_id}
    while (heir := heirs.get(node_id)) and heir not in seen:
        seen.add(heir)
        node_id = heir
    return node_id
