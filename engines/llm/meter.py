"""Counts what a run spends on models, and stops it before it spends more than it may."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from agentic_memory_bank.engines.llm.answers import AnswerStore, Call
from agentic_memory_bank.state.errors import BudgetReachedError, SettingsError
from agentic_memory_bank.state.memory_bank import Asking, Usage
from agentic_memory_bank.state.model_table import Role
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.spans import annotate, model_call

Resource = Literal["calls", "tokens", "money", "seconds"]
RESOURCES: tuple[Resource, ...] = ("calls", "tokens", "money", "seconds")

CHARACTERS_A_TOKEN: Final = 4
"""About, of what is streaming."""

Prices = Mapping[str, tuple[float, float]]
Limits = dict[Resource, float]


def limits(settings: Settings, extra: Mapping[str, float]) -> Limits:
    """What a run may spend in all: the budgets of its settings, and what was granted since."""
    allowed: Limits = {}
    for resource in RESOURCES:
        budget = getattr(settings, f"budget_{resource}")
        if budget is not None:
            allowed[resource] = budget + extra.get(resource, 0.0)
    return allowed


def _told_of(call: Call) -> Mapping[str, int | str]:
    """What tracers are told of a call: its tokens, or that it failed, of which the client's words may hold keys."""
    if not call.mode and not call.input_tokens:
        return {"error.type": "_OTHER"}
    return {"gen_ai.usage.input_tokens": call.input_tokens, "gen_ai.usage.output_tokens": call.output_tokens}


@dataclass(slots=True)
class _Load:
    """What is spent, or in flight."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def add(self, other: "_Load", sign: int = 1) -> None:
        self.calls += sign * other.calls
        self.tokens += sign * other.tokens
        self.money += sign * other.money


@dataclass
class Meter:
    """What one run has spent, from the answers it has paid for, so that nothing is forgotten when it is killed."""

    store: AnswerStore
    run: str
    limits: Limits = field(default_factory=dict)
    prices: Prices = field(default_factory=dict)
    elapsed: Callable[[], float] = lambda: 0.0
    """Seconds since the run began, or was last allowed to go on."""
    on_event: Callable[[dict[str, Any]], object] | None = None
    """Told what is asked, `{"asking": ...}`, how many answers there are of those that are asked for together,
    `{"answered", "left"}`, and of the usage after each call, from the thread that made it."""

    def __post_init__(self) -> None:
        self._spent, self._flying = _Load(), _Load()
        self._changed = threading.Condition()
        for call, count in self.store.calls(self.run):
            self._spent.add(_Load(count, call.input_tokens + call.output_tokens, self._cost(call) or 0.0))

    @contextmanager
    def calling(self, model: str, prompt: int, answer: int) -> Iterator[None]:
        """Hold back the most that a call may cost while it is made; near a limit, calls wait for each other.

        So a budget is passed by one call at most, however many are made at the same time.

        Args:
            model: Name in the table of prices.
            prompt: Estimated tokens of the prompt.
            answer: Longest answer, in tokens.

        Raises:
            BudgetReachedError: Nothing is left.
            SettingsError: Money is limited, and the price of the model is not known.
        """
        price = self.prices.get(model)
        if price is None and "money" in self.limits:
            raise SettingsError(
                f"A budget of money needs the price of '{model}'. Add it to MEMORY_BANK_PRICES, or `Settings.prices`."
            )
        most = _Load(1, prompt + answer, money_of(price or (0.0, 0.0), prompt, answer))
        with self._changed:
            while not self._fits(most):
                self._changed.wait()
            self._flying.add(most)
        try:
            with model_call(model):
                yield
        finally:
            with self._changed:
                self._flying.add(most, -1)
                self._changed.notify_all()

    def note(self, call: Call, key: str | None = None, answer: str | None = None) -> None:
        """Count a call that was made, and keep its answer if it has one."""
        annotate({"memory_bank.role": call.role, **_told_of(call)})
        with self._changed:
            self.store.note(call, key, answer)
            self._spent.add(_Load(1, call.input_tokens + call.output_tokens, self._cost(call) or 0.0))
        if self.on_event:
            self.on_event({"usage": self.usage()})

    def asking(self, role: Role, attempt: int, seconds: float) -> Callable[[int], None]:
        """Say what is asked, and for how long; returned is what tells how many characters of the answer have come."""
        ends = time.monotonic() + seconds

        def tell(characters: int) -> None:
            self.tell(role, attempt, max(0.0, ends - time.monotonic()), characters // CHARACTERS_A_TOKEN)

        tell(0)
        return tell

    def tell(self, role: Role, attempt: int, seconds: float, tokens: int = 0) -> None:
        """Say what is asked: in which try, how many seconds are left for it, and how many tokens have come."""
        if self.on_event:
            told: Asking = {"role": role, "attempt": attempt, "seconds": round(seconds, 1), "tokens": tokens}
            self.on_event({"asking": told})

    def tell_answered(self, done: int, left: int) -> None:
        """Say of how many questions that are asked together there is an answer, or none to be had."""
        if self.on_event:
            self.on_event({"answered": done, "left": left})

    def check(self) -> None:
        """See that something is left.

        Raises:
            BudgetReachedError: Nothing is.
        """
        with self._changed:
            if reached := self._reached():
                raise self._reached_error(reached)

    def usage(self) -> Usage:
        """What was spent so far, by role; what has no known price costs None."""
        total: Usage = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": 0.0, "roles": {}}
        for call, count in self.store.calls(self.run):
            _count(total, call, count, self._cost(call))
        return total

    def _fits(self, most: _Load) -> bool:
        """Whether a call may be made now; alone, it may be as long as anything is left."""
        if reached := self._reached():
            raise self._reached_error(reached)
        if not self._flying.calls:
            return True
        return all(
            getattr(self._spent, name) + getattr(self._flying, name) + getattr(most, name) <= self.limits[name]
            for name in self.limits
            if name != "seconds"
        )

    def _reached_error(self, resource: Resource) -> BudgetReachedError:
        spent = self.elapsed() if resource == "seconds" else getattr(self._spent, resource)
        return BudgetReachedError(resource, self.limits[resource], spent)

    def _reached(self) -> Resource | None:
        for name, limit in self.limits.items():
            spent = self.elapsed() if name == "seconds" else getattr(self._spent, name)
            if spent >= limit:
                return name
        return None

    def _cost(self, call: Call) -> float | None:
        price = self.prices.get(call.model)
        return None if price is None else money_of(price, call.input_tokens, call.output_tokens)


def money_of(price: tuple[float, float], tokens_in: int, tokens_out: int) -> float:
    """What tokens cost, by the price of a million, in and out."""
    return (price[0] * tokens_in + price[1] * tokens_out) / 1_000_000


def _count(total: Usage, call: Call, count: int, cost: float | None) -> None:
    roles = total.setdefault("roles", {})
    role = roles.setdefault(
        call.role, {"model": call.model, "calls": 0, "input_tokens": 0, "output_tokens": 0, "served_by": {}}
    )
    if call.model not in role["model"].split(", "):
        role["model"] += f", {call.model}"
    for counted in (total, role):
        counted["calls"] += count
        counted["input_tokens"] += call.input_tokens
        counted["output_tokens"] += call.output_tokens
        if call.is_estimated:
            counted["estimated"] = counted.get("estimated", 0) + count
    if call.mode:
        role["served_by"][call.mode] = role["served_by"].get(call.mode, 0) + count
    so_far = total.get("cost")
    total["cost"] = None if so_far is None or cost is None else so_far + cost
