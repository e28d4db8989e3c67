"""The working memory of an agent: within its threshold, the last steps word for word, and nothing lost."""

import json
import re
import time
from collections.abc import Sequence
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.engines.conversation import Digest
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.graph.react_mem import build_react_mem
from agentic_memory_bank.nodes import agent_messages
from agentic_memory_bank.nodes.messages import RECALLED
from agentic_memory_bank.nodes.react_mem import steps, working_memory
from agentic_memory_bank.nodes.react_mem.assemble import assemble_prompt
from agentic_memory_bank.prompts.fence import unescape
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.text.tokens import estimate_tokens


def _neighbour(name: str) -> Any:
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


talking = _neighbour("talking")
ID = "i0123456789ab"
THRESHOLD = 2_000


def result(number: int) -> str:
    """What the tool says of an item: figures and an identifier, and words between them."""
    return (
        f"Item {number} of the inventory stands in hall {number % 7}, and was counted last spring by the night shift. "
        f"Its order is ORD-{7_000 + 13 * number}, its weight {number * 1.25:.2f} kg, and its price {900 + number} EUR."
    )


@tool
def count(item: int) -> str:
    """Count an item of the inventory."""
    return result(item)


def exchange(number: int, text: str | None = None, said: str = "") -> list[BaseMessage]:
    call = {"name": "count", "args": {"item": number}, "id": f"call{number}"}
    answer = result(number) if text is None else text
    return [
        AIMessage(said, tool_calls=[call], id=f"a{number}"),
        ToolMessage(answer, tool_call_id=f"call{number}", name="count", id=f"t{number}"),
    ]


def course(length: int, **options: Any) -> list[list[BaseMessage]]:
    return [exchange(number, **options) for number in range(1, length + 1)]


def cost(shown: working_memory.ShownSteps) -> int:
    """What working memory takes in a prompt."""
    return estimate_tokens(shown.condensed) + agent_messages.total(shown.messages)


class Inventory:
    """An agent that counts so many items and then answers, every prompt of it, and its memories."""

    def __init__(self, items: int, script: Any = None, **options: Any) -> None:
        def counting(messages: Sequence[BaseMessage]) -> AIMessage:
            made = len(self.log.heard) - 1
            return talking.calls(("count", {"item": made + 1})) if made < items else AIMessage("All is counted.")

        self.log, self.queue = talking.Log(), WorkerPool(10)
        self.stores = RecordStores(InMemoryStore(), Encoder(HashEmbeddings()))
        model = talking.Scripted(script=script or counting, log=self.log)
        parts = {"engine": ExtractiveConversationEngine(), "stores": self.stores, "background": self.queue, **options}
        self.graph: Any = build_react_mem(model, [count], **parts)

    def work(self, text: str = "Count the inventory.", conversation: str = "a", **context: Any) -> list[AnyMessage]:
        given = {"messages": [HumanMessage(text)], "conversation_id": conversation}
        config: Any = {"recursion_limit": 5_000}
        found = self.graph.invoke(given, config, context={"user": "ann", "react_calls": 1_000, **context})["messages"]
        assert self.queue.flush(60)
        return found


def working_tokens(heard: Sequence[BaseMessage]) -> int:
    """What working memory takes in a prompt: the section of the older steps, and the last ones."""
    noted = "".join(m.text for m in heard if m.additional_kwargs.get(RECALLED))
    section = "".join(re.findall(r'<memory kind="Your own.*?">\n(.*?)\n</memory>', noted, re.DOTALL))
    after = next(i for i in range(len(heard) - 1, -1, -1) if isinstance(heard[i], HumanMessage))
    return estimate_tokens(section) + agent_messages.total(heard[after + 1 :])


# --- two hundred steps -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_hundred_steps_stay_under_the_threshold_and_no_result_is_lost() -> None:
    shop = Inventory(200)

    messages = shop.work()

    assert max(map(working_tokens, shop.log.heard)) <= THRESHOLD
    assert max(map(working_tokens, shop.log.heard)) > THRESHOLD // 2
    assert not any(talking.orphans(heard) for heard in shop.log.heard)
    results = [m for m in messages if isinstance(m, ToolMessage)]
    assert [m.text for m in results] == [result(number) for number in range(1, 201)]
    agents, calls = shop.stores.of().agents, agent_messages.calls_of(messages)
    kept = [agents.step("ann", "", "a", steps.id_of(m, calls) or "") for m in results]
    assert [one and one["text"] for one in kept] == [m.text for m in results]


def test_every_figure_and_identifier_of_the_last_results_is_in_the_prompt_or_is_read_by_its_id() -> None:
    done = course(60)

    shown = working_memory.fitted(done, Settings(), ID)

    text = shown.condensed + "".join(m.text for m in shown.messages)
    for number in range(51, 61):
        marks = set(steps.marks(result(number)))
        id = steps.called(done[number - 1])[0].id
        assert marks <= set(steps.marks(text)) or id in text
    assert set(steps.marks(result(55))) <= set(steps.marks(shown.condensed))
    listing = working_memory.listed(done)
    assert all(steps.called(one)[0].id in listing for one in done)
    assert ID in shown.condensed


def test_a_step_that_was_condensed_is_read_by_its_id_also_in_a_later_invocation() -> None:
    read: list[str] = []

    def reading(messages: Sequence[BaseMessage]) -> AIMessage:
        question = next(m.text for m in reversed(messages) if isinstance(m, HumanMessage))
        if isinstance(messages[-1], ToolMessage) and messages[-1].name == "deep_retrieval":
            read.append(messages[-1].text)
            return AIMessage("I have read it.")
        if found := re.search(r"Read (\S+)\.", question):
            return talking.calls(("deep_retrieval", {"node_id": found[1]}))
        made = sum(isinstance(m, ToolMessage) for m in messages) + _condensed_steps(messages)
        return talking.calls(("count", {"item": made + 1})) if made < 40 else AIMessage("All is counted.")

    shop = Inventory(40, reading)
    messages = shop.work()
    calls = agent_messages.calls_of(messages)
    third = [m for m in messages if isinstance(m, ToolMessage)][2]

    shop.work(f"Read {steps.id_of(third, calls)}.")
    shop.work("Read i000000000000.")
    shop.work(f"Read {steps.id_of(third, calls)}.", "another")

    assert read[0] == third.text
    assert "no text under this id" in read[1]
    assert "no text under this id" in read[2]


def _condensed_steps(messages: Sequence[BaseMessage]) -> int:
    text = "".join(unescape(m.text) for m in messages if m.additional_kwargs.get(RECALLED))
    numbers = re.findall(r"^(?:Steps 1 to )?(\d+)[.:] ", text, re.MULTILINE)
    return max(map(int, numbers), default=0)


# --- what stays word for word ------------------------------------------------------------------------------------


def test_below_the_threshold_nothing_changes() -> None:
    done = course(5)

    shown = working_memory.fitted(done, Settings(), ID)

    assert shown == working_memory.ShownSteps("", [m for one in done for m in one], False)


def test_above_it_the_last_five_steps_are_word_for_word_and_the_older_ones_in_few_words() -> None:
    done = course(40)

    shown = working_memory.fitted(done, Settings(), ID)

    assert shown.messages == [m for one in done[-5:] for m in one]
    assert "count(35) → " in shown.condensed
    assert "ORD-7455" in shown.condensed
    assert cost(shown) <= THRESHOLD


@pytest.mark.parametrize("length", [7, 20, 50, 200, 400])
@pytest.mark.parametrize("most", [300, 1_000, 2_000, 8_000])
def test_after_condensing_working_memory_is_below_the_threshold(length: int, most: int) -> None:
    shown = working_memory.fitted(course(length), Settings(working_memory_tokens=most), ID)

    assert cost(shown) <= most


def test_where_five_steps_alone_pass_the_threshold_fewer_stay_and_of_the_only_one_an_excerpt() -> None:
    long = [exchange(n, text=f"{result(n)} " + "filler words here " * 120) for n in range(1, 8)]
    huge = [*course(3), exchange(9, text="beginning " + "very long text " * 3_000 + "the end is near")]

    fewer = working_memory.fitted(long, Settings(), ID)
    excerpt = working_memory.fitted(huge, Settings(), ID)

    assert fewer.messages == [*long[-2], *long[-1]]
    assert cost(fewer) <= THRESHOLD
    assert [m.type for m in excerpt.messages] == ["ai", "tool"]
    last = excerpt.messages[-1].text
    assert last.startswith("beginning")
    assert last.endswith("the end is near")
    assert f"deep_retrieval with node_id {steps.called(huge[-1])[0].id}" in last
    assert cost(excerpt) <= THRESHOLD
    assert excerpt.is_cut


def test_calls_made_at_once_stay_with_all_their_results() -> None:
    many = [{"name": "count", "args": {"item": n}, "id": f"m{n}"} for n in range(12)]
    results = [ToolMessage(result(n) * 9, tool_call_id=f"m{n}", name="count", id=f"r{n}") for n in range(12)]
    done = [*course(20), [AIMessage("", tool_calls=many, id="all"), *results]]

    shown = working_memory.fitted(done, Settings(), ID)

    assert not talking.orphans(shown.messages)
    assert [m.type for m in shown.messages] == ["ai", *["tool"] * 12]
    assert cost(shown) <= THRESHOLD


def test_decisions_failures_and_arguments_are_kept_in_few_words() -> None:
    older = [
        exchange(1, said="I decided to take hall 4, since it is nearest."),
        exchange(2, text="Error: there is no item 2 in hall 4"),
        *course(30),
    ]

    text = working_memory.condensed(older[:2], 500, ID)

    assert "I decided to take hall 4" in text
    assert "count(2) → FAILED: Error: there is no item 2 in hall 4" in text


def test_the_oldest_of_very_many_steps_are_counted() -> None:
    text = working_memory.condensed(course(300), 600, ID)

    assert re.match(rf"Steps 1 to \d+: count x\d+\. deep_retrieval with node_id {ID} lists them\.", text)
    assert estimate_tokens(text) <= 600


def test_the_threshold_is_a_number_of_tokens_or_a_share_of_the_window_and_the_number_wins() -> None:
    assert working_memory.threshold(Settings()) == 2_000
    assert working_memory.threshold(Settings(working_memory_share=0.5)) == 2_000
    assert (
        working_memory.threshold(Settings(working_memory_tokens=None, working_memory_share=0.5, react_window=20_000))
        == 10_000
    )


def test_the_agents_own_messages_stay_whole_and_results_of_our_tools_are_no_steps() -> None:
    asked = HumanMessage("Count all.", id="q")
    call = {"name": "deep_retrieval", "args": {"node_id": "e1"}, "id": "d1"}
    read = [AIMessage("", tool_calls=[call], id="x"), ToolMessage("the text", tool_call_id="d1", name="deep_retrieval")]
    messages: list[Any] = [asked, *[m for one in course(30) for m in one], *read]
    before = [m.model_copy(deep=True) for m in messages]

    shown = assemble_prompt(messages, None, Settings(), ID)

    assert messages == before
    assert shown
    assert shown.has_ids
    assert [m.type for m in shown.messages[:2]] == ["human", "human"]
    assert steps.actions(steps.split(messages).exchanges) == steps.actions(course(30))


def test_the_gist_of_a_long_text_is_how_it_begins_with_the_figures_behind_that() -> None:
    english = steps.gist(
        "The survey of the northern halls took nine weeks. " * 9 + "Order ORD-77 costs 3,400.50 EUR.", 120
    )
    chinese = steps.gist("编号 " + "北方大厅的调查花了九个星期。" * 30 + "订单ORD-77共3400元", 120)

    assert english.startswith("The survey of the northern halls took nine")
    assert english.endswith("... ORD-77, 3,400.50")
    assert len(english) <= 120
    assert chinese.startswith("编号 北方大厅的调查")
    assert "ORD-77" in chinese
    assert steps.gist("short", 120) == "short"


@pytest.mark.parametrize(
    "text", ["x" * 200_000, "a," * 100_000, "1," * 100_000, "9" * 200_000, " ".join("abc" * 50_000)]
)
def test_long_texts_of_any_kind_are_condensed_at_once(text: str) -> None:
    begun = time.thread_time()

    assert len(steps.gist(text, 200)) <= 210
    assert time.thread_time() - begun < 1


# --- by a model --------------------------------------------------------------------------------------------------


class Condensing(ExtractiveConversationEngine):
    """Condenses by counting what it is shown."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def summarise(self, turns: Any, max_tokens: int = 100) -> Digest:
        self.asked.append([turn.text for turn in turns])
        return Digest(facts=(f"condensed {len(self.asked)} times, up to ORD-{len(turns)}",))


def test_a_model_condenses_by_setting_once_for_many_steps() -> None:
    engine = Condensing()
    shop = Inventory(40, engine=engine)

    shop.work(condense_with_model=True, auto_facts=False)

    assert 1 < len(engine.asked) < 12
    assert "condensed 1 times" in engine.asked[1][0]
    assert max(map(working_tokens, shop.log.heard)) <= THRESHOLD
    assert any(f"condensed {len(engine.asked)} times" in m.text for m in shop.log.heard[-1])
    counted = json.dumps(engine.asked)
    assert all(f"count({number})" in counted for number in range(1, 30))


def test_where_no_model_condenses_rules_do() -> None:
    class Broken(ExtractiveConversationEngine):
        def summarise(self, turns: Any, max_tokens: int = 100) -> Digest:
            from agentic_memory_bank.state.errors import ModelUnavailable

            raise ModelUnavailable("The model is down. Try again.")

    shop = Inventory(20, engine=Broken())

    shop.work(condense_with_model=True, auto_facts=False)

    assert max(map(working_tokens, shop.log.heard)) <= THRESHOLD
    assert any("count(5) → " in m.text for m in shop.log.heard[-1])


def test_a_result_of_megabytes_is_not_counted_to_its_end_to_see_that_it_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted: list[int] = []

    def counting(text: str) -> int:
        counted.append(len(text))
        return estimate_tokens(text)

    call = AIMessage("", tool_calls=[{"name": "fetch", "args": {}, "id": "1"}])
    settings = Settings()
    result, blank = ToolMessage("a word " * 500_000, tool_call_id="1"), ToolMessage(" " * 500_000, tool_call_id="1")
    monkeypatch.setattr("agentic_memory_bank.nodes.agent_messages.estimate_tokens", counting)

    assert working_memory.is_over([[call, result]], settings)
    assert max(counted) < 100_000
    assert not working_memory.is_over([[call, blank]], settings)
