"""The commands that take memories elsewhere: `export-memories`, `import-memories`, and `folder` of files to edit."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from agentic_memory_bank.cli import options, terminal
from agentic_memory_bank.cli.memories import opened


def export_memories(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    user: options.User,
    documents: Annotated[
        bool, typer.Option("--documents", help="LangChain's documents, a line of JSON each, in place of all events.")
    ] = False,
    settings: options.Assignments = None,
) -> None:
    """Write a user's memories with all of their history to one JSON file, which `import-memories` takes in anywhere."""
    options.check_export(file)
    from agentic_memory_bank.runs.memory_files import documents_json
    from agentic_memory_bank.tools.storage.disk import write_whole

    with opened(settings, user=user) as memories:
        text = documents_json(memories.documents(user=user)) if documents else memories.export(user=user)
    place = file.absolute()
    write_whole(place, text.encode(), place.with_name(f".{place.name}.part"))
    typer.echo(f"Exported the memories to {terminal.on_one_line(str(file))}.")


def import_memories(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `export-memories` wrote.")],
    user: options.User,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Take exported memories in, beside those that are there; what was forgotten stays forgotten."""
    text = options.text_of(str(file), "Give a file that `export-memories` wrote.")
    with opened(settings, user=user) as memories:
        report = memories.import_(text, user=user)
    counted = terminal.memories_counted
    told = f"Imported {counted(len(report['stored']))}; erased {counted(len(report['erased']))}."
    terminal.print_found(report, [told], as_json=as_json)


def folder(
    *,
    place: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the Markdown files are, or are to be.")],
    user: options.User,
    project: options.Project = "",
    yes: options.Yes = False,
    restore: Annotated[bool, typer.Option("--restore", help="Put lines back that are gone; ask nothing.")] = False,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Bring a folder of Markdown files in step with a user's memories, both ways: a file a subject, a line a memory.

    An edited line is a revision, a new line is remembered. For a line that is gone it is asked whether to forget it.
    """
    whose: Any = {"user": user, "project": project}
    with opened(settings, user=user) as memories:
        report: Any = memories.sync_folder(place, **whose)
        terminal.print_found(report, _done(report), as_json=as_json)
        missing = [record["id"] for record in report["missing"]]
        if not missing:
            return
        if restore:
            memories.sync_folder(place, **whose, restore=missing)
            return
        if not yes:
            how = "--yes to forget them, or --restore to put the lines back"
            terminal.confirm_erasing("Forget these for good?", otherwise=how, as_json=as_json)
        erased = memories.sync_folder(place, **whose, erase=missing)["erased"]
    terminal.print_found({"erased": erased}, [f"Erased {terminal.memories_counted(len(erased))}."], as_json=as_json)


def _done(report: Mapping[str, Sequence[Any]]) -> terminal.Lines:
    yield f"{len(report['stored'])} new, {len(report['revised'])} revised."
    if report["missing"]:
        yield "No line says any more:"
    for record in report["missing"]:
        yield f"  {terminal.shortened(record['text'])}"
