"""`langgraph dev` serves memorizer and researcher: what one keeps, the other answers from."""

from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.client import SyncLangGraphClient

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

MIRROR = "The mirror of the Meridian Array is 8.2 metres wide."
TEXTS = [{"text": MIRROR, "source": "array.txt"}, {"text": "The canteen serves soup.", "source": "menu.txt"}]
REQUEST = {"request": "How wide is the mirror of the Meridian Array?", "memory": "array"}
STAGES = {"take_in", "plan", "search", "integrate", "reflect", "answer"}


def assistant(client: SyncLangGraphClient, graph: str) -> str:
    """The assistant the server made of langgraph.json."""
    (offered,) = client.assistants.search(graph_id=graph)
    return offered["assistant_id"]


@pytest.fixture(scope="module")
def researcher(client: SyncLangGraphClient) -> str:
    made: Any = client.runs.wait(None, assistant(client, "memorizer"), input={"texts": TEXTS, "memory": "array"})
    assert made["status"] == "completed"
    return assistant(client, "researcher")


def test_the_researcher_is_offered_with_its_description(client: SyncLangGraphClient) -> None:
    (offered,) = client.assistants.search(graph_id="researcher")

    assert offered["name"] == "researcher"
    assert "Input: request, memory." in (offered["description"] or "")


def test_the_schemas_are_those_of_input_output_and_settings(client: SyncLangGraphClient, researcher: str) -> None:
    schemas: Any = client.assistants.get_schemas(researcher)

    assert set(schemas["input_schema"]["properties"]) == {"request", "memory", "messages"}
    assert {"answer", "sources", "findings", "rounds", "status", "usage"} <= set(schemas["output_schema"]["properties"])
    assert schemas["context_schema"]["properties"]["research_rounds"]["description"]


def test_the_drawing_has_the_six_stages(client: SyncLangGraphClient, researcher: str) -> None:
    drawing = client.assistants.get_graph(researcher, xray=True)

    names = {str(node["id"]) for node in drawing["nodes"]}
    assert {name for name in names if "__" not in name} == STAGES


def test_a_request_is_answered_from_what_was_memorized(client: SyncLangGraphClient, researcher: str) -> None:
    found: Any = client.runs.wait(None, researcher, input=REQUEST)

    assert found["status"] == "answered"
    assert found["sources"][0]["quote"] == MIRROR
    assert found["sources"][0]["source"] == "array.txt"


def test_plan_search_and_findings_are_streamed(client: SyncLangGraphClient, researcher: str) -> None:
    parts = list(client.runs.stream(None, researcher, input=REQUEST, stream_mode="custom"))

    told = [part.data["stage"] for part in parts if part.event == "custom" and "stage" in part.data]
    assert told[:4] == ["take_in", "plan", "search", "integrate"]


def test_nothing_the_server_says_is_of_a_blocking_call(server: Any, researcher: str) -> None:
    assert researcher
    assert "Blocking" not in Path(server.log).read_text()
