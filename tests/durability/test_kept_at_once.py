"""What was said is on disk before anybody hears an answer, whatever the embeddings do: a kill loses none of it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank import Memories
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

DRIVER = Path(__file__).with_name("keeping_driver.py")
Next = Callable[..., Memories]
Killed = Callable[[str], Any]


@pytest.fixture(scope="module")
def _driver() -> "Iterator[subprocess.Popen[str]]":
    """A warm process, whose children are killed. What takes no time has enough of it."""
    limits = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MEMORY_BANK_RECALL_TIMEOUT": "10"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, str(DRIVER)], env={**os.environ, **limits}, **pipes) as process:
        yield process
        process.kill()


@pytest.fixture
def killed(_driver: "subprocess.Popen[str]", tmp_path: Path) -> Killed:
    """What a process was told before it was killed; None for nothing."""

    def kill(act: str) -> Any:
        assert _driver.stdin
        assert _driver.stdout
        _driver.stdin.write(f"{act} {tmp_path}\n")
        _driver.stdin.flush()
        said = _driver.stdout.readline()
        ended = said if said.startswith("ended") else _driver.stdout.readline()
        assert ended == f"ended {-signal.SIGKILL:d}\n"
        return None if said == ended else json.loads(said)

    return kill


@pytest.fixture
def next_one(tmp_path: Path) -> Iterator[Next]:
    """The memories as the next process finds them."""
    opened: list[Memories] = []

    def make(**options: Any) -> Memories:
        opened.append(Memories(home=tmp_path, embeddings=HashEmbeddings(), **options))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def texts(memories: Memories, *types: Any) -> list[str]:
    return [record["text"] for record in memories.list(user="ana", types=types or None, limit=100).records]


def bare(memories: Memories) -> set[str]:
    """The ids of memories without a vector."""
    records = memories._records
    with records._users.opened(next(iter(records.users()))) as shelf:
        return set(shelf.index.unembedded)


def test_a_turn_is_known_after_a_kill_right_behind_its_answer(killed: Killed, next_one: Next) -> None:
    receipt = killed("talk")

    found = next_one()

    assert receipt["outcome"] == "queued"
    assert receipt["degraded"] == []
    assert [sum(name in text for text in texts(found)) for name in ("Rex", "Minka", "Halcyon")] == [1, 1, 1]
    assert "Rex" in found.recall("What is my dog called?", user="ana")["block"]
    assert "Rex" not in found.recall("Which bank keeps my savings?", user="ana")["block"]


def test_what_has_no_vector_gets_one_from_the_next_process_that_looks(killed: Killed, next_one: Next) -> None:
    killed("talk")
    found = next_one()
    assert len(bare(found)) == 3

    found.recall("What is my dog called?", user="ana")
    found.close()

    assert not bare(next_one())


@pytest.mark.parametrize("how", ["message", "another conversation", "maintain"])
def test_facts_that_a_killed_process_was_to_draw_are_drawn_by_the_next(
    killed: Killed, next_one: Next, how: str
) -> None:
    assert killed("later") == "queued"
    found = next_one()
    assert not texts(found, "semantic")

    if how == "maintain":
        found.maintain()
    else:
        said = "I like it here." if how == "message" else "Good to see you again, friend."
        found.talk(said, user="ana", conversation_id="c" if how == "message" else "d")
        found.flush()

    assert ["Rex" in text for text in texts(found, "semantic")].count(True) == 1


def test_a_full_queue_loses_no_turn(killed: Killed, next_one: Next) -> None:
    outcomes = killed("full")

    assert outcomes[-1] == "waiting"
    assert len(texts(next_one())) == 3


@pytest.mark.parametrize("moment", ["unanswered", "first_word"])
def test_what_the_user_said_is_kept_before_the_first_word_of_the_answer(
    killed: Killed, next_one: Next, moment: str
) -> None:
    assert killed(moment) is None

    (text,) = texts(next_one())

    assert "Rex" in text


def test_what_an_agent_did_is_kept_before_its_answer_is_handed_out(killed: Killed, next_one: Next) -> None:
    assert killed("agent") == "Both reports are fetched."

    found = next_one()
    done = found._records.agents.load("ana", "", "c")

    assert [one["result"] for one in done.invocations] == ["Both reports are fetched."]
    kept = found._records.agents.step("ana", "", "c", done.invocations[0]["id"])
    assert kept is not None
    assert "417 rows" in kept["text"]
    (episode,) = texts(found, "episodic")
    assert "Fetch the reports" in episode
    found.maintain()
    assert any("Rex" in text for text in texts(found, "semantic"))
