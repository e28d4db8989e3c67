"""The full run, killed with SIGKILL at any moment and resumed, comes to the memory and the answer of one not killed."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import util
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest

from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.testing import ModelServer, SpawnedServer

pytestmark = [pytest.mark.server, pytest.mark.enable_socket, pytest.mark.kill]

Report = dict[str, Any]
Moment = tuple[str, int]

BESIDE = Path(__file__).parent
PARTS = 6
"""A test that takes ten minutes is taken to hang; all moments together take longer."""
LATENCY = 0.005
"""Seconds that the model takes to answer."""
AT_ONCE = 8
"""Requests that a stage makes at the same time, by default."""
BOUNDARY = "after put"
"""A super-step is over, and its checkpoint is on disk."""
_SAME = ("before put", "before put_writes", "after put_writes", "ask")
"""Moments at which nothing else is on disk than at the one before or after them."""


def _neighbour(name: str) -> ModuleType:
    """A module beside this one; pytest puts no folder on the path."""
    spec = util.spec_from_file_location(name, BESIDE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


full = _neighbour("full_script")


@dataclass
class Bank:
    """The process that runs the scenario, and the model and the web that it asks, which outlive its kills."""

    process: "subprocess.Popen[str]"
    server: SpawnedServer
    web: Any
    folder: Path
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def home(self, template: Path | None = None) -> Path:
        """A home of its own for a run, or a copy of one."""
        home = self.folder / str(next(self.numbers))
        if template:
            shutil.copytree(template, home)
        return home

    def tell(self, scenario: str, home: Path, do: str, **order: Any) -> Report:
        """Have a run started or resumed; `at` names a moment to die at, `die` a request and seconds after it."""
        report = Path(f"{home}.report")
        report.unlink(missing_ok=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        told = {"do": do, "scenario": scenario, "home": str(home), "report": str(report), **order}
        told |= {"url": self.server.url, "search": self.web.search}
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        done = json.loads(self.process.stdout.readline())
        found = json.loads(report.read_text()) if report.exists() else {}
        assert "crashed" not in found, found["crashed"]
        return {**done, **found, "moments": report.with_suffix(".trace").read_text().splitlines()}

    def forget(self) -> None:
        """Count requests and visits from 0."""
        self.server.reset()
        self.web.asked.clear()

    def asked(self) -> list[str]:
        """The bodies of all requests since then."""
        return [json.dumps(request.body, sort_keys=True) for request in self.server.chats]


@dataclass(frozen=True)
class Whole:
    """What a scenario comes to when nobody kills it."""

    scenario: str
    run: Report
    asked: list[str]
    visited: list[str]
    home: Path
    template: Path | None
    """The home it began with."""

    @property
    def moments(self) -> list[Moment]:
        """All moments of the run, each with its occurrence."""
        seen: Counter[str] = Counter()
        found: list[Moment] = []
        for moment in self.run["moments"]:
            seen[moment] += 1
            found.append((moment, seen[moment]))
        return found


@pytest.fixture(scope="module")
def bank() -> Iterator[Bank]:
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment = {**clean, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(BESIDE / "full_driver.py")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory(dir=place) as folder,
        full.serve_web() as web,
        subprocess.Popen(command, env=environment, **pipes) as process,
    ):
        for name in set(os.environ) - set(clean):
            patch.delenv(name)
        patch.setenv("PYTHONPATH", str(BESIDE), prepend=os.pathsep)
        with ModelServer.spawn("full_script:judge", latency=LATENCY) as server:
            yield Bank(process, server, web, Path(folder))
        process.kill()


@pytest.fixture(scope="module")
def unkilled(bank: Bank) -> dict[str, Whole]:
    """The full run, and the second question on its thread."""
    found: dict[str, Whole] = {}
    template = None
    for scenario in ("full", "again"):
        home = bank.home(template)
        bank.forget()
        run = bank.tell(scenario, home, "run")
        assert "pause" not in run["output"]
        found[scenario] = Whole(scenario, run, bank.asked(), list(bank.web.asked), home, template)
        template = home
    assert found["full"].run["output"]["status"] == "completed"
    assert found["full"].visited == ["/search", "/height", "/lift.png"]
    return found


def on_disk(home: Path) -> Counter[str]:
    """How many answers of the model are on disk, and how many results of the web."""
    file = Home(home).answers("t")
    if not file.exists():
        return Counter()
    connection = sqlite3.connect(file)
    try:
        return Counter({what: connection.execute(question).fetchone()[0] for what, question in _ON_DISK.items()})
    except sqlite3.OperationalError:
        return Counter()
    finally:
        connection.close()


_ON_DISK = {
    "answers": "SELECT COUNT(*) FROM calls",
    "results": "SELECT COUNT(*) FROM results "
    "WHERE CASE WHEN json_valid(result) THEN json_extract(result, '$.name') END IN ('search', 'visit')",
}


def kill_and_resume(bank: Bank, whole: Whole, *deaths: Report) -> list[str]:
    """Kill a run at the first of these, its resumes at the others, then let it end; say what differs."""
    home = bank.home(whole.template)
    before, lost, kills = on_disk(home), Counter[str](), 0
    bank.forget()
    ended: Report = {"killed": True}
    for do, death in zip(["run", *["resume"] * len(deaths)], [*deaths, {}], strict=True):
        if ended["killed"]:
            ended = bank.tell(whole.scenario, home, do, **death)
        if ended["killed"]:
            kills += 1
            lost = Counter(answers=len(bank.asked()), results=len(bank.web.asked)) + before
            lost.subtract(on_disk(home))
    faults = faults_of(bank, whole, ended, lost, kills)
    shutil.rmtree(home)
    return [f"{whole.scenario} killed at {deaths}: {fault}" for fault in faults]


def faults_of(bank: Bank, whole: Whole, ended: Report, lost: Counter[str], kills: int) -> list[str]:
    """What differs from a run that nobody killed, and what was paid or fetched again though it was not lost."""
    asked, told = bank.asked(), whole.run
    checks = {
        "nothing was killed": not kills,
        "the last resume was killed": ended["killed"],
        "the memory differs": ended.get("memory") != told["memory"] or ended.get("digest") != told["digest"],
        "the outcome differs": ended.get("output") != told["output"],
        "other questions were asked": set(asked) != set(whole.asked),
        "more answers were lost than were in flight": not 0 <= lost["answers"] <= AT_ONCE * kills,
        "an answer was paid for again": len(asked) - len(whole.asked) > lost["answers"],
        "other pages were visited": set(bank.web.asked) != set(whole.visited),
        "more pages were lost than were on their way": not 0 <= lost["results"] <= kills,
        "a page was visited again": len(bank.web.asked) - len(whole.visited) > lost["results"],
    }
    return [fault for fault, found in checks.items() if found]


def boundaries(whole: Whole) -> list[Report]:
    """Every super-step's end."""
    return [{"at": moment} for moment in whole.moments if moment[0] == BOUNDARY]


def middles(whole: Whole) -> list[Report]:
    """Moments in a stage: as it begins and ends, around answers, results, files, and between write and commit."""
    return [{"at": moment} for moment in whole.moments if moment[0] not in (BOUNDARY, *_SAME)]


def in_requests(whole: Whole) -> list[Report]:
    """A moment while each request is on its way."""
    chance = random.Random(5)
    return [{"die": (number, chance.uniform(0, 1.5 * LATENCY))} for number in range(1, len(whole.asked) + 1)]


def some(found: Sequence[Report], wanted: int) -> list[Report]:
    """Some of them, at even distances, the last among them."""
    step = max(1, len(found) // wanted)
    return list(found[::-1][::step][:wanted])


def all_faults(bank: Bank, whole: Whole, deaths: Sequence[Report]) -> list[str]:
    return [fault for death in deaths for fault in kill_and_resume(bank, whole, death)]


# --- some of the points --------------------------------------------------------------------------------------------


def test_killed_between_stages_it_is_resumed_to_the_same(bank: Bank, unkilled: dict[str, Whole]) -> None:
    assert not all_faults(bank, unkilled["full"], some(boundaries(unkilled["full"]), 2))


def test_killed_within_stages_it_is_resumed_to_the_same(bank: Bank, unkilled: dict[str, Whole]) -> None:
    searched = {"at": ("after result kept", 1)}

    assert not all_faults(bank, unkilled["full"], [searched, *some(middles(unkilled["full"]), 2)])


def test_killed_while_it_asks_it_pays_again_for_what_was_in_flight_alone(
    bank: Bank, unkilled: dict[str, Whole]
) -> None:
    assert not all_faults(bank, unkilled["full"], some(in_requests(unkilled["full"]), 2))


def test_killed_while_a_step_fails_it_comes_to_the_same_failure(bank: Bank, unkilled: dict[str, Whole]) -> None:
    whole = unkilled["again"]

    assert whole.run["output"]["status"] == "completed_with_failures"
    assert not all_faults(bank, whole, some([*boundaries(whole), *middles(whole)], 3))


# --- all of them ---------------------------------------------------------------------------------------------------


@pytest.mark.kill_full
@pytest.mark.parametrize("scenario", ["full", "again"])
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_every_moment_there_is(bank: Bank, unkilled: dict[str, Whole], scenario: str, part: int) -> None:
    whole = unkilled[scenario]
    faults = all_faults(bank, whole, [*boundaries(whole), *middles(whole), *in_requests(whole)][part::PARTS])

    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults)


@pytest.mark.kill_full
def test_killed_again_and_again_while_it_is_resumed(bank: Bank, unkilled: dict[str, Whole]) -> None:
    whole, chance = unkilled["full"], random.Random(3)
    early = [{"at": moment} for moment in whole.moments if moment[1] <= 4]
    every = [*boundaries(whole), *middles(whole), *in_requests(whole)]
    faults = [
        fault
        for _ in range(20)
        for fault in kill_and_resume(
            bank, whole, chance.choice(every), *(chance.choice(early) for _ in range(chance.choice((1, 1, 2))))
        )
    ]

    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults)
