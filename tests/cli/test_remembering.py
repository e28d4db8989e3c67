"""`remember`, `recall`, `memories`, `memory`, `forget`, `maintain`: memories across conversations, on the terminal."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from agentic_memory_bank.cli import terminal

from .conftest import Command

USER = ("--user", "ana")


def parsed(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def kept(memory_bank: Command) -> str:
    """The id of a memory of ana's."""
    said = memory_bank("remember", "My sister Eva lives in Rome.", *USER, "--type", "semantic", "--json")
    return parsed(said)["memory"]["id"]


def listed(memory_bank: Command, *options: str) -> list[str]:
    return [memory["text"] for memory in parsed(memory_bank("memories", *USER, "--json", *options))["memories"]]


# --- remember and recall ---------------------------------------------------------------------------------------------


def test_what_is_remembered_is_recalled_by_its_user_alone(memory_bank: Command) -> None:
    said = memory_bank("remember", "My dog is called Rex.", *USER, "--end")
    found = memory_bank("recall", "What is my dog called?", *USER)
    other = memory_bank("recall", "What is my dog called?", "--user", "ben")

    assert said.stdout.startswith("Remembered: 1 stored.")
    assert found.exit_code == 0
    assert "Rex" in found.stdout
    assert other.exit_code == 3
    assert "Rex" not in other.stdout


def test_a_store_that_cannot_be_used_is_a_failure_and_not_nothing_found(
    memory_bank: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bank").mkdir()
    (tmp_path / "bank" / "memories.sqlite").write_text("no database")
    monkeypatch.setenv("MEMORY_BANK_HOME", str(tmp_path / "bank"))

    for result in (memory_bank("remember", "I sail.", *USER), memory_bank("recall", "Do I sail?", *USER)):
        assert result.exit_code == 1
        assert result.stdout.rstrip().endswith("The store of memories cannot be used: `memory-bank memories` says why.")


def test_where_nothing_is_recalled_the_reason_is_said(memory_bank: Command, kept: str) -> None:
    def said(message: str) -> str:
        return memory_bank("recall", message, *USER).stdout

    assert said("Which telescope did I buy?") == "No memory was recalled: none fits the message.\n"
    assert said("Hello!") == "No memory was recalled: the message asks for none (greeting).\n"
    memory_bank("switch", "off", *USER)
    assert said("Where does Eva live?") == "No memory was recalled: memory is off (switched off).\n"


def test_memory_is_switched_off_for_good_and_on_again(memory_bank: Command, kept: str) -> None:
    assert memory_bank("switch", "off", *USER).stdout == "Memory is switched to: off.\n"
    assert memory_bank("recall", "Where does Eva live?", *USER).exit_code == 3
    assert memory_bank("remember", "I sail.", *USER, "--type", "semantic").exit_code == 2
    assert listed(memory_bank) == ["My sister Eva lives in Rome."]

    assert parsed(memory_bank("switch", *USER, "--json")) == {"mode": "off"}
    assert memory_bank("switch", "sometimes", *USER).exit_code == 2
    memory_bank("switch", "on", *USER)
    assert memory_bank("recall", "Where does Eva live?", *USER).exit_code == 0


def test_memories_go_out_and_come_in_for_another_user(memory_bank: Command, kept: str, tmp_path: Path) -> None:
    file, lines = tmp_path / "ana.json", tmp_path / "ana.jsonl"
    assert memory_bank("export-memories", str(file), *USER).exit_code == 0
    assert memory_bank("export-memories", str(file), *USER).exit_code == 0
    assert memory_bank("export-memories", str(lines), "--documents", *USER).exit_code == 0

    came = memory_bank("import-memories", str(file), "--user", "ben")

    assert came.stdout == "Imported 1 memory; erased 0 memories.\n"
    assert kept in memory_bank("memories", "--user", "ben").stdout
    assert json.loads(lines.read_text())["page_content"] == "My sister Eva lives in Rome."
    assert memory_bank("import-memories", str(lines), "--user", "ben").exit_code == 2


def test_a_foreign_file_is_refused_with_the_option_that_takes_it(memory_bank: Command, tmp_path: Path) -> None:
    for text in ("- I sail.", '[{"memory": "I sail."}]'):
        (tmp_path / "notes.md").write_text(text)

        result = memory_bank("import-memories", str(tmp_path / "notes.md"), *USER)

        assert result.exit_code == 2
        assert "`--from`" in result.stderr


def test_a_folder_of_files_is_kept_in_step_and_a_line_that_is_gone_is_asked_about(
    memory_bank: Command, kept: str, tmp_path: Path
) -> None:
    folder = str(tmp_path / "notes")
    assert memory_bank("folder", folder, *USER).stdout == "0 new, 0 revised.\n"
    (file,) = (tmp_path / "notes").glob("*.md")
    file.write_text("# Me\n\n- Eva paints.\n")

    asked = memory_bank("folder", folder, *USER)

    assert asked.exit_code == 2
    assert "1 new, 0 revised." in asked.stdout
    assert "My sister Eva lives in Rome." in asked.stdout
    assert len(listed(memory_bank)) == 2
    assert "Erased 1 memory." in memory_bank("folder", folder, "--yes", *USER).stdout
    assert listed(memory_bank) == ["Eva paints."]


def test_a_conversation_comes_from_a_file_or_from_standard_input(memory_bank: Command, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    talk = [{"role": "user", "content": "My dog is called Rex."}, {"role": "assistant", "content": "How nice!"}]
    file.write_text(json.dumps(talk), encoding="utf-8")

    from_file = parsed(memory_bank("remember", "--file", file, *USER, "--conversation", "c", "--json"))
    again = parsed(memory_bank("remember", "-f", "-", *USER, "--conversation", "c", "--json", stdin=file.read_bytes()))

    assert (from_file["receipt"]["turns"], again["receipt"]["turns"]) == (2, 0)
    assert memory_bank("remember", "-f", "-", *USER, stdin=b"My cat is called Milo.").exit_code == 0
    assert sum("Milo" in text for text in listed(memory_bank)) == 1


def test_a_memory_with_a_type_is_kept_as_it_is_said(memory_bank: Command) -> None:
    memory_bank("remember", "First knead, then wait.", *USER, "--type", "procedural", "--project", "bread")

    assert listed(memory_bank, "--project", "bread", "--type", "procedural") == ["First knead, then wait."]
    assert listed(memory_bank) == []


def test_recalling_says_what_was_done_in_json(memory_bank: Command, kept: str) -> None:
    found = parsed(memory_bank("recall", "Where does my sister Eva live?", *USER, "--json", "--limit", "1"))

    assert [memory["id"] for memory in found["memories"]] == [kept]
    assert found["receipt"]["outcome"] == "used"
    nothing = memory_bank("recall", "Hello!", *USER, "--json")
    assert nothing.exit_code == 3
    assert json.loads(nothing.stdout)["receipt"]["outcome"] == "ignored"


# --- users -----------------------------------------------------------------------------------------------------------


def test_the_user_comes_from_the_environment_on_the_command_line(
    memory_bank: Command, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_BANK_USER", "ana")

    assert [memory["id"] for memory in parsed(memory_bank("memories", "--json"))["memories"]] == [kept]
    assert parsed(memory_bank("memories", "--json", "--user", "ben"))["memories"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("remember", "x"),
        ("recall", "x"),
        ("memories",),
        ("memory", "m1"),
        ("forget", "m1"),
        ("forget", "--all", "--yes"),
    ],
)
def test_without_a_user_nothing_is_done(memory_bank: Command, words: tuple[str, ...]) -> None:
    assert memory_bank(*words).exit_code == 2
    blank = memory_bank(*words, "--user", " ")
    assert blank.exit_code == 2
    assert "Nobody is named" in blank.stderr


# --- looking and correcting ------------------------------------------------------------------------------------------


def test_a_list_goes_on_where_it_ended(memory_bank: Command) -> None:
    for number in range(3):
        memory_bank("remember", f"Fact {number}.", *USER, "--type", "semantic")

    first = parsed(memory_bank("memories", *USER, "--limit", "2", "--json"))
    rest = parsed(memory_bank("memories", *USER, "--cursor", first["cursor"], "--json"))

    assert [len(page["memories"]) for page in (first, rest)] == [2, 1]
    assert "--cursor" in memory_bank("memories", *USER, "--limit", "2").stdout


def test_a_memory_is_shown_with_its_history_when_it_was_corrected(memory_bank: Command, kept: str) -> None:
    memory_bank("memory", kept, *USER, "--update", "My sister Eva lives in Pisa.")
    shown = memory_bank("memory", kept, *USER).stdout

    assert "Pisa" in shown
    assert "Rome" in shown
    newer = parsed(memory_bank("memory", kept, *USER, "--supersede", "My sister Eva lives in Oslo.", "--json"))[
        "memory"
    ]
    assert newer["replaces"] == [kept]
    assert listed(memory_bank) == ["My sister Eva lives in Oslo."]
    assert len(listed(memory_bank, "--all")) == 2


def test_a_memory_is_pinned_and_pinned_no_longer(memory_bank: Command, kept: str) -> None:
    assert "  pinned" in memory_bank("memory", kept, *USER, "--pin").stdout
    assert "  pinned" in memory_bank("memories", *USER).stdout
    assert "  pinned" not in memory_bank("memory", kept, *USER, "--unpin").stdout


def test_a_memory_of_another_user_is_not_there(memory_bank: Command, kept: str) -> None:
    refused = memory_bank("memory", kept, "--user", "ben", "--json")

    assert refused.exit_code == 2
    assert json.loads(refused.stderr)["error"] == "UnknownMemoryError"


def test_an_escape_sequence_in_a_memory_is_not_sent_to_the_terminal(memory_bank: Command) -> None:
    memory_bank("remember", "Rex \x1b[31mis\u202e my dog.", *USER, "--type", "semantic")

    shown = memory_bank("memories", *USER).stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown


# --- forgetting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["id", "all"])
def test_forgetting_is_shown_and_without_a_terminal_only_done_with_yes(
    memory_bank: Command, kept: str, by: str
) -> None:
    words = {"id": (kept,), "all": ("--all",)}[by]

    shown = memory_bank("forget", *words, *USER)
    assert shown.exit_code == 2
    assert "My sister Eva lives in Rome." in shown.stdout
    assert "--yes" in shown.stderr
    assert len(listed(memory_bank)) == 1

    done = memory_bank("forget", *words, *USER, "--yes")
    assert done.exit_code == 0
    assert "Erased 1 memory." in done.stdout
    assert listed(memory_bank) == []


@pytest.mark.parametrize("more", [(), ("--yes",), ("--json", "--yes")])
def test_a_description_alone_never_erases_but_the_ids_that_it_shows_do(
    memory_bank: Command, kept: str, more: tuple[str, ...]
) -> None:
    shown = memory_bank("forget", "--about", "my sister", *USER, *more)

    assert shown.exit_code == 2
    assert kept in shown.stdout
    assert len(listed(memory_bank)) == 1
    assert memory_bank("forget", kept, *USER, "--yes").exit_code == 0
    assert listed(memory_bank) == []


def test_of_a_memory_that_says_two_things_one_is_shown_to_go_and_the_other_to_stay(memory_bank: Command) -> None:
    memory_bank("remember", "I work as a nurse at St Mary's and I'm allergic to peanuts.", *USER, "--end")

    shown = memory_bank("forget", "--about", "peanuts", *USER)
    ids = json.loads(memory_bank("forget", "--about", "peanuts", *USER, "--json").stdout)["ids"]
    memory_bank("forget", *ids, *USER, "--yes")

    assert "stays: " in shown.stdout
    assert all("peanuts" not in text for text in listed(memory_bank, "--all"))
    assert any("nurse at St Mary's" in text for text in listed(memory_bank))


def test_at_a_terminal_it_is_asked_before_anything_is_erased(
    memory_bank: Command, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "is_at_terminal", lambda: True)

    refused = memory_bank("forget", kept, *USER, stdin=b"n\n")
    assert (refused.exit_code, len(listed(memory_bank))) == (0, 1)
    confirmed = memory_bank("forget", kept, *USER, stdin=b"y\n")
    assert (confirmed.exit_code, listed(memory_bank)) == (0, [])


def test_for_machines_what_would_be_erased_and_what_was_is_json(memory_bank: Command, kept: str) -> None:
    shown = memory_bank("forget", "--about", "Eva", *USER, "--json")

    assert shown.exit_code == 2
    assert [memory["id"] for memory in json.loads(shown.stdout)["would_erase"]] == [kept]
    assert json.loads(shown.stdout)["ids"] == [kept]
    assert parsed(memory_bank("forget", kept, *USER, "--json", "--yes"))["erased"] == [kept]


def test_forgetting_what_is_not_there_finds_nothing(memory_bank: Command, kept: str) -> None:
    nothing = memory_bank("forget", "--about", "quarks", *USER, "--yes")

    assert nothing.exit_code == 3
    assert "There is no such memory." in nothing.stdout
    assert len(listed(memory_bank)) == 1


def test_all_of_a_type_or_of_a_project_is_forgotten_and_no_more(memory_bank: Command, kept: str) -> None:
    memory_bank("remember", "I ran.", *USER, "--type", "episodic")
    memory_bank("remember", "The code is blue.", *USER, "--type", "semantic", "--project", "work")

    assert memory_bank("forget", "--all", "--type", "episodic", *USER, "--yes").exit_code == 0
    assert memory_bank("forget", "--all", "--project", "work", *USER, "--yes").exit_code == 0

    assert listed(memory_bank, "--all") == ["My sister Eva lives in Rome."]


# --- wrong usage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("remember", *USER),
        ("remember", "x", "--file", "y", *USER),
        ("remember", "x", "--type", "dream", *USER),
        ("recall", "x", "--threshold", "2", *USER),
        ("memories", "--limit", "0", *USER),
        ("memories", "--limit", "101", *USER),
        ("memories", "--type", "dream", *USER),
        ("memory", "m1", "--update", "a", "--supersede", "b", *USER),
        ("memory", "m1", "--update", "a", "--pin", *USER),
        ("forget", *USER),
        ("forget", "m1", "--all", *USER),
        ("forget", "m1", "--type", "semantic", *USER),
        ("forget", "--about", "x", "--all", *USER),
    ],
)
def test_wrong_usage_exits_with_two(memory_bank: Command, words: tuple[str, ...]) -> None:
    assert memory_bank(*words).exit_code == 2


def test_a_file_that_cannot_be_read_is_told_in_one_line(memory_bank: Command, tmp_path: Path) -> None:
    missing = memory_bank("remember", "--file", tmp_path / "none", *USER)
    empty = memory_bank("remember", "--file", "-", *USER, stdin=b" \n")

    assert (missing.exit_code, empty.exit_code) == (2, 2)
    assert "cannot be read" in missing.stderr
    assert "is empty" in empty.stderr


def test_a_setting_is_given_as_elsewhere(memory_bank: Command, kept: str) -> None:
    memory_bank("remember", "My sister Eva has a boat.", *USER, "--type", "semantic")

    found = parsed(memory_bank("recall", "What of my sister Eva?", *USER, "--json", "--set", "recall_limit=1"))
    assert len(found["memories"]) == 1
    assert memory_bank("recall", "x", *USER, "--set", "hybrid_mode=rerank").exit_code == 2


# --- upkeep ----------------------------------------------------------------------------------------------------------


def test_maintenance_says_what_it_has_done(memory_bank: Command) -> None:
    for text in ("My budget is $10,000.", "My budget is now $15,000."):
        memory_bank("remember", text, *USER, "--type", "semantic")

    assert memory_bank("maintain").stdout == "There was nothing to do.\n"
    assert "1 consolidated" in memory_bank("maintain", "--consolidate").stdout
    assert listed(memory_bank) == ["My budget is now $15,000."]
    assert parsed(memory_bank("maintain", "--reembed", "--reflect", "--user", "ana", "--json"))["reembedded"] == 0


def test_two_processes_share_what_is_remembered(home: Path) -> None:
    script = (
        "import sys\n"
        "from agentic_memory_bank.cli import main, options\n"
        "from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings\n"
        "options.parts_from = lambda settings: {'embeddings': HashEmbeddings()}\n"
        "main()\n"
    )

    def call(*words: str) -> str:
        environment = {**os.environ, "MEMORY_BANK_HOME": str(home), "MEMORY_BANK_USER": "ana"}
        run = [sys.executable, "-c", script, *words]
        return subprocess.run(run, capture_output=True, text=True, check=True, env=environment).stdout

    call("remember", "My dog is called Rex.", "--end")
    assert "Rex" in call("recall", "What is my dog called?")
    call("forget", json.loads(call("memories", "--json"))["memories"][0]["id"], "--yes")
    assert b"Rex" not in b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
