"""Runs a stage with the engine of its run, within the run's budget, and reports what it spent."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, TypeVar, cast

from langgraph.config import get_config
from langgraph.runtime import Runtime

from agentic_memory_bank.engines.factory import Judge
from agentic_memory_bank.nodes.kit import Clock, Judged
from agentic_memory_bank.nodes.memory_bank.pausing import Halt, decided, is_saved
from agentic_memory_bank.state.errors import BudgetReachedError, EngineMismatchError, ModelRefused
from agentic_memory_bank.state.settings import Settings


class JudgingKit(Protocol):
    """What the stages of a graph work with: a dataclass that holds at least the engine and the agent of a stage."""

    @property
    def clock(self) -> Clock:
        """Tells the time."""
        ...

    def judge(self, state: Any, runtime: Runtime[Settings]) -> Judge[Any]:
        """The engine of a run."""
        ...


_State = TypeVar("_State")
_Update = TypeVar("_Update")
_Kit = TypeVar("_Kit", bound=JudgingKit)
_HALTS: Final[Mapping[str, Callable[..., Halt]]] = {
    kind.__name__: kind for kind in (BudgetReachedError, ModelRefused, EngineMismatchError)
}


def judged(
    state: _State,
    runtime: Runtime[Settings],
    *,
    stage: Callable[[_State, Runtime[Settings], _Kit], _Update],
    kit: _Kit,
    stopped: Callable[[_State], _Update] | None = None,
    first: Callable[[_State, _Kit], _Kit] | None = None,
) -> _Update:
    """Run a stage; at a budget, or where a model refuses, pause and go on as decided.

    What was answered before is not asked again.

    Args:
        state: Of the run; what every graph calls alike is in `Judged`.
        runtime: Of the run.
        stage: What is run.
        kit: What it works with; its engine is that of the run.
        stopped: What is done in its place once the run is to stop.
        first: What is done once before the stage, however often that is tried; returns what the stage works with.

    Raises:
        ModelRefused: As the model's server did, where nobody can come back to the run.
    """
    now = cast("Judged", state)
    decision: Judged = {}
    halts = 0
    while True:
        if stopped and now.get("allowance", {}).get("ending") == "stop":
            return _together(decision, stopped(cast("_State", now)))
        if first and not halts:
            kit = first(state, kit)
        judge = kit.judge(now, runtime)
        try:
            _check_engine(now, judge)
            _wait_again(judge, halts)
            update = stage(cast("_State", now), runtime, _with(kit, judge))
        except (BudgetReachedError, ModelRefused, EngineMismatchError) as halt:
            if isinstance(halt, ModelRefused) and not is_saved():
                raise
            _note(judge, halts, halt)
            decision = _decision(now, runtime, halt, kit)
            if judge.meter:  # whoever goes on may not be the one who spent it
                decision["usage"] = judge.meter.usage()
            now = cast("Judged", {**now, **decision})
            halts += 1
            continue
        _forget(judge, halts)
        return _together(decision, update, _report(now, cast("Judged", update), judge, stage.__name__))


def _with(kit: _Kit, judge: Judge[Any]) -> _Kit:
    return replace(cast("Any", kit), engine=judge.engine, agent=judge.agent)


def _together(*updates: object) -> Any:
    """Updates as one; of a value that several give, the last one holds."""
    return {name: value for update in updates for name, value in cast("Mapping[str, Any]", update).items()}


def _check_engine(state: Judged, judge: Judge[Any]) -> None:
    """See that a run begun with chat models does not go on without them unnoticed.

    Raises:
        EngineMismatchError: The settings of this invocation name no model, and nobody decided to finish without.
    """
    begun = state.get("judge", "")
    if begun and judge.meter is None and "ending" not in state.get("allowance", {}):
        raise EngineMismatchError(
            f"The run was begun with {begun}, and this invocation names no model: pass the same settings as `context`."
        )


def _wait_again(judge: Judge[Any], number: int) -> None:
    """Wait as before: a stage that waits is run anew when it is resumed, and each decision is on what it was asked for.

    So nothing is requested before somebody decided, and who stopped the run stops it.

    Args:
        judge: Of the stage.
        number: How often the stage has waited since it was run anew.

    Raises:
        Halt: As it was then.
    """
    noted = judge.notes().result(_place(number)) if judge.meter and judge.notes else ""
    if noted:
        kind, *told = json.loads(noted)
        raise _HALTS[kind](*told)


def _note(judge: Judge[Any], number: int, halt: Halt) -> None:
    """Write down why a stage waits; a run without models comes to the same by itself."""
    if judge.notes and (judge.meter or isinstance(halt, EngineMismatchError)):
        told = (halt.resource, halt.limit, halt.spent) if isinstance(halt, BudgetReachedError) else (str(halt),)
        judge.notes().keep_result(_place(number), json.dumps([type(halt).__name__, *told]))


def _forget(judge: Judge[Any], halts: int) -> None:
    """Take back what was noted: the stage is done, and may be done again from where it began."""
    if judge.notes:
        for number in range(halts):
            judge.notes().keep_result(_place(number), "")


def _place(number: int) -> str:
    """Under what a halt is noted: the stage as it was begun at this point of the run."""
    return f"halt {get_config()['configurable'].get('checkpoint_ns', '')} {number}"


def _decision(state: Judged, runtime: Runtime[Settings], halt: Halt, kit: JudgingKit) -> Judged:
    allowance = decided(halt, state.get("allowance", {}), Settings.of(runtime))
    update: Judged = {"allowance": allowance, "started": kit.clock().timestamp()}
    if "ending" in allowance:
        is_budget = isinstance(halt, BudgetReachedError)
        note = f"budget: {halt.resource}" if is_budget else f"refused: {type(halt).__name__}: {halt}"
        update["degraded"] = [*state.get("degraded", []), note]
    return update


def _report(state: Judged, update: Judged, judge: Judge[Any], stage: str) -> Judged:
    report: Judged = {}
    if judge.meter:
        report["usage"] = judge.meter.usage()
    if failures := judge.failures:
        kinds = dict.fromkeys(type(error).__name__ for error in failures)
        note = f"{stage}: {', '.join(kinds)} ({len(failures)} of its questions)"
        report["degraded"] = [*update.get("degraded", state.get("degraded", [])), note]
    return report
