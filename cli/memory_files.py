"""The commands that take memories elsewhere: `export-memories`, `import-memories`, and `folder` of files to edit."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from agentic_memory_bank.cli import options, terminal
from agentic_memory_bank.cli.memories import opened

_PROGRAMS: Final = "chatgpt, claude, mem0, langmem, letta, zep, gam, markdown, jsonl"
_SHOWN: Final = 20
"""How many things that were not understood are shown; `--json` has more."""


def _known_program(given: str | None) -> str | None:
    if given is not None and given not in _PROGRAMS.split(", "):
        raise typer.BadParameter(f"{given!r} is no program that is known. Use one of {_PROGRAMS}.")
    return given


def _known_form(given: str | None) -> str | None:
    if given not in (None, "markdown", "mem0"):
        raise typer.BadParameter(f"{given!r} is no form that is known. Use markdown or mem0.")
    return given


def export_memories(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    user: options.User,
    documents: Annotated[
        bool, typer.Option("--documents", help="LangChain's documents, a line of JSON each, in place of all events.")
    ] = False,
    form: Annotated[
        str | None,
        typer.Option("--to", metavar="FORM", callback=_known_form, help="markdown or mem0, without the history."),
    ] = None,
    settings: options.Assignments = None,
) -> None:
    """Write a user's memories with all of their history to one JSON file, which `import-memories` takes in anywhere."""
    options.check_export(file)
    from agentic_memory_bank.runs.memory_files import as_markdown, as_mem0, documents_json
    from agentic_memory_bank.tools.storage.disk import write_whole

    with opened(settings, user=user) as memories:
        if form is not None:
            text = {"markdown": as_markdown, "mem0": as_mem0}[form](memories.documents(user=user))
        else:
            text = documents_json(memories.documents(user=user)) if documents else memories.export(user=user)
    place = file.absolute()
    write_whole(place, text.encode(), place.with_name(f".{place.name}.part"))
    typer.echo(f"Exported the memories to {terminal.on_one_line(str(file))}.")


def import_memories(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `export-memories` wrote.")],
    user: options.User,
    project: options.Project = "",
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="PROGRAM", callback=_known_program, help=f"Another's: {_PROGRAMS}."),
    ] = None,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Take exported memories in, beside those that are there; what was forgotten stays forgotten.

    With `--from` they are another program's, in the form in which it exports them: dates are kept, no model is asked.
    """
    text = options.text_of(str(file), "Give a file that `export-memories` wrote, or another program's with `--from`.")
    counted = terminal.memories_counted
    with opened(settings, user=user) as memories:
        if source is None:
            if project:
                raise typer.BadParameter("--project goes with --from: an export has the projects of its memories.")
            report: Any = memories.import_(text, user=user)
            told = [f"Imported {counted(len(report['stored']))}; erased {counted(len(report['erased']))}."]
        else:
            report = memories.import_from(source, text, user=user, project=project)
            told = [f"Imported {counted(len(report['stored']))}; {report['known']:,} were here, or are no news."]
            told += [f"  {terminal.on_one_line(one['place'])}: {one['why']}" for one in report["left_out"][:_SHOWN]]
            told += [f"Not understood: {report['left_out_count']:,} things."] if report["left_out_count"] else []
            told += [] if report["is_embedded"] else ["`memory-bank maintain` makes them found by meaning, too."]
    terminal.print_found(report, told, as_json=as_json)


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
