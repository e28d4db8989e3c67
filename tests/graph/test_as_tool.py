"""The memory bank as a tool of somebody's agent: its name, its arguments, what it returns, and what it remembers."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core._api import LangChainBetaWarning
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel, Field

from agentic_memory_bank.engines.base import Dispute, DisputeVerdict, Pairing, Relation
from agentic_memory_bank.graph.as_tool import as_tool
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ChatRequest, ModelServer, Reply, ScriptedEngine, TickingClock, ToolCall
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

QUESTION = "How many qubits does Condor have?"
CONDOR = "Condor has 433 qubits."
THREAD: Any = {"configurable": {"thread_id": "t"}}


def bank(**options: Any) -> Any:
    given = {"engine": ScriptedEngine(), "embeddings": HashEmbeddings(), "clock": TickingClock()}
    return build_memory_bank(**{**given, **options})


def call(number: int, *documents: Any, question: str = QUESTION) -> AIMessage:
    args = {"question": question, **({"documents": list(documents)} if documents else {})}
    return AIMessage("", tool_calls=[{"name": "memory_bank", "args": args, "id": str(number)}])


class Talking(BaseChatModel):
    """Says what it is told to, one message after the other."""

    says: list[AIMessage]
    heard: list[list[BaseMessage]] = []

    @property
    def _llm_type(self) -> str:
        return "talking"

    def bind_tools(self, tools: Any, **options: Any) -> "Talking":
        return self

    def _generate(self, messages: list[BaseMessage], *given: Any, **options: Any) -> ChatResult:
        self.heard.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.says[len(self.heard) - 1])])


def agent(tool: Any, *says: AIMessage, **options: Any) -> Any:
    return create_agent(Talking(says=[*says, AIMessage("Done.")], heard=[]), [tool], **options)


def results(state: Any) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def test_a_model_is_offered_a_question_that_it_must_and_texts_that_it_may_hand_over() -> None:
    offered = convert_to_openai_tool(as_tool(bank()))["function"]

    assert offered["name"] == "memory_bank"
    assert offered["description"].startswith("Answers a question from texts")
    parameters = offered["parameters"]
    assert set(parameters["properties"]) == {"question", "documents"}
    assert parameters["required"] == ["question"]
    assert all(field["description"] for field in parameters["properties"].values())
    assert set(parameters["properties"]["documents"]["items"]["properties"]) == {"text", "source"}


def test_it_can_be_named_after_what_it_is_for() -> None:
    tool = as_tool(bank(), name="ask_the_archive", description="Ask the archive.")

    assert (tool.name, tool.description) == ("ask_the_archive", "Ask the archive.")


@pytest.mark.parametrize("document", [CONDOR, {"text": CONDOR}, {"text": CONDOR, "source": "condor.txt"}])
def test_an_agent_reads_the_answer_with_its_quotes_and_its_code_the_whole_outcome(document: Any) -> None:
    (result,) = results(agent(as_tool(bank()), call(1, document)).invoke({"messages": [("user", QUESTION)]}))

    source = "condor.txt" if "source" in document else "document 1"
    assert result.text == f"{CONDOR}\n\nQuotes:\n- “{CONDOR}” ({source})"
    assert result.artifact["status"] == "completed"
    assert result.artifact["sources"][0]["quote"] == CONDOR


async def test_an_asynchronous_agent_reads_the_same() -> None:
    state = await agent(as_tool(bank()), call(1, CONDOR)).ainvoke({"messages": [("user", QUESTION)]})

    assert results(state)[0].text.startswith(CONDOR)


def test_a_tool_that_is_called_alone_or_in_a_chain_comes_to_its_end() -> None:
    tool = as_tool(bank())
    args = {"question": QUESTION, "documents": [CONDOR]}

    assert tool.invoke(args).startswith(CONDOR)
    assert RunnableLambda(lambda given: tool.invoke(given)).invoke(args).startswith(CONDOR)


def test_langchains_own_as_tool_works_with_a_schema() -> None:
    class Asked(BaseModel):
        question: str = Field(description="What to find out.")
        documents: list[str] = Field(default=[], description="Texts to answer it from.")

    with pytest.warns(LangChainBetaWarning):
        tool = bank().as_tool(Asked, name="archive", description="Ask the archive.")

    assert (tool.name, set(tool.args)) == ("archive", {"question", "documents"})
    assert tool.invoke({"question": QUESTION, "documents": [CONDOR]})["answer"] == CONDOR


def test_what_memory_does_not_hold_is_said() -> None:
    (result,) = results(agent(as_tool(bank()), call(1)).invoke({"messages": [("user", QUESTION)]}))

    assert result.text == "There is no answer (not_found)."


def test_a_contradiction_is_told_with_both_claims_and_the_verdict() -> None:
    texts = [CONDOR, "Condor has 1121 qubits."]

    def conflicting(pairings: list[Pairing]) -> list[Relation]:
        return [
            Relation(p.fresh.id, c.id, "conflict", "number", "433 or 1121")
            for p in pairings
            for c in p.candidates
            if {p.fresh.text, c.text} == set(texts)
        ]

    def validate(disputes: list[Dispute]) -> list[DisputeVerdict]:
        return [DisputeVerdict("holds", d.quotes.index(texts[1]), "", "The maker says so.") for d in disputes]

    tool = as_tool(bank(engine=ScriptedEngine(find_conflicts=conflicting, validate=validate)))

    said = tool.invoke({"question": QUESTION, "documents": texts})

    assert "Contradictions:\n- “" in said
    assert "“Condor has 1121 qubits.” (document 2) holds. The maker says so." in said


@pytest.mark.parametrize("question", ["", "  "])
def test_input_that_cannot_be_used_is_told_to_the_model_and_the_agent_goes_on(question: str) -> None:
    asked = agent(as_tool(bank()), call(1, question=question), call(2, CONDOR))

    refused, answered = results(asked.invoke({"messages": [("user", QUESTION)]}))

    assert refused.status == "error"
    assert "question" in refused.text
    assert answered.text.startswith(CONDOR)


def test_settings_are_those_that_were_given_whatever_the_context_of_the_agent() -> None:
    tool = as_tool(bank(), settings=Settings(max_input_characters=5))
    asked = agent(tool, call(1, CONDOR), context_schema=dict)

    state = asked.invoke({"messages": [("user", QUESTION)]}, context={"max_input_characters": "many"})

    assert "more than" in results(state)[0].text


@pytest.mark.parametrize(("checkpointer", "known"), [(None, False), (True, True)])
def test_a_bank_with_its_own_place_in_the_thread_remembers_what_came_before(checkpointer: Any, known: bool) -> None:
    asked = agent(as_tool(bank(checkpointer=checkpointer)), call(1, CONDOR), call(2), checkpointer=InMemorySaver())

    first, second = results(asked.invoke({"messages": [("user", QUESTION)]}, THREAD))

    assert first.text.startswith(CONDOR)
    assert second.text.startswith(CONDOR) == known


def test_a_step_that_is_handed_out_pauses_the_agent_and_the_result_lets_both_go_on() -> None:
    asked = agent(as_tool(bank(execute="outside")), call(1, CONDOR), checkpointer=InMemorySaver())

    waiting = asked.invoke({"messages": [("user", QUESTION)]}, THREAD)
    state = asked.invoke(Command(resume="It has 433."), THREAD)

    assert waiting["__interrupt__"][0].value["reason"] == "execute"
    assert results(state)[0].text.startswith("It has 433.\n\nQuotes:")
    assert state["messages"][-1].text == "Done."


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that calls the tool once, and then repeats what that said."""

    def script(request: ChatRequest) -> Reply:
        told = [message["content"] for message in request.messages if message["role"] == "tool"]
        if told:
            return Reply(told[0])
        return Reply(tool_calls=[ToolCall("memory_bank", {"question": QUESTION, "documents": [{"text": CONDOR}]})])

    with ModelServer(script) as server:
        yield server


@pytest.mark.server
@pytest.mark.enable_socket
def test_a_model_behind_openais_protocol_is_sent_the_schema_and_calls_the_tool(server: ModelServer) -> None:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="scripted", base_url=server.url, api_key="none")  # type: ignore[arg-type]
    with closing(model.root_client):
        state = create_agent(model, [as_tool(bank())]).invoke({"messages": [("user", QUESTION)]})

    assert state["messages"][-1].text.startswith(CONDOR)
    (offered,) = server.requests[0].tools
    assert offered["function"]["parameters"]["required"] == ["question"]
