"""`memory-bank token`: a token for a server's user, shown once, and the line that the server knows it by."""

from pathlib import Path
from typing import Any

from agentic_memory_bank.runs.server import TokenFile


def test_a_token_is_shown_once_and_its_line_can_be_appended_to_the_file(memory_bank: Any, tmp_path: Path) -> None:
    result = memory_bank("token", "ann")
    token = result.stderr.split()[-1]
    file = tmp_path / "tokens"
    file.write_text(result.stdout)

    assert result.stdout.startswith("ann ")
    assert token not in result.stdout
    assert TokenFile(file).user_of(token) == "ann"


def test_a_name_that_is_none_is_refused(memory_bank: Any) -> None:
    result = memory_bank("token", "ann b")

    assert result.exit_code == 2
    assert "letters, digits" in result.stderr
