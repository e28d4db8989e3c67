"""LangGraph's server offers the memory bank to clients of the Model Context Protocol, at `/mcp`."""

import json
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
    answer = json.loads(part["text"])
    assert not result["isError"]
    assert answer == result["structuredContent"]
    assert answer["status"] == "completed"
    assert "8.2" in answer["answer"]
    assert [source["source"] for source in answer["sources"]] == ["array.txt"]


def test_texts_may_be_handed_over_as_they_are(ask: Any) -> None:
    result = called(ask, question=QUESTION, documents=[TEXT])

    assert "8.2 metres" in result["structuredContent"]["answer"]


def test_input_that_cannot_be_used_is_an_error_of_the_tool(ask: Any) -> None:
    result = called(ask, question=" ", documents=[])

    assert result["isError"]
    assert result["content"][0]["text"].startswith("InputError: The question is empty.")


def test_a_refused_context_is_an_error_of_the_tool_with_its_reason(ask: Any) -> None:
    given = {"question": QUESTION, "documents": [TEXT]}

    result = ask("tools/call", name="memory_bank", arguments=given, context={"user": "bob"})["result"]

    assert result["isError"]
    assert "not the one who is authenticated" in result["content"][0]["text"]


def test_an_unknown_tool_is_an_error_of_the_protocol(ask: Any) -> None:
    assert ask("tools/call", name="nothing", arguments={})["error"]["code"] == -32602


def test_what_is_no_call_is_answered_by_the_server_itself(server: Any) -> None:
    def sent(text: str, **headers: str) -> httpx.Response:
        return httpx.post(f"{server.url}/mcp", content=text, headers=headers, timeout=60)

    assert sent("{", Accept="application/json").json() == {"error": "Invalid JSON"}
    assert sent('{"jsonrpc": "2.0", "id": 1, "method": "ping"}', Accept="application/json").json()["result"] == {}
    assert sent('{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', Accept="text/html").status_code == 400
    assert httpx.get(f"{server.url}/mcp", timeout=60).status_code == 405
