"""Whoever asks what an occasion held is shown nothing where only the occasion is known."""

import pytest

from agentic_memory_bank.engines.extractive.answering.contents import asks_for_contents
from agentic_memory_bank.engines.extractive.answering.helping import MessageReading
from agentic_memory_bank.engines.extractive.answering.likeness import Likeness


def reading(question: str, found: float | None) -> MessageReading:
    """A question beside a memory very like it, of which a model finds so much that it answers; None: there is none."""
    known = Likeness(question, "", 0.7, 0.9, 0.9, 1.0, is_marked=True, is_turn=False, by_assistant=False)
    return MessageReading(question, [known], lambda _, texts: None if found is None else [found] * len(texts))


@pytest.mark.parametrize(
    "question",
    [
        "What was the agenda of our Monday planning meeting?",
        "What advice did the vet give me about Biscuit's paw?",
        "What was the mood like at Nadia's farewell party?",
        "What reasons did Tom give for leaving the band?",
        "Could you tell me the key points of Dr. Osei's lecture?",
        "What was discussed at the parents' evening?",
        "What was Grandma's reaction when I moved out?",
        "What are the qualifications of the surgeon I met?",
        "What criteria did the jury use for the cakes?",
        "医生当时给了我什么建议？",
        "昨天的家长会讨论了什么？",
        "那次聚会的气氛怎么样？",
        "他辞职的理由是什么？",
        "What was the topic of my thesis?",
        "What was the reason for the delay?",
        "Which lessons did Leo have on Tuesday?",
        "What are Priya's qualifications?",
        "What was the response from the landlord?",
        "What was decided about the kitchen?",
        "What method did I use to clean the kettle?",
        "What points did the jury give us?",
        "他辞职的原因是什么？",
        "那次考试的内容是什么？",
        "昨天开会讨论了什么？",
        "老师教了什么？",
    ],
)
def test_a_memory_has_to_state_what_an_occasion_is_asked_to_have_held(question: str) -> None:
    assert asks_for_contents(question)
    assert not reading(question, found=-1.0).helps
    assert reading(question, found=3.0).helps


def test_where_no_model_reads_words_alone_decide() -> None:
    question = "What was the agenda of our Monday planning meeting?"

    assert reading(question, found=None).helps


@pytest.mark.parametrize(
    "question",
    [
        "What advice do you have for a first-time speaker?",
        "Which topics should I revise for chemistry?",
        "What's the best method to descale a kettle?",
        "Can you give me some tips for my interview?",
        "When is my music lesson?",
        "What day did Bram's lesson fall on?",
        "What did Priya say about the flat?",
        "Where was the atmosphere test held?",
        "有什么好的方法去污渍？",
        "你有什么建议？",
        "我们几点开会？",
    ],
)
def test_other_questions_ask_for_no_such_thing(question: str) -> None:
    assert not asks_for_contents(question)
    assert reading(question, found=-3.0).helps == reading(question, found=None).helps
