"""`memory-bank view` writes the page that was asked for, and loses no other file by it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.fixture
def chip(memory_bank: Command, document: Path) -> None:
    assert memory_bank("ask", "How many qubits has the chip?", "--context", document, "--thread", "chip").exit_code == 0


@pytest.mark.usefixtures("chip")
@pytest.mark.parametrize("named", [["chip"], []])
def test_a_thread_that_is_named_or_was_active_last_becomes_a_page(
    memory_bank: Command, tmp_path: Path, named: list[str]
) -> None:
    out = tmp_path / "chip.html"

    assert memory_bank("view", *named, "--out", out).exit_code == 0
    assert "The chip has 433 qubits." in out.read_text(encoding="utf-8")


@pytest.mark.usefixtures("chip")
def test_a_page_takes_the_place_of_an_older_one_and_of_no_other_file(memory_bank: Command, tmp_path: Path) -> None:
    page, letter = tmp_path / "chip.html", tmp_path / "letter.html"
    letter.write_text("Dear Ana")

    assert memory_bank("view", "chip", "--out", page).exit_code == 0
    assert memory_bank("view", "chip", "--out", page).exit_code == 0
    refused = memory_bank("view", "chip", "--out", letter)

    assert refused.exit_code == 2
    assert "is there already" in refused.output
    assert letter.read_text() == "Dear Ana"


def test_what_a_message_recalls_is_on_the_page_of_a_user(memory_bank: Command, tmp_path: Path) -> None:
    memory_bank("remember", "My sister Nora plays the cello.", "--user", "ana", "--end")
    out = tmp_path / "ana.html"

    assert memory_bank("view", "--user", "ana", "--question", "What does Nora play?", "--out", out).exit_code == 0
    assert '"recall":{"question":"What does Nora play?"' in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words", [["a", "--user", "b"], ["--user", "a", "--memory", "b"], ["a", "--question", "Why?"]], ids=str
)
def test_two_things_at_once_and_a_question_to_a_thread_are_wrong_usage(
    memory_bank: Command, tmp_path: Path, words: list[str]
) -> None:
    assert memory_bank("view", *words, "--out", tmp_path / "a.html").exit_code == 2


@pytest.mark.parametrize("words", [["nobody"], ["--memory", "nothing"], []], ids=str)
def test_what_is_not_there_is_an_error_and_writes_nothing(
    memory_bank: Command, tmp_path: Path, words: list[str]
) -> None:
    out = tmp_path / "page.html"

    assert memory_bank("view", *words, "--out", out).exit_code == 2
    assert not out.exists()


@pytest.mark.enable_socket
@pytest.mark.usefixtures("chip")
def test_without_a_file_the_page_is_served_on_this_machine_until_ctrl_c(
    memory_bank: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(page: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("agentic_memory_bank.runs.viewer.live.LivePage.serve_forever", interrupted)

    done = memory_bank("view", "chip")

    assert done.exit_code == 0
    assert "http://127.0.0.1:" in done.output
