"""The `memory-bank` program: its commands in groups, errors told in one line, and a process made quiet and private."""

import errno
import gc
import inspect
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, cast

import typer

from agentic_memory_bank.cli import ask, chat, doctor, mcp, memories, memory_files, pages, terminal, threads, view
from agentic_memory_bank.cli.options import Debug
from agentic_memory_bank.state.errors import (
    ExportError,
    InputError,
    LoadError,
    MemoryBankError,
    SettingsError,
    UnknownThreadError,
)

ENVIRONMENT: Final = {
    "LANGSMITH_TRACING": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Nothing is sent home and no library draws on the terminal, unless the user has set otherwise."""

NEW_OBJECTS: Final = 300_000
"""How many there are before Python looks for garbage, at 700 by itself: while modules are imported it looks hundreds of
times and finds none, which was a tenth of what a first answer costs."""

_UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

GROUPS: Final[Mapping[str, Mapping[str, Callable[..., None]]]] = {
    "Questions over documents": {"ask": ask.ask, "resume": ask.resume},
    "Memories of pages": {"memorize": pages.memorize, "research": pages.research, "pages": pages.pages},
    "Looking at memories": {"view": view.view},
    "Runs and what they keep": {
        "runs": threads.runs,
        "show": threads.show,
        "export": threads.export,
        "import": threads.import_,
        "clear": threads.clear,
        "gc": threads.gc,
    },
    "Memories across conversations": {
        "chat": chat.chat,
        "remember": memories.remember,
        "recall": memories.recall,
        "memories": memories.memories,
        "memory": memories.memory,
        "forget": memories.forget,
        "switch": memories.switch,
        "folder": memory_files.folder,
        "export-memories": memory_files.export_memories,
        "import-memories": memory_files.import_memories,
        "maintain": memories.maintain,
    },
    "Installation": {"doctor": doctor.doctor, "mcp": mcp.mcp, "token": doctor.token},
}
"""The commands by name, as `--help` shows them."""

WRONGLY_CALLED: Final = (InputError, SettingsError, LoadError, ExportError, UnknownThreadError)
"""What the caller can mend in the command, its files or its variables; whatever else is raised failed by itself."""

app = typer.Typer(
    name="memory-bank",
    help="Answer questions over your documents, with quotes and with contradictions settled, and remember "
    "conversations: offline, without a key, and resumable at every step.",
    epilog="Exit codes: 0 answered, 1 failed, 2 wrong usage (a word, a file or a variable to mend), 3 the documents do "
    "not hold the answer, 4 the run waits or was stopped, 130 interrupted (go on with: memory-bank resume). Runs live "
    "in MEMORY_BANK_HOME, by default ~/.local/state/agentic-memory-bank.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line in a process of its own, which is made quiet, private and safe first."""
    gc.set_threshold(NEW_OBJECTS)
    os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # LangGraph reads it when it is imported
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever began this process
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            cast(Any, stream).reconfigure(errors="replace")
    try:
        app()
    except OSError as fault:
        _tell_of_output(fault)


def _tell_of_output(fault: OSError) -> NoReturn:
    """Say that standard output cannot be written, as onto a full disk; what a file refuses is told by who opened it.

    Raises:
        OSError: The fault is of something else.
    """
    if fault.filename is not None or fault.errno not in _UNWRITABLE:
        raise fault
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what Python writes at its end would fail once more
    with suppress(OSError):
        typer.echo(f"Error: Standard output cannot be written: {fault.strerror}.", err=True)
    sys.exit(terminal.FAILED)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"memory-bank {version('agentic-memory-bank')}")
        raise typer.Exit


@app.callback()
def memory_bank(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options that belong to no command."""


def _safe(function: Callable[..., None]) -> Callable[..., None]:
    """A command with `--debug`, and with errors told in one line."""

    @wraps(function)
    def called(*, debug: bool = False, **options: Any) -> None:
        try:
            if function is not doctor.doctor:  # which tells of them among all else
                _check_variables()
            function(**options)
        except MemoryBankError as error:
            if debug:
                raise
            _tell(error, as_json=bool(options.get("as_json")))
            raise typer.Exit(terminal.USAGE if isinstance(error, WRONGLY_CALLED) else terminal.FAILED) from None

    signature = inspect.signature(function)
    flag = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug)
    cast(Any, called).__signature__ = signature.replace(parameters=[*signature.parameters.values(), flag])
    return called


def _check_variables() -> None:
    """Refuse a variable that means nothing, whatever the command reads of the environment itself."""
    given = {name for name, value in os.environ.items() if value and name.upper().startswith("MEMORY_BANK_")}
    if given:
        from agentic_memory_bank.state.settings import Settings
        from agentic_memory_bank.state.variables import check_variables

        check_variables(given, Settings.model_fields)


def _tell(error: MemoryBankError, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"error": _public_name(error), "message": str(error)}), err=True)
    else:
        typer.echo(f"{typer.style('Error:', fg='red')} {terminal.on_one_line(str(error))}", err=True)


def _public_name(error: MemoryBankError) -> str:
    """The error as `state/errors.py` names it; what a module calls its own kinds of it is its own matter."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == MemoryBankError.__module__)


for _group, _commands in GROUPS.items():
    for _name, _function in _commands.items():
        app.command(_name, rich_help_panel=_group)(_safe(_function))
