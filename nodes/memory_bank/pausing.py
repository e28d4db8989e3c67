"""Pauses a run that reached a limit, and reads the decision."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired

from langgraph.config import get_config
from langgraph.types import interrupt
from typing_extensions import TypedDict

from agentic_memory_bank.state.errors import BudgetReachedError, EngineMismatchError, InputError, ModelRefused
from agentic_memory_bank.state.memory_bank import Allowance
from agentic_memory_bank.state.settings import Settings

Decision = Literal["continue", "finish", "stop"] | dict[str, float]
"""What a paused run is resumed with. `continue` grants as much again; a mapping such as `{"budget_calls": 200}` says
how much is granted in all; `finish` goes on without models, to an answer from what is there; `stop` ends the run."""

DECISIONS = ("continue", "finish", "stop")

_BUDGETS: Final = tuple(name for name in Settings.model_fields if name.startswith("budget_"))
DECISION_FORM: Final[dict[str, Any]] = {
    "title": "Decision",
    "anyOf": [
        {"title": "How to go on", "enum": list(DECISIONS)},
        {
            "title": "Budgets, in all",
            "type": "object",
            "properties": {name: {"type": "number", "exclusiveMinimum": 0} for name in _BUDGETS},
            "minProperties": 1,
            "additionalProperties": False,
        },
    ],
}
"""The JSON schema of a `Decision`, of which Studio and A2A make a form."""

DECIDED = "decided"
"""Attribute of a stage's error with what was decided before it failed."""

_CHECKPOINTER = "__pregel_checkpointer"
"""Where LangGraph tells its nodes of the saver; a thread id alone does not say that anything is saved."""


class Pause(TypedDict):
    """Why the run waits: resume it with a `Decision`."""

    reason: Literal["stall", "steps", "calls", "tokens", "money", "seconds", "refused", "engine"]
    message: str
    limit: NotRequired[float]
    """The budget that is used up."""
    decisions: NotRequired[list[str]]


Halt = BudgetReachedError | ModelRefused | EngineMismatchError
"""What a person has to decide or to mend before the stage can go on."""


def is_saved() -> bool:
    """Ask whether this run can be resumed."""
    return get_config()["configurable"].get(_CHECKPOINTER) is not None


def pause(why: Pause) -> Decision:
    """Pause for a decision, again where the answer is none; a run that is not saved is stopped."""
    if not is_saved():
        return "stop"
    objection = ""
    while True:
        asked = {**why, "message": f"{objection}{why['message']}", "decisions": list(DECISIONS)}
        given = interrupt(asked, response_schema=DECISION_FORM)
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


def decided(halt: Halt, allowance: Allowance, settings: Settings) -> Allowance:
    """Pause, and return the new allowance; what had to be mended is tried again."""
    decision = pause(_why(halt))
    if decision in ("finish", "stop"):
        return {**allowance, "ending": "finish" if decision == "finish" else "stop"}
    extra = dict(allowance.get("extra", {}))
    if isinstance(decision, dict):
        for name, total in decision.items():
            extra[name.removeprefix("budget_")] = total - (getattr(settings, name) or 0.0)
    elif isinstance(halt, BudgetReachedError) and halt.resource != "seconds":  # time counts anew from here
        extra[halt.resource] = extra.get(halt.resource, 0.0) + halt.spent - halt.limit
        extra[halt.resource] += getattr(settings, f"budget_{halt.resource}") or 0.0  # none: it was lifted since
    return {**allowance, "extra": extra}


def _why(halt: Halt) -> Pause:
    if isinstance(halt, BudgetReachedError):
        return {"reason": halt.resource, "message": str(halt), "limit": halt.limit}  # type: ignore[typeddict-item]
    advice = "Mend it and go on: what was answered is kept. Or finish without a model, or stop."
    return {"reason": "refused" if isinstance(halt, ModelRefused) else "engine", "message": f"{halt} {advice}"}


def _is_budget(name: object, value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    return isinstance(name, str) and name.startswith("budget_") and name in Settings.model_fields and is_number
