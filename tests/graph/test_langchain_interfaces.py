"""LangChain's own interfaces over what is remembered: retrievers, a chat history, tables, and awaited operations."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_tests.integration_tests import RetrieversIntegrationTests

from agentic_memory_bank import (
    AsyncMemories,
    BankRetriever,
    Memories,
    MemoryChatHistory,
    MemoryRetriever,
    PageRetriever,
    run,
)
from agentic_memory_bank.runs.page_runs import PageRunOptions, memorize
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

TEXTS = [
    "The mirror of the telescope was paid for by the Lund fund.",
    "The mirror of the telescope is 8.2 metres wide.",
    "The dome above the mirror was painted white.",
    "Visitors see the mirror on Sundays.",
]


@pytest.fixture
def memories() -> Iterator[Memories]:
    with Memories(embeddings=HashEmbeddings()) as opened:
        yield opened


class TestMemoryRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _stored(self, memories: Memories) -> None:
        self.memories = memories
        for text in TEXTS:
            memories.store(text, user="ana")

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MemoryRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memories": self.memories, "user": "ana", "threshold": None}

    @property
    def retriever_query_example(self) -> str:
        return "Who paid for the mirror of the telescope?"


class TestPageRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _memorized(self) -> None:
        memorize(TEXTS, "letters", given=PageRunOptions(embeddings=HashEmbeddings()))

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return PageRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": "letters", "embeddings": HashEmbeddings()}

    @property
    def retriever_query_example(self) -> str:
        return "Who paid for the mirror of the telescope?"


class TestBankRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _asked(self) -> None:
        documents: list[Any] = [Document(text, metadata={"source": f"{n}.txt"}) for n, text in enumerate(TEXTS)]
        run("How wide is the mirror?", documents=documents, thread="mirror", embeddings=HashEmbeddings())

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return BankRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"thread": "mirror", "embeddings": HashEmbeddings()}

    @property
    def retriever_query_example(self) -> str:
        return "Who paid for the mirror of the telescope?"

    def test_a_quote_stands_in_its_source_where_the_position_says(self, retriever: BaseRetriever) -> None:
        (found,) = retriever.invoke(self.retriever_query_example, k=1)

        assert found.metadata["source"] == "0.txt"
        place = found.metadata["position"]
        assert TEXTS[0][place["start"] : place["end"]] == found.metadata["quote"] == TEXTS[0]


def test_a_memory_comes_with_its_quote_its_conversation_and_why_it_was_found(memories: Memories) -> None:
    memories.remember("I live in Lisbon.", user="ana", conversation_id="monday", end=True)

    (found,) = MemoryRetriever(memories=memories, user="ana", k=1).invoke("Where in Lisbon do I live?")

    assert found.metadata["quote"] == "I live in Lisbon."
    assert found.metadata["source"] == "monday"
    assert found.metadata["position"]["turns"]
    assert "lisbon" in found.metadata["why"]["words"]


def test_a_retriever_finds_nothing_of_another_user_or_project(memories: Memories) -> None:
    memories.store("The safe opens with a key.", user="bob")
    memories.store("The safe is green.", user="ana", project="work")

    assert MemoryRetriever(memories=memories, user="ana", threshold=None).invoke("the safe") == []


def test_a_retriever_refuses_a_field_it_does_not_have(memories: Memories) -> None:
    with pytest.raises(ValueError, match="usr"):
        MemoryRetriever(memories=memories, user="ana", usr="bob")  # pyright: ignore[reportCallIssue]


def test_a_passage_of_a_page_says_where_it_stands() -> None:
    memorize([TEXTS[0]], "letters", given=PageRunOptions(embeddings=HashEmbeddings()))

    (found,) = PageRetriever(memory="letters", embeddings=HashEmbeddings(), k=1).invoke("Who paid for the mirror?")

    place = found.metadata["position"]
    assert TEXTS[0][place["start"] : place["end"]] == found.metadata["quote"] == found.page_content


# --- the chat history --------------------------------------------------------------------------------------------


def words(messages: list[BaseMessage]) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in messages]


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
def test_a_chain_with_a_history_is_shown_what_was_said_before(memories: Memories) -> None:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{said}")])
    chain = RunnableWithMessageHistory(
        prompt | FakeListChatModel(responses=["Noted.", "In Lisbon."]),
        lambda session: MemoryChatHistory(memories, user="ana", conversation_id=session),
        input_messages_key="said",
        history_messages_key="history",
    )
    here: Any = {"configurable": {"session_id": "monday"}}

    chain.invoke({"said": "I moved to Lisbon."}, here)
    chain.invoke({"said": "Where do I live?"}, here)

    kept = MemoryChatHistory(memories, user="ana", conversation_id="monday").messages
    assert words(kept) == [
        ("human", "I moved to Lisbon."),
        ("ai", "Noted."),
        ("human", "Where do I live?"),
        ("ai", "In Lisbon."),
    ]


def test_a_long_history_keeps_its_order_and_what_was_said_twice(memories: Memories) -> None:
    history = MemoryChatHistory(memories, user="ana", conversation_id="monday")
    said = [f"On day {n} I walked {n * 3} miles along the river." for n in range(1, 15)]

    for one in said:
        history.add_messages([HumanMessage(one)])
    history.add_messages([AIMessage("Well done on day 3."), HumanMessage(said[2])])

    assert [message.text for message in history.messages] == [*said, "Well done on day 3.", said[2]]


def test_what_is_forgotten_is_gone_from_the_history(memories: Memories) -> None:
    history = MemoryChatHistory(memories, user="ana", conversation_id="monday")
    history.add_messages([HumanMessage("My doctor is called Brandt."), HumanMessage("I work at the harbour.")])

    memories.delete(memories.preview_delete_about("Brandt", user="ana").ids, user="ana")

    assert [message.text for message in history.messages] == ["I work at the harbour."]


def test_a_history_that_is_cleared_takes_its_facts_along_and_nothing_of_another(memories: Memories) -> None:
    memories.remember("I work at the harbour.", user="ana", conversation_id="sunday", end=True)
    memories.remember("I live in Lisbon.", user="ana", conversation_id="monday", end=True)
    history = MemoryChatHistory(memories, user="ana", conversation_id="monday")

    history.clear()

    assert history.messages == []
    texts = [record["text"] for record in memories.list(user="ana", project=None, replaced=True).records]
    assert texts
    assert not any("Lisbon" in text for text in texts)


def test_a_history_needs_a_name(memories: Memories) -> None:
    with pytest.raises(InputError, match="named by a text"):
        MemoryChatHistory(memories, user="ana", conversation_id=" ")


# --- tables and awaited operations --------------------------------------------------------------------------------


def test_memories_become_a_table_whose_times_are_times(memories: Memories) -> None:
    stored = memories.store(TEXTS[0], user="ana", subject="mirror")

    table = memories.dataframe(user="ana")

    assert table.loc[stored["id"], "subject"] == "mirror"
    assert str(table["created_at"].dt.tz) == "UTC"
    assert memories.dataframe(user="nobody").empty


def test_every_operation_of_memories_can_be_awaited() -> None:
    there = {name for name, _ in inspect.getmembers(Memories, callable) if not name.startswith("_")}

    assert {name for name in there if hasattr(AsyncMemories, name)} == there - {"as_tools"}


async def test_what_is_remembered_and_recalled_is_awaited(tmp_path: Path) -> None:
    async with AsyncMemories(home=tmp_path, embeddings=HashEmbeddings()) as memories:
        await memories.remember("I moved to Lisbon last month.", user="ana", conversation_id="monday", end=True)
        found = await memories.recall("Where in Lisbon do I live?", user="ana")

    assert "Lisbon" in found["block"]


async def test_memories_that_are_shared_stay_open(memories: Memories) -> None:
    async with AsyncMemories(memories) as shared:
        await shared.store(TEXTS[0], user="ana")

    assert memories.search("mirror", user="ana", threshold=None)
