"""Models are listened to while they answer: how much has come is told, and what nobody waits for is hung up on."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, cast

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from langgraph.store.memory import InMemoryStore
from pydantic import SecretStr

from agentic_memory_bank.engines.llm import listening, models, retry
from agentic_memory_bank.graph.conversation import build_conversation
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.graph.recall import build_recall
from agentic_memory_bank.testing import ChatRequest, Fault, ModelServer, Reply, ScriptedJudge, hang, http_error
from agentic_memory_bank.testing.faults import raw_body
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]
SAID = [("user", "I have a dog."), ("ai", "Nice."), ("user", "What is it called?")]
DOCUMENTS = ["The Vega tower was opened in 1961."]
PATIENCE = 30.0
"""Seconds for what takes less than one: half of what an answer would take that is waited for."""


@pytest.fixture(autouse=True)
def _a_process_that_asked_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_KNOWN_MODES", {})
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("It never came to be so.")


def recall(graph: Any) -> Any:
    return graph.invoke({"messages": SAID}, context={"user": "ann", "rewrite_timeout": 0.3})


def test_a_message_gives_a_slow_model_its_time_once_and_the_server_sees_that_nobody_waits() -> None:
    with ModelServer(hang(60)) as server:
        given = ChatOpenAI(model="m", base_url=server.url, api_key=SecretStr("k"), timeout=60)
        graph = build_recall(store=InMemoryStore(), embeddings=HashEmbeddings(), models={"rewrite": given})

        receipts = [recall(graph)["receipt"] for _ in range(3)]

        assert all(receipt["degraded"] for receipt in receipts)
        wait_until(lambda: server.in_flight == 0)
        assert server.count == 1


class Endless(BaseChatModel):
    """A model of a provider that is not known here, which goes on and on."""

    left: Any

    @property
    def _llm_type(self) -> str:
        return "endless"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise AssertionError("It can be listened to.")

    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        try:
            while True:
                time.sleep(0.02)
                yield ChatGenerationChunk(message=AIMessageChunk(content="and "))
        finally:
            self.left.set()


def test_the_stream_of_any_model_is_closed_when_there_is_no_more_time() -> None:
    left = threading.Event()
    graph = build_recall(store=InMemoryStore(), embeddings=HashEmbeddings(), models={"rewrite": Endless(left=left)})

    receipt = recall(graph)["receipt"]

    assert receipt["degraded"]
    assert left.wait(30)


class Whole(Endless):
    """A model of a provider that is not known here, which knows no streams."""

    _stream = BaseChatModel._stream

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        message = AIMessage('{"query": "What is the dog called?"}')
        return ChatResult(generations=[ChatGeneration(message=message)])


def test_a_model_that_knows_no_streams_is_asked_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Whole, "stream", None)
    graph = build_recall(store=InMemoryStore(), embeddings=HashEmbeddings(), models={"rewrite": Whole(left=None)})

    assert not recall(graph)["receipt"]["degraded"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], tuple[dict[str, Any], list[Any], list[ChatRequest]]]:
    """Run the memory bank with a model at home: its output, what it told while it worked, and what the model heard."""
    monkeypatch.setattr(listening, "TOLD_SECONDS", 0.0)

    def run(script: Any) -> tuple[dict[str, Any], list[Any], list[ChatRequest]]:
        with ModelServer(script) as server:
            monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", server.url)
            graph = build_memory_bank(embeddings=HashEmbeddings())
            given: Any = {"question": "When was the Vega tower opened?", "documents": DOCUMENTS}
            told: list[Any] = []
            for _, event in graph.stream(
                given,
                context={"model": "local:test"},  # type: ignore[arg-type]
                stream_mode=["custom", "values"],
            ):
                told.append(event)
            return told[-1], [e["asking"] for e in told[:-1] if "asking" in e], server.chats

    return run


def test_it_is_told_who_is_asked_in_which_try_and_how_much_has_come(asked: Any) -> None:
    judge, tries = ScriptedJudge(), iter(range(100))

    def script(request: ChatRequest) -> Reply:
        time.sleep(0.06)
        return Reply("What a question!") if next(tries) == 0 else judge(request)

    output, asking, _ = asked(script)

    assert output["status"] == "completed"
    assert {"classify", "structure", "plan", "react"} <= {event["role"] for event in asking}
    assert {event["attempt"] for event in asking} == {1, 2}
    assert all(0 < event["seconds"] <= 120 for event in asking)
    assert any(event["seconds"] < 120 for event in asking if event["tokens"]), "they count down while it answers"
    assert max(event["tokens"] for event in asking) > 0
    assert "estimated" not in output["usage"]


def test_a_server_that_takes_no_streams_is_asked_without(asked: Any) -> None:
    judge = ScriptedJudge()

    def script(request: ChatRequest) -> Reply | Fault:
        return http_error(400, "stream is not supported") if request.stream else judge(request)

    output, _, chats = asked(script)

    assert (output["status"], output["degraded"]) == ("completed", [])
    assert [request.stream for request in chats].count(True) == 1


def test_a_server_that_answers_whole_where_a_stream_was_asked_for_is_understood(asked: Any) -> None:
    judge = ScriptedJudge()

    def script(request: ChatRequest) -> Reply | Fault:
        message = {"role": "assistant", "content": json.dumps(judge(request).data)}
        said = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
        return raw_body(said.encode())

    output, _, chats = asked(script)

    assert (output["status"], output["degraded"]) == ("completed", [])
    assert output["usage"]["calls"] == len(chats)


def test_a_server_whose_streams_are_empty_is_asked_without(asked: Any) -> None:
    judge = ScriptedJudge()

    def script(request: ChatRequest) -> Reply | Fault:
        nothing = raw_body(b"data: [DONE]\n\n", content_type="text/event-stream")
        return nothing if request.stream else judge(request)

    output, _, chats = asked(script)

    assert (output["status"], output["degraded"]) == ("completed", [])
    assert [request.stream for request in chats].count(True) == 1


def test_usage_that_no_server_tells_is_said_to_be_estimated(asked: Any) -> None:
    judge = ScriptedJudge()

    def script(request: ChatRequest) -> Reply:
        reply = judge(request)
        return Reply(data=reply.data, usage={})

    output, _, _ = asked(script)

    assert output["usage"]["estimated"] == output["usage"]["calls"]


GIVEN: Any = {"question": "When was the Vega tower opened?", "documents": DOCUMENTS}
LOCAL: Any = {"model": "local:test"}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server at home that takes a minute for each answer."""
    with ModelServer(hang(60)) as server:
        monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", server.url)
        yield server


def test_the_server_is_hung_up_on_when_the_task_that_waits_is_cancelled(slow: ModelServer) -> None:
    async def cancelled() -> None:
        graph = build_memory_bank(embeddings=HashEmbeddings())
        asking = asyncio.create_task(graph.ainvoke(GIVEN, context=LOCAL))
        await asyncio.to_thread(wait_until, lambda: slow.in_flight == 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(cancelled())

    wait_until(lambda: slow.in_flight == 0)
    assert len(slow.chats) == 1, "it is asked for nothing else instead"


def test_the_server_is_hung_up_on_when_nobody_reads_the_stream_on(slow: ModelServer) -> None:
    steps = build_memory_bank(embeddings=HashEmbeddings()).stream(GIVEN, context=LOCAL, stream_mode="custom")
    next(event for event in steps if "asking" in event)
    wait_until(lambda: slow.in_flight == 1)

    began = time.monotonic()
    cast("Generator[Any]", steps).close()

    wait_until(lambda: slow.in_flight == 0)
    assert len(slow.chats) == 1
    assert time.monotonic() - began < PATIENCE


def test_a_model_of_any_make_is_hung_up_on_when_nobody_reads_its_words_on() -> None:
    left = threading.Event()
    graph = build_conversation(store=InMemoryStore(), embeddings=HashEmbeddings(), models={"react": Endless(left=left)})
    words = graph.stream({"messages": SAID}, context={"user": "ann"}, stream_mode="messages")

    next(iter(words))
    cast("Generator[Any]", words).close()

    assert left.wait(30)
