"""The commands over runs and what they keep: `runs`, `show`, `export`, `import`, `clear` and `gc`."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from agentic_memory_bank.cli import options, terminal
from agentic_memory_bank.cli.memory_tree import memory_tree, node_lines
from agentic_memory_bank.cli.options import AsJson, ThreadName
from agentic_memory_bank.state.errors import ExportError, InputError, MemoryBankError
from agentic_memory_bank.state.interaction_tree import Anchor, InteractionTree, text_of

if TYPE_CHECKING:
    from agentic_memory_bank.runs.ledger import Run
    from agentic_memory_bank.state.memory_bank import MemoryBankState
    from agentic_memory_bank.state.query_graph import MemoryNode

_QUESTION_CHARACTERS: Final = 60
_UNLISTED: Final = ("documents", "attachments")
"""What a list of runs leaves out: it may be long."""


def all_runs() -> "list[Run]":
    """All runs, the latest first; a home that is not there yet is not made."""
    from agentic_memory_bank.runs.homes import home_at, ledger_of
    from agentic_memory_bank.tools.storage.disk import storage_errors

    place = home_at()
    with storage_errors(place.ledger):
        if not place.is_there():
            return []
    return ledger_of(place.prepare()).all()


def _check_is_known(thread: str) -> None:
    """Refuse a thread of which nothing is known before a graph is loaded."""
    from agentic_memory_bank.runs.home import checked_thread
    from agentic_memory_bank.runs.homes import check_has_trace, home_at

    check_has_trace(home_at(), checked_thread(thread))


def runs(*, as_json: AsJson = False) -> None:
    """List all runs: kept memories, and runs that can be resumed."""
    found = [{name: value for name, value in asdict(run).items() if name not in _UNLISTED} for run in all_runs()]
    terminal.print_found({"runs": found}, _run_lines(found), as_json=as_json)


def _run_lines(found: Sequence[Mapping[str, Any]]) -> terminal.Lines:
    """All runs as a table, and how to go on with those that are not finished."""
    if not found:
        yield "There are no runs."
        return
    titles = ("THREAD", "STATUS", "KEPT", "LAST ACTIVE (UTC)", "SPENT", "QUESTION")
    yield from terminal.table([titles, *map(_row, found)])
    unfinished = [run["thread"] for run in found if run["state"] != "finished"]
    if unfinished:
        yield f"\n{len(unfinished)} unfinished; go on with `{terminal.command('resume', unfinished[0])}`."


def _row(run: Mapping[str, Any]) -> tuple[str, ...]:
    status = {"finished": run["status"], "paused": "paused"}.get(run["state"], "unfinished")
    usage = run.get("usage")
    return (
        terminal.on_one_line(run["thread"]),
        "failed" if run["status"] == "failed" else status,
        "yes" if run["keep"] else "no",
        run["updated_at"][:19].replace("T", " "),
        f"{terminal.counted(usage['calls'], 'call')}, {terminal.cost(usage)}" if usage and usage.get("calls") else "",
        terminal.shortened(run["question"], _QUESTION_CHARACTERS),
    )


def show(
    *,
    thread: ThreadName,
    node: Annotated[
        str | None, typer.Option("--node", metavar="ID", help="One memory, with all the raw text it stands for.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a thread remembers: goal, tasks, conflicts, memories and attachments, and whether it waits."""
    _check_is_known(thread)
    from agentic_memory_bank.runs.export import read_state

    state = read_state(thread)
    if node is None:
        found = _memory(thread, state)
        terminal.print_found(found, memory_tree(found), as_json=as_json)
    else:
        found = _node(state, node)
        terminal.print_found(found, node_lines(found), as_json=as_json)


def _memory(thread: str, state: Any) -> dict[str, Any]:
    """A thread's memory with what is known of it besides its state: what was spent, sizes of files, why it waits."""
    from agentic_memory_bank.runs.bank_runs import read_pause
    from agentic_memory_bank.runs.export import files_of
    from agentic_memory_bank.runs.homes import home_at

    run = next((run for run in all_runs() if run.thread == thread), None)
    found = memory_view(state, thread, run.usage if run else None, read_pause(thread))
    files = files_of(thread, home_at())
    for attachment in found["attachments"]:
        with suppress(MemoryBankError):  # one that is lost has no size
            attachment["bytes"] = len(files.read(attachment["sha256"]))
    return found


def _node(state: Any, id: str) -> dict[str, Any]:
    """One memory; an id that was merged away leads to the memory that holds its text now."""
    from agentic_memory_bank.state.interaction_tree import current_id

    nodes = state.get("query_graph", {}).get("nodes", {})
    heir = current_id(state.get("interaction_tree", {}), id)
    if heir not in nodes:
        raise InputError(f"There is no memory '{id}' on this thread. `memory-bank show THREAD` lists them.")
    return node_view(state, nodes[heir])


def export(
    *, thread: ThreadName, file: Annotated[Path, typer.Argument(metavar="FILE", help="The JSON file to write.")]
) -> None:
    """Write a memory to one JSON file, which `import` takes in anywhere."""
    options.check_export(file)
    _check_is_known(thread)
    from agentic_memory_bank.runs.export import export_thread

    export_thread(thread, file)
    typer.echo(f"Exported '{terminal.on_one_line(thread)}' to {terminal.on_one_line(str(file))}.")


def import_(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `export` or `ask --export` wrote.")],
    thread: Annotated[str, typer.Option("--thread", "-t", help="The name the memory gets here.")],
) -> None:
    """Take an exported memory in as a new thread: as a whole, or not at all."""
    if not file.exists():
        raise ExportError(f"The export {file} cannot be read: there is no such file. Check the path.")
    from agentic_memory_bank.runs.export import import_thread

    import_thread(file, thread)
    asking = terminal.command("ask", "...", "--thread", thread)
    typer.echo(f"Imported {terminal.on_one_line(str(file))} as '{terminal.on_one_line(thread)}'. Ask with: {asking}")


def clear(*, thread: ThreadName) -> None:
    """Erase a thread for good: memory, checkpoints and log, from disk too."""
    _check_is_known(thread)
    from agentic_memory_bank.runs.bank_runs import clear

    clear(thread)
    typer.echo(f"Erased '{terminal.on_one_line(thread)}'.")


def gc(
    *,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Also erase unfinished runs; they can then not be resumed.")
    ] = False,
) -> None:
    """Erase what nobody needs: leftovers of runs that were killed while they ended, and pages whose time is over."""
    from agentic_memory_bank.runs.cleanup import collect_garbage

    erased = collect_garbage(unfinished=unfinished)
    terminal.print_lines(
        [f"Erased '{terminal.on_one_line(name)}'." for name in erased] or ["There was nothing to erase."]
    )


def memory_view(
    state: "MemoryBankState",
    thread: str,
    usage: Mapping[str, Any] | None = None,
    pause: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A thread's memory as plain data: goal, tasks, conflicts with their quotes, and memories without raw text."""
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


def node_view(state: "MemoryBankState", found: "MemoryNode") -> dict[str, Any]:
    """One memory as plain data, with all raw text it stands for, word for word, in order of arrival."""
    tree = state.get("interaction_tree", {})
    order = {entry: position for position, entry in enumerate(tree.get("entries", {}))}
    anchors = sorted(found["anchors"], key=lambda a: (order.get(a["entry"], len(order)), a["start"]))
    return {
        **_summary(found, state),
        "merge": next((one for one in tree.get("merges", []) if one["node"] == found["id"]), None),
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
