"""Both middlewares beside LangChain's own and inside a deep agent, in any order, over five turns that call tools."""

import importlib.util
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import FourTierMemory, MemoryBankMiddleware
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores

TURNS = 5
THREAD: Any = {"configurable": {"thread_id": "t"}}


class Calling(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


class ToolLess(GenericFakeChatModel):
    """Can be offered no tools, as LangChain's base class of chat models."""


def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is blue."


def script() -> Iterator[AIMessage]:
    for turn in range(TURNS):
        yield AIMessage("", tool_calls=[{"name": "look", "args": {"place": f"Place {turn}"}, "id": f"c{turn}"}])
        yield AIMessage(f"Answer {turn}.")


OTHERS: Mapping[str, Callable[[], AgentMiddleware[Any, Any, Any]]] = {
    "todo list": TodoListMiddleware,
    "limit of tool calls": lambda: ToolCallLimitMiddleware(run_limit=9),
    "limit of model calls": lambda: ModelCallLimitMiddleware(run_limit=9),
    "retries of the model": ModelRetryMiddleware,
    "retries of tools": ToolRetryMiddleware,
    "edited context": ContextEditingMiddleware,
    "masks": lambda: PIIMiddleware("email"),
    "fallback": lambda: ModelFallbackMiddleware(Calling(messages=iter(()))),
    "approval": lambda: HumanInTheLoopMiddleware({"other": True}),
}


def deep() -> Callable[..., Any]:
    if importlib.util.find_spec("deepagents") is None:
        pytest.skip('pip install "agentic-memory-bank[deepagents]"')
    return importlib.import_module("deepagents").create_deep_agent


class Talk:
    """Five turns of an agent with memory, and what that then holds."""

    def __init__(self, make: Callable[..., Any], kinds: tuple[str, ...]) -> None:
        self._store, self._queue, self._make = InMemoryStore(), WorkerPool(100), make
        self._kinds = kinds
        self.own = [self._memory(kind) for kind in kinds]

    def _memory(self, kind: str) -> AgentMiddleware[Any, Any, Any]:
        if kind == "bank":
            return MemoryBankMiddleware(embeddings=HashEmbeddings(), budget=20_000)
        stores = RecordStores(self._store, Encoder(HashEmbeddings()))
        return FourTierMemory(engine=ExtractiveConversationEngine(), stores=stores, background=self._queue)

    def held(self, stack: list[Any]) -> list[bool]:
        """Whether each memory holds what was said in each of the turns."""
        agent = self._make(Calling(messages=script()), tools=[look], middleware=stack, checkpointer=InMemorySaver())
        for turn in range(TURNS):
            said: dict[str, Any] = {"messages": [HumanMessage(f"My plant {turn} needs water on day {turn}.")]}
            named = {"conversation_id": "c"} if "four tiers" in self._kinds else {}
            out = agent.invoke({**said, **named}, THREAD, context={"user": "ann"})
            assert out["messages"][-1].text == f"Answer {turn}."
        assert self._queue.flush(60)
        return [self._holds(kind, agent) for kind in self._kinds]

    def _holds(self, kind: str, agent: Any) -> bool:
        """The last answer joins the tree in the turn after it."""
        if kind == "bank":
            tree = json.dumps(agent.get_state(THREAD).values["interaction_tree"], default=str)
            told = [f"plant {n}" in tree and f"Place {n} is blue" in tree for n in range(TURNS)]
            return all(told) and all(f"Answer {n}." in tree for n in range(TURNS - 1))
        kept = json.dumps([item.value for item in self._store.search((), limit=1_000)], default=str)
        return all(f"plant {n}" in kept for n in range(TURNS))


@pytest.mark.parametrize(
    "kinds",
    [
        *(pytest.param((kind,), marks=pytest.mark.attack) for kind in ("bank", "four tiers")),
        ("bank", "four tiers"),
        ("four tiers", "bank"),
    ],
)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("order", ["in front", "behind"])
def test_memory_holds_five_turns_beside_another_middleware(kinds: tuple[str, ...], other: str, order: str) -> None:
    talk, beside = Talk(create_agent, kinds), OTHERS[other]()

    held = talk.held([*talk.own, beside] if order == "in front" else [beside, *talk.own])

    assert held == [True for _ in kinds]


@pytest.mark.parametrize("kinds", [("bank",), ("four tiers",), ("bank", "four tiers"), ("four tiers", "bank")])
def test_memory_holds_five_turns_of_a_deep_agent(kinds: tuple[str, ...]) -> None:
    talk = Talk(deep(), kinds)

    assert talk.held(talk.own) == [True for _ in kinds]


def test_what_a_summary_removes_four_tiers_still_hold() -> None:
    summary = Calling(messages=itertools.cycle([AIMessage("Summary.")]))
    beside = SummarizationMiddleware(summary, trigger=("messages", 6), keep=("messages", 4))
    talk = Talk(create_agent, ("four tiers",))

    assert talk.held([*talk.own, beside]) == [True]


@pytest.mark.parametrize("kind", ["bank", "four tiers"])
def test_a_model_that_can_be_offered_no_tools_is_offered_none_of_memory(kind: str) -> None:
    talk = Talk(create_agent, (kind,))
    model = ToolLess(messages=iter([AIMessage("Noted."), AIMessage("Blue.")]))
    agent: Any = create_agent(model, middleware=talk.own, checkpointer=InMemorySaver())

    for said in ("My plant is blue.", "Which colour has my plant?"):
        out = agent.invoke({"messages": [HumanMessage(said)]}, THREAD, context={"user": "ann"})

    assert out["messages"][-1].text == "Blue."
