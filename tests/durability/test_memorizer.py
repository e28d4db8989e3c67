"""Killed with SIGKILL in the middle of memorizing 80 pages, a run is resumed without a lost, doubled or half page."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

BESIDE = Path(__file__).parent
PAGES = 80
AT_ONCE = 4
Report = dict[str, Any]
WAYS = ["again", "resume"]
"""The same command once more; or the graph's own checkpoints."""
POINTS = [("before put", 3), ("after put", 3), ("after put", 7), ("before insert", 25), ("after insert", 60)]
"""Before a batch is written, in the middle of its transaction, and after it is there and nobody has noted it."""


@dataclass
class Memory:
    """The process that memorizes."""

    process: "subprocess.Popen[str]"
    folder: Path
    number: Iterator[int]

    def home(self) -> Path:
        return self.folder / str(next(self.number))

    def tell(self, home: Path, how: str, die: tuple[str, int] | None = None) -> Report:
        report = Path(f"{home}.report")
        report.unlink(missing_ok=True)
        assert self.process.stdin
        assert self.process.stdout
        order = {"home": str(home), "how": how, "die": die, "report": str(report), "begun": next(self.number)}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        done = json.loads(self.process.stdout.readline())
        found = json.loads(report.read_text()) if report.exists() else {}
        assert "crashed" not in found, found["crashed"]
        return {**done, **found}


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    command = [sys.executable, "-W", "error", str(BESIDE / "memorizing_driver.py")]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        TemporaryDirectory(dir=place) as folder,
        subprocess.Popen(command, env=environment, **pipes) as process,
    ):
        yield Memory(process, Path(folder), count(1))
        process.kill()


@pytest.fixture(scope="module")
def whole(memory: Memory) -> dict[str, Report]:
    """The runs that nobody kills."""
    found = {how: memory.tell(memory.home(), how) for how in WAYS}
    for report in found.values():
        assert len(report["texts"]) == len(set(report["texts"])) == report["events"] == PAGES
        assert report["output"]["status"] == "completed"
        assert len(report["asked"]) == len(set(report["asked"])) == report["output"]["usage"]["calls"] < PAGES
    assert found["again"]["abstracts"] == found["resume"]["abstracts"]
    return found


def assert_same(ended: Report, whole: Report) -> None:
    """Every page is there once, in its place, with its own abstract."""
    assert ended["texts"] == whole["texts"]
    assert ended["abstracts"] == whole["abstracts"]
    assert ended["events"] == PAGES
    assert ended["output"]["status"] == "completed"
    assert {".answers", ".half"}.isdisjoint(ended["files"]), "what was for this run alone is gone"


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("die", POINTS, ids=lambda die: f"{die[0]} {die[1]}")
def test_killed_while_pages_are_written_nothing_is_lost_doubled_or_paid_again(
    memory: Memory, whole: dict[str, Report], how: str, die: tuple[str, int]
) -> None:
    home = memory.home()
    assert memory.tell(home, how, die)["killed"]

    ended = memory.tell(home, how)

    assert_same(ended, whole[how])
    assert ended["asked"] == whole[how]["asked"] or sorted(ended["asked"]) == sorted(whole[how]["asked"])
    if how == "resume":
        assert ended["output"]["pages"] == whole[how]["output"]["pages"]
        assert ended["output"]["skipped"] == []
        assert ended["output"]["usage"] == whole[how]["output"]["usage"]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("die", [("request", 1), ("request", 17), ("answer", 30)], ids=lambda die: f"{die[0]} {die[1]}")
def test_killed_while_a_model_is_asked_only_what_was_in_flight_is_paid_again(
    memory: Memory, whole: dict[str, Report], how: str, die: tuple[str, int]
) -> None:
    home = memory.home()
    assert memory.tell(home, how, die)["killed"]

    ended = memory.tell(home, how)

    assert_same(ended, whole[how])
    assert set(ended["asked"]) == set(whole[how]["asked"])
    assert len(ended["asked"]) - len(whole[how]["asked"]) <= AT_ONCE


@pytest.mark.parametrize("point", ["before checkpoint", "after checkpoint", "before writes", "after writes"])
def test_killed_at_a_checkpoint_a_run_goes_on(memory: Memory, whole: dict[str, Report], point: str) -> None:
    most = whole["resume"]["moments"][point]
    for number in (1, most // 2, most):
        home = memory.home()
        assert memory.tell(home, "resume", (point, number))["killed"]

        ended = memory.tell(home, "resume")

        assert_same(ended, whole["resume"])
        assert len(ended["asked"]) == len(whole["resume"]["asked"])


@pytest.mark.parametrize("how", WAYS)
def test_killed_again_and_again_it_comes_to_the_same(memory: Memory, whole: dict[str, Report], how: str) -> None:
    home = memory.home()
    kills = [("request", 12), ("after insert", 12), ("before put", 2), ("answer", 9), ("after put", 1)]
    assert [die for die in kills if not memory.tell(home, how, die)["killed"]] == []

    ended = memory.tell(home, how)

    assert_same(ended, whole[how])
    assert len(ended["asked"]) - len(whole[how]["asked"]) <= 2 * AT_ONCE


@pytest.mark.kill_full
@pytest.mark.parametrize("how", WAYS)
def test_killed_at_sixty_points_at_random(memory: Memory, whole: dict[str, Report], how: str) -> None:
    chance = random.Random(5)
    moments = whole[how]["moments"]
    for _ in range(60):
        name = chance.choice(sorted(moments))
        home = memory.home()
        assert memory.tell(home, how, (name, chance.randint(1, moments[name])))["killed"]
        ended = memory.tell(home, how)
        assert_same(ended, whole[how])
        assert len(ended["asked"]) - len(whole[how]["asked"]) <= AT_ONCE
