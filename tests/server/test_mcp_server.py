"""`memory-bank mcp` serves memories, documents and pages to the official client of the Model Context Protocol."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from agentic_memory_bank import Memories
from agentic_memory_bank.runs.mcp_server import McpTools, build_mcp_server
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

DRIVER = Path(__file__).parents[1] / "cli" / "driver.py"
TOOLS = {
    "ask",
    "correct",
    "forget",
    "list_contradictions",
    "list_memories",
    "memorize",
    "preview_forget",
    "recall",
    "remember",
    "research",
    "settle_contradiction",
}


@pytest.fixture
def memories() -> Iterator[Memories]:
    with Memories(embeddings=HashEmbeddings()) as opened:
        yield opened


@pytest.fixture
def server(memories: Memories) -> Any:
    return build_mcp_server(McpTools(memories, "ana"))


async def called(client: Client, tool: str, **arguments: Any) -> Any:
    """Call a tool, and give back its result, which is text and structure alike."""
    result: Any = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result: Any = await client.call_tool(tool, arguments)
    assert result.is_error
    return result.content[0].text


async def test_every_tool_says_what_it_takes_and_what_it_returns(server: Any) -> None:
    async with Client(server) as client:
        tools = (await client.list_tools()).tools

    assert {tool.name for tool in tools} == TOOLS
    assert all(tool.description and tool.output_schema for tool in tools)
    assert not any(name in tool.input_schema["properties"] for tool in tools for name in ("self", "user", "project"))
    destructive = {tool.name for tool in tools if tool.annotations and tool.annotations.destructive_hint}
    assert destructive == {"forget"}


async def test_what_was_remembered_is_recalled_and_a_new_value_takes_its_place(server: Any) -> None:
    async with Client(server) as client:
        first = await called(client, "remember", text="I live in Berlin.")
        second = await called(client, "remember", text="I moved from Berlin to Lisbon.")
        found = await called(client, "recall", query="Which city, Lisbon or Berlin, do I live in?")

    assert second["replaced"] == [first["stored"][0]["id"]]
    assert ["Lisbon" in one["text"] for one in found["memories"]] == [True]
    assert found["memories"][0]["quote"] == "I moved from Berlin to Lisbon."


async def test_what_no_rule_draws_a_fact_from_is_kept_as_it_is(server: Any) -> None:
    async with Client(server) as client:
        done = await called(client, "remember", text="Thanks")

    assert [one["text"] for one in done["stored"]] == ["Thanks"]


@pytest.mark.parametrize("text", ["My password is hunter2-Kolibri!", "Forget that I ever lived in Berlin."])
async def test_neither_credentials_nor_requests_to_forget_are_remembered(server: Any, text: str) -> None:
    async with Client(server) as client:
        done = await called(client, "remember", text=text)
        listed = await called(client, "list_memories")

    assert done["stored"] == listed["memories"] == []
    assert done["note"]


async def test_a_memory_is_corrected_and_its_history_can_be_read(server: Any) -> None:
    async with Client(server) as client:
        done = await called(client, "remember", text="My dentist is Dr Brandt.")
        id = done["stored"][0]["id"]
        now = await called(client, "correct", id=id, text="My dentist is Dr Lund.")
        read: Any = await client.read_resource(f"memory://{id}")
        source: Any = await client.read_resource(f"memory://{id}/source")

    assert now["text"] == "My dentist is Dr Lund."
    assert json.loads(read.contents[0].text)["replaced_by"] == now["id"]
    told = json.loads(source.contents[0].text)
    assert told["quotes"] == ["My dentist is Dr Brandt."]
    ((said,),) = told["conversations"].values()
    assert said == {"role": "human", "text": "My dentist is Dr Brandt."}


async def test_what_is_to_be_forgotten_is_shown_first_and_erased_by_its_ids(server: Any) -> None:
    async with Client(server) as client:
        await called(client, "remember", text="My dentist is Dr Brandt.")
        await called(client, "remember", text="I collect stamps.")
        shown = await called(client, "preview_forget", about="Brandt")
        before = await called(client, "list_memories")
        gone = await called(client, "forget", ids=shown["ids"])
        left = await called(client, "list_memories")

    assert len(before["memories"]) == 2
    assert {id.partition(":")[0] for id in shown["ids"]} <= set(gone["erased"])
    assert not {one["id"] for one in left["memories"]} & set(gone["erased"])
    assert [one["quote"] for one in left["memories"]] == ["I collect stamps."]


async def test_the_same_said_again_is_one_memory(server: Any) -> None:
    async with Client(server) as client:
        for text in ("I live in Berlin.", "I collect stamps.", "I live in Berlin.", "I collect stamps."):
            await called(client, "remember", text=text)
        listed = await called(client, "list_memories")

    assert sorted(one["quote"] for one in listed["memories"]) == ["I collect stamps.", "I live in Berlin."]


async def test_a_contradiction_is_shown_and_settled_as_the_user_says(server: Any, memories: Memories) -> None:
    right = memories.store("The shop opens at nine.", user="ana")["id"]
    records = memories._records
    wrong = records.store("ana", "The shop opens at ten.", contradicts=[right]).record["id"]
    async with Client(server) as client:
        (pair,) = (await called(client, "list_contradictions"))["contradictions"]
        held = await called(client, "settle_contradiction", holds=right, wrong=wrong)
        left = await called(client, "list_contradictions")
        again = await refused(client, "settle_contradiction", holds=held["id"], wrong=held["id"])

    assert {pair["first"]["id"], pair["second"]["id"]} == {right, wrong}
    assert held["id"] == right
    assert left == {"contradictions": []}
    assert "do not contradict" in again
    assert memories.get(wrong, user="ana")["replaced_by"] == right


async def test_no_tool_reaches_memories_of_another_user_or_project(memories: Memories) -> None:
    theirs = memories.store("The safe opens with a key.", user="bob")["id"]
    work = memories.store("The safe is green.", user="ana", project="work")["id"]
    async with Client(build_mcp_server(McpTools(memories, "ana"))) as client:
        for id in (theirs, work):
            assert "no memory" in await refused(client, "correct", id=id, text="It is open.")
            assert "no memory" in await refused(client, "forget", ids=[id])
            with pytest.raises(MCPError, match="no memory"):
                await client.read_resource(f"memory://{id}")
        assert (await called(client, "recall", query="the safe"))["memories"] == []


async def test_documents_are_asked_and_quoted(server: Any) -> None:
    texts = [{"text": "The mirror is 8.2 metres wide.", "source": "leaflet"}]
    async with Client(server) as client:
        found = await called(client, "ask", question="How wide is the mirror?", documents=texts)
        nothing = await refused(client, "ask", question="How wide is the mirror?")

    assert "8.2" in found["answer"]
    assert [source["source"] for source in found["sources"]] == ["leaflet"]
    assert "Hand over" in nothing


async def test_files_are_read_below_the_folders_that_were_named_and_nowhere_else(
    memories: Memories, tmp_path: Path
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "leaflet.txt").write_text("The mirror was paid for by the Lund fund.")
    (tmp_path / "closed.txt").write_text("The key hangs behind the portrait.")
    async with Client(build_mcp_server(McpTools(memories, "ana", folders=[tmp_path / "open"]))) as client:
        done = await called(client, "memorize", memory="letters", paths=[str(tmp_path / "open")])
        found = await called(client, "research", memory="letters", question="Who paid for the mirror?")
        away = await refused(client, "memorize", memory="letters", paths=[f"{tmp_path}/open/../closed.txt"])

    assert done == {"status": "completed", "pages": 1}
    assert "Lund fund" in found["answer"]
    assert found["sources"][0]["source"].endswith("leaflet.txt")
    assert "may not be read" in away


@pytest.mark.parametrize("name", ["\0", "~nobody of that name/x", "{folder}/loop"])
async def test_a_path_that_is_none_is_refused_with_a_reason(memories: Memories, tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    async with Client(build_mcp_server(McpTools(memories, "ana", folders=[tmp_path]))) as client:
        said = await refused(client, "ask", question="How wide?", paths=[name.format(folder=tmp_path)])

    assert "is no path of a file" in said or "There is no file" in said


async def test_a_query_as_long_as_a_document_is_refused_before_anything_is_computed(server: Any) -> None:
    async with Client(server) as client:
        said = await refused(client, "recall", query="tea " * 500_000)

    assert "2,000,000 characters, more than 50,000" in said


async def test_prompts_say_what_to_do_with_the_tools(server: Any) -> None:
    async with Client(server) as client:
        named = {prompt.name for prompt in (await client.list_prompts()).prompts}
        told: Any = await client.get_prompt("what_is_known", {"about": "my work"})

    assert named == {"what_is_known", "settle_contradictions", "keep_this_conversation"}
    assert "my work" in told.messages[0].content.text


# --- the program -------------------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    return {**os.environ, "TEST_ENGINE_OF_MEMORY_BANK": "quick"}


async def test_a_client_starts_the_program_and_speaks_with_it_over_its_pipes() -> None:
    command = [str(DRIVER), "mcp", "--user", "ana"]
    async with Client(StdioServerParameters(command=sys.executable, args=command, env=environment())) as client:
        await called(client, "remember", text="I live in Lisbon.")
    async with Client(StdioServerParameters(command=sys.executable, args=command, env=environment())) as client:
        found = await called(client, "recall", query="Is it Lisbon where I live?")

    assert [one["quote"] for one in found["memories"]] == ["I live in Lisbon."]


@contextmanager
def listening() -> Iterator[tuple[str, Path]]:
    """The program on a free port of loopback, and the file of its token."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, str(DRIVER), "mcp", "--user", "ana", "--http", str(port)]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stderr
            told = program.stderr.readline()
            assert "token" in told, told
            until = time.monotonic() + 60
            while time.monotonic() < until:
                try:
                    httpx2.get(f"http://127.0.0.1:{port}/mcp")
                    break
                except httpx2.ConnectError:
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp", Path(os.environ["MEMORY_BANK_HOME"]) / "mcp.token"
        finally:
            program.terminate()


@pytest.mark.server
@pytest.mark.enable_socket
async def test_over_http_who_brings_the_token_is_served_and_nobody_else() -> None:
    with listening() as (address, file):
        token = file.read_text()
        bearer = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=bearer) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            done = await called(client, "remember", text="I live in Lisbon.")
        statuses = [
            httpx2.post(address, headers=headers, json={}).status_code
            for headers in ({}, {"Authorization": "Bearer nobody"}, {**bearer, "Host": "evil.example"})
        ]

    assert done["stored"][0]["quote"] == "I live in Lisbon."
    assert statuses == [401, 401, 421]
    assert file.stat().st_mode & 0o777 == 0o600
