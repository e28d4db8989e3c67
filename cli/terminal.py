"""What is printed: text made safe for a terminal, JSON for machines, counts, tables; and a question before erasing."""

import json
import math
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, cast

import typer

FAILED, USAGE, NOT_FOUND, WAITING, INTERRUPTED = 1, 2, 3, 4, 130
"""Exit codes: it failed, it was called wrongly, nothing was found, the run waits, Ctrl-C."""
LINE: Final = 200
"""Characters shown of a memory in a list."""
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Escape sequences and the like: a document must not be able to drive the terminal it is quoted on."""
_BREAK = re.compile(r"(?<!\s)[^\S\n]*+\n\s*+")

Lines = Iterator[str]


def shown(text: str) -> str:
    """A text as it may be printed."""
    return _UNSHOWN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def on_one_line(text: str) -> str:
    """A text as it may be printed in a line."""
    return shown(_BREAK.sub(" ", text.strip()))


def shortened(text: str, characters: int = LINE) -> str:
    """A text in a line of at most so many characters."""
    line = on_one_line(text)
    return line if len(line) <= characters else f"{line[: characters - 1].rstrip()}…"


def heading(text: str) -> str:
    """A title, in bold."""
    return typer.style(text, bold=True)


def indented(text: str, indent: str, first: str | None = None) -> str:
    """A text of several lines behind an indent; the first line may have one of its own."""
    head, *rest = shown(text).split("\n")
    return "\n".join((f"{indent if first is None else first}{head}", *(f"{indent}{line}" for line in rest)))


def table(rows: Sequence[Sequence[str]]) -> Lines:
    """Rows as a table, the first one its titles; a column that holds nothing is left out."""
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    for row in zip(*columns, strict=True):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def command(*words: str) -> str:
    """A command line the user can paste."""
    return " ".join(["memory-bank", *map(shlex.quote, words)])


def number(value: float) -> str:
    """A number as it may be typed: no exponent, no needless zeros."""
    return format(Decimal(repr(value)).normalize(), "f")


def counted(count: int, name: str, plural: str = "") -> str:
    """A count with its name, in the plural where there are several."""
    return f"{count:,} {name if count == 1 else plural or f'{name}s'}"


def memories_counted(count: int) -> str:
    """How many memories."""
    return counted(count, "memory", "memories")


def tokens(usage: Mapping[str, Any]) -> str:
    """The tokens that models have read and written."""
    return f"{usage.get('input_tokens', 0):,} tokens in, {usage.get('output_tokens', 0):,} out"


def cost(usage: Mapping[str, Any]) -> str:
    """The cost, if the price of every model is known; in the unit of the prices."""
    known = usage.get("cost")
    if known is None:
        return "cost unknown"
    return f"cost {number(round(known, 2) if known >= 1 else float(f'{known:.3g}'))}"


def spent(usage: Mapping[str, Any] | None) -> str:
    """Calls, tokens and cost in one line; empty where no model was asked."""
    if not usage or not usage.get("calls"):
        return ""
    told = f"{counted(usage['calls'], 'call')}, {tokens(usage)}, {cost(usage)}"
    return f"{told}, tokens of {counted(usage['estimated'], 'call')} estimated" if usage.get("estimated") else told


def to_json(value: object, indent: int | None = 2) -> str:
    """JSON for standard output: readable where it can show every character, and escaped where it cannot."""
    is_utf = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").startswith("utf")
    return json.dumps(_plain(value), ensure_ascii=not is_utf, indent=indent, allow_nan=False, default=str)


def _plain(value: object) -> object:
    """A copy in which JSON has a word for each number: infinity and "not a number" become null."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print lines one by one, as they come."""
    for line in lines:
        typer.echo(line, err=err)


def print_found(value: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print JSON for machines, or lines for people."""
    print_lines([to_json(value)] if as_json else lines)


def is_at_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty()


def is_watched() -> bool:
    """Whether somebody reads stderr and can answer; text that is piped in is a document, and no answer."""
    return is_at_terminal() and sys.stderr.isatty()


def confirm_erasing(question: str, *, otherwise: str, as_json: bool) -> None:
    """Go on only where somebody at a terminal says yes to what was shown.

    Args:
        otherwise: What a script gives in place of a yes.

    Raises:
        typer.Exit: Nobody does.
    """
    if as_json or not is_at_terminal():
        if not as_json:
            typer.echo(f"Nothing was erased. Give {otherwise}.", err=True)
        raise typer.Exit(USAGE)
    if not typer.confirm(question):
        typer.echo("Nothing was erased.")
        raise typer.Exit
