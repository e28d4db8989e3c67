"""Processes that write the memories of one user together lose nothing, double nothing, and leave nothing half done."""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.state.errors import StorageError
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.user_memories import UserMemories
from agentic_memory_bank.tools.memories.validation import user_hash
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

DRIVER = Path(__file__).with_name("records_driver.py")
Lines = list[dict[str, Any]]


def known(memories: RecordStore) -> UserMemories:
    """What this process has read of Ann's memories."""
    found = memories._users.peek(user_hash("ann"))
    assert found is not None
    return found


class Writers:
    """Processes that write into one file."""

    def __init__(self, folder: Path, exits: ExitStack) -> None:
        self.folder, self.exits, self.place = folder, exits, folder / "bank" / "memories.sqlite"
        self.processes: list[subprocess.Popen[str]] = []

    def begin(self, count: int, operations: int) -> None:
        """Start them; all begin to write at the same moment."""
        moment = str(time.time() + 1.5)
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        for number in range(count):
            command = [sys.executable, "-W", "error", str(DRIVER), str(self.place), str(self.done(number))]
            command += [str(number), str(operations), moment]
            process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, text=True)
            self.exits.callback(self.end, process)
            self.processes.append(process)

    def done(self, number: int) -> Path:
        return self.folder / f"{number}.done"

    def said(self, number: int) -> Lines:
        lines = self.done(number).read_text().split("\n") if self.done(number).exists() else []
        return [json.loads(line) for line in lines[:-1]]

    def wait_for(self, number: int, lines: int) -> None:
        while self.processes[number].poll() is None and len(self.said(number)) < lines:
            time.sleep(0.02)

    def wait(self, numbers: list[int]) -> list[Lines]:
        """Let each end; the last line of each is what it sees when all are done."""
        for number in numbers:
            while not any("ended" in line for line in self.said(number)):
                assert self.processes[number].poll() is None, "a process has failed"
                time.sleep(0.05)
        for number in numbers:
            self.processes[number].communicate("\n")
            assert self.processes[number].returncode == 0
        return [self.said(number) for number in numbers]

    @staticmethod
    def end(process: "subprocess.Popen[str]") -> None:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def writers() -> Iterator[Writers]:
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with TemporaryDirectory(dir=place) as folder, ExitStack() as exits:
        yield Writers(Path(folder), exits)


def every_record(place: Path) -> dict[str, Any]:
    """All memories, as a process that has just started finds them."""
    store = SqliteRecordStore(place)
    memories = RecordStore(store, Encoder(HashEmbeddings(16)))
    memories.list("ann")
    store.close()
    return dict(known(memories).index.records)


def assert_nothing_is_lost(records: dict[str, Any], said: Lines) -> None:
    """Whatever a process was told to be done is there."""
    touched = Counter(id for line in said for id in line.get("touched", ()))
    for id, count in touched.items():
        assert records[id]["access_count"] >= count
    worded = {id: {records[id]["text"], *(w["text"] for w in records[id]["history"])} for id in records}
    for line in said:
        if "revised" in line:
            assert line["text"] in worded[line["revised"]]
    held = {text for texts in worded.values() for text in texts}
    for line in said:
        assert line.get("stored", line.get("text", "Shared fact 0.")) in held
        if "seen_by" in line:
            (record,) = [r for r in records.values() if r["text"] == line["stored"]]
            assert line["seen_by"] in {source["conversation"] for source in record["sources"]}


def assert_together(writers: Writers, processes: int, operations: int) -> None:
    writers.begin(processes, operations)
    said = writers.wait(list(range(processes)))

    records = every_record(writers.place)
    everything = [line for lines in said for line in lines]
    assert_nothing_is_lost(records, everything)
    touched = Counter(id for line in everything for id in line.get("touched", ()))
    assert {id: r["access_count"] for id, r in records.items() if r["access_count"]} == dict(touched)
    current = [r["text"] for r in records.values() if not r["replaced_by"]]
    assert [text for text, count in Counter(current).items() if count > 1] == [], "no fact is there twice"
    revised = Counter(line["revised"] for line in everything if "revised" in line)
    assert {id: len(records[id]["history"]) for id in revised} == dict(revised)
    assert all(line["forgotten"] not in records for line in everything if "forgotten" in line)
    for lines in said:
        assert lines[-1]["sees"] == records, "who followed all the time sees what one sees who has just come"
    assert len({tuple(lines[-1]["found"]) for lines in said}) == 1


def test_two_processes_that_write_a_thousand_operations_lose_and_double_nothing(writers: Writers) -> None:
    assert_together(writers, 2, 500)

    files = [path for path in writers.place.parent.rglob("*") if path.is_file()]
    assert b"Secret" not in b"".join(path.read_bytes() for path in files)


@pytest.mark.kill_full
def test_four_processes_that_write_ten_thousand_operations_lose_and_double_nothing(writers: Writers) -> None:
    assert_together(writers, 4, 2_500)


def test_what_a_process_has_done_before_it_is_killed_is_there_and_nothing_is_half_done(writers: Writers) -> None:
    writers.begin(2, 250)
    writers.wait_for(0, 100)
    writers.processes[0].kill()
    writers.processes[0].wait()

    (said,) = writers.wait([1])

    records = every_record(writers.place)
    assert_nothing_is_lost(records, [*said, *writers.said(0)])
    assert said[-1]["sees"] == records
    assert all(record["text"] and record["version"] for record in records.values())


class UpAndDown(InMemoryStore):
    """Fails at random: before it does anything, or after it has done it, without saying so."""

    chance: random.Random | None = None

    def batch(self, ops: Any) -> Any:
        fate = self.chance.random() if self.chance else 1.0
        if fate < 0.2:
            raise ConnectionError("the store is down")
        done = super().batch(ops)
        if fate < 0.3 and any(isinstance(op, PutOp) for op in ops):
            raise TimeoutError("no answer")
        return done


def test_a_store_that_goes_up_and_down_loses_nothing_it_has_confirmed() -> None:
    store = UpAndDown()
    encoder = Encoder(HashEmbeddings(16))
    processes = [RecordStore(store, encoder) for _ in range(2)]
    shared = processes[0].store("ann", "Shared.").record["id"]
    store.chance = random.Random(7)
    kept, failed, touches = set[str](), 0, 0

    for step in range(1_000):
        text = f"Fact {step % 400}."
        try:
            if step % 5 == 0:
                processes[step % 2].count_use("ann", [shared])
                touches += 1
            else:
                processes[step % 2].store("ann", text)
                kept.add(text)
        except StorageError:
            failed += 1

    store.chance = None
    assert all(memories.flush(5) for memories in processes)
    for memories in (*processes, RecordStore(store, encoder)):
        memories.list("ann")
        records = known(memories).index.records
        texts = [record["text"] for record in records.values()]
        assert kept <= set(texts)
        assert len(texts) == len(set(texts))
        assert touches == records[shared]["access_count"] == 200
    assert failed > 100
