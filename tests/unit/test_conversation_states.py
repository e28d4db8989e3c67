"""Where a conversation stands is kept for its time, forgotten when it is to be, and read whatever somebody wrote."""

import logging
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.state.conversations import StoredConversation, StoredTurn
from agentic_memory_bank.state.errors import NoUserError
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.conversation_states import ConversationStates, _space, new_state
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.store_adapter import StoreAdapter
from agentic_memory_bank.tools.memories.validation import stamp, user_hash

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


class Place:
    """The states of all users in a store, and a clock that is set by hand."""

    def __init__(self) -> None:
        self.store, self.now = InMemoryStore(), START
        self.port = StoreAdapter(self.store)
        self.states = ConversationStates(self.port, lambda: self.now)
        self.records = RecordStore(self.store, Encoder(HashEmbeddings()), lambda: self.now)

    def put(self, conversation: str = "c", project: str = "", user: str = "ann", turns: Sequence[str] = ("t1",)) -> Any:
        state: StoredConversation = {
            **new_state(project, conversation),
            "seen": list(turns),
            "pending": [said(turn) for turn in turns],
            "recent": [said(turn) for turn in turns],
            "drawn": [said(turn) for turn in turns],
            "digest": {"topic": ["Berlin"]},
            "count": len(turns),
            "at": stamp(self.now),
            "expires_at": stamp(self.now + 30 * DAY),
        }
        self.states.put(user, state)
        return state

    def values(self, user: str = "ann") -> dict[str, Any]:
        return self.port.everything(_space(user_hash(user)))  # type: ignore[return-value]

    def write(self, value: Any, key: str | None = None) -> None:
        key = key or next(iter(self.values()))
        self.port.batch([PutOp(_space(user_hash("ann")), key, value)])


def said(turn: str) -> StoredTurn:
    return {"id": turn, "role": "user", "text": "I live in Berlin.", "speaker": "", "date": ""}


@pytest.fixture
def place() -> Place:
    return Place()


def test_what_was_put_is_there(place: Place) -> None:
    state = place.put()
    assert place.states.get("ann", "", "c") == state
    assert place.states.list_all("ann") == [state]


@pytest.mark.parametrize("name", ["", "c ", "\x00", "\ud800", "a/b", "对话" * 200])
def test_any_text_names_a_conversation_and_a_project(place: Place, name: str) -> None:
    state = place.put(name, project=name)
    assert place.states.get("ann", name, name) == state
    assert place.states.get("ann", name, name + "x") is None


def test_a_conversation_is_that_of_one_user_and_one_project(place: Place) -> None:
    place.put()
    assert place.states.get("bob", "", "c") is None
    assert place.states.get("ann", "p", "c") is None
    with pytest.raises(NoUserError):
        place.states.get("", "", "c")


def test_a_conversation_whose_time_is_over_is_not_there_and_is_swept(place: Place) -> None:
    place.put("old")
    place.now += 29 * DAY
    place.put("new")
    assert len(place.states.list_all("ann")) == 2
    place.now += 2 * DAY

    assert place.states.get("ann", "", "old") is None
    assert [state["conversation"] for state in place.states.list_all("ann")] == ['"new"']
    assert place.states.delete_expired(user_hash("ann")) == 1
    assert len(place.values()) == 1


def test_forgetting_empties_what_was_said_and_keeps_that_it_was_seen(place: Place) -> None:
    place.put("a")
    place.put("b", project="p")
    place.put("a", user="bob")
    place.now += DAY
    place.states.delete("ann", "")

    state = place.states.get("ann", "", "a")
    assert state
    assert (state["pending"], state["recent"], state["drawn"], state["digest"]) == ([], [], [], {})
    assert (state["seen"], state["count"]) == (["t1"], 1)
    for user, project, conversation in (("ann", "p", "b"), ("bob", "", "a")):
        other = place.states.get(user, project, conversation)
        assert other
        assert other["pending"]
    assert place.states.deleted_at("ann", "") == stamp(place.now)
    assert place.states.deleted_at("ann", "p") == place.states.deleted_at("bob", "") == ""

    place.states.delete("ann")
    assert "Berlin" not in str(place.values())
    assert place.states.deleted_at("ann", "p") == stamp(place.now)


def test_marks_of_what_was_forgotten_long_ago_go(place: Place) -> None:
    place.states.delete("ann")
    place.now += 31 * DAY
    place.states.delete_expired(user_hash("ann"))
    assert place.values() == {}


def test_forgetting_turns_leaves_the_others_and_no_digest(place: Place) -> None:
    place.put("a", turns=["t1", "t2"])
    untouched = place.put("b", turns=["t1"])
    place.states.redact_turns("ann", {("a", "t1"): []})

    state = place.states.get("ann", "", "a")
    assert state
    assert [[turn["id"] for turn in state[name]] for name in ("pending", "recent", "drawn")] == [["t2"]] * 3  # type: ignore[literal-required]
    assert state["digest"] == {}
    assert place.states.get("ann", "", "b") == untouched


def test_forgetting_memories_reaches_the_conversations_they_came_from(place: Place) -> None:
    place.put("a")
    source: Any = {"conversation": "a", "turns": ["t1"], "quotes": ["I live in Berlin."]}
    kept = place.records.store("ann", "user: I live in Berlin.", source=source)
    place.records.delete("ann", [kept.record["id"]])
    assert "Berlin" not in str(place.values())

    place.put("a")
    place.records.delete_all("ann")
    assert "Berlin" not in str(place.values())


def test_maintenance_sweeps_conversations_of_users_who_have_nothing_else(place: Place) -> None:
    place.put("a")
    place.now += 31 * DAY
    place.records.maintain()
    assert place.values() == {}


@pytest.mark.parametrize(
    "damage",
    [
        {"v": 2},
        {"project": 3},
        {"project": "not json"},
        {"conversation": "3"},
        {"seen": "t1"},
        {"pending": [{"id": "t1"}]},
        {"pending": [{**said("t1"), "role": "system"}]},
        {"recent": [3]},
        {"drawn": None},
        {"digest": {"topic": "Berlin"}},
        {"count": True},
        {"at": None},
        {"expires_at": 9},
        {"failures": "1"},
    ],
)
def test_what_is_no_state_counts_as_none_and_is_told(
    place: Place, damage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    state = place.put()
    with caplog.at_level(logging.WARNING):
        place.write({**state, **damage})
        assert place.states.get("ann", "", "c") is None

    assert "cannot be read" in caplog.text
    assert "Berlin" not in caplog.text
    assert place.states.list_all("ann") == []
    place.states.delete("ann")
    place.states.delete_expired(user_hash("ann"))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*new_state("", ""), "more"]), values))
@settings(max_examples=60, deadline=None)
def test_reading_is_total(value: dict[str, Any]) -> None:
    place = Place()
    state = place.put()
    place.write({**state, **value})

    assert place.states.get("ann", "", "c") is None or place.states.list_all("ann")
    place.states.redact_turns("ann", {("c", "t1"): []})
    place.states.delete("ann", "")
    place.states.delete_expired(user_hash("ann"))


def test_two_threads_that_edit_a_state_lose_nothing(place: Place) -> None:
    place.put(turns=[])

    def count() -> None:
        for _ in range(50):
            with place.states.editing("ann"):
                state = place.states.get("ann", "", "c")
                assert state
                place.states.put("ann", {**state, "count": state["count"] + 1})

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = place.states.get("ann", "", "c")
    assert state
    assert state["count"] == 200
