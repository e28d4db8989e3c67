"""The scripted model server, asked by the real OpenAI clients over the loopback interface."""

import base64
import math
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import openai
import pytest
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

from agentic_memory_bank.state.errors import InputError, RunError
from agentic_memory_bank.testing import (
    ChatRequest,
    EmbeddingRequest,
    Fault,
    ModelServer,
    Reply,
    SpawnedServer,
    ToolCall,
    bad_json,
    closed_port,
    cut,
    drip,
    empty,
    failing,
    fenced,
    hang,
    hashed_vectors,
    html,
    http_error,
    ignoring_tools,
    model_http,
    no_choices,
    no_finish_reason,
    null_content,
    raw_body,
    refusing,
    reset,
    thinking,
)
from agentic_memory_bank.testing.replies import Response

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

METHODS = ["json_schema", "function_calling", "json_mode"]
SCRIPT = """
import os
from agentic_memory_bank.testing import Reply

def judge(request):
    print("a script may print " * 10_000)
    return Reply(f"{request.number} {os.getpid()}")

def embed(request):
    return [[0.5, 0.25] for _ in request.texts]
"""
CLIENT = """
import sys
from langchain_openai import ChatOpenAI
model = ChatOpenAI(model="m", base_url=sys.argv[1], api_key="k", max_retries=0)
while True:
    model.invoke("again")
"""


class City(BaseModel):
    """A town."""

    name: str
    people: int


ROME = City(name="Rome", people=2_746_984)


@pytest.fixture(autouse=True)
def _no_proxy_and_nothing_left_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    yield
    if http_client.cache_info().currsize:
        http_client().close()
        http_client.cache_clear()


@cache
def http_client() -> openai.DefaultHttpxClient:
    """The HTTP client of this test. LangChain's own live until the process ends, their sockets with them."""
    return openai.DefaultHttpxClient()


def chat(server: ModelServer | SpawnedServer, **options: Any) -> ChatOpenAI:
    given = {"model": "m", "base_url": server.url, "api_key": "k", "max_retries": 0, "http_client": http_client()}
    return ChatOpenAI(**{**given, **options})


def embedder(server: ModelServer | SpawnedServer, **options: Any) -> OpenAIEmbeddings:
    given = {"model": "e", "base_url": server.url, "api_key": "k", "max_retries": 0, "http_client": http_client()}
    return OpenAIEmbeddings(check_embedding_ctx_length=False, **given, **options)


def ask(script: Any, question: str = "?", **options: Any) -> Any:
    with ModelServer(script) as server:
        return chat(server, **options).invoke(question)


def wait_until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit, "it did not come to pass"
        time.sleep(0.01)


# --- replies -----------------------------------------------------------------------------------------------------


def test_a_script_sees_what_was_asked_and_its_words_come_back() -> None:
    with ModelServer(lambda request: Reply(f"You said {request.text}.")) as server:
        model = chat(server, temperature=0.4, top_p=0.9, max_tokens=50)
        answer = model.invoke([("system", "Be brief."), ("user", "Good morning")])

        seen = server.chats[0]
    assert answer.content == "You said Be brief.\nGood morning."
    assert (seen.model, seen.temperature, seen.top_p, seen.max_tokens) == ("m", 0.4, 0.9, 50)
    assert [message["role"] for message in seen.messages] == ["system", "user"]
    assert seen.headers["authorization"] == "Bearer k"
    assert (seen.number, seen.stream, seen.mode, seen.schema_name, seen.images) == (1, False, "prompt", "", [])


def test_several_replies_are_given_in_turn_and_the_last_for_ever() -> None:
    with ModelServer([Reply("one"), http_error(500), Reply("three")]) as server:
        model = chat(server)
        assert model.invoke("?").content == "one"
        with pytest.raises(openai.InternalServerError):
            model.invoke("?")
        assert [model.invoke("?").content for _ in range(2)] == ["three", "three"]
        assert [request.number for request in server.chats] == [1, 2, 3, 4]


def test_a_script_without_replies_is_an_input_error() -> None:
    with pytest.raises(InputError, match="at least one"):
        ModelServer([])


def test_tools_are_seen_and_called_and_the_agent_goes_on() -> None:
    def weigh(thing: str) -> str:
        """Weigh a thing."""
        return f"{thing}: 3 kg"

    calls = [ToolCall("weigh", {"thing": "cat"}, id="c1")]
    with ModelServer([Reply(tool_calls=calls), Reply("It weighs 3 kg.")]) as server:
        said = create_agent(chat(server), [weigh]).invoke({"messages": [("user", "How heavy is the cat?")]})

        first, second = server.chats
    assert said["messages"][1].tool_calls == [
        {"name": "weigh", "args": {"thing": "cat"}, "id": "c1", "type": "tool_call"}
    ]
    assert said["messages"][-1].content == "It weighs 3 kg."
    assert [tool["function"]["name"] for tool in first.tools] == ["weigh"]
    assert second.messages[-1]["content"] == "cat: 3 kg"


@pytest.mark.parametrize("method", METHODS)
def test_data_is_answered_in_the_form_that_the_request_asks_for(method: Any) -> None:
    with ModelServer(Reply(data=ROME)) as server:
        answer = chat(server).with_structured_output(City, method=method).invoke("Which city? Answer in JSON.")

        seen = server.chats[0]
    assert answer == ROME
    assert (seen.mode, seen.schema_name) == (method, "" if method == "json_mode" else "City")


def test_data_is_plain_json_when_only_the_words_ask_for_it() -> None:
    assert City.model_validate_json(ask(Reply(data={"name": "Rome", "people": 3})).content).people == 3


def test_arguments_given_as_text_are_sent_as_they_are() -> None:
    answer = ask(Reply(tool_calls=[ToolCall("weigh", '{"thing": ')]))

    assert answer.invalid_tool_calls[0]["args"] == '{"thing": '


def test_a_stream_carries_the_same_words_and_the_usage_at_its_end() -> None:
    words = "  Slowly,\n\npiece by   piece. "
    with ModelServer(Reply(words)) as server:
        pieces = list(chat(server, stream_usage=True).stream("?"))

        assert server.chats[0].stream
    assert len(pieces) > 4
    assert "".join(str(piece.content) for piece in pieces) == words
    assert [piece.usage_metadata["output_tokens"] for piece in pieces if piece.usage_metadata] == [8]
    assert [piece.response_metadata.get("finish_reason") for piece in pieces].count("stop") == 1


def test_a_stream_carries_no_usage_unless_it_is_asked_for() -> None:
    with ModelServer(Reply("It is so.")) as server:
        assert not any(piece.usage_metadata for piece in chat(server, stream_usage=False).stream("?"))


def test_a_stream_carries_tool_calls_in_pieces() -> None:
    calls = [ToolCall("weigh", {"thing": "a grey cat"}), ToolCall("feed", {"what": "fish"})]
    with ModelServer(Reply(tool_calls=calls)) as server:
        first, *rest = chat(server).stream("?")
        whole: Any = sum(rest, first)

    assert [(call["name"], call["args"]) for call in whole.tool_calls] == [
        ("weigh", {"thing": "a grey cat"}),
        ("feed", {"what": "fish"}),
    ]
    assert whole.response_metadata["finish_reason"] == "tool_calls"


def test_usage_is_estimated_at_four_characters_a_token() -> None:
    assert ask(Reply("a" * 40), "b" * 20).usage_metadata == {
        "input_tokens": 5,
        "output_tokens": 10,
        "total_tokens": 15,
        "input_token_details": {},
        "output_token_details": {},
    }


def test_usage_can_be_given_and_left_out() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}

    assert ask(Reply("yes", usage=usage)).usage_metadata["total_tokens"] == 9
    assert ask(Reply("yes", usage={})).usage_metadata is None


def test_an_answer_can_end_early_and_can_be_refused() -> None:
    assert ask(Reply("half", finish_reason="length")).response_metadata["finish_reason"] == "length"
    assert ask(Reply(refusal="No.")).additional_kwargs["refusal"] == "No."


def test_thoughts_come_in_the_field_that_some_servers_add() -> None:
    with ModelServer(Reply("yes", reasoning_content="Let me see.")) as server, raw(server) as client:
        completion = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}])

    assert completion.choices[0].message.model_extra == {"reasoning_content": "Let me see."}


def test_pictures_arrive() -> None:
    picture = "data:image/png;base64," + base64.b64encode(b"picture").decode()
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": picture}}]
    with ModelServer(Reply("A cat.")) as server:
        chat(server).invoke([{"role": "user", "content": parts}])

        assert server.chats[0].images == [picture]
        assert server.chats[0].text == "What is this?"
        assert server.chats[0].messages[0]["content"][1]["image_url"] == {"url": picture}


def test_a_script_that_fails_says_so_to_the_client(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(openai.InternalServerError, match="ZeroDivisionError"):
        ask(lambda request: Reply(str(1 // 0)))
    with pytest.raises(openai.InternalServerError, match="returns a Reply or a Fault, not None"):
        ask(lambda request: None)

    assert len(caplog.records) == 2


def test_requests_can_be_made_by_hand_to_test_a_script() -> None:
    tool = {"type": "function", "function": {"name": "weigh"}}

    assert ChatRequest({"tools": [tool], "tool_choice": "required"}).schema_name == "weigh"
    assert ChatRequest({"tools": [tool], "tool_choice": "auto"}).schema_name == ""
    assert ChatRequest({"messages": [{"role": "assistant", "content": None}], "max_tokens": 3}).max_tokens == 3


# --- embeddings, models ------------------------------------------------------------------------------------------


def test_embeddings_are_unit_vectors_that_depend_on_the_words() -> None:
    with ModelServer(Reply(""), dimension=256) as server:
        cat, again, kitten, other = embedder(server).embed_documents(
            ["the grey cat sleeps", "the grey cat sleeps", "the grey kitten sleeps", "quarterly revenue rose"]
        )

        assert server.embeddings[0].texts[2] == "the grey kitten sleeps"
        assert (server.embeddings[0].model, server.count) == ("e", 1)
    assert (len(cat), cat) == (256, again)
    assert math.hypot(*cat) == pytest.approx(1, abs=1e-6)
    assert dot(cat, kitten) > 0.5
    assert dot(cat, other) < 0.3


def test_a_text_without_words_has_a_vector_too() -> None:
    with ModelServer(Reply("")) as server:
        assert math.hypot(*embedder(server).embed_query("...")) == pytest.approx(1)


def test_embeddings_come_as_numbers_and_as_base64() -> None:
    with ModelServer(Reply(""), embed=lambda request: [[0.5, -0.25]]) as server, raw(server) as client:
        numbers = client.embeddings.create(model="e", input="x", encoding_format="float").data[0].embedding
        packed: Any = client.embeddings.create(model="e", input="x", encoding_format="base64").data[0].embedding
        unpacked = client.embeddings.create(model="e", input="x").data[0].embedding

        assert [request.body["encoding_format"] for request in server.embeddings] == ["float", "base64", "base64"]
    assert numbers == unpacked == [0.5, -0.25]
    assert base64.b64decode(packed) == b"\x00\x00\x00\x3f\x00\x00\x80\xbe"


def test_the_client_can_ask_for_another_dimension() -> None:
    with ModelServer(Reply("")) as server:
        assert len(embedder(server, dimensions=8).embed_query("x")) == 8


def test_texts_that_come_as_token_numbers_are_texts() -> None:
    assert EmbeddingRequest({"input": [[1, 2], [3]]}).texts == ["1 2", "3"]
    assert EmbeddingRequest({"input": [1, 2]}).texts == ["1 2"]
    assert EmbeddingRequest({"input": "one"}).texts == ["one"]


def test_embeddings_can_fail() -> None:
    with ModelServer(Reply(""), embed=failing(hashed_vectors(8), http_error(429))) as server:
        model = embedder(server)
        with pytest.raises(openai.RateLimitError):
            model.embed_query("x")
        assert len(model.embed_query("x")) == 8


def test_slow_embeddings_are_those_of_the_script() -> None:
    embed = failing(lambda _: [[0.5, 0.25]], drip(0.0001), on="every")
    with ModelServer(Reply(""), embed=embed) as server:
        assert embedder(server).embed_query("x") == [0.5, 0.25]


@pytest.mark.usefixtures("caplog")
def test_a_fault_of_chat_replies_says_that_it_does_not_fit_embeddings() -> None:
    with (
        ModelServer(Reply(""), embed=lambda _: empty()) as server,
        pytest.raises(openai.InternalServerError, match="spoils chat replies"),
    ):
        embedder(server).embed_query("x")


def test_the_model_is_listed() -> None:
    with ModelServer(Reply(""), model="tiny") as server, raw(server) as client:
        assert [model.id for model in client.models.list()] == ["tiny"]
        assert server.count == 0


def test_what_the_server_does_not_know_is_not_found() -> None:
    with ModelServer(Reply("")) as server, raw(server) as client:
        with pytest.raises(openai.NotFoundError, match="/v1/chat/completions"):
            client.responses.create(model="m", input="?")
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("m")


def test_a_request_that_is_no_json_is_refused() -> None:
    with ModelServer(Reply("")) as server, raw(server) as client:
        with pytest.raises(openai.BadRequestError, match="no JSON"):
            client.post("/chat/completions", content=b"{", cast_to=object)
        assert server.count == 0


# --- faults ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (429, openai.RateLimitError),
        (503, openai.InternalServerError),
    ],
)
def test_an_http_error_is_the_clients_error(status: int, error: type[openai.APIStatusError]) -> None:
    fault = http_error(status, "Not now.", code="some_code", param="p", headers={"retry-after": "7"})
    with pytest.raises(error, match=r"Not now\.") as caught:
        ask(fault)

    assert caught.value.response.headers["retry-after"] == "7"
    assert (caught.value.code, caught.value.param, caught.value.status_code) == ("some_code", "p", status)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (html(), ValueError),
        (html(502), openai.InternalServerError),
        (raw_body(b"{"), ValueError),
        (reset(), openai.APIConnectionError),
        (hang(0.1), openai.APIConnectionError),
        (cut(), openai.APIConnectionError),
        (no_choices(), IndexError),
        (no_choices(null=True), TypeError),
    ],
    ids=repr,
)
def test_an_answer_that_is_none_is_an_error(fault: Fault, error: type[Exception]) -> None:
    with pytest.raises(error):
        ask(fault)


def test_a_reset_is_a_reset() -> None:
    with ModelServer(reset()) as server, socket.create_connection(("127.0.0.1", port_of(server))) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_a_server_that_hangs_times_out_and_does_not_go_on_for_nobody() -> None:
    with ModelServer(hang(60)) as server:
        with pytest.raises(openai.APITimeoutError):
            chat(server, timeout=0.2).invoke("?")
        wait_until(lambda: server.in_flight == 0)


def test_a_slow_body_outlasts_a_timeout_of_single_reads() -> None:
    with ModelServer(drip(0.006)) as server:
        started = time.monotonic()
        assert chat(server, timeout=1.5).invoke("?").content == "It is so."
        assert time.monotonic() - started > 1.6


def test_a_stream_can_be_cut_in_the_middle() -> None:
    pieces: list[str] = []
    with ModelServer(failing(Reply("one two three four five six"), cut())) as server:
        with pytest.raises(openai.APIConnectionError):
            pieces.extend(str(piece.content) for piece in chat(server).stream("?"))
        whole = "".join(str(piece.content) for piece in chat(server).stream("?"))

    assert whole == "one two three four five six"


def test_an_answer_may_come_without_a_finish_reason() -> None:
    with ModelServer(no_finish_reason()) as server:
        whole = chat(server).invoke("?")
        pieces = list(chat(server).stream("?"))

    assert (whole.content, whole.response_metadata["finish_reason"]) == ("It is so.", None)
    assert not any(piece.response_metadata.get("finish_reason") for piece in pieces)


@pytest.mark.parametrize("fault", [null_content(), empty()], ids=repr)
def test_an_answer_may_say_nothing(fault: Fault) -> None:
    with ModelServer(failing(Reply(data=ROME), fault)) as server:
        answer = chat(server).bind_tools([City], tool_choice="City").invoke("?")

    assert (answer.content, answer.tool_calls) == ("", [])


def test_null_is_not_the_same_as_an_empty_text() -> None:
    said: list[Any] = []
    for fault in (null_content(), empty()):
        with ModelServer(fault) as server, raw(server) as client:
            completion = client.chat.completions.create(model="m", messages=[])
            said.append(completion.choices[0].message.content)

    assert said == [None, ""]


@pytest.mark.parametrize("method", ["json_schema", "json_mode"])
def test_broken_json_is_rejected_by_the_client(method: Any) -> None:
    with ModelServer(failing(Reply(data=ROME), bad_json())) as server:
        model = chat(server).with_structured_output(City, method=method)
        with pytest.raises(ValueError, match=r"City"):
            model.invoke("Which city? Answer in JSON.")
        assert model.invoke("Which city? Answer in JSON.") == ROME


def test_broken_arguments_are_an_invalid_tool_call() -> None:
    with ModelServer(failing(Reply(data=ROME), bad_json())) as server:
        answer = chat(server).bind_tools([City], tool_choice="City").invoke("?")

    assert [call["name"] for call in answer.invalid_tool_calls] == ["City"]
    assert not answer.tool_calls


def test_nothing_listens_on_a_closed_port() -> None:
    model = ChatOpenAI(model="m", base_url=f"http://127.0.0.1:{closed_port()}/v1", api_key="k", max_retries=0)

    with pytest.raises(openai.APIConnectionError):
        model.invoke("?")


# --- scripts -----------------------------------------------------------------------------------------------------


def test_a_script_fails_first_and_then_no_more() -> None:
    with ModelServer(failing([Reply("one"), Reply("two")], http_error(503))) as server:
        with pytest.raises(openai.InternalServerError):
            chat(server).invoke("?")
        assert [chat(server).invoke("?").content for _ in range(2)] == ["one", "two"]


def test_the_clients_retry_is_seen() -> None:
    with ModelServer(failing(Reply("one"), http_error(503, headers={"retry-after-ms": "1"}))) as server:
        assert chat(server, max_retries=1).invoke("?").content == "one"
        assert server.count == 2


def test_a_script_fails_every_time_or_when_a_function_says_so() -> None:
    with ModelServer(failing(Reply("fine"), http_error(500), on="every")) as server:
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                chat(server).invoke("?")
    with ModelServer(failing(Reply("fine"), http_error(500), on=lambda request: "bad" in request.text)) as server:
        assert chat(server).invoke("good").content == "fine"
        with pytest.raises(openai.InternalServerError):
            chat(server).invoke("bad")


def test_failing_at_no_known_time_is_an_input_error() -> None:
    when: Any = "sometimes"
    with pytest.raises(InputError, match="'first', 'every'"):
        failing(Reply("fine"), cut(), on=when)


@pytest.mark.parametrize("method", METHODS)
def test_a_server_can_refuse_one_form_of_request(method: Any) -> None:
    others: list[Any] = [other for other in METHODS if other != method]
    with ModelServer(refusing(Reply(data=ROME), method)) as server:
        with pytest.raises(openai.BadRequestError, match="not supported"):
            chat(server).with_structured_output(City, method=method).invoke("JSON, please")
        for other in others:
            assert chat(server).with_structured_output(City, method=other).invoke("JSON, please") == ROME


def test_refusing_an_unknown_form_is_an_input_error() -> None:
    mode: Any = "xml"
    with pytest.raises(InputError, match="json_mode"):
        refusing(Reply("fine"), mode)


def test_a_model_may_take_no_notice_of_tools() -> None:
    with ModelServer(ignoring_tools(Reply(data=ROME))) as server:
        answer = chat(server).bind_tools([City], tool_choice="City").invoke("?")

        assert server.chats[0].schema_name == "City"
    assert City.model_validate_json(str(answer.content)) == ROME
    assert not answer.tool_calls


def test_a_model_may_fence_its_json_and_leave_prose_alone() -> None:
    assert ask(fenced(Reply(data={"a": 1}))).content == '```json\n{"a": 1}\n```'
    assert ask(fenced(Reply("It is so."))).content == "It is so."


def test_a_model_may_think_aloud_before_its_json() -> None:
    said = ask(thinking(fenced(Reply(data={"a": 1})))).content

    assert said == '<think>{"decoy": true}</think>```json\n{"a": 1}\n```'


def test_habits_leave_the_arguments_of_tools_alone() -> None:
    with ModelServer(thinking(fenced(Reply(data=ROME)))) as server:
        assert chat(server).with_structured_output(City, method="function_calling").invoke("?") == ROME


# --- counting, and the end ---------------------------------------------------------------------------------------


def test_requests_at_once_are_counted() -> None:
    eight = threading.Barrier(8)

    def work(request: ChatRequest) -> Reply:
        eight.wait(60)
        return Reply("yes")

    with ModelServer(work) as server, ThreadPoolExecutor(8) as pool:
        list(pool.map(chat(server).invoke, ["?"] * 16))

        assert (server.count, server.in_flight, server.most_at_once) == (16, 0, 8)


def test_requests_one_after_the_other_are_never_two_at_once() -> None:
    with ModelServer(Reply("one two")) as server, raw(server) as one, raw(server) as other:
        for client in [one, other] * 60:
            client.chat.completions.create(model="m", messages=[])
            list(client.chat.completions.create(model="m", messages=[], stream=True))

        assert (server.count, server.most_at_once) == (240, 1)


def test_an_answer_that_has_arrived_is_no_longer_in_flight() -> None:
    slow = Fault("slow", Response(body=(b"{}",), pace=0.01))
    with ModelServer(slow) as server, raw(server) as client:
        client.chat.completions.create(model="m", messages=[])

        assert server.in_flight == 0


def test_counting_can_begin_again() -> None:
    with ModelServer(Reply("yes")) as server:
        chat(server).invoke("?")
        server.reset()
        assert (server.count, server.most_at_once) == (0, 0)
        chat(server).invoke("?")
        assert [request.number for request in server.chats] == [1]


def test_the_record_is_a_copy() -> None:
    with ModelServer(Reply("yes")) as server:
        chat(server).invoke("?")
        server.requests.clear()
        assert server.count == 1


def test_a_reply_can_have_a_latency_of_its_own() -> None:
    with ModelServer(Reply("yes", latency=0.0), latency=60) as server:
        assert chat(server, timeout=30).invoke("?").content == "yes"


def test_a_closed_server_leaves_neither_thread_nor_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_http, "PATIENCE", 60.0)

    def work(request: ChatRequest) -> Reply:
        time.sleep(0.3)
        return Reply("too late")

    before, files = set(threading.enumerate()), open_files()
    with ModelServer(failing(work, hang(60))) as server, ThreadPoolExecutor(4) as pool, raw(server) as client:
        asked = [pool.submit(client.models.list) for _ in range(2)]
        hung = [pool.submit(client.chat.completions.create, model="m", messages=[]) for _ in range(2)]
        wait_until(lambda: server.in_flight == 2)
        server.close()
        assert not [thread for thread in threading.enumerate() if "process_request" in thread.name]
        assert [future.exception() for future in asked] == [None, None]
        assert {type(future.exception()) for future in hung} == {openai.APIConnectionError}
        server.close()

    wait_until(lambda: set(threading.enumerate()) <= before)
    wait_until(lambda: open_files() <= files)


def test_a_server_can_come_back_on_its_port() -> None:
    with ModelServer(Reply("before")) as server:
        model, port = chat(server), port_of(server)
        model.invoke("?")
    with pytest.raises(openai.APIConnectionError):
        model.invoke("?")
    with ModelServer(Reply("after"), port=port):
        assert model.invoke("?").content == "after"


# --- in a process of its own -------------------------------------------------------------------------------------


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "a_judge.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return "a_judge"


def test_a_server_in_another_process_counts_what_killed_clients_asked(scripts: str) -> None:
    with ModelServer.spawn(f"{scripts}:judge", latency=0.05) as server:
        with subprocess.Popen([sys.executable, "-c", CLIENT, server.url]) as client:
            try:
                wait_until(lambda: server.count >= 2)
            finally:
                client.kill()
        wait_until(lambda: server.in_flight == 0)
        counted = server.count

        assert chat(server).invoke("once more").content == f"{counted + 1} {server.pid}"
        assert (server.count, server.most_at_once) == (counted + 1, 1)
        assert [request.text for request in server.chats] == ["again"] * counted + ["once more"]
        assert server.chats[-1].headers["authorization"] == "Bearer k"

        server.reset()
        assert server.count == 0
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)
    server.close()


def test_a_server_in_another_process_embeds_by_a_script_too(scripts: str) -> None:
    with ModelServer.spawn(f"{scripts}:judge", embed=f"{scripts}:embed") as server:
        assert embedder(server).embed_query("x") == [0.5, 0.25]
        assert server.embeddings[0].texts == ["x"]


@pytest.mark.parametrize("place", ["a_judge", "a_judge:nothing", "nowhere:judge"])
def test_a_script_that_is_not_there_is_an_error(scripts: str, place: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RunError, match=place):
        ModelServer.spawn(place)

    assert place.partition(":")[0] in capfd.readouterr().err


def test_a_server_in_another_process_ends_with_the_process_that_started_it(scripts: str) -> None:
    code = (
        "import os; from agentic_memory_bank.testing import ModelServer\n"
        f"server = ModelServer.spawn('{scripts}:judge'); print(server.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    started = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    wait_until(lambda: not Path(f"/proc/{int(started.stdout)}/cmdline").exists())
    assert started.stderr == ""


# --- helpers -----------------------------------------------------------------------------------------------------


def raw(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url, api_key="k", max_retries=0, timeout=60)


def port_of(server: ModelServer) -> int:
    return int(server.url.split(":")[2].removesuffix("/v1"))


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))
