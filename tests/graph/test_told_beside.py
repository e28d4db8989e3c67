"""A wish to forget reaches what is said of "her", what has another name, and each of two things; no more than that."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings, local_embeddings


class Told(NamedTuple):
    """What somebody has said, and what they want gone."""

    said: list[str]
    wish: str
    gone: list[str]
    kept: list[str]


CASES = {
    "of her, in the next turn": Told(
        ["My sister Lena is pregnant.", "Don't tell our mum that she's pregnant, she worries.", "I park on level 3."],
        "Forget that Lena is pregnant.",
        ["pregnant"],
        ["level 3"],
    ),
    "of her, in Chinese": Told(
        ["阿梅辞职了。", "先别告诉老板她辞职了，他会生气。", "我每天六点起床。"],
        "阿梅辞职这件事你先忘掉吧。",
        ["辞职"],
        ["六点"],
    ),
    "whom the sentence before names": Told(
        ["My friend Tomek might rent the garage. Also I'm allergic to latex.", "I park on level 3."],
        "Tomek changed his mind, so you can forget about him renting the garage.",
        ["Tomek"],
        ["latex", "level 3"],
    ),
    "by another word": Told(
        ["Krystal drives now. And the attorney is called Barton Lowe, charges 310 an hour.", "I park on level 3."],
        "Delete the stuff about the lawyer please, that's over.",
        ["Barton", "310"],
        ["Krystal", "level 3"],
    ),
    "the second of two things": Told(
        ["The doctor says it's gout. Allopurinol twice a day and no more beer.", "The boat is called Kittiwake."],
        "Forget what I told you about my gout, and the tablets.",
        ["gout", "Allopurinol"],
        ["Kittiwake"],
    ),
}


@pytest.fixture(scope="module")
def model() -> LocalEmbeddings:
    return local_embeddings()


@pytest.fixture
def memories(model: Embeddings) -> Iterator[Memories]:
    with Memories(InMemoryStore(), embeddings=model, settings={"recall_timeout": 60.0}) as made:
        yield made


def say(memories: Memories, words: str) -> str:
    output = memories.talk(words, user="ana", conversation_id="now")
    assert memories.flush(30)
    return str(output["messages"][-1].text)


def known(memories: Memories) -> str:
    return "\n".join(one["text"] for one in memories.list(user="ana", limit=100, replaced=True).records)


@pytest.mark.parametrize("told", CASES.values(), ids=CASES)
def test_what_a_wish_means_goes_and_nothing_else(memories: Memories, told: Told) -> None:
    memories.remember(told.said[:-1], user="ana", conversation_id="before", end=True)
    memories.remember(told.said[-1], user="ana", conversation_id="other", end=True)
    assert all(word in known(memories) for word in (*told.gone, *told.kept))

    answer = say(memories, told.wish)
    if answer.endswith(("?", "？")):
        say(memories, "Yes." if told.wish.isascii() else "是的。")

    assert not [word for word in told.gone if word in known(memories)]
    assert not [word for word in told.kept if word not in known(memories)]


def test_a_thing_that_only_comes_near_is_asked_about(memories: Memories) -> None:
    told = CASES["the second of two things"]
    memories.remember(told.said, user="ana", conversation_id="before", end=True)

    assert say(memories, told.wish).endswith("?")
    assert "Allopurinol" in known(memories)


def test_what_is_said_of_somebody_else_stays(memories: Memories) -> None:
    memories.remember(
        ["My sister Lena is pregnant.", "Rosa called. She moves to Turin in May."],
        user="ana",
        conversation_id="b",
        end=True,
    )

    say(memories, "Forget that Lena is pregnant.")

    assert "Turin" in known(memories)
    assert "pregnant" not in known(memories)
