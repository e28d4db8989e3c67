"""Who wants no memory has none: by call, by conversation, or for good, and every door obeys it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.graph.react_mem import build_react_mem
from agentic_memory_bank.graph.recall import build_recall
from agentic_memory_bank.graph.remember import build_remember
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores

KNOWN, NEW = "My dog is called Rex.", "I live in Lisbon, near the river."


class Noting(BaseChatModel):
    """Notes what it is sent."""

    heard: Any

    @property
    def _llm_type(self) -> str:
        return "noting"

    def _generate(self, messages: list[BaseMessage], *given: Any, **options: Any) -> ChatResult:
        self.heard.extend(message.text for message in messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("I see."))])


class Home:
    """One user's memories, and all doors to them."""

    def __init__(self) -> None:
        self.store = InMemoryStore()
        self.heard: list[str] = []
        parts: Any = {"store": self.store, "embeddings": HashEmbeddings(64)}
        self.memories = Memories(settings={"recall_timeout": 30.0}, **parts)
        self.memories.remember(KNOWN, user="ana", conversation_id="before", end=True)
        self.queue = WorkerPool(100)
        stores = RecordStores(self.store, Encoder(HashEmbeddings(64)))
        self.agent: Any = build_react_mem(
            Noting(heard=self.heard), engine=ExtractiveConversationEngine(), stores=stores, background=self.queue
        )
        self.recall, self.remember = build_recall(**parts), build_remember(**parts)

    def chat(self, text: str, conversation: str = "now", **options: Any) -> Any:
        output = self.memories.talk(text, user="ana", conversation_id=conversation, **options)
        assert self.memories.flush(30)
        return output

    def ask_agent(self, text: str, conversation: str = "now", **context: Any) -> None:
        said = {"messages": [HumanMessage(text)], "conversation_id": conversation}
        self.agent.invoke(said, context={"user": "ana", **context})
        assert self.queue.flush(30)

    def is_kept(self, word: str) -> bool:
        items = self.store.search(("agentic_memory_bank",), limit=10_000)
        return word in json.dumps([item.value for item in items])


@pytest.fixture
def home() -> Iterator[Home]:
    made = Home()
    yield made
    made.memories.close()


def test_a_message_recalls_and_is_not_kept_where_its_call_says_so(home: Home) -> None:
    output = home.chat("How is my dog called? " + NEW, auto_store=False)
    home.ask_agent("How is my dog called? " + NEW, auto_store=False)

    assert "Rex" in output["messages"][-1].text
    assert output["remembered"]["outcome"] == "disabled"
    assert any("Rex" in text for text in home.heard)
    assert not home.is_kept("Lisbon")


@pytest.mark.parametrize("of", ["user", "conversation"])
def test_recalling_alone_is_switched_for_good_and_back(home: Home, of: str) -> None:
    named = {"conversation_id": "now"} if of == "conversation" else {}
    assert home.memories.switch("recall", user="ana", **named) == "recall"

    assert "Rex" in home.chat("How is my dog called?")["messages"][-1].text
    home.chat(NEW)
    home.ask_agent(NEW)
    assert not home.is_kept("Lisbon")

    home.memories.switch("on", user="ana", **named)
    home.chat(NEW)
    assert home.is_kept("Lisbon")


@pytest.mark.parametrize("of", ["user", "conversation"])
def test_switched_off_nothing_is_recalled_and_nothing_kept_by_conversations_and_agents(home: Home, of: str) -> None:
    home.memories.switch("off", user="ana", **({"conversation_id": "now"} if of == "conversation" else {}))

    output = home.chat("How is my dog called?")
    home.chat(NEW)
    home.ask_agent("How is my dog called?")
    home.ask_agent(NEW)

    assert output["recalled"]["outcome"] == "disabled"
    assert "Rex" not in str(output["messages"][-1].text)
    assert not any("Rex" in text for text in home.heard)
    assert not home.is_kept("Lisbon")


def test_switched_off_for_a_user_it_is_off_for_graphs_and_calls_and_on_for_others(home: Home) -> None:
    home.memories.switch("off", user="ana")

    found = home.recall.invoke({"messages": "How is my dog called?"}, context={"user": "ana"})
    kept = home.remember.invoke({"messages": NEW, "end": True}, context={"user": "ana"})

    assert (found["memories"], found["receipt"]["outcome"]) == ([], "disabled")
    assert kept["receipt"]["outcome"] == "disabled"
    assert home.memories.search("dog", user="ana") == []
    with pytest.raises(InputError, match="switched to 'off'"):
        home.memories.store("The user lives in Lisbon.", user="ana")
    assert home.memories.remember(NEW, user="bob", end=True)["receipt"]["outcome"] == "remembered"


def test_another_conversation_goes_on_as_ever_beside_one_that_is_switched_off(home: Home) -> None:
    home.memories.switch("off", user="ana", conversation_id="now")

    home.chat(NEW, "another")

    assert home.is_kept("Lisbon")
    assert home.memories.mode(user="ana") == "on"


def test_what_is_there_can_be_seen_and_forgotten_while_memory_is_off_and_the_switch_outlasts_it(home: Home) -> None:
    home.memories.switch("off", user="ana")

    assert "Rex" in home.chat("Forget everything about my dog")["messages"][-1].text
    assert home.memories.list(user="ana").records == []
    home.memories.delete_all(user="ana")
    assert home.memories.mode(user="ana") == "off"


def test_what_was_handed_over_before_is_not_remembered_once_memory_is_off(home: Home) -> None:
    home.memories.remember_later(NEW, user="ana", conversation_id="c")
    home.memories.flush(30)
    home.memories.switch("off", user="ana")

    assert home.memories.remember_later("I moved to Porto.", user="ana", conversation_id="c")
    home.memories.flush(30)

    assert not home.is_kept("Porto")


def test_there_are_three_modes_and_no_other(home: Home) -> None:
    wrong: Any = "maybe"

    with pytest.raises(InputError, match="on, recall, off"):
        home.memories.switch(wrong, user="ana")


def test_a_switch_that_cannot_be_read_is_taken_for_off(home: Home) -> None:
    home.memories.switch("recall", user="ana")
    (item,) = home.store.search(("agentic_memory_bank",), query=None, filter={"mode": "recall"})
    home.store.put(item.namespace, item.key, {"v": 9, "mode": "sometimes"})

    assert home.memories.mode(user="ana") == "off"
