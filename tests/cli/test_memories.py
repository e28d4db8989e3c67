"""`runs`, `show`, `export`, `import`, `clear`, `gc`: what is known of threads, and what becomes of it."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentic_memory_bank.engines.base import Relation
from agentic_memory_bank.nodes.memory_bank.pausing import DECISIONS
from agentic_memory_bank.tools.storage.database_form import sealed

from .conftest import Command, Parts


@pytest.fixture
def kept(memory_bank: Command, document: Path) -> str:
    """The name of a thread that remembers one document."""
    assert memory_bank("ask", "How many qubits?", "-c", document, "--thread", "chips").exit_code == 0
    return "chips"


def merging(pairings):
    return [Relation(p.fresh.id, c.id, "merge") for p in pairings for c in p.candidates]


def test_runs_lists_what_is_kept_and_what_can_be_resumed(memory_bank: Command, kept: str, document: Path) -> None:
    memory_bank("ask", "Why?", "-c", document, "--thread", "a b", "--set", "budget_seconds=1e-9")

    lines = memory_bank("runs").stdout.splitlines()

    assert lines[0].split() == ["THREAD", "STATUS", "KEPT", "LAST", "ACTIVE", "(UTC)", "QUESTION"]
    assert lines[1].split()[:4] == ["a", "b", "paused", "yes"]
    assert lines[2].split()[:3] == ["chips", "completed", "yes"]
    assert lines[-1] == "1 unfinished; go on with `memory-bank resume 'a b'`."


def test_a_ledger_of_an_older_version_is_opened_and_written_to(
    memory_bank: Command, kept: str, document: Path, home: Path
) -> None:
    with closing(sqlite3.connect(home / "runs.sqlite")) as ledger:
        columns = [row[1] for row in ledger.execute("PRAGMA table_info(runs)") if row[1] != "usage"]
        ledger.execute(f"CREATE TABLE older AS SELECT {', '.join(columns)} FROM runs")
        ledger.execute("DROP TABLE runs")
        ledger.execute("ALTER TABLE older RENAME TO runs")
        ledger.execute("PRAGMA application_id = 0")
        ledger.execute("PRAGMA user_version = 0")
        ledger.commit()

    [old] = json.loads(memory_bank("runs", "--json").stdout)["runs"]
    assert (old["thread"], old["usage"]) == (kept, None)
    assert memory_bank("show", kept).exit_code == 0
    assert memory_bank("ask", "And what else?", "--thread", kept, "-c", document).exit_code == 0


def test_a_ledger_that_is_not_ours_gets_no_column(memory_bank: Command, home: Path) -> None:
    home.mkdir()
    with closing(sqlite3.connect(home / "runs.sqlite")) as foreign:
        foreign.execute("CREATE TABLE runs (name TEXT)")
        foreign.commit()

        assert memory_bank("runs").exit_code == 1
        assert [row[1] for row in foreign.execute("PRAGMA table_info(runs)")] == ["name"]


@pytest.mark.parametrize("usage", ["[]", "3", "{", '"text"'])
def test_a_ledger_whose_usage_is_damaged_says_which_thread(
    memory_bank: Command, kept: str, home: Path, usage: str
) -> None:
    with closing(sqlite3.connect(home / "runs.sqlite")) as ledger:
        ledger.create_function("sealed", -1, sealed, deterministic=True)
        ledger.execute("UPDATE runs SET usage = ?", (usage,))
        ledger.commit()

    result = memory_bank("runs")

    assert result.exit_code == 1
    assert f"row of the thread '{kept}' is damaged" in result.stderr


def test_nothing_is_said_of_models_where_none_was_asked(memory_bank: Command, kept: str, document: Path) -> None:
    asked = memory_bank("ask", "How many qubits?", "-c", document)

    for output in (asked.output, memory_bank("runs").output, memory_bank("show", kept).output):
        assert not any(word in output for word in ("Models", "SPENT", "token", "cost", "call"))


def test_runs_says_so_when_there_are_none_and_makes_no_home(memory_bank: Command, home: Path) -> None:
    assert memory_bank("runs").stdout == "There are no runs.\n"
    assert not home.exists()


def test_show_gives_goal_tasks_and_memories(memory_bank: Command, kept: str, document: Path) -> None:
    result = memory_bank("show", kept)

    assert "How many qubits? (completed)" in result.stdout
    assert "✓ answer: How many qubits?" in result.stdout
    assert "Memories  1" in result.stdout
    assert f"sources     {document}" in result.stdout
    assert "anchors     1" in result.stdout


def test_show_as_json_has_what_the_words_have(memory_bank: Command, kept: str) -> None:
    found = json.loads(memory_bank("show", kept, "--json").stdout)

    assert found["goal"] == "How many qubits?"
    assert [task["status"] for task in found["completed"]] == ["success"]
    assert found["memories"][0]["anchors"] == 1
    assert found["conflicts"] == []


def test_show_node_gives_all_raw_text_of_the_memory_an_old_id_was_merged_into(
    memory_bank: Command, parts: Parts, document: Path
) -> None:
    document.with_name("twin.txt").write_text("The chip has 433 qubits, they say.", encoding="utf-8")
    parts.engine(find_conflicts=merging)
    memory_bank("ask", "How many qubits?", "-c", document.parent, "--thread", "t")
    [node] = json.loads(memory_bank("show", "t", "--json").stdout)["memories"]
    gone = node["merged_from"][0]

    result = memory_bank("show", "t", "--node", gone)
    found = json.loads(memory_bank("show", "t", "--node", gone, "--json").stdout)

    assert found["id"] == node["id"]
    assert [raw["text"] for raw in found["raw"]] == ["The chip has 433 qubits.\n", "The chip has 433 qubits, they say."]
    assert f"{document}, characters 0-25\nThe chip has 433 qubits." in result.stdout
    assert "The chip has 433 qubits, they say." in result.stdout
    assert found["merge"]["merge_strategy"] == "fuller"
    how = f"merged from {', '.join(node['merged_from'])}: one of them held what the others said, confidence 0."
    assert how in result.stdout
    assert how in memory_bank("show", "t").stdout


def test_an_unknown_memory_is_an_error(memory_bank: Command, kept: str) -> None:
    result = memory_bank("show", kept, "--node", "n0")

    assert result.exit_code == 2
    assert "no memory 'n0'" in result.stderr


def test_unknown_threads_are_errors_of_every_command(memory_bank: Command, tmp_path: Path) -> None:
    for words in (["resume", "x"], ["resume"], ["show", "x"], ["export", "x", tmp_path / "x.json"], ["clear", "x"]):
        result = memory_bank(*words)
        assert result.exit_code == 2, words
        assert result.stderr.startswith("Error: ")
        assert "`memory-bank runs` lists" in result.stderr
    assert not (tmp_path / "x.json").exists()


def test_a_finished_kept_thread_gives_its_answer_again(memory_bank: Command, kept: str) -> None:
    result = memory_bank("resume", kept)

    assert result.exit_code == 0
    assert "“The chip has 433 qubits.”" in result.stdout


def test_a_decision_is_refused_where_none_is_waited_for(memory_bank: Command, kept: str) -> None:
    result = memory_bank("resume", kept, "--decision", "stop")

    assert result.exit_code == 1
    assert "waits for no decision" in result.stderr


def test_a_decision_that_is_none_is_wrong_usage_that_names_those_there_are(memory_bank: Command, kept: str) -> None:
    result = memory_bank("resume", kept, "--decision", "maybe")

    assert result.exit_code == 2
    assert all(decision in result.stderr for decision in DECISIONS)
    assert all(f"`{decision}`" in " ".join(memory_bank("resume", "--help").stdout.split()) for decision in DECISIONS)


def test_a_memory_travels_by_export_and_import(memory_bank: Command, kept: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.json"

    assert memory_bank("export", kept, file).exit_code == 0
    imported = memory_bank("import", file, "--thread", "copy")

    assert imported.exit_code == 0, imported.output
    assert "memory-bank ask ... --thread copy" in imported.stdout
    memories = [json.loads(memory_bank("show", t, "--json").stdout)["memories"] for t in (kept, "copy")]
    assert memories[0] == memories[1]
    assert memory_bank("ask", "How many qubits?", "--thread", "copy").exit_code == 0


def test_a_foreign_or_damaged_export_is_refused(memory_bank: Command, kept: str, tmp_path: Path) -> None:
    whole, foreign = tmp_path / "whole.json", tmp_path / "foreign.json"
    memory_bank("export", kept, whole)
    foreign.write_text('{"format": "something else"}', encoding="utf-8")
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(whole.read_bytes().replace(b"433", b"434"))
    short = tmp_path / "short.json"
    short.write_bytes(whole.read_bytes()[:200])

    os.mkfifo(tmp_path / "pipe")
    for file in (foreign, damaged, short, tmp_path / "missing.json", tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        result = memory_bank("import", file, "--thread", "new")
        assert result.exit_code == 2, file
        assert len(result.stderr.splitlines()) == 1, file
    assert memory_bank("show", "new").exit_code == 2


def test_import_does_not_replace_a_thread(memory_bank: Command, kept: str, tmp_path: Path) -> None:
    memory_bank("export", kept, tmp_path / "memory.json")

    result = memory_bank("import", tmp_path / "memory.json", "--thread", kept)

    assert result.exit_code == 1
    assert "already" in result.stderr


def test_export_overwrites_exports_and_nothing_else(memory_bank: Command, kept: str, document: Path) -> None:
    file = document.with_name("memory.json")

    assert [memory_bank("export", kept, file).exit_code for _ in range(2)] == [0, 0]
    assert memory_bank("export", kept, document).exit_code == 2
    assert document.read_text(encoding="utf-8") == "The chip has 433 qubits.\n"
    os.mkfifo(pipe := document.with_name("pipe"))
    assert memory_bank("export", kept, pipe).exit_code == 2


def test_clear_erases_a_thread(memory_bank: Command, kept: str, home: Path) -> None:
    assert memory_bank("clear", kept).stdout == "Erased 'chips'.\n"

    assert memory_bank("show", kept).exit_code == 2
    assert not any(b"433" in file.read_bytes() for file in home.rglob("*") if file.is_file())


def test_gc_erases_unfinished_runs_only_when_asked_to(memory_bank: Command, kept: str, document: Path) -> None:
    memory_bank("ask", "Why?", "-c", document, "--thread", "waits", "--set", "budget_seconds=1e-9")

    assert memory_bank("gc").stdout == "There was nothing to erase.\n"
    assert memory_bank("gc", "--unfinished").stdout == "Erased 'waits'.\n"
    assert [run["thread"] for run in json.loads(memory_bank("runs", "--json").stdout)["runs"]] == [kept]


@pytest.mark.parametrize("content", [b"", b"no database at all" * 500])
def test_a_damaged_or_empty_database_is_an_error_that_says_what_to_do(
    memory_bank: Command, kept: str, home: Path, content: bytes
) -> None:
    [database] = home.glob("threads/*/checkpoints.sqlite")
    for log in database.parent.glob("checkpoints.sqlite-*"):
        log.unlink()
    database.write_bytes(content)

    for words in (["show", kept], ["resume", kept], ["ask", "Why?", "--thread", kept]):
        result = memory_bank(*words)
        assert result.exit_code == 1, words
        assert "lear" in result.stderr.splitlines()[-1], words
        assert "Traceback" not in result.output


def test_a_damaged_ledger_is_an_error_that_says_what_to_do(memory_bank: Command, kept: str, home: Path) -> None:
    for log in home.glob("runs.sqlite-*"):
        log.unlink()
    (home / "runs.sqlite").write_bytes(b"no database at all" * 500)

    for words in (["runs"], ["show", kept], ["ask", "Why?"]):
        result = memory_bank(*words)
        assert result.exit_code == 1, words
        assert "is damaged" in result.stderr, words
