"""An agent's own model judges what is remembered of it, as `remember` would; or rules do, and turns are kept."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.graph.four_tier import FourTierMemory
from agentic_memory_bank.graph.react_mem import build_react_mem
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores

LEENA = "Leena left last month, Otso approves changes now."
FACT = {
    "text": "Otso approves changes since Leena has left.",
    "type": "semantic",
    "subject": "changes",
    "attribute": "approver",
    "value": "Otso",
    "turns": [1],
    "quote": "Otso approves changes now",
}


class Own(BaseChatModel):
    """Answers the user, and extracts one fact where it is asked to."""

    asked: Any
    facts: Any = (FACT,)
    form: str = ""

    @property
    def _llm_type(self) -> str:
        return "own"

    def bind_tools(self, tools: Any, **options: Any) -> "Own":
        return self.model_copy(update={"form": options.get("tool_choice") or ""})

    def _generate(self, messages: list[BaseMessage], *given: Any, **options: Any) -> ChatResult:
        self.asked.append("judge" if self.form else "answer")
        call: Any = {"name": self.form, "args": {"memories": list(self.facts)}, "id": "1"}
        said = AIMessage("", tool_calls=[call]) if self.form else AIMessage("I see.")
        return ChatResult(generations=[ChatGeneration(message=said)])


class Desk:
    """An agent with memory, and what its model was asked."""

    def __init__(self, kind: str, **options: Any) -> None:
        self.asked: list[str] = []
        self.store, self.queue = InMemoryStore(), WorkerPool(100)
        stores = RecordStores(self.store, Encoder(HashEmbeddings(64)))
        parts: Any = {"stores": stores, "background": self.queue, **options}
        model = Own(asked=self.asked)
        self.agent: Any = (
            build_react_mem(model, **parts)
            if kind == "react_mem"
            else create_agent(model, middleware=[FourTierMemory(**parts)], context_schema=MemoryContext)
        )

    def say(self, text: str, conversation: str = "a", **context: Any) -> None:
        said = {"messages": [HumanMessage(text)], "conversation_id": conversation}
        self.agent.invoke(said, context={"user": "ana", **context})
        assert self.queue.flush(30)

    def known(self, *types: Any) -> Sequence[str]:
        memories = Memories(self.store, embeddings=HashEmbeddings(64))
        return [one["text"] for one in memories.list(user="ana", types=types or None, replaced=True).records]


KINDS = ("middleware", "react_mem")


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_of_an_agent_draws_what_is_remembered_of_it(kind: str) -> None:
    desk = Desk(kind)

    desk.say(LEENA)

    assert desk.known("semantic") == [FACT["text"]]
    assert desk.asked == ["answer", "judge"]


@pytest.mark.parametrize("kind", KINDS)
def test_where_rules_are_given_they_draw_and_the_model_is_asked_for_its_answer_alone(
    kind: str,
) -> None:
    desk = Desk(kind, engine=ExtractiveConversationEngine())

    desk.say("I live in Lisbon.")
    desk.say(LEENA)

    assert desk.asked == ["answer", "answer"]
    assert any("Otso approves changes now" in text for text in desk.known("semantic", "episodic"))


def test_a_model_that_was_named_for_it_is_asked_in_place_of_the_own_one() -> None:
    named: list[str] = []
    desk = Desk("middleware", models={"extract": Own(asked=named)})

    desk.say(LEENA)

    assert desk.asked == ["answer"]
    assert named == ["judge"]


def test_without_its_price_the_own_model_spends_nothing_of_a_budget_of_money() -> None:
    desk = Desk("middleware")

    desk.say(LEENA, budget_money=1.0)

    assert desk.asked == ["answer"]


def test_what_no_fact_was_drawn_from_is_kept_as_it_was_said_and_recalled_elsewhere() -> None:
    desk = Desk("middleware")
    desk.say("Our canary is named Orlando, and it sings in the mornings.")

    assert any("Orlando" in text for text in desk.known("verbatim"))

    heard: list[str] = []
    agent: Any = create_agent(
        _Noting(asked=[], heard=heard), middleware=desk_memory(desk), context_schema=MemoryContext
    )
    said = {"messages": [HumanMessage("How is our canary named, Orlando?")], "conversation_id": "b"}
    agent.invoke(said, context={"user": "ana"})
    assert any("sings in the mornings" in text for text in heard)


def test_turns_are_kept_by_the_setting_that_holds_for_conversations() -> None:
    desk = Desk("middleware")

    desk.say("Our canary is named Orlando, and it sings in the mornings.", remember_turns=False)

    assert desk.known("verbatim") == []


class _Noting(Own):
    heard: Any

    def _generate(self, messages: list[BaseMessage], *given: Any, **options: Any) -> ChatResult:
        self.heard.extend(message.text for message in messages)
        return super()._generate(messages, *given, **options)


def desk_memory(desk: Desk) -> list[Any]:
    return [FourTierMemory(store=desk.store, embeddings=HashEmbeddings(64), background=desk.queue)]
