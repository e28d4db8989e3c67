"""What is sent to a model fits its window, with room for the answer, whatever the sizes of texts and windows."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.state.errors import InputTooLarge
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ChatRequest, ScriptedJudge
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.text.tokens import estimate_tokens

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

CONFIG: Any = {"configurable": {"thread_id": "t"}}
TEXT = "\n\n".join(
    f"Warehouse {number} in the {number}th district holds {number * 37} crates of machine parts. "
    + "They are counted every spring by two people who do not know each other. " * 4
    for number in range(1, 60)
)
QUESTION = "How many crates does warehouse 7 hold?"


def one_topic(prompt: str) -> dict[str, Any]:
    """All of a window as one topic."""
    return {"topics": [{"context": "Warehouses.", "keywords": ["crates"], "paragraphs": [{"first": 1, "last": 9_999}]}]}


def estimated(request: ChatRequest) -> int:
    return sum(estimate_tokens(str(message["content"])) for message in request.messages)


@pytest.mark.parametrize(
    ("windows", "output"),
    [
        ({}, 4_096),
        ({"classify_window": 4_000, "structure_window": 4_000, "analyze_window": 4_000}, 1_000),
        ({"structure_window": 3_000}, 600),
        ({"classify_window": 6_000, "structure_window": 2_000, "integrate_window": 2_000}, 512),
    ],
)
def test_a_prompt_and_the_longest_answer_fit_the_window_of_every_role(
    model: Any, windows: dict[str, int], output: int
) -> None:
    outputs = {f"{name.removesuffix('_window')}_output": output for name in windows}
    settings = {"model": "local:test", **windows, **outputs}
    model.plays(ScriptedJudge(classify=one_topic))

    bank = build_memory_bank(embeddings=HashEmbeddings())
    result = bank.invoke({"question": QUESTION, "documents": [TEXT]}, context=settings)  # type: ignore[arg-type]

    assert result["status"] == "completed"
    rows = Settings(**settings)  # type: ignore[arg-type]
    roles = {"classify": "classify", "structure": "structure", "find_conflicts": "analyze", "find_related": "analyze"}
    for request in model.server.chats:
        role = roles.get(ScriptedJudge.kind_of(request))
        if role:
            row = rows.role(role)  # type: ignore[arg-type]
            assert estimated(request) + row.output <= row.window, role


def test_a_window_is_smaller_for_a_model_whose_tokenizer_counts_more() -> None:
    windows = {
        name: Settings(model=f"openai:{name}").role("plan").window
        for name in ("gpt-4o-mini", "gpt-4.1", "gpt-4", "gpt-4-turbo", "gpt-3.5-turbo")
    }

    assert windows["gpt-4o-mini"] == windows["gpt-4.1"] == 32_000
    assert windows["gpt-4"] == windows["gpt-4-turbo"] == windows["gpt-3.5-turbo"] == 25_000


def test_an_answer_never_takes_more_than_a_quarter_of_the_window() -> None:
    row = Settings(plan_window=1_000, plan_output=4_096).role("plan")

    assert (row.output, row.text_tokens(0.9)) == (250, 690)


def test_a_graph_resumed_without_its_settings_waits_and_does_not_go_on_offline(model: Any) -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings(), checkpointer=InMemorySaver())
    settings: Any = {"model": "local:test", "budget_calls": 1}
    bank.invoke({"question": QUESTION, "documents": [TEXT[:2_000]]}, CONFIG, context=settings)

    (pause,) = bank.invoke(Command(resume={"budget_calls": 50}), CONFIG)["__interrupt__"]

    assert pause.value["reason"] == "engine"
    assert "begun with models local:test" in pause.value["message"]
    assert model.server.count == 1

    result = bank.invoke(Command(resume="continue"), CONFIG, context=settings | {"budget_calls": 50})

    assert result["status"] == "completed"
    assert result["degraded"] == []
    assert result["usage"]["calls"] == model.server.count > 1


def test_a_graph_resumed_without_its_settings_can_be_finished_offline(model: Any) -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings(), checkpointer=InMemorySaver())
    settings: Any = {"model": "local:test", "budget_calls": 1}
    bank.invoke({"question": QUESTION, "documents": [TEXT[:2_000]]}, CONFIG, context=settings)
    bank.invoke(Command(resume="continue"), CONFIG)

    result = bank.invoke(Command(resume="finish"), CONFIG)

    assert result["status"] == "not_found", "what was handed over ends before the warehouse that is asked about"
    assert [note.partition(":")[0] for note in result["degraded"]] == ["refused"]
    assert model.server.count == 1


def test_a_question_that_would_fill_a_window_by_itself_is_refused_at_the_door(model: Any) -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings())

    with pytest.raises(InputTooLarge, match="Hand long material over as documents"):
        bank.invoke({"question": "How tall? " * 6_000, "documents": [TEXT]}, context={"model": "local:test"})  # type: ignore[arg-type]

    assert model.server.count == 0
