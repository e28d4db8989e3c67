"""What is nested too deeply is not read: within a reader that uses up the stack, what is collected is not finalized."""

import gc
import json
import time
import weakref
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from pydantic import RootModel

from agentic_memory_bank.engines.llm import parsing
from agentic_memory_bank.state.errors import AnswerRejected
from agentic_memory_bank.tools.text.nesting import DEEPEST, is_too_deep

DEEP = {
    "lists": "[" * 20_000,
    "objects": '{"a":' * 20_000,
    "in a string": json.dumps({"arguments": '{"a":' * 20_000}),
    "with brackets closed in strings between": '["]]]]",' * 20_000,
    "after many brackets closed": "[]" * 5_000 + "]" * 5_000 + "[" * 20_000,
}
SHALLOW = {
    "many side by side": json.dumps([[number, {"a": []}] for number in range(20_000)]),
    "as deep as may be": "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1),
    "text": "No bracket at all. " * 5_000,
    "nothing": "",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_what_would_use_up_the_stack_is_seen(text: str) -> None:
    assert is_too_deep(text)
    assert is_too_deep(text.encode())


@pytest.mark.parametrize("text", SHALLOW.values(), ids=SHALLOW)
def test_what_is_long_is_not_deep(text: str) -> None:
    assert not is_too_deep(text)


@pytest.mark.parametrize("unit", ['\\"', '"\\', "\\", '"', '["', '[\\"'])
def test_a_string_without_end_takes_no_longer_than_one_that_ends(unit: str) -> None:
    begun = time.thread_time()
    is_too_deep('"' + unit * 200_000)
    assert time.thread_time() - begun < 2


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_an_answer_that_is_nested_deeply_keeps_no_finalizer_from_its_work(text: str) -> None:
    class Held:
        itself: object

    freed: list[int] = []
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for number in range(20):
            held = Held()
            held.itself = held  # which only the collector can free
            weakref.finalize(held, freed.append, number)
        del held
        with pytest.raises(AnswerRejected):
            parsing.read(AIMessage(text), RootModel[dict[str, Any]])
    finally:
        gc.set_threshold(*threshold)
    gc.collect()

    assert len(freed) == 20
