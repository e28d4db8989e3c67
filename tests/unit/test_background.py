"""What nobody waits for is done in order for each user, in a bounded queue, and never in anybody's way."""

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from agentic_memory_bank.tools.concurrency import worker_pool
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool


@pytest.fixture
def queue() -> Iterator[WorkerPool]:
    made = WorkerPool(10)
    yield made
    made.close(1)


class Gate:
    """Holds a worker up until it is opened."""

    def __init__(self) -> None:
        self._open, self._reached = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self._reached.set()
        self._open.wait(60)

    def reached(self) -> None:
        assert self._reached.wait(60)

    def open(self) -> None:
        self._open.set()


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit, "it did not come to pass"
        time.sleep(0.01)


def test_what_is_handed_over_is_done(queue: WorkerPool) -> None:
    done: list[int] = []
    assert all(queue.submit("ann", lambda n=n: done.append(n)) for n in range(10))
    assert queue.flush(60)
    assert done == list(range(10))


def test_a_full_queue_drops_what_comes_without_waiting_and_says_so_once(
    queue: WorkerPool, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    queue.submit("ann", gate)
    gate.reached()
    began = time.monotonic()
    taken = [queue.submit("ann", lambda: None) for _ in range(30)]

    assert time.monotonic() - began < 30, "there is no room for a minute"
    assert taken == [True] * 10 + [False] * 20
    assert queue.dropped == 20
    assert len([r for r in caplog.records if "dropped" in r.message]) == 1
    gate.open()
    assert queue.flush(60)
    assert queue.submit("ann", lambda: None)


def test_the_jobs_of_one_user_are_done_in_order_and_never_at_the_same_time() -> None:
    queue, done, at_once, most = WorkerPool(1_000, workers=4), [], set(), []

    def job(key: str, number: int) -> None:
        most.append(key in at_once)
        at_once.add(key)
        time.sleep(0.0005)
        at_once.discard(key)
        done.append((key, number))

    for number in range(50):
        for key in ("ann", "bob", "eve"):
            queue.submit(key, lambda key=key, number=number: job(key, number))
    assert queue.flush(60)

    assert not any(most)
    for key in ("ann", "bob", "eve"):
        assert [number for whose, number in done if whose == key] == list(range(50))
    queue.close()


def test_a_user_who_takes_long_holds_nobody_else_up() -> None:
    queue, gate, done = WorkerPool(10, workers=2), Gate(), threading.Event()
    queue.submit("ann", gate)
    queue.submit("ann", lambda: None)
    queue.submit("bob", done.set)

    assert done.wait(60)
    gate.open()
    queue.close()


def test_what_a_user_has_waiting_can_be_dropped(queue: WorkerPool) -> None:
    gate, done = Gate(), []
    queue.submit("eve", gate)
    gate.reached()
    for key in ("ann", "bob", "ann"):
        queue.submit(key, lambda key=key: done.append(key))

    assert queue.drop("ann") == 2
    assert queue.drop("ann") == 0
    gate.open()
    assert queue.flush(60)
    assert done == ["bob"]


def test_what_a_job_raises_reaches_nobody_and_is_logged_without_its_words(
    queue: WorkerPool, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ValueError("Ann lives in Berlin")

    def leave() -> None:
        raise SystemExit(3)

    done: list[int] = []
    for job in (fail, leave, lambda: done.append(1)):
        queue.submit("ann", job)
    with caplog.at_level(logging.INFO):
        assert queue.flush(60)

    assert done == [1]
    assert "ValueError" in caplog.text
    assert "SystemExit" in caplog.text
    assert "Berlin" not in caplog.text


def test_waiting_for_the_queue_ends_when_time_is_up(queue: WorkerPool) -> None:
    gate, told = Gate(), []
    queue.submit("ann", gate)
    assert not queue.flush(0.05)
    gate.open()
    queue.submit("ann", lambda: told.append(queue.flush()))
    assert queue.flush(60)
    assert told == [False]


def test_what_is_closed_ends_what_it_has_and_takes_nothing_more() -> None:
    queue, done = WorkerPool(10), []
    for n in range(5):
        queue.submit("ann", lambda n=n: done.append(n))
    queue.close(5)

    assert done == [0, 1, 2, 3, 4]
    assert not queue.submit("ann", lambda: None)
    assert queue.dropped == 1


def test_what_cannot_be_done_in_time_is_dropped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    queue, gate = WorkerPool(10), Gate()
    queue.submit("ann", gate)
    gate.reached()
    queue.submit("ann", lambda: None)
    queue.close(0.05)

    assert queue.dropped == 1
    assert "the end came first" in caplog.text
    gate.open()


def test_threads_without_work_end_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "IDLE_SECONDS", 0.01)
    queue, done = WorkerPool(10), []
    for n in range(3):
        queue.submit("ann", lambda n=n: done.append(n))
        assert queue.flush(60)
        until(lambda: not queue._threads)

    assert done == [0, 1, 2]


def test_nothing_grows_with_the_users_there_were(queue: WorkerPool) -> None:
    for n in range(500):
        queue.submit(f"user {n}", lambda: None)
        queue.flush(60)

    assert not queue._waiting
    assert not queue._running
    assert len(queue._threads) <= 1


AT_THE_END = """
import time
from concurrent.futures import ThreadPoolExecutor
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool

def job(number):
    time.sleep(0.2)
    with ThreadPoolExecutor(2) as pool:
        print(number, list(pool.map(str, range(3))), flush=True)

queue = WorkerPool(10)
for number in range(3):
    queue.submit("ann", lambda number=number: job(number))
"""

HANGS = """
import threading
import time
from agentic_memory_bank.tools.concurrency import worker_pool
worker_pool.EXIT_SECONDS = 0.3
queue = worker_pool.WorkerPool(10)
begun = threading.Event()
queue.submit("ann", lambda: (begun.set(), time.sleep(600)))
begun.wait()
"""


def _run(script: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_process_that_ends_does_first_what_is_still_to_be_done() -> None:
    ended = _run(AT_THE_END)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [f"{n} ['0', '1', '2']" for n in range(3)]


def test_a_process_ends_even_if_a_job_does_not() -> None:
    assert _run(HANGS).returncode == 0


FORKED = """
import os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool

gate, begun, done = threading.Event(), threading.Event(), []
queue = WorkerPool(10)
queue.submit("ann", lambda: (begun.set(), gate.wait(60)))
begun.wait(60)
queue.submit("ann", lambda: done.append("parent"))
child = os.fork()
if not child:
    queue.submit("ann", lambda: done.append("child"))
    ended = queue.flush(60)
    os._exit(0 if ended and done == ["child"] else 1)
_, status = os.waitpid(child, 0)
gate.set()
assert queue.flush(60) and done == ["parent"], done
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_after_a_fork_the_child_begins_with_an_empty_queue_of_its_own() -> None:
    command = [sys.executable, "-c", FORKED]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
