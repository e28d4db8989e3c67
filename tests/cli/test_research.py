"""`memory-bank research` answers from a memory of pages, and says on which of them the answer stands."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank.cli import outcome
from agentic_memory_bank.cli.progress import described
from agentic_memory_bank.testing import ChatRequest, ScriptedJudge, hang, http_error
from agentic_memory_bank.tools.pages.stores import PageStores

from .conftest import Command, Serve, json_lines, start
from .test_interruption import interrupted, wait_for

TOWER = "The iron tower of Lomgard is 324 m tall."
CATS = "Cats of the harbour purr when they are content."
QUESTION = "How tall is the iron tower of Lomgard?"
MODEL = ("--model", "local:test")
FOUND = {"is_found": True, "answer": "324 m.", "quotes": [{"excerpt": 1, "words": TOWER}]}
judge = ScriptedJudge(respond=lambda prompt: FOUND)
"""Quotes the tower, which is found first."""


@pytest.fixture
def memory(memory_bank: Command, tmp_path: Path) -> str:
    """The name of a memory with two pages."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tower.txt").write_text(TOWER)
    (notes / "cats.txt").write_text(CATS)
    assert memory_bank("memorize", notes, "--memory", "towers").exit_code == 0
    return "towers"


def researched(memory_bank: Command, memory: str, *words: str) -> dict[str, Any]:
    result = memory_bank("research", QUESTION, "--memory", memory, "--json", *words)
    return {**json.loads(result.stdout), "exit": result.exit_code}


def pages(home: Path, memory: str) -> dict[str, str]:
    return {page["text"]: page["id"] for _, page in PageStores(home).of(memory).pages()}


def left_behind(home: Path) -> list[Path]:
    """Answers of models that lie on disk."""
    return [file for file in home.rglob("*.research/**/*") if file.is_file()]


# --- what is printed ---------------------------------------------------------------------------------------------


def test_the_answer_is_printed_with_its_quotes_and_where_they_stand(
    memory_bank: Command, memory: str, home: Path, tmp_path: Path
) -> None:
    result = memory_bank("research", QUESTION, "-M", memory)

    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "324 m" in lines[0]
    assert f"  1. “{TOWER}”" in lines
    place = f"{tmp_path / 'notes' / 'tower.txt'}, page {pages(home, memory)[TOWER]}, characters 0-{len(TOWER)}"
    assert f"     {place}" in lines
    assert lines[-1].startswith("answered · 1 round · ")


def test_plan_searches_and_findings_are_streamed_to_standard_error(memory_bank: Command, memory: str) -> None:
    result = memory_bank("research", QUESTION, "-M", memory)

    told = [line.partition(" s  ")[2] for line in result.stderr.splitlines()]
    assert told == [
        "take_in: 2 pages",
        f"plan: round 1, 1 search: {QUESTION}",
        "search: 2 pages",
        f"integrate: 1 finding: {TOWER}",
        "answer: 1 source",
    ]


def test_as_json_there_is_one_object_and_events_are_json_lines(memory_bank: Command, memory: str) -> None:
    result = memory_bank("research", QUESTION, "-M", memory, "--json")

    found = json.loads(result.stdout)
    assert set(found) == {
        "answer",
        "sources",
        "findings",
        "rounds",
        "status",
        "usage",
        "degraded",
        "memory",
        "elapsed",
    }
    assert (found["status"], found["memory"]) == ("answered", "towers")
    assert "324 m" in found["answer"]
    stages = [event["stage"] for event in json_lines(result.stderr) if "stage" in event]
    assert stages[:3] == ["take_in", "plan", "search"]


def test_a_memory_without_pages_says_how_to_fill_it(memory_bank: Command) -> None:
    result = memory_bank("research", QUESTION, "-M", "no such")

    assert result.exit_code == 3
    assert "The memory 'no such' has no pages. Fill it with `memory-bank memorize FILES --memory 'no such'`." in (
        result.stdout
    )


def test_what_the_memory_does_not_hold_is_said_and_the_exit_code_is_that_of_not_found(
    memory_bank: Command, memory: str
) -> None:
    result = memory_bank("research", "Who composed the anthem of Vinterby?", "-M", memory)

    assert result.exit_code == 3, result.output
    assert "The memory 'towers' holds nothing that answers the question." in result.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("research", " ", "-M", "towers"), 2, "request is empty"),
        (("research", QUESTION, "-M", " "), 2, "named by a non-empty string"),
        (("research", QUESTION), 2, "--memory"),
        (("research", QUESTION, "-M", "towers", "--budget", "much"), 2, "is no budget"),
        (("research", QUESTION, "-M", "towers", "--set", "research_rounds=0"), 2, "research_rounds"),
        (("research", QUESTION, "-M", "towers", "--model", "openai:gpt-4o-mini"), 2, "OPENAI_API_KEY"),
    ],
)
def test_wrong_input_is_refused_in_one_line(memory_bank: Command, words: tuple[str, ...], code: int, said: str) -> None:
    result = memory_bank(*words)

    assert result.exit_code == code
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_a_damaged_memory_is_refused_and_left_as_it_is(memory_bank: Command, memory: str, home: Path) -> None:
    (file,) = home.glob("pages/*[0-9a-f].sqlite")
    for log in home.glob("pages/*.sqlite-*"):
        log.unlink()
    file.write_bytes(b"no database at all" * 500)

    result = memory_bank("research", QUESTION, "-M", memory)

    assert result.exit_code == 1
    assert file.read_bytes() == b"no database at all" * 500


def test_a_page_cannot_drive_the_terminal(memory_bank: Command, tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_text("The iron tower of Lomgard \x1b[2J is 324 m tall.")
    memory_bank("memorize", tmp_path / "evil.txt", "-M", "evil")

    result = memory_bank("research", QUESTION, "-M", "evil")

    assert "\x1b" not in result.output


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"stage": "reflect", "enough": True, "requests": []}, "reflect: enough, 0 requests"),
        (
            {"stage": "reflect", "enough": False, "requests": ["Who?", "When?"]},
            "reflect: not enough, 2 requests: Who?; When?",
        ),
        ({"stage": "search", "pages": ["p1"]}, "search: 1 page"),
        ({"stage": "plan", "round": 2, "searches": [{"request": "Who?"}]}, "plan: round 2, 1 search: Who?"),
        ({"research": {"stage": "search", "pages": []}}, "research: search: 0 pages"),
    ],
)
def test_events_of_research_are_told_in_words(event: dict[str, Any], words: str) -> None:
    assert described(event) == words


def test_what_a_stage_failed_at_is_told_in_words_of_research() -> None:
    output = {"answer": "", "sources": [], "findings": [{"text": "324 m", "pages": ["p1"]}], "rounds": [{}]}
    lines = list(
        outcome.researched(
            {**output, "status": "failed", "degraded": ["answer: ModelUnavailable"]}, "towers", elapsed=1.0
        )
    )

    assert "There is no answer yet." in lines
    assert "  - 324 m" in lines
    assert "There is no answer: the model did not answer." in lines
    assert any("give the same command again" in line for line in lines)


# --- with a model ------------------------------------------------------------------------------------------------


@pytest.mark.server
@pytest.mark.enable_socket
def test_a_model_plans_judges_and_answers_and_is_counted(memory_bank: Command, serve: Serve, memory: str) -> None:
    serve(judge)

    result = memory_bank("research", QUESTION, "-M", memory, *MODEL)

    assert result.exit_code == 0, result.output
    assert "research  local:test: 2 calls" in result.stdout


@pytest.mark.server
@pytest.mark.enable_socket
def test_a_budget_that_is_used_up_exits_with_4_and_the_same_command_goes_on_without_paying_twice(
    memory_bank: Command, serve: Serve, memory: str, home: Path
) -> None:
    server = serve(judge)

    stopped = memory_bank("research", QUESTION, "-M", memory, *MODEL, "--budget", "calls=1")
    assert stopped.exit_code == 4, stopped.output
    assert "324 m" in stopped.stdout.splitlines()[0]  # the offline engine answers from what was found
    assert "The budget is used up: give the same command again to go on." in stopped.stdout
    assert left_behind(home)

    again = researched(memory_bank, memory, *MODEL)

    assert (again["exit"], again["status"]) == (0, "answered")
    assert len(server.chats) == 2
    assert not left_behind(home)


@pytest.mark.server
@pytest.mark.enable_socket
def test_where_a_model_fails_rules_answer_and_nothing_it_said_is_printed(
    memory_bank: Command, serve: Serve, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = http_error(500, "sk-secret")

    def script(request: ChatRequest) -> Any:
        return broken if judge.kind_of(request) == "respond" else judge(request)

    monkeypatch.setattr("agentic_memory_bank.engines.llm.retry.FIRST_WAIT", 0.0)
    serve(script)

    result = memory_bank("research", QUESTION, "-M", memory, *MODEL)

    assert result.exit_code == 0, result.output
    assert "324 m" in result.stdout
    assert "sk-secret" not in result.output


# --- interruption ------------------------------------------------------------------------------------------------


@pytest.mark.kill
@pytest.mark.server
@pytest.mark.enable_socket
@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_ends_research_and_the_same_command_goes_on(
    memory_bank: Command, serve: Serve, memory: str, as_json: bool
) -> None:
    hanging = [True]

    def script(request: ChatRequest) -> Any:
        return hang(300) if hanging and judge.kind_of(request) == "respond" else judge(request)

    server = serve(script)
    words = ("research", QUESTION, "-M", memory, *MODEL, *(("--json",) if as_json else ()))
    with start(*words, engine="quick") as process:
        wait_for(process, '"integrate", "findings"' if as_json else " s  integrate: ")
        errors = interrupted(process, signal.SIGINT)
    hanging.clear()
    asked = len(server.chats)
    again = researched(memory_bank, memory, *MODEL)

    assert process.returncode == 130
    assert "Traceback" not in errors
    last = errors.splitlines()[-1]
    if as_json:
        assert json.loads(last) == {"interrupted": True, "memory": memory}
    else:
        assert last == "Interrupted. Give the same command again: what was answered is not paid for twice."
    assert again["status"] == "answered"
    assert [judge.kind_of(request) for request in server.chats[asked:]] == ["respond"]
