"""Whoever asks for all that is known of them is told it, in the chat, by `recall` and to an agent."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.extractive.remembering.overview import asks_for_everything
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

TOLD = [
    "I live in Oslo and work as a baker.",
    "My dog is called Rex.",
    "My budget is 9,000.",
    "My budget is 12,000 now.",
]


@pytest.fixture
def memories() -> Iterator[Memories]:
    hours = (datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=one) for one in range(1_000_000))
    with Memories(
        InMemoryStore(),
        embeddings=HashEmbeddings(64),
        settings={"recall_timeout": 60.0},
        clock=lambda: next(hours),
    ) as made:
        yield made


def tell(memories: Memories, *texts: str) -> None:
    for number, text in enumerate(texts):
        memories.remember(text, user="ana", conversation_id=f"before {number}", end=True)


def say(memories: Memories, words: str) -> str:
    output = memories.talk(words, user="ana", conversation_id="now")
    assert memories.flush(30)
    return output["messages"][-1].text


@pytest.mark.parametrize(
    "asked", ["What do you know about me?", "Hi! What have I told you so far?", "你都知道我些什么？"]
)
def test_the_chat_tells_all_that_holds_with_what_was_just_said(memories: Memories, asked: str) -> None:
    tell(memories, *TOLD)
    say(memories, "I'm allergic to nuts.")

    answer = say(memories, asked)

    assert all(word in answer for word in ("Oslo", "Rex", "12,000", "nuts"))
    assert "9,000" not in answer


def test_nothing_is_made_up_where_nothing_was_told(memories: Memories) -> None:
    assert say(memories, "What do you know about me?") == "You have told me nothing yet that I keep."


def test_recall_gives_the_latest_up_to_the_limit(memories: Memories) -> None:
    tell(memories, *TOLD)

    found: Any = memories.recall("What do you know about me?", user="ana", limit=2)

    assert [one["text"].rpartition(": ")[2] for one in found["memories"]] == [TOLD[3], TOLD[1]]


def test_another_user_is_told_nothing_of_it(memories: Memories) -> None:
    tell(memories, *TOLD)

    assert memories.recall("What do you know about me?", user="bob")["memories"] == []


@pytest.mark.parametrize(
    "asked",
    [
        "What do you know about my sister?",
        "What have I told you about the trip?",
        "Do you remember anything about my budget?",
        "Tell me everything about bees",
        "你知道我妹妹的什么事",
        "你知道我住哪儿吗",
        "我之前跟你说过什么时候搬家？",
    ],
)
def test_a_question_about_one_thing_is_another_one(asked: str) -> None:
    assert not asks_for_everything(asked)
