"""A run that reaches a budget pauses before it spends more, and goes on as it is told, without paying twice."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentic_memory_bank import runs
from agentic_memory_bank.engines.extractive.engine import ExtractiveEngine
from agentic_memory_bank.graph.memory_bank import MemoryBank, build_memory_bank
from agentic_memory_bank.nodes.memory_bank.pausing import DECISION_FORM, DECISIONS, checked_decision
from agentic_memory_bank.state.errors import InputError, SettingsError
from agentic_memory_bank.testing import Reply, ScriptedJudge, TickingClock, http_error
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

SUBJECTS = ["harbour", "market", "bridge", "tower", "museum", "station", "library", "garden", "theatre", "canal"]
DOCUMENTS = [
    f"The {name} of Aldport was opened in {1900 + i}. " + "It is much loved. " * 25 for i, name in enumerate(SUBJECTS)
]
QUESTION = "When was the bridge of Aldport opened?"
WINDOWS = {"classify_window": 240, "structure_window": 240}
"""One document a call, so that a stage makes many."""
PRICES = {"local:test": [1_000.0, 2_000.0]}
CONFIG: Any = {"configurable": {"thread_id": "t"}}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Ride:
    """A run over a saver, told what to do at each pause."""

    def __init__(self, saver: Any = None, clock: Any = lambda: NOON, **options: Any) -> None:
        self.bank: MemoryBank = build_memory_bank(
            embeddings=HashEmbeddings(), clock=clock, checkpointer=saver or InMemorySaver(), **options
        )
        self.spent: dict[str, Any] = {}

    def start(self, **settings: Any) -> dict[str, Any] | None:
        """Begin; the pause, if there is one."""
        self._settings = {"model": "local:test", **WINDOWS, **settings}
        return self._take({"question": QUESTION, "documents": DOCUMENTS})

    def go_on(self, decision: Any) -> dict[str, Any] | None:
        """Go on as decided."""
        return self._take(Command(resume=decision))

    def to_the_end(self, decision: Any) -> int:
        """Decide the same at every pause; how many more there were."""
        pauses = 0
        while self.go_on(decision):
            pauses += 1
            assert pauses < 50, "what was answered is asked again, or nothing is granted"
        return pauses

    @property
    def values(self) -> dict[str, Any]:
        return self.bank.get_state(CONFIG).values

    @property
    def memory(self) -> str:
        return json.dumps([self.values[layer] for layer in ("query_graph", "interaction_tree")], sort_keys=True)

    def _take(self, given: Any) -> dict[str, Any] | None:
        context: Any = self._settings
        for event in self.bank.stream(given, CONFIG, context=context, stream_mode="custom"):
            self.spent = event.get("usage", self.spent)
        waiting = self.bank.get_state(CONFIG).interrupts
        return waiting[0].value if waiting else None


@pytest.fixture
def whole(model: Any) -> Ride:
    """The same run without a limit."""
    ride = Ride()
    assert ride.start() is None
    model.begin()
    return ride


def sent_twice(model: Any) -> int:
    bodies = [json.dumps(request.body, sort_keys=True) for request in model.server.chats]
    return len(bodies) - len(set(bodies))


def money(usage: dict[str, Any]) -> float:
    return (usage["input_tokens"] * 1_000.0 + usage["output_tokens"] * 2_000.0) / 1_000_000


@pytest.mark.parametrize("at_once", [1, 8])
def test_a_run_makes_as_many_calls_as_it_may_and_pauses(model: Any, at_once: int) -> None:
    ride = Ride()

    pause = ride.start(budget_calls=7, max_concurrency=at_once)

    assert pause is not None
    assert (pause["reason"], pause["limit"]) == ("calls", 7)
    assert pause["decisions"] == ["continue", "finish", "stop"]
    assert model.server.count == ride.spent["calls"] == 7


@pytest.mark.parametrize("at_once", [1, 8])
def test_a_run_passes_a_budget_of_tokens_by_one_call_at_most(model: Any, at_once: int) -> None:
    model.server.reset()
    ride = Ride()

    pause = ride.start(budget_tokens=2_000, max_concurrency=at_once, classify_output=64, structure_output=64)

    assert pause is not None
    assert (pause["reason"], pause["limit"]) == ("tokens", 2_000)
    spent = ride.spent["input_tokens"] + ride.spent["output_tokens"]
    assert 2_000 <= spent < 2_000 + spent / ride.spent["calls"] * 2


@pytest.mark.parametrize("at_once", [1, 8])
def test_a_run_passes_a_budget_of_money_by_one_call_at_most(model: Any, at_once: int) -> None:
    ride = Ride()

    pause = ride.start(budget_money=2.0, prices=PRICES, max_concurrency=at_once, classify_output=64)

    assert pause is not None
    assert (pause["reason"], pause["limit"]) == ("money", 2.0)
    assert 2.0 <= ride.spent["cost"] < 2.0 + 2 * ride.spent["cost"] / ride.spent["calls"]
    assert ride.spent["cost"] == pytest.approx(money(ride.spent))


def test_a_run_takes_as_long_as_it_may_and_pauses(model: Any) -> None:
    ride = Ride(clock=TickingClock(step=timedelta(seconds=1)))

    pause = ride.start(budget_seconds=9, max_concurrency=1)

    assert pause is not None
    assert (pause["reason"], pause["limit"]) == ("seconds", 9)
    assert 1 <= model.server.count <= 9


@pytest.mark.parametrize(
    ("budget", "decision"),
    [
        ({"budget_calls": 5}, "continue"),
        ({"budget_calls": 5}, {"budget_calls": 1_000}),
        ({"budget_tokens": 1_500}, "continue"),
        ({"budget_tokens": 1_500}, {"budget_tokens": 1_000_000}),
        ({"budget_money": 1.5, "prices": PRICES}, "continue"),
        ({"budget_money": 1.5, "prices": PRICES}, {"budget_money": 1_000}),
    ],
)
def test_a_run_that_is_allowed_more_comes_to_the_same_and_no_question_is_sent_again(
    model: Any, whole: Ride, budget: dict[str, Any], decision: Any
) -> None:
    ride = Ride()
    assert ride.start(**budget)

    pauses = ride.to_the_end(decision)

    assert pauses > 0 if decision == "continue" else pauses == 0
    assert ride.memory == whole.memory
    assert ride.values["answer"] == whole.values["answer"]
    assert ride.values["status"] == "completed"
    assert ride.values["usage"]["calls"] == whole.values["usage"]["calls"] == model.server.count
    assert sent_twice(model) == 0


@pytest.mark.parametrize(("decision", "limit"), [("continue", 10), ({"budget_calls": 8}, 8)])
def test_a_decision_grants_as_much_again_or_says_how_much_in_all(model: Any, decision: Any, limit: int) -> None:
    ride = Ride()
    ride.start(budget_calls=5)

    pause = ride.go_on(decision)

    assert pause is not None
    assert pause["limit"] == limit
    assert model.server.count == limit


def test_a_run_that_is_allowed_more_time_comes_to_the_same_answer(model: Any, whole: Ride) -> None:
    ride = Ride(clock=TickingClock(step=timedelta(seconds=1)))
    assert ride.start(budget_seconds=9)

    ride.to_the_end("continue")

    assert ride.values["answer"] == whole.values["answer"]
    assert len(ride.values["query_graph"]["nodes"]) == len(DOCUMENTS)
    assert sent_twice(model) == 0


@pytest.mark.parametrize("budget", [{"budget_calls": 5}, {"budget_calls": 15}, {"budget_calls": 23}])
def test_finish_comes_to_an_answer_without_another_call(model: Any, budget: dict[str, Any]) -> None:
    ride = Ride()
    assert ride.start(**budget)
    before = model.server.count

    assert ride.go_on("finish") is None

    assert model.server.count == before
    assert ride.values["status"] == "completed"
    assert "1902" in ride.values["answer"]
    assert "budget: calls" in ride.values["degraded"]
    assert ride.values["usage"]["calls"] == before


@pytest.mark.parametrize("budget", [{"budget_calls": 5}, {"budget_calls": 15}, {"budget_calls": 22}])
def test_stop_ends_the_run_with_all_raw_text_kept(model: Any, budget: dict[str, Any]) -> None:
    ride = Ride()
    assert ride.start(**budget)
    before = model.server.count

    assert ride.go_on("stop") is None

    assert model.server.count == before
    assert ride.values["status"] == "stopped"
    assert [entry["text"] for entry in ride.values["interaction_tree"]["entries"].values()] == DOCUMENTS
    held = {anchor["entry"] for node in ride.values["query_graph"]["nodes"].values() for anchor in node["anchors"]}
    assert held == set(ride.values["interaction_tree"]["entries"])


def test_a_decision_that_is_none_leaves_the_run_waiting(model: Any) -> None:
    ride = Ride()
    ride.start(budget_calls=5)

    for wrong in ("perhaps", {"budget_calls": -1}, {"budget": 3}, 7):
        pause = ride.go_on(wrong)
        assert pause is not None
        assert "not with" in pause["message"]
    assert ride.go_on("finish") is None

    assert model.server.count == 5
    assert ride.values["degraded"] == ["budget: calls"]


def test_without_a_checkpointer_a_budget_ends_the_run(model: Any) -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings(), clock=lambda: NOON)
    context: Any = {"model": "local:test", **WINDOWS, "budget_calls": 5}

    result = bank.invoke({"question": QUESTION, "documents": DOCUMENTS}, context=context)

    assert result["status"] == "stopped"
    assert model.server.count == 5


def test_a_budget_of_money_without_a_price_is_refused_at_the_door(model: Any, home: Path) -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings())
    context: Any = {"model": "local:test", "budget_money": 1.0, "prices": {"local:other": [1, 1]}}

    with pytest.raises(SettingsError, match="local:test"):
        bank.invoke({"question": QUESTION, "documents": DOCUMENTS}, context=context)

    assert model.server.count == 0


def test_a_budget_holds_for_each_question_of_a_thread(model: Any) -> None:
    ride = Ride()
    assert ride.start(budget_calls=100) is None
    first = ride.values["usage"]["calls"]
    context: Any = {"model": "local:test", **WINDOWS, "budget_calls": first}

    result = ride.bank.invoke({"question": "And the canal?"}, CONFIG, context=context)

    assert result["status"] == "completed"
    assert result["usage"]["calls"] < first


# --- durable runs ------------------------------------------------------------------------------------------------


def durable(decision: Any = None, **settings: Any) -> Any:
    """Start a run, or go on with it, each time from disk alone."""
    options: dict[str, Any] = {"thread": "t", "embeddings": HashEmbeddings(), "clock": lambda: NOON}
    if decision is not None:
        return runs.resume(decision=decision, **options)
    chosen = {"model": "local:test", **WINDOWS, **settings}
    return runs.run(QUESTION, documents=DOCUMENTS, settings=chosen, keep=True, **options)


def test_a_durable_run_pays_for_no_answer_twice_over_pauses(model: Any, whole: Ride) -> None:
    output = durable(budget_calls=5)
    assert output["pause"]["reason"] == "calls"

    for _ in range(50):
        output = durable("continue") if "pause" in output else output

    assert output["status"] == "completed"
    assert output["answer"] == whole.values["answer"]
    assert output["usage"]["calls"] == whole.values["usage"]["calls"] == model.server.count
    assert sent_twice(model) == 0


def test_a_planner_that_always_fails_is_done_without_and_the_run_answers_all_the_same(model: Any, whole: Ride) -> None:
    judge, broken = ScriptedJudge(), http_error(500, headers={"retry-after": "0"})
    model.plays(lambda request: broken if judge.kind_of(request) == "plan" else judge(request))

    output = durable()

    assert (output["status"], output["answer"]) == ("completed", whole.values["answer"])
    assert any(note.startswith("plan: ModelUnavailable") for note in output["degraded"])
    assert model.kinds().count("plan") == 2


def test_what_was_granted_holds_though_the_stage_that_goes_on_with_it_fails(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("A fault of this stage.")

    monkeypatch.setattr(ExtractiveEngine, "structure", fails)
    model.plays(structure=lambda _: Reply("Certainly!"))
    ride = Ride()

    pause = ride.start(budget_calls=1, classify_window=32_000, structure_window=32_000)

    assert pause is not None
    assert ride.go_on({"budget_calls": 200}) is None, "nothing is asked that was answered"
    assert ride.values["status"] == "completed"
    assert any(note.startswith("structure: RuntimeError") for note in ride.values["degraded"])


def test_every_decision_has_the_form_that_a_pause_says() -> None:
    words, budgets = DECISION_FORM["anyOf"]

    assert set(words["enum"]) == set(DECISIONS)
    for name in budgets["properties"]:
        assert checked_decision({name: 200}) == {name: 200.0}
    with pytest.raises(InputError):
        checked_decision({"budget_patience": 200})
