"""Runs a stage with the engine of its run, within the run's budget, and reports what it spent."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.judges import Judge
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


def judged(
    state: _State,
    runtime: Runtime[Settings],
    *,
    stage: Callable[[_State, Runtime[Settings], _Kit], _Update],
    kit: _Kit,
    stopped: Callable[[_State], _Update] | None = None,
) -> _Update:
    """Run a stage; at a budget, or where a model refuses, pause and go on as decided.

    What was answered before is not asked again.

    Args:
        state: Of the run; what every graph calls alike is in `Judged`.
        runtime: Of the run.
        stage: What is run.
        kit: What it works with; its engine is that of the run.
        stopped: What is done in its place once the run is to stop.

    Raises:
        ModelRefused: As the model's server did, where nobody can come back to the run.
    """
    now = cast("Judged", state)
    decision: Judged = {}
    while True:
        if stopped and now.get("allowance", {}).get("ending") == "stop":
            return _together(decision, stopped(cast("_State", now)))
        judge = kit.judge(now, runtime)
        try:
            _check_engine(now, judge)
            _check_refusal(judge, stage.__name__)
            update = stage(cast("_State", now), runtime, _with(kit, judge))
        except (BudgetReachedError, ModelRefused, EngineMismatchError) as halt:
            if isinstance(halt, ModelRefused) and not is_saved():
                raise
            with _waiting(halt, judge, stage.__name__):
                decision = _decision(now, runtime, halt, kit)
            if judge.meter:  # whoever goes on may not be the one who spent it
                decision["usage"] = judge.meter.usage()
            now = cast("Judged", {**now, **decision})
            continue
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


def _check_refusal(judge: Judge[Any], stage: str) -> None:
    """See that a stage that waits is not done before somebody decided: it is run anew when it is resumed.

    Raises:
        ModelRefused: As when it was asked; no request is made.
    """
    if judge.meter and (why := judge.meter.refusal(stage)):
        raise ModelRefused(why)


@contextmanager
def _waiting(halt: Halt, judge: Judge[Any], stage: str) -> Iterator[None]:
    """Keep a refusal for as long as nobody has decided."""
    meter = judge.meter if isinstance(halt, ModelRefused) else None
    if meter:
        meter.note_refusal(stage, str(halt))
    yield
    if meter:
        meter.note_refusal(stage, "")


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
