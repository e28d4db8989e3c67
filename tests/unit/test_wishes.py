"""Questions about how somebody wants to be answered find the wish, and kin that was never told of is not another's."""

import pytest

from agentic_memory_bank.engines.extractive.answering.helping import Likeness, MessageReading
from agentic_memory_bank.engines.extractive.answering.wishes import asks_for_a_wish, is_a_wish
from agentic_memory_bank.engines.extractive.remembering.life import asks_of_other_kin


def told(text: str) -> Likeness:
    return Likeness(text, "", 0.1, 0.0, 0.0, 1.0, is_marked=False, is_turn=False, by_assistant=False)


@pytest.mark.parametrize(
    "question",
    [
        "How should you answer me?",
        "how must your replies to me look",
        "What tone do I want your answers in?",
        "How should notes and advice for me be worded?",
        "你跟我说话要注意什么？",
        "你该怎么称呼我？",
    ],
)
def test_a_question_for_how_to_answer_is_told(question: str) -> None:
    assert asks_for_a_wish(question)


@pytest.mark.parametrize(
    "question",
    [
        "How do you write a cover letter?",
        "How should I write to my landlord?",
        "What did you write to me?",
        "What is your favourite style of music?",
        "给我解释一下什么是量子",
        "怎么写求职信？",
    ],
)
def test_any_other_question_for_words_is_none(question: str) -> None:
    assert not asks_for_a_wish(question)


def test_a_wish_is_told_from_what_only_has_its_words() -> None:
    assert is_a_wish("please use plain sentences, I am new to this")
    assert is_a_wish("你回答我尽量分点写，别用术语")
    assert not is_a_wish("my dog is short and has long ears")
    assert not is_a_wish("我儿子在写作业")


def test_a_wish_is_shown_for_who_asks_for_it_and_nothing_of_the_world_for_it() -> None:
    found = [told("the ferry leaves at noon"), told("short lines please, I read you on the tram")]

    asked = MessageReading("How should you answer me?", found)
    other = MessageReading("How do planes fly?", found)

    assert asked.helps
    assert asked.chances[1] > asked.chances[0]
    assert not other.helps


@pytest.mark.parametrize(
    ("question", "memory", "is_of_other"),
    [
        ("What is my son's name?", "my daughter Mia plays the harp", True),
        ("What is my son's name?", "the kids are called Mia and Ole, my daughter is the elder", False),
        ("What is my daughter's name?", "my daughter Mia plays the harp", False),
        ("Where does my brother live?", "the ferry leaves at noon", False),
        ("我儿子叫什么？", "我女儿叫豆豆", True),
        ("我儿子叫什么？", "两个孩子，老大是女儿", False),
    ],
)
def test_kin_that_nobody_spoke_of_are_told_from_others(question: str, memory: str, is_of_other: bool) -> None:
    assert asks_of_other_kin(question, [memory]) is is_of_other
    if is_of_other:
        assert not MessageReading(question, [told(memory)]).helps
