"""What agents of other frameworks did is read as they hand it on: items of OpenAI's Responses, events of smolagents."""

from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import pytest

from agentic_memory_bank.nodes.executors import report
from agentic_memory_bank.state.errors import ToolError

PROMPT = "<task>\nthe prompt\n</task>"
CALL = {"type": "function_call", "call_id": "1", "name": "lookup", "arguments": '{"word": "dome"}'}
WORDS = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It was 2011."}]}
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def returned(output: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": "1", "output": output}


def entries(*items: Any) -> list[dict[str, Any]]:
    return report([{"role": "user", "content": PROMPT}, *items], PROMPT, "search")["entries"]


def test_what_a_tool_brought_is_remembered_with_its_call() -> None:
    found, said = entries(CALL, returned("The dome opened in 2011."), WORDS)

    assert (found["source"], found["text"]) == ("lookup", "The dome opened in 2011.")
    assert [(call["name"], call["args"]) for call in found["tool_calls"]] == [("lookup", {"word": "dome"})]
    assert (said["source"], said["text"]) == ("executor", "It was 2011.")


def test_words_and_pictures_of_a_result_that_comes_in_parts_are_kept() -> None:
    parts = [{"type": "input_text", "text": "The plan."}, {"type": "input_image", "image_url": PIXEL}]

    found, _ = entries(CALL, returned(parts), WORDS)

    assert found["text"] == "The plan."
    assert [file["data"] for file in found["brought"]] == ["iVBORw0KGgo="]


def test_a_call_that_failed_brought_nothing() -> None:
    failed = "An error occurred while running the tool. Please try again."

    assert [entry["kind"] for entry in entries(CALL, returned(failed), WORDS)] == ["trajectory"]


def test_what_was_thought_stands_with_the_last_words_and_is_no_evidence() -> None:
    thought = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "I might look it up."}]}

    (said,) = entries(thought, WORDS)

    assert said["metadata"] == {"reasoning": ["I might look it up."]}


def test_what_an_mcp_server_of_the_provider_brought_is_remembered() -> None:
    found, _ = entries({"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{}", "output": "Yes, 2011."}, WORDS)

    assert (found["source"], found["text"]) == ("ask", "Yes, 2011.")


def test_tools_of_the_provider_that_say_nothing_are_passed_over() -> None:
    assert len(entries({"type": "web_search_call", "id": "w", "status": "completed"}, WORDS)) == 1


@pytest.mark.parametrize("arguments", [None, "", "{", "[1]", '"x"', {"word": "dome"}, 7, "[" * 50_000])
def test_arguments_of_any_kind_cost_the_result_nothing(arguments: Any) -> None:
    found, _ = entries({**CALL, "arguments": arguments}, returned("2011."), WORDS)

    assert found["text"] == "2011."


@pytest.mark.parametrize(
    "item",
    [
        {"type": "nothing known"},
        {"type": "message"},
        {"type": "message", "role": "assistant", "content": {"a": 1}},
        {"type": "message", "role": 7, "content": "x"},
        {"type": "function_call"},
        {"type": "function_call", "call_id": None, "name": None},
        {"type": "function_call_output", "call_id": "1", "output": 7},
        {"type": "function_call_output", "call_id": ["1"], "output": [{"type": ["image"]}]},
        {"type": "reasoning", "summary": 7},
        {"type": "mcp_call", "id": [], "name": 3, "output": ["x"]},
    ],
)
def test_what_is_no_item_costs_no_more_than_a_sentence(item: Any) -> None:
    with suppress(ToolError):
        assert report([item, WORDS], PROMPT, "search")["text"] == "It was 2011."


smolagents = pytest.mark.skipif(find_spec("smolagents") is None, reason="smolagents is not installed: make frameworks")


@smolagents
def test_events_of_smolagents_are_read_and_calls_at_once_are_told_apart() -> None:
    from smolagents.agents import ToolOutput
    from smolagents.memory import FinalAnswerStep, ToolCall

    calls = [ToolCall(name=name, arguments={"n": name}, id=name) for name in ("map", "deep_retrieval", "final_answer")]
    outputs = [
        ToolOutput(
            id=call.id, output=None, is_final_answer=call.name == "final_answer", observation=text, tool_call=call
        )
        for call, text in zip(calls, ("North.", "from memory", "The end."), strict=True)
    ]

    found, said = entries(*calls, *reversed(outputs), FinalAnswerStep(output="To the north."))

    assert (found["source"], found["text"]) == ("map", "North.")
    assert said["text"] == "To the north."
    assert [call["name"] for call in said["tool_calls"]] == ["map", "deep_retrieval"]


@smolagents
def test_an_agent_of_smolagents_that_writes_code_is_remembered_with_what_its_code_printed() -> None:
    from smolagents.memory import ActionStep, FinalAnswerStep, ToolCall
    from smolagents.monitoring import Timing

    call = ToolCall(name="python_interpreter", arguments="print(40 + 2)", id="call_1")
    more: Any = {"step_number": 1, "timing": Timing(0.0), "tool_calls": [call], "code_action": "print(40 + 2)"}
    step = ActionStep(**more, observations="Execution logs:\n42", model_output="Thought: I add.")

    found, said = entries(call, step, FinalAnswerStep(output=42))

    assert (found["source"], found["text"]) == ("python_interpreter", "Execution logs:\n42")
    assert said["text"] == "42"
    assert said["metadata"] == {"reasoning": ["Thought: I add."]}
