"""Retrievers of any make are researched beside a memory of pages, or alone: quotes have places in what was found."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank import build_researcher
from agentic_memory_bank.graph.as_tool import as_research_tool
from agentic_memory_bank.nodes.researcher import retrieved
from agentic_memory_bank.runs.page_runs import PageRunOptions, memorize
from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.stores import PageStores

QUESTION = "Who paid for the mirror of the telescope?"
PAID = "The mirror of the telescope was paid for by the Lund fund."
WIDE = "The mirror of the telescope is 8.2 metres wide."


class Shelf(BaseRetriever):
    """Brings what it holds, whatever it is asked, and notes what it was asked."""

    held: list[Document]
    asked: list[str] = []

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        self.asked.append(query)
        return self.held


def shelf(*texts: str, source: str = "shelf.txt") -> Shelf:
    return Shelf(held=[Document(text, metadata={"source": source}) for text in texts], asked=[])


def broken(_: str) -> Sequence[Document]:
    raise ConnectionError("secret host")


def research(retrievers: Any, **options: Any) -> Any:
    return build_researcher(retrievers=retrievers, embeddings=HashEmbeddings(), **options)


def test_a_retriever_alone_is_researched_without_a_memory() -> None:
    found = research([own := shelf(PAID, WIDE)]).invoke({"request": QUESTION})

    assert "Lund fund" in found["answer"]
    assert {source["source"] for source in found["sources"]} == {"shelf.txt"}
    for source in found["sources"]:
        assert PAID[source["start"] : source["end"]] == source["quote"]
    assert own.asked[0] == QUESTION


def test_a_retriever_is_researched_beside_a_memory(tmp_path: Path) -> None:
    memorize([PAID], "letters", home=tmp_path, given=PageRunOptions(embeddings=HashEmbeddings()))
    graph = research(shelf(WIDE, source="web"), stores=PageStores(tmp_path))

    paid = graph.invoke({"request": QUESTION, "memory": "letters"})
    wide = graph.invoke({"request": "How wide is the mirror of the telescope?", "memory": "letters"})

    assert "Lund fund" in paid["answer"]
    assert "8.2" in wide["answer"]
    assert {source["source"] for source in wide["sources"]} == {"web"}


def test_a_vector_store_a_function_and_a_message_will_do() -> None:
    store = InMemoryVectorStore.from_documents([Document(PAID, metadata={"source": "store"})], HashEmbeddings())

    for one in (store.as_retriever(), lambda query: [PAID] if query == QUESTION else []):
        assert "Lund fund" in research(one).invoke({"messages": [("user", QUESTION)]})["messages"][-1].text


async def test_a_retriever_is_researched_where_it_is_awaited() -> None:
    assert "Lund fund" in (await research(shelf(PAID)).ainvoke({"request": QUESTION}))["answer"]


def test_one_that_fails_is_passed_over_and_named_by_its_kind_alone(caplog: pytest.LogCaptureFixture) -> None:
    found = research([broken, shelf(PAID)]).invoke({"request": QUESTION})

    assert "Lund fund" in found["answer"]
    assert found["degraded"] == ["search: ConnectionError"]
    assert "secret" not in caplog.text


def test_where_all_fail_or_find_nothing_nothing_is_found() -> None:
    failed, empty = (research(one).invoke({"request": QUESTION}) for one in (broken, shelf("", "  ")))

    assert (failed["status"], failed["degraded"]) == ("not_found", ["search: ConnectionError"])
    assert (empty["status"], empty["degraded"]) == ("not_found", [])


def test_what_was_found_is_there_when_a_run_goes_on_elsewhere() -> None:
    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    research(shelf(PAID), checkpointer=saver).invoke({"request": QUESTION}, thread, interrupt_before=["integrate"])

    found = research(broken, checkpointer=saver).invoke(None, thread)

    assert "Lund fund" in found["answer"]


def test_another_request_of_the_same_thread_begins_without_what_the_last_one_found() -> None:
    thread: Any = {"configurable": {"thread_id": "t"}}
    graph = research(lambda query: [PAID] if query == QUESTION else [], checkpointer=InMemorySaver())
    graph.invoke({"request": QUESTION}, thread)

    assert graph.invoke({"request": "Who paid for the dome?"}, thread)["status"] == "not_found"
    assert graph.get_state(thread).values["retrieved"] == {}


def test_the_same_words_of_the_same_source_are_one_page_and_of_another_source_another() -> None:
    found = research([shelf(PAID), shelf(PAID), shelf(PAID, source="copy")]).invoke({"request": QUESTION})

    assert len(found["rounds"][0]["pages"]) == 2


def test_of_a_long_document_the_parts_are_read_that_share_words_with_the_question() -> None:
    filler = "\n\n".join(f"Plate {n} shows {n * 3} galaxies of the southern sky." for n in range(400))
    graph = research(shelf(f"{filler}\n\n{PAID}\n\n{filler}"))

    found = graph.invoke({"request": QUESTION})

    assert "Lund fund" in found["answer"]
    (source,) = found["sources"]
    assert f"{filler}\n\n{PAID}"[source["start"] : source["end"]] == source["quote"]


def test_no_more_documents_are_taken_than_a_search_may_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieved, "LONGEST", 100)
    graph = research(shelf(*(f"{PAID} {n} {'x' * 200}" for n in range(50))), checkpointer=InMemorySaver())

    found = graph.invoke({"request": QUESTION}, {"configurable": {"thread_id": "t"}}, context={"research_pages": 3})

    kept = graph.get_state({"configurable": {"thread_id": "t"}}).values["retrieved"]
    assert [len(page["text"]) for page in kept.values()] == [100] * 3
    assert len(found["rounds"][0]["pages"]) == 3


def test_an_agent_asks_a_researcher_of_retrievers_without_a_memory() -> None:
    assert "Lund fund" in as_research_tool(research(shelf(PAID))).invoke({"question": QUESTION})


@pytest.mark.parametrize("given", [[3], "retriever", {"a": 1}, [None]])
def test_what_can_be_asked_nothing_is_refused_when_the_graph_is_built(given: Any) -> None:
    with pytest.raises(SettingsError, match="LangChain retrievers"):
        build_researcher(retrievers=given)
