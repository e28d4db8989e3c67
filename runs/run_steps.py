"""Takes a run of the memory bank from wherever it is to its end, or to the next pause; every step is saved."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, cast

from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Command, StateSnapshot

from agentic_memory_bank.engines.base import Engine
from agentic_memory_bank.engines.factory import engine_name
from agentic_memory_bank.graph.memory_bank import MemoryBank, build_memory_bank
from agentic_memory_bank.nodes.deps import Clock, timestamp, utc_now
from agentic_memory_bank.nodes.executors import Execution
from agentic_memory_bank.nodes.memory_bank.pausing import Decision
from agentic_memory_bank.runs.arguments import (
    check_models,
    checked_result,
)
from agentic_memory_bank.runs.cleanup import clear_thread
from agentic_memory_bank.runs.export import files_of, lost, write_export
from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.runs.homes import home_at, ledger_of, saver_of
from agentic_memory_bank.runs.ledger import Ledger, Run
from agentic_memory_bank.state.errors import (
    EngineMismatchError,
    InputError,
    RunError,
    StorageDamagedError,
)
from agentic_memory_bank.state.memory_bank import MemoryBankOutput, Usage
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

Progress = Callable[[dict[str, Any]], None]
"""Callback for the events of a run: `{"stage": ..., counts}` while a stage works, `{"done": stage}` after it, and
`{"usage": ...}` after each call of a model; `{"asking": {"role", "attempt", "seconds", "tokens"}}` while it is made.
Long work says what is left of it: `{"answered": 3, "left": 9}`, `{"stage": "embed", "embedded": 256, "left": 90}`; it
counts what is `embedded`, `summarised`, `indexed`, `read`, `compared` or `merged`."""

_NOTHING = object()
BEFORE_PLAN = "analyze_related"
"""The stage after which a run whose planner failed goes on when it is resumed."""
RECURSION_LIMIT = 10_000
"""Super-steps of one invocation; `plan` pauses before it is reached, and the run goes on with a fresh allowance."""


class RunOutput(MemoryBankOutput):
    """Output of a run: that of the graph, the thread, and `pause` where the run waits."""

    thread: str
    pause: NotRequired[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of `run` and `resume` in code; none of them is written to disk."""

    engine: Engine | None = None
    models: "GivenModels | None" = None
    embeddings: Embeddings | None = None
    execute: Execution | None = None
    tools: tuple[BaseTool, ...] = ()
    clock: Clock = utc_now
    on_event: Progress | None = None
    home: Home = field(default_factory=home_at)
    control: RunControl | None = None

    @contextmanager
    def bank(self, thread: str) -> Iterator[MemoryBank]:
        """Build the graph over the thread's own checkpoints and vectors."""
        self.home.make_folder(thread)
        with saver_of(self.home, thread) as saver:
            yield build_memory_bank(
                engine=self.engine,
                models=self.models,
                embeddings=self.embeddings,
                execute=self.execute,
                tools=self.tools,
                checkpointer=saver,
                clock=self.clock,
                vectors=self.home.vectors(thread),
                answers=self.home.answers(thread),
                attachments=self.home.attachments(thread),
            )

    def engine_name(self, settings: Settings) -> str:
        """Name of the engine in the ledger; a resume needs the same."""
        return self.engine.name if self.engine else engine_name(settings, self.models)

    @property
    def embeddings_name(self) -> str:
        """Name of the embeddings in the ledger; a resume needs the same."""
        return Encoder(self.embeddings).model

    @property
    def ledger(self) -> Ledger:
        """The table of runs."""
        return ledger_of(self.home)

    def now(self) -> str:
        """Return the current time as the ledger stores it."""
        return timestamp(self.clock())

    def spent(self, thread: str, goal: str, settings: Settings) -> Usage | None:
        """Sum what a goal has cost, by the calls on disk: those of a stage that was killed are included."""
        place = self.home.answers(thread)
        if self.engine or not place.exists():
            return None
        from agentic_memory_bank.engines.llm.answer_rows import answers_at
        from agentic_memory_bank.engines.llm.meter import Meter

        with closing(answers_at(place)) as store:
            found = Meter(store, goal, prices=settings.prices).usage()
        return found if found["calls"] else None


def drive(
    parts: RunOptions, begun: Run, settings: Settings, decision: Decision = "continue", result: object = None
) -> RunOutput:
    """Drive a run from where it is to its end, or to the next pause."""
    _check_engine(parts, begun, settings)
    parts, begun = _doer_noted(parts, begun, decision)
    place = {"thread_id": begun.thread, "checkpoint_ns": ""}  # `update_state` names a thread wholly
    config: RunnableConfig = {"configurable": place, "recursion_limit": RECURSION_LIMIT}
    with parts.bank(begun.thread) as bank:
        snapshot, given = _next_move(parts, bank, begun, config, settings, decision, result)
        while given is not _NOTHING:
            _advance(parts, bank, begun, config, settings, given)
            snapshot = bank.get_state(config)
            waiting = pause(snapshot)
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


def _doer_noted(parts: RunOptions, begun: Run, decision: Decision) -> tuple[RunOptions, Run]:
    """Write into the ledger whether steps are handed out; a run that is to finish hands out none."""
    is_finishing = decision == "finish" and begun.state == "paused"
    doer = None if is_finishing and parts.execute == "outside" else parts.execute
    is_outside = doer == "outside" or (begun.outside and not is_finishing)
    if begun.is_unfinished and is_outside != begun.outside:
        begun = replace(begun, outside=is_outside)
        parts.ledger.write(begun)
    return replace(parts, execute=doer), begun


def _next_move(
    parts: RunOptions,
    bank: MemoryBank,
    begun: Run,
    config: RunnableConfig,
    settings: Settings,
    decision: Decision,
    result: object,
) -> tuple[StateSnapshot, object]:
    """Find where a run is and what to invoke the graph with; a step that is still handed out is shown again."""
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
    """Ask whether a run waits for an executor outside."""
    return (pause(snapshot) or {}).get("reason") == "execute"


def _handed_in(snapshot: StateSnapshot, parts: RunOptions, result: object, settings: Settings) -> object:
    """Check the result of an executor outside, and that the run waits for one.

    Raises:
        InputError: The run waits for none, or the result cannot be used.
    """
    waiting = pause(snapshot)
    if waiting is None or waiting["reason"] != "execute":
        raise InputError("The run does not wait for the result of an executor outside. Resume it without a result.")
    if parts.execute != "outside":
        raise InputError("A result was handed in, and an executor that would do the step again. Leave one of them out.")
    return checked_result(result, waiting, settings)


def _taken_up(
    parts: RunOptions,
    bank: MemoryBank,
    snapshot: StateSnapshot,
    begun: Run,
    config: RunnableConfig,
    settings: Settings,
    decision: Decision,
) -> StateSnapshot:
    """Check that a run can go on, and find where; one that is to plan anew is put back to before its plan."""
    _check_decision(snapshot, decision)
    has_failed = begun.state == "paused" and snapshot.values.get("status") == "failed"
    is_ended = _is_handed_out(snapshot) and decision in ("finish", "stop")
    again = _planning_again(snapshot, decision) if has_failed or is_ended else {}
    is_ending = decision in ("finish", "stop") or "ending" in {**snapshot.values, **again}.get("allowance", {})
    if begun.is_unfinished and not is_ending:
        check_models(settings, parts.engine, parts.models)  # now: a stage whose model has no key would be done without
    if not again:
        return snapshot
    bank.update_state(config, again, as_node=BEFORE_PLAN)
    return bank.get_state(config)


def _check_engine(parts: RunOptions, begun: Run, settings: Settings) -> None:
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
    """Check that budgets let the run go on, so that it does not pause again at once.

    Raises:
        InputError: The run does not wait for a budget, or for one that is not among them or is not raised.
    """
    if isinstance(decision, str):
        return
    waiting = pause(snapshot) or {"reason": "failure"}
    reason, limit = waiting.get("reason"), waiting.get("limit")
    if limit is None:
        raise InputError("The run does not wait for a budget. Resume it with continue, finish or stop.")
    if decision.get(f"budget_{reason}", 0) <= limit:
        raise InputError(f"The run has used up its budget of {reason}. Give one that is over {limit:,.15g} in all.")


def _planning_again(snapshot: StateSnapshot, decision: Decision) -> dict[str, Any]:
    """Puts a run back to before its plan: as if it had not failed, or to be ended without models."""
    values = snapshot.values
    update: dict[str, Any] = {
        "status": "running",
        "degraded": [note for note in values.get("degraded", []) if not note.startswith("plan:")],
    }
    if decision in ("finish", "stop"):
        update["allowance"] = {**values.get("allowance", {}), "ending": decision}
    return update


def _what_to_do(snapshot: StateSnapshot, begun: Run, decision: Decision) -> object:
    """Choose what to invoke the graph with, by the pending tasks; `next` is empty in the middle of a step, too."""
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
    """Check that a run that takes no further step and does not wait has ended.

    Raises:
        StorageDamagedError: It has not: saved steps are lost.
    """
    if not snapshot.interrupts and snapshot.values.get("status", "running") == "running":
        raise StorageDamagedError(
            f"The run on the thread '{begun.thread}' has no end, and no step is left to take. Export what it holds, "
            "then clear it and ask again."
        )


def _advance(
    parts: RunOptions, bank: MemoryBank, begun: Run, config: RunnableConfig, settings: Settings, given: object
) -> None:
    """Run until the end, a pause or a requested stop; every step is saved before the next begins."""
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


def pause(snapshot: StateSnapshot) -> dict[str, Any] | None:
    """Read why a run waits; None where it does not."""
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
    if waiting := pause(snapshot):
        output["pause"], output["status"] = waiting, "stopped"
    return output


def _end(parts: RunOptions, begun: Run, status: str, usage: Usage | None) -> None:
    """Write the end into the ledger, then erase: killed in between, `resume` and `gc` know that nothing is lost."""
    if begun.is_unfinished:
        parts.ledger.update(begun.thread, "finished", status, parts.now(), usage)
    if not begun.keep:
        clear_thread(parts.home, parts.ledger, begun.thread)
