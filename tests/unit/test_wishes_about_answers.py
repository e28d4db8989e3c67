"""A question about how somebody wants to be answered is told from others, and so is a memory that says it."""

import pytest

from agentic_memory_bank.engines.extractive.answering.wishes import asks_for_a_wish, is_a_wish


@pytest.mark.parametrize(
    "question",
    [
        "How should you format your replies to me?",
        "how should things be explained to me",
        "How should dosages be written for me?",
        "What tone do I like your answers in?",
        "How should you go about explaining a topic to me?",
        "How should losses be shown in my tables?",
        "I'm sending you a draft, what do I want back?",
        "你该用什么语气跟我说话？",
        "回我话的时候啥东西不能带？",
        "帮我起草意见的时候格式上有啥讲究？",
    ],
)
def test_a_question_about_answers_is_heard(question: str) -> None:
    assert asks_for_a_wish(question)


@pytest.mark.parametrize(
    "question",
    [
        "How should you feed a baby?",
        "What do I get back from the tax office?",
        "帮我爸买药的时候怎么挑？",
        "How is osmosis explained in my textbook?",
        "How should I word my letter?",
        "What did you write to me?",
    ],
)
def test_a_question_about_something_else_is_none(question: str) -> None:
    assert not asks_for_a_wish(question)


@pytest.mark.parametrize(
    "memory",
    [
        "Please explain stuff with pictures made of words.",
        "When you explain, use examples from football.",
        "回答我短一点。",
    ],
)
def test_a_wish_for_answers_is_known(memory: str) -> None:
    assert is_a_wish(memory)


@pytest.mark.parametrize(
    "memory",
    ["We always take pictures on the beach.", "numbers always scare me", "给我写信的前女友要结婚了", "我姐姐在成都。"],
)
def test_what_is_no_wish_for_answers_is_none(memory: str) -> None:
    assert not is_a_wish(memory)
