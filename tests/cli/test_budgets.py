"""`--budget`, and the person who is asked at a pause; without a model, so the time a run takes is its budget."""

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank.cli import options, outcome, terminal
from agentic_memory_bank.engines.base import Step

from .conftest import DRIVER, Command, Parts, started

PAUSING = ("ask", "How many qubits?", "--thread", "t", "--budget", "seconds=0.000001", "-c")


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sits at the terminal."""
    monkeypatch.setattr(terminal, "is_watched", lambda: True)


@pytest.mark.parametrize(
    ("given", "setting", "limit"),
    [
        ("0.50", "budget_money", 0.5),
        ("money=2", "budget_money", 2.0),
        ("calls=50", "budget_calls", 50),
        ("tokens=200000", "budget_tokens", 200_000),
        ("seconds=60", "budget_seconds", 60.0),
        ("seconds=1e-3", "budget_seconds", 0.001),
    ],
)
def test_a_budget_becomes_a_setting(given: str, setting: str, limit: float) -> None:
    assert options.budgets_of([given]) == {setting: limit}


@pytest.mark.parametrize("command", [("ask", "Why?"), ("resume",)])
@pytest.mark.parametrize(
    "given",
    [
        "",
        "much",
        "calls=",
        "calls=0",
        "calls=-1",
        "calls=1.5",
        "hours=1",
        "0",
        "-1",
        "nan",
        "inf",
        "=5",
        "a=b=1",
        "calls=1" + "0" * 400,
    ],
)
def test_a_budget_that_is_none_is_wrong_usage(
    memory_bank: Command, home: Path, command: tuple[str, ...], given: str
) -> None:
    result = memory_bank(*command, f"--budget={given}")

    assert result.exit_code == 2, result.output
    assert "is no budget. Write calls=N" in " ".join(result.stderr.replace("│", "").split())
    assert "Traceback" not in result.output
    assert not home.exists()


def test_a_budget_is_no_use_to_a_run_that_is_ended(memory_bank: Command) -> None:
    for decision in ("finish", "stop"):
        result = memory_bank("resume", "--decision", decision, "--budget", "calls=5")
        assert result.exit_code == 2
        assert "needs no --budget" in " ".join(result.stderr.split())


def test_a_budget_is_refused_where_none_is_waited_for(memory_bank: Command, parts: Parts, document: Path) -> None:
    memory_bank("ask", "How many qubits?", "--thread", "t", "-c", document)
    ended = memory_bank("resume", "t", "--budget", "calls=5")
    parts.engine(plan=lambda situation: Step("search", "the same again"))
    stalled = memory_bank("ask", "Why?", "--thread", "stalled", "-c", document)
    refused = memory_bank("resume", "stalled", "--budget", "calls=5")

    assert "waits for no decision" in ended.stderr
    assert "nothing new was learned" in stalled.stdout
    assert refused.exit_code == 2
    assert "does not wait for a budget" in refused.stderr
    assert memory_bank("resume", "stalled", "--decision", "stop").exit_code == 4


@pytest.mark.usefixtures("person")
def test_a_person_raises_the_budget_and_gets_the_answer(memory_bank: Command, document: Path) -> None:
    result = memory_bank(*PAUSING, document, stdin=b"perhaps\nr\nplenty\n0\n600\n")

    assert result.exit_code == 0, result.output
    assert "The run waits. The budget of 1e-06 seconds is used up." in result.stderr
    assert "Answer with raise, finish, stop, later, or its first letter." in result.output
    assert result.output.count("Give a number over 0.000001.") == 2
    assert "“The chip has 433 qubits.”" in result.stdout


@pytest.mark.usefixtures("person")
def test_a_person_is_asked_again_at_the_next_pause(memory_bank: Command, document: Path) -> None:
    result = memory_bank(*PAUSING, document, stdin=b"raise\n\nraise\n600\n")

    assert result.output.count("What now?") == 2
    assert "[0.000002]" in result.output  # as much again
    assert result.exit_code == 0, result.output


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("said", "code", "status"),
    [
        (b"finish\n", 0, "completed"),
        (b"stop\n", 4, "stopped"),
        (b"later\n", 4, "paused"),
        (b"\n", 4, "paused"),
        (b"", 4, "paused"),
        (b"raise\n", 4, "paused"),
    ],
)
def test_a_person_decides_otherwise_or_not_at_all(
    memory_bank: Command, document: Path, said: bytes, code: int, status: str
) -> None:
    result = memory_bank(*PAUSING, document, stdin=said)

    assert result.exit_code == code, result.output
    assert memory_bank("runs").stdout.splitlines()[1].split()[:2] == ["t", status]
    assert ("Go on with `memory-bank resume t`" in result.stdout) == (status == "paused")


@pytest.mark.usefixtures("person")
def test_a_person_is_asked_by_resume_too(memory_bank: Command, document: Path) -> None:
    memory_bank(*PAUSING, document, stdin=b"later\n")

    assert memory_bank("resume", stdin=b"finish\n").exit_code == 0


@pytest.mark.usefixtures("person")
def test_a_person_lets_a_run_that_stands_still_go_on_or_ends_it(
    memory_bank: Command, parts: Parts, document: Path
) -> None:
    parts.engine(plan=lambda situation: Step("search", "the same again"))

    result = memory_bank("ask", "Why?", "-c", document, "--thread", "t", stdin=b"raise\ncontinue\nstop\n")

    assert "Answer with continue, finish, stop, later" in result.output
    assert result.output.count("nothing new was learned") == 2
    assert result.exit_code == 4


@pytest.mark.usefixtures("person")
def test_a_machine_is_never_asked(memory_bank: Command, document: Path) -> None:
    result = memory_bank(*PAUSING, document, "--json", stdin=b"finish\n")

    assert result.exit_code == 4
    assert "What now?" not in result.output


def test_on_a_terminal_the_person_is_asked_on_stderr(document: Path) -> None:
    master, slave = pty.openpty()
    environment = {**os.environ, "TEST_ENGINE_OF_MEMORY_BANK": "quick", "TERM": "dumb"}
    streams: dict[str, Any] = {"stdin": slave, "stdout": subprocess.PIPE, "stderr": slave}
    seen = b""
    with started([sys.executable, DRIVER, *PAUSING, document], env=environment, **streams) as process:
        os.close(slave)
        while b"What now?" not in seen:
            seen += os.read(master, 4096)
        os.write(master, b"finish\n")
        output, _ = process.communicate(timeout=120)
    os.close(master)

    assert process.returncode == 0, seen
    assert output.decode().startswith("The chip has 433 qubits.")


def test_amounts_are_written_as_they_may_be_typed() -> None:
    assert [terminal.number(x) for x in (10, 2e6, 0.5, 1e-9, 1.0)] == ["10", "2000000", "0.5", "0.000000001", "1"]
    assert terminal.cost({"cost": None}) == terminal.cost({}) == "cost unknown"
    assert [terminal.cost({"cost": c}) for c in (0.0, 0.0000012345, 12.345678)] == [
        "cost 0",
        "cost 0.00000123",
        "cost 12.35",
    ]
    assert terminal.spent(None) == terminal.spent({"calls": 0, "input_tokens": 0, "output_tokens": 0}) == ""


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("structure: ModelUnavailable", "Memories were not summarised: the model did not answer."),
        (
            "classify: AnswerRejected, ModelUnavailable (2 of its questions)",
            "The text was not divided into topics, in part (2 questions): the model's answer could not be used, "
            "the model did not answer.",
        ),
        ("plan: ModelRefused: status 401.\x1b[2J", "The next step could not be planned: status 401.\ufffd[2J"),
        ("embed: RuntimeError", "What is new has no vectors: an unexpected error (RuntimeError)."),
        ("budget: money", "The budget of money was reached: no model was asked after that."),
        ("recall: ToolError", "Done without: recall: ToolError"),
        ("whatever", "Done without: whatever"),
    ],
)
def test_setbacks_are_told_in_plain_words(note: str, said: str) -> None:
    assert outcome.degraded_line(note) == said
