"""The researcher as a tool of somebody's agent: over one memory, which the model does not choose."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from agentic_memory_bank.graph.as_tool import as_research_tool
from agentic_memory_bank.graph.memorizer import build_memorizer
from agentic_memory_bank.graph.researcher import build_researcher
from agentic_memory_bank.state.errors import StorageError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.stores import PageStores

CONDOR = "Condor has 1,121 qubits."
QUESTION = "How many qubits does Condor have?"


class Talking(BaseChatModel):
    """Calls the tool once with what it is told to, then ends."""

    arguments: dict[str, Any]
    name_of_tool: str = "research_memory"

    @property
    def _llm_type(self) -> str:
        return "talking"

    def bind_tools(self, tools: Any, **options: Any) -> "Talking":
        return self

    def _generate(self, messages: list[BaseMessage], *given: Any, **options: Any) -> ChatResult:
        call = {"name": self.name_of_tool, "args": self.arguments, "id": "1"}
        said = AIMessage("Done.") if isinstance(messages[-1], ToolMessage) else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


@pytest.fixture
def stores() -> PageStores:
    stores = PageStores(in_memory=True)
    memorizer: Any = build_memorizer(stores=stores, clock=TickingClock())
    memorizer.invoke({"texts": [{"text": CONDOR, "source": "condor.txt"}], "memory": "chips"})
    memorizer.invoke({"texts": ["The key hangs in the shed."], "memory": "private"})
    return stores


def tool(stores: PageStores, memory: str = "chips", **options: Any) -> Any:
    researcher = build_researcher(embeddings=HashEmbeddings(), stores=stores, clock=TickingClock())
    return as_research_tool(researcher, memory, **options)


def result(asked: Any, **arguments: Any) -> ToolMessage:
    agent: Any = create_agent(Talking(arguments={"question": QUESTION, **arguments}), [asked])
    (message,) = [m for m in agent.invoke({"messages": [("user", "?")]})["messages"] if isinstance(m, ToolMessage)]
    return message


def test_a_model_is_offered_a_question_and_nothing_else(stores: PageStores) -> None:
    offered = convert_to_openai_tool(tool(stores))["function"]

    assert offered["name"] == "research_memory"
    assert list(offered["parameters"]["properties"]) == offered["parameters"]["required"] == ["question"]


def test_it_can_be_named_after_what_its_memory_holds(stores: PageStores) -> None:
    named = tool(stores, name="ask_about_chips", description="Ask about chips.")

    assert (named.name, named.description) == ("ask_about_chips", "Ask about chips.")


def test_an_agent_reads_the_answer_with_its_quotes_and_its_code_the_whole_outcome(stores: PageStores) -> None:
    message = result(tool(stores))

    answer, _, quotes = message.text.partition("\n\n")
    assert "1,121" in answer
    assert quotes == f"Quotes:\n- “{CONDOR}” (condor.txt)"
    assert message.artifact["status"] == "answered"
    assert message.artifact["sources"][0]["quote"] == CONDOR


async def test_it_works_asynchronously(stores: PageStores) -> None:
    assert "1,121" in await tool(stores).ainvoke({"question": QUESTION})


def test_the_model_cannot_reach_another_memory(stores: PageStores) -> None:
    message = result(tool(stores), question="Where does the key hang?", memory="private")

    assert "shed" not in f"{message.text}{message.artifact}"


def test_what_the_memory_does_not_hold_is_said(stores: PageStores) -> None:
    assert result(tool(stores, "nothing")).text == "There is no answer (not_found)."


def test_an_empty_question_is_told_to_the_model(stores: PageStores) -> None:
    message = result(tool(stores), question="  ")

    assert (message.status, "empty" in message.text) == ("error", True)


def test_settings_are_those_that_were_given(stores: PageStores) -> None:
    assert result(tool(stores, settings=Settings(research_rounds=1))).artifact["rounds"]


def test_a_memory_that_cannot_be_read_is_for_the_caller_to_hear(
    stores: PageStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise StorageError("The disk is gone.")

    monkeypatch.setattr(PageStores, "of", broken)

    with pytest.raises(StorageError):
        tool(stores).invoke({"question": QUESTION})
