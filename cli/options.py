"""The arguments and options that several commands share, each with its one help text and its one check."""

import json
import math
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from agentic_memory_bank.cli.progress import Emit
from agentic_memory_bank.state.errors import InputError, InputTooLarge, LoadError, SettingsError
from agentic_memory_bank.state.records import TYPES

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from agentic_memory_bank.state.settings import Settings

_RESOURCES: Final = {"calls": int, "tokens": int, "money": float, "seconds": float}
"""What `--budget` limits, and how it is counted."""
_TYPES: Final = ", ".join(TYPES)
_FILES: Final = "text, Markdown, HTML, PDF, DOCX, JSONL. `-` is standard input."


def budget_of(given: str) -> tuple[str, float]:
    """The name of the setting that a budget is, and its limit.

    Raises:
        typer.BadParameter: It is none.
    """
    resource, equals, limit = given.rpartition("=")
    resource = resource if equals else "money"
    try:
        amount = _RESOURCES[resource](limit)
        if 0 < float(amount) < math.inf:
            return f"budget_{resource}", amount
    except (KeyError, ValueError, OverflowError):
        pass
    known = ", ".join(f"{name}={'N' if kind is int else 'X'}" for name, kind in _RESOURCES.items())
    raise typer.BadParameter(f"{given!r} is no budget. Write {known}, or X for money: N is whole, both are over 0.")


def budgets_of(given: Iterable[str] | None) -> dict[str, float]:
    """Budgets by the name of their setting, from what `--budget` was given. Raises as `budget_of`."""
    return dict(map(budget_of, given or ()))


def _known_budgets(given: list[str] | None) -> list[str] | None:
    budgets_of(given)
    return given


def _known_decision(given: str | None) -> str | None:
    """Refuse a decision that is none, as wrong usage; the module that knows them is loaded only where one is given."""
    if given is not None:
        from agentic_memory_bank.nodes.memory_bank.pausing import checked_decision

        try:
            checked_decision(given)
        except InputError as error:
            raise typer.BadParameter(str(error)) from None
    return given


def _known_type(given: str | None) -> str | None:
    if given is not None and given not in TYPES:
        raise typer.BadParameter(f"{given!r} is no type of memory. Use one of {_TYPES}.")
    return given


def _known_types(given: list[str] | None) -> list[str] | None:
    for one in given or ():
        _known_type(one)
    return given


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before erasing: for scripts.")]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of this call, such as k=8, recall_limit=8 or page_tokens=512. May be given several times; a "
        "wrong name lists them all.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="PROVIDER:NAME",
        help="The chat model: `openai:NAME`, `deepseek:NAME`, or `local:NAME` for any server that speaks OpenAI's "
        "protocol. Default: MEMORY_BANK_MODEL, or none: then sentences are quoted.",
    ),
]
Budgets = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="[WHAT=]LIMIT",
        callback=_known_budgets,
        help="What the run may spend in all before it pauses: `0.50` of money (needs `prices`), `calls=50`, "
        "`tokens=200000` or `seconds=60`. May be given several times.",
    ),
]

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="What to find out.")]
ThreadName = Annotated[str, typer.Argument(metavar="THREAD", help="The name of a thread; `runs` lists them.")]
MemoryName = Annotated[str, typer.Option("--memory", "-M", metavar="NAME", help="The name of the memory.")]
Files = Annotated[list[str], typer.Argument(metavar="FILES", help=f"Documents and folders of documents: {_FILES}")]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        "-c",
        metavar="FILE_OR_DIR",
        help=f"A document or a folder of documents: {_FILES} May be given several times.",
    ),
]
Attachments = Annotated[
    list[Path] | None,
    typer.Option(
        "--attach",
        "-a",
        metavar="FILE",
        help="A picture (PNG, JPEG, GIF, WebP), document or code that is recognised and kept with the memory. "
        "Pictures need a chat model that sees. May be given several times.",
    ),
]
Decision = Annotated[
    str | None,
    typer.Option(
        "--decision",
        callback=_known_decision,
        help="For a run that waits: `continue`, which grants as much again of a budget, `finish` without a model, "
        "or `stop` to end it with what it has.",
    ),
]

User = Annotated[
    str,
    typer.Option("--user", "-u", envvar="MEMORY_BANK_USER", help="Whose memories. Default: MEMORY_BANK_USER."),
]
Project = Annotated[str, typer.Option("--project", "-p", help="Which of the user's projects. Default: none.")]
Type = Annotated[str | None, typer.Option("--type", metavar="TYPE", callback=_known_type, help=f"One of {_TYPES}.")]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TYPE", callback=_known_types, help=f"Only {_TYPES}. May be given several times."),
]

STDIN: Final = "-"
"""What stands for standard input where a path is asked for."""
_STDIN_NAME: Final = "standard input"
_SKIPPED_SHOWN: Final = 5


def settings_from(
    assignments: Iterable[str] | None, model: str | None = None, budgets: Iterable[str] | None = None
) -> "Settings":
    """The settings of the environment, what `--set` says instead, and what `--model` and `--budget` say above that.

    Raises:
        SettingsError: There is no such setting, or no such value of it.
    """
    from agentic_memory_bank.state.settings import Settings, checked_settings
    from agentic_memory_bank.state.variables import EARLIER

    values: dict[str, Any] = {}
    for assignment in assignments or ():
        name, equals, value = assignment.partition("=")
        if not equals or name not in {*Settings.model_fields, *EARLIER}:
            known = ", ".join(Settings.model_fields)
            raise SettingsError(
                f"--set {assignment!r} names no setting. Write NAME=VALUE, where NAME is one of {known}."
            )
        values[name] = _parsed(value, "{")
    chosen = {} if model is None else {"model": model}
    return checked_settings({**values, **chosen, **budgets_of(budgets)})


def parts_from(settings: "Settings") -> dict[str, Any]:
    """What runs are given to work with. Tests put parts here that load no model.

    Raises:
        EmbeddingError: There is no folder where the settings say that the model is.
        SettingsError: The embeddings that the settings name lack a package or a key.
    """
    if settings.embeddings is None:
        return {}
    from agentic_memory_bank.tools.embeddings.models import default_embeddings

    return {"embeddings": default_embeddings(settings)}


def parts_of_memories(settings: "Settings") -> dict[str, Any]:
    """Models and embeddings for the graphs of memories, which have engines of their own. Raises as `parts_from`."""
    return {name: part for name, part in parts_from(settings).items() if name in ("models", "embeddings")}


def check_paths(paths: Iterable[str]) -> None:
    """Refuse paths that lead nowhere before anything is loaded that reads documents.

    Raises:
        InputError: Standard input is named twice.
        LoadError: A path leads nowhere.
    """
    from agentic_memory_bank.tools.documents.files import check_readable

    given = list(paths)
    if given.count(STDIN) > 1:
        raise InputError("Standard input (`-`) can be read once. Give it a single time.")
    for path in given:
        if path != STDIN:
            check_readable(Path(path))


def documents_from(paths: Iterable[str], emit: Emit) -> "list[Document]":
    """Read files, folders and standard input in the order in which they were given."""
    from agentic_memory_bank.tools.documents.loaders import SkippedFile, load_all

    given = list(paths)
    if not given:
        return []
    emit({"stage": "read", "paths": len(given)})
    documents: list[Document] = []
    skipped: list[SkippedFile] = []
    for is_stdin, group in groupby(given, key=lambda path: path == STDIN):
        documents += [_standard_input()] if is_stdin else load_all(map(Path, group), skipped=skipped)
    emit({"stage": "read", "documents": len(documents), "characters": sum(len(d.page_content) for d in documents)})
    for path, reason in skipped[:_SKIPPED_SHOWN]:
        emit({"note": f"left out {path}: {reason}"})
    if len(skipped) > _SKIPPED_SHOWN:
        emit({"note": f"left out {len(skipped) - _SKIPPED_SHOWN} more"})
    return documents


def _standard_input() -> "Document":
    from langchain_core.documents import Document

    text = text_of(STDIN, "Pipe a text into it, or leave out `-`.")
    return Document(text, metadata={"source": _STDIN_NAME})


def text_of(path: str, if_empty: str) -> str:
    """The text of a file or of standard input.

    Raises:
        LoadError: It cannot be read.
        InputTooLarge: It is too long.
        InputError: It is empty.
    """
    from agentic_memory_bank.tools.documents.files import MAX_BYTES, decode
    from agentic_memory_bank.tools.text.cleaning import clean

    name, title = (_STDIN_NAME, _STDIN_NAME.capitalize()) if path == STDIN else (path, path)
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise LoadError(f"{title} cannot be read ({why}). Check the path and its rights.") from fault
    if len(data) > MAX_BYTES:
        raise InputTooLarge(f"{title} holds more than {MAX_BYTES:,} bytes. Split it, or give less.")
    text = clean(decode(data, name)) if data else ""
    if not text.strip():
        raise InputError(f"{title} is empty. {if_empty}")
    return text


def text_or_json(path: str, opening: str, if_empty: str) -> Any:
    """The text of a file or of standard input, or the JSON it holds if it begins with one of `opening`: `"[{"`.

    Raises as `text_of`.
    """
    return _parsed(text_of(path, if_empty), opening)


def _parsed(text: str, opening: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(text) if text.lstrip().startswith(tuple(opening)) else text.rstrip()
    return text.rstrip()


def check_export(export: Path | None) -> None:
    """Refuse now what could not be written after all the work, and what would be lost by it.

    Raises:
        InputError: It cannot be written, or is there and no export.
    """
    if export is None:
        return
    from agentic_memory_bank.runs.home import EXPORT_FORMAT, checked_export

    checked_export(export)  # not even opened if it is a pipe: that is to wait for who reads it
    folder = next(parent for parent in export.absolute().parents if parent.exists())
    if export.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"An export cannot be written to {export}. Give the name of a file in a folder you can write.")
    with suppress(FileNotFoundError), export.open("rb") as file:
        if EXPORT_FORMAT.encode() not in file.read(256):
            raise InputError(f"{export} is there already and is no export. Give another name.")
