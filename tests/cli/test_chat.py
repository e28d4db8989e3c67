"""`memory-bank chat`: talks through a pipe as on a terminal, goes on where it was left, and keeps what was said."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from agentic_memory_bank.testing import Reply
from agentic_memory_bank.testing.replies import ChatRequest

from .conftest import started

Command = Callable[..., Result]

SLOW = """
import signal, sys, time
from agentic_memory_bank.cli import main, options
from agentic_memory_bank.engines.extractive.responder import ExtractiveResponder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

answer = ExtractiveResponder.respond

def respond(self, situation):
    if "wait" in situation.message:
        sys.stderr.write("waiting\\n")
        sys.stderr.flush()
        time.sleep(600)
    return answer(self, situation)

ExtractiveResponder.respond = respond
options.parts_from = lambda settings: {"embeddings": HashEmbeddings()}
sys.argv[0] = "memory-bank"
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what it starts in the background ignore Ctrl-C
main()
"""


def said(*lines: str) -> bytes:
    """Lines as they come through a pipe."""
    return "".join(f"{line}\n" for line in lines).encode()


def answers(result: Result) -> list[dict[str, Any]]:
    """The answers, each a line of JSON."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_who_cannot_be_remembered_is_answered_told_so_once_and_the_command_fails(
    memory_bank: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("MEMORY_BANK_HOME", str(tmp_path / "file" / "home"))

    result = memory_bank("chat", "--user", "ann", stdin=said("I drive a Tesla.", "I live in Lisbon."))

    assert result.stdout.splitlines() == ["Noted.", "Noted."]
    assert result.stderr.count("not kept so far") == 1
    assert result.exit_code == 1


def test_each_line_gets_an_answer(memory_bank: Command) -> None:
    result = memory_bank("chat", "--user", "ann", stdin=said("I drive a Tesla Model 3.", "", "What car do I drive?"))

    assert result.stdout.splitlines() == ["Noted.", 'You said in this conversation: "I drive a Tesla Model 3."']
    assert result.exit_code == 0


def test_another_conversation_knows_it_and_another_user_does_not(memory_bank: Command) -> None:
    memory_bank("chat", "--user", "ann", stdin=said("My dog is called Rex.", "/end"))

    mine = memory_bank("chat", "-u", "ann", "-c", "two", "--json", stdin=said("What is my dog called?"))
    other = memory_bank("chat", "-u", "bob", "-c", "two", "--json", stdin=said("What is my dog called?"))

    (answer,), (none,) = answers(mine), answers(other)
    assert "Rex" in answer["answer"]
    assert answer["conversation"] == "two"
    assert answer["recalled"]["outcome"] == "used"
    assert answer["remembered"]["outcome"] == "queued"
    assert "Rex" not in none["answer"]


def test_a_conversation_goes_on_where_it_was_left(memory_bank: Command) -> None:
    memory_bank("chat", "--user", "ann", stdin=said("My dog is called Rex.", "/quit", "This is heard by nobody."))

    result = memory_bank("chat", "--user", "ann", stdin=said("What is my dog called?"))

    assert result.stdout.strip() == 'You said in this conversation: "My dog is called Rex."'


def test_the_end_of_a_conversation_draws_memories_from_it_and_quitting_does_not(memory_bank: Command) -> None:
    memory_bank("chat", "--user", "ann", stdin=said("I live in Berlin.", "/quit"))
    left = json.loads(memory_bank("memories", "--user", "ann", "--json").stdout)["memories"]
    memory_bank("chat", "--user", "ann", stdin=said("/end"))
    over = json.loads(memory_bank("memories", "--user", "ann", "--json").stdout)["memories"]

    assert [record["type"] for record in left] == ["verbatim"]
    assert [record["type"] for record in over] == ["semantic"]


def test_what_is_to_be_forgotten_is_shown_first(memory_bank: Command) -> None:
    lines = ("My dog is called Rex.", "I drive a Tesla.", "/forget Rex", "no", "/forget Rex", "yes", "/memories")

    result = memory_bank("chat", "--user", "ann", "--json", stdin=said(*lines))

    _, _, shown, kept, again, erased, left = answers(result)
    assert [record["text"].partition(": ")[2] for record in shown["would_erase"]] == ["My dog is called Rex."]
    assert kept["erased"] == []
    assert again == shown
    assert len(erased["erased"]) == 1
    assert not any("Rex" in record["text"] for record in left["memories"])
    assert any("Tesla" in record["text"] for record in left["memories"])


def test_help_says_which_commands_there_are(memory_bank: Command) -> None:
    result = memory_bank("chat", "--user", "ann", stdin=said("/help"))

    assert all(name in result.stdout for name in ("/memories", "/forget WORDS", "/end", "/quit"))
    assert result.exit_code == 0


def test_what_is_no_command_is_an_error_and_the_conversation_goes_on(memory_bank: Command) -> None:
    result = memory_bank("chat", "--user", "ann", stdin=said("/forgt Rex", "/forget", "Hello!"))

    assert result.stdout.strip() == "Hello."
    assert "There is no /forgt." in result.stderr
    assert "/forget WORDS" in result.stderr
    assert result.exit_code == 1


def test_without_a_user_nobody_talks(memory_bank: Command) -> None:
    assert memory_bank("chat", stdin=said("Hello!")).exit_code == 2


def test_nothing_said_is_nothing_done(memory_bank: Command, home: Path) -> None:
    result = memory_bank("chat", "--user", "ann", stdin=b"")

    assert (result.exit_code, result.stdout) == (0, "")
    assert not home.exists()


@pytest.mark.server
@pytest.mark.enable_socket
def test_a_model_answers_and_knows_what_was_said(memory_bank: Command, serve: Callable[..., Any]) -> None:
    def script(request: ChatRequest) -> Reply:
        known = "Rex" in json.dumps(request.messages)
        return Reply("It is Rex." if known else "I do not know.")

    serve(script)
    memory_bank("chat", "--user", "ann", stdin=said("My dog is called Rex.", "/quit"))

    result = memory_bank(
        *("chat", "--user", "ann", "-c", "two", "--set", "react_model=local:test"),
        stdin=said("What is my dog called?", "/quit"),
    )

    assert result.stdout.strip() == "It is Rex."


@pytest.mark.server
@pytest.mark.enable_socket
def test_a_model_that_fails_is_an_error_and_the_words_are_kept(memory_bank: Command, serve: Callable[..., Any]) -> None:
    from agentic_memory_bank.testing import http_error

    serve(lambda request: http_error(401))

    result = memory_bank(
        *("chat", "--user", "ann", "--json", "--set", "react_model=local:test"),
        stdin=said("My dog is called Rex.", "/quit"),
    )

    assert json.loads(result.stderr.splitlines()[-1])["error"] == "ModelRefused"
    assert result.exit_code == 1
    kept = json.loads(memory_bank("memories", "--user", "ann", "--json").stdout)["memories"]
    assert [record["text"].partition(": ")[2] for record in kept] == ["My dog is called Rex."]


def test_who_interrupts_an_answer_has_said_it_all_the_same(memory_bank: Command) -> None:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with started([sys.executable, "-c", SLOW, "chat", "--user", "ann"], **pipes, text=True) as talk:
        assert talk.stdin
        assert talk.stderr
        talk.stdin.write("My dog is called Rex, but wait for it.\n")
        talk.stdin.flush()
        assert talk.stderr.readline() == "waiting\n"
        talk.send_signal(signal.SIGINT)
        talk.communicate(timeout=120)

    kept = json.loads(memory_bank("memories", "--user", "ann", "--json").stdout)["memories"]

    assert talk.returncode == 130
    assert any("Rex" in record["text"] for record in kept)
