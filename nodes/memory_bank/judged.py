"""Runs a stage with the engine of its run, within the run's budget, and reports what it spent."""

from collections.abc import Callable
from dataclasses import replace

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.judges import Judge
from agentic_memory_bank.nodes.kit import Kit
from agentic_memory_bank.nodes.memory_bank.pausing import decided
from agentic_memory_bank.nodes.memory_bank.setbacks import stopped
from agentic_memory_bank.state.errors import BudgetReachedError
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate
from agentic_memory_bank.state.settings import Settings

Stage = Callable[[MemoryBankState, Runtime[Settings], Kit], MemoryBankUpdate]


def judged(state: MemoryBankState, runtime: Runtime[Settings], *, stage: Stage, kit: Kit) -> MemoryBankUpdate:
    """Run a stage; at a budget, pause and go on as decided. What was answered before is not asked again."""
    decision: MemoryBankUpdate = {}
    while True:
        if stage.__name__ == "execute" and state.get("allowance", {}).get("ending") == "stop":
            return {**decision, **stopped(state)}
        judge = kit.judge(state, runtime)
        try:
            update = stage(state, runtime, replace(kit, engine=judge.engine, agent=judge.agent))
        except BudgetReachedError as reached:
            decision = _decision(state, runtime, reached, kit)
            if judge.meter:  # whoever goes on may not be the one who spent it
                decision["usage"] = judge.meter.usage()
            state = {**state, **decision}  # type: ignore[typeddict-item] - the keys are plain values in both
            continue
        return {**decision, **update, **_report(state, update, judge, stage.__name__)}


def _decision(
    state: MemoryBankState, runtime: Runtime[Settings], reached: BudgetReachedError, kit: Kit
) -> MemoryBankUpdate:
    allowance = decided(reached, state.get("allowance", {}), Settings.of(runtime))
    update: MemoryBankUpdate = {"allowance": allowance, "started": kit.clock().timestamp()}
    if "ending" in allowance:
        update["degraded"] = [*state.get("degraded", []), f"budget: {reached.resource}"]
    return update


def _report(state: MemoryBankState, update: MemoryBankUpdate, judge: Judge, stage: str) -> MemoryBankUpdate:
    report: MemoryBankUpdate = {}
    if judge.meter:
        report["usage"] = judge.meter.usage()
    if failures := judge.failures:
        kinds = dict.fromkeys(type(error).__name__ for error in failures)
        note = f"{stage}: {', '.join(kinds)} ({len(failures)} of its questions)"
        report["degraded"] = [*update.get("degraded", state.get("degraded", [])), note]
    return report
