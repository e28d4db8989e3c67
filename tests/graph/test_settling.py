"""A contradiction is settled by hand: the next answer follows it, and it is a step of the thread's history."""

from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank import run, view
from agentic_memory_bank.runs import read_state, settle, unsettle
from agentic_memory_bank.runs.viewer.actions import LookedAtBank
from agentic_memory_bank.state.errors import InputError, UnknownThreadError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

QUESTION = "How high is the Orlo dam?"
TEXTS = {"leaflet.txt": "The Orlo dam is 92 metres high.\n", "blog.txt": "The Orlo dam is 71 metres high.\n"}


@pytest.fixture
def disputed(tmp_path: Path) -> Path:
    """A home with a thread on which two texts stand against each other."""
    documents = [{"text": text, "source": name} for name, text in TEXTS.items()]
    found = run(QUESTION, documents=documents, thread="dam", home=tmp_path, embeddings=HashEmbeddings())
    assert {one["status"] for one in found["conflicts"]} == {"disputed"}
    return tmp_path


def contradiction(home: Path) -> Any:
    return read_state("dam", home=home)["conflicts"][0]


def test_an_answer_after_it_quotes_only_what_holds(disputed: Path) -> None:
    found = contradiction(disputed)
    winner = next(n for n, claim in enumerate(found["claims"]) if "92" in claim["value"])

    settle("dam", found["id"], 0, winner, why="The leaflet is by those who built it.", home=disputed)
    answered = run(QUESTION, thread="dam", home=disputed, embeddings=HashEmbeddings())

    assert "92 metres" in answered["answer"]
    assert "71" not in answered["answer"]
    assert [one["status"] for one in answered["conflicts"]] == ["settled"]


def test_it_is_kept_with_its_reason_and_is_a_step_of_the_history(disputed: Path) -> None:
    found = contradiction(disputed)
    before = len(view("dam", home=disputed).snapshot["steps"])  # type: ignore[typeddict-item]

    settled = settle("dam", found["id"], 0, 0, why="I measured it.", home=disputed)

    assert settled["status"] == "settled"
    assert contradiction(disputed)["explanation"] == "Settled by hand: I measured it."
    assert contradiction(disputed)["winner"] == 0
    shown: Any = view("dam", home=disputed).snapshot
    assert [step["stage"] for step in shown["steps"][before:]] == ["by hand"]
    assert shown["steps"][-1]["conflicts"] == {found["id"]: "settled"}
    assert shown["contradictions"][0]["explanation"] == "Settled by hand: I measured it."


def test_other_contradictions_between_the_same_values_are_settled_with_it(tmp_path: Path) -> None:
    texts = {**TEXTS, "guide.txt": "Visitors should know: the Orlo dam is 92 metres high, and windy.\n"}
    documents = [{"text": text, "source": name} for name, text in texts.items()]
    run(QUESTION, documents=documents, thread="dam", home=tmp_path, embeddings=HashEmbeddings())
    found = contradiction(tmp_path)
    winner = next(n for n, claim in enumerate(found["claims"]) if "71" in claim["value"])

    settled = settle("dam", found["id"], 0, winner, home=tmp_path)

    assert len(settled["contradictions"]) > 1
    assert {one["claims"][one["winner"] or 0]["value"] for one in settled["contradictions"]} == {"71 metres"}


def test_it_may_be_settled_the_other_way(disputed: Path) -> None:
    found = contradiction(disputed)
    settle("dam", found["id"], 0, 0, home=disputed)
    settle("dam", found["id"], 0, 1, home=disputed)

    assert contradiction(disputed)["winner"] == 1


def test_what_was_settled_by_hand_is_taken_back_step_by_step(disputed: Path) -> None:
    found = contradiction(disputed)
    settle("dam", found["id"], 0, 0, home=disputed)
    first = contradiction(disputed)
    settle("dam", found["id"], 0, 1, home=disputed)

    assert unsettle("dam", found["id"], home=disputed)["status"] == "settled"
    assert contradiction(disputed) == first
    assert unsettle("dam", found["id"], home=disputed)["status"] == "disputed"
    assert contradiction(disputed) == found
    shown: Any = view("dam", home=disputed).snapshot
    assert [step["stage"] for step in shown["steps"][-4:]] == ["by hand"] * 4
    answered = run(QUESTION, thread="dam", home=disputed, embeddings=HashEmbeddings())
    assert {one["status"] for one in answered["conflicts"]} == {"disputed"}


def test_a_page_takes_back_what_it_settled_itself_and_nobody_elses_decision(disputed: Path) -> None:
    found = contradiction(disputed)
    page = LookedAtBank("dam", disputed)
    for winner in (0, 1):
        page.actions["settle"]({"conflict": found["id"], "position": 0, "winner": winner, "why": ""})
    page.actions["undo"]({})
    assert contradiction(disputed)["winner"] == 0
    settle("dam", found["id"], 0, 1, why="I measured it.", home=disputed)
    decided = contradiction(disputed)

    with pytest.raises(InputError, match="settled or read again since"):
        page.actions["undo"]({})

    assert contradiction(disputed) == decided
    unsettle("dam", found["id"], home=disputed)
    assert contradiction(disputed)["winner"] == 0


def test_what_was_not_settled_by_hand_is_not_taken_back(disputed: Path) -> None:
    found = contradiction(disputed)

    for conflict in (found["id"], "nothing"):
        with pytest.raises(InputError, match="settled by hand"):
            unsettle("dam", conflict, home=disputed)
    assert contradiction(disputed) == found


@pytest.mark.parametrize(("conflict", "position", "winner"), [("nothing", 0, 0), ("", 3, 0), ("", 0, 2), ("", 0, -1)])
def test_what_is_no_contradiction_or_claim_is_refused_and_nothing_changes(
    disputed: Path, conflict: str, position: int, winner: int
) -> None:
    before = contradiction(disputed)

    with pytest.raises(InputError):
        settle("dam", conflict or before["id"], position, winner, home=disputed)

    assert contradiction(disputed) == before


def test_a_thread_that_is_not_there_is_not_settled(tmp_path: Path) -> None:
    with pytest.raises(UnknownThreadError):
        settle("nobody", "c", 0, 0, home=tmp_path)
