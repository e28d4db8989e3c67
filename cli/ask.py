"""The commands over documents: `ask` answers a question from them, `resume` goes on with a run that did not end."""

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import uuid4

import typer

from agentic_memory_bank.cli import options, outcome, terminal
from agentic_memory_bank.cli.progress import Emit, Event
from agentic_memory_bank.cli.threads import all_runs
from agentic_memory_bank.cli.work import Attempt, Work, attended
from agentic_memory_bank.state.errors import RunError, UnknownThreadError

if TYPE_CHECKING:
    from agentic_memory_bank.runs.ledger import Run
    from agentic_memory_bank.runs.run_steps import RunOutput
    from agentic_memory_bank.state.settings import Settings

LOOK_SECONDS: Final = 0.4
"""How long Ctrl-C waits to hear whether the run was saved."""


@dataclass(frozen=True)
class _Asked:
    """What is asked, of what, and what becomes of the memory."""

    question: str
    context: Sequence[str]
    attachments: Sequence[Path]
    thread: str
    is_named: bool
    keep: bool
    export: Path | None
    is_outside: bool
    settings: Sequence[str] | None
    model: str | None
    budget: Sequence[str] | None

    def answered(self, emit: Emit, attempt: Attempt) -> "RunOutput":
        """Check all that can be checked before documents are read, read them, and run."""
        from agentic_memory_bank.runs.home import GeneratedName, checked_thread
        from agentic_memory_bank.tools.text.cleaning import checked_text

        question = checked_text(self.question, "question")
        thread = checked_thread(self.thread) if self.is_named else GeneratedName(self.thread)
        options.check_export(self.export)
        _check_is_free(thread)
        settings = options.settings_from(self.settings, self.model, self.budget)
        self._check_has_memory(settings)
        parts = options.parts_from(settings)
        if settings.names_models:
            from agentic_memory_bank.runs.arguments import check_models

            check_models(settings, parts.get("engine"), parts.get("models"))
        options.check_paths(self.context)
        documents = options.documents_from(self.context, emit)
        if not (self.is_named or self.context or self.attachments or self.is_outside or settings.names_models):
            emit({"note": "nothing was given to answer from: --context names documents, --thread a kept memory"})
        from agentic_memory_bank.runs.bank_runs import (
            run,  # what takes a second to load comes after what may be refused
        )

        return run(
            question,
            documents=documents,
            attachments=self.attachments,
            thread=thread,
            keep=self.keep,
            export=self.export,
            execute="outside" if self.is_outside else None,
            settings=settings,
            on_event=emit,
            control=attempt.begin(),
            **parts,
        )

    def _check_has_memory(self, settings: "Settings") -> None:
        """Refuse a thread of which nothing is known, unless something or somebody may bring what is answered from."""
        if not self.is_named or self.context or self.attachments or self.is_outside or settings.names_models:
            return
        from agentic_memory_bank.runs.homes import has_trace, home_at
        from agentic_memory_bank.runs.ledger import no_memory

        if not has_trace(home_at(), self.thread):
            raise no_memory(self.thread)


def ask(
    *,
    question: options.Question,
    context: options.Context = None,
    attach: options.Attachments = None,
    model: options.Model = None,
    budget: options.Budgets = None,
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
    settings: options.Assignments = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer a question from documents, from a kept memory, or from both.

    Prints the answer, the quotes it rests on, and how each contradiction was settled.
    """
    begun, is_named = time.monotonic(), thread is not None
    name, kept = thread if thread is not None else uuid4().hex[:12], is_named if keep is None else keep
    asked = _Asked(
        question, context or (), attach or (), name, is_named, kept, export, outside, settings, model, budget
    )
    output = _accompanied(asked.answered, name, as_json=as_json)
    _show_outcome(output, kept=kept, begun=begun, as_json=as_json)


def _check_is_free(thread: str) -> None:
    if any(run.thread == thread and run.is_unfinished for run in all_runs()):
        again, erase = terminal.command("resume", thread), terminal.command("clear", thread)
        raise RunError(
            f"The thread '{thread}' has an unfinished run. Go on with `{again}`, or erase it with `{erase}`."
        )


def resume(
    *,
    thread: Annotated[
        str | None, typer.Argument(metavar="[THREAD]", help="Default: the unfinished run that was active last.")
    ] = None,
    decision: options.Decision = None,
    result: Annotated[
        str | None,
        typer.Option(
            "--result",
            metavar="FILE",
            help="For a run of `ask --outside`: what was done, as text or as a JSON list of messages. `-` is standard "
            "input. Without it the step is printed again.",
        ),
    ] = None,
    budget: options.Budgets = None,
    as_json: options.AsJson = False,
) -> None:
    """Go on with a run that was interrupted, killed or paused; nothing is done or paid for twice."""
    begun = time.monotonic()
    raised = options.budgets_of(budget)
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
    done = (
        None
        if result is None
        else options.text_or_json(result, "[{", "Say in words what was found, also if it is nothing.")
    )
    work = partial(_resume, found, raised or decision or "continue", done)
    output = _accompanied(work, found.thread, as_json=as_json)
    _show_outcome(output, kept=found.keep, begun=begun, as_json=as_json)


def _run_to_resume(thread: str | None) -> "Run":
    runs = all_runs()
    if thread is not None:
        matching = [run for run in runs if run.thread == thread]
        if not matching:
            raise UnknownThreadError(f"Nothing is known of the thread '{thread}'. `memory-bank runs` lists them.")
        return matching[0]
    unfinished = [run for run in runs if run.is_unfinished]
    if not unfinished:
        raise UnknownThreadError("No run is unfinished. `memory-bank runs` lists all.")
    return unfinished[0]


def _resume(found: "Run", decision: object, result: object, emit: Emit, attempt: Attempt) -> "RunOutput":
    from agentic_memory_bank.nodes.memory_bank.pausing import checked_decision
    from agentic_memory_bank.runs.bank_runs import resume
    from agentic_memory_bank.state.settings import checked_settings

    control = attempt.begin()
    parts = options.parts_from(checked_settings(found.settings))
    told = checked_decision(decision)
    return resume(found.thread, decision=told, result=result, on_event=emit, control=control, **parts)


def _accompanied(work: "Work[RunOutput]", thread: str, *, as_json: bool) -> "RunOutput":
    """Run; where it pauses, ask the person what to do, if there is one, and go on."""
    on_interrupt = partial(_how_to_go_on, thread)
    output = attended(work, on_interrupt, as_json=as_json)
    while "pause" in output and not outcome.is_handed_out(output) and not as_json and terminal.is_watched():
        decision = _asked_for_decision(output)
        if decision is None:
            break
        output = attended(partial(_resume, _run_to_resume(thread), decision, None), on_interrupt, as_json=False)
    return output


def _asked_for_decision(output: "RunOutput") -> object:
    """What the person decides at a pause; None to leave the run waiting."""
    waiting = output["pause"]
    terminal.print_lines(outcome.decision_lines(output), err=True)
    choices = ("raise" if "limit" in waiting else "continue", "finish", "stop", "later")

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
            _, amount = options.budget_of(f"{reason}={given}")
        except typer.BadParameter:
            amount = 0.0
        if amount <= limit:
            raise typer.BadParameter(f"Give a number over {terminal.number(limit)}.")
        return amount

    return typer.prompt(f"How much in all, {reason}?", default=terminal.number(2 * limit), value_proc=over, err=True)


def _how_to_go_on(thread: str, attempt: Attempt) -> tuple[Event, str]:
    """What is said after Ctrl-C."""
    if attempt.has_begun and _is_resumable(thread):
        again = terminal.command("resume", thread)
        return {"thread": thread, "resume": again}, f". What was done is saved; go on with: {again}"
    return {"thread": thread, "resume": None}, ", and there is nothing to go on with. Ask again."


def _is_resumable(thread: str) -> bool:
    """Look the run up in the ledger, but not for long: a disk that hangs must not keep Ctrl-C from working."""
    found: list[bool] = []

    def look() -> None:
        with suppress(Exception):  # whatever is wrong with the ledger is told by the next command
            found.append(any(run.thread == thread and run.is_unfinished for run in all_runs()))

    looking = Thread(target=look, daemon=True)
    looking.start()
    looking.join(LOOK_SECONDS)
    return found[0] if found else True


def _show_outcome(output: "RunOutput", *, kept: bool, begun: float, as_json: bool) -> None:
    elapsed = time.monotonic() - begun
    if as_json:
        again = {"resume": outcome.go_on_command(output)} if outcome.can_go_on(output) else {}
        typer.echo(terminal.to_json({**output, **again, "kept": kept, "elapsed": round(elapsed, 3)}))
    elif outcome.is_handed_out(output):
        typer.echo(terminal.shown(output["pause"]["prompt"]))
        terminal.print_lines(outcome.handed_out(output, elapsed=elapsed), err=True)  # so that a prompt can be piped
    else:
        terminal.print_lines(outcome.answered(output, kept=kept, elapsed=elapsed))
    raise typer.Exit(exit_code(output))


def exit_code(output: Mapping[str, Any]) -> int:
    """The exit code of a run: 0 where it has answered."""
    if "pause" in output or output["status"] in ("stopped", "running"):
        return terminal.WAITING
    if output["status"] == "failed":
        return terminal.FAILED
    return 0 if output["answer"] else terminal.NOT_FOUND
