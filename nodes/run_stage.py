"""Runs a stage with the engine of its run, within the run's budget, and reports what it spent."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar, cast

from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import RetryPolicy

from agentic_memory_bank.engines.factory import MeteredEngine
from agentic_memory_bank.nodes.deps import EngineDeps, MeteredState, work_progress
from agentic_memory_bank.nodes.memory_bank.pausing import DECIDED, Halt, decided, is_saved
from agentic_memory_bank.state.errors import (
    BudgetReachedError,
    EngineMismatchError,
    InputError,
    ModelRefused,
    SettingsError,
    StageTimedOut,
)
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.long_work import told_to
from agentic_memory_bank.tools.concurrency.waiting import TimeLimitReached, within


def worth_retrying(error: Exception) -> bool:
    """Say whether a second try can help: not where input or settings are wrong, nor where it was made already."""
    return not isinstance(error, (InputError, SettingsError)) and not getattr(error, "is_final", False)


RETRY_ONCE: Final = RetryPolicy(max_attempts=2, initial_interval=0.05, jitter=False, retry_on=worth_retrying)
"""For stages that ask an engine."""
_State = TypeVar("_State")
_Update = TypeVar("_Update")
_Deps = TypeVar("_Deps", bound=EngineDeps[Any])
_HALTS: Final[Mapping[str, Callable[..., Halt]]] = {
    kind.__name__: kind for kind in (BudgetReachedError, ModelRefused, EngineMismatchError)
}


def run_stage(
    state: _State,
    runtime: Runtime[Settings],
    *,
    stage: Callable[[_State, Runtime[Settings], _Deps], _Update],
    deps: _Deps,
    stopped: Callable[[_State], _Update] | None = None,
    first: Callable[[_State, Runtime[Settings], _Deps], _Deps] | None = None,
    is_timed: bool = True,
) -> _Update:
    """Run a stage; at a budget, or where a model refuses, pause and go on as decided.

    What was answered before is not asked again.

    Args:
        stage: The function of the stage: state, runtime and deps in, update out.
        stopped: What is done in its place once the run is to stop.
        first: What is done once before the stage, however often that is tried; returns what the stage works with.
        is_timed: Whether `stage_timeout` holds for it: only where the graph can go on without the stage.

    Raises:
        StageTimedOut: It took longer than it may.
        ModelRefused: As the model's server did, where nobody can come back to the run.
    """
    now = cast("MeteredState", state)
    decision: MeteredState = {}
    halts = 0
    while True:
        if stopped and now.get("allowance", {}).get("ending") == "stop":
            return _together(decision, stopped(cast("_State", now)))
        if first and not halts:
            deps = first(state, runtime, deps)
        metered, unusable = _engine_for(now, runtime, deps)
        try:
            _check_engine(now, metered, unusable, halts)
            with told_to(work_progress(runtime, stage.__name__)):
                work = partial(stage, cast("_State", now), runtime, _with(deps, metered))
                update = _in_time(work, Settings.of(runtime).stage_timeout if is_timed else None)
        except (BudgetReachedError, ModelRefused, EngineMismatchError) as halt:
            if isinstance(halt, ModelRefused) and not is_saved():
                raise
            _note(metered, halts, halt)
            decision = _decision(now, runtime, halt, deps)
            if metered.meter:  # whoever goes on may not be the one who spent it
                decision["usage"] = metered.meter.usage()
            now = cast("MeteredState", {**now, **decision})
            halts += 1
            continue
        except Exception as error:
            if decision:  # what was decided holds, whatever becomes of this stage
                setattr(error, DECIDED, decision)
            raise
        _forget(metered, halts)
        return _together(decision, update, _report(now, cast("MeteredState", update), metered, stage.__name__))


def _in_time(work: Callable[[], _Update], seconds: float | None) -> _Update:
    """Do a stage's work. LangGraph's own time-outs are for asynchronous nodes: nothing can stop a thread.

    So it goes on by itself, and the models it asks are hung up on.
    """
    if seconds is None:
        return work()
    try:
        return within(seconds, work)
    except TimeLimitReached:
        raise StageTimedOut(
            f"It took longer than the {seconds:g} seconds of `stage_timeout`. Raise that, or mend what it waits for."
        ) from None


def _engine_for(
    state: MeteredState, runtime: Runtime[Any], deps: EngineDeps[Any]
) -> tuple[MeteredEngine[Any], SettingsError | None]:
    """The engine of a run; where its model cannot be asked any more, what is known of the run, and why it cannot be."""
    try:
        return deps.engine_for(state, runtime), None
    except SettingsError as error:
        unasked: MeteredState = {**state, "allowance": {**state.get("allowance", {}), "ending": "finish"}}
        return deps.engine_for(unasked, runtime), error


def _with(deps: _Deps, metered: MeteredEngine[Any]) -> _Deps:
    return replace(cast("Any", deps), engine=metered.engine, agent=metered.agent)


def _together(*updates: object) -> Any:
    """Updates as one; of a value that several give, the last one holds."""
    return {name: value for update in updates for name, value in cast("Mapping[str, Any]", update).items()}


def _check_engine(
    state: MeteredState, metered: MeteredEngine[Any], unusable: SettingsError | None, number: int
) -> None:
    """See that the stage can go on: with the models that the run was begun with, where it does not wait as before.

    Raises:
        EngineMismatchError: The settings of this invocation name no model, and nobody decided to finish without.
        SettingsError: Its model cannot be asked, and nobody decided to finish without.
        Halt: The stage waits, or waits again.
    """
    begun = state.get("judge", "")
    if begun and metered.meter is None and not unusable and "ending" not in state.get("allowance", {}):
        raise EngineMismatchError(
            f"The run was begun with {begun}, and this invocation names no model: pass the same settings as `context`."
        )
    _wait_again(metered, number, has_models=bool(metered.meter or unusable))
    if unusable and number:  # who went on has not mended it
        raise ModelRefused(str(unusable))
    if unusable:
        raise unusable


def _wait_again(metered: MeteredEngine[Any], number: int, *, has_models: bool) -> None:
    """Wait as before: a stage that waits is run anew when it is resumed, and each decision is on what it was asked for.

    So nothing is requested before somebody decided, and who stopped the run stops it.

    Args:
        number: How often the stage has waited since it was run anew.
        has_models: Whether the run has chat models, which may not be usable any more.

    Raises:
        Halt: As it was then.
    """
    noted = metered.notes().result(_place(number)) if has_models and metered.notes else ""
    if noted:
        kind, *told = json.loads(noted)
        raise _HALTS[kind](*told)


def _note(metered: MeteredEngine[Any], number: int, halt: Halt) -> None:
    """Write down why a stage waits; a run without models comes to the same by itself."""
    if metered.notes and (metered.meter or not isinstance(halt, BudgetReachedError)):
        told = (halt.resource, halt.limit, halt.spent) if isinstance(halt, BudgetReachedError) else (str(halt),)
        metered.notes().keep_result(_place(number), json.dumps([type(halt).__name__, *told]))


def _forget(metered: MeteredEngine[Any], halts: int) -> None:
    """Take back what was noted: the stage is done, and may be done again from where it began."""
    if metered.notes:
        for number in range(halts):
            metered.notes().keep_result(_place(number), "")


def _place(number: int) -> str:
    """Under what a halt is noted: the stage as it was begun at this point of the run."""
    return f"halt {get_config()['configurable'].get('checkpoint_ns', '')} {number}"


def _decision(state: MeteredState, runtime: Runtime[Settings], halt: Halt, deps: EngineDeps[Any]) -> MeteredState:
    allowance = decided(halt, state.get("allowance", {}), Settings.of(runtime))
    update: MeteredState = {"allowance": allowance, "started": deps.clock().timestamp()}
    if "ending" in allowance:
        is_budget = isinstance(halt, BudgetReachedError)
        note = f"budget: {halt.resource}" if is_budget else f"refused: {type(halt).__name__}: {halt}"
        update["degraded"] = [*state.get("degraded", []), note]
    return update


def _report(state: MeteredState, update: MeteredState, metered: MeteredEngine[Any], stage: str) -> MeteredState:
    report: MeteredState = {}
    if metered.meter:
        report["usage"] = metered.meter.usage()
    if failures := metered.failures:
        kinds = dict.fromkeys(type(error).__name__ for error in failures)
        note = f"{stage}: {', '.join(kinds)} ({len(failures)} of its questions): {failures[0]}"
        report["degraded"] = [*update.get("degraded", state.get("degraded", [])), note]
    return report
