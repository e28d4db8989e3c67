"""Whoever writes an agent of their own stores and reads its episodes and conversations, with what they note of them."""

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings


@pytest.fixture
def memories() -> Iterator[Memories]:
    with Memories(InMemoryStore(), embeddings=HashEmbeddings()) as opened:
        yield opened


def test_an_episode_that_was_stored_is_found_by_a_task_like_it(memories: Memories) -> None:
    memories.store("The user sailed to Elba in May.", user="ana", type="episodic")
    stored = memories.store_episode(
        "Renew the certificate of the mail server",
        user="ana",
        outcome="renewed until March",
        lesson="Stop the proxy first.",
        steps=["stop(proxy) → done", "renew(mail) → done"],
        metadata={"ticket": 4711, "by": "nightly"},
    )

    (found,) = memories.search_episodes("renew the certificate of the web server", user="ana")

    assert found == stored
    assert (found["goal"], found["lesson"]) == ("Renew the certificate of the mail server", "Stop the proxy first.")
    assert found["steps"] == ["stop(proxy) → done", "renew(mail) → done"]
    assert found.get("metadata") == {"ticket": 4711, "by": "nightly"}
    assert memories.search_episodes("renew the certificate", user="bob") == []
    memories.delete([stored["id"]], user="ana")
    assert memories.search_episodes("renew the certificate", user="ana") == []


def test_the_same_goal_once_more_is_another_account_of_it(memories: Memories) -> None:
    memories.store_episode("Deploy the shop", user="ana", outcome="not finished: no rights")
    again = memories.store_episode("Deploy the shop", user="ana", outcome="deployed", lesson="Ask Otso for rights.")
    assert (again["outcome"], again["lesson"]) == ("deployed", "Ask Otso for rights.")
    assert len(memories.search_episodes("Deploy the shop", user="ana")) == 1


def test_the_conversation_of_an_agent_is_written_and_read_in_its_order(memories: Memories) -> None:
    asked = ("Which flights are there?", "Two, at 9 and at 17.")
    first = memories.add_invocation("c1", *asked, user="ana", summary="searched once", metadata={"ms": 120})
    memories.add_invocation("c1", "Book the late one.", "Booked.", user="ana")
    assert memories.add_invocation("c1", "Book the late one.", "Booked.", user="ana")  # a second delivery

    read = memories.agent_conversation("c1", user="ana")

    assert [one["query"] for one in read["invocations"]] == ["Which flights are there?", "Book the late one."]
    assert (read["invocations"][0], read["ended"]) == (first, "")
    assert read["invocations"][0].get("metadata") == {"ms": 120}
    assert memories.agent_conversation("c1", user="bob")["invocations"] == []
    assert memories.agent_conversation("c1", user="ana", project="other")["invocations"] == []
    memories.delete_all(user="ana")
    assert memories.agent_conversation("c1", user="ana")["invocations"] == []


def test_nothing_secret_is_kept_and_nothing_where_memory_is_off(memories: Memories) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 5
    episode = memories.store_episode(f"Rotate {key} in the vault", user="ana", steps=[f"use({key})"])
    done = memories.add_invocation("c1", "go", f"The key is {key}.", user="ana")
    assert key not in f"{episode}{done}"
    memories.switch("off", user="ana")
    with pytest.raises(InputError):
        memories.store_episode("Anything", user="ana")
    with pytest.raises(InputError):
        memories.add_invocation("c1", "go", "gone", user="ana")
    assert memories.search_episodes("Rotate", user="ana") == []


def test_what_is_noted_of_a_memory_goes_with_it_and_comes_back_from_an_export(memories: Memories) -> None:
    noted: Any = {"source": "crm", "row": 7, "checked": True, "score": 0.5, "none": None}
    kept = memories.store("Ana's dentist is Dr Osei.", user="ana", metadata=noted)
    assert memories.get(kept["id"], user="ana")["metadata"] == noted
    assert memories.update(kept["id"], "Ana's dentist is Dr Patel.", user="ana")["metadata"] == noted
    assert memories.store("Ana skis.", user="ana")["metadata"] == {}
    memories.import_(memories.export(user="ana"), user="bob")
    assert [one["metadata"] for one in memories.list(user="bob").records if "dentist" in one["text"]] == [noted]


@pytest.mark.parametrize("noted", ["crm", {"a": ["b"]}, {1: "b"}, {"a": float("nan")}, {"a": "b" * 5_000}])
def test_metadata_that_cannot_be_kept_is_refused(memories: Memories, noted: Any) -> None:
    with pytest.raises(InputError, match="metadata"):
        memories.store("Ana skis.", user="ana", metadata=noted)
