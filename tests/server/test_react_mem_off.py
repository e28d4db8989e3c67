"""With memory off, an agent with memory sends what the plain agent sends, byte for byte."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.graph.four_tier import FourTierMemory
from agentic_memory_bank.graph.react_mem import build_react_mem
from agentic_memory_bank.nodes.react_mem import episodes
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.testing import ChatRequest, ModelServer, Reply, ToolCall, http_error
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]
SYSTEM = "You run errands."


@tool
def price(item: str, currency: str = "EUR") -> str:
    """Look a price up."""
    return f"{item} costs 12.50 {currency}."


@tool
def stock(item: str) -> dict[str, Any]:
    """Look the stock up."""
    return {"item": item, "left": len(item), "shelves": ["A1", "B2"]}


@tool
def archive(page: int) -> str:
    """Read a page of the archive."""
    return f"Page {page}: " + "an entry of the archive. " * 400


TOOLS = [price, stock, archive]


def call(name: str, number: int = 0, **arguments: Any) -> ToolCall:
    return ToolCall(name, arguments, id=f"call_{name}_{number}")


TASKS: dict[str, tuple[list[Any], list[Reply]]] = {
    "a word": (["Hello"], [Reply("Hello.")]),
    "one call": (["What does a lamp cost?"], [Reply(tool_calls=[call("price", item="lamp")]), Reply("12.50 EUR.")]),
    "two at once": (
        ["Price and stock of the lamp?"],
        [Reply(tool_calls=[call("price", item="lamp"), call("stock", item="lamp")]), Reply("12.50, 4 left.")],
    ),
    "many steps": (
        ["Read the archive."],
        [*(Reply(f"Step {n}", tool_calls=[call("archive", n, page=n)]) for n in range(12)), Reply("All is read.")],
    ),
    "an unknown tool": (["Fly."], [Reply(tool_calls=[call("fly", to="moon")]), Reply("I cannot fly.")]),
    "a wrong argument": (["Price?"], [Reply(tool_calls=[call("price", thing="lamp")]), Reply("Of what?")]),
    "a conversation": (
        [("user", "I live in Lisbon."), ("assistant", "Good to know."), ("user", "Where do I live?")],
        [Reply("In Lisbon.")],
    ),
    "Chinese": (["灯多少钱？"], [Reply(tool_calls=[call("price", item="灯", currency="CNY")]), Reply("12.50 元。")]),
    "parts": (
        [HumanMessage([{"type": "text", "text": "What is this?"}, {"type": "text", "text": "A lamp."}])],
        [Reply("A lamp.")],
    ),
    "the same call again": (
        ["Look twice."],
        [Reply(tool_calls=[call("stock", n, item="lamp")]) for n in range(2)] + [Reply("4 left.")],
    ),
}


class Untouchable(InMemoryStore):
    """A store that nobody may use."""

    def batch(self, ops: Any) -> Any:
        raise AssertionError("The store was touched.")


class Playing:
    """A model server that plays one task after the other.

    The agent has tools. Requests without are for facts, in the background, and no part of what is compared.
    """

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.bodies: list[bytes] = []
        self.server = ModelServer(self._reply)

    def _reply(self, request: ChatRequest) -> Reply:
        own = [one for one in self.server.chats if one.tools]
        return self.replies[len(own) - 1] if request.tools else Reply('{"memories": []}')

    def note(self, request: httpx.Request) -> None:
        """Note what the agent sends, byte for byte."""
        body = request.read()
        if json.loads(body).get("tools"):
            self.bodies.append(body)

    def play(self, task: str, agent: Any, **options: Any) -> tuple[list[bytes], list[Any]]:
        """The bodies of the requests, and the messages without their ids."""
        messages, self.replies = TASKS[task]
        self.server.reset()
        self.bodies = []
        found = agent.invoke({"messages": list(messages)}, **options)["messages"]
        assert [json.loads(body) for body in self.bodies] == [one.body for one in self.server.chats if one.tools]
        return self.bodies, [_plain(message) for message in found]


def _plain(message: BaseMessage) -> Any:
    calls = message.tool_calls if isinstance(message, AIMessage) else getattr(message, "tool_call_id", None)
    return message.type, message.content, calls


@pytest.fixture(scope="module")
def playing() -> Iterator[Playing]:
    playing = Playing()
    yield playing
    playing.server.close()


@pytest.fixture
def model(playing: Playing) -> ChatOpenAI:
    client, url = httpx.Client(event_hooks={"request": [playing.note]}), playing.server.url
    return ChatOpenAI(model="m", base_url=url, api_key="k", max_retries=0, http_client=client)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("task", TASKS)
def test_with_memory_off_bodies_are_byte_equal_to_those_of_create_agent(
    task: str, playing: Playing, model: ChatOpenAI
) -> None:
    plain: Any = create_agent(model, TOOLS, system_prompt=SYSTEM)
    memory = FourTierMemory(store=Untouchable(), embeddings=HashEmbeddings())
    in_place: Any = create_agent(model, TOOLS, system_prompt=SYSTEM, middleware=[memory], context_schema=MemoryContext)
    ready: Any = build_react_mem(model, TOOLS, system_prompt=SYSTEM, store=Untouchable(), embeddings=HashEmbeddings())
    off = {"enable_memory": False, "memory_tools": True, "additional_context": "Be brief."}

    expected = playing.play(task, plain)

    assert len(expected[0]) == len(TASKS[task][1])
    assert playing.play(task, in_place, context=MemoryContext.model_validate(off)) == expected
    assert playing.play(task, ready, context=off) == expected


@pytest.mark.parametrize("task", TASKS)
def test_with_memory_on_and_empty_the_first_body_is_the_same_and_the_answer_too(
    task: str, playing: Playing, model: ChatOpenAI
) -> None:
    plain: Any = create_agent(model, TOOLS, system_prompt=SYSTEM)
    queue = WorkerPool(10)
    ready: Any = build_react_mem(
        model, TOOLS, system_prompt=SYSTEM, store=InMemoryStore(), embeddings=HashEmbeddings(), background=queue
    )

    bodies, messages = playing.play(task, ready, context={"user": "ann"})
    assert queue.flush(60)
    expected, theirs = playing.play(task, plain)

    assert bodies[0] == expected[0]
    assert messages == theirs


def test_the_model_that_the_settings_name_is_asked_again_where_it_fails_once(
    playing: Playing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", playing.server.url)
    TASKS["down once"] = (["Hello"], [http_error(500, "down"), Reply("Hello.")])  # pyright: ignore[reportArgumentType]
    ready: Any = build_react_mem(tools=TOOLS, store=InMemoryStore(), embeddings=HashEmbeddings())

    playing.replies = TASKS["down once"][1]
    playing.server.reset()
    given = {"messages": [HumanMessage("Hello")]}
    found = ready.invoke(given, context={"react_model": "local:m", "enable_memory": False})

    assert len(playing.server.chats) == 2
    assert found["messages"][-1].text == "Hello."


@pytest.mark.parametrize(
    ("said", "lesson"),
    [(Reply(data={"lesson": "Ask for price and stock at once."}), "at once."), (Reply("no JSON"), "What worked: ")],
)
def test_a_model_says_what_a_task_teaches_by_setting_and_where_it_cannot_the_rules_do(
    said: Reply, lesson: str, playing: Playing, model: ChatOpenAI
) -> None:
    queue, stores = WorkerPool(10), RecordStores(InMemoryStore(), Encoder(HashEmbeddings()))
    with ModelServer(said) as judge:
        url: Any = judge.url
        summarise = ChatOpenAI(model="s", base_url=url, api_key="k", max_retries=0)  # pyright: ignore[reportArgumentType]
        models: Any = {"summarise": summarise}
        ready: Any = build_react_mem(model, TOOLS, models=models, stores=stores, background=queue)
        playing.play("two at once", ready, context={"user": "ann", "condense_with_model": True, "auto_facts": False})
        assert queue.flush(60)
        asked = judge.chats[0].text

    (kept,) = stores.of().list("ann").records
    assert lesson in episodes.read(kept)["lesson"]
    assert "price(lamp) → lamp costs 12.50 EUR." in asked
    assert "Price and stock of the lamp?" in asked
