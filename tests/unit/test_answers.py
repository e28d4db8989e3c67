"""A few words in answer to a question about somebody's life are drawn with it; what answers the talk is not."""

import pytest

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.remembering.answers import answers_of_life
from agentic_memory_bank.engines.extractive.remembering.extraction import select


def drawn(*said: tuple[str, str]) -> list[str]:
    turns = [Turn(str(place), role, text, date="2025-05-03") for place, (role, text) in enumerate(said)]  # type: ignore[arg-type]
    return [fact.text.partition("): ")[2] for fact in select(turns)]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Are you allergic to anything?", "yeah, penicillin and latex"),
        ("Any allergies?", "yes nuts"),
        ("What's your sister's name?", "Priya"),
        ("How many kids do you have?", "three"),
        ("When's the wedding?", "5 June"),
        ("What time do you finish work?", "half five"),
        ("几个孩子?", "俩"),
        ("你在哪个城市?", "合肥"),
    ],
)
def test_an_answer_about_ones_life_is_drawn_with_its_question(asked: str, said: str) -> None:
    (fact,) = drawn(("assistant", asked), ("user", said))

    assert fact.startswith(f"({asked}) {said}")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Shall I make it shorter?", "yes, two lines"),
        ("Which version do you prefer?", "the second"),
        ("Do you want it formal or casual?", "casual"),
        ("What should the poem be about?", "autumn rain"),
        ("How are you?", "tired"),
        ("Do you have pets?", "I moved to Oslo last week"),
        ("What's the occasion?", "write it in French"),
        ("你喜欢哪个版本？", "第二个"),
        ("你家几口人？", "不知道"),
    ],
)
def test_what_answers_the_talk_or_says_something_else_is_not_joined_to_it(asked: str, said: str) -> None:
    assert not answers_of_life(asked, said)


@pytest.mark.parametrize(
    ("said", "then", "now"),
    [
        ("my sister's called Jen", "sorry, Joan", "(my sister's called) sorry, Joan"),
        ("I'm 5 foot 6", "wait no 5 foot 7", "(I'm 5 foot) wait no 5 foot 7"),
        ("train's at 7:15", "7:50 sorry", "(train's) 7:50 sorry"),
        ("我妹叫小洁", "打错了,小婕", "(我妹叫) 打错了,小婕"),
        ("爷爷八十大寿订在望江楼", "不对,是聚贤楼", "(爷爷八十大寿订在) 不对,是聚贤楼"),
    ],
)
def test_a_slip_is_put_right_at_once(said: str, then: str, now: str) -> None:
    assert drawn(("user", said), ("assistant", "OK."), ("user", then))[-1] == now


@pytest.mark.parametrize(
    "said",
    [
        "Could you always answer me in bullet points from now on?",
        "would you mind using metric from now on?",
        "能不能以后都用英文回我",
        "以后可以叫我小李吗",
    ],
)
def test_a_wish_for_all_answers_is_drawn_though_it_is_put_as_a_question(said: str) -> None:
    assert drawn(("user", said)) == [said]


@pytest.mark.parametrize(
    "said",
    ["Could you answer this in bullet points?", "can you keep it under 50 words?", "能用英文回我一下吗"],
)
def test_a_wish_for_this_answer_is_not(said: str) -> None:
    assert drawn(("user", said)) == []
