"""Ctrl-C and SIGTERM: the process ends, says how to go on, and the run can be resumed."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from agentic_memory_bank.cli.work import GRACE_SECONDS, LAST_RESORT_SECONDS

from .conftest import Command, Parts, start

WORKING = " s  structure: 1 topic"
NOTHING_YET = " s  read: 1 path"


def wait_for(process: "subprocess.Popen[str]", text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f"{text!r} was never printed")


def interrupted(process: "subprocess.Popen[str]", number: signal.Signals) -> str:
    """Send a signal; what was printed after it, until the process ended."""
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    return errors


def test_what_is_under_way_has_less_than_two_seconds_to_end() -> None:
    assert GRACE_SECONDS < LAST_RESORT_SECONDS < 2


@pytest.mark.kill
@pytest.mark.parametrize(("engine", "number"), [("sleeping", signal.SIGINT), ("busy", signal.SIGTERM)])
def test_an_interrupted_run_says_how_to_go_on_and_is_resumed(
    engine: str, number: signal.Signals, document: Path, memory_bank: Command
) -> None:
    with start("ask", "How many qubits?", "-c", document, "--keep", engine=engine) as process:
        wait_for(process, WORKING)
        errors = interrupted(process, number)

    assert process.returncode == 130
    hint = errors.splitlines()[-1]
    assert hint.startswith("Interrupted. What was done is saved; go on with: memory-bank resume ")
    assert "Traceback" not in errors

    resumed = memory_bank("resume", hint.rsplit(" ", 1)[-1], "--json")
    assert resumed.exit_code == 0, resumed.output
    assert json.loads(resumed.stdout)["sources"][0]["quote"] == "The chip has 433 qubits."


@pytest.mark.kill
def test_a_step_that_ends_in_time_is_saved_before_the_process_ends(
    document: Path, memory_bank: Command, parts: Parts
) -> None:
    with start("ask", "How many qubits?", "-c", document, "--thread", "t", engine="brief") as process:
        wait_for(process, WORKING)
        errors = interrupted(process, signal.SIGINT)

    assert process.returncode == 130
    assert errors.splitlines()[-1].endswith("memory-bank resume t")
    assert memory_bank("resume").exit_code == 0
    assert "structure" not in parts.given["engine"].calls


@pytest.mark.kill
def test_for_machines_the_way_on_is_json(document: Path) -> None:
    with start("ask", "How many qubits?", "-c", document, "-t", "my thread", "--json", engine="sleeping") as process:
        wait_for(process, '"stage": "structure"')
        errors = interrupted(process, signal.SIGINT)

    assert json.loads(errors.splitlines()[-1]) == {
        "interrupted": True,
        "thread": "my thread",
        "resume": "memory-bank resume 'my thread'",
    }


@pytest.mark.kill
def test_interrupted_before_anything_was_saved_it_promises_nothing(home: Path, tmp_path: Path) -> None:
    with start("ask", "How many qubits?", "-c", "-", engine="quick") as process:
        wait_for(process, NOTHING_YET)  # and now it waits for standard input
        errors = interrupted(process, signal.SIGINT)

    assert process.returncode == 130
    assert errors.splitlines()[-1] == "Interrupted, and there is nothing to go on with. Ask again."
    assert not home.exists()
