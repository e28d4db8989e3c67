"""A process that is killed while it remembers leaves nothing half done, and the next one keeps nothing twice."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DRIVER = Path(__file__).with_name("remember_driver.py")

pytestmark = pytest.mark.kill


def run(place: Path, number: int = 0) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(DRIVER), str(place), str(number)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_after_a_kill_at_a_write_the_history_handed_over_again_gives_the_same_memories(tmp_path: Path) -> None:
    whole: Any = json.loads(run(tmp_path / "whole.sqlite").stdout)
    for number in (3, 6):
        place = tmp_path / f"{number}.sqlite"
        assert run(place, number).returncode == -signal.SIGKILL
        again = run(place)

        assert (again.returncode, again.stderr) == (0, "")
        assert json.loads(again.stdout) == whole
    assert [text for _, type, text, replaced, _ in whole if type == "semantic" and not replaced] == [
        "user (8 May 2026): I moved to Lisbon last month. [last month = April 2026]",
        "user (8 May 2026): My budget is $10,000.",
    ]
