"""Durable runs: `run` and `arun` start one, `resume` goes on with one, `clear` forgets one."""

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Command, StateSnapshot

from agentic_memory_bank.engines.base import Engine
from agentic_memory_bank.engines.factory import engine_name
from agentic_memory_bank.graph.memory_bank import MemoryBank, build_memory_bank
from agentic_memory_bank.nodes.executors import Execution
from agentic_memory_bank.nodes.kit import Clock, timestamp, utc_now
from agentic_memory_bank.nodes.memory_bank.adapter_in import checked_documents
from agentic_memory_bank.nodes.memory_bank.pausing import Decision, checked_decision
from agentic_memory_bank.runs.arguments import (
    attached_files,
    check_models,
    check_parts,
    check_wishes,
    checked_result,
)
from agentic_memory_bank.runs.checkpoints import open_saver
from agentic_memory_bank.runs.export import check_is_kept, files_of, lost, write_export
from agentic_memory_bank.runs.export_file import checked_export
from agentic_memory_bank.runs.home import Home, MadeUp, checked_thread
from agentic_memory_bank.runs.lease import lease
from agentic_memory_bank.runs.ledger import Ledger, Run
from agentic_memory_bank.runs.upkeep import check_is_no_stray, forget
from agentic_memory_bank.state.errors import (
    EngineMismatchError,
    InputError,
    RunError,
    StorageDamagedError,
    UnknownThreadError,
)
from agentic_memory_bank.state.memory_bank import MemoryBankOutput, Usage
from agentic_memory_bank.state.model_table import BANK_ROLES
from agentic_memory_bank.state.settings import Settings, checked_settings
from agentic_memory_bank.tools.documents.loaders import as_documents, load_all
from agentic_memory_bank.tools.embeddings.models import Encoder, default_embeddings
from agentic_memory_bank.tools.storage.disk import database_errors
from agentic_memory_bank.tools.text.cleaning import checked_text
from agentic_memory_bank.tools.web.toolset import web_tools

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

Progress = Callable[[dict[str, Any]], None]
"""Called with each event of a run: `{"stage": ..., counts}` while a stage works, `{"done": stage}` after it, and
`{"usage": ...}` after each call of a model."""
FILE_SUFFIXES = frozenset({".txt", ".md", ".markdown", ".html", ".htm", ".pdf", ".docx", ".jsonl", ".json", ".csv"})
"""A string of one word that ends like this is meant as a file, also when the file is missing."""
_NOTHING = object()
BEFORE_PLAN = "analyze_related"
"""The stage after which a run that failed to plan goes on when it is resumed."""
RECURSION_LIMIT = 10_000
"""Super-steps of one invocation; `plan` pauses before it is reached, and the run goes on with a fresh allowance."""


class RunOutput(MemoryBankOutput, total=False):
    """What a run gives back: the graph's output, the thread, and why it waits if it does."""

    thread: str
    pause: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is given in code to run with; none of it is written to disk."""

    engine: Engine | None = None
    models: "GivenModels | None" = None
    embeddings: Embeddings | None = None
    execute: Execution | None = None
    clock: Clock = utc_now
    on_event: Progress | None = None
    home: Home = field(default_factory=Home)
    control: RunControl | None = None

    @contextmanager
    def bank(self, thread: str) -> Iterator[MemoryBank]:
        """The graph over the thread's own checkpoints and vectors."""
        self.home.make_folder(thread)
        with database_errors(self.home.checkpoints(thread)), open_saver(self.home.checkpoints(thread)) as saver:
            yield build_memory_bank(
                engine=self.engine,
                models=self.models,
                embeddings=self.embeddings,
                execute=self.execute,
                checkpointer=saver,
                clock=self.clock,
                vectors=self.home.vectors(thread),
                answers=self.home.answers(thread),
                attachments=self.home.attachments(thread),
            )

    def engine_name(self, settings: Settings) -> str:
        """What the run is recorded under; a resume needs the same."""
        return self.engine.name if self.engine else engine_name(settings, self.models)

    @property
    def embeddings_name(self) -> str:
        return Encoder(self.embeddings).model

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.home.ledger)

    def now(self) -> str:
        return timestamp(self.clock())

    def spent(self, thread: str, goal: str, settings: Settings) -> Usage | None:
        """What a goal has cost, by the calls that are on disk: also those of a stage that never came to its end."""
        place = self.home.answers(thread)
        if self.engine or not place.exists():
            return None
        from agentic_memory_bank.engines.llm.answers import AnswerStore
        from agentic_memory_bank.engines.llm.meter import Meter

        with closing(AnswerStore(place)) as store:
            found = Meter(store, goal, prices=settings.prices).usage()
        return found if found["calls"] else None


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
    clock: Clock = utc_now,
    home: str | Path | None = None,
    on_event: Progress | None = None,
    control: RunControl | None = None,
) -> RunOutput:
    """Answer a question over documents, durably: killed at any point, `resume` goes on where it was.

    Args:
        question: What to find out.
        documents: Texts, LangChain documents, mappings with `text`, and files or folders: a `Path`, or a string of one
            line that names something on disk or ends like a file name. `None` is none.
        attachments: Pictures and files that are recognised, kept and can be looked at again: paths of files, or
            mappings with `name` and base64 `data`. `None` is none.
        thread: Names the run, to resume it or to ask again: its memory is kept until it is cleared, or until a run on
            it with `keep` false has ended. Default: a name of its own.
        keep: Keep the memory for further questions. Otherwise every byte of it is erased when the run ends. Default:
            kept if the thread is named.
        export: A JSON file the memory is written to before anything is erased.
        settings: `Settings`, or a mapping of their values. Default, for each: that of the environment.
        engine: Who judges, in place of chat models and of the offline engine. A resume needs the same one.
        models: A LangChain chat model for all roles, or a mapping of roles to chat models; a resume needs the same. The
            settings name models for the roles without one.
        embeddings: Any LangChain embeddings.
        execute: Who carries out the planned steps: a function that is called with an `Assignment`; a Runnable or a
            compiled graph; or `outside`, which hands each step out in a pause, to be resumed with what was done.
        clock: Tells the time.
        home: Folder of all runs. Default: `MEMORY_BANK_HOME`, or the user's state folder.
        on_event: Called with the progress.
        control: LangGraph's `RunControl`; `request_drain()` stops the run after the step it is in.

    Returns:
        Answer, sources, conflicts, status, Insight Doc, usage and thread; with `pause` when the run waits for a
        decision, or, with the `reason` "execute", for the result of the `task` that `prompt` hands out (see `resume`).

    Raises:
        InputError: Something that was handed over cannot be used. Nothing was written.
        SettingsError: A setting is not allowed, or a model cannot be asked: its name is not known, its key is not
            set, its price is needed and not given. Nothing was written.
        LoadError: A file cannot be read. Nothing was written.
        UnknownThreadError: The thread holds no memory, and there is nothing else to answer from.
        ThreadBusyError: The thread is being run right now.
        RunError: The thread has an unfinished run.
        StorageError: The disk failed. What was saved can be resumed.
    """
    settings = checked_settings(settings)
    parts = _parts(engine, models, embeddings or default_embeddings(settings), execute, clock, home, on_event, control)
    check_wishes(keep=keep, export=export)
    check_models(settings, engine, models)
    question = checked_text(question, "question")
    loaded = checked_documents(_loaded(documents), settings)
    attached = attached_files(attachments, settings)
    is_named = thread is not None and not isinstance(thread, MadeUp)
    kept = keep if keep is not None else is_named
    can_begin = not is_named or bool(loaded or attached) or _can_find(parts, settings)
    thread = checked_thread(thread) if thread is not None else MadeUp.new()
    place = checked_export(export)
    parts.home.prepare()
    with lease(parts.home, thread):
        before = parts.ledger.find(thread)
        if before and before.is_unfinished:
            raise RunError(f"The thread '{thread}' has an unfinished run. Resume it, or clear it first.")
        if before is None:
            check_is_no_stray(parts.home, thread)
        if before is None or not before.keep:
            parts.home.erase(thread)  # what a run that was killed while it ended left behind
            if not can_begin:
                raise UnknownThreadError(
                    f"The thread '{thread}' holds no memory to answer from. Give documents with the question, or name "
                    "a thread that is kept; `memory-bank runs` lists them."
                )
        else:
            check_is_kept(thread, parts.home)
        begun = _begin(parts, thread, question, loaded, attached, settings, before, keep=kept, export=place)
        return _drive(parts, begun, settings)


async def arun(question: str, **options: Any) -> RunOutput:
    """`run` for asynchronous code: the same run on a thread of its own, which never blocks the event loop.

    Cancelled, it ends the step it is in, saves it, and can be resumed. Takes and raises what `run` does.
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
    clock: Clock = utc_now,
    home: str | Path | None = None,
    on_event: Progress | None = None,
    control: RunControl | None = None,
) -> RunOutput:
    """Go on with a run that was killed, interrupted or paused.

    A run that waits for an executor outside, and is given neither a result nor a decision to end it, hands the same
    step out again.

    Args:
        thread: Default: the unfinished run that was active last.
        decision: For a run that waits: `continue`, which grants as much again of what is used up; a mapping of budgets
            such as `{"budget_calls": 200}`; `finish`, to go on without models and executors outside; or `stop`, to end
            it with what it has.
        result: For a run that waits for an executor outside, what that did: text, or the messages of its work, of
            LangChain or as mappings with `role` and `content`.
        engine: The engine the run was started with; the others as for `run`.
        models: As for `run`.
        embeddings: As for `run`.
        execute: As for `run`; of a run that began with `outside` that is known. Whatever else is given takes over.
        clock: As for `run`.
        home: As for `run`.
        on_event: As for `run`.
        control: As for `run`.

    Raises:
        InputError: There is no such decision, it would not let the run go on, or something else that was handed over
            cannot be used: a result that is no transcript, or that nobody waits for. The run stays as it was.
        SettingsError: A model cannot be asked, such as for want of its key. The run stays as it was.
        UnknownThreadError: There is no such run, or none that is unfinished.
        EngineMismatchError: It was started with another engine or other embeddings.
        ThreadBusyError: The thread is being run right now.
        StorageDamagedError: Its checkpoints are lost or damaged.
    """
    parts = _parts(engine, models, embeddings, execute, clock, home, on_event, control)
    decision = checked_decision(decision)
    if result is not None and decision != "continue":
        raise InputError("A result lets the run go on, and a decision ends it. Leave one of them out.")
    parts.home.prepare()
    found = parts.ledger.get(checked_thread(thread)) if thread is not None else _latest(parts.ledger)
    with lease(parts.home, found.thread):
        found = parts.ledger.get(found.thread)
        if not found.is_unfinished and not found.keep and not parts.home.folder(found.thread).exists():
            forget(parts.home, parts.ledger, found.thread)
            raise UnknownThreadError(
                f"The run on the thread '{found.thread}' had come to its end, and its memory is erased. Ask again, or "
                "read its export if you asked for one."
            )
        settings = checked_settings(found.settings)
        doer = execute if execute is not None else "outside" if found.outside else None
        parts = replace(parts, embeddings=embeddings or default_embeddings(settings), execute=doer)
        return _drive(parts, found, settings, decision, result)


def read_pause(thread: str, *, home: str | Path | None = None) -> dict[str, Any] | None:
    """Why a run waits, with the `reason` "execute" for an executor outside; None where it does not.

    Raises:
        UnknownThreadError: Nothing is known of the thread.
    """
    parts = _Parts(home=Home(Path(home) if home else None))
    parts.home.prepare()
    if parts.ledger.get(checked_thread(thread)).state != "paused":
        return None
    with parts.bank(thread) as bank:
        return _pause(bank.get_state({"configurable": {"thread_id": thread}}))


def clear(thread: str, *, home: str | Path | None = None) -> None:
    """Erase a thread: checkpoints, log, vectors and ledger row, from disk too.

    Raises:
        UnknownThreadError: Nothing is known of it.
        ThreadBusyError: It is being run right now.
    """
    place = Home(Path(home) if home else None)
    place.prepare()
    with lease(place, checked_thread(thread)):
        ledger = Ledger(place.ledger)
        if not place.folder(thread).exists() and not ledger.knows(thread):  # in this order: the disk may be full
            raise UnknownThreadError(f"Nothing is known of the thread '{thread}'. `memory-bank runs` lists them.")
        forget(place, ledger, thread)


def _parts(
    engine: Engine | None,
    models: "GivenModels | None",
    embeddings: Embeddings | None,
    execute: Execution | None,
    clock: Clock,
    home: str | Path | None,
    on_event: Progress | None,
    control: RunControl | None,
) -> _Parts:
    check_parts(engine, embeddings, execute, clock, home, on_event, control)
    return _Parts(engine, models, embeddings, execute, clock, on_event, Home(Path(home) if home else None), control)


def _can_find(parts: _Parts, settings: Settings) -> bool:
    """Whether somebody may bring what is answered from: an executor, or a model that searches."""
    if parts.execute is not None:
        return True
    has_models = parts.engine is None and (parts.models is not None or settings.has_models(BANK_ROLES))
    return has_models and any(tool.name == "search" for tool in web_tools(settings)[0])


def _loaded(documents: object) -> list[Document]:
    if documents is None:
        return []
    is_one = isinstance(documents, str | Path | Document | BaseMessage | Mapping) or not isinstance(documents, Iterable)
    items: list[Any] = []
    for item in cast("Iterable[Any]", [documents] if is_one else documents):
        items += load_all([item]) if _names_a_file(item) else [item]
    return as_documents(items)


def _names_a_file(item: object) -> bool:
    """A path, or a string of one line that is on disk or ends like a file name; a missing file is then an error."""
    if isinstance(item, Path):
        return True
    if not isinstance(item, str) or not item.strip() or len(item) > 4096 or "\n" in item or "\0" in item:
        return False
    with suppress(OSError):
        if Path(item).exists():
            return True
    return " " not in item.strip() and Path(item).suffix.lower() in FILE_SUFFIXES


def _begin(
    parts: _Parts,
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
    """Write down what is asked before the first step is taken."""
    parts.home.make_folder(thread)
    now = parts.now()
    begun = Run(
        thread=thread,
        state="accepted",
        question=question,
        documents=[{"text": d.page_content, "metadata": d.metadata} for d in documents],
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


def _drive(
    parts: _Parts, begun: Run, settings: Settings, decision: Decision = "continue", result: object = None
) -> RunOutput:
    """Take a run from wherever it is to its end, or to the next pause."""
    _check_engine(parts, begun, settings)
    parts, begun = _doer_noted(parts, begun, decision)
    place = {"thread_id": begun.thread, "checkpoint_ns": ""}  # `update_state` names a thread wholly
    config: RunnableConfig = {"configurable": place, "recursion_limit": RECURSION_LIMIT}
    with parts.bank(begun.thread) as bank:
        snapshot, given = _next_move(parts, bank, begun, config, settings, decision, result)
        while given is not _NOTHING:
            _advance(parts, bank, begun, config, settings, given)
            snapshot = bank.get_state(config)
            waiting = _pause(snapshot)
            given = Command(resume="continue") if waiting and waiting["reason"] == "steps" else _NOTHING
        _check_is_ended(snapshot, begun)
        output = _output(snapshot, begun.thread)
        usage = parts.spent(begun.thread, snapshot.values.get("insight_doc", {}).get("id", ""), settings)
        if begun.export and begun.is_unfinished and "pause" not in output:
            store = files_of(begun.thread, parts.home)
            write_export(Path(begun.export), begun.thread, snapshot.values, begun.embeddings, store)
    if usage:
        output["usage"] = usage
    status = output.get("status", "running")
    if "pause" in output or status == "failed":  # all is kept, and can be resumed
        parts.ledger.update(begun.thread, "paused", status, parts.now(), usage)
    else:
        _end(parts, begun, status, usage)
    return output


def _doer_noted(parts: _Parts, begun: Run, decision: Decision) -> tuple[_Parts, Run]:
    """Write down whether steps are handed out from now on; a run that is to finish asks nobody outside any more."""
    is_finishing = decision == "finish" and begun.state == "paused"
    doer = None if is_finishing and parts.execute == "outside" else parts.execute
    is_outside = doer == "outside" or (begun.outside and not is_finishing)
    if begun.is_unfinished and is_outside != begun.outside:
        begun = replace(begun, outside=is_outside)
        parts.ledger.write(begun)
    return replace(parts, execute=doer), begun


def _next_move(
    parts: _Parts,
    bank: MemoryBank,
    begun: Run,
    config: RunnableConfig,
    settings: Settings,
    decision: Decision,
    result: object,
) -> tuple[StateSnapshot, object]:
    """Where a run is, and what to invoke the graph with; a step that is handed out still is shown once more."""
    snapshot = bank.get_state(config)
    if result is not None:
        done = _handed_in(snapshot, parts, result, settings)
        check_models(settings, parts.engine, parts.models)
        return snapshot, Command(resume=done)
    if _is_handed_out(snapshot) and parts.execute == "outside" and decision == "continue":
        return snapshot, _NOTHING
    snapshot = _taken_up(parts, bank, snapshot, begun, config, settings, decision)
    return snapshot, _what_to_do(snapshot, begun, decision)


def _is_handed_out(snapshot: StateSnapshot) -> bool:
    """Whether a run waits for an executor outside."""
    return (_pause(snapshot) or {}).get("reason") == "execute"


def _handed_in(snapshot: StateSnapshot, parts: _Parts, result: object, settings: Settings) -> object:
    """What an executor outside did, once it is certain that somebody waits for it and that it can be used.

    Raises:
        InputError: Nobody does, or it cannot.
    """
    waiting = _pause(snapshot)
    if waiting is None or waiting["reason"] != "execute":
        raise InputError("The run does not wait for the result of an executor outside. Resume it without a result.")
    if parts.execute != "outside":
        raise InputError("A result was handed in, and an executor that would do the step again. Leave one of them out.")
    return checked_result(result, waiting["prompt"], waiting["task"]["kind"], settings)


def _taken_up(
    parts: _Parts,
    bank: MemoryBank,
    snapshot: StateSnapshot,
    begun: Run,
    config: RunnableConfig,
    settings: Settings,
    decision: Decision,
) -> StateSnapshot:
    """Where a run is, once it is certain that it can go on; one that is to plan anew is before that again."""
    _check_decision(snapshot, decision)
    has_failed = begun.state == "paused" and snapshot.values.get("status") == "failed"
    is_ended = _is_handed_out(snapshot) and decision in ("finish", "stop")
    again = _planning_again(snapshot, decision) if has_failed or is_ended else {}
    if begun.is_unfinished and "ending" not in {**snapshot.values, **again}.get("allowance", {}):
        check_models(settings, parts.engine, parts.models)  # now: a stage whose model has no key would be done without
    if not again:
        return snapshot
    bank.update_state(config, again, as_node=BEFORE_PLAN)
    return bank.get_state(config)


def _check_engine(parts: _Parts, begun: Run, settings: Settings) -> None:
    for what, was, given in (
        ("engine", begun.engine, parts.engine_name(settings)),
        ("embeddings", begun.embeddings, parts.embeddings_name),
    ):
        if was != given and begun.is_unfinished:
            raise EngineMismatchError(
                f"The run on thread '{begun.thread}' was started with the {what} '{was}', not '{given}'. Pass the same "
                "again."
            )


def _check_decision(snapshot: StateSnapshot, decision: Decision) -> None:
    """Refuse budgets that would not let the run go on: it would stop, or wait again at once.

    Raises:
        InputError: The run does not wait for a budget, or for one that is not among them or is not raised.
    """
    if isinstance(decision, str):
        return
    waiting = _pause(snapshot) or {"reason": "failure"}
    reason, limit = waiting.get("reason"), waiting.get("limit")
    if limit is None:
        raise InputError("The run does not wait for a budget. Resume it with continue, finish or stop.")
    if decision.get(f"budget_{reason}", 0) <= limit:
        raise InputError(f"The run has used up its budget of {reason}. Give one that is over {limit:,.15g} in all.")


def _planning_again(snapshot: StateSnapshot, decision: Decision) -> dict[str, Any]:
    """Puts a run back to before it plans: as though it had not failed, or to be ended without any model."""
    values = snapshot.values
    update: dict[str, Any] = {
        "status": "running",
        "degraded": [note for note in values.get("degraded", []) if not note.startswith("plan:")],
    }
    if decision in ("finish", "stop"):
        update["allowance"] = {**values.get("allowance", {}), "ending": decision}
    return update


def _what_to_do(snapshot: StateSnapshot, begun: Run, decision: Decision) -> object:
    """What to invoke the graph with, by the tasks that are pending; `next` is empty in the middle of a step, too."""
    if snapshot.interrupts:
        return None if _is_handed_out(snapshot) else Command(resume=decision)  # None: another executor does the step
    if snapshot.tasks:
        return None
    if snapshot.created_at is None and (begun.state != "accepted" or begun.continues):
        raise lost(begun.thread)
    if begun.state == "accepted":
        given: dict[str, Any] = {"question": begun.question, "documents": begun.documents}
        return given | ({"attachments": begun.attachments} if begun.attachments else {})
    _check_is_ended(snapshot, begun)
    return _NOTHING


def _check_is_ended(snapshot: StateSnapshot, begun: Run) -> None:
    """See that a run that takes no further step, and does not wait, has come to its end.

    Raises:
        StorageDamagedError: It has not: steps that were saved are lost.
    """
    if not snapshot.interrupts and snapshot.values.get("status", "running") == "running":
        raise StorageDamagedError(
            f"The run on the thread '{begun.thread}' has no end, and no step is left to take. Export what it holds, "
            "then clear it and ask again."
        )


def _advance(
    parts: _Parts, bank: MemoryBank, begun: Run, config: RunnableConfig, settings: Settings, given: object
) -> None:
    """Run until the end, a pause, or a stop that was asked for; every step is saved before the next begins."""
    is_recorded = begun.state == "running"
    events = bank.stream(
        cast("Any", given),
        config,
        context=settings,
        durability="sync",
        stream_mode=["custom", "updates"],
        control=parts.control,
    )
    try:
        with closing(cast("Generator[tuple[str, Any]]", events)):  # its threads end before their database is closed
            for mode, event in events:
                if not is_recorded:
                    parts.ledger.update(begun.thread, "running", "running", parts.now())
                    is_recorded = True
                if parts.on_event:
                    for shown in [event] if mode == "custom" else [{"done": stage} for stage in event]:
                        parts.on_event(cast("dict[str, Any]", shown))
    except GraphDrained:
        raise RunError(f"The run was stopped between two steps. Resume the thread '{begun.thread}' to go on.") from None


def _pause(snapshot: StateSnapshot) -> dict[str, Any] | None:
    return cast("dict[str, Any]", snapshot.interrupts[0].value) if snapshot.interrupts else None


def _output(snapshot: StateSnapshot, thread: str) -> RunOutput:
    values = snapshot.values
    output: RunOutput = {
        "answer": values.get("answer", ""),
        "sources": values.get("sources", []),
        "conflicts": values.get("conflicts", []),
        "status": values.get("status", "running"),
        "insight_doc": values.get("insight_doc", {}),
        "usage": values.get("usage", {"calls": 0, "input_tokens": 0, "output_tokens": 0}),
        "degraded": values.get("degraded", []),
        "thread": thread,
    }
    if waiting := _pause(snapshot):
        output |= {"pause": waiting, "status": "stopped"}
    return output


def _end(parts: _Parts, begun: Run, status: str, usage: Usage | None) -> None:
    """Note the end first, then erase: killed in between, `resume` and `gc` know that nothing is lost."""
    if begun.is_unfinished:
        parts.ledger.update(begun.thread, "finished", status, parts.now(), usage)
    if not begun.keep:
        forget(parts.home, parts.ledger, begun.thread)
