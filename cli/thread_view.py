"""What a thread remembers, as plain data for machines and in words for people: the whole memory, or one node of it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from agentic_memory_bank.cli.outcome import how_to_hand_in, place, usage_lines
from agentic_memory_bank.cli.terminal import Lines, counted, heading, on_one_line, shortened, shown
from agentic_memory_bank.state.interaction_tree import Anchor, InteractionTree, text_of

if TYPE_CHECKING:
    from agentic_memory_bank.state.memory_bank import MemoryBankState
    from agentic_memory_bank.state.query_graph import Conflict, MemoryNode

_SUMMARY_CHARACTERS = 300


def memory(
    state: "MemoryBankState",
    thread: str,
    usage: Mapping[str, Any] | None = None,
    pause: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A thread's memory as plain data: goal, tasks, conflicts with their quotes, and memories without raw text.

    Args:
        state: As it was saved last.
        thread: Name of the thread.
        usage: What its last run has spent on models, if any was asked.
        pause: Why it waits, if it does.
    """
    graph, doc = state.get("query_graph", {}), state.get("insight_doc", {})
    return {
        "thread": thread,
        "goal": doc.get("goal", ""),
        "status": state.get("status", "running"),
        "answer": state.get("answer", ""),
        "current": doc.get("current"),
        "completed": doc.get("completed", []),
        "archived": doc.get("archived", []),
        "conflicts": list(graph.get("conflicts", {}).values()),
        "memories": [_summary(node, state) for node in graph.get("nodes", {}).values()],
        "attachments": _attachments(state),
        "merges": state.get("interaction_tree", {}).get("merges", []),
        "usage": usage,
        "pause": pause,
        "waits_for_executor": bool(pause) and pause.get("reason") == "execute",
    }


def _attachments(state: "MemoryBankState") -> list[dict[str, Any]]:
    """The files of each entry; `bytes` are for whoever has the files to fill in."""
    return [
        {
            **{"entry": entry["id"], "source": entry["source"], "sha256": attachment["path"], "bytes": None},
            **{name: attachment[name] for name in ("id", "name", "kind")},
        }
        for entry in state.get("interaction_tree", {}).get("entries", {}).values()
        for attachment in entry["attachments"]
    ]


def _summary(node: "MemoryNode", state: "MemoryBankState") -> dict[str, Any]:
    return {
        "id": node["id"],
        "context": node["context"],
        "summary": node["summary"],
        "keywords": node["keywords"],
        "sources": node["provenance"]["sources"],
        "neighbours": state.get("query_graph", {}).get("related", {}).get(node["id"], []),
        "anchors": len(node["anchors"]),
        "created_at": node["created_at"],
        "merged_from": node["provenance"]["merged_from"],
    }


def memory_lines(found: Mapping[str, Any]) -> Lines:
    """A thread's memory in words."""
    yield f"{heading('Goal')}  {on_one_line(found['goal']) or 'none yet'} ({found['status']})"
    for goal in found["archived"]:
        yield f"      earlier: {on_one_line(goal['goal'])} ({len(goal['completed'])} tasks)"
    yield from _tasks(found)
    if found["conflicts"]:
        yield f"\n{heading('Conflicts')}"
    for conflict in found["conflicts"]:
        yield from _conflict(conflict)
    yield f"\n{heading('Memories')}  {len(found['memories'])}"
    for node in found["memories"]:
        yield from _summary_lines(node)
    yield from _attachment_lines(found["attachments"])
    yield from usage_lines(found.get("usage"))
    yield from _waiting_lines(found)


def _attachment_lines(attachments: Sequence[Mapping[str, Any]]) -> Lines:
    if attachments:
        yield f"\n{heading('Attachments')}  {len(attachments)}"
    for found in attachments:
        size = "lost" if found["bytes"] is None else counted(found["bytes"], "byte")
        yield f"  {found['id']}  {on_one_line(found['name'])} ({found['kind']}, {size}), of {found['entry']}"


def _waiting_lines(found: Mapping[str, Any]) -> Lines:
    if found["waits_for_executor"]:
        yield f"\nThe run waits for an executor outside: {on_one_line(found['pause']['message'])}"
        yield from how_to_hand_in(found["thread"])
    elif found["pause"]:
        yield f"\nThe run waits. {on_one_line(found['pause']['message'])}"


def _tasks(found: Mapping[str, Any]) -> Lines:
    if found["completed"] or found["current"]:
        yield f"\n{heading('Tasks')}"
    for task in found["completed"]:
        mark = {"success": "✓", "failure": "✗"}.get(task["status"], "~")
        yield f"  {mark} {task['kind']}: {shortened(task['description'], _SUMMARY_CHARACTERS)}"
        if task["learned"]:
            yield f"      {shortened(task['learned'], _SUMMARY_CHARACTERS)}"
    if found["current"]:
        yield f"  … {found['current']['kind']}: {shortened(found['current']['description'], _SUMMARY_CHARACTERS)}"


def _conflict(conflict: "Conflict") -> Lines:
    yield f"  {conflict['id']}  {conflict['status']}, between {', '.join(conflict['nodes'])}"
    for contradiction in conflict["contradictions"]:
        yield f"    {contradiction['kind']}: {on_one_line(contradiction['reason'])}"
        for position, claim in enumerate(contradiction["claims"]):
            mark = "✓" if contradiction.get("winner") == position else "-"
            yield f"      {mark} {claim['node']}: “{on_one_line(claim['quote'])}”"
        if explanation := contradiction.get("explanation"):
            yield f"      {on_one_line(explanation)}"


def _summary_lines(node: Mapping[str, Any]) -> Lines:
    yield f"\n  {typer.style(node['id'], bold=True)}  {shortened(node['context'], _SUMMARY_CHARACTERS)}"
    yield f"    keywords    {on_one_line(', '.join(node['keywords'])) or '-'}"
    yield f"    sources     {on_one_line(', '.join(node['sources'])) or '-'}"
    yield f"    neighbours  {', '.join(node['neighbours']) or '-'}"
    yield f"    anchors     {node['anchors']}"


def node(state: "MemoryBankState", found: "MemoryNode") -> dict[str, Any]:
    """One memory as plain data, with all raw text it stands for, word for word, in order of arrival."""
    tree = state.get("interaction_tree", {})
    order = {entry: position for position, entry in enumerate(tree.get("entries", {}))}
    anchors = sorted(found["anchors"], key=lambda a: (order.get(a["entry"], len(order)), a["start"]))
    return {
        **_summary(found, state),
        "anchors": len(anchors),
        "history": found["history"],
        "raw": [_raw(tree, anchor) for anchor in anchors],
    }


def _raw(tree: InteractionTree, anchor: Anchor) -> dict[str, Any]:
    entry = tree.get("entries", {}).get(anchor["entry"])
    page = entry["metadata"].get("page") if entry else None
    return {
        **anchor,
        "source": entry["source"] if entry else "forgotten",
        **({"page": page} if isinstance(page, int) else {}),
        "text": text_of(tree, anchor),
    }


def node_lines(found: Mapping[str, Any]) -> Lines:
    """One memory in words, with all its raw text."""
    yield from _summary_lines(found)
    if found["merged_from"]:
        yield f"    merged from {', '.join(found['merged_from'])}"
    yield f"\n{heading('Summary')}\n{shown(found['summary'])}"
    for piece in found["raw"]:
        yield f"\n{heading(place(piece))}\n{shown(piece['text'])}"
