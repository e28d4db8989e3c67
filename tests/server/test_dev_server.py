"""`langgraph dev` serves the graph as it stands: offline, without a key, without `--allow-blocking`."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.client import SyncLangGraphClient
from langgraph_sdk.errors import BadRequestError, ConflictError

from agentic_memory_bank import runs

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

STAGES = {
    "adapter_in",
    "classify",
    "structure",
    "embed",
    "retrieve",
    "analyze_conflict",
    "analyze_related",
    "integrate",
    "plan",
    "execute",
    "adapter_out",
}
QUESTION = "How wide is the mirror?"
SAME = "The mirror of the Meridian Array is 8.2 metres wide and weighs twenty tonnes."
DOCUMENTS = [
    {"text": SAME, "source": "first.txt"},
    {"text": SAME.replace("and weighs", "and it weighs"), "source": "second.txt"},
    {"text": "The canteen of the harbour serves fish soup on Fridays.", "source": "third.txt"},
]
INPUT = {"question": QUESTION, "documents": DOCUMENTS}


@pytest.fixture(scope="module")
def assistant(client: SyncLangGraphClient) -> str:
    """The assistant the server made of langgraph.json."""
    return client.assistants.search(graph_id="memory_bank")[0]["assistant_id"]


@pytest.fixture(scope="module")
def finished(client: SyncLangGraphClient, assistant: str) -> str:
    """A thread on which the memory bank answered once."""
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, assistant, input=INPUT)
    return thread


def live(state: dict[str, Any]) -> dict[str, str]:
    return state["values"]["memories"]


def test_the_assistant_is_offered_with_its_description(client: SyncLangGraphClient) -> None:
    offered = client.assistants.search(graph_id="memory_bank")

    assert [assistant["name"] for assistant in offered] == ["memory_bank"]
    assert "question" in (offered[0]["description"] or "")


def test_the_schemas_are_those_of_input_output_and_settings(client: SyncLangGraphClient, assistant: str) -> None:
    schemas = client.assistants.get_schemas(assistant)

    assert {"question", "documents"} <= set(schemas["input_schema"]["properties"])
    assert {"answer", "sources", "conflicts", "status"} <= set(schemas["output_schema"]["properties"])
    assert schemas["context_schema"]["properties"]["k"]["description"]


def test_the_drawing_has_the_eleven_stages(client: SyncLangGraphClient, assistant: str) -> None:
    drawing = client.assistants.get_graph(assistant, xray=True)

    names = {str(node["id"]) for node in drawing["nodes"]}
    assert {name for name in names if "__" not in name} == STAGES


def test_a_run_answers_with_quotes(client: SyncLangGraphClient, assistant: str) -> None:
    answer = client.runs.wait(None, assistant, input=INPUT)

    assert answer["status"] == "completed"
    assert "8.2" in answer["answer"]
    assert {source["source"] for source in answer["sources"]} <= {"first.txt", "second.txt"}


def test_a_stream_names_each_stage_that_works(client: SyncLangGraphClient, assistant: str) -> None:
    parts = list(client.runs.stream(None, assistant, input=INPUT, stream_mode="updates"))

    worked = [stage for part in parts if part.event == "updates" for stage in part.data]
    assert worked[0] == "adapter_in"
    assert worked[-1] == "adapter_out"
    assert {"classify", "structure", "embed", "retrieve", "analyze_conflict", "plan", "execute"} <= set(worked)


def test_settings_reach_a_run(client: SyncLangGraphClient) -> None:
    given = {"texts": [" ".join(f"Mirror {number} is wide." for number in range(200))], "memory": "settings"}

    made: Any = client.runs.wait(None, "memorizer", input=given, context={"page_tokens": 100})

    assert len(made["pages"]) > 5


def test_the_history_can_be_read_back(client: SyncLangGraphClient, finished: str) -> None:
    history = client.threads.get_history(finished, limit=100)

    assert history[0]["next"] == []
    assert {stage for state in history for stage in state["next"]} >= {"classify", "embed", "plan", "execute"}
    assert live(history[0])


def test_a_state_names_texts_and_does_not_hold_them(client: SyncLangGraphClient, assistant: str) -> None:
    thread = client.threads.create()["thread_id"]
    text = " ".join(f"Sailor {number} came from the village number {number}." for number in range(200))
    given = {"question": QUESTION, "documents": [SAME, {"text": text, "source": "crew.txt"}]}

    sent = list(client.runs.stream(thread, assistant, input=given, stream_mode=["values", "updates", "custom"]))

    state, history = client.threads.get_state(thread), client.threads.get_history(thread, limit=100)
    shown = [*(part.data for part in sent), state["values"], *(one["values"] for one in history)]
    assert max(len(json.dumps(one)) for one in shown) < len(text) / 2
    assert f"crew.txt, {len(text):,} characters" in " ".join(state["values"]["entries"].values())
    assert state["values"]["answer"]


def test_the_memory_of_a_thread_is_exported_whole(
    server: Any, client: SyncLangGraphClient, assistant: str, tmp_path: Path
) -> None:
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, assistant, input=INPUT)
    file = tmp_path / "thread.json"

    file.write_bytes(server.request("me", "GET", f"/v1/threads/{thread}/export").content)

    runs.import_thread(file, "copy", home=tmp_path / "home")
    entries = runs.read_state("copy", home=tmp_path / "home")["interaction_tree"]["entries"].values()
    assert [entry["text"] for entry in entries] == [document["text"] for document in DOCUMENTS]


def test_a_thread_is_forked_from_before_a_merge(client: SyncLangGraphClient, assistant: str, finished: str) -> None:
    history = client.threads.get_history(finished, limit=100)
    before = next(state for state in history if state["next"] == ["integrate"])
    merged = live(history[0])

    client.threads.update_state(
        finished, {"merging": []}, as_node="analyze_conflict", checkpoint_id=before["checkpoint"]["checkpoint_id"]
    )
    client.runs.wait(finished, assistant, input=None)

    forked = client.threads.get_state(finished)
    assert forked["values"]["status"] == "completed"
    assert len(live(forked)) > len(merged)
    original = client.threads.get_state(finished, checkpoint_id=history[0]["checkpoint"]["checkpoint_id"])
    assert live(original) == merged


def test_a_layer_that_is_edited_as_a_whole_is_written(client: SyncLangGraphClient, assistant: str) -> None:
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, assistant, input=INPUT)
    state: Any = client.threads.get_state(thread)
    graph, doc = state["values"]["query_graph"], state["values"]["insight_doc"]
    first = next(iter(graph["nodes"]))
    graph["nodes"][first]["summary"] = "The mirror is wide."
    doc["completed"][0]["learned"] = "Nothing."

    client.threads.update_state(thread, {"query_graph": graph, "insight_doc": doc})

    edited: Any = client.threads.get_state(thread)["values"]
    assert edited["query_graph"]["nodes"][first]["summary"] == "The mirror is wide."
    assert edited["insight_doc"]["completed"][0]["learned"] == "Nothing."


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"query_graph": "junk"}, "or as a list of edits"),
        ({"insight_doc": {"goal": 7}}, "cannot be written at goal"),
        ({"memories": []}, "has no 'memories'"),
    ],
)
def test_what_cannot_be_written_is_refused_in_a_sentence(
    client: SyncLangGraphClient, finished: str, values: Any, why: str
) -> None:
    with pytest.raises(BadRequestError, match=why):
        client.threads.update_state(finished, values)


@pytest.mark.parametrize("stage", ["adapter_in", "plan", "execute"])
def test_a_thread_is_forked_with_another_question(client: SyncLangGraphClient, assistant: str, stage: str) -> None:
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, assistant, input=INPUT)
    before = next(state for state in reversed(client.threads.get_history(thread, limit=100)) if stage in state["next"])
    asked = {"question": "What does the canteen serve?"}

    client.threads.update_state(thread, asked, checkpoint_id=before["checkpoint"]["checkpoint_id"])
    answer: Any = client.runs.wait(thread, assistant, input=None)

    assert answer["insight_doc"]["goal"] == asked["question"]
    assert "fish soup" in answer["answer"]


def test_a_second_run_on_a_busy_thread_is_refused(client: SyncLangGraphClient) -> None:
    thread = client.threads.create()["thread_id"]
    first = client.runs.create(thread, "slow", input=INPUT)

    with pytest.raises(ConflictError):
        client.runs.create(thread, "slow", input=INPUT, multitask_strategy="reject")

    client.runs.join(thread, first["run_id"])
    assert client.threads.get(thread)["status"] == "idle"


def test_twelve_runs_at_once_all_end(client: SyncLangGraphClient) -> None:
    threads = [client.threads.create()["thread_id"] for _ in range(12)]
    runs = [client.runs.create(thread, "slow", input=INPUT)["run_id"] for thread in threads]

    answers = [client.runs.join(thread, run) for thread, run in zip(threads, runs, strict=True)]

    assert [answer["answer"] for answer in answers] == ["slow"] * 12


def test_nothing_the_server_says_is_of_a_blocking_call(client: SyncLangGraphClient, server: Any, finished: str) -> None:
    assert client.threads.get(finished)["status"] == "idle"

    assert "Blocking" not in Path(server.log).read_text()
