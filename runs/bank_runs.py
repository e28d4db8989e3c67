"""Durable runs: `run` and `arun` start one, `resume` goes on with one, `clear` forgets one."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import RunControl

from agentic_memory_bank.engines.base import Engine
from agentic_memory_bank.nodes.deps import Clock, utc_now
from agentic_memory_bank.nodes.executors import Execution
from agentic_memory_bank.nodes.memory_bank.adapter_in import checked_documents
from agentic_memory_bank.nodes.memory_bank.pausing import Decision, checked_decision
from agentic_memory_bank.runs.arguments import attached_files, check_models, check_parts, check_wishes, checked_tools
from agentic_memory_bank.runs.cleanup import check_is_no_stray, clear_thread
from agentic_memory_bank.runs.export import check_is_kept
from agentic_memory_bank.runs.home import GeneratedName, checked_export, checked_thread, lease
from agentic_memory_bank.runs.homes import check_has_trace, home_at, ledger_of
from agentic_memory_bank.runs.ledger import Ledger, Run, no_memory
from agentic_memory_bank.runs.run_steps import Progress, RunOptions, RunOutput, drive, pause
from agentic_memory_bank.state.errors import InputError, RunError, UnknownThreadError
from agentic_memory_bank.state.model_table import BANK_ROLES
from agentic_memory_bank.state.settings import Settings, checked_settings
from agentic_memory_bank.tools.documents.loaders import StoredDocument, load_all
from agentic_memory_bank.tools.embeddings.models import default_embeddings
from agentic_memory_bank.tools.text.cleaning import checked_text
from agentic_memory_bank.tools.web.search import web_tools

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

FILE_SUFFIXES = frozenset({".txt", ".md", ".markdown", ".html", ".htm", ".pdf", ".docx", ".jsonl", ".json", ".csv"})
"""Endings of file names: a single word with one of them is meant as a file, and is an error where there is none."""


def run(
    question: str,
    *,
    documents: Sequence[str | Path | Document | Mapping[str, Any]] | None = (),
    attachments: Sequence[str | Path | Mapping[str, Any]] | None = (),
    thread: str | None = None,
    keep: bool | None = None,
    export: str | Path | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    engine: Engine | None = None,
    models: "GivenModels | None" = None,
    embeddings: Embeddings | None = None,
    execute: Execution | None = None,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    clock: Clock = utc_now,
    home: str | Path | None = None,
    on_event: Progress | None = None,
    control: RunControl | None = None,
) -> RunOutput:
    """Answer a question over documents, durably: killed at any point, `resume` goes on where it was.

    Args:
        question: The question to answer.
        documents: Texts, LangChain documents, mappings with `text`, and files or folders: a `Path`, or a string of one
            line that names something on disk or ends like a file name. `None` is none.
        attachments: Pictures and files that are recognised, kept and can be looked at again: paths of files, or
            mappings with `name` and base64 `data`. `None` is none.
        thread: Names the run, to resume it or to ask again: its memory is kept until it is cleared, or until a run on
            it with `keep` false has ended. Default: a generated name.
        keep: Keep the memory for further questions. Otherwise every byte of it is erased when the run ends. Default:
            kept if the thread is named.
        export: A JSON file the memory is written to before anything is erased.
        settings: `Settings`, or a mapping of their values. Default, for each: that of the environment.
        engine: Makes the judgements, in place of chat models and of the extractive engine. A resume needs the same.
        models: A LangChain chat model for all roles, or a mapping of roles to chat models; a resume needs the same. The
            settings name models for the roles without one.
        embeddings: Any LangChain embeddings. Default: those that the settings name, or else all-MiniLM-L6-v2.
        execute: Carries out the planned steps: a function that is called with an `Assignment`; a Runnable or a
            compiled graph; or `outside`, which hands each step out in a pause, to be resumed with what was done.
        tools: LangChain tools, or functions, that the agent may call besides its own, where a chat model carries out
            the steps. They are not saved: a resume is given the same.
        clock: Returns the current time; a fixed one makes runs repeatable.
        home: Folder of all runs. Default: the database of `MEMORY_BANK_DATABASE_URL`, `MEMORY_BANK_HOME`, or the user's
            state folder.
        on_event: Called with each event of progress, a mapping such as `{"stage": "plan", ...}`.
        control: LangGraph's `RunControl`; `request_drain()` stops the run after the step it is in.

    Returns:
        Answer, sources, conflicts, status, Insight Doc, usage and thread; with `pause` when the run waits for a
        decision, or, with the `reason` "execute", for the result of the `task` that `prompt` hands out (see `resume`).

    Raises:
        InputError: An argument cannot be used. Nothing was written.
        SettingsError: A setting is not allowed, or a model cannot be asked: its name is not known, its key is not
            set, its price is needed and not given. Nothing was written.
        LoadError: A file cannot be read. Nothing was written.
        UnknownThreadError: The thread holds no memory, and there is nothing else to answer from.
        ThreadBusyError: The thread is being run right now.
        RunError: The thread has an unfinished run.
        StorageError: The disk failed. What was saved can be resumed.

    Example:
        >>> found = run("How wide is the mirror?", documents=["report.txt", Path("notes")])
        >>> found["answer"], found["sources"][0]["quote"]
    """
    settings = checked_settings(settings)
    parts = _parts(engine, models, embeddings or default_embeddings(settings), execute, clock, home, on_event, control)
    check_wishes(keep=keep, export=export)
    check_models(settings, engine, models)
    parts = replace(parts, tools=checked_tools(tools, settings, engine, models, execute))
    question = checked_text(question, "question")
    loaded = checked_documents(_loaded(documents), settings)
    attached = attached_files(attachments, settings)
    is_named = thread is not None and not isinstance(thread, GeneratedName)
    kept = keep if keep is not None else is_named
    can_begin = not is_named or bool(loaded or attached) or _can_find(parts, settings)
    thread = checked_thread(thread) if thread is not None else GeneratedName.new()
    place = checked_export(export)
    parts.home.prepare()
    with lease(parts.home, thread):
        before = parts.ledger.find(thread)
        if before and before.is_unfinished:
            raise RunError(f"The thread '{thread}' has an unfinished run. Resume it, or clear it first.")
        if before is None:
            check_is_no_stray(parts.home, thread)
        if before is None or not before.keep:
            parts.home.clear(thread)  # what a run that was killed while it ended left behind
            if not can_begin:
                raise no_memory(thread)
        else:
            check_is_kept(thread, parts.home)
        begun = _begin(parts, thread, question, loaded, attached, settings, before, keep=kept, export=place)
        return drive(parts, begun, settings)


async def arun(question: str, **options: Any) -> RunOutput:
    """Do what `run` does, for asynchronous code: on a thread of its own, without blocking the event loop.

    When it is cancelled, it ends and saves the step it is in, and can be resumed. Takes and raises what `run` does.
    """
    control = options.pop("control", None) or RunControl()
    work = asyncio.ensure_future(asyncio.to_thread(partial(run, question, control=control, **options)))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        control.request_drain("cancelled")
        await asyncio.wait([work])
        raise


def resume(
    thread: str | None = None,
    *,
    decision: Decision = "continue",
    result: object = None,
    engine: Engine | None = None,
    models: "GivenModels | None" = None,
    embeddings: Embeddings | None = None,
    execute: Execution | None = None,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    clock: Clock = utc_now,
    home: str | Path | None = None,
    on_event: Progress | None = None,
    control: RunControl | None = None,
) -> RunOutput:
    """Go on with a run that was killed, interrupted or paused.

    A run that waits for an executor outside, and is given neither a result nor a decision to end it, hands the same
    step out again.

    Args:
        thread: Name of the run. Default: the unfinished run that was active last.
        decision: How a run that waits goes on: `continue`, which grants as much again of what is used up; a mapping of
            budgets such as `{"budget_calls": 200}`; `finish`, without models and executors outside; or `stop`, which
            ends it with what it has.
        result: What an executor outside did, for a run that waits for it: text, or the messages of its work, of
            LangChain or as mappings with `role` and `content`.
        engine: The engine that the run was started with.
        models: As for `run`.
        embeddings: As for `run`.
        execute: As for `run`. A run that began with `outside` goes on so unless something else is given.
        tools: As for `run`.
        clock: As for `run`.
        home: As for `run`.
        on_event: As for `run`.
        control: As for `run`.

    Raises:
        InputError: The decision is unknown or would not let the run go on, or the result is no transcript, or the run
            waits for none. The run stays as it was.
        SettingsError: A model cannot be asked, for example because its key is missing. The run stays as it was.
        UnknownThreadError: There is no such run, or none that is unfinished.
        EngineMismatchError: It was started with another engine or other embeddings.
        ThreadBusyError: The thread is being run right now.
        StorageDamagedError: Its checkpoints are lost or damaged.

    Example:
        >>> resume("observatory", decision={"budget_calls": 200})["status"]
    """
    parts = _parts(engine, models, embeddings, execute, clock, home, on_event, control)
    decision = checked_decision(decision)
    if result is not None and decision != "continue":
        raise InputError("A result lets the run go on, and a decision ends it. Leave one of them out.")
    parts.home.prepare()
    found = parts.ledger.get(checked_thread(thread)) if thread is not None else _latest(parts.ledger)
    with lease(parts.home, found.thread):
        found = parts.ledger.get(found.thread)
        if not found.is_unfinished and not found.keep and not parts.home.holds(found.thread):
            clear_thread(parts.home, parts.ledger, found.thread)
            raise UnknownThreadError(
                f"The run on the thread '{found.thread}' had come to its end, and its memory is erased. Ask again, or "
                "read its export if you asked for one."
            )
        settings = checked_settings(found.settings)
        doer = execute if execute is not None else "outside" if found.outside else None
        own = checked_tools(tools, settings, engine, models, doer)
        parts = replace(parts, embeddings=embeddings or default_embeddings(settings), execute=doer, tools=own)
        return drive(parts, found, settings, decision, result)


def read_pause(thread: str, *, home: str | Path | None = None) -> dict[str, Any] | None:
    """Read why a run waits, with the `reason` "execute" for an executor outside; None where it does not wait.

    Raises:
        UnknownThreadError: Nothing is known of the thread.
    """
    parts = RunOptions(home=home_at(home).prepare())
    if parts.ledger.get(checked_thread(thread)).state != "paused":
        return None
    with parts.bank(thread) as bank:
        return pause(bank.get_state({"configurable": {"thread_id": thread}}))


def clear(thread: str, *, home: str | Path | None = None) -> None:
    """Erase a thread from disk: checkpoints, their log, vectors, attachments and its row in the ledger.

    Raises:
        UnknownThreadError: Nothing is known of it.
        ThreadBusyError: It is being run right now.
    """
    place = home_at(home).prepare()
    with lease(place, checked_thread(thread)):
        check_has_trace(place, thread)
        clear_thread(place, ledger_of(place), thread)


def _parts(
    engine: Engine | None,
    models: "GivenModels | None",
    embeddings: Embeddings | None,
    execute: Execution | None,
    clock: Clock,
    home: str | Path | None,
    on_event: Progress | None,
    control: RunControl | None,
) -> RunOptions:
    check_parts(engine, embeddings, execute, clock, home, on_event, control)
    at = home_at(home)
    return RunOptions(engine, models, embeddings, execute, clock=clock, on_event=on_event, home=at, control=control)


def _can_find(parts: RunOptions, settings: Settings) -> bool:
    """Ask whether an executor, a tool or a model that searches may find what to answer from."""
    if parts.execute is not None or parts.tools:
        return True
    has_models = parts.engine is None and (parts.models is not None or settings.has_models(BANK_ROLES))
    return has_models and any(tool.name == "search" for tool in web_tools(settings)[0])


def _loaded(documents: object) -> list[Any]:
    if documents is None:
        return []
    is_one = isinstance(documents, str | Path | Document | BaseMessage | Mapping) or not isinstance(documents, Iterable)
    items: list[Any] = []
    for item in cast("Iterable[Any]", [documents] if is_one else documents):
        items += map(StoredDocument.of, load_all([item])) if _names_a_file(item) else [item]
    return items


def _names_a_file(item: object) -> bool:
    """Ask whether a string is meant as a file: one line that is on disk or ends like a file name."""
    if isinstance(item, Path):
        return True
    if not isinstance(item, str) or not item.strip() or len(item) > 4096 or "\n" in item or "\0" in item:
        return False
    with suppress(OSError):
        if Path(item).exists():
            return True
    return " " not in item.strip() and Path(item).suffix.lower() in FILE_SUFFIXES


def _begin(
    parts: RunOptions,
    thread: str,
    question: str,
    documents: Sequence[Document],
    attachments: list[dict[str, str]],
    settings: Settings,
    before: Run | None,
    *,
    keep: bool,
    export: Path | None,
) -> Run:
    """Write the question into the ledger before the first step is taken."""
    parts.home.make_folder(thread)
    now = parts.now()
    begun = Run(
        thread=thread,
        state="accepted",
        question=question,
        documents=[StoredDocument.of(document) for document in documents],
        settings=settings.model_dump(mode="json"),
        engine=parts.engine_name(settings),
        embeddings=parts.embeddings_name,
        keep=keep,
        export=str(export) if export else None,
        status="running",
        continues=before is not None and before.keep,
        created_at=now,
        updated_at=now,
        attachments=attachments,
        outside=parts.execute == "outside",
    )
    parts.ledger.write(begun)
    return begun


def _latest(ledger: Ledger) -> Run:
    unfinished = [found for found in ledger.all() if found.is_unfinished]
    if not unfinished:
        raise UnknownThreadError("No run is unfinished. `memory-bank runs` lists all.")
    return unfinished[0]
