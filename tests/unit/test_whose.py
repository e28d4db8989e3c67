"""What is told of somebody else does not answer what is asked about one person."""

import pytest

from agentic_memory_bank.engines.extractive.answering.whose import are_of_others


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is Yuki allergic to?", "Kwame's allergic to shellfish"),
        ("When is Quinn's birthday?", "Zed's birthday is 4 May"),
        ("How many kids does Tess have?", "Jonah has two kids"),
        ("大江对什么过敏？", "小苗对芒果过敏"),
        ("安琪的女儿在哪读书？", "老罗的女儿考上了南开"),
    ],
)
def test_what_names_others_is_of_others(question: str, text: str) -> None:
    assert are_of_others(question, [text]) == [True]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is Yuki allergic to?", "Yuki can't have nuts"),
        ("What is Yuki allergic to?", "shellfish is a no for the team"),
        ("When is Quinn's birthday?", "Dinner's at 8, for the birthday"),
        ("Where does Elizabeth live?", "Eliza lives in Hull"),
        ("What's my mum's number?", "Mum's mobile is 0123"),
        ("Where did I go with Kim?", "Dad and I went to Hull"),
        ("Where does Kim live?", "Zed says she's in Hull"),
        ("Where does Kim live?", "Dad lives in Hull"),
        ("What do I drink?", "Dad drinks tea"),
        ("大江对什么过敏？", "大江芒果过敏"),
        ("我对什么过敏？", "小苗对芒果过敏"),
    ],
)
def test_what_names_whom_is_asked_about_or_nobody_is_not(question: str, text: str) -> None:
    assert are_of_others(question, [text]) == [False]


def test_somebody_is_known_by_what_they_are_to_the_user() -> None:
    texts = ["my sister Kim is here", "My sister moved to Lyon"]
    assert are_of_others("Where does Kim live?", texts) == [False, False]


def test_a_user_who_is_named_in_the_question_is_asked_about_themselves() -> None:
    assert are_of_others("Where does Kim live?", ["I'm Kim, hello", "Zed lives with me in Hull"]) == [False, False]
