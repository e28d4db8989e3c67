"""A birthday, an age or a phone number that nobody told is answered by nothing that was told of the same people."""

import pytest

from agentic_memory_bank.engines.extractive.answering.particulars import lacks_the_particular


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("When is Karen's birthday?", "Thanksgiving is at Karen's, I leave at nine"),
        ("How old is Biscuit?", "Biscuit's gabapentin has gone to three times a day"),
        ("What's the plumber's phone number?", "the plumber is Rafal, he comes on 4 May"),
        ("佳琪的生日是几号？", "佳琪睡我对床，11月28号首演"),
        ("董姐的手机号是多少？", "董姐给我排了临沂到昆明，5月12号到"),
    ],
)
def test_what_holds_no_such_particular_answers_no_question_for_it(question: str, told: str) -> None:
    assert lacks_the_particular(question, [told])


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("When is Karen's birthday?", "Karen turns forty on 3 May"),
        ("When is Iain's birthday?", "knitting for Iain's fiftieth, that's the 3rd of May"),
        ("How old is Biscuit?", "Biscuit's nine and deaf"),
        ("How old am I?", "Neil, forty-four, I tune pianos"),
        ("What's the plumber's phone number?", "the plumber is on 0161 496 0733"),
        ("What does my old phone number end in?", "My old phone number ends in 83"),
        ("孩子多大了？", "孩子上三年级"),
        ("我弟多大岁数？", "我弟今年五十八"),
        ("奶奶生日是哪天？", "奶奶腊月初六八十大寿"),
        ("Where does Karen live?", "Thanksgiving is at Karen's"),
    ],
)
def test_what_may_hold_it_is_left_to_be_judged(question: str, told: str) -> None:
    assert not lacks_the_particular(question, [told])
