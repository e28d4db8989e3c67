"""The command line, `memory-bank`: parse, call `agentic_memory_bank.runs`, print."""

import inspect
import json
import logging
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, redirect_stdout, suppress
from dataclasses import asdict
from functools import partial, wraps
from itertools import groupby
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast
from uuid import uuid4

import typer

from agentic_memory_bank import cli_chat, cli_memories
from agentic_memory_bank import cli_view as view
from agentic_memory_bank.cli_progress import Emit, Event, Interrupted, attend, leave, progress
from agentic_memory_bank.state.errors import (
    InputError,
    MemoryBankError,
    RunError,
    UnknownMemoryError,
    UnknownThreadError,
)

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langgraph.runtime import RunControl

    from agentic_memory_bank.runs import RunOutput
    from agentic_memory_bank.runs.ledger import Run
    from agentic_memory_bank.state.memorizer import MemorizerOutput
    from agentic_memory_bank.state.research import ResearcherOutput
    from agentic_memory_bank.state.settings import Settings

ENVIRONMENT = {
    "LANGSMITH_TRACING": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Nothing is sent home and no library draws on the terminal, unless the user has set otherwise."""

FAILED, NOT_FOUND, WAITING = 1, 3, 4
_RESOURCES = {"calls": int, "tokens": int, "money": float, "seconds": float}
"""What `--budget` limits, and how it is counted."""
_LOOK_SECONDS = 0.4
_SKIPPED_SHOWN = 5

app = typer.Typer(
    name="memory-bank",
    help="Answer questions over your documents, with quotes and with contradictions settled: offline, without a key, "
    "and resumable at every step.",
    epilog="Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 the documents do not hold the answer, 4 the run waits "
    "or was stopped, 130 interrupted (go on with: memory-bank resume). Runs live in MEMORY_BANK_HOME, by default "
    "~/.local/state/agentic-memory-bank.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
ThreadName = Annotated[str, typer.Argument(metavar="THREAD", help="The name of a thread; `runs` lists them.")]


def main() -> None:
    """Run the command line in a process of its own, which is made quiet, private and safe first."""
    os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # LangGraph reads it when it is imported
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            cast(Any, stream).reconfigure(errors="replace")
    app()


def _parts(settings: "Settings") -> dict[str, Any]:
    """What runs are given to work with. Tests put parts here that load no model.

    Raises:
        EmbeddingError: There is no folder where the settings say that the model is.
    """
    if settings.embedding_path is None:
        return {}
    from agentic_memory_bank.tools.embeddings.models import default_embeddings

    embeddings = default_embeddings(settings)
    _ = embeddings.model  # looks for the folder now, and loads nothing
    return {"embeddings": embeddings}


def _command(name: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function: with `--debug`, and with errors told in one line."""

    def make(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def called(*, debug: bool = False, **options: Any) -> None:
            try:
                if function is not doctor:  # which tells of them among all else
                    _check_variables()
                function(**options)
            except MemoryBankError as error:
                if debug:
                    raise
                _tell(error, as_json=bool(options.get("as_json")))
                raise typer.Exit(FAILED) from None

        signature = inspect.signature(function)
        flag = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug)
        cast(Any, called).__signature__ = signature.replace(parameters=[*signature.parameters.values(), flag])
        app.command(name or function.__name__)(called)
        return function

    return make


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
        typer.echo(f"{typer.style('Error:', fg='red')} {view.on_one_line(str(error))}", err=True)


def _public_name(error: MemoryBankError) -> str:
    """The error as `state/errors.py` names it; what a module calls its own kinds of it is its own matter."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == MemoryBankError.__module__)


def _print(lines: Iterable[str], *, err: bool = False) -> None:
    for line in lines:
        typer.echo(line, err=err)


def _budgets(given: Iterable[str] | None) -> dict[str, float]:
    """Budgets by the name of their setting, from what `--budget` was given.

    Raises:
        typer.BadParameter: One is none.
    """
    return dict(map(_budget, given or ()))


def _budget(given: str) -> tuple[str, float]:
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


def _known_budgets(given: list[str] | None) -> list[str] | None:
    """Refuse a budget that is none, as wrong usage."""
    _budgets(given)
    return given


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


def _known_decision(given: str | None) -> str | None:
    """Refuse a decision that is none, as wrong usage; the module that knows them is loaded only where one is given."""
    if given is not None:
        from agentic_memory_bank.nodes.memory_bank.pausing import checked_decision

        try:
            checked_decision(given)
        except InputError as error:
            raise typer.BadParameter(str(error)) from None
    return given


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


# --- ask and resume ----------------------------------------------------------------------------------------------


@_command()
def ask(
    *,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to find out.")],
    context: Annotated[
        list[str] | None,
        typer.Option(
            "--context",
            "-c",
            metavar="FILE_OR_DIR",
            help="A document or a folder of documents: text, Markdown, HTML, PDF, DOCX, JSONL. `-` is standard input. "
            "May be given several times.",
        ),
    ] = None,
    attach: Annotated[
        list[Path] | None,
        typer.Option(
            "--attach",
            "-a",
            metavar="FILE",
            help="A picture (PNG, JPEG, GIF, WebP), document or code that is recognised and kept with the memory. "
            "Pictures need a chat model that sees. May be given several times.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="PROVIDER:NAME",
            help="The chat model that judges: `openai:NAME`, `deepseek:NAME`, or `local:NAME` for any server that "
            "speaks OpenAI's protocol. Default: MEMORY_BANK_MODEL, or none.",
        ),
    ] = None,
    budget: Budgets = None,
    thread: Annotated[
        str | None, typer.Option("--thread", "-t", help="Name the run. Its memory is kept for further questions.")
    ] = None,
    keep: Annotated[
        bool | None,
        typer.Option(
            "--keep/--no-keep", help="Keep the memory after the answer, or erase it. Default: kept if it has a name."
        ),
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="F.json", help="Write the memory to a file before it is erased.")
    ] = None,
    outside: Annotated[
        bool,
        typer.Option(
            "--outside",
            help="Carry out the steps yourself, or with any agent: prints the prompt of each step, exits with 4, and "
            "goes on with `resume --result`.",
        ),
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of this run, such as k=8 or budget_seconds=60. A wrong name lists them all.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question from documents, from a kept memory, or from both.

    Prints the answer, the quotes it rests on, and how each contradiction was settled.
    """
    begun = time.monotonic()
    name = thread if thread is not None else uuid4().hex[:12]
    kept = keep if keep is not None else thread is not None
    chosen: dict[str, Any] = {**({"model": model} if model is not None else {}), **_budgets(budget)}
    doer = "outside" if outside else None
    whose = (name, thread is not None, kept)
    work = partial(_ask, question, context or [], attach or [], whose, export, doer, settings or [], chosen)
    _show_outcome(_accompanied(work, name, as_json=as_json), kept=kept, begun=begun, as_json=as_json)


def _ask(
    question: str,
    context: list[str],
    attach: list[Path],
    whose: tuple[str, bool, bool],
    export: Path | None,
    execute: Literal["outside"] | None,
    assignments: list[str],
    chosen: Mapping[str, Any],
    emit: Emit,
    attempt: "_Attempt",
) -> "RunOutput":
    """Check all that can be checked before documents are read, read them, and run."""
    from agentic_memory_bank.runs.home import GeneratedName, checked_thread
    from agentic_memory_bank.tools.text.cleaning import checked_text

    name, is_named, keep = whose
    question, thread = checked_text(question, "question"), checked_thread(name) if is_named else GeneratedName(name)
    _check_export(export)
    _check_is_free(thread)
    settings = _settings(assignments, chosen)
    parts = _parts(settings)
    if settings.names_models:
        from agentic_memory_bank.runs.arguments import check_models

        check_models(settings, parts.get("engine"), parts.get("models"))
    _check_paths(context)
    documents = _documents(context, emit)
    from agentic_memory_bank.runs import run  # what takes a second to load comes after what may be refused

    attempt.begin()
    return run(
        question,
        documents=documents,
        attachments=attach,
        thread=thread,
        keep=keep,
        export=export,
        execute=execute,
        settings=settings,
        on_event=emit,
        control=attempt.control,
        **parts,
    )


@_command()
def resume(
    *,
    thread: Annotated[
        str | None, typer.Argument(metavar="[THREAD]", help="Default: the unfinished run that was active last.")
    ] = None,
    decision: Annotated[
        str | None,
        typer.Option(
            "--decision",
            callback=_known_decision,
            help="For a run that waits: `continue`, which grants as much again of a budget, `finish` without a model, "
            "or `stop` to end it with what it has.",
        ),
    ] = None,
    result: Annotated[
        str | None,
        typer.Option(
            "--result",
            metavar="FILE",
            help="For a run of `ask --outside`: what was done, as text or as a JSON list of messages. `-` is standard "
            "input. Without it the step is printed again.",
        ),
    ] = None,
    budget: Budgets = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was interrupted, killed or paused; nothing is done or paid for twice."""
    begun = time.monotonic()
    raised = _budgets(budget)
    if result is not None and (raised or decision is not None):
        raise typer.BadParameter("A run that is handed a --result needs no --decision and no --budget. Leave them out.")
    if raised and decision not in (None, "continue"):
        raise typer.BadParameter(f"A run that is told to {decision} needs no --budget. Leave one of the two out.")
    found = _run_to_resume(thread)
    if (decision is not None or raised) and found.state != "paused":
        raise RunError(
            f"The run on the thread '{found.thread}' waits for no decision. Resume it without --decision and --budget, "
            "or clear it."
        )
    done = None if result is None else _result(result)
    work = partial(_resume, found, raised or decision or "continue", done)
    output = _accompanied(work, found.thread, as_json=as_json)
    _show_outcome(output, kept=found.keep, begun=begun, as_json=as_json)


def _resume(found: "Run", decision: object, result: object, emit: Emit, attempt: "_Attempt") -> "RunOutput":
    from agentic_memory_bank.nodes.memory_bank.pausing import checked_decision
    from agentic_memory_bank.runs import resume
    from agentic_memory_bank.state.settings import checked_settings

    attempt.begin()
    parts = _parts(checked_settings(found.settings))
    return resume(
        found.thread,
        decision=checked_decision(decision),
        result=result,
        on_event=emit,
        control=attempt.control,
        **parts,
    )


def _accompanied(work: "_Work", thread: str, *, as_json: bool) -> "RunOutput":
    """Run; where it pauses, ask the person what to do, if there is one, and go on."""
    output = _attended(work, thread, as_json=as_json)
    while "pause" in output and not view.is_handed_out(output) and not as_json and _is_accompanied():
        decision = _asked(output)
        if decision is None:
            break
        output = _attended(partial(_resume, _run_to_resume(thread), decision, None), thread, as_json=False)
    return output


def _is_accompanied() -> bool:
    """Whether somebody can be asked; text that is piped in is a document, and no answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _asked(output: "RunOutput") -> object:
    """What the person decides at a pause; None to leave the run waiting."""
    waiting = output["pause"]
    _print(view.waiting_lines(output), err=True)
    choices = ("raise", "finish", "stop", "later") if "limit" in waiting else ("continue", "finish", "stop", "later")

    def one_of(given: str) -> str:
        chosen = [choice for choice in choices if given and choice.startswith(given.strip().lower())]
        if len(chosen) != 1:
            raise typer.BadParameter(f"Answer with {', '.join(choices)}, or its first letter.")
        return chosen[0]

    with suppress(typer.Abort), redirect_stdout(sys.stderr):  # Ctrl-C, or the end of input, is no decision
        chosen = typer.prompt("What now?", default="later", value_proc=one_of, err=True)
        if chosen == "raise":
            return {f"budget_{waiting['reason']}": _raised(waiting)}
        return None if chosen == "later" else chosen
    return None


def _raised(waiting: Mapping[str, Any]) -> float:
    """The new limit, which is over the one that was reached."""
    reason, limit = waiting["reason"], waiting["limit"]

    def over(given: str) -> float:
        try:
            _, amount = _budget(f"{reason}={given}")
        except typer.BadParameter:
            amount = 0.0
        if amount <= limit:
            raise typer.BadParameter(f"Give a number over {view.number(limit)}.")
        return amount

    asked = f"How much in all, {reason}?"
    return typer.prompt(asked, default=view.number(2 * limit), value_proc=over, err=True)


def _run_to_resume(thread: str | None) -> "Run":
    runs = _runs()
    if thread is not None:
        matching = [run for run in runs if run.thread == thread]
        if not matching:
            raise UnknownThreadError(f"Nothing is known of the thread '{thread}'. `memory-bank runs` lists them.")
        return matching[0]
    unfinished = [run for run in runs if run.is_unfinished]
    if not unfinished:
        raise UnknownThreadError("No run is unfinished. `memory-bank runs` lists all.")
    return unfinished[0]


class _Attempt:
    """What Ctrl-C needs to know of a run: how to ask it to end, and whether it may have been saved."""

    control: "RunControl | None" = None
    has_begun = False

    def begin(self) -> "RunControl":
        """Note that from now on the run may be saved, and make what asks it to end."""
        from langgraph.runtime import RunControl

        self.has_begun, self.control = True, RunControl()
        return self.control

    def stop(self) -> None:
        """Ask the run to end after the step it is in."""
        if self.control is not None:
            self.control.request_drain("interrupted")


_Work = Callable[[Emit, _Attempt], "RunOutput"]


def _attended(work: _Work, thread: str, *, as_json: bool) -> "RunOutput":
    """Run with progress on stderr; after Ctrl-C say how to go on, and leave."""
    attempt = _Attempt()

    try:
        return attend(lambda emit: work(emit, attempt), progress(as_json=as_json), attempt.stop)
    except Interrupted:
        _say_how_to_go_on(thread, attempt.has_begun and _is_resumable(thread), as_json=as_json)
        leave()
        raise


def _say_how_to_go_on(thread: str, can_go_on: bool, *, as_json: bool) -> None:
    again = view.command("resume", thread)
    said = f"Interrupted. What was done is saved; go on with: {again}"
    if not can_go_on:
        said = "Interrupted, and there is nothing to go on with. Ask again."
    event: Event = {"interrupted": True, "thread": thread, "resume": again if can_go_on else None}
    typer.echo(json.dumps(event) if as_json else said, err=True)
    sys.stderr.flush()


def _is_resumable(thread: str) -> bool:
    """Look the run up in the ledger, but not for long: a disk that hangs must not keep Ctrl-C from working."""
    found: list[bool] = []

    def look() -> None:
        with suppress(Exception):  # whatever is wrong with the ledger is told by the next command
            found.append(any(run.thread == thread and run.is_unfinished for run in _runs()))

    looking = Thread(target=look, daemon=True)
    looking.start()
    looking.join(_LOOK_SECONDS)
    return found[0] if found else True


def _show_outcome(output: "RunOutput", *, kept: bool, begun: float, as_json: bool) -> None:
    elapsed = time.monotonic() - begun
    if as_json:
        again = {"resume": view.go_on_command(output)} if view.can_go_on(output) else {}
        typer.echo(view.to_json({**output, **again, "kept": kept, "elapsed": round(elapsed, 3)}))
    elif view.is_handed_out(output):
        typer.echo(view.shown(output["pause"]["prompt"]))
        _print(view.handed_out(output, elapsed=elapsed), err=True)  # what is printed can be piped into an agent
    else:
        _print(view.outcome(output, kept=kept, elapsed=elapsed))
    raise typer.Exit(_exit_code(output))


def _exit_code(output: Mapping[str, Any]) -> int:
    if "pause" in output or output["status"] in ("stopped", "running"):
        return WAITING
    if output["status"] == "failed":
        return FAILED
    return 0 if output["answer"] else NOT_FOUND


# --- memories of pages -------------------------------------------------------------------------------------------


_Output = TypeVar("_Output")

MemoryName = Annotated[str, typer.Option("--memory", "-M", metavar="NAME", help="The name of the memory.")]


@_command()
def memorize(
    *,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="Documents and folders of documents: text, Markdown, HTML, PDF, DOCX, JSONL. `-` is standard input.",
        ),
    ],
    memory: MemoryName,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="PROVIDER:NAME", help="The chat model that writes abstracts."),
    ] = None,
    budget: Budgets = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting, such as page_tokens=512 or page_ttl_days=30."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make pages of documents, to be searched later. Interrupted, give the same command again: nothing is done twice.

    Prints how many pages are new, and what was left out because the memory has it.
    """
    begun = time.monotonic()
    chosen: dict[str, Any] = {**({"model": model} if model is not None else {}), **_budgets(budget)}
    attempt = _Attempt()
    work = partial(_memorize, files, memory, settings or [], chosen, attempt)
    said = "The pages that were done are kept; give the same command again for the others."
    output = _done_over_again(work, attempt, memory, said, as_json=as_json)
    elapsed = time.monotonic() - begun
    if as_json:
        typer.echo(view.to_json({**output, "memory": memory, "elapsed": round(elapsed, 3)}))
    else:
        _print(view.memorized(output, memory, elapsed=elapsed))
    raise typer.Exit(WAITING if output["status"] == "stopped" else 0)


def _memorize(
    files: list[str], memory: str, assignments: list[str], chosen: Mapping[str, Any], attempt: "_Attempt", emit: Emit
) -> "MemorizerOutput":
    """Check all that can be checked before files are read, read them, and memorize."""
    from agentic_memory_bank.tools.pages.stores import checked_name

    name, settings = checked_name(memory), _settings(assignments, chosen)
    parts = {key: part for key, part in _parts(settings).items() if key in ("models", "embeddings")}
    _check_paths(files)
    documents = _documents(files, emit)
    from agentic_memory_bank.runs.page_runs import PageRunOptions, memorize

    return memorize(documents, name, settings, given=PageRunOptions(**parts, control=attempt.begin(), on_event=emit))


@_command()
def research(
    *,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to find out.")],
    memory: MemoryName,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="PROVIDER:NAME", help="The chat model that plans, judges and answers."),
    ] = None,
    budget: Budgets = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting, such as research_rounds=5 or research_pages=20."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question from a memory that `memorize` made, in several rounds where one does not suffice.

    Prints the answer and the quotes it rests on, with the pages they stand on.
    """
    begun = time.monotonic()
    chosen: dict[str, Any] = {**({"model": model} if model is not None else {}), **_budgets(budget)}
    attempt = _Attempt()
    work = partial(_research, question, memory, settings or [], chosen, attempt)
    said = "Give the same command again: what was answered is not paid for twice."
    output = _done_over_again(work, attempt, memory, said, as_json=as_json)
    elapsed = time.monotonic() - begun
    if as_json:
        typer.echo(view.to_json({**output, "memory": memory, "elapsed": round(elapsed, 3)}))
    else:
        _print(view.researched(output, memory, elapsed=elapsed))
    raise typer.Exit(_exit_code(output))


def _research(
    question: str, memory: str, assignments: list[str], chosen: Mapping[str, Any], attempt: "_Attempt", emit: Emit
) -> "ResearcherOutput":
    from agentic_memory_bank.tools.pages.stores import PageStores, checked_name
    from agentic_memory_bank.tools.text.cleaning import checked_text

    question, memory, settings = checked_text(question, "request"), checked_name(memory), _settings(assignments, chosen)
    parts = {key: part for key, part in _parts(settings).items() if key in ("models", "embeddings")}
    with closing(PageStores()) as stores:
        if not (settings.names_models or cast(Path, stores.of(memory).path).exists()):
            return {"answer": "", "status": "not_found", "sources": [], "findings": [], "rounds": [], "degraded": []}
    from agentic_memory_bank.runs.page_runs import PageRunOptions, research

    return research(question, memory, settings, given=PageRunOptions(**parts, control=attempt.begin(), on_event=emit))


def _done_over_again(
    work: Callable[[Emit], _Output], attempt: "_Attempt", memory: str, said: str, *, as_json: bool
) -> _Output:
    """Work with progress on stderr; after Ctrl-C say what becomes of it, and leave."""
    try:
        return attend(work, progress(as_json=as_json), attempt.stop)
    except Interrupted:
        event: Event = {"interrupted": True, "memory": memory}
        typer.echo(json.dumps(event) if as_json else f"Interrupted. {said}", err=True)
        sys.stderr.flush()
        leave()
        raise


@_command()
def pages(
    *,
    memory: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only the memory of this name.")] = None,
    erase: Annotated[bool, typer.Option("--erase", help="Erase it for good; asks first.")] = False,
    user: Annotated[str, typer.Option("--user", "-u", help="Whose, of a memory that a server keeps.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask: for scripts.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the memories that `memorize` made, with their pages and how long these stay; or erase one."""
    from agentic_memory_bank.runs.cleanup import erase_pages, list_pages

    if erase and memory is None:
        raise typer.BadParameter("--erase needs the NAME of a memory.")
    found = [one for one in list_pages() if memory is None or (one["memory"], one["user"]) == (memory, user)]
    if memory is not None and not found:
        raise UnknownMemoryError(f"There is no memory of pages {memory!r}. `memory-bank pages` lists them.")
    if not erase:
        typer.echo(view.to_json({"pages": found})) if as_json else _print(view.page_memory_lines(found))
        return
    if not yes and not cli_memories.is_at_terminal():
        raise typer.BadParameter("Nothing was erased. Give --yes to erase it.")
    if not yes and not typer.confirm(f"Erase the {found[0]['pages']} pages of '{memory}' for good?"):
        typer.echo("Nothing was erased.")
        return
    count = erase_pages(cast(str, memory), user=user)
    typer.echo(view.to_json({"erased": count})) if as_json else typer.echo(f"Erased {view.counted(count, 'page')}.")


# --- input -------------------------------------------------------------------------------------------------------


def _settings(assignments: list[str], chosen: Mapping[str, Any]) -> "Settings":
    """The settings of the environment, what `--set` says instead, and what options of their own say above that."""
    from agentic_memory_bank.state.errors import SettingsError
    from agentic_memory_bank.state.settings import Settings, checked_settings

    values: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or name not in Settings.model_fields:
            known = ", ".join(Settings.model_fields)
            raise SettingsError(
                f"--set {assignment!r} names no setting. Write NAME=VALUE, where NAME is one of {known}."
            )
        values[name] = _plain_value(value)
    return checked_settings({**values, **chosen})


def _plain_value(text: str) -> Any:
    """The value of a setting; a table, such as that of prices, is written in JSON."""
    with suppress(ValueError):
        return json.loads(text) if text.startswith("{") else text
    return text


def _check_export(export: Path | None) -> None:
    """Refuse now what could not be written after all the work, and what would be lost by it."""
    if export is None:
        return
    from agentic_memory_bank.runs.export_file import FORMAT, checked_export

    checked_export(export)  # not even opened if it is a pipe: that is to wait for who reads it
    folder = next(parent for parent in export.absolute().parents if parent.exists())
    if export.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"An export cannot be written to {export}. Give the name of a file in a folder you can write.")
    with suppress(FileNotFoundError), export.open("rb") as file:
        if FORMAT.encode() not in file.read(256):
            raise InputError(f"{export} is there already and is no export. Give another name.")


def _check_is_free(thread: str) -> None:
    if any(run.thread == thread and run.is_unfinished for run in _runs()):
        again, erase = view.command("resume", thread), view.command("clear", thread)
        raise RunError(
            f"The thread '{thread}' has an unfinished run. Go on with `{again}`, or erase it with `{erase}`."
        )


def _check_paths(context: list[str]) -> None:
    """Refuse paths that lead nowhere before anything is loaded that reads documents."""
    from agentic_memory_bank.tools.documents.files import check_readable

    if context.count("-") > 1:
        raise InputError("Standard input (`-`) can be read once. Give --context - a single time.")
    for path in context:
        if path != "-":
            check_readable(Path(path))


def _documents(context: list[str], emit: Emit) -> "list[Document]":
    """Read files, folders and standard input in the order in which they were given."""
    from agentic_memory_bank.tools.documents.loaders import SkippedFile, load_all

    if not context:
        return []
    emit({"stage": "read", "paths": len(context)})
    documents: list[Document] = []
    skipped: list[SkippedFile] = []
    for is_stdin, paths in groupby(context, key=lambda path: path == "-"):
        documents += _standard_input() if is_stdin else load_all(map(Path, paths), skipped=skipped)
    emit({"stage": "read", "documents": len(documents), "characters": sum(len(d.page_content) for d in documents)})
    for path, reason in skipped[:_SKIPPED_SHOWN]:
        emit({"note": f"left out {path}: {reason}"})
    if len(skipped) > _SKIPPED_SHOWN:
        emit({"note": f"left out {len(skipped) - _SKIPPED_SHOWN} more"})
    return documents


def _standard_input() -> "list[Document]":
    from langchain_core.documents import Document

    text = _decoded(sys.stdin.buffer, "standard input")
    if not text.strip():
        raise InputError("Standard input is empty. Pipe a text into it, or leave out `--context -`.")
    return [Document(text, metadata={"source": "standard input"})]


def _decoded(stream: IO[bytes], name: str) -> str:
    """The text of a stream that is not too long."""
    from agentic_memory_bank.state.errors import InputTooLarge
    from agentic_memory_bank.tools.documents.decoding import decode
    from agentic_memory_bank.tools.documents.files import MAX_BYTES
    from agentic_memory_bank.tools.text.cleaning import clean

    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputTooLarge(f"{name[0].upper()}{name[1:]} holds more than {MAX_BYTES:,} bytes. Split it, or give less.")
    return clean(decode(data, name)) if data else ""


def _result(path: str) -> object:
    """What an executor outside did, from a file or standard input: a JSON list or object, or else text as it is."""
    from agentic_memory_bank.state.errors import LoadError

    try:
        if path == "-":
            text = _decoded(sys.stdin.buffer, "standard input")
        else:
            with Path(path).open("rb") as file:
                text = _decoded(file, path)
    except (OSError, ValueError) as fault:
        if isinstance(fault, MemoryBankError):
            raise
        why = getattr(fault, "strerror", None) or fault
        raise LoadError(f"The result {path} cannot be read ({why}). Check the path and its rights.") from fault
    if not text.strip():
        raise InputError("The result is empty. Say in words what was found, also where it is nothing.")
    with suppress(ValueError, RecursionError):
        return json.loads(text) if text.lstrip()[:1] in ("[", "{") else text.rstrip()
    return text.rstrip()


# --- runs and their memory ---------------------------------------------------------------------------------------


def _runs() -> "list[Run]":
    """All runs, the latest first; a home that is not there yet is not made."""
    from agentic_memory_bank.runs.home import Home
    from agentic_memory_bank.runs.ledger import Ledger
    from agentic_memory_bank.tools.storage.disk import storage_errors

    place = Home()
    with storage_errors(place.ledger):
        if not place.ledger.exists():
            return []
    place.prepare()
    return Ledger(place.ledger).all()


@_command()
def runs(*, as_json: AsJson = False) -> None:
    """List all runs: kept memories, and runs that can be resumed."""
    rows = [
        {key: value for key, value in asdict(run).items() if key not in ("documents", "attachments")} for run in _runs()
    ]
    if as_json:
        typer.echo(view.to_json({"runs": rows}))
    else:
        _print(view.run_lines(rows))


@_command()
def show(
    *,
    thread: ThreadName,
    node: Annotated[
        str | None, typer.Option("--node", metavar="ID", help="One memory, with all the raw text it stands for.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a thread remembers: goal, tasks, conflicts, memories and attachments, and whether it waits."""
    from agentic_memory_bank.runs import read_state

    state = read_state(thread)
    if node is None:
        found, lines = _shown_memory(thread, state), view.memory_lines
    else:
        found, lines = _memory_of(state, node), view.deep_lines
    if as_json:
        typer.echo(view.to_json(found))
    else:
        _print(lines(found))


def _shown_memory(thread: str, state: Any) -> dict[str, Any]:
    """A thread's memory with what is known of it besides its state: what was spent, sizes of files, why it waits."""
    from agentic_memory_bank.runs.bank_runs import read_pause
    from agentic_memory_bank.runs.export import files_of
    from agentic_memory_bank.runs.home import Home

    run = next((run for run in _runs() if run.thread == thread), None)
    found = view.memory(state, thread, run.usage if run else None, read_pause(thread))
    files = files_of(thread, Home())
    for attachment in found["attachments"]:
        with suppress(MemoryBankError):  # one that is lost has no size
            attachment["bytes"] = len(files.read(attachment["sha256"]))
    return found


def _memory_of(state: Any, node: str) -> dict[str, Any]:
    """One memory; an id that was merged away leads to the memory that holds its text now."""
    from agentic_memory_bank.state.interaction_tree import current_id

    nodes = state.get("query_graph", {}).get("nodes", {})
    heir = current_id(state.get("interaction_tree", {}), node)
    if heir not in nodes:
        raise InputError(f"There is no memory '{node}' on this thread. `memory-bank show THREAD` lists them.")
    return view.deep(state, nodes[heir])


@_command()
def export(
    *, thread: ThreadName, file: Annotated[Path, typer.Argument(metavar="FILE", help="The JSON file to write.")]
) -> None:
    """Write a memory to one JSON file, which `import` takes in anywhere."""
    from agentic_memory_bank.runs import export_thread

    _check_export(file)
    export_thread(thread, file)
    typer.echo(f"Exported '{view.on_one_line(thread)}' to {view.on_one_line(str(file))}.")


@_command("import")
def import_(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `export` or `ask --export` wrote.")],
    thread: Annotated[str, typer.Option("--thread", "-t", help="The name the memory gets here.")],
) -> None:
    """Take an exported memory in as a new thread: as a whole, or not at all."""
    from agentic_memory_bank.runs import import_thread

    import_thread(file, thread)
    asking = view.command("ask", "...", "--thread", thread)
    typer.echo(f"Imported {view.on_one_line(str(file))} as '{view.on_one_line(thread)}'. Ask with: {asking}")


@_command()
def clear(*, thread: ThreadName) -> None:
    """Erase a thread for good: memory, checkpoints and log, from disk too."""
    from agentic_memory_bank.runs import clear

    clear(thread)
    typer.echo(f"Erased '{view.on_one_line(thread)}'.")


@_command()
def gc(
    *,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Also erase unfinished runs; they can then not be resumed.")
    ] = False,
) -> None:
    """Erase what nobody needs: leftovers of runs that were killed while they ended, and pages whose time is over."""
    from agentic_memory_bank.runs import collect_garbage

    erased = collect_garbage(unfinished=unfinished)
    _print(f"Erased '{view.on_one_line(name)}'." for name in erased)
    if not erased:
        typer.echo("There was nothing to erase.")


@_command()
def doctor(
    *,
    online: Annotated[
        bool, typer.Option("--online", help="Also send one tiny request to each model. Without it nothing is sent.")
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
    if as_json:
        typer.echo(view.to_json(found))
    else:
        _print(view.examination_lines(found))
    raise typer.Exit(0 if found["ok"] else FAILED)


@_command()
def token(*, name: Annotated[str, typer.Argument(metavar="NAME", help="Whose token it is.")]) -> None:
    """Make a bearer token for a server: `memory-bank token NAME >> tokens`. The token itself is shown this once."""
    from agentic_memory_bank.runs.tokens import new_token

    made, line = new_token(name)
    typer.echo(f"The token of {name}, which is kept nowhere: {made}", err=True)
    typer.echo(line)


# --- memories across conversations -------------------------------------------------------------------------------

OfRun = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting, such as recall_limit=8.")
]


def _with_memories(function: Callable[..., None], **asked: Any) -> Callable[..., None]:
    """Make a function of options alone of one that takes the memories of all users first; `--set` comes with it.

    Args:
        function: What is made a command of.
        asked: The settings that have an option of their own, with its type.
    """

    @wraps(function)
    def called(*, settings: list[str] | None = None, **options: Any) -> None:
        from agentic_memory_bank.tools.memories.validation import user_hash

        if options.get("user") is not None:
            user_hash(options["user"])
        own_settings = {name: options.pop(name, None) for name in asked}
        chosen = _settings(settings or [], {name: value for name, value in own_settings.items() if value is not None})
        from agentic_memory_bank.runs.memories import Memories  # it takes a second to load: after what may be refused

        parts = {key: part for key, part in _parts(chosen).items() if key in ("models", "embeddings")}
        with Memories(settings=chosen, **parts) as memories:
            function(memories, **options)

    _, *own = inspect.signature(function).parameters.values()
    told = {**asked, "settings": OfRun}
    own += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in told.items()
    ]
    cast(Any, called).__signature__ = inspect.Signature(own)
    called.__annotations__ = {p.name: p.annotation for p in own}
    return called


for _name, _function in cli_memories.COMMANDS.items():
    _command(_name)(_with_memories(_function))
for _name, _function in cli_chat.COMMANDS.items():
    _command(_name)(_with_memories(_function, model=cli_chat.Model))


if __name__ == "__main__":
    main()
