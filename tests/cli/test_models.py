"""Models on the command line: what they cost, where they pause, and what is said when they fail."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank.testing import Reply, ScriptedJudge, failing, http_error, refusing
from agentic_memory_bank.testing.faults import Fault

from .conftest import Command, Serve, json_lines

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

ASK = ("ask", "How many qubits?", "--model", "local:test", "--thread", "t", "-c")
PRICES = 'prices={"local:test": [100, 200]}'


def run_of(memory_bank: Command) -> dict[str, Any]:
    [run] = json.loads(memory_bank("runs", "--json").stdout)["runs"]
    return run


BUSY = http_error(503, headers={"retry-after": "0"})


def planless(fault: Fault) -> Any:
    """A model that cannot plan."""
    return failing(ScriptedJudge(), fault, on=lambda request: ScriptedJudge.kind_of(request) == "plan")


def test_the_outcome_tells_calls_and_tokens_by_role_and_the_form_that_served(
    memory_bank: Command, document: Path, serve: Serve
) -> None:
    server = serve(refusing(ScriptedJudge(), "json_schema"))

    result = memory_bank(*ASK, document)

    assert result.exit_code == 0, result.output
    lines = result.stdout.split("Models\n")[1].splitlines()
    assert [line.split()[:2] for line in lines[:4]] == [
        [role, "local:test:"] for role in ("classify", "structure", "plan", "react")
    ]
    assert lines[0].endswith("by function_calling")
    assert lines[1].endswith("by function_calling")
    assert lines[4].split()[:4] == ["in", "all", f"{server.count}", "calls,"]
    assert lines[4].endswith("cost unknown")


def test_a_cost_is_told_where_the_price_is_known(memory_bank: Command, document: Path, serve: Serve) -> None:
    serve()

    output = json.loads(memory_bank(*ASK, document, "--json", "--set", PRICES).stdout)

    usage = output["usage"]
    assert usage["cost"] == pytest.approx((usage["input_tokens"] * 100 + usage["output_tokens"] * 200) / 1e6)
    assert run_of(memory_bank)["usage"] == usage
    shown = f"cost {float(format(usage['cost'], '.3g'))}"
    assert f"4 calls, {shown}  How many" in memory_bank("runs").stdout
    assert shown in memory_bank("show", "t").stdout.splitlines()[-1]
    assert json.loads(memory_bank("show", "t", "--json").stdout)["usage"] == usage


def test_an_unknown_cost_is_null_for_machines(memory_bank: Command, document: Path, serve: Serve) -> None:
    serve()

    result = memory_bank(*ASK, document, "--json")

    assert json.loads(result.stdout)["usage"]["cost"] is None
    assert run_of(memory_bank)["usage"]["cost"] is None
    assert "4 calls, cost unknown" in memory_bank("runs").stdout
    told = [news["usage"]["calls"] for news in json_lines(result.stderr) if "usage" in news]
    assert told == [1, 2, 3, 4]


def test_progress_tells_what_was_spent_after_each_stage_that_asked(
    memory_bank: Command, document: Path, serve: Serve
) -> None:
    serve()

    told = [line.split(" s  ")[1] for line in memory_bank(*ASK, document).stderr.splitlines()]

    spent = [line for line in told if "cost unknown" in line]
    assert [line.split(",")[0] for line in spent] == ["1 call", "2 calls", "3 calls", "4 calls"]
    assert told.index(spent[1]) == told.index("structure: 1 topic") + 1
    assert all(told)


def test_a_budget_pauses_the_run_and_a_larger_one_ends_it(memory_bank: Command, document: Path, serve: Serve) -> None:
    server = serve()

    paused = memory_bank(*ASK, document, "--budget", "calls=2", "--budget", "tokens=200000")

    assert paused.exit_code == 4, paused.output
    assert "The budget of 2 calls is used up." in paused.stdout
    assert "`memory-bank resume t --budget calls=4`" in paused.stdout
    assert "`memory-bank resume t --decision finish`" in paused.stdout
    assert run_of(memory_bank)["usage"]["calls"] == 2

    resumed = memory_bank("resume", "--budget", "calls=200", "--json")

    assert resumed.exit_code == 0, resumed.output
    assert json.loads(resumed.stdout)["usage"]["calls"] == server.count == 4


def test_what_a_pause_leaves_to_do_is_told_to_machines(memory_bank: Command, document: Path, serve: Serve) -> None:
    serve()

    paused = json.loads(memory_bank(*ASK, document, "--json", "--budget", "calls=2").stdout)

    assert (paused["resume"], paused["pause"]["reason"]) == ("memory-bank resume t", "calls")


def test_a_budget_that_is_not_raised_is_refused_and_the_run_still_waits(
    memory_bank: Command, document: Path, serve: Serve
) -> None:
    server = serve()
    memory_bank(*ASK, document, "--budget", "calls=2")

    for budget in ("calls=2", "tokens=5000"):
        refused = memory_bank("resume", "--budget", budget)
        assert refused.exit_code == 2
        assert refused.stderr.splitlines() == [
            "Error: The run has used up its budget of calls. Give one that is over 2 in all."
        ]

    assert (run_of(memory_bank)["state"], server.count) == ("paused", 2)


def test_money_is_a_budget_where_prices_are_given(memory_bank: Command, document: Path, serve: Serve) -> None:
    server = serve()

    priceless = memory_bank(*ASK, document, "--budget", "0.01")
    assert priceless.exit_code == 2
    assert "needs the price of local:test" in priceless.stderr
    assert " s  " not in priceless.stderr  # before the document was read
    assert server.count == 0

    paused = memory_bank(*ASK, document, "--budget", "0.01", "--set", PRICES)
    assert paused.exit_code == 4, paused.output
    assert "The budget of 0.01 money is used up." in paused.stdout
    assert memory_bank("resume", "--budget", "5").exit_code == 0


def test_a_run_is_finished_without_a_model_when_that_is_decided(
    memory_bank: Command, document: Path, serve: Serve
) -> None:
    server = serve()
    memory_bank(*ASK, document, "--budget", "calls=2")

    finished = memory_bank("resume", "--decision", "finish")

    assert finished.exit_code == 0, finished.output
    assert "The budget of calls was reached: no model was asked after that." in finished.stdout
    assert "“The chip has 433 qubits.”" in finished.stdout
    assert "2 calls" in finished.stdout.split("in all")[1]
    assert server.count == 2


def test_a_run_that_was_refused_says_why_and_waits_until_that_is_mended(
    memory_bank: Command, document: Path, serve: Serve
) -> None:
    serve(planless(http_error(401, "sk-canary is no key")))

    paused = memory_bank(*ASK[:-3], "--keep", "-c", document)

    assert paused.exit_code == 4, paused.output
    [thread] = [run_of(memory_bank)["thread"]]
    said = "The run waits. local:test (plan) did not answer: status 401. Check the key in MEMORY_BANK_LOCAL_API_KEY."
    assert said in paused.stdout
    assert f"Go on with `memory-bank resume {thread}`, finish without a model with" in paused.stdout
    assert "plan       local:test: 1 call, 0 tokens in, 0 out, none answered" in paused.stdout
    assert "canary" not in paused.output
    assert memory_bank("runs").stdout.splitlines()[1].split()[:2] == [thread, "paused"]

    server = serve()
    resumed = memory_bank("resume")

    assert resumed.exit_code == 0, resumed.output
    assert "could not be planned" not in resumed.stdout
    assert "“The chip has 433 qubits.”" in resumed.stdout
    assert server.count == 2  # to plan and to answer: nothing is asked again


def test_a_run_that_was_refused_is_finished_without_the_model_when_that_is_decided(
    memory_bank: Command, document: Path, serve: Serve
) -> None:
    server = serve(planless(http_error(401)))
    memory_bank(*ASK, document)
    asked = server.count

    finished = memory_bank("resume", "--decision", "finish")

    assert finished.exit_code == 0, finished.output
    assert "“The chip has 433 qubits.”" in finished.stdout
    assert "No model was asked any more: local:test (plan) did not answer: status 401." in finished.stdout
    assert server.count == asked


@pytest.mark.parametrize(("decision", "code", "status"), [("finish", 0, "completed"), ("stop", 4, "stopped")])
def test_a_run_whose_model_refused_to_plan_ends_without_it_when_that_is_decided(
    memory_bank: Command, document: Path, serve: Serve, decision: str, code: int, status: str
) -> None:
    server = serve(planless(http_error(401)))
    memory_bank(*ASK, document)
    asked = server.count

    ended = memory_bank("resume", "--decision", decision)

    assert ended.exit_code == code, ended.output
    assert ended.stdout.splitlines()[-1].startswith(status)
    assert server.count == asked


def test_a_run_whose_model_cannot_plan_is_answered_without_it(
    memory_bank: Command, document: Path, serve: Serve
) -> None:
    serve(planless(BUSY))

    result = memory_bank(*ASK, document)

    assert result.exit_code == 0, result.output
    assert "“The chip has 433 qubits.”" in result.stdout


def test_what_was_done_without_is_told_in_plain_words(memory_bank: Command, document: Path, serve: Serve) -> None:
    spoiled = ScriptedJudge(structure=lambda prompt: {"nonsense": True})
    serve(spoiled)

    result = memory_bank(*ASK, document)

    assert result.exit_code == 0, result.output
    assert "Memories were not summarised, in part (1 question): The answer of local:test" in result.stdout


def test_a_run_whose_key_is_gone_is_not_resumed_without_its_model(
    memory_bank: Command, document: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    memory_bank("ask", "How many?", "--model", "openai:test", "-t", "t", "-c", document, "--budget", "calls=2")
    monkeypatch.delenv("OPENAI_API_KEY")

    refused = memory_bank("resume", "--json")

    assert refused.exit_code == 2
    assert json.loads(refused.stderr) == {
        "error": "SettingsError",
        "message": "The model 'openai:test' needs a key. Set the variable OPENAI_API_KEY.",
    }
    assert (run_of(memory_bank)["state"], server.count) == ("paused", 2)

    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    assert memory_bank("resume").exit_code == 0


@pytest.mark.parametrize(
    ("model", "said"),
    [("gpt", "The model 'gpt' is not known"), ("openai:gpt", "Set the variable OPENAI_API_KEY")],
)
def test_a_model_that_cannot_be_asked_is_refused_before_documents_are_read(
    memory_bank: Command, document: Path, serve: Serve, home: Path, model: str, said: str
) -> None:
    refused = memory_bank("ask", "How many?", "--model", model, "-c", document)

    assert refused.exit_code == 2, refused.output
    assert said in refused.stderr.splitlines()[-1]
    assert " s  " not in refused.stderr
    assert not home.exists()


def test_doctor_asks_each_model_when_it_is_told_to(
    memory_bank: Command, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(failing(lambda request: Reply("yes"), http_error(401, "sk-canary"), on=lambda r: r.model == "bad"))
    monkeypatch.setenv("MEMORY_BANK_MODEL", "local:good")
    monkeypatch.setenv("MEMORY_BANK_PLAN_MODEL", "local:bad")
    monkeypatch.setenv("MEMORY_BANK_REACT_MODEL", "local:bad")

    assert "requests" not in json.loads(memory_bank("doctor", "--json").stdout)
    assert server.count == 0

    result = memory_bank("doctor", "--online", "--json")

    found = json.loads(result.stdout)
    assert [request.model for request in server.requests].count("bad") == 1
    assert all(request.max_tokens <= 48 for request in server.requests)
    assert found["requests"]["local:bad"] == "failed: status 401. Check the key in MEMORY_BANK_LOCAL_API_KEY."
    assert found["requests"]["local:good"].startswith("answered in ")
    assert found["requests"]["local:good"].endswith("keeps to no form of output")
    assert [p["problem"] for p in found["problems"] if p["severity"] == "error"] == [
        "The model local:bad does not answer."
    ]
    assert result.exit_code == 1
    assert "canary" not in result.output


def test_what_a_model_that_is_down_was_to_read_is_kept_and_waits(
    memory_bank: Command, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(failing(ScriptedJudge(), BUSY, on=lambda request: True))
    monkeypatch.setenv("MEMORY_BANK_MODEL", "local:test")

    said = memory_bank("remember", "My boat is called Lille.", "--user", "ana", "--end")

    assert said.stdout.startswith("Waiting: memories are drawn from it later.\nDone without: extract: ModelUnavailable")
    assert said.exit_code == 0
    assert "Lille" in memory_bank("recall", "What is my boat called?", "--user", "ana").stdout
