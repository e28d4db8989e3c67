"""The commands over memories of pages: `memorize` makes one, `research` answers from one, `pages` lists and erases."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from agentic_memory_bank.cli import options, outcome, terminal
from agentic_memory_bank.cli.ask import exit_code
from agentic_memory_bank.cli.progress import Emit
from agentic_memory_bank.cli.work import Attempt, Work, attended
from agentic_memory_bank.state.errors import UnknownMemoryError

if TYPE_CHECKING:
    from agentic_memory_bank.runs.cleanup import PageMemory
    from agentic_memory_bank.state.memorizer import MemorizerOutput
    from agentic_memory_bank.state.research import ResearcherOutput
    from agentic_memory_bank.state.settings import Settings

_NAME_CHARACTERS = 60
_DAY = 86_400


def memorize(
    *,
    files: options.Files,
    memory: options.MemoryName,
    model: options.Model = None,
    budget: options.Budgets = None,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Split documents into pages that `research` searches. Interrupted, give the same command again.

    Prints how many pages are new, and what was left out because the memory has it. Nothing is done twice.
    """
    work = partial(_memorize, files, memory, options.settings_from(settings, model, budget))
    said = "The pages that were done are kept; give the same command again for the others."
    _show(work, memory, said, outcome.memorized, as_json=as_json)


def _memorize(files: list[str], memory: str, settings: "Settings", emit: Emit, attempt: Attempt) -> "MemorizerOutput":
    """Check all that can be checked before files are read, read them, and memorize."""
    from agentic_memory_bank.tools.pages.stores import checked_name

    name = checked_name(memory)
    parts = options.parts_of_memories(settings)
    options.check_paths(files)
    documents = options.documents_from(files, emit)
    from agentic_memory_bank.runs.page_runs import (
        PageRunOptions,  # what takes a second to load comes after what may be refused
        memorize,
    )

    return memorize(documents, name, settings, given=PageRunOptions(**parts, control=attempt.begin(), on_event=emit))


def research(
    *,
    question: options.Question,
    memory: options.MemoryName,
    model: options.Model = None,
    budget: options.Budgets = None,
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer a question from the pages of a memory, in several rounds of search where one does not suffice.

    Prints the answer and the quotes it rests on, with the pages they stand on.
    """
    work = partial(_research, question, memory, options.settings_from(settings, model, budget))
    said = "Give the same command again: what was answered is not paid for twice."
    _show(work, memory, said, outcome.researched, as_json=as_json)


def _research(question: str, memory: str, settings: "Settings", emit: Emit, attempt: Attempt) -> "ResearcherOutput":
    from agentic_memory_bank.tools.pages.stores import checked_name
    from agentic_memory_bank.tools.text.cleaning import checked_text

    question, memory = checked_text(question, "request"), checked_name(memory)
    parts = options.parts_of_memories(settings)
    if not (settings.names_models or is_there(memory)):
        return {
            "answer": "",
            "status": "not_found",
            "sources": [],
            "findings": [],
            "rounds": [],
            "usage": {"calls": 0, "input_tokens": 0, "output_tokens": 0},
            "degraded": [],
        }
    from agentic_memory_bank.runs.page_runs import (
        PageRunOptions,  # what takes a second to load comes after what may be refused
        research,
    )

    return research(question, memory, settings, given=PageRunOptions(**parts, control=attempt.begin(), on_event=emit))


def is_there(memory: str, user: str = "") -> bool:
    """Whether there is a memory of pages, found out before anything heavy is loaded."""
    from agentic_memory_bank.tools.pages.stores import PageStores, checked_name

    with closing(PageStores()) as stores:
        return stores.of(checked_name(memory), user).exists()


def _show(
    work: Work[Mapping[str, Any]],
    memory: str,
    if_interrupted: str,
    lines: Callable[..., terminal.Lines],
    *,
    as_json: bool,
) -> None:
    """Work with progress on stderr, print what came of it, and exit with what that means."""
    begun = time.monotonic()
    output = attended(work, lambda attempt: ({"memory": memory}, f". {if_interrupted}"), as_json=as_json)
    elapsed = time.monotonic() - begun
    found = {**output, "memory": memory, "elapsed": round(elapsed, 3)}
    terminal.print_found(found, lines(output, memory, elapsed=elapsed), as_json=as_json)
    raise typer.Exit(exit_code({"answer": "pages", **output}))


def pages(
    *,
    memory: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only the memory of this name.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Clear it for good; asks first.")] = False,
    user: Annotated[str, typer.Option("--user", "-u", help="Whose, of a memory that a server keeps.")] = "",
    yes: options.Yes = False,
    as_json: options.AsJson = False,
) -> None:
    """List the memories that `memorize` made, with their pages and how long these stay; or clear one."""
    if clear and memory is None:
        raise typer.BadParameter("--clear needs the NAME of a memory.")
    if memory is not None and not is_there(memory, user):
        raise UnknownMemoryError(f"There is no memory of pages {memory!r}. `memory-bank pages` lists them.")
    from agentic_memory_bank.runs.cleanup import clear_pages, list_pages

    found = [one for one in list_pages() if memory is None or (one["memory"], one["user"]) == (memory, user)]
    if not clear:
        terminal.print_found({"pages": found}, _page_memories(found), as_json=as_json)
        return
    if not yes:
        whole = terminal.counted(found[0]["pages"], "page")
        terminal.confirm_erasing(
            f"Erase the {whole} of '{memory}' for good?", otherwise="--yes to erase it", as_json=as_json
        )
    count = clear_pages(cast(str, memory), user=user)
    terminal.print_found({"erased": count}, [f"Erased {terminal.counted(count, 'page')}."], as_json=as_json)


def _page_memories(memories: "list[PageMemory]") -> terminal.Lines:
    if memories:
        yield from terminal.table([("MEMORY", "PAGES", "STAY", "BYTES", "USER"), *map(_page_memory, memories)])
    else:
        yield "There are no memories of pages."


def _page_memory(one: "PageMemory") -> tuple[str, ...]:
    stay = "for ever" if one["ttl_seconds"] is None else f"{one['ttl_seconds'] / _DAY:,.3g} days"
    name = terminal.shortened(one["memory"], _NAME_CHARACTERS)
    return name, f"{one['pages']:,}", stay, f"{one['bytes']:,}", terminal.on_one_line(one["user"])
