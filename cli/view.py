"""The command `view`: a bank, a user's memories or a memory of pages as a page to look at."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic_memory_bank.cli import options, terminal
from agentic_memory_bank.cli.memories import opened
from agentic_memory_bank.cli.progress import loading_shown
from agentic_memory_bank.cli.threads import all_runs
from agentic_memory_bank.state.errors import InputError, UnknownMemoryError

if TYPE_CHECKING:
    from agentic_memory_bank.runs.viewer.actions import Looked


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
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write an HTML file that loads nothing, instead of serving."),
    ] = None,
    settings: options.Assignments = None,
) -> None:
    """Look at a memory in the browser: from a sentence to the words it rests on, contradictions, what was true when.

    Without --out the page is served on this machine alone until Ctrl-C, to correct, pin, forget, settle and undo.
    """
    if sum(name is not None for name in (thread, memory, user)) > 1:
        raise typer.BadParameter("Give one of THREAD, --memory and --user.")
    if question is not None and memory is None and user is None:
        raise typer.BadParameter("--question goes with --memory or --user. Ask a thread with `memory-bank ask`.")
    if out is not None:
        _check_can_write(out)
    if memory is None and user is None:
        thread = thread if thread is not None else _latest()
    _check_is_known(thread, memory)
    with _looked(thread, memory, user, question, settings) as looked:
        if out is not None:
            from agentic_memory_bank.runs.viewer.shown import View

            View(looked.snapshot()).save(out)
            typer.echo(f"Wrote {terminal.on_one_line(str(out))}. Open it in a browser; it loads nothing.")
        else:
            _serve(looked)


@contextmanager
def _looked(
    thread: str | None, memory: str | None, user: str | None, question: str | None, settings: list[str] | None
) -> "Iterator[Looked]":
    """What is looked at, open for as long as it is."""
    if thread is not None:
        from agentic_memory_bank.runs.viewer.actions import LookedAtBank

        yield LookedAtBank(thread)
    elif user is not None:
        with opened(settings, user=user) as memories:
            from agentic_memory_bank.runs.viewer.actions import LookedAtUser

            yield LookedAtUser(memories, user, question)
    else:
        from agentic_memory_bank.runs.viewer.actions import LookedAt
        from agentic_memory_bank.runs.viewer.shown import view as shown

        embeddings = options.parts_of_memories(options.settings_from(settings)).get("embeddings") if question else None
        with loading_shown():
            found = shown(memory=memory, question=question, embeddings=embeddings)
        yield LookedAt(found.snapshot)


def _serve(looked: "Looked") -> None:
    """Serve the page until Ctrl-C, and open it where somebody is at the terminal."""
    from agentic_memory_bank.runs.viewer.live import LivePage

    with LivePage(looked) as page:
        typer.echo(f"Open {page.address}\nThe address is good for one visit. Ctrl-C ends it.")
        if terminal.is_watched():
            import webbrowser

            webbrowser.open(page.address)
        with suppress(KeyboardInterrupt):
            page.serve_forever()


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
        from agentic_memory_bank.runs.home import checked_thread
        from agentic_memory_bank.runs.homes import check_has_trace, home_at

        check_has_trace(home_at(), checked_thread(thread))
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
