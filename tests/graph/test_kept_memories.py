"""What is pinned stays until it is deleted, and what was deleted comes back from a copy, for every process."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank import Memories
from agentic_memory_bank.state.errors import InputError, UnknownMemoryError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

Open = Callable[..., Memories]
DAY = timedelta(days=1)


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def another(tmp_path: Path, clock: Hand) -> Iterator[Open]:
    """Open the memories of one home, each time as another process would."""
    made: list[Memories] = []

    def opened(**given: Any) -> Memories:
        options: dict[str, Any] = {"home": tmp_path, "embeddings": HashEmbeddings(), "clock": clock, **given}
        made.append(Memories(**options))
        return made[-1]

    yield opened
    for one in made:
        one.close()


@pytest.fixture
def memories(another: Open) -> Memories:
    return another()


def texts(memories: Memories, **wanted: Any) -> set[str]:
    return {record["text"] for record in memories.list(user="ana", **wanted).records}


# --- pinned --------------------------------------------------------------------------------------------------------


def test_what_is_pinned_is_neither_pruned_nor_over(another: Open, clock: Hand) -> None:
    memories = another()
    for subject in ("key", "lamp"):
        memories.store(f"The {subject} is in the hall.", user="ana", type="episodic")
        memories.store(f"The {subject} is lent out.", user="ana", expires_at=clock.now + DAY)
    for record in memories.list(user="ana").records:
        if "key" in record["text"]:
            assert memories.pin(record["id"], user="ana")["pinned_at"]

    clock.now += 400 * DAY
    done = memories.maintain()

    assert (done["expired"], done["pruned"]) == (1, 1)
    assert texts(another()) == {"The key is in the hall.", "The key is lent out."}
    assert memories.search("Who has the key lent out?", user="ana", threshold=None)


def test_what_is_pinned_gives_way_to_no_quota(another: Open, clock: Hand) -> None:
    memories = another(settings={"memory_quota": 2})
    first = memories.store("The first word is aleph.", user="ana")
    memories.pin(first["id"], user="ana")
    for number in ("two", "three", "four"):
        clock.now += DAY
        memories.store(f"A word is {number}.", user="ana")

    assert "The first word is aleph." in texts(memories)
    assert len(texts(memories)) == 2


def test_what_is_pinned_is_merged_with_no_other(memories: Memories) -> None:
    first = memories.store("My budget for the trip is $10,000.", user="ana")
    memories.store("My budget for the trip is now $12,000.", user="ana")
    memories.pin(first["id"], user="ana")

    assert memories.consolidate(user="ana") == []
    memories.pin(first["id"], user="ana", pinned=False)
    assert len(memories.consolidate(user="ana")) == 1


def test_a_new_value_takes_the_place_of_what_is_pinned(memories: Memories) -> None:
    old = memories.store("I live in Berlin.", user="ana")
    memories.pin(old["id"], user="ana")
    memories.supersede(old["id"], "I live in Lisbon.", user="ana")

    assert texts(memories) == {"I live in Lisbon."}
    assert memories.get(old["id"], user="ana")["pinned_at"]


def test_a_pin_is_one_for_every_process_and_the_last_one_holds(memories: Memories, another: Open) -> None:
    kept = memories.store("I play chess.", user="ana")
    others = another()

    for pinned in (True, False, True, False):
        memories.pin(kept["id"], user="ana", pinned=pinned)
        assert bool(others.get(kept["id"], user="ana")["pinned_at"]) == pinned


def test_a_pin_is_carried_over_by_an_export(memories: Memories, tmp_path: Path) -> None:
    kept = memories.store("I play chess.", user="ana")
    memories.pin(kept["id"], user="ana")

    with Memories(home=tmp_path / "other", embeddings=HashEmbeddings()) as others:
        others.import_(memories.export(user="ana"), user="ana")

        assert others.get(kept["id"], user="ana")["pinned_at"]


def test_nobody_pins_what_is_not_theirs(memories: Memories) -> None:
    kept = memories.store("I play chess.", user="ana")

    with pytest.raises(UnknownMemoryError):
        memories.pin(kept["id"], user="bob")


# --- brought back --------------------------------------------------------------------------------------------------


def test_what_was_deleted_comes_back_as_it_was_for_every_process(memories: Memories, another: Open) -> None:
    kept = memories.store("I play chess.", user="ana", subject="ana", attribute="game")
    memories.update(kept["id"], "I play go.", user="ana")
    memories.pin(kept["id"], user="ana")
    before, others = memories.get(kept["id"], user="ana"), another()
    copy = memories.copy_of([kept["id"]], user="ana")
    memories.delete(copy.ids, user="ana")
    assert texts(others) == set()

    assert memories.restore(copy, user="ana") == [kept["id"]]

    for one in (memories, others, another()):
        assert one.get(kept["id"], user="ana") == before
        assert [hit.record["id"] for hit in one.search("Who plays go?", user="ana", threshold=0.1)] == [kept["id"]]


def test_what_was_derived_and_what_was_replaced_come_back_with_it(memories: Memories) -> None:
    old = memories.store("I live in Berlin.", user="ana")
    new = memories.supersede(old["id"], "I live in Lisbon.", user="ana")
    drawn = memories.store("She likes the south.", user="ana", type="reflective", evidence=[new["id"]])
    before = [memories.get(one["id"], user="ana") for one in (old, new, drawn)]
    copy = memories.copy_of([new["id"], old["id"]], user="ana")
    memories.delete(copy.ids, user="ana")
    assert texts(memories, replaced=True) == set()

    assert set(memories.restore(copy, user="ana")) == {old["id"], new["id"], drawn["id"]}
    assert [memories.get(one["id"], user="ana") for one in (old, new, drawn)] == before


def test_a_memory_of_which_a_part_was_taken_is_whole_again(memories: Memories) -> None:
    said = "My sister Nora plays the cello, and the bridge is closed until May."
    memories.remember(said, user="ana", conversation_id="c", end=True)
    memories.store(said, user="ana")
    before = {record["id"]: record for record in memories.list(user="ana", replaced=True).records}
    copy = memories.copy_of(memories.preview_delete_about("Nora", user="ana").ids, user="ana")
    assert copy.deletion.redacted
    memories.delete(copy.ids, user="ana")
    assert "Nora" not in str(memories.list(user="ana", replaced=True).records)

    memories.restore(copy, user="ana")

    assert {record["id"]: record for record in memories.list(user="ana", replaced=True).records} == before


def test_a_copy_brings_back_what_is_gone_and_leaves_what_is_there(memories: Memories) -> None:
    kept = memories.store("I play chess.", user="ana")
    copy = memories.copy_of([kept["id"], "m" + "0" * 31], user="ana")
    memories.update(kept["id"], "I play go.", user="ana")

    assert memories.restore(copy, user="ana") == []
    assert texts(memories) == {"I play go."}


def test_what_was_erased_besides_stays_erased(memories: Memories, another: Open, clock: Hand) -> None:
    others = another()
    said = "My sister Nora plays the cello, and the bridge is closed until May."

    def erase_the_same() -> None:
        others.delete([others.store(said, user="ana")["id"]], user="ana")

    def erase_the_rest() -> None:
        others.delete([record["id"] for record in others.list(user="ana").records], user="ana")

    for erase in (erase_the_same, erase_the_rest, lambda: others.delete_all(user="ana")):
        kept = memories.store(said, user="ana")
        memories.store("Nora is kind.", user="ana", type="reflective", evidence=[kept["id"]])
        copy = memories.copy_of(memories.preview_delete_about("Nora", user="ana").ids, user="ana")
        memories.delete(copy.ids, user="ana")
        clock.now += DAY

        erase()

        assert memories.restore(copy, user="ana") == []
        assert "Nora" not in str(another().list(user="ana", replaced=True).records)
        clock.now += DAY
        others.delete_all(user="ana")


def test_what_was_erased_in_one_project_comes_back_in_another(memories: Memories, clock: Hand) -> None:
    ids = [memories.store(f"The {name} is blue.", user="ana", project=name)["id"] for name in ("boat", "shed")]
    copy = memories.copy_of(ids, user="ana")
    memories.delete(copy.ids, user="ana")
    clock.now += DAY
    memories.delete_all(user="ana", project="boat")

    assert memories.restore(copy, user="ana") == ids[1:]
    assert texts(memories, project="shed") == {"The shed is blue."}


def test_a_copy_is_of_use_for_its_own_user_alone(memories: Memories) -> None:
    kept = memories.store("I play chess.", user="ana")
    copy = memories.copy_of([kept["id"]], user="ana")
    memories.delete(copy.ids, user="ana")

    with pytest.raises(InputError, match="another user"):
        memories.restore(copy, user="bob")
    assert memories.list(user="bob").records == []
