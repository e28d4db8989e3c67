"""Pauses a run that reached a limit, and reads what was decided."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from langgraph.config import get_config
from langgraph.types import interrupt
from typing_extensions import TypedDict

from agentic_memory_bank.state.errors import BudgetReachedError, InputError
from agentic_memory_bank.state.memory_bank import Allowance
from agentic_memory_bank.state.settings import Settings

Decision = Literal["continue", "finish", "stop"] | dict[str, float]
"""What a paused run is resumed with. `continue` grants as much again; a mapping such as `{"budget_calls": 200}` says
how much is granted in all; `finish` goes on without models, to an answer from what is there; `stop` ends the run."""

DECISIONS = ("continue", "finish", "stop")

_CHECKPOINTER = "__pregel_checkpointer"
"""Where LangGraph tells its nodes of the saver; a thread id alone does not say that anything is saved."""


class Pause(TypedDict):
    """Why the run waits: resume it with a `Decision`."""

    reason: Literal["stall", "steps", "calls", "tokens", "money", "seconds"]
    message: str
    limit: NotRequired[float]
    """The budget that is used up."""
    decisions: NotRequired[list[str]]


def pause(why: Pause) -> Decision:
    """Ask whoever drives the run, again if what it is resumed with is no decision; where nothing is saved, stop."""
    if get_config()["configurable"].get(_CHECKPOINTER) is None:
        return "stop"
    objection = ""
    while True:
        given = interrupt({**why, "message": f"{objection}{why['message']}", "decisions": list(DECISIONS)})
        try:
            return checked_decision(given)
        except InputError as error:
            objection = f"{error} "


def checked_decision(given: Any) -> Decision:
    """A decision.

    Raises:
        InputError: It is none.
    """
    if isinstance(given, str) and given in DECISIONS:
        return given
    if isinstance(given, Mapping) and given and all(_is_budget(name, value) for name, value in given.items()):
        return {str(name): float(value) for name, value in given.items()}
    raise InputError(
        f"A paused run is resumed with {', '.join(DECISIONS)}, or with budgets such as "
        f'{{"budget_calls": 200}}, not with {given!r}.'
    )


def decided(reached: BudgetReachedError, allowance: Allowance, settings: Settings) -> Allowance:
    """Pause at a budget, and return what is allowed from now on."""
    decision = pause({"reason": reached.resource, "message": str(reached), "limit": reached.limit})  # type: ignore[typeddict-item]
    if decision in ("finish", "stop"):
        return {**allowance, "ending": "finish" if decision == "finish" else "stop"}
    extra = dict(allowance.get("extra", {}))
    if isinstance(decision, dict):
        for name, total in decision.items():
            extra[name.removeprefix("budget_")] = total - (getattr(settings, name) or 0.0)
    elif reached.resource != "seconds":  # time counts anew from here
        extra[reached.resource] = extra.get(reached.resource, 0.0) + reached.spent - reached.limit
        extra[reached.resource] += getattr(settings, f"budget_{reached.resource}")
    return {**allowance, "extra": extra}


def _is_budget(name: object, value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    return isinstance(name, str) and name.startswith("budget_") and name in Settings.model_fields and is_number
