"""The answers a task has paid for are kept at once, found again, and counted."""

import errno
import importlib
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from agentic_memory_bank.engines.llm.answer_rows import answers_at
from agentic_memory_bank.engines.llm.answers import AnswerStore, Call
from agentic_memory_bank.state.errors import StorageDamagedError, StorageError


def call(run: str = "i1", role: str = "classify", tokens: tuple[int, int] = (10, 2), mode: str = "json_schema") -> Call:
    return Call(run, role, "local:m", mode, *tokens)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "task" / "answers.sqlite"


@pytest.fixture(params=["memory", "database"])
def store(request: pytest.FixtureRequest) -> Iterator[AnswerStore]:
    """A store that holds no answers."""
    if request.param == "memory":
        yield AnswerStore()
        return
    url = request.getfixturevalue("postgres")
    database = importlib.import_module("agentic_memory_bank.runs.database").RunDatabase(url)
    yield answers_at(database.rows(uuid4().hex))
    database.close()


def test_an_answer_is_found_under_its_key_and_no_other(store: AnswerStore) -> None:
    store.note(call(), "k", '{"a": 1}')

    assert store.find("k") == '{"a": 1}'
    assert store.find("other") is None


def test_an_answer_is_on_disk_as_soon_as_it_is_noted(path: Path) -> None:
    store = AnswerStore(path)

    store.note(call(), "k", "said")

    connection = sqlite3.connect(path)
    assert connection.execute("SELECT answer FROM calls").fetchall() == [("said",)]
    connection.close()
    assert AnswerStore(path).find("k") == "said"
    store.close()


def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    store = AnswerStore(path)
    store.note(call())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    store.close()


def test_calls_alike_are_counted_together_and_those_of_other_runs_are_not(store: AnswerStore) -> None:
    for given in (call(), call(tokens=(5, 1)), call(mode="prompt"), call(run="i2")):
        store.note(given)

    assert store.calls("i1") == [(call(tokens=(15, 3)), 2), (call(mode="prompt"), 1)]
    assert store.calls("i3") == []


def test_a_failed_call_is_counted_without_an_answer(store: AnswerStore) -> None:
    store.note(call(tokens=(0, 0)))
    store.note(call(tokens=(0, 0)))

    assert store.calls("i1") == [(call(tokens=(0, 0)), 2)]


def test_a_question_that_was_asked_twice_counts_twice_and_its_last_answer_holds(store: AnswerStore) -> None:
    store.note(call(), "k", "first")
    store.note(call(), "k", "second")

    assert store.find("k") == "second"
    assert store.calls("i1") == [(call(tokens=(20, 4)), 2)]


def test_a_store_that_was_closed_opens_again(path: Path) -> None:
    store = AnswerStore(path)
    store.note(call(), "k", "said")
    store.close()
    store.close()

    assert store.find("k") == "said"
    store.close()


def test_many_threads_note_and_find_at_once(path: Path) -> None:
    store = AnswerStore(path)

    def work(number: int) -> None:
        store.note(call(), f"k{number}", f"said {number}")
        assert store.find(f"k{number}") == f"said {number}"

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert store.calls("i1")[0][1] == 16
    store.close()


def test_a_child_of_a_fork_opens_the_file_for_itself(path: Path) -> None:
    store = AnswerStore(path)
    store.note(call(), "k", "said")

    pid = os.fork()
    if pid == 0:
        done = store.find("k") == "said"
        store.note(call(), "child", "said by the child")
        os._exit(0 if done else errno.EIO)
    _, status = os.waitpid(pid, 0)

    assert status == 0
    assert store.find("child") == "said by the child"
    store.close()


def test_a_damaged_file_says_what_to_do(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database, it only looks like a file " * 200)
    store = AnswerStore(path)

    with pytest.raises(StorageDamagedError, match="Remove the file"):
        store.find("k")
    store.close()


def test_what_else_goes_wrong_is_an_error_of_storage(path: Path) -> None:
    store = AnswerStore(path)
    store.note(call())
    other = sqlite3.connect(path)
    other.execute("DROP TABLE calls")
    other.commit()
    other.close()

    with pytest.raises(StorageError, match="does not have the tables"):
        store.find("k")
    store.close()
