"""Memory for an agent of `create_agent`: long dialogues within a budget, nothing lost, everything found again."""

import re
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from agentic_memory_bank.engines.base import Pairing, Relation
from agentic_memory_bank.state.errors import BudgetReachedError, EngineError, SettingsError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.text.tokens import estimate_tokens


def _neighbour(name: str) -> Any:
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


talking = _neighbour("talking")
KEY = talking.KEY
PAIRS = talking.PAIRS
SYSTEM = talking.SYSTEM
WHERE = talking.WHERE
Log = talking.Log
Scripted = talking.Scripted
Talk = talking.Talk
asked = talking.asked
calls = talking.calls
clerk = talking.clerk
line = talking.line
memory = talking.memory
middleware = talking.middleware
orphans = talking.orphans
read = talking.read
reading = talking.reading
words = talking.words
CONFIG: Any = talking.CONFIG


@pytest.mark.slow
@pytest.mark.parametrize("turns", [100, pytest.param(300, marks=pytest.mark.attack)])
def test_over_many_turns_the_prompt_stays_within_the_budget_and_turn_3_is_recalled_at_the_last(turns: int) -> None:
    talk = Talk(budget=3_000)
    for number in range(1, turns):
        talk.say(line(number))

    talk.say(WHERE)

    assert max(talk.log.costs) <= 3_000
    assert max(talk.log.costs) > 2_000
    assert KEY in memory(talk.log.heard[-1])
    assert not any(KEY in m.text for m in talk.log.heard[-1] if "<memory>" not in m.text)
    assert not any(orphans(heard) for heard in talk.log.heard)
    assert len(talk.state()["messages"]) < 80
    texts = [entry["text"] for entry in talk.entries()]
    said = [line(number) for number in range(1, turns)]
    assert [text for text in texts if text in set(said)] == said
    assert not any("<memory>" in text for text in texts)


async def test_an_asynchronous_agent_remembers_alike() -> None:
    talk = Talk(budget=1_500)
    for number in range(1, 40):
        await talk.agent.ainvoke({"messages": [HumanMessage(line(number))]}, CONFIG)

    await talk.agent.ainvoke({"messages": [HumanMessage(WHERE)]}, CONFIG)

    assert KEY in memory(talk.log.heard[-1])
    assert max(talk.log.costs) <= 1_500


def test_the_latest_exchanges_are_shown_word_for_word_in_their_order() -> None:
    talk = Talk(budget=1_500, keep_last=4)
    for number in range(1, 30):
        talk.say(line(number))

    said = [m.text for m in talk.log.heard[-1] if isinstance(m, HumanMessage) and "<memory>" not in m.text]

    assert said[-2:] == [line(28), line(29)]


def test_memory_stands_in_one_message_of_the_user_right_before_the_question_and_nowhere_else() -> None:
    talk = Talk(budget=1_500)
    for number in range(1, 30):
        talk.say(line(number))
    talk.say(WHERE)

    last = talk.log.heard[-1]

    assert [m.type for m in last[-2:]] == ["human", "human"]
    assert last[-2].text == memory(last)
    assert [m.text for m in last if isinstance(m, SystemMessage)] == [SYSTEM]
    assert not any("<memory>" in m.text for m in talk.state()["messages"])


def test_a_memory_that_is_too_long_for_its_share_is_shown_shorter_and_not_beyond_it() -> None:
    talk = Talk(budget=1_600, keep_last=1)
    talk.say(f"{KEY} {words(250)}")
    for number in range(4, 30):
        talk.say(line(number))
    talk.say(WHERE)

    assert 0 < estimate_tokens(memory(talk.log.heard[-1])) <= 400
    assert max(talk.log.costs) <= 1_600


def test_a_text_the_user_pasted_is_shown_in_part_and_read_word_for_word_by_its_id() -> None:
    pasted = f"{words(3_000)}\n\n  indented\ttabs, 中文 and <tags> & all.\n\nWhat is word2999?"
    talk = Talk(reading, budget=4_000)
    talk.say(pasted)
    shown = asked(talk.log.heard[0])
    entry_id = re.findall(r"node_id (e[0-9a-f]{12})", shown)[0]

    talk.say(f"Read {entry_id}.")

    assert shown.startswith("word0 word1 ")
    assert shown.endswith("What is word2999?")
    assert len(read(talk)) > 5
    assert "".join(read(talk)) == pasted
    assert max(talk.log.costs) <= 4_000


def test_of_a_long_text_the_passage_that_is_asked_for_is_recalled_at_once() -> None:
    paragraphs = [f"The {place} of {name} was built in {1600 + 7 * i}." for i, (place, name) in enumerate(PAIRS)]
    filler = "Nothing else of interest was written down on this page of the chronicle, as far as anybody knows. "
    talk = Talk(reading, budget=3_000)

    talk.say("\n\n".join(p + " " + filler * 4 for p in paragraphs) + "\n\nWhen was the quarry of Igor built?")

    assert paragraphs[PAIRS.index(("quarry", "Igor"))] in memory(talk.log.heard[0])
    assert max(talk.log.costs) <= 3_000


def test_a_long_result_of_a_tool_is_shown_in_part_and_read_on_by_its_id() -> None:
    @tool
    def register() -> str:
        """Read the whole register."""
        return words(2_000, "row")

    def clerk(messages: Sequence[BaseMessage]) -> AIMessage:
        return (
            reading(messages)
            if isinstance(messages[-1], ToolMessage) or "Read" in asked(messages)
            else calls(("register", {}))
        )

    talk = Talk(clerk, [register], budget=4_000)
    talk.say("Show me the register.")
    shown = next(m.text for m in talk.log.heard[-1] if isinstance(m, ToolMessage))
    entry_id = re.findall(r"node_id (e[0-9a-f]{12})", shown)[0]
    talk.say(f"Read {entry_id}.")

    assert estimate_tokens(shown) <= 400
    assert "".join(read(talk)) == words(2_000, "row")


def test_a_memory_is_read_with_all_its_entries_and_an_unknown_id_gets_a_sentence_to_act_on() -> None:
    talk = Talk(reading, budget=1_500)
    for number in range(1, 30):
        talk.say(line(number))
    graph = talk.state()["query_graph"]["nodes"].values()
    node = next(n for n in graph if KEY in n["summary"])

    talk.say(f"Read {node['id']}.")
    whole = "".join(read(talk))
    talk.say("Read n00000000000f.")

    assert KEY in whole
    assert whole.startswith(f"[{node['anchors'][0]['entry']}] user, 2026-")
    assert "There is no memory 'n00000000000f'" in talk.log.heard[-1][-1].text


def test_what_was_read_from_memory_is_not_remembered_as_new() -> None:
    talk = Talk(reading, budget=1_500, keep_last=1)
    for number in range(1, 20):
        talk.say(line(number))
    nodes = list(talk.state()["query_graph"]["nodes"])
    for node_id in nodes[:5]:
        talk.say(f"Read {node_id}.")
    for number in range(20, 40):
        talk.say(line(number))

    entries = talk.entries()

    assert [entry["text"] for entry in entries].count(KEY) == 1
    assert not any(entry["kind"] == "tool_result" for entry in entries)
    assert not any("deep_retrieval" in entry["text"] for entry in entries)


def test_all_that_left_the_window_is_in_the_tree_word_for_word_and_behind_a_memory() -> None:
    talk = Talk(budget=1_500)
    told: list[str] = []
    for number in range(1, 60):
        told += [m.text for m in talk.say(line(number)) if m.text]

    entries = {entry["text"]: entry["id"] for entry in talk.entries()}
    present = {m.text for m in talk.state()["messages"]}

    gone = [text for text in dict.fromkeys(told) if text not in present]
    assert len(gone) > 50
    assert set(gone) <= set(entries)
    assert {entries[text] for text in gone} <= talk.remembered()


def test_arguments_of_calls_are_kept_and_long_ones_are_shown_in_part() -> None:
    report = words(3_000, "finding")

    @tool
    def save(text: str) -> str:
        """Save a report."""
        return "saved"

    def author(messages: Sequence[BaseMessage]) -> AIMessage:
        return AIMessage("Done.") if isinstance(messages[-1], ToolMessage) else calls(("save", {"text": report}))

    talk = Talk(author, [save], budget=3_000)
    talk.say("Write it.")

    (shown,) = (m for m in talk.log.heard[-1] if isinstance(m, AIMessage))
    assert estimate_tokens(shown.tool_calls[0]["args"]["text"]) < 750
    assert any(report in entry["text"] for entry in talk.entries())
    assert max(talk.log.costs) <= 3_000


def test_a_failed_call_is_kept_and_makes_no_memory() -> None:
    message = ToolMessage("Traceback: disk on fire", tool_call_id="x", name="catalogue", status="error")
    talk = Talk(budget=1_000, keep_last=1)
    asking = AIMessage("", tool_calls=[{"name": "catalogue", "args": {"name": "Abel"}, "id": "x"}])
    talk.agent.invoke({"messages": [HumanMessage("Try."), asking, message, AIMessage("It failed.")]}, CONFIG)
    for number in range(1, 25):
        talk.say(line(number))

    (failed,) = (e for e in talk.entries() if e["text"] == message.text)
    assert failed["id"] not in talk.remembered()


def test_a_picture_that_leaves_is_kept_with_its_message() -> None:
    picture = {"type": "image", "base64": "aGVsbG8=", "mime_type": "image/png"}
    content: Any = [{"type": "text", "text": "This is the vault."}, picture]
    talk = Talk(budget=5_000, keep_last=1)
    talk.agent.invoke({"messages": [HumanMessage(content)]}, CONFIG)
    for number in range(1, 60):
        talk.say(line(number))

    (kept,) = (e for e in talk.entries() if e["text"] == "This is the vault.")
    assert kept["metadata"]["content"] == content
    assert not any(isinstance(m.content, list) for m in talk.state()["messages"])


def test_threads_know_nothing_of_each_other() -> None:
    talk = Talk(budget=1_500)
    other: Any = {"configurable": {"thread_id": "other"}}
    for number in range(1, 25):
        talk.say(line(number))
        talk.say(line(number).replace("Ottilie Brandt", "Somebody Else"), other)
    talk.say(WHERE)
    mine = memory(talk.log.heard[-1])
    talk.say(WHERE, other)

    assert "Ottilie Brandt" in mine
    assert "Somebody Else" not in mine
    assert "Ottilie Brandt" not in memory(talk.log.heard[-1])


def test_without_a_checkpointer_messages_stay_and_prompts_are_bounded_all_the_same() -> None:
    talk = Talk(saver=False, budget=1_500)
    said: list[AnyMessage] = []
    for number in range(1, 30):
        said = talk.agent.invoke({"messages": [*said, HumanMessage(line(number))]})["messages"]

    final = talk.agent.invoke({"messages": [*said, HumanMessage(WHERE)]})

    assert set(final) == {"messages"}
    assert [m.text for m in final["messages"] if isinstance(m, HumanMessage)] == [*map(line, range(1, 30)), WHERE]
    assert KEY in memory(talk.log.heard[-1])
    assert max(talk.log.costs) <= 1_500


def test_inside_of_another_graph_messages_stay_since_nobody_keeps_the_memory_of_the_agent() -> None:
    talk = Talk(saver=False, budget=1_500)
    outer = StateGraph(MessagesState)
    outer.add_node("agent", lambda state: {"messages": talk.agent.invoke(state)["messages"]})
    outer.add_edge(START, "agent")
    graph = outer.compile(checkpointer=InMemorySaver())
    for number in range(1, 30):
        graph.invoke({"messages": [HumanMessage(line(number))]}, CONFIG)

    messages = graph.invoke({"messages": [HumanMessage(WHERE)]}, CONFIG)["messages"]

    assert len([m for m in messages if isinstance(m, HumanMessage)]) == 30
    assert KEY in memory(talk.log.heard[-1])


ANOTHER_PROCESS = """
import sqlite3, sys
from langgraph.checkpoint.sqlite import SqliteSaver
from talking import KEY, WHERE, Talk, memory
talk = Talk(saver=SqliteSaver(sqlite3.connect(sys.argv[1], check_same_thread=False)), budget=1500)
talk.say(WHERE)
assert KEY in memory(talk.log.heard[-1])
sys.stdout.write(str(len(talk.entries())))
"""


@pytest.mark.slow
def test_a_new_process_goes_on_where_the_checkpointer_left_off(tmp_path: Path) -> None:
    file = tmp_path / "talk.sqlite"
    connection = sqlite3.connect(file, check_same_thread=False)
    talk = Talk(saver=SqliteSaver(connection), budget=1_500)
    for number in range(1, 25):
        talk.say(line(number))
    known = len(talk.entries())
    connection.close()

    command = [sys.executable, "-c", ANOTHER_PROCESS, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=Path(__file__).parent)

    assert done.returncode == 0, done.stderr[-2_000:]
    assert int(done.stdout) == known + 2


def test_a_call_that_dies_loses_nothing_and_repeats_nothing() -> None:
    fails = [False]

    def moody(messages: Sequence[BaseMessage]) -> AIMessage:
        if fails[0]:
            raise ConnectionError("gone")
        return clerk(messages)

    talk = Talk(moody, budget=1_500)
    for number in range(1, 30):
        talk.say(line(number))
    fails[0] = True
    with pytest.raises(ConnectionError):
        talk.say(line(30))
    fails[0] = False
    talk.agent.invoke(None, CONFIG)

    texts = [entry["text"] for entry in talk.entries()]
    assert [t for t in texts if t in {line(n) for n in range(1, 31)}] == [line(n) for n in range(1, 31)]


def failing(*given: Any) -> Any:
    raise EngineError("The judge is out.")


@pytest.mark.parametrize("judgement", ["classify", "structure", "find_conflicts", "find_related"])
def test_a_judge_that_fails_stops_no_agent_and_loses_no_memory(judgement: str) -> None:
    talk = Talk(budget=1_500, engine=ScriptedEngine(**{judgement: failing}), settings=Settings(gate_english=-1))
    for number in range(1, 30):
        talk.say(line(number))
    talk.say(WHERE)

    assert KEY in memory(talk.log.heard[-1])


def test_a_judge_whose_budget_is_used_up_is_asked_once_more_and_stops_no_agent() -> None:
    asked_for: list[int] = []

    def spent(texts: Sequence[str], task: str) -> Any:
        asked_for.append(len(texts))
        raise BudgetReachedError("calls", 1)

    talk = Talk(budget=1_500, engine=ScriptedEngine(classify=spent))
    for number in range(1, 30):
        talk.say(line(number))
    talk.say(WHERE)

    assert asked_for[:2] == [asked_for[0]] * 2
    assert KEY in memory(talk.log.heard[-1])


def test_memories_that_contradict_each_other_are_marked() -> None:
    def clash(pairings: Sequence[Pairing]) -> list[Relation]:
        return [
            Relation(p.fresh.id, c.id, "conflict", "value", "They differ.")
            for p in pairings
            for c in p.candidates
            if "vault" in p.fresh.text and "vault" in c.text
        ]

    talk = Talk(budget=1_500, engine=ScriptedEngine(find_conflicts=clash), settings=Settings(gate_english=-1))
    talk.say(KEY)
    other = "The key of the vault lies in the drawer of the porter."
    talk.say(other)
    for number in range(4, 30):
        talk.say(line(number))
    talk.say(WHERE)

    (conflict,) = talk.state()["query_graph"]["conflicts"].values()
    assert {KEY, other} <= {
        claim["quote"].partition("\n")[0] for c in conflict["contradictions"] for claim in c["claims"]
    }
    assert "disputed: another memory contradicts this one" in memory(talk.log.heard[-1])


def test_settings_that_cannot_work_are_refused_with_what_to_do() -> None:
    with pytest.raises(SettingsError, match="budget of 1,000"):
        middleware(budget=999)
    with pytest.raises(SettingsError, match="keep_last"):
        middleware(keep_last=0)


def test_a_budget_that_instructions_and_tools_use_up_is_refused_with_what_to_do() -> None:
    agent: Any = create_agent(
        Scripted(script=clerk, log=Log()), [], system_prompt=words(600), middleware=[middleware(budget=1_000)]
    )

    with pytest.raises(SettingsError, match="Raise `budget`"):
        agent.invoke({"messages": [HumanMessage("Hello.")]})
