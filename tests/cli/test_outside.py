"""`ask --outside` and `resume --result`: the steps are carried out by a person or by any agent."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank.cli import terminal
from agentic_memory_bank.engines.base import Step

from .conftest import Command, Parts, start

QUESTION = "How many qubits does the chip have?"
ASK = ("ask", QUESTION, "--thread", "t", "--outside", "-c")
CALL = {"id": "1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}
TRANSCRIPT = [
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "The maker says: 433."},
    {"role": "assistant", "content": "It has 433 qubits."},
]
WAITING, WRONG_USAGE = 4, 2


def words(text: str) -> str:
    return " ".join(text.replace("│", "").split())


def test_the_prompt_is_all_that_is_printed_and_how_to_go_on_stands_beside_it(
    memory_bank: Command, document: Path
) -> None:
    result = memory_bank(*ASK, document)

    assert result.exit_code == WAITING
    assert result.stdout.startswith("<task>\nGoal: How many qubits")
    assert "The chip has 433 qubits." in result.stdout
    assert "memory-bank" not in result.stdout
    assert "The run waits for an executor outside (answer)" in result.stderr
    assert "memory-bank resume t --result FILE" in words(result.stderr)


def test_for_machines_the_pause_holds_task_and_prompt_and_the_command_to_go_on(
    memory_bank: Command, document: Path
) -> None:
    result = memory_bank(*ASK, document, "--json")

    told = json.loads(result.stdout)
    assert result.exit_code == WAITING
    assert told["pause"]["reason"] == "execute"
    assert told["pause"]["task"]["kind"] == "answer"
    assert "The chip has 433 qubits." in told["pause"]["prompt"]
    assert told["resume"] == "memory-bank resume t --result -"


def test_a_picture_goes_out_with_the_step_that_looks_at_it(
    memory_bank: Command, document: Path, tmp_path: Path
) -> None:
    chart = tmp_path / "chart.png"
    chart.write_bytes(b"\x89PNG\r\n\x1a\npixels")

    result = memory_bank(*ASK, document, "--attach", chart)
    told = json.loads(memory_bank("resume", "t", "--json").stdout)

    assert "comes with pictures (chart.png)" in words(result.stderr)
    assert told["pause"]["task"]["kind"] == "recognize"
    assert [picture["name"] for picture in told["pause"]["pictures"]] == ["chart.png"]


@pytest.mark.parametrize("name", ["done.txt", "done.json"])
def test_a_file_with_what_was_done_goes_in(memory_bank: Command, document: Path, tmp_path: Path, name: str) -> None:
    memory_bank(*ASK, document)
    done = tmp_path / name
    done.write_text(json.dumps(TRANSCRIPT) if name.endswith("json") else "It has 433 qubits.\n")

    result = memory_bank("resume", "t", "--result", done, "--json")

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["answer"].strip() == "It has 433 qubits."


def test_standard_input_goes_in(memory_bank: Command, document: Path) -> None:
    memory_bank(*ASK, document)

    result = memory_bank("resume", "t", "--result", "-", stdin=b"[1] says: it has 433 qubits.")

    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("[1] says: it has 433 qubits.")


def test_without_a_result_the_prompt_is_printed_again(memory_bank: Command, document: Path) -> None:
    first = memory_bank(*ASK, document)

    again = memory_bank("resume", "t")

    assert (again.exit_code, again.stdout) == (WAITING, first.stdout)


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (b"", "Standard input is empty"),
        (b" \n", "Standard input is empty"),
        (b"[]", "cannot be used"),
        (b"{}", "cannot be used"),
        (b'{"qubits": 433}', "cannot be used"),
        (b'[{"role": "nobody", "content": "433"}]', "cannot be used"),
        (b'[{"role": "user", "content": "433"}]', "cannot be used"),
        (b"\x00\x01\x02\xff\xfe", "standard input"),
    ],
)
def test_what_is_no_transcript_is_refused_in_one_line(
    memory_bank: Command, document: Path, stdin: bytes, said: str
) -> None:
    first = memory_bank(*ASK, document)

    result = memory_bank("resume", "t", "--result", "-", stdin=stdin)

    assert result.exit_code == WRONG_USAGE
    assert said in words(result.stderr)
    assert "Traceback" not in result.output
    assert memory_bank("resume", "t").stdout == first.stdout


def test_a_missing_result_is_refused_before_anything_is_done(
    memory_bank: Command, document: Path, tmp_path: Path
) -> None:
    memory_bank(*ASK, document)

    for path in (tmp_path / "missing.txt", tmp_path):
        result = memory_bank("resume", "t", "--result", path)
        assert result.exit_code == WRONG_USAGE
        assert "cannot be read" in words(result.stderr)


def test_a_result_and_a_decision_are_wrong_usage(memory_bank: Command) -> None:
    for also in (("--decision", "stop"), ("--budget", "calls=5")):
        result = memory_bank("resume", "t", "--result", "-", *also, stdin=b"433")
        assert result.exit_code == WRONG_USAGE
        assert "needs no --decision and no --budget" in words(result.stderr)


def test_a_result_that_nobody_waits_for_is_refused(memory_bank: Command, document: Path) -> None:
    memory_bank("ask", QUESTION, "--thread", "t", "-c", document)

    result = memory_bank("resume", "t", "--result", "-", stdin=b"433")

    assert result.exit_code == WRONG_USAGE
    assert "does not wait for the result" in words(result.stderr)


def test_a_run_is_finished_from_memory_or_stopped(memory_bank: Command, document: Path) -> None:
    memory_bank(*ASK, document)
    finished = memory_bank("resume", "t", "--decision", "finish")
    memory_bank("ask", QUESTION, "--thread", "u", "--outside", "-c", document)
    stopped = memory_bank("resume", "u", "--decision", "stop")

    assert (finished.exit_code, stopped.exit_code) == (0, WAITING)
    assert "433" in finished.stdout
    assert "The run waits" not in stopped.output


def test_each_step_is_printed_until_none_is_left(memory_bank: Command, parts: Parts, document: Path) -> None:
    def plan(situation: Any) -> Step | None:
        kinds = [task["kind"] for task in situation.insight_doc.get("completed", [])]
        return None if "answer" in kinds else Step("answer" if kinds else "search", QUESTION)

    parts.engine(plan=plan)
    first = memory_bank(*ASK, document)
    second = memory_bank("resume", "t", "--result", "-", stdin=json.dumps(TRANSCRIPT).encode())
    last = memory_bank("resume", "t", "--result", "-", stdin=b"433 qubits.")

    assert [r.exit_code for r in (first, second, last)] == [WAITING, WAITING, 0]
    assert "The maker says: 433." in second.stdout
    assert last.stdout.startswith("433 qubits.")


def test_nobody_at_a_terminal_is_asked_what_to_decide(
    memory_bank: Command, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "is_watched", lambda: True)

    result = memory_bank(*ASK, document)

    assert result.exit_code == WAITING
    assert "What now?" not in result.output


def test_show_says_that_a_run_waits_for_somebody_outside(memory_bank: Command, document: Path) -> None:
    memory_bank(*ASK, document)

    told, found = memory_bank("show", "t"), json.loads(memory_bank("show", "t", "--json").stdout)
    memory_bank("resume", "t", "--result", "-", stdin=b"433.")

    assert "The run waits for an executor outside" in told.stdout
    assert (found["waits_for_executor"], found["pause"]["reason"]) == (True, "execute")
    after = json.loads(memory_bank("show", "t", "--json").stdout)
    assert (after["waits_for_executor"], after["pause"]) == (False, None)


def test_show_says_that_a_run_waits_for_a_decision(memory_bank: Command, document: Path) -> None:
    memory_bank("ask", QUESTION, "--thread", "t", "--budget", "seconds=0.000001", "-c", document)

    found = json.loads(memory_bank("show", "t", "--json").stdout)

    assert (found["waits_for_executor"], found["pause"]["reason"]) == (False, "seconds")
    assert "The run waits. The budget of" in memory_bank("show", "t").stdout


def test_show_lists_the_files_of_entries_with_their_size(
    memory_bank: Command, document: Path, tmp_path: Path, home: Path
) -> None:
    code = b"def qubits():\n    return 433\n"
    (file := tmp_path / "chip\x07.py").write_bytes(code)
    memory_bank("ask", QUESTION, "--thread", "t", "--attach", file, "-c", document)

    told, found = memory_bank("show", "t"), json.loads(memory_bank("show", "t", "--json").stdout)

    (attachment,) = found["attachments"]
    assert (attachment["name"], attachment["kind"], attachment["bytes"]) == ("chip.py", "code", len(code))
    assert attachment["id"] in told.stdout
    assert f"chip.py (code, {len(code)} bytes), of {attachment['entry']}" in told.stdout
    next(home.rglob(attachment["sha256"])).unlink()
    assert "chip.py (code, lost)" in memory_bank("show", "t").stdout


@pytest.mark.slow
def test_a_run_that_was_handed_out_goes_on_in_another_process(document: Path) -> None:
    def call(*words: str | Path, stdin: str = "") -> "tuple[int, str]":
        with start(*words) as process:
            out, _ = process.communicate(stdin, timeout=300)
        return process.returncode, out

    code, prompt = call(*ASK, document)
    assert (code, prompt[:6]) == (WAITING, "<task>")
    assert call("resume", "t", "--result", "-", stdin="433 qubits.")[0] == 0
