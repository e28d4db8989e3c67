"""What LangChain's PIIMiddleware masks is not kept unmasked: memory in front of it warns, behind it holds none."""

import json
import logging
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import FourTierMemory, MemoryBankMiddleware
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores

ADDRESSES = [f"{name}@example.org" for name in ("ann", "bob", "cleo", "dora", "emil")]


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def bank(order: str) -> list[str]:
    """The addresses that the memory of an agent holds raw after five messages."""
    memory, mask = MemoryBankMiddleware(embeddings=HashEmbeddings()), PIIMiddleware("email", strategy="redact")
    model = Model(messages=iter(AIMessage("Noted.") for _ in ADDRESSES))
    stack: Any = [memory, mask] if order == "in front" else [mask, memory]
    agent: Any = create_agent(model, middleware=stack, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    for address in ADDRESSES:
        agent.invoke({"messages": [HumanMessage(f"Write to {address}, please.")]}, config)
    tree = json.dumps(agent.get_state(config).values["interaction_tree"], default=str)
    assert tree.count("please") >= 5
    return [address for address in ADDRESSES if address in tree]


def test_in_front_of_a_mask_memory_keeps_what_is_not_masked_and_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    assert bank("in front") == ADDRESSES
    (warning,) = warnings(caplog)
    assert "Put it in front of memory" in warning


def test_behind_a_mask_memory_keeps_nothing_unmasked_and_warns_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert bank("behind") == []
    assert warnings(caplog) == []


@pytest.mark.parametrize("order", ["in front", "behind"])
def test_four_tiers_keep_what_is_masked_masked_wherever_they_stand(order: str) -> None:
    store, queue = InMemoryStore(), WorkerPool(100)
    stores = RecordStores(store, Encoder(HashEmbeddings()))
    memory = FourTierMemory(engine=ExtractiveConversationEngine(), stores=stores, background=queue)
    mask = PIIMiddleware("email", strategy="redact")
    model = Model(messages=iter(AIMessage("Noted.") for _ in ADDRESSES))
    stack: Any = [memory, mask] if order == "in front" else [mask, memory]
    agent: Any = create_agent(model, middleware=stack, context_schema=MemoryContext)
    for address in ADDRESSES:
        said = {"messages": [HumanMessage(f"My address is {address}.")], "conversation_id": "c"}
        agent.invoke(said, context=MemoryContext(user="ann"))
    assert queue.flush(60)

    kept = json.dumps([item.value for item in store.search((), limit=1_000)], default=str)

    assert kept.count("REDACTED_EMAIL") >= 5
    assert [address for address in ADDRESSES if address in kept] == []
