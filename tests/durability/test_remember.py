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


def run(*orders: tuple[Path, int]) -> list[tuple[str, int]]:
    """What each of the processes said, and how it ended."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(DRIVER), *(str(part) for order in orders for part in order)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [(said, int(ended)) for said, _, ended in (line.rpartition("\t") for line in done.stdout.splitlines())]


def test_after_a_kill_at_a_write_the_history_handed_over_again_gives_the_same_memories(tmp_path: Path) -> None:
    unkilled, early, late = (tmp_path / f"{name}.sqlite" for name in ("unkilled", "early", "late"))

    (told, ended), *others = run((unkilled, 0), (early, 3), (early, 0), (late, 6), (late, 0))

    whole: Any = json.loads(told)
    assert (ended, others) == (0, [("", -signal.SIGKILL), (told, 0)] * 2)
    assert [text for _, type, text, replaced, _ in whole if type == "semantic" and not replaced] == [
        "user (8 May 2026): I moved to Lisbon last month. [last month = April 2026]",
        "user (8 May 2026): My budget is $10,000.",
    ]
