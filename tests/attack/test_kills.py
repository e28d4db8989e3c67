"""Killed with -9 at 300 moments, commands lose nothing that they acknowledged, and leave nothing half-erased."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("kills_driver.py")
POINTS = 55
KILLS = 50
EACH = [(command, POINTS, KILLS) for command in ("chat", "remember", "import", "forget", "clear", "maintain")]
COMMANDS = [pytest.param("forget", 3, 3, marks=pytest.mark.kill), *EACH]
"""Three kills are in every run, so that this attack is known to work before it is asked for."""


@pytest.mark.parametrize(("command", "points", "kills"), COMMANDS)
def test_a_command_that_is_killed_at_any_moment_loses_and_leaves_nothing(
    tmp_path: Path, command: str, points: int, kills: int
) -> None:
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "LANGGRAPH_STRICT_MSGPACK": "true",
    }
    arguments = [sys.executable, str(DRIVER), command, str(tmp_path), str(points)]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-4_000:]
    found = json.loads(done.stdout)

    assert found["faults"] == []
    assert found["killed"] >= kills, found
