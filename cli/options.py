"""The arguments and options that several commands share, each with its one help text and its one check."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import typer

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.records import TYPES

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
