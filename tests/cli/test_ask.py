"""`ask`: the answer, the quotes, the contradictions, and what is refused before work is spent."""

import json
import logging
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentic_memory_bank.cli.app import GROUPS, app
from agentic_memory_bank.engines.base import ClaimSpan, DisputeVerdict, EvidenceSpan, QuotedAnswer, Relation, Step

from .conftest import Command, Parts, json_lines


def contradicting(pairings):
    found = []
    for pairing in pairings:
        for other in pairing.candidates:
            claims = ClaimSpan("433", (0, 24)), ClaimSpan("1121", (0, 25))
            found.append(Relation(pairing.fresh.id, other.id, "conflict", "number", "They differ.", claims))
    return found


def first_wins(disputes):
    spans = [d.evidence[0] for d in disputes]
    return [
        DisputeVerdict("holds", 0, "", "Two sources say so.", (EvidenceSpan(s.entry, (s.start, s.start + 8)),))
        for s in spans
    ]


@pytest.fixture
def two_documents(document: Path) -> list[Path]:
    other = document.with_name("other.txt")
    other.write_text("The chip has 1121 qubits.\n", encoding="utf-8")
    return [document, other]


def test_ask_prints_the_answer_the_quote_and_where_it_stands(memory_bank: Command, document: Path) -> None:
    result = memory_bank("ask", "How many qubits?", "--context", document)

    assert result.exit_code == 0, result.output
    assert "“The chip has 433 qubits.”" in result.stdout
    assert f"{document}, characters 0-24" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("completed · ")


def test_ask_says_how_a_contradiction_was_settled(
    memory_bank: Command, parts: Parts, two_documents: list[Path]
) -> None:
    parts.engine(find_conflicts=contradicting, validate=first_wins)

    result = memory_bank("ask", "How many qubits does the chip have?", "-c", two_documents[0], "-c", two_documents[1])

    assert result.exit_code == 0, result.output
    assert "1. They differ. (settled)" in result.stdout
    assert "Two sources say so." in result.stdout
    assert "Evidence:" in result.stdout
    for file in two_documents:
        assert f"{file}, characters 0-2" in result.stdout


def test_a_contradiction_that_the_answer_does_not_quote_is_a_line(
    memory_bank: Command, parts: Parts, two_documents: list[Path]
) -> None:
    parts.engine(find_conflicts=contradicting, answer=lambda question, shown: QuotedAnswer("", (), ""))

    result = memory_bank("ask", "Who made the chip?", "-c", two_documents[0].parent)

    assert "\nContradictions\n" not in result.stdout
    assert "Contradictions elsewhere\n  - (disputed) “The chip has" in result.stdout


def test_an_open_contradiction_is_called_disputed(
    memory_bank: Command, parts: Parts, two_documents: list[Path]
) -> None:
    parts.engine(find_conflicts=contradicting)

    result = memory_bank("ask", "How many qubits does the chip have?", "-c", two_documents[0].parent)

    assert "(disputed)" in result.stdout
    assert "the evidence does not decide" in result.stdout


def test_json_is_one_object_and_progress_is_json_lines(memory_bank: Command, document: Path) -> None:
    result = memory_bank("ask", "How many qubits?", "-c", document, "--json")

    output, news = json.loads(result.stdout), json_lines(result.stderr)
    assert output["status"] == "completed"
    assert output["sources"][0]["quote"] == "The chip has 433 qubits."
    assert output["kept"] is False
    assert {"stage": "read", "documents": 1, "characters": 25} in [
        {k: v for k, v in n.items() if k != "elapsed"} for n in news
    ]
    assert {"classify", "embed", "plan", "execute"} <= {n.get("stage") for n in news}


def test_progress_is_plain_lines_with_counts_where_there_is_no_terminal(memory_bank: Command, document: Path) -> None:
    result = memory_bank("ask", "How many qubits?", "-c", document)

    assert " s  classify: 1 chunk, 25 characters" in result.stderr
    assert " s  plan: next: answer: How many qubits?" in result.stderr
    assert "\x1b" not in result.output


def test_standard_input_is_a_document(memory_bank: Command) -> None:
    result = memory_bank("ask", "芯片有多少个量子比特？", "-c", "-", stdin="芯片有 433 个量子比特。".encode("gb18030"))

    assert result.exit_code == 0, result.output
    assert "“芯片有 433 个量子比特。”" in result.stdout
    assert "standard input, characters 0-14" in result.stdout


def test_a_run_without_an_answer_ends_with_3(memory_bank: Command) -> None:
    result = memory_bank("ask", "How many qubits?")

    assert result.exit_code == 3
    assert "hold nothing that answers" in result.stdout
    assert "not_found" in result.stdout
    assert "--context names documents" in result.stderr


def test_a_named_thread_is_kept_unless_told_otherwise(memory_bank: Command, document: Path) -> None:
    memory_bank("ask", "Named?", "-c", document, "--thread", "named")
    memory_bank("ask", "Not kept?", "-c", document, "--thread", "passing", "--no-keep")
    memory_bank("ask", "Nameless?", "-c", document)
    unnamed = memory_bank("ask", "Kept?", "-c", document, "--keep")

    kept = {run["question"]: run["thread"] for run in json.loads(memory_bank("runs", "--json").stdout)["runs"]}
    assert set(kept) == {"Named?", "Kept?"}
    assert f"thread {kept['Kept?']}" in unnamed.stdout


def test_a_second_question_uses_the_kept_memory(memory_bank: Command, document: Path) -> None:
    memory_bank("ask", "How many qubits?", "-c", document, "--thread", "chips")

    result = memory_bank("ask", "And which chip?", "--thread", "chips")

    assert result.exit_code == 0, result.output
    assert "The chip has 433 qubits." in result.stdout


def test_a_run_that_waits_ends_with_4_and_says_how_to_go_on(memory_bank: Command, parts: Parts, document: Path) -> None:
    parts.engine(plan=lambda situation: Step("answer", "again and again"))

    waiting = memory_bank("ask", "Why?", "-c", document, "--thread", "t", "--set", "budget_seconds=1e-9")

    assert waiting.exit_code == 4, waiting.output
    assert "`memory-bank resume t --decision stop`" in waiting.stdout

    stopped = memory_bank("resume", "t", "--decision", "stop")

    assert stopped.exit_code == 4, stopped.output
    assert "stopped" in stopped.stdout.splitlines()[-1]


def test_export_is_written_before_the_memory_is_erased(memory_bank: Command, document: Path, tmp_path: Path) -> None:
    file = tmp_path / "memory.json"

    result = memory_bank("ask", "How many qubits?", "-c", document, "--export", file)

    assert result.exit_code == 0, result.output
    assert json.loads(file.read_text(encoding="utf-8"))["format"] == "agentic-memory-bank"
    assert json.loads(memory_bank("runs", "--json").stdout) == {"runs": []}


def test_a_document_cannot_drive_the_terminal(memory_bank: Command, tmp_path: Path) -> None:
    file = tmp_path / "evil.jsonl"
    file.write_text(json.dumps({"text": "The chip\x1b]0;owned\x07 has [bold]433[/bold] qubits."}), encoding="utf-8")

    result = memory_bank("ask", "How many qubits\x1b[2J?", "-c", file, "--keep")
    thread = json.loads(memory_bank("runs", "--json").stdout)["runs"][0]["thread"]
    for words in (["runs"], ["show", thread]):
        assert "\x1b" not in memory_bank(*words).output

    assert "\x1b" not in result.output
    assert "[bold]433[/bold]" in result.stdout


def test_files_left_out_of_a_folder_are_named(memory_bank: Command, document: Path) -> None:
    document.with_name("empty.txt").touch()

    result = memory_bank("ask", "How many qubits?", "-c", document.parent)

    assert "left out" in result.stderr
    assert "empty.txt" in result.stderr


def test_warnings_of_the_package_become_notes(memory_bank: Command, parts: Parts, document: Path) -> None:
    def classify(texts, task):
        logging.getLogger("agentic_memory_bank.engines").warning("This is slow.")
        raise RuntimeError("no topics today")

    parts.engine(classify=classify)

    result = memory_bank("ask", "How many qubits?", "-c", document, "--json")

    assert any(news.get("note") == "This is slow." for news in json_lines(result.stderr))
    assert json.loads(result.stdout)["degraded"] == ["classify: RuntimeError"]


def test_bad_input_is_refused_in_one_line_before_anything_is_written(
    memory_bank: Command, home: Path, tmp_path: Path, parts: Parts
) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "zeros.bin").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "empty folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    cases: list[tuple[list[str | Path], str]] = [
        (["   "], "question is empty"),
        (["Why?", "-c", tmp_path / "missing.pdf"], "no file or folder"),
        (["Why?", "-c", tmp_path / "empty.txt"], "is empty"),
        (["Why?", "-c", tmp_path / "zeros.bin"], "is binary"),
        (["Why?", "-c", tmp_path / "empty folder"], "holds no file"),
        (["Why?", "-c", "-"], "Standard input is empty"),
        (["Why?", "-c", "-", "-c", "-"], "read once"),
        (["Why?", "--thread", " "], "non-empty string"),
        (["Why?", "--set", "K=5"], "one of model, window"),
        (["Why?", "--set", "k=many"], "k: Input should be a valid integer"),
        (["Why?", "--export", tmp_path], "cannot be written"),
        (["Why?", "--export", tmp_path / "zeros.bin"], "is no export"),
        (["Why?", "--export", tmp_path / "pipe"], "no regular file"),
        (["Why?", "--export", "/dev/null"], "no regular file"),
        (["Why?", "--export", tmp_path / ("x" * 300) / "memory.json"], "cannot be written"),
        (["Why?", "-c", tmp_path / "pipe"], "pipe, socket or device"),
    ]
    for words, said in cases:
        result = memory_bank("ask", *words)
        assert result.exit_code == 2, (words, result.output)
        assert said in result.stderr.splitlines()[-1], (words, result.stderr)
        assert result.stderr.splitlines()[-1].startswith("Error: ")
        assert "Traceback" not in result.output
        assert result.stdout == ""
    assert not list(home.glob("threads/*"))
    assert json.loads(memory_bank("runs", "--json").stdout) == {"runs": []}


def test_a_missing_model_folder_is_refused_before_documents_are_read(home: Path, document: Path) -> None:
    words = ["ask", "Why?", "-c", str(document), "--set", "embedding_path=/no/such/folder"]

    result = CliRunner().invoke(app, words)

    assert result.exit_code == 1
    assert "no folder '/no/such/folder'" in result.stderr
    assert " s  " not in result.stderr
    assert not home.exists()


def test_an_unfinished_thread_is_refused_before_documents_are_read(
    memory_bank: Command, parts: Parts, document: Path
) -> None:
    memory_bank("ask", "Why?", "-c", document, "--thread", "t", "--set", "budget_seconds=1e-9")

    result = memory_bank("ask", "Why?", "-c", document, "--thread", "t")

    assert result.exit_code == 1
    assert "`memory-bank resume t`" in result.stderr
    assert " s  " not in result.stderr


def test_an_error_is_json_for_machines_and_a_traceback_for_debugging(memory_bank: Command) -> None:
    machine = memory_bank("ask", " ", "--json")
    person = memory_bank("ask", " ", "--debug")

    assert json_lines(machine.stderr)[-1]["error"] == "InputError"
    assert (machine.exit_code, person.exit_code) == (2, 1)  # a traceback is for whoever debugs
    assert type(person.exception).__name__ == "InputError"


def test_wrong_usage_ends_with_2(memory_bank: Command) -> None:
    for words in (["ask"], ["ask", "Why?", "--nonsense"], ["resume", "--decision", "maybe"], ["nonsense"]):
        assert memory_bank(*words).exit_code == 2, words


def test_every_command_explains_itself(memory_bank: Command) -> None:
    overview = memory_bank("--help")
    for name in [name for group in GROUPS.values() for name in group]:
        assert name in overview.stdout
        assert memory_bank(name, "--help").exit_code == 0
    assert memory_bank("--version").stdout.startswith("memory-bank ")


def test_asking_a_named_thread_that_holds_nothing_is_an_error(memory_bank: Command) -> None:
    result = memory_bank("ask", "How many qubits?", "--thread", "tpyo")

    assert result.exit_code == 2
    assert "'tpyo' holds no memory" in result.stderr
