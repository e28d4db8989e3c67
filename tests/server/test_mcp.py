"""LangGraph's server offers the memory bank to clients of the Model Context Protocol, at `/mcp`."""

import ast
from typing import Any

import httpx
import pytest

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

VERSION = "2025-06-18"
QUESTION = "How wide is the mirror?"
TEXT = "The mirror of the Meridian Array is 8.2 metres wide."


@pytest.fixture(scope="module")
def ask(server: Any) -> Any:
    """Send one request of the protocol, and give back its result."""

    def send(method: str, **params: Any) -> dict[str, Any]:
        answer = httpx.post(
            f"{server.url}/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
            headers={"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": VERSION},
            timeout=120,
        )
        answer.raise_for_status()
        return answer.json()

    return send


def called(ask: Any, **arguments: Any) -> dict[str, Any]:
    return ask("tools/call", name="memory_bank", arguments=arguments)["result"]


def test_a_client_introduces_itself(ask: Any) -> None:
    greeting = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

    told = ask("initialize", **greeting)["result"]

    assert told["protocolVersion"] == VERSION
    assert "tools" in told["capabilities"]


def test_the_memory_bank_is_among_the_tools_with_what_it_does_and_takes(ask: Any) -> None:
    offered = {tool["name"]: tool for tool in ask("tools/list")["result"]["tools"]}

    bank = offered["memory_bank"]
    assert "Answers a question over long texts" in bank["description"]
    assert {"question", "documents"} <= set(bank["inputSchema"]["properties"])


def test_a_question_over_a_document_is_answered_with_its_quote(ask: Any) -> None:
    result = called(ask, question=QUESTION, documents=[{"text": TEXT, "source": "array.txt"}])

    (part,) = result["content"]
    answer = ast.literal_eval(part["text"])
    assert not result.get("isError")
    assert answer["status"] == "completed"
    assert "8.2" in answer["answer"]
    assert [source["source"] for source in answer["sources"]] == ["array.txt"]


def test_texts_may_be_handed_over_as_they_are(ask: Any) -> None:
    result = called(ask, question=QUESTION, documents=[TEXT])

    assert "8.2 metres" in ast.literal_eval(result["content"][0]["text"])["answer"]


def test_input_that_cannot_be_used_is_an_error_of_the_tool(ask: Any) -> None:
    result = called(ask, question=" ", documents=[])

    assert result["isError"]
    assert result["content"][0]["text"] == "InputError"
