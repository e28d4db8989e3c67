"""The command `view`: a bank, a user's memories or a memory of pages as a page to look at."""

from pathlib import Path
from typing import Annotated, Any

import typer

from agentic_memory_bank.cli import options, terminal
from agentic_memory_bank.cli.progress import loading_shown
from agentic_memory_bank.cli.threads import all_runs
from agentic_memory_bank.state.errors import InputError, UnknownMemoryError


def view(
    *,
    thread: Annotated[
        str | None, typer.Argument(metavar="[THREAD]", help="A kept thread. Default: the one that was active last.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", "-M", metavar="NAME", help="A memory of pages instead.")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", "-u", metavar="NAME", help="The memories of a user instead.")
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            "--question",
            "-q",
            metavar="TEXT",
            help="With --memory, what is researched and shown round by round; with --user, a message: what it recalls.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The HTML file to write; it loads nothing.")],
) -> None:
    """Look at a memory: from a sentence of an answer to the words it rests on, contradictions, what was true when."""
    if sum(name is not None for name in (thread, memory, user)) > 1:
        raise typer.BadParameter("Give one of THREAD, --memory and --user.")
    if question is not None and memory is None and user is None:
        raise typer.BadParameter("--question goes with --memory or --user. Ask a thread with `memory-bank ask`.")
    _check_can_write(out)
    named: dict[str, Any] = {"memory": memory, "user": user}
    if memory is None and user is None:
        named["thread"] = thread if thread is not None else _latest()
    _check_is_known(named.get("thread"), memory)
    with loading_shown():
        from agentic_memory_bank.runs.viewer.shown import view as shown

        place = shown(**named, question=question, **_parts(question)).save(out)
    typer.echo(f"Wrote {terminal.on_one_line(str(place))}. Open it in a browser; it loads nothing.")


def _parts(question: str | None) -> dict[str, Any]:
    """The embeddings, where something is searched."""
    if question is None:
        return {}
    return {
        name: part
        for name, part in options.parts_of_memories(options.settings_from(None)).items()
        if name == "embeddings"
    }


def _latest() -> str:
    """The thread that was active last and is kept.

    Raises:
        InputError: There is none.
    """
    kept = [run.thread for run in all_runs() if run.keep]
    if not kept:
        raise InputError(
            "No thread is kept. Keep one with `memory-bank ask ... --thread NAME`, or give --memory or --user."
        )
    return kept[0]


def _check_is_known(thread: str | None, memory: str | None) -> None:
    """Refuse what is not there before anything heavy is loaded."""
    if thread is not None:
        from agentic_memory_bank.runs.home import Home, checked_thread
        from agentic_memory_bank.runs.ledger import check_has_trace

        check_has_trace(Home(), checked_thread(thread))
    if memory is not None:
        from agentic_memory_bank.cli.pages import is_there

        if not is_there(memory):
            raise UnknownMemoryError(f"There is no memory of pages {memory!r}. `memory-bank pages` lists them.")


def _check_can_write(out: Path) -> None:
    """Refuse a place that cannot be written, and a file of the user's that would be lost.

    Raises:
        InputError: It is none to write to.
    """
    from agentic_memory_bank.runs.viewer import MARK

    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InputError(f"{str(out)!r} cannot be written. Give the name of a file in a folder that is there.")
    if not out.exists():
        return
    if not out.is_file():
        raise InputError(f"{str(out)!r} is no regular file. Give another name.")
    with out.open("rb") as file:
        if MARK.encode() not in file.read(256):
            raise InputError(f"{str(out)!r} is there already and is no page of `view`. Give another name.")
