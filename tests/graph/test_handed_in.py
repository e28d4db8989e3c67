"""What an executor may hand in beside words: a verdict that decides, its reasoning, pictures it saw, files to keep."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentic_memory_bank.engines.extractive import ExtractiveEngine
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.nodes.executors import Assignment, Execution, report
from agentic_memory_bank.nodes.verdicts import BY_EXECUTOR, HandedContradiction
from agentic_memory_bank.state.errors import ToolError
from agentic_memory_bank.testing import ScriptedEngine, TickingClock
from agentic_memory_bank.tools.documents.attachments import AttachmentStores
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

PROMPT = "<task>\nthe prompt\n</task>"
CONFIG: Any = {"configurable": {"thread_id": "t"}}
QUESTION = "How many qubits has Condor?"
AGAINST_TWO = [
    {"text": "Condor has 433 qubits.", "source": "maker.txt"},
    {"text": "Condor has 1121 qubits.", "source": "press.txt"},
    {"text": "The processor Condor has 1121 qubits, and is blue.", "source": "blog.txt"},
]
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels of a chart"
OTHER = PNG + b", another"


def bank(execute: Execution, *, engine: Any = None, **options: Any) -> Any:
    return build_memory_bank(
        engine=engine or ExtractiveEngine(Encoder(HashEmbeddings())),
        embeddings=HashEmbeddings(),
        clock=TickingClock(),
        execute=execute,
        checkpointer=InMemorySaver(),
        **options,
    )


def entries_of(graph: Any) -> list[dict[str, Any]]:
    return list(graph.get_state(CONFIG).values["interaction_tree"]["entries"].values())


def memory_saying(words: str, assignment: Any) -> str:
    claims = (claim for found in assignment.contradictions for claim in found["claims"])
    return next(claim["memory"] for claim in claims if words in claim["quote"])


def judging(verdict: Callable[[Assignment], Any] | dict[str, Any]) -> Any:
    """An executor that hands in a verdict on contradictions, and answers as it decided."""

    def execute(assignment: Assignment) -> Any:
        if assignment.task["kind"] != "cross_validate":
            return {"answer": "433"}
        return verdict(assignment) if callable(verdict) else verdict

    return execute


# --- a verdict ---------------------------------------------------------------------------------------------------


def test_a_verdict_that_an_executor_hands_in_decides_against_two_texts() -> None:
    graph = bank(
        judging(lambda a: {"verdict": {"winner": memory_saying("433", a), "explanation": "The maker counts them."}})
    )

    result = graph.invoke({"question": QUESTION, "documents": AGAINST_TWO}, CONFIG)

    assert [found["status"] for found in result["conflicts"]] == ["settled"] * len(result["conflicts"])
    for found in result["conflicts"]:
        assert found["claims"][found["winner"]]["value"].startswith("433")
        assert found["explanation"] == f"{BY_EXECUTOR}: The maker counts them."
        assert [one["source"] for one in found["evidence"]] == ["maker.txt"]
    assert graph.get_state(CONFIG).values["insight_doc"]["completed"][0]["status"] == "success"


def test_later_answers_follow_the_verdict() -> None:
    graph = bank(judging(lambda a: {"verdict": {"winner": memory_saying("433", a)}}))
    graph.invoke({"question": QUESTION, "documents": AGAINST_TWO}, CONFIG)
    reading = build_memory_bank(
        engine=ExtractiveEngine(Encoder(HashEmbeddings())),
        embeddings=HashEmbeddings(),
        clock=TickingClock(),
        checkpointer=graph.checkpointer,
    )

    result = reading.invoke({"question": QUESTION}, CONFIG)

    assert "433" in result["answer"]
    assert "1121" not in result["answer"]


def test_without_a_verdict_what_an_executor_found_is_one_more_source() -> None:
    graph = bank(judging({"text": "Condor has 433 qubits.", "source": "manual.txt"}))

    result = graph.invoke({"question": QUESTION, "documents": AGAINST_TWO}, CONFIG)

    assert not any(found["explanation"].startswith(BY_EXECUTOR) for found in result["conflicts"])


def test_a_verdict_comes_from_outside_as_json_or_as_the_last_words_of_an_agent() -> None:
    graph = bank("outside")
    handed = graph.invoke({"question": QUESTION, "documents": AGAINST_TWO}, CONFIG)["__interrupt__"][0].value
    right = next(c["memory"] for p in handed["contradictions"] for c in p["claims"] if c["value"].startswith("433"))
    words = json.dumps({"text": "The maker says so.", "verdict": {"outcome": "holds", "winner": right}})

    last = [{"role": "user", "content": handed["prompt"]}, {"role": "assistant", "content": f"```json\n{words}\n```"}]
    graph.invoke(Command(resume=last), CONFIG)

    (conflict,) = graph.get_state(CONFIG).values["query_graph"]["conflicts"].values()
    assert conflict["status"] == "settled"
    assert '"verdict"' in handed["prompt"]
    assert "The maker says so." in [entry["text"] for entry in entries_of(graph)]


def test_what_decides_nothing_is_handed_back_with_the_claims_to_choose_from() -> None:
    graph = bank("outside")
    graph.invoke({"question": QUESTION, "documents": AGAINST_TWO[:2]}, CONFIG)

    waiting = graph.invoke(Command(resume={"verdict": {"winner": "the second"}}), CONFIG)

    message = waiting["__interrupt__"][0].value["message"]
    assert "number of a claim or the id of its memory" in message
    assert "Condor has 433 qubits." in message


CLAIMS: HandedContradiction = {
    "kind": "number",
    "reason": "433 or 1121",
    "claims": [
        {"memory": "n1", "value": "433", "quote": "It has 433."},
        {"memory": "n2", "value": "1121", "quote": "It has 1121."},
    ],
}
SAME: HandedContradiction = {
    **CLAIMS,
    "claims": [
        {"memory": "n3", "value": "1121", "quote": "1121, then."},
        {"memory": "n1", "value": "433", "quote": "It has 433."},
    ],
}
COLOURS: HandedContradiction = {
    **CLAIMS,
    "claims": [
        {"memory": "n1", "value": "blue", "quote": "It is blue."},
        {"memory": "n3", "value": "red", "quote": "It is red."},
    ],
}


def decided(verdict: Any, *asked: HandedContradiction) -> list[Any]:
    found = report({"verdict": verdict}, PROMPT, "cross_validate", contradictions=asked)["verdicts"]
    return [one and (one.outcome, one.winner, one.statement) for one in found]


@pytest.mark.parametrize(
    ("verdict", "asked", "found"),
    [
        ({"winner": 1}, (CLAIMS,), [("holds", 1, "")]),
        ({"outcome": "holds", "winner": "n2"}, (CLAIMS,), [("holds", 1, "")]),
        ({"outcome": None, "winner": "n2"}, (CLAIMS,), [("holds", 1, "")]),
        ({"outcome": None, "winner": "n2"}, (CLAIMS, SAME), [("holds", 1, ""), ("holds", 0, "")]),
        ({"winner": "n2"}, (CLAIMS, SAME), [("holds", 1, ""), ("holds", 0, "")]),
        ({"winner": "n2"}, (CLAIMS, COLOURS), [("holds", 1, ""), None]),
        ([{"winner": 0}, {"winner": 1}], (CLAIMS, COLOURS), [("holds", 0, ""), ("holds", 1, "")]),
        ([None, {"winner": 0}], (CLAIMS, COLOURS), [None, ("holds", 0, "")]),
        ([{"winner": 0}], (CLAIMS, COLOURS), [("holds", 0, ""), None]),
        ({"outcome": "neither", "statement": "It has 500."}, (CLAIMS,), [("neither", None, "It has 500.")]),
        ({"outcome": "inconclusive"}, (CLAIMS, COLOURS), [("inconclusive", None, "")] * 2),
    ],
)
def test_a_verdict_is_on_the_contradictions_that_it_names(verdict: Any, asked: Any, found: Any) -> None:
    assert decided(verdict, *asked) == found


@pytest.mark.parametrize(
    ("verdict", "asked", "why"),
    [
        ("n1", (CLAIMS,), "mapping"),
        ({"winner": 1}, (), "settles no contradiction"),
        ({"winner": 2}, (CLAIMS,), "number of a claim"),
        ({"winner": True}, (CLAIMS,), "number of a claim"),
        ({}, (CLAIMS,), "number of a claim"),
        ({"outcome": "wins", "winner": 0}, (CLAIMS,), "one of holds"),
        ({"outcome": "neither"}, (CLAIMS,), "what is true"),
        ({"winner": 0}, (CLAIMS, COLOURS), "id of the memory"),
        ({"winner": {}}, (CLAIMS, SAME), "id of the memory"),
        ({"outcome": "neither", "statement": "None."}, (CLAIMS, COLOURS), "list of verdicts"),
        ([{"winner": 0}, {"winner": 0}], (CLAIMS,), "one for each"),
        ([7], (CLAIMS,), "A verdict is a mapping"),
    ],
)
def test_a_verdict_that_leaves_open_what_it_decides_is_refused(verdict: Any, asked: Any, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        decided(verdict, *asked)


def test_a_pause_says_in_what_form_it_is_answered() -> None:
    graph = bank("outside")
    settling = graph.invoke({"question": QUESTION, "documents": AGAINST_TWO}, CONFIG)["__interrupt__"][0]
    answering = bank("outside").invoke({"question": QUESTION}, CONFIG)["__interrupt__"][0]

    def fields(interrupt: Any) -> set[str]:
        _, whole, _ = interrupt.response_schema["anyOf"]
        return set(whole["properties"])

    assert fields(settling) - fields(answering) == {"verdict"}
    assert {"text", "answer", "messages", "keep"} <= fields(answering)


# --- reasoning and the user's turns ------------------------------------------------------------------------------


def test_what_the_user_said_on_the_way_is_remembered_and_what_was_thought_can_be_read_again() -> None:
    call = {"name": "prices", "args": {}, "id": "1"}
    transcript = [
        HumanMessage(f"{PROMPT}\n\nGo."),
        AIMessage([{"type": "reasoning", "reasoning": "Dear, probably."}]),
        AIMessage("<think>Which year?</think>What may it cost? I look the prices up.", tool_calls=[call]),
        ToolMessage("A boat costs 3 million.", tool_call_id="1"),
        HumanMessage("The budget is 5 million."),
        AIMessage("Then it can be bought."),
    ]

    found = report(transcript, PROMPT, "search")["entries"]

    assert [(entry["kind"], entry["source"], entry["text"]) for entry in found] == [
        ("tool_result", "prices", "A boat costs 3 million."),
        ("dialogue", "user", "The budget is 5 million."),
        ("trajectory", "executor", "Then it can be bought."),
    ]
    thoughts = ["Dear, probably.", "Which year?", "What may it cost? I look the prices up."]
    assert found[-1]["metadata"] == {"reasoning": thoughts}


def test_what_was_thought_is_read_by_deep_retrieval_and_recalled_as_nothing() -> None:
    guess = AIMessage("My guess is 999.", tool_calls=[{"name": "count", "args": {}, "id": "1"}])
    graph = bank(lambda _: [guess, ToolMessage("433 qubits.", tool_call_id="1"), AIMessage("It has 433.")])

    result = graph.invoke({"question": QUESTION, "documents": ["Condor stands in Aldport."]}, CONFIG)

    told = entries_of(graph)[-1]
    assert told["metadata"]["reasoning"] == ["My guess is 999."]
    assert not any("999" in entry["text"] for entry in entries_of(graph))
    assert result["conflicts"] == []


def test_a_part_of_the_prompt_that_a_framework_hands_over_as_a_turn_is_not_remembered() -> None:
    prompt = "<task>\nGoal: qubits\n</task>\n\n<memory>\n  Condor has 433 qubits.\n</memory>"
    turns = [
        HumanMessage("<memory> Condor has 433 qubits. </memory>"),
        HumanMessage(" ".join(prompt.split())),
        HumanMessage("Count twice."),
        AIMessage("433."),
    ]

    assert [entry["text"] for entry in report(turns, prompt, "search")["entries"]] == ["Count twice.", "433."]


def test_the_users_turns_alone_are_no_result() -> None:
    with pytest.raises(ToolError, match="returned nothing"):
        report([HumanMessage("The budget is 5 million.")], PROMPT, "search")


# --- pictures ----------------------------------------------------------------------------------------------------


def attached(name: str = "chart.png", data: bytes = PNG) -> dict[str, str]:
    return {"name": name, "data": base64.b64encode(data).decode()}


def recognized(graph: Any) -> dict[str, str]:
    return {entry["source"]: entry["text"] for entry in entries_of(graph) if entry["metadata"].get("recognized")}


def test_pictures_are_handed_out_and_what_was_seen_is_remembered_with_them() -> None:
    graph = bank("outside", engine=ScriptedEngine())

    waiting = graph.invoke({"question": QUESTION, "attachments": [attached()]}, CONFIG)["__interrupt__"][0].value
    graph.invoke(Command(resume="The chart shows 433 qubits."), CONFIG)

    assert waiting["task"]["kind"] == "recognize"
    (picture,) = waiting["pictures"]
    assert (picture["name"], picture["type"], base64.b64decode(picture["data"])) == ("chart.png", "image/png", PNG)
    assert recognized(graph) == {"chart.png": "The chart shows 433 qubits."}
    assert [a["id"] for entry in entries_of(graph) for a in entry["attachments"]] == [picture["id"]]


def test_a_picture_that_was_seen_goes_out_again_with_a_step_that_recalls_it() -> None:
    graph = bank("outside", engine=ScriptedEngine())
    graph.invoke({"question": QUESTION, "attachments": [attached()]}, CONFIG)

    waiting = graph.invoke(Command(resume="The chart shows 433 qubits."), CONFIG)["__interrupt__"][0].value

    assert waiting["task"]["kind"] == "answer"
    assert [base64.b64decode(picture["data"]) for picture in waiting["pictures"]] == [PNG]
    assert f"files: chart.png ({waiting['pictures'][0]['id']})" in waiting["prompt"]


def test_of_several_pictures_each_is_told_by_its_id_or_name_and_one_not_seen_stays_unrecognised() -> None:
    graph = bank("outside", engine=ScriptedEngine())
    given = {"question": QUESTION, "attachments": [attached(), attached("other.png", OTHER)]}
    graph.invoke(given, CONFIG)

    handed_back = graph.invoke(Command(resume="Two charts."), CONFIG)["__interrupt__"][0].value
    told = {"recognized": {"chart.png": "It shows 433.", handed_back["pictures"][1]["id"]: "Not seen."}}
    graph.invoke(Command(resume=told), CONFIG)

    assert "what each picture shows" in handed_back["message"]
    assert recognized(graph) == {"chart.png": "It shows 433."}
    assert len(graph.get_state(CONFIG).values["degraded"]) == 1


def test_a_function_that_sees_is_given_pictures_and_one_that_does_not_is_not_asked() -> None:
    asked: list[Assignment] = []

    def look(assignment: Assignment) -> str:
        asked.append(assignment)
        return "It shows 433."

    blind = bank(lambda assignment: look(assignment), engine=ScriptedEngine())
    blind.invoke({"question": QUESTION, "attachments": [attached()]}, CONFIG)
    look.sees = True  # type: ignore[attr-defined]
    seeing = bank(look, engine=ScriptedEngine())
    seeing.invoke({"question": QUESTION, "attachments": [attached()]}, CONFIG)

    assert [a.task["kind"] for a in asked] == ["answer", "recognize", "answer"]
    assert recognized(blind) == {}
    assert recognized(seeing) == {"chart.png": "It shows 433."}
    shown = asked[1].message().content_blocks
    assert [block["type"] for block in shown] == ["text", "image"]


def test_a_picture_over_what_goes_out_is_kept_and_not_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentic_memory_bank.nodes.memory_bank.handing_out.HANDED_BYTES", len(PNG))
    graph = bank("outside", engine=ScriptedEngine())

    given = {"question": QUESTION, "attachments": [attached(), attached("other.png", OTHER)]}
    waiting = graph.invoke(given, CONFIG)["__interrupt__"][0].value
    graph.invoke(Command(resume="It shows 433."), CONFIG)

    assert [picture["name"] for picture in waiting["pictures"]] == ["chart.png"]
    assert recognized(graph) == {"chart.png": "It shows 433."}
    assert "other.png is kept" in graph.get_state(CONFIG).values["degraded"][0]


# --- files -------------------------------------------------------------------------------------------------------

FILES = [{"name": "report.pdf", "data": b"%PDF-1.7 a report"}, {"name": "logo.png", "data": PNG}]


def bringing(**said: Any) -> Any:
    call: Any = {"name": "visit", "args": {}, "id": "1"}
    result = ToolMessage("Condor has 433 qubits.", tool_call_id="1", name="visit", artifact=FILES)
    done = {"messages": [AIMessage("", tool_calls=[call]), result, AIMessage("433.")], **said}

    def execute(assignment: Assignment) -> dict[str, Any]:
        return done

    return execute


def test_an_executor_chooses_which_files_of_its_tools_are_kept(tmp_path: Path) -> None:
    graph = bank(bringing(keep=["report.pdf"]), engine=ScriptedEngine(), attachments=tmp_path)

    graph.invoke({"question": QUESTION}, CONFIG)

    assert [a["name"] for entry in entries_of(graph) for a in entry["attachments"]] == ["report.pdf"]
    assert len(AttachmentStores(tmp_path).of("t").kept()) == 1


def test_a_file_that_no_tool_brought_cannot_be_kept() -> None:
    graph = bank("outside", engine=ScriptedEngine())
    graph.invoke({"question": QUESTION}, CONFIG)

    waiting = graph.invoke(Command(resume={"text": "433.", "keep": ["report.pdf"]}), CONFIG)

    assert "No tool brought a file called report.pdf" in waiting["__interrupt__"][0].value["message"]
