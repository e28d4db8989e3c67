"""Output that cannot be written is told in one line, and whatever the caller has to mend is wrong usage."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import DRIVER, Command

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [["runs"], ["--help"], ["ask", "How many qubits?", "-c"]], ids=str)
def test_output_onto_a_full_disk_is_told_in_one_line(words: list[str], document: Path) -> None:
    environment = {**os.environ, "TEST_ENGINE_OF_MEMORY_BANK": "quick"}
    given = [*words, str(document)] if words[-1] == "-c" else words
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, str(DRIVER), *given], stdout=full, stderr=subprocess.PIPE, text=True, env=environment
        )

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "Error: Standard output cannot be written: No space left on device."
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["ask", " "],
        ["ask", "Why?", "-c", "/no/such/file"],
        ["ask", "Why?", "--set", "kk=3"],
        ["ask", "Why?", "--no-such-option"],
        ["show", "nobody"],
        ["memory", "m1", "--user", "ana"],
        ["recall", "Why?", "--user", " "],
        ["import", "/no/such/file", "--thread", "t"],
    ],
    ids=lambda words: " ".join(words),
)
def test_what_the_caller_has_to_mend_is_wrong_usage(memory_bank: Command, words: list[str]) -> None:
    assert memory_bank(*words).exit_code == 2
