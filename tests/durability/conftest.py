"""The driver process of the kill tests, and how orders are handed to it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

Report = dict[str, Any]


class Driver:
    """Hands orders to the driver process and collects its reports."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._count = 0

    def carry_out(self, orders: Iterable[Report]) -> list[list[Report]]:
        """Carry out orders side by side.

        Args:
            orders: Each has a `scenario` and `steps`; each step names what to `do`, and perhaps the moment `at` which
                the process dies.

        Returns:
            The reports of the steps of each order.
        """
        given = [self._order(order) for order in orders]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.writelines(json.dumps(order) + "\n" for order in given)
        self._process.stdin.flush()
        for _ in given:
            done = self._process.stdout.readline().strip()
            assert done.endswith(".report"), done
        return [json.loads(Path(order["report"]).read_text())["steps"] for order in given]

    def folder(self) -> Path:
        """A folder of its own for an order."""
        self._count += 1
        return self._folder / str(self._count)

    def _order(self, order: Report) -> Report:
        folder = Path(order.get("folder") or self.folder())
        return {"scenario": "scripted", "folder": str(folder), "report": f"{folder}.report", **order}


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A warm process that forks. It works in memory where it can: a kill is the same, and no disk is waited for."""
    in_memory = Path("/dev/shm")
    place = TemporaryDirectory(dir=in_memory if os.access(in_memory, os.W_OK) else tmp_path_factory.mktemp("kill"))
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(Path(__file__).with_name("driver.py"))]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with place as folder, subprocess.Popen(command, env=environment, **pipes) as process:
        yield Driver(process, Path(folder))
        process.kill()  # its children are done, or a test has failed
