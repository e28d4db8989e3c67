"""A stage that has to wait more than once: each decision is on what it was asked for, and what was done stays done."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.runs import bank_runs
from agentic_memory_bank.testing import ScriptedJudge, http_error
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

CONFIG: Any = {"configurable": {"thread_id": "t"}}
DOCUMENTS = [f"The {name} of Aldport was opened in 190{i}." for i, name in enumerate(["harbour", "market", "bridge"])]
MIRRORS = [f"The mirror of the Meridian Array is {width} metres wide." for width in ("8.2", "7.9")]
FOUND = "The makers say that the mirror of the Meridian Array is 8.2 metres wide."
ONE_EACH = {"model": "local:test", "classify_window": 64, "structure_window": 64, "max_concurrency": 1}


class Pausing:
    """A run on a thread, resumed under settings of its own, before a model that may refuse."""

    def __init__(self, model: Any, **options: Any) -> None:
        self.model = model
        self.bank = build_memory_bank(embeddings=HashEmbeddings(), checkpointer=InMemorySaver(), **options)

    def start(self, documents: list[str], **context: Any) -> str:
        """Begin; why it waits, or how it ended."""
        return self._take({"question": "What is known?", "documents": documents}, context)

    def go_on(self, given: Any, **context: Any) -> str:
        """Go on; why it waits again, or how it ended."""
        return self._take(Command(resume=given), context)

    def refusing(self, refuses: bool = True) -> None:
        """Whether the key is wrong from now on."""
        judge = ScriptedJudge()
        self.model.plays(lambda request: http_error(401, "wrong key") if refuses else judge(request))

    def _take(self, given: Any, context: Any) -> str:
        output = self.bank.invoke(given, CONFIG, context=context)
        return output["__interrupt__"][0].value["reason"] if "__interrupt__" in output else output["status"]


def test_a_run_that_is_stopped_when_it_was_refused_again_asks_nothing_more(model: Any) -> None:
    run = Pausing(model)
    run.refusing()
    assert run.start(DOCUMENTS, **ONE_EACH) == "refused"
    assert run.go_on("continue", **ONE_EACH) == "refused"
    run.refusing(False)
    before = model.server.count

    assert run.go_on("stop", **ONE_EACH) == "stopped"
    assert model.server.count == before


def test_to_go_on_after_a_refusal_grants_nothing(model: Any) -> None:
    run, context = Pausing(model), {**ONE_EACH, "budget_calls": 2}
    run.refusing()
    assert run.start(DOCUMENTS, **context) == "refused"
    run.refusing(False)
    assert run.go_on("continue", **context) == "calls"
    before = model.server.count

    assert run.go_on("stop", **context) == "stopped"
    assert model.server.count == before == 2


def test_a_budget_that_was_raised_before_a_refusal_stays_raised(model: Any) -> None:
    run, context = Pausing(model), {**ONE_EACH, "budget_calls": 1}
    assert run.start(DOCUMENTS, **context) == "calls"
    run.refusing()
    assert run.go_on("continue", **context) == "refused"
    run.refusing(False)

    assert run.go_on({"budget_calls": 100}, **context) == "completed"


@pytest.fixture
def far(model: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The model as that of a provider who asks for a key."""
    monkeypatch.setenv("OPENAI_BASE_URL", model.server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return model


FAR = {**ONE_EACH, "model": "openai:test"}


@pytest.mark.parametrize(("decision", "status"), [("stop", "stopped"), ("finish", "not_found")])
def test_a_refused_run_whose_key_is_gone_can_be_ended(
    far: Any, monkeypatch: pytest.MonkeyPatch, decision: str, status: str
) -> None:
    run = Pausing(far)
    run.refusing()
    assert run.start(DOCUMENTS, **FAR) == "refused"
    before = far.server.count
    monkeypatch.delenv("OPENAI_API_KEY")

    assert run.go_on(decision, **FAR) == status
    assert far.server.count == before


def test_a_refused_run_whose_key_is_gone_goes_on_once_it_is_back(far: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Pausing(far)
    run.refusing()
    assert run.start(DOCUMENTS, **FAR) == "refused"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert run.go_on("continue", **FAR) == "refused"
    run.refusing(False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    assert run.go_on("continue", **FAR) == "completed"


@pytest.mark.parametrize(("decision", "status"), [("stop", "stopped"), ("finish", "not_found")])
def test_a_refused_run_on_disk_whose_key_is_gone_can_be_ended(
    far: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, decision: Any, status: str
) -> None:
    far.plays(lambda _: http_error(401, "wrong key"))
    given: Any = {"documents": DOCUMENTS, "thread": "t", "settings": FAR}
    waiting = bank_runs.run("What is known?", **given, home=tmp_path, embeddings=HashEmbeddings())
    assert waiting.get("pause", {}).get("reason") == "refused"
    monkeypatch.delenv("OPENAI_API_KEY")

    ended = bank_runs.resume("t", decision=decision, home=tmp_path, embeddings=HashEmbeddings())

    assert ended["status"] == status
    assert any(note.startswith("refused: ModelRefused") for note in ended["degraded"])


@pytest.mark.parametrize("decision", ["stop", "finish"])
def test_a_run_that_is_ended_for_want_of_its_settings_asks_nothing_more(model: Any, decision: str) -> None:
    run, context = Pausing(model), {**ONE_EACH, "budget_calls": 2}
    run.start(DOCUMENTS, **context)
    assert run.go_on("continue") == "engine"
    before = model.server.count

    run.go_on(decision, **context)

    assert model.server.count == before
    assert not run.bank.get_state(CONFIG).next


@pytest.mark.parametrize("why", ["refused", "calls", "engine"])
def test_what_was_done_outside_is_not_asked_for_again_when_the_verdict_has_to_wait(model: Any, why: str) -> None:
    run, context = Pausing(model, execute="outside"), {"react_model": "local:test"}
    assert run.start(MIRRORS, **context) == "execute"
    steps = [task["kind"] for task in run.bank.get_state(CONFIG).values["insight_doc"].get("completed", [])]
    run.refusing(why == "refused")
    tight = {**context, "budget_calls": 1}
    if why == "calls":  # the verdict costs more than is left
        model.plays(lambda request: http_error(500, "later"))
    given = {"refused": context, "calls": tight, "engine": {}}[why]
    assert run.go_on(FOUND, **given) == why

    run.refusing(False)
    assert run.go_on("continue", **context) == "execute"

    state = run.bank.get_state(CONFIG).values
    done = [task["kind"] for task in state["insight_doc"]["completed"]]
    assert done == [*steps, "cross_validate"]
    assert FOUND in [entry["text"] for entry in state["interaction_tree"]["entries"].values()]


def test_a_run_that_is_finished_asks_nobody_outside_any_more(model: Any) -> None:
    run, context = Pausing(model, execute="outside"), {**ONE_EACH}
    run.refusing()
    assert run.start(MIRRORS, **context) == "refused"

    assert run.go_on("finish", **context) in ("completed", "not_found")

    done = run.bank.get_state(CONFIG).values["insight_doc"]["completed"]
    assert [task["kind"] for task in done] == ["cross_validate", "answer"]
