"""Reading an answer out of what a model wrote, and finding the words it quotes."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from agentic_memory_bank.engines.llm.locating import locate
from agentic_memory_bank.engines.llm.parsing import complete, read
from agentic_memory_bank.state.errors import AnswerRejected
from agentic_memory_bank.tools.text.cleaning import clean


class Note(BaseModel):
    """An answer."""

    words: str
    numbers: list[int]


NOTE = Note(words="It is so.", numbers=[1, 2])
RIGHT = NOTE.model_dump_json()
DECOY = '{"words": "decoy", "numbers": []}'


def said(text: str) -> Note:
    return read(AIMessage(text), Note)


def called(name: str, arguments: Any) -> AIMessage:
    if isinstance(arguments, str):
        broken: Any = {"name": name, "args": arguments, "id": "c", "error": None, "type": "invalid_tool_call"}
        return AIMessage("", invalid_tool_calls=[broken])
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c", "type": "tool_call"}])


@pytest.mark.parametrize(
    "text",
    [
        RIGHT,
        f"  {RIGHT}\n",
        f"```json\n{RIGHT}\n```",
        f"```\n{RIGHT}\n```",
        f"Here you are:\n```json\n{RIGHT}\n```\nAnything else?",
        f"Here you are: {RIGHT} I hope it helps.",
        f"{RIGHT}\n{DECOY}",
        f"```json {RIGHT} ```",
        '{"words": "It is so.", "numbers": [1, 2,],}',
        "{'words': 'It is so.', 'numbers': [1, 2]}",
        '{words: "It is so.", "numbers": [1, 2]} // done',
        '{"words": "It is so.", "numbers": [1, 2]}]',
    ],
)
def test_an_answer_is_found_in_what_stands_around_it(text: str) -> None:
    assert said(text) == NOTE


@pytest.mark.parametrize(
    "text",
    [
        f"<think>{DECOY}</think>{RIGHT}",
        f"<think>\nFirst {DECOY}, no.\n</think>\n\n```json\n{RIGHT}\n```",
        f"<THINKING>{DECOY}</THINKING> {RIGHT}",
        f"<reasoning>{DECOY}</reasoning>{RIGHT}<think>{DECOY}",
        f"Perhaps {DECOY}?\n</think>\n{RIGHT}",
        f"{DECOY}</think>{RIGHT}",
        f"<think>a <think>b {DECOY}</think> c {DECOY}</think>{RIGHT}",
        f"<think>```json\n{DECOY}\n```</think>```json\n{RIGHT}\n```",
        f'<think>{{"broken": </think>{RIGHT}',
    ],
)
def test_what_was_thought_aloud_is_no_answer(text: str) -> None:
    assert said(text) == NOTE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot say.",
        "[1, 2]",
        "null",
        "{}",
        f"<think>{DECOY}",
        f"<think>{DECOY}</think>",
        f"<think>{DECOY}</think> I do not know.",
        f"{DECOY}</think>",
        "<html><body>{} Please log in.</body></html>",
    ],
)
def test_what_holds_no_answer_is_rejected(text: str) -> None:
    with pytest.raises(AnswerRejected):
        said(text)


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning"])
@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "<think>hm</think>{}", "Well: {} That is all."])
def test_a_tag_within_an_answer_is_part_of_it(tag: str, form: str) -> None:
    """Memories may be about models: their words are not cut at a tag."""
    for words in (f"It opens with <{tag}> and goes on", f"It ends with </{tag}>, always", f"<{tag}>all</{tag}> of it"):
        note = Note(words=words, numbers=[3])

        assert said(form.replace("{}", note.model_dump_json())) == note


@given(st.integers(1, len(RIGHT) - 1))
def test_a_part_of_an_answer_is_never_taken_for_the_whole(length: int) -> None:
    for text in (RIGHT[:length], f"```json\n{RIGHT[:length]}", f"Well: {RIGHT[:length]}"):
        with pytest.raises(AnswerRejected):
            said(text)


@given(st.text(max_size=40), st.lists(st.integers(-9, 10**12), max_size=4))
def test_whatever_it_says_comes_back(words: str, numbers: list[int]) -> None:
    note = Note(words=clean(words), numbers=numbers)

    assert said(note.model_dump_json()) == note
    assert said(f"<think>{DECOY}</think>\n```json\n{json.dumps(note.model_dump())}\n```") == note


@pytest.mark.parametrize(
    "text",
    [
        '{"words": ' * 50_000,
        "[" * 50_000,
        '{"a": [' * 20_000,
        "{" * 50_000,
        '{"words": "x", "numbers": [' + "9" * 9_000 + "]}",
        "<think>" * 20_000,
        "</think>{" * 20_000,
        '{"words": "' + '\\"' * 50_000,
    ],
)
def test_hostile_text_is_rejected_at_once(text: str) -> None:
    begun = time.thread_time()
    with pytest.raises(AnswerRejected):
        said(text)
    assert time.thread_time() - begun < 2


def test_what_cannot_be_stored_is_replaced() -> None:
    assert said('{"words": "a\\ud800b\\u0000", "numbers": []}').words == "a\ufffdb\ufffd"
    assert said('{"words": "\\ud83d\\ude00", "numbers": [],}').words == "\U0001f600"


def test_an_answer_of_another_shape_is_rejected_by_where_not_by_what_it_says() -> None:
    with pytest.raises(AnswerRejected, match="numbers") as caught:
        said('{"words": "a secret", "numbers": ["another secret"]}')

    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_arguments_of_the_tool_are_the_answer() -> None:
    assert read(called("Note", NOTE.model_dump()), Note) == NOTE
    assert read(called("Note", RIGHT + "]"), Note) == NOTE


@pytest.mark.parametrize(
    "message",
    [called("remove", NOTE.model_dump()), called("remove", RIGHT), called("Note", '{"words": "It'), called("Note", "")],
)
def test_other_tools_and_broken_arguments_are_rejected(message: AIMessage) -> None:
    with pytest.raises(AnswerRejected):
        read(message, Note)


def test_among_several_calls_the_one_that_was_asked_for_counts() -> None:
    other, right = called("remove", {"words": "x", "numbers": []}), called("Note", NOTE.model_dump())

    assert read(AIMessage("", tool_calls=[*other.tool_calls, *right.tool_calls]), Note) == NOTE


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"finish_reason": "length"}, "cut off"),
        ({"stop_reason": "max_tokens"}, "cut off"),
        ({"finish_reason": "MAX_TOKENS"}, "cut off"),
        ({"done_reason": "length"}, "cut off"),
        ({"status": "incomplete"}, "cut off"),
        ({"finish_reason": "content_filter"}, "held back"),
        ({"finish_reason": "SAFETY"}, "held back"),
        ({"stop_reason": "refusal"}, "refused"),
        ({"finish_reason": "insufficient_system_resource"}, "broke off"),
    ],
)
def test_an_unfinished_answer_is_rejected_whoever_says_so(metadata: dict[str, str], why: str) -> None:
    with pytest.raises(AnswerRejected, match=why):
        complete(AIMessage(RIGHT, response_metadata=metadata), needs_finish=False)


def test_a_client_that_always_says_why_it_ended_and_does_not_was_cut() -> None:
    with pytest.raises(AnswerRejected, match="broke off"):
        complete(AIMessage(RIGHT), needs_finish=True)
    complete(AIMessage(RIGHT), needs_finish=False)
    complete(AIMessage(RIGHT, response_metadata={"finish_reason": "stop"}), needs_finish=True)
    complete(AIMessage(RIGHT, response_metadata={"status": "completed"}), needs_finish=True)


def test_a_refusal_is_rejected_without_its_words() -> None:
    message = AIMessage("", additional_kwargs={"refusal": "zebra"}, response_metadata={"finish_reason": "stop"})

    with pytest.raises(AnswerRejected) as caught:
        complete(message, needs_finish=True)
    assert "zebra" not in str(caught.value)


TEXT = "The tower is 324 m tall. 塔高324米，在巴黎。 Nobody knows why it stands there."


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("324 m", "324 m"),
        ("“324 m”", "324 m"),
        ("the TOWER is 324 m", "The tower is 324 m"),
        ("tower is  324, m tall", "tower is 324 m tall"),
        ("塔高324米", "塔高324米"),
        ("高324", "高324"),
        ("The tower is 324 m tal", "The tower is 324 m tal"),
        ("Nobody knows why the thing stands there", "Nobody knows why it stands there."),
    ],
)
def test_quoted_words_are_found_where_they_stand(words: str, found: str) -> None:
    span = locate(words, TEXT)

    assert span
    assert TEXT[span[0] : span[1]] == found


@pytest.mark.parametrize("words", ["24 m", "32", "no", "", "...", "““", "It was built of wood in 1850."])
def test_words_that_do_not_stand_there_are_not_found(words: str) -> None:
    """A number that is part of another one was never said."""
    assert locate(words, TEXT) is None
