"""Whoever carries out the planned steps: functions, Runnables, agents, and executors outside of the run."""

import re
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentic_memory_bank.engines.base import Dispute, DisputeVerdict, Pairing, Relation, Step
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.nodes.executors import Execution, as_executor, report
from agentic_memory_bank.state.errors import SettingsError, ToolError
from agentic_memory_bank.testing import ScriptedEngine, TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

PROMPT = "<task>\nthe prompt\n</task>"
CONDOR = ["Condor has 433 qubits.", "Condor has 1121 qubits."]


def bank(execute: Execution, engine: ScriptedEngine | None = None) -> Any:
    return build_memory_bank(
        engine=engine or ScriptedEngine(),
        embeddings=HashEmbeddings(),
        clock=TickingClock(),
        execute=execute,
        checkpointer=InMemorySaver(),
    )


def entries_of(graph: Any, config: Any) -> list[dict[str, Any]]:
    return list(graph.get_state(config).values["interaction_tree"]["entries"].values())


class Talking(BaseChatModel):
    """Says what it is told to, one message after the other."""

    says: list[AIMessage]
    heard: list[list[BaseMessage]] = []

    @property
    def _llm_type(self) -> str:
        return "talking"

    def bind_tools(self, tools: Any, **options: Any) -> "Talking":
        return self

    def _generate(self, messages: list[BaseMessage], *given: Any, **options: Any) -> ChatResult:
        self.heard.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.says[len(self.heard) - 1])])


@tool
def almanac(year: int) -> str:
    """Look a year up."""
    return f"In {year} the array opened."


CONFIG: Any = {"configurable": {"thread_id": "t"}}


def test_a_runnable_that_takes_text_is_given_the_prompt() -> None:
    seen: list[str] = []
    graph = bank(RunnableLambda(lambda prompt: seen.append(prompt) or "The array opened in 2031."))

    result = graph.invoke({"question": "When did it open?"}, CONFIG)

    assert result["answer"] == "The array opened in 2031."
    assert "When did it open?" in seen[0]


def test_an_agent_graph_is_given_a_message_and_its_tool_results_are_remembered_with_their_calls() -> None:
    call = {"name": "almanac", "args": {"year": 2031}, "id": "c1"}
    model = Talking(says=[AIMessage("", tool_calls=[call]), AIMessage("It opened in 2031.")], heard=[])
    graph = bank(create_agent(model, [almanac]))

    result = graph.invoke({"question": "When did it open?"}, CONFIG)

    assert result["answer"] == "It opened in 2031."
    told, found = entries_of(graph, CONFIG)[1], entries_of(graph, CONFIG)[0]
    assert (found["kind"], found["text"], found["source"]) == ("tool_result", "In 2031 the array opened.", "almanac")
    assert [made["args"] for made in told["tool_calls"]] == [{"year": 2031}]


def test_an_executor_outside_is_handed_the_prompt_and_resumes_with_its_transcript() -> None:
    graph = bank("outside")

    waiting = graph.invoke({"question": "How many?", "documents": CONDOR[:1]}, CONFIG)
    handed_out = waiting["__interrupt__"][0].value
    result = graph.invoke(
        Command(resume=[{"role": "user", "content": handed_out["prompt"]}, {"role": "assistant", "content": "433."}]),
        CONFIG,
    )

    assert handed_out["reason"] == "execute"
    assert CONDOR[0] in handed_out["prompt"]
    assert result["answer"] == "433."
    assert [entry["text"] for entry in entries_of(graph, CONFIG)] == [CONDOR[0], "433."]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (7, "returns text, messages"),
        ([{"role": "assistant", "content": "433.", "tool_calls": ["look"]}], "no message"),
        ([{"role": "assistant", "content": "433.", "tool_calls": {"name": "look"}}], "no message"),
        ([{"role": "assistant", "content": [{"type": "image", "source_type": "base64"}]}], "no message"),
        ([{"role": "tool", "tool_call_id": "c", "content": [{"type": ["text"]}]}], "no message"),
    ],
)
def test_what_is_no_transcript_is_handed_back_with_the_reason_and_the_step_still_waits(said: Any, why: str) -> None:
    graph = bank("outside")
    graph.invoke({"question": "How many?"}, CONFIG)

    waiting = graph.invoke(Command(resume=said), CONFIG)
    result = graph.invoke(Command(resume="433."), CONFIG)

    assert why in waiting["__interrupt__"][0].value["message"]
    assert result["answer"] == "433."


def test_what_an_executor_finds_on_a_contradiction_is_evidence_and_is_remembered_after_the_verdict() -> None:
    disputes: list[Dispute] = []
    found = {"text": "The maker says: 1121 qubits.", "source": "https://maker.example"}

    def validate(given: list[Dispute]) -> list[DisputeVerdict]:
        disputes.extend(given)
        return [DisputeVerdict("holds", 1, "", "the maker says so") for _ in given]

    def conflicting(pairings: list[Pairing]) -> list[Relation]:
        return [
            Relation(p.fresh.id, c.id, "conflict", "number", "433 or 1121")
            for p in pairings
            for c in p.candidates
            if {p.fresh.text, c.text} == set(CONDOR)
        ]

    engine = ScriptedEngine(
        find_conflicts=conflicting,
        validate=validate,
        plan=lambda s: (
            None if s.insight_doc.get("completed", [{}])[-1].get("kind") == "answer" else Step("answer", "?")
        ),
    )
    graph = bank(lambda a: found if a.task["kind"] == "cross_validate" else {"answer": "1121"}, engine)

    result = graph.invoke({"question": "How many?", "documents": CONDOR}, CONFIG)

    assert found["source"] in [evidence.source for evidence in disputes[0].evidence]
    assert result["conflicts"][0]["status"] == "settled"
    assert found["text"] in [entry["text"] for entry in entries_of(graph, CONFIG)]
    owned = {a["entry"] for n in graph.get_state(CONFIG).values["query_graph"]["nodes"].values() for a in n["anchors"]}
    assert owned == {entry["id"] for entry in entries_of(graph, CONFIG)}


def test_neither_the_prompt_nor_what_was_read_from_memory_nor_an_error_is_remembered() -> None:
    calls = [{"name": "deep_retrieval", "args": {}, "id": "1"}, {"name": "visit", "args": {}, "id": "2"}]
    said = report(
        {
            "messages": [
                HumanMessage(f"{PROMPT}\n\nGo."),
                AIMessage("", tool_calls=calls),
                ToolMessage("old text", tool_call_id="1"),
                ToolMessage("no such page", tool_call_id="2", status="error"),
                AIMessage("Nothing new."),
            ]
        },
        PROMPT,
        "search",
    )

    assert [entry["text"] for entry in said["entries"]] == ["Nothing new."]


@pytest.mark.parametrize("said", [[], [{"role": "nobody"}], [7], {"messages": []}, "  ", 7, None])
def test_a_transcript_that_says_nothing_is_a_failed_step(said: Any) -> None:
    with pytest.raises(ToolError):
        report(said, PROMPT, "search")


def test_what_cannot_be_called_is_no_executor() -> None:
    with pytest.raises(SettingsError):
        as_executor(7)  # type: ignore[arg-type]


def test_an_agent_that_fails_has_failed_its_step() -> None:
    def fail(prompt: str) -> str:
        raise RuntimeError("The agent broke.")

    graph = bank(RunnableLambda(fail))

    result = graph.invoke({"question": "How many?"}, CONFIG)

    assert result["status"] == "completed_with_failures"
    assert "The agent broke." not in str(graph.get_state(CONFIG).values["interaction_tree"])


def test_an_answer_in_an_executors_own_words_comes_with_the_sentences_that_hold_its_names_and_numbers() -> None:
    transcript = [
        {"role": "assistant", "content": "", "tool_calls": [call("look", "c1")]},
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": "Log: all quiet.\nThe Vega array counted 1234 visitors in 2031.",
        },
        {"role": "assistant", "content": "1234 people came to the Vega array, built in Aldport."},
    ]
    graph = bank(lambda step: transcript)

    result = graph.invoke(
        {"question": "How many came to the Vega array?", "documents": ["The array stands in Aldport."]}, CONFIG
    )

    assert [source["quote"] for source in result["sources"]] == [
        "The Vega array counted 1234 visitors in 2031.",
        "The array stands in Aldport.",
    ]
    assert result["sources"][0]["source"] == "look"
    assert result["sources"][1]["node"]


def call(name: str, id_: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("arguments", ["", "{", "null", "[]", '"x"', "[" * 200_000])
def test_a_call_whose_arguments_cannot_be_read_does_not_cost_the_transcript(arguments: str) -> None:
    transcript = [
        {"role": "assistant", "content": "", "tool_calls": [call("look", "c1", arguments)]},
        {"role": "tool", "tool_call_id": "c1", "content": "All quiet in 2031."},
        {"role": "assistant", "content": "It was quiet in 2031."},
    ]
    result = bank(lambda step: transcript).invoke({"question": "How was it?"}, CONFIG)

    assert result["answer"] == "It was quiet in 2031."


def test_what_an_executor_does_to_its_assignment_does_not_reach_the_state() -> None:
    def meddling(assignment: Any) -> str:
        assignment.task.update(kind="recognize", id="t0")
        return "433."

    graph = bank(meddling)

    result = graph.invoke({"question": "How many?"}, CONFIG)

    assert (result["status"], result["answer"]) == ("completed", "433.")
    assert [task["kind"] for task in result["insight_doc"]["completed"]] == ["answer"]


def test_an_asynchronous_function_is_refused_with_the_way_to_pass_it() -> None:
    async def later(assignment: Any) -> str:
        return "433."

    with pytest.raises(SettingsError, match=r"asyncio\.run"):
        as_executor(later)


def test_arguments_that_a_checkpoint_cannot_hold_are_kept_as_text() -> None:
    deep: Any = "end"
    for _ in range(700):
        deep = [deep]
    args = {"large": -(2**64), "small": 7, "deep": deep, "odd": {1}, "torn": "\ud83d", "none": None}
    call = {"name": "almanac", "args": args, "id": "c1"}
    graph = bank(lambda _: [AIMessage("", tool_calls=[call]), ToolMessage("It opened.", tool_call_id="c1")])

    graph.invoke({"question": "How many?"}, CONFIG)

    kept = entries_of(graph, CONFIG)[0]["tool_calls"][0]["args"]
    assert {name: kept[name] for name in ("large", "small", "odd", "torn", "none")} == {
        "large": hex(-(2**64)),
        "small": 7,
        "odd": "{1}",
        "torn": "\ufffd",
        "none": None,
    }


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("<think>433?</think>\n1121.", "1121."),
        ("433?</think>1121.", "1121."),
        ("<REASONING>\n433?\n</REASONING>\n\n1121.", "1121."),
        ("Write <think> and </think> around it.", "Write <think> and </think> around it."),
        ("<think>433? It has no end", "<think>433? It has no end"),
    ],
)
def test_thoughts_before_the_last_words_are_left_out(said: str, kept: str) -> None:
    assert report(said, PROMPT, "answer")["answer"] == kept
    assert report([AIMessage(said)], PROMPT, "search")["entries"][0]["text"] == kept


def test_thoughts_alone_say_nothing() -> None:
    with pytest.raises(ToolError):
        report("<think>433?</think>", PROMPT, "answer")


@pytest.mark.parametrize("left_out", [{"entry_id": ""}, {"attachment_id": ""}, {"entry_id": None}])
def test_an_argument_that_a_model_left_empty_narrows_nothing(left_out: dict[str, Any]) -> None:
    read: list[str] = []

    def reading(assignment: Any) -> str:
        found = re.search(r"n[0-9a-f]{12}", assignment.prompt)
        read.append(assignment.tools[0].invoke({"node_id": found and found.group(), **left_out}))
        return "433."

    bank(reading).invoke({"question": "How many?", "documents": CONDOR[:1]}, CONFIG)

    assert CONDOR[0] in read[0]
