"""`memory-bank memorize` makes pages of files; given again, it does what is left."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import Result

from agentic_memory_bank.testing import http_error
from agentic_memory_bank.testing.replies import ChatRequest
from agentic_memory_bank.tools.pages.stores import PageStores

if TYPE_CHECKING:
    from agentic_memory_bank.testing import ModelServer

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

Command = Callable[..., Result]
Serve = Callable[..., "ModelServer"]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"The tower {number} is {number + 300} m tall. " * 40)
    return [folder]


def kept(home: Path) -> list[str]:
    return [page["abstract"] for _, page in PageStores(home).of("towers").pages()]


def memorized(memory_bank: Command, *words: str | Path) -> dict[str, Any]:
    result = memory_bank("memorize", *words, "--memory", "towers", "--json")
    return {**json.loads(result.stdout), "exit": result.exit_code}


def test_files_become_pages_and_it_is_told_how_many(memory_bank: Command, files: list[Path], home: Path) -> None:
    result = memory_bank("memorize", *files, "-M", "towers")

    assert result.exit_code == 0, result.output
    assert "3 new pages in 'towers'." in result.stdout
    assert [said[:11] for said in kept(home)] == ["The tower 0", "The tower 1", "The tower 2"]
    again = memory_bank("memorize", *files, "-M", "towers")
    assert "0 new pages in 'towers', 3 duplicate." in again.stdout


def test_standard_input_is_read(memory_bank: Command, home: Path) -> None:
    result = memory_bank("memorize", "-", "-M", "towers", stdin=b"One tower.")

    assert result.exit_code == 0, result.output
    assert kept(home) == ["One tower."]


def test_a_model_writes_the_abstracts_and_is_counted(
    memory_bank: Command, serve: Serve, files: list[Path], home: Path
) -> None:
    server = serve()

    output = memorized(memory_bank, *files, "--model", "local:test")

    assert output["usage"]["roles"]["abstract"]["calls"] == server.count == 1
    assert set(output) == {"pages", "skipped", "usage", "status", "degraded", "memory", "elapsed", "exit"}
    assert not list((home / "pages").glob("*.answers")), "the answers are for a run that is not done"


def test_at_a_budget_the_same_command_goes_on_later(
    memory_bank: Command, serve: Serve, files: list[Path], home: Path
) -> None:
    server = serve()
    words = (*files, "--model", "local:test", "--set", "page_batch=1")

    first = memorized(memory_bank, *words, "--budget", "calls=1")
    assert (first["exit"], first["status"], server.count) == (4, "stopped", 1)
    last = memorized(memory_bank, *words)

    assert (last["exit"], last["status"]) == (0, "completed")
    assert len(kept(home)) == 3
    assert server.count <= 3


def test_a_server_that_fails_costs_abstracts_and_is_told_in_plain_words(
    memory_bank: Command, serve: Serve, files: list[Path], home: Path
) -> None:
    def fails(_: ChatRequest) -> Any:
        return http_error(401, "No.")

    serve(fails)
    result = memory_bank("memorize", *files, "-M", "towers", "-m", "local:test")

    assert result.exit_code == 0, result.output
    assert "Pages have their central sentences for an abstract: " in result.stdout
    assert "MEMORY_BANK_LOCAL_API_KEY" in result.stdout
    assert len(kept(home)) == 3


@pytest.mark.parametrize("words", [["--memory", " "], ["--memory", "x", "--set", "page_tokens=1"]])
def test_what_cannot_be_used_is_told_before_files_are_read(memory_bank: Command, home: Path, words: list[str]) -> None:
    result = memory_bank("memorize", "no-such-file.txt", *words)

    assert result.exit_code == 2
    assert "no-such-file" not in result.output
    assert not home.exists()


def test_a_damaged_memory_is_told_and_left_as_it_is(memory_bank: Command, files: list[Path], home: Path) -> None:
    memory_bank("memorize", *files, "-M", "towers")
    (file,) = (home / "pages").glob("*.sqlite")
    for beside in (home / "pages").glob("*-wal"):
        beside.unlink()
    file.write_bytes(b"broken")

    result = memory_bank("memorize", *files, "-M", "towers")

    assert result.exit_code == 1
    assert "Put a copy of the file back" in result.output
    assert file.read_bytes() == b"broken"
