"""`langgraph dev`: what an agent with memory is told in one conversation, it knows in another one."""

import time
from typing import Any

import httpx
import pytest
from langgraph_sdk.client import SyncLangGraphClient

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]
SECONDS = 120


def say(proxied: Any, text: str, conversation: str, user: str) -> str:
    given = {"messages": [{"role": "user", "content": text}], "conversation_id": conversation}
    with proxied.as_user(user) as client:
        found: Any = client.runs.wait(None, "react_mem", input=given, context={"user": user, "recall_timeout": 10})
    return str(found["messages"][-1]["content"])


def test_the_graph_is_offered_with_what_it_takes_and_gives(client: SyncLangGraphClient) -> None:
    (offered,) = client.assistants.search(graph_id="react_mem")
    schemas: Any = client.assistants.get_schemas(offered["assistant_id"])

    assert set(schemas["input_schema"]["properties"]) == {"messages", "conversation_id", "end"}
    assert set(schemas["output_schema"]["properties"]) == {"messages", "stopped"}
    assert {"user", "project", "enable_memory", "fact_limit"} <= set(schemas["context_schema"]["properties"])


def test_a_fact_of_one_conversation_is_known_in_another_and_to_nobody_else(proxied: Any) -> None:
    say(proxied, "I live in Lisbon.", "a", "nina")
    limit = time.monotonic() + SECONDS

    while "Lisbon" not in (answer := say(proxied, "Where do I live?", "b", "nina")):
        assert time.monotonic() < limit, answer
        time.sleep(0.2)

    assert "Lisbon" not in say(proxied, "Where do I live?", "b", "otto")


def test_a_run_without_a_user_is_refused(proxied: Any) -> None:
    given = {"messages": [{"role": "user", "content": "Hello"}]}

    refused = httpx.post(f"{proxied.url}/runs/wait", json={"assistant_id": "react_mem", "input": given})

    assert refused.status_code == 401
