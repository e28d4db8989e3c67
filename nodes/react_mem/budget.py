"""Counts what an invocation of an agent spends, and says when its model has to answer and when it is left alone."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from agentic_memory_bank.engines.llm.meter import RESOURCES, Resource, limits
from agentic_memory_bank.state.react_mem import Spent
from agentic_memory_bank.state.settings import Settings

Course = Literal["on", "last", "over"]
"""How an agent goes on: as it likes; with one more call of its model, which has to answer; with none."""

STEPS_A_CALL: Final = 2
"""Super-steps of a plain agent for each call of its model: the model, and the tools."""


class Cost(NamedTuple):
    """Tokens, money and time of one call of the agent's model, spent or expected."""

    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0
    seconds: float = 0.0


class LimitDecision(NamedTuple):
    """How an agent goes on, and why it does not go on as it likes."""

    course: Course
    why: str = ""
    """Begins with the name of the setting; empty where nothing ends."""


class Tally:
    """What an invocation has spent until now. Its time counts while it runs, not while it waits for a person.

    Args:
        now: Tells the time, in seconds.
        spent: What was spent before it was resumed.
    """

    def __init__(self, now: Callable[[], float], spent: Spent | None = None) -> None:
        self._now, self._began = now, now()
        nothing: Spent = {"asked": 0, "calls": 0, "tokens": 0, "money": 0.0, "seconds": 0.0}
        self._spent = nothing if spent is None else spent.copy()
        self.last = Cost()
        """Of the last call: the next one is expected to take no less."""

    def charge(self, cost: Cost) -> None:
        """Count a call of the agent's model, also one that failed."""
        self._spent["asked"] += 1
        self._count(1, cost.input_tokens + cost.output_tokens, cost.money)
        if cost.input_tokens:
            self.last = cost

    def charge_usage(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Count what other questions to models took, by the usage before and after them."""
        taken = [(after.get(name) or 0) - (before.get(name) or 0) for name in ("calls", "cost")]
        names = ("input_tokens", "output_tokens")
        self._count(taken[0], sum((after.get(name) or 0) - (before.get(name) or 0) for name in names), taken[1])

    def allowance(self) -> dict[str, float]:
        """What is to be taken off the budgets for another question, so that one call is left for an answer."""
        spent = self.plain()
        return {name: -float(spent[name]) - (name == "calls") for name in RESOURCES}

    def plain(self) -> Spent:
        """As a checkpoint holds it."""
        return {**self._spent, "seconds": self._spent["seconds"] + self._now() - self._began}

    def judged(self, settings: Settings, most: int | None, expected: Cost) -> LimitDecision:
        """How the agent goes on: its last call is the one after which a limit would be reached.

        Args:
            settings: Hold the budgets and `react_calls`.
            most: Calls that the invocation's own limit of super-steps leaves; None for no such limit.
            expected: What the next call takes.
        """
        spent, found = self.plain(), LimitDecision("on")
        calls = settings.react_calls if most is None else min(settings.react_calls, most)
        if spent["asked"] + 1 >= calls:
            name = "react_calls" if calls == settings.react_calls else "recursion_limit"
            why = f"{name}: the agent had to answer after {calls:,} calls of its model."
            found = LimitDecision("last" if spent["asked"] < calls else "over", why)
        next_one = {
            "calls": 1.0,
            "tokens": float(expected.input_tokens + expected.output_tokens),
            "money": expected.money,
            "seconds": expected.seconds,
        }
        for name, limit in limits(settings, {}).items():
            why = f"budget_{name}: the agent had to answer, since the budget of {limit:,.10g} {name} is used up."
            if spent[name] >= limit:
                return LimitDecision("over", why)
            if found.course == "on" and spent[name] + next_one[name] >= limit:
                found = LimitDecision("last", why)
        return found

    def model_dump(self) -> dict[str, Any]:
        """Dump as pydantic does: servers call it to turn state into JSON."""
        return dict(self.plain())

    def __repr__(self) -> str:
        return f"Tally({self.plain()})"

    def _count(self, calls: float, tokens: float, money: float) -> None:
        self._spent["calls"] += int(calls)
        self._spent["tokens"] += int(tokens)
        self._spent["money"] += money


def has_budget(settings: Settings, *resources: Resource) -> bool:
    """Whether one of these is limited."""
    return any(name in limits(settings, {}) for name in resources)
