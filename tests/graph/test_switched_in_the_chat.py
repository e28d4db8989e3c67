"""Memory is switched off and on in the chat, in plain words: for good, or for one conversation."""

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.engines.extractive.forgetting import told_to_switch
from agentic_memory_bank.graph.react_mem import build_react_mem
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores

HASHES = HashEmbeddings(64)


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture
def memories(store: InMemoryStore) -> Iterator[Memories]:
    with Memories(store, embeddings=HASHES, settings={"recall_timeout": 60.0}) as made:
        made.remember("My dog is called Rex.", user="ana", conversation_id="before", end=True)
        yield made


def say(memories: Memories, words: Any, conversation: str = "now") -> str:
    output = memories.talk(words, user="ana", conversation_id=conversation)
    assert memories.flush(30)
    return output["messages"][-1].text


def is_kept(memories: Memories, word: str) -> bool:
    return any(word in one["text"] for one in memories.list(user="ana", replaced=True, limit=100).records)


@pytest.mark.parametrize(
    ("off", "on"),
    [
        ("Turn your memory off", "turn your memory back on"),
        ("could you pause your memory for now?", "ok, you can remember things again"),
        ("关掉记忆", "把记忆重新打开吧"),
        ("pls switch off ur memory", "turn it back on"),
        ("turn your memory off", "ok, switch it on again please"),
        ("关掉记忆", "重新打开吧"),
        ("关掉记忆", "可以记了"),
    ],
)
def test_memory_is_switched_off_and_on_again_in_plain_words(memories: Memories, off: str, on: str) -> None:
    assert "Noted" not in say(memories, off)
    assert memories.mode(user="ana") == "off"
    say(memories, "I live in Lisbon, near the river.")
    assert "Rex" not in say(memories, "What is my dog called?", "later")

    say(memories, on)

    assert memories.mode(user="ana") == "on"
    assert "Rex" in say(memories, "What is my dog called?", "later")
    assert not is_kept(memories, "Lisbon")


@pytest.mark.parametrize(
    "said",
    [
        "Please stop remembering things about me.",
        "From now on don't remember anything I say",
        "从现在起别再记我说的话了",
        "以后我说的话都别记",
        "i dont want u to remember anything I say",
        "接下来的话都别记",
    ],
)
def test_nothing_more_is_kept_and_what_is_known_is_looked_up(memories: Memories, said: str) -> None:
    say(memories, said)
    say(memories, "I live in Lisbon, near the river.", "another")

    assert memories.mode(user="ana") == "recall"
    assert "Rex" in say(memories, "What is my dog called?")
    assert not is_kept(memories, "Lisbon")


@pytest.mark.parametrize(
    "said",
    ["Don't save anything from this conversation.", "nothing I say here should be kept", "这次聊天的内容都不要保存"],
)
def test_one_conversation_is_kept_out_and_others_are_not(memories: Memories, said: str) -> None:
    say(memories, said)
    say(memories, "I live in Lisbon, near the river.")
    say(memories, "I work as a baker in the old town.", "another")

    assert memories.mode(user="ana") == "on"
    assert not is_kept(memories, "Lisbon")
    assert is_kept(memories, "baker")


def test_neither_the_wish_nor_its_answer_is_kept_though_the_conversation_is_handed_over_again(
    memories: Memories,
) -> None:
    answer = say(memories, "Turn your memory off")
    say(memories, "Turn your memory back on")

    said = [("user", "Turn your memory off"), ("assistant", answer), ("user", "I live in Lisbon, near the river.")]
    say(memories, said, "copy")

    assert is_kept(memories, "Lisbon")
    assert not is_kept(memories, "memory")


@pytest.mark.parametrize("said", ["turn it back on", "重新打开吧"])
def test_what_is_said_of_other_things_switches_nothing_while_memory_is_on(memories: Memories, said: str) -> None:
    assert say(memories, said) in ("Noted.", "好的，知道了。")
    assert memories.mode(user="ana") == "on"


def test_an_agent_hears_it_and_its_model_is_not_asked(store: InMemoryStore, memories: Memories) -> None:
    class Unasked:
        def invoke(self, *given: Any, **options: Any) -> Any:
            raise AssertionError("The model was asked.")

        bind_tools = ainvoke = stream = astream = invoke

    stores, queue = RecordStores(store, Encoder(HASHES)), WorkerPool(100)
    agent: Any = build_react_mem(
        Unasked(),  # type: ignore[arg-type]
        engine=ExtractiveConversationEngine(),
        stores=stores,
        background=queue,
    )

    agent.invoke({"messages": "Turn your memory off", "conversation_id": "now"}, context={"user": "ana"})

    assert memories.mode(user="ana") == "off"


@pytest.mark.parametrize(
    "said",
    [
        "Don't save anything.",
        "I don't remember anything about this chat",
        "turn the heating off",
        "Don't keep things in the garage",
        "My therapist said stop remembering things",
        "Did you turn your memory off?",
        "How do I turn your memory off?",
        "Start remembering birthdays is one of my goals",
        "Don't record this call, said the bank",
        '"Turn your memory off" is what the manual says',
        "以后别再迟到了",
        "我的记忆力不好",
        "怎么关掉记忆？",
        "老师让我们别记录",
        "我要关掉电视",
    ],
)
def test_what_only_sounds_like_it_switches_nothing(said: str) -> None:
    assert told_to_switch(said) is None
