"""Agents hear what they are told to forget as conversations do: shown, erased, kept nowhere, and no model is asked."""

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.graph.four_tier import FourTierMemory
from agentic_memory_bank.graph.react_mem import build_react_mem
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores


class Agreeing(BaseChatModel):
    """Says the same to everything, and notes what it was sent."""

    heard: Any = None

    @property
    def _llm_type(self) -> str:
        return "agreeing"

    def bind_tools(self, tools: Any, **options: Any) -> "Agreeing":
        return self

    def _generate(self, messages: list[BaseMessage], *given: Any, **options: Any) -> ChatResult:
        self.heard.append([message.text for message in messages])
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Noted."))])


class House:
    """An agent with memory, in one of the three ways it comes, and its memories."""

    def __init__(self, kind: str) -> None:
        self.heard: list[list[str]] = []
        self.store, self.queue = InMemoryStore(), WorkerPool(100)
        model = Agreeing(heard=self.heard)
        stores = RecordStores(self.store, Encoder(HashEmbeddings(64)))
        parts: Any = {"engine": ExtractiveConversationEngine(), "stores": stores, "background": self.queue}
        self.agent: Any = (
            create_agent(
                model,
                [],
                middleware=[FourTierMemory(**parts)],
                context_schema=MemoryContext,
                checkpointer=InMemorySaver(),
            )
            if kind == "middleware"
            else build_react_mem(model if kind == "react_mem" else None, checkpointer=InMemorySaver(), **parts)
        )
        self.memories = Memories(self.store, embeddings=HashEmbeddings(64))

    def say(self, text: str, conversation: str = "c", **more: Any) -> str:
        config: Any = {"configurable": {"thread_id": conversation}}
        said = {"messages": [HumanMessage(text)], "conversation_id": conversation, **more}
        found = self.agent.invoke(said, config, context={"user": "ana"})
        assert self.queue.flush(30)
        return found["messages"][-1].text

    async def asay(self, text: str) -> str:
        config: Any = {"configurable": {"thread_id": "c"}}
        said = {"messages": [HumanMessage(text)], "conversation_id": "c"}
        found = await self.agent.ainvoke(said, config, context={"user": "ana"})
        assert self.queue.flush(30)
        return found["messages"][-1].text

    def know(self, *texts: str) -> None:
        for number, text in enumerate(texts):
            self.memories.remember(text, user="ana", conversation_id=f"before {number}", end=True)

    def is_held(self, *words: str) -> bool:
        """Whether anything in the store of memories holds one of the words."""
        items = self.store.search(("agentic_memory_bank",), limit=10_000)
        kept = " ".join(json.dumps(item.value, ensure_ascii=False) for item in items).casefold()
        return any(word.casefold() in kept for word in words)


KINDS = ("middleware", "react_mem", "without a model")


@pytest.fixture(params=KINDS)
def house(request: pytest.FixtureRequest) -> House:
    return House(request.param)


@pytest.mark.parametrize(
    ("known", "stays", "told", "gone"),
    [
        (
            "My sister Greta is allergic to latex.",
            "I live in Porto.",
            "Forget what I told you about my sister",
            "latex",
        ),
        ("My budget for the kitchen is 8,000 euros.", "I live in Porto.", "delete my budget", "8,000"),
        ("我妹妹小雨下个月离婚。", "我住在成都。", "忘掉我妹妹的事", "离婚"),
    ],
)
def test_what_is_small_is_erased_at_once_and_said(house: House, known: str, stays: str, told: str, gone: str) -> None:
    house.know(known, stays)
    assert house.is_held(gone)

    answer = house.say(told)

    assert gone in answer
    assert "noted" not in answer.casefold()
    assert not house.is_held(gone, told)
    assert house.memories.list(user="ana").records
    assert house.heard == []


def test_what_an_agent_was_told_itself_goes_with_its_summary_and_steps(house: House) -> None:
    house.say("My sister Greta is allergic to latex.")
    assert house.is_held("latex")

    house.say("Forget what I told you about my sister", "another")

    assert not house.is_held("latex", "Greta")


def test_what_is_more_is_shown_and_goes_after_a_yes_and_not_after_another_message(house: House) -> None:
    house.know(*(f"My sister Greta has {what}." for what in ("a boat", "two cats", "a red car", "a house in Rome")))

    assert house.say("Forget everything about my sister").endswith("?")
    house.say("I live in Porto.")
    house.say("yes")
    assert house.is_held("two cats")

    assert "two cats" in house.say("Forget everything about my sister")
    assert "two cats" in house.say("yes, please")
    assert not house.is_held("two cats", "a boat")


@pytest.mark.parametrize(("reply", "is_kept"), [("是的。", False), ("不用。", True), ("我住在成都。", True)])
def test_what_only_sounds_like_a_wish_is_kept_unless_it_is_confirmed(house: House, reply: str, is_kept: bool) -> None:
    house.know("我炒股赔了二十万。")
    assert house.say("我炒股赔钱的事，你当耳旁风就行").endswith("？")

    house.say(reply)

    assert house.is_held("耳旁风") == house.is_held("二十万") == is_kept


def test_what_is_refused_stays(house: House) -> None:
    house.know(*(f"My sister Greta has {what}." for what in ("a boat", "two cats", "a red car", "a house in Rome")))
    house.say("Forget everything about my sister")

    assert house.say("no") == "Nothing was erased."
    assert house.is_held("two cats")


@pytest.mark.parametrize("told", ["don't remember this", "这个别记"])
def test_the_turn_before_is_not_remembered(house: House, told: str) -> None:
    house.say("I am seeing a therapist on Fridays.")

    house.say(told)

    assert not house.is_held("therapist")


@pytest.mark.parametrize(
    ("known", "told", "yes", "gone"),
    [
        ("My budget is $12,000.", "that's not true any more", "yes", "12,000"),
        ("我的预算是五千块。", "这个已经不对了", "是的", "五千块"),
    ],
)
def test_what_has_ceased_to_be_true_is_shown_and_goes_after_a_yes(
    house: House, known: str, told: str, yes: str, gone: str
) -> None:
    house.say(known)

    answer = house.say(told)

    assert gone in answer
    assert answer.endswith(("?", "？"))
    assert house.is_held(gone)
    assert gone in house.say(yes)
    assert not house.is_held(gone, told)


def test_a_wish_in_somebodys_own_idiom_is_asked_about(house: House) -> None:
    house.know("我炒股赔了二十万。")

    assert house.say("我炒股赔钱的事，你当耳旁风就行").endswith("？")
    house.say("是的")

    assert not house.is_held("二十万", "耳旁风")


def test_what_follows_a_sentence_not_to_keep_is_asked_as_ever(house: House) -> None:
    house.say("I am in debt, don't keep that. I live in Porto.")

    assert house.is_held("Porto")
    assert not house.is_held("debt")


def test_where_nothing_is_known_that_is_said_and_the_request_is_kept_nowhere(house: House) -> None:
    assert "nothing" in house.say("Forget what I told you about my uncle")

    assert not house.is_held("uncle")


BESIDE = [
    (
        "I play the cello in a quartet.",
        "The cello bit can go, and by the way my new number plate is RX12 KLM.",
        ("yes", "no"),
        "cello",
        "RX12 KLM",
    ),
    (
        "我弟在跟房东打官司。",
        "别再提我弟打官司的事了，对了我的新车牌是京A12345",
        ("是的", "不用了"),
        "官司",
        "京A12345",
    ),
]


@pytest.mark.parametrize(("known", "told", "replies", "gone", "news"), BESIDE)
@pytest.mark.parametrize("is_yes", [True, False])
def test_what_is_told_beside_a_wish_is_kept_and_the_answer_asks(
    house: House, known: str, told: str, replies: tuple[str, str], gone: str, news: str, is_yes: bool
) -> None:
    house.know(known)

    assert house.say(told).endswith(("?", "？"))
    assert house.is_held(news)
    assert house.is_held(gone)
    assert gone in house.say(replies[0]) if is_yes else "noted" not in house.say(replies[1]).casefold()
    house.say("What is the weather?")

    assert house.is_held(gone) is not is_yes
    assert house.is_held(news)
    assert not house.is_held(told)


@pytest.mark.parametrize(("known", "told", "replies", "gone", "news"), BESIDE)
@pytest.mark.parametrize("kind", KINDS)
async def test_the_same_awaited(
    kind: str, known: str, told: str, replies: tuple[str, str], gone: str, news: str
) -> None:
    house = House(kind)
    house.know(known)

    assert (await house.asay(told)).endswith(("?", "？"))
    assert gone in await house.asay(replies[0])

    assert not house.is_held(gone)
    assert house.is_held(news)


def test_an_agent_forgets_what_the_turn_told_of_the_thing_itself(house: House) -> None:
    house.know("I play the cello in a quartet.")

    house.say("The cello bit can go. My plate is RX12 KLM. The cello was stolen in Graz.")
    house.say("yes")

    assert not house.is_held("Graz", "cello")


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_model_is_shown_what_was_told_beside_a_wish(kind: str) -> None:
    house = House(kind)
    house.know("I play the cello in a quartet.")
    house.say("The cello bit can go, and by the way my plate is RX12 KLM.")
    house.say("yes")

    assert house.say("What is the weather?") == "Noted."
    assert "RX12 KLM" in str(house.heard)
    assert "cello" not in str(house.heard)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_model_is_shown_neither_the_request_nor_its_answer(kind: str) -> None:
    house = House(kind)
    house.know("My sister Greta is allergic to latex.")
    house.say("Forget what I told you about my sister")

    assert house.say("What is the weather?") == "Noted."
    assert "latex" not in str(house.heard)
    assert "sister" not in str(house.heard)


def test_a_message_that_only_agrees_goes_to_the_agent_where_nothing_was_asked() -> None:
    assert House("middleware").say("yes") == "Noted."


def test_a_conversation_that_ends_with_such_a_request_has_ended() -> None:
    house = House("middleware")
    house.say("My sister Greta is allergic to latex.")
    house.say("Forget what I told you about my sister", end=True)

    assert house.say("I live in Porto.") == "Noted."


# --- as tools --------------------------------------------------------------------------------------------------------


def _called(memories: Memories, name: str, **given: str) -> str:
    return next(tool for tool in memories.as_tools("ana") if tool.name == name).invoke(given)


@pytest.mark.parametrize("told", ["Forget what I told you about my sister", "忘掉我妹妹的事"])
def test_the_words_of_the_user_are_enough_for_the_tools_and_are_no_memory(told: str) -> None:
    house = House("middleware")
    house.know("My sister Greta is allergic to latex.", "我妹妹小雨下个月离婚。")

    assert "Nothing was kept" in _called(house.memories, "store_memory", text=told)
    assert "erase it now" in _called(house.memories, "find_memories_to_delete", about=told)
    assert not house.is_held(told)


@pytest.mark.parametrize(
    ("told", "news", "gone"),
    [
        ("Forget what I said about my sister, and by the way my plate is RX12 KLM.", "RX12 KLM", "Greta"),
        ("忘掉我妹妹的事，对了我的新车牌是京A12345", "京A12345", "小雨"),
    ],
)
def test_the_tools_keep_what_is_told_beside_a_wish_and_find_what_is_wished(told: str, news: str, gone: str) -> None:
    house = House("middleware")
    house.know("My sister Greta is allergic to latex.", "我妹妹小雨下个月离婚。")

    kept = _called(house.memories, "store_memory", text=told)
    found = _called(house.memories, "find_memories_to_delete", about=told)

    assert news in kept
    assert "nothing was erased yet" in kept
    assert house.is_held(news)
    assert not house.is_held(told)
    assert gone in found
    assert news not in found


def test_the_tools_ask_before_much_goes() -> None:
    house = House("middleware")
    house.know(*(f"My sister Greta has {what}." for what in ("a boat", "two cats", "a red car", "a house in Rome")))

    assert "after a yes" in _called(house.memories, "find_memories_to_delete", about="my sister")
