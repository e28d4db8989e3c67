"""A meter counts what a run spends, and lets no call begin that the budgets do not cover."""

import threading
import time
from contextlib import ExitStack
from typing import Any

import pytest

from agentic_memory_bank.engines.llm.answers import AnswerStore, Call
from agentic_memory_bank.engines.llm.meter import Meter, limits
from agentic_memory_bank.state.errors import BudgetReachedError, SettingsError
from agentic_memory_bank.state.settings import Settings

PRICES = {"m": (1_000.0, 2_000.0)}


def meter(**options: Any) -> Meter:
    return Meter(**{"store": AnswerStore(), "run": "i1", **options})


def call(tokens: tuple[int, int] = (10, 2), role: str = "plan", model: str = "m", mode: str = "prompt") -> Call:
    return Call("i1", role, model, mode, *tokens)  # type: ignore[arg-type]


def make(counted: Meter, tokens: tuple[int, int] = (10, 2)) -> None:
    """Make a call that costs what it may at most."""
    with counted.calling("m", *tokens):
        counted.note(call(tokens))


def test_without_budgets_there_are_no_limits() -> None:
    assert limits(Settings(), {"calls": 5}) == {}


def test_what_was_granted_comes_on_top_of_the_budgets() -> None:
    settings = Settings(budget_calls=5, budget_money=0.5)

    assert limits(settings, {"calls": 7, "tokens": 9}) == {"calls": 12, "money": 0.5}


@pytest.mark.parametrize(
    ("resource", "limit", "possible"), [("calls", 3, 3), ("tokens", 30, 3), ("tokens", 36, 3), ("money", 0.03, 3)]
)
def test_calls_are_made_until_a_limit_is_reached(resource: str, limit: float, possible: int) -> None:
    counted = meter(limits={resource: limit}, prices=PRICES)
    for _ in range(possible):
        make(counted)

    with pytest.raises(BudgetReachedError) as reached:
        make(counted)

    assert (reached.value.resource, reached.value.limit) == (resource, limit)


def test_time_is_a_limit_too() -> None:
    now = [0.0]
    counted = meter(limits={"seconds": 10}, elapsed=lambda: now[0])
    make(counted)
    now[0] = 10.0

    with pytest.raises(BudgetReachedError, match="10 seconds"):
        make(counted)
    with pytest.raises(BudgetReachedError):
        counted.check()


def test_what_was_spent_before_counts() -> None:
    store = AnswerStore()
    make(meter(store=store))

    with pytest.raises(BudgetReachedError):
        make(meter(store=store, limits={"calls": 1}))


def test_what_another_run_of_the_task_spent_does_not_count() -> None:
    store = AnswerStore()
    make(meter(store=store))

    make(meter(store=store, run="i2", limits={"calls": 1}))


@pytest.mark.parametrize(("resource", "limit"), [("calls", 10), ("tokens", 120), ("money", 0.14)])
def test_however_many_ask_at_once_a_limit_is_passed_by_one_call_at_most(resource: str, limit: float) -> None:
    counted = meter(limits={resource: limit}, prices=PRICES)
    refused: list[BudgetReachedError] = []

    def work() -> None:
        try:
            with counted.calling("m", 10, 2):
                time.sleep(0.002)
                counted.note(call())
        except BudgetReachedError as error:
            refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert counted.usage()["calls"] == 10
    assert len(refused) == 14


def test_near_a_limit_calls_wait_for_each_other() -> None:
    counted = meter(limits={"tokens": 20})
    waits = threading.Thread(target=make, args=(counted,))

    with counted.calling("m", 10, 2):
        waits.start()
        waits.join(0.05)
        assert waits.is_alive()
        counted.note(call((1, 1)))  # far less than it might have been
    waits.join(60)

    assert not waits.is_alive()
    assert counted.usage()["calls"] == 2


def test_a_call_larger_than_what_is_left_is_made_alone() -> None:
    counted = meter(limits={"tokens": 20})

    make(counted, (1_000, 1_000))

    with pytest.raises(BudgetReachedError):
        make(counted)


def test_what_was_held_back_is_free_again_after_a_call_that_failed() -> None:
    counted = meter(limits={"calls": 1})

    with pytest.raises(ZeroDivisionError), counted.calling("m", 10, 2):
        _ = 1 / 0

    make(counted)


def test_far_from_a_limit_nobody_waits() -> None:
    counted = meter(limits={"tokens": 1_000, "calls": 100})

    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(counted.calling("m", 10, 2))


def test_money_needs_a_price() -> None:
    with pytest.raises(SettingsError, match="'n'"), meter(limits={"money": 1.0}, prices=PRICES).calling("n", 1, 1):
        pass


def test_usage_is_counted_by_role_and_by_the_form_that_served() -> None:
    counted = meter(prices=PRICES)
    for made in (call(), call((20, 4)), call(role="react", mode="json_schema")):
        counted.note(made)

    usage = counted.usage()

    assert {name: usage[name] for name in ("calls", "input_tokens", "output_tokens")} == {
        "calls": 3,
        "input_tokens": 40,
        "output_tokens": 8,
    }  # type: ignore[literal-required]
    assert usage.get("cost") == pytest.approx(0.056)
    assert usage.get("roles", {})["plan"] == {
        "model": "m",
        "calls": 2,
        "input_tokens": 30,
        "output_tokens": 6,
        "served_by": {"prompt": 2},
    }
    assert usage.get("roles", {})["react"]["served_by"] == {"json_schema": 1}


def test_what_has_no_price_costs_nobody_knows_what() -> None:
    counted = meter(prices=PRICES)
    counted.note(call())
    counted.note(call(model="n"))

    assert counted.usage().get("cost") is None


def test_whoever_listens_is_told_after_each_call() -> None:
    told: list[Any] = []
    counted = meter(on_event=told.append)
    make(counted)
    counted.tell("plan", 2, 3.21, 40)
    make(counted)

    assert [event["usage"]["calls"] for event in told if "usage" in event] == [1, 2]
    assert told[1] == {"asking": {"role": "plan", "attempt": 2, "seconds": 3.2, "tokens": 40}}


def test_what_no_server_told_is_said_to_be_estimated() -> None:
    counted = meter()
    counted.note(Call("i1", "plan", "m", "prompt", 10, 5))
    counted.note(Call("i1", "plan", "m", "prompt", 10, 5, is_estimated=True))

    usage = counted.usage()
    assert (usage["calls"], usage["estimated"], usage["roles"]["plan"]["estimated"]) == (2, 1, 1)
    assert usage["roles"]["plan"]["served_by"] == {"prompt": 2}
