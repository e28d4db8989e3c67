"""The commands of whoever runs an installation: `doctor` examines it, `token` lets somebody in to its server."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from agentic_memory_bank.cli import terminal
from agentic_memory_bank.cli.options import AsJson


def doctor(
    *,
    online: Annotated[
        bool, typer.Option("--online", help="Also send tiny requests to each model. Without it nothing is sent.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Examine this installation: versions, models, storage, settings, and what to do about problems."""
    try:
        from agentic_memory_bank.runs.doctor import examine

        found: dict[str, Any] = examine(online=online)
    except ImportError as error:
        broken = f"The package {error.name or 'of a dependency'} cannot be imported ({error})."
        remedy = "Install agentic-memory-bank again."
        found = {"ok": False, "problems": [{"severity": "error", "problem": broken, "remedy": remedy}]}
    terminal.print_found(found, _examination_lines(found), as_json=as_json)
    raise typer.Exit(0 if found["ok"] else terminal.FAILED)


def _examination_lines(found: Mapping[str, Any]) -> terminal.Lines:
    """What `doctor` found, section by section, and each problem with its remedy."""
    for title, section in found.items():
        if isinstance(section, Mapping):
            yield terminal.heading(title.replace("_", " ").capitalize())
            width = max(map(len, section), default=0)
            yield from (f"  {name.ljust(width)}  {terminal.on_one_line(str(value))}" for name, value in section.items())
            if not section:
                yield "  none"
    yield terminal.heading("Problems")
    for problem in found["problems"]:
        label = typer.style(problem["severity"], fg="red" if problem["severity"] == "error" else "yellow")
        yield f"  {label}: {terminal.on_one_line(problem['problem'])}\n    {terminal.on_one_line(problem['remedy'])}"
    if not found["problems"]:
        yield "  none: `memory-bank ask` can be used"


def token(*, name: Annotated[str, typer.Argument(metavar="NAME", help="Whose token it is.")]) -> None:
    """Make a bearer token for a server: `memory-bank token NAME >> tokens`. The token itself is shown this once."""
    from agentic_memory_bank.runs.server import new_token

    made, line = new_token(name)
    typer.echo(f"The token of {name}, which is kept nowhere: {made}", err=True)
    typer.echo(line)
