"""Killed with SIGKILL while requests to a chat model are on their way, a run pays again for those alone."""

import importlib
import json
import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.testing import ModelServer, SpawnedServer

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

BESIDE = Path(__file__).parent
LATENCY = 0.05
AT_ONCE = 4
POINTS = 30
Report = dict[str, Any]


@dataclass
class Payer:
    """The process that runs memory banks, and the server they pay."""

    process: "subprocess.Popen[str]"
    server: SpawnedServer
    folder: Path
    database: str | None
    """Its address, where runs are in one; else each is in files."""
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def home(self) -> Path:
        """A home of its own for a run."""
        return self.folder / str(next(self.numbers))

    def tell(self, home: Path, do: str, **order: Any) -> Report:
        """Have a run started or resumed; `die` is the number of a request, and seconds after it."""
        report = Path(f"{home}.report")
        report.unlink(missing_ok=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        told = {"do": do, "home": str(home), "url": self.server.url, "report": str(report), **order}
        if self.database:
            told |= {"database": self.database, "thread": home.name}
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        done = json.loads(self.process.stdout.readline())
        found = json.loads(report.read_text()) if report.exists() else {}
        assert "crashed" not in found, found["crashed"]
        return {**done, **found}

    def paid(self, home: Path) -> int:
        """How many answers are kept."""
        if self.database:
            psycopg = importlib.import_module("psycopg")
            with psycopg.connect(self.database) as connection:
                count = "SELECT COUNT(*) FROM memory_bank_runs.kept WHERE thread = %s AND kind = 'call'"
                return connection.execute(count, (home.name,)).fetchone()[0]
        return paid(home)

    def asked(self) -> list[str]:
        """The bodies of all requests since the server was reset."""
        return [json.dumps(request.body, sort_keys=True) for request in self.server.chats]


@pytest.fixture(scope="module", params=["files", "database"])
def payer(request: pytest.FixtureRequest) -> Iterator[Payer]:
    database = request.getfixturevalue("postgres") if request.param == "database" else None
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment = {**clean, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(BESIDE / "paid_driver.py")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory(dir=place) as folder,
        subprocess.Popen(command, env=environment, **pipes) as process,
    ):
        for name in set(os.environ) - set(clean):
            patch.delenv(name)
        patch.setenv("PYTHONPATH", str(BESIDE), prepend=os.pathsep)
        with ModelServer.spawn("paid_script:judge", latency=LATENCY) as server:
            yield Payer(process, server, Path(folder), database)
        process.kill()


@pytest.fixture(scope="module")
def whole(payer: Payer) -> Report:
    """The run that nobody kills."""
    found = payer.tell(payer.home(), "run")
    asked = payer.asked()
    assert found["output"]["status"] == "completed"
    assert found["memory"]["interaction_tree"]["merges"]
    assert len(asked) == len(set(asked)) == found["output"]["usage"]["calls"]
    return {**found, "asked": asked}


def paid(home: Path) -> int:
    """How many answers are on disk."""
    file = Home(home).answers("t")
    if not file.exists():
        return 0
    connection = sqlite3.connect(file)
    try:
        return connection.execute("SELECT COUNT(*) FROM calls").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def points(wanted: int, requests: int) -> list[tuple[int, float]]:
    """Seeded moments of a run: a request, and up to one and a half times what an answer takes."""
    chance = random.Random(11)
    return [(chance.randint(1, requests), chance.uniform(0, 1.5 * LATENCY)) for _ in range(wanted)]


def kill_and_resume(payer: Payer, whole: Report, die: tuple[int, float]) -> None:
    home = payer.home()
    payer.server.reset()
    killed = payer.tell(home, "run", die=die)
    received = payer.asked()
    in_flight = len(received) - payer.paid(home)
    assert 0 <= in_flight <= AT_ONCE, die

    resumed = payer.tell(home, "resume") if killed["killed"] else killed

    asked = payer.asked()
    assert resumed["memory"] == whole["memory"], die
    assert resumed["output"]["answer"] == whole["output"]["answer"], die
    assert resumed["output"]["usage"] == whole["output"]["usage"], die
    assert set(asked) == set(whole["asked"]), die
    assert len(asked) - len(whole["asked"]) <= in_flight, die


def test_a_run_killed_while_it_is_asking_pays_again_for_what_was_in_flight_alone(payer: Payer, whole: Report) -> None:
    for die in points(2, len(whole["asked"])):
        kill_and_resume(payer, whole, die)


@pytest.mark.kill_full
def test_killed_at_thirty_points_at_random(payer: Payer, whole: Report) -> None:
    for die in points(POINTS, len(whole["asked"])):
        kill_and_resume(payer, whole, die)


def test_a_run_killed_again_while_it_is_resumed_comes_to_the_same(payer: Payer, whole: Report) -> None:
    home = payer.home()
    payer.server.reset()
    in_flight = 0
    for do, die in (("run", (5, 0.01)), ("resume", (9, 0.03)), ("resume", (6, 0.02))):
        assert payer.tell(home, do, die=die)["killed"]
    in_flight = len(payer.asked()) - payer.paid(home)
    resumed = payer.tell(home, "resume")

    assert in_flight <= 3 * AT_ONCE
    assert resumed["memory"] == whole["memory"]
    assert len(payer.asked()) - len(whole["asked"]) <= in_flight


@pytest.mark.parametrize("die", [None, (4, 0.02)])
def test_a_budget_holds_across_a_kill(payer: Payer, whole: Report, die: tuple[int, float] | None) -> None:
    home = payer.home()
    payer.server.reset()
    budget = {"budget_calls": 10}
    found = payer.tell(home, "run", settings=budget, die=die)
    if die:
        assert found["killed"]
        found = payer.tell(home, "resume")

    assert found["output"]["pause"]["reason"] == "calls"
    assert payer.paid(home) == 10
    repeated = len(payer.asked()) - 10
    assert repeated <= (AT_ONCE if die else 0)

    ended = payer.tell(home, "resume", decision={"budget_calls": 1_000})
    assert ended["memory"] == whole["memory"]
    assert ended["output"]["answer"] == whole["output"]["answer"]
    assert len(payer.asked()) == len(whole["asked"]) + repeated
