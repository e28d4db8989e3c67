"""An agent that goes on and on has an end: limits and budgets hold, and what was found until then is answered from."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.graph.four_tier import FourTierMemory
from agentic_memory_bank.graph.limits import AgentLimits
from agentic_memory_bank.graph.react_mem import build_react_mem
from agentic_memory_bank.nodes.messages import RECALLED
from agentic_memory_bank.nodes.react_mem.fallback_answer import answer_from_results
from agentic_memory_bank.prompts import react
from agentic_memory_bank.state.errors import ModelUnavailable, SettingsError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ChatRequest, Reply, ToolCall, failing, http_error
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores

_SPEC = util.spec_from_file_location("talking", Path(__file__).parent / "talking.py")
assert _SPEC
assert _SPEC.loader
talking: Any = util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(talking)

QUESTION = "How many rows does the report have?"
THREAD: Any = {"configurable": {"thread_id": "t"}}
FAR = 90
"""Calls after which a test gives up on an agent that has no end."""


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 5, 1, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def move(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@tool
def fetch(path: str) -> str:
    """Fetch a file."""
    return f"Content of {path}: the report has 417 rows."


@tool
def approve(path: str) -> str:
    """Ask a person."""
    return f"{path}: {interrupt('May I?')}"


def spending(said: AIMessage, tokens: int) -> AIMessage:
    return said.model_copy(
        update={"usage_metadata": {"input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens}}
    )


class Endless:
    """A model that calls one tool after the other, also one that it is not offered any more."""

    def __init__(self, name: str = "fetch", words: str = "", tokens: int = 0, **arguments: Any) -> None:
        self.called, self.name, self.words, self.tokens = 0, name, words, tokens
        self.arguments = arguments

    def __call__(self, messages: Sequence[BaseMessage]) -> AIMessage:
        self.called += 1
        if self.called > FAR:
            pytest.fail("There is no end.")
        said = talking.calls((self.name, self.arguments or {"path": f"/{self.called}"}))
        said = said.model_copy(update={"content": self.words})
        return spending(said, self.tokens) if self.tokens else said


class Obedient(Endless):
    """The same, and it answers when it is told to."""

    def __call__(self, messages: Sequence[BaseMessage]) -> AIMessage:
        called = super().__call__(messages)
        return AIMessage("So far: 417 rows.") if messages[-1].text == react.ANSWER_NOW else called


class Shop:
    """An agent with memory and a scripted model."""

    def __init__(self, script: Any, clock: Any = None, **options: Any) -> None:
        self.log, self.queue, self.clock = talking.Log(), WorkerPool(100), clock or Clock()
        self.stores = RecordStores(InMemoryStore(), Encoder(HashEmbeddings()), self.clock)
        model = talking.Scripted(script=script, log=self.log) if script else None
        by_rule = None if "models" in options else ExtractiveConversationEngine()
        given = {"tools": [fetch, approve], "engine": by_rule, **options}
        self.graph: Any = build_react_mem(model, stores=self.stores, clock=self.clock, background=self.queue, **given)

    def ask(self, text: Any = QUESTION, config: Any = None, **context: Any) -> dict[str, Any]:
        given = text if isinstance(text, Command) else {"messages": [HumanMessage(text)]}
        if config is None and not isinstance(text, Command):
            given["conversation_id"] = "a"
        found = self.graph.invoke(given, config, context={"user": "ann", **context})
        assert self.queue.flush(60)
        return found

    def kept(self, conversation: str = "a") -> list[Any]:
        return self.stores.of().agents.load("ann", "", conversation).invocations


def answers_from_what_was_found(found: dict[str, Any]) -> bool:
    return "the report has 417 rows" in found["messages"][-1].text and talking.orphans(found["messages"]) == []


# --- the calls of the model ------------------------------------------------------------------------------------------


def test_an_agent_that_only_calls_tools_ends_after_react_calls_and_answers_from_what_it_found() -> None:
    model = Endless()
    shop = Shop(model)

    found = shop.ask()

    assert model.called == Settings().react_calls == 60
    assert found["stopped"] == "react_calls: the agent had to answer after 60 calls of its model."
    assert answers_from_what_was_found(found)
    assert sum(isinstance(m, ToolMessage) for m in found["messages"]) == 59


def test_what_an_agent_did_that_had_to_end_is_remembered_with_its_results_and_its_episode() -> None:
    shop = Shop(Endless())

    shop.ask(react_calls=4)

    (kept,) = shop.kept()
    assert "417 rows" in kept["result"]
    assert kept["is_task"]
    assert not kept["failed"]
    records = shop.stores.of()
    assert [r["type"] for r in records.list("ann", types=("episodic",), limit=9).records] == ["episodic"]
    assert not any("417" in r["text"] for r in records.list("ann", types=("semantic",), limit=9).records)


def test_the_last_call_is_made_without_tools_and_its_words_are_the_answer() -> None:
    model = Obedient()
    shop = Shop(model)

    found = shop.ask(react_calls=4)

    assert model.called == 4
    assert found["messages"][-1].text == "So far: 417 rows."
    assert found["stopped"].startswith("react_calls: ")
    assert [bool(heard[-1].text == react.ANSWER_NOW) for heard in shop.log.heard] == [False, False, False, True]
    assert not any(m.text == react.ANSWER_NOW for m in found["messages"])


def test_an_answer_beside_a_call_of_a_tool_that_was_withdrawn_is_the_answer() -> None:
    shop = Shop(Endless(words="It has 417 rows, I think."))

    found = shop.ask(react_calls=3)

    assert found["messages"][-1].text == "It has 417 rows, I think."
    assert found["messages"][-1].tool_calls == []


def test_an_agent_that_ends_by_itself_was_not_stopped() -> None:
    shop = Shop(lambda messages: AIMessage("417 rows."))

    assert shop.ask(react_calls=2)["stopped"] == ""


def test_a_thread_that_was_stopped_once_says_nothing_of_it_after_the_next_question() -> None:
    model = Endless()
    shop = Shop(lambda m: AIMessage("Hello.") if m[-1].text == "Hi" else model(m), checkpointer=InMemorySaver())

    first, second = shop.ask(config=THREAD, react_calls=3), shop.ask("Hi", THREAD, react_calls=3)

    assert (bool(first["stopped"]), second["stopped"]) == (True, "")


def test_calls_of_our_own_memory_tools_count_as_well() -> None:
    model = Endless("store_fact", text="The user keeps reports.")

    found = Shop(model).ask(react_calls=5, memory_tools=True)

    assert model.called == 5
    assert found["stopped"].startswith("react_calls: ")


def test_with_memory_off_the_limits_hold_all_the_same() -> None:
    model = Endless()

    found = Shop(model).ask(react_calls=5, enable_memory=False)

    assert model.called == 5
    assert answers_from_what_was_found(found)


async def test_an_asynchronous_agent_ends_alike() -> None:
    model = Endless()
    shop = Shop(model)
    given = {"messages": [HumanMessage(QUESTION)]}

    found = await shop.graph.ainvoke(given, context={"user": "ann", "react_calls": 5})

    assert model.called == 5
    assert answers_from_what_was_found(found)


def test_a_limit_of_super_steps_ends_the_agent_with_an_answer_and_no_error() -> None:
    model = Endless()

    found = Shop(model).ask(config={"recursion_limit": 20})

    assert model.called == 10
    assert found["stopped"] == "recursion_limit: the agent had to answer after 10 calls of its model."
    assert answers_from_what_was_found(found)


# --- budgets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "most", "name"),
    [
        ({"budget_calls": 5}, 5, "budget_calls"),
        ({"budget_tokens": 500}, 5, "budget_tokens"),
        ({"budget_money": 0.5, "prices": {"Scripted": (1_000.0, 0.0)}}, 5, "budget_money"),
        ({"budget_calls": 5, "react_calls": 8, "budget_tokens": 500}, 5, "budget_tokens"),
        ({"budget_calls": 8, "react_calls": 3}, 3, "react_calls"),
        ({"budget_calls": 1}, 1, "budget_calls"),
    ],
)
@pytest.mark.parametrize("kind", [Endless, Obedient])
def test_a_budget_ends_the_agent_before_it_is_passed(kind: Any, limits: Any, most: int, name: str) -> None:
    model = kind(tokens=100)

    found = Shop(model).ask(**limits)

    # What is expected of tokens is an estimate, which may leave the last 100 of them unspent.
    assert most - (name in ("budget_tokens", "budget_money")) <= model.called <= most
    assert found["stopped"].startswith(f"{name}: ")
    assert found["messages"][-1].text.strip()
    assert found["messages"][-1].tool_calls == []


def test_a_budget_of_time_ends_the_agent_by_its_clock() -> None:
    clock, model = Clock(), Endless()

    def slow(messages: Sequence[BaseMessage]) -> AIMessage:
        clock.move(10)
        return model(messages)

    found = Shop(slow, clock).ask(budget_seconds=45)

    assert model.called == 5
    assert found["stopped"].startswith("budget_seconds: ")
    assert answers_from_what_was_found(found)


def test_a_budget_that_a_tool_has_used_up_leaves_no_call_and_what_was_found_answers() -> None:
    clock, model = Clock(), Endless()

    @tool
    def fetch(path: str) -> str:
        """Fetch a file."""
        clock.move(100)
        return "the report has 417 rows"

    found = Shop(model, clock, tools=[fetch]).ask(budget_seconds=45)

    assert model.called == 1
    assert answers_from_what_was_found(found)


def test_a_budget_of_money_needs_the_price_of_the_model_before_anything_is_asked() -> None:
    model = Endless()

    with pytest.raises(SettingsError, match="price of 'Scripted'"):
        Shop(model).ask(budget_money=1.0)

    assert model.called == 0


def test_what_condenses_the_steps_of_an_agent_counts_in_its_budget() -> None:
    model, judged = Endless(), talking.Log()
    reply = AIMessage('{"topic": "", "decisions": [], "facts": ["Some files were fetched."], "open": []}')
    judge = talking.Scripted(script=lambda messages: reply, log=judged)
    shop = Shop(model, models={"summarise": judge})

    found = shop.ask(
        budget_calls=12,
        condense_with_model=True,
        auto_facts=False,
        record_episodes=False,
        working_memory_tokens=200,
        keep_steps=1,
    )

    assert len(judged.heard) >= 1
    assert model.called + len(judged.heard) == 12
    assert found["stopped"].startswith("budget_calls: ")


def test_what_is_remembered_after_the_answer_has_an_account_of_its_own() -> None:
    model, judged = Obedient(), talking.Log()

    def extracts(messages: Sequence[BaseMessage]) -> AIMessage:
        return AIMessage('{"memories": []}')

    shop = Shop(model, models={"extract": talking.Scripted(script=extracts, log=judged)})

    shop.ask("I live in Lisbon. " + QUESTION, budget_calls=3)

    assert model.called == 3
    assert 1 <= len(judged.heard) <= 3


# --- pauses, faults, agents of others --------------------------------------------------------------------------------


def test_an_invocation_counts_on_when_it_is_resumed_also_in_another_process_and_nothing_twice() -> None:
    saver, model = InMemorySaver(), Endless("approve")
    shop = Shop(model, checkpointer=saver)

    found = shop.ask(config=THREAD, budget_calls=5)
    pauses = 0
    while "__interrupt__" in found:
        pauses += 1
        assert pauses < 50
        shop = Shop(model, checkpointer=saver)  # what another process holds
        found = shop.ask(Command(resume="the report has 417 rows"), THREAD, budget_calls=5)

    assert (model.called, pauses) == (5, 4)
    assert found["stopped"].startswith("budget_calls: ")
    assert answers_from_what_was_found(found)


def test_each_invocation_of_a_thread_has_the_whole_budget() -> None:
    model = Endless()
    shop = Shop(model, checkpointer=InMemorySaver())

    counts = []
    for number in range(3):
        before = model.called
        shop.ask(f"{QUESTION} {number}", THREAD, budget_calls=4)
        counts.append(model.called - before)

    assert counts == [4, 4, 4]


def test_the_time_in_which_a_person_is_waited_for_is_not_the_agents() -> None:
    clock, saver = Clock(), InMemorySaver()
    asked = [talking.calls(("approve", {"path": "/a"})), AIMessage("Done.")]
    shop = Shop(lambda messages: asked.pop(0), clock, checkpointer=saver)

    shop.ask(config=THREAD, budget_seconds=60)
    clock.move(3_600)
    found = Shop(lambda messages: asked.pop(0), clock, checkpointer=saver).ask(
        Command(resume="yes"), THREAD, budget_seconds=60
    )

    assert (found["messages"][-1].text, found["stopped"]) == ("Done.", "")


def test_where_the_last_call_fails_what_was_found_answers() -> None:
    model = Endless()

    def breaks(messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].text == react.ANSWER_NOW:
            raise ModelUnavailable("down")
        return model(messages)

    found = Shop(breaks).ask(react_calls=4)

    assert answers_from_what_was_found(found)


def test_a_fault_before_the_last_call_is_the_callers() -> None:
    def breaks(messages: Sequence[BaseMessage]) -> AIMessage:
        raise ModelUnavailable("down")

    with pytest.raises(ModelUnavailable):
        Shop(breaks).ask(react_calls=4)


def test_the_middleware_ends_any_agent_beside_memory_or_alone() -> None:
    for around in ([FourTierMemory(store=InMemoryStore(), embeddings=HashEmbeddings())], []):
        model = Endless()
        limits = AgentLimits(settings=Settings(react_calls=6))
        agent: Any = create_agent(
            talking.Scripted(script=model, log=talking.Log()), [fetch], middleware=[*around, limits]
        )
        context = {"user": "ann", "react_calls": 6} if around else None

        found = agent.invoke({"messages": [HumanMessage(QUESTION)]}, context=context)

        assert model.called == 6
        assert found["stopped"].startswith("react_calls: ")
        assert answers_from_what_was_found(found)


def endless(request: ChatRequest) -> Reply:
    """The same behind a server; far from any limit it answers, so that no test goes on for ever."""
    if request.number > FAR:
        return Reply("There is no end.")
    return Reply(tool_calls=[ToolCall("fetch", {"path": f"/{request.number}"})])


class Count(BaseModel):
    """How many there are."""

    rows: int


@pytest.mark.parametrize("answers", [True, False])
def test_an_answer_in_a_given_form_is_taken_at_the_last_call_and_nothing_else_is_served(answers: bool) -> None:
    model = Endless()

    def counts(messages: Sequence[BaseMessage]) -> AIMessage:
        said = model(messages)
        return talking.calls(("Count", {"rows": 417})) if answers and messages[-1].text == react.ANSWER_NOW else said

    given: Any = [fetch], []
    for tools in given:
        agent: Any = create_agent(
            talking.Scripted(script=counts, log=talking.Log()),
            tools,
            middleware=[AgentLimits(settings=Settings(react_calls=3))],
            response_format=ToolStrategy(Count),
        )
        model.called = 0

        found = agent.invoke({"messages": [HumanMessage(QUESTION)]})

        assert model.called == 3
        assert found.get("structured_response") == (Count(rows=417) if answers else None)
        assert found["stopped"].startswith("react_calls: ")
        assert found["messages"][-1].text or answers


def test_whoever_streams_is_sent_the_answer_and_no_word_of_the_account() -> None:
    shop, modes = Shop(Endless()), ["messages", "values"]
    given = {"messages": [HumanMessage(QUESTION)]}

    seen = list(shop.graph.stream(given, context={"user": "ann", "react_calls": 3}, stream_mode=modes))

    assert any(mode == "messages" and "417 rows" in part[0].text and part[0].type == "ai" for mode, part in seen)
    last = [part for mode, part in seen if mode == "values"][-1]
    assert last["stopped"].startswith("react_calls: ")
    assert not {"tally", "spent", "most_calls"} & set(last)


@pytest.mark.server
@pytest.mark.enable_socket
def test_an_endless_model_behind_a_server_is_asked_no_more_than_the_budget_also_where_requests_fail(
    model: Any,
) -> None:
    model.plays(failing(endless, http_error(500), on=lambda request: request.number % 4 == 2))
    shop = Shop(None)

    found = shop.ask(budget_calls=7, auto_facts=False, record_episodes=False, react_model="local:test")

    assert model.server.count == 7
    assert found["stopped"].startswith("budget_calls: ")
    assert answers_from_what_was_found(found)


@pytest.mark.server
@pytest.mark.enable_socket
def test_a_model_that_settings_name_is_priced_by_that_name(model: Any) -> None:
    model.plays(endless)

    found = Shop(None).ask(
        budget_money=0.000001, prices={"local:test": (1.0, 1.0)}, auto_facts=False, react_model="local:test"
    )

    assert model.server.count == 1
    assert found["stopped"].startswith("budget_money: ")


# --- the answer ------------------------------------------------------------------------------------------------------


def test_the_answer_is_made_of_the_last_words_and_of_what_fits_the_question_and_is_nobodys_fact() -> None:
    messages = [
        HumanMessage("What is the height of the tower?"),
        AIMessage("I look it up.", tool_calls=[{"name": "search", "args": {}, "id": "1"}]),
        ToolMessage("The weather is fine. The height of the tower is 324 m.", tool_call_id="1", name="search"),
        AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "2"}]),
        ToolMessage("Error: the height of the tower is a secret", tool_call_id="2", name="search", status="error"),
    ]

    answer = answer_from_results(messages)

    assert "I look it up." in answer.text
    assert "- search: The height of the tower is 324 m." in answer.text
    assert "secret" not in answer.text
    assert answer.additional_kwargs[RECALLED]


def test_an_agent_that_found_nothing_says_so_in_the_language_of_the_question() -> None:
    assert "nothing was found" in answer_from_results([HumanMessage("Where is it?")]).text
    assert "什么也没有找到" in answer_from_results([HumanMessage("它在哪里？")]).text
