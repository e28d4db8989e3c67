"""Whoever asks what an occasion held is shown nothing where only the occasion is known."""

import pytest

from agentic_memory_bank.engines.extractive.answering.contents import contents_asked_for, is_untold
from agentic_memory_bank.engines.extractive.answering.helping import MessageReading
from agentic_memory_bank.engines.extractive.answering.likeness import Likeness


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("What was the agenda of our Monday planning meeting?", "the planning meeting is on Monday at 10"),
        ("What advice did the vet give me about Biscuit's paw?", "took Biscuit to the vet with her paw on Tuesday"),
        ("What was the mood like at Nadia's farewell party?", "Nadia's farewell party is in the garden on Saturday"),
        ("What reasons did Tom give for leaving the band?", "Tom left the band in May"),
        ("Could you tell me the key points of Dr. Osei's lecture?", "I went to Dr. Osei's lecture with Kim"),
        ("What was discussed at the parents' evening?", "the parents' evening took an hour"),
        ("What was Grandma's reaction when I moved out?", "I moved out of Grandma's in March"),
        ("What are the qualifications of the surgeon I met?", "I met the surgeon on Tuesday at noon"),
        ("What criteria did the jury use for the cakes?", "the jury for the cakes met on Sunday"),
        ("医生当时给了我什么建议？", "周二去看了医生"),
        ("昨天的家长会讨论了什么？", "昨天的家长会开到八点"),
        ("那次聚会的气氛怎么样？", "上个月的聚会在小李家"),
        ("他辞职的理由是什么？", "他三月辞职"),
    ],
)
def test_that_there_was_an_occasion_tells_nothing_of_what_it_held(question: str, known: str) -> None:
    assert is_untold(question, [known])
    found = [Likeness(known, "", 0.7, 0.5, 0.9, 1.0, is_marked=True, is_turn=False, by_assistant=False)]
    assert not MessageReading(question, found).helps


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("What was the agenda of our Monday planning meeting?", "agenda for the Monday planning: budget, then hiring"),
        ("What advice did the vet give me about Biscuit's paw?", "the vet told me to bathe her paw twice a day"),
        ("What was the mood like at Nadia's farewell party?", "everyone cried at Nadia's farewell party"),
        ("What reasons did Tom give for leaving the band?", "Tom left the band because of his new job"),
        ("Could you tell me the key points of Dr. Osei's lecture?", "Dr. Osei's lecture covered sleep and memory"),
        ("What was discussed at the parents' evening?", "at the parents' evening they talked about the new canteen"),
        ("What was Grandma's reaction when I moved out?", "Grandma was furious when I moved out"),
        ("医生当时给了我什么建议？", "医生让我少爬楼梯"),
        ("昨天的家长会讨论了什么？", "昨天的家长会说要换校服"),
        ("那次聚会的气氛怎么样？", "上个月的聚会特别热闹"),
        ("他辞职的理由是什么？", "他辞职是因为太累"),
    ],
)
def test_what_was_said_or_felt_there_does(question: str, known: str) -> None:
    assert not is_untold(question, [known])


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("What was the topic of my thesis?", "I wrote my thesis on tidal energy"),
        ("What was the reason for the delay?", "the train was delayed by a fallen tree"),
        ("Which lessons did Leo have on Tuesday?", "Leo had maths and French on Tuesday"),
        ("What are Priya's qualifications?", "Priya has a master's in chemistry from Leeds"),
        ("What was the response from the landlord?", "the landlord refused to fix the boiler"),
        ("What was decided about the kitchen?", "we are going with the oak worktop in the kitchen"),
        ("What method did I use to clean the kettle?", "I cleaned the kettle with vinegar"),
        ("What points did the jury give us?", "the jury gave us 38 of 40"),
        ("他辞职的原因是什么？", "他辞职去创业了"),
        ("那次考试的内容是什么？", "那次考试考的是几何和代数"),
        ("昨天开会讨论了什么？", "昨天开会定了新预算和招人计划"),
        ("老师教了什么？", "老师周三给我们上了书法"),
    ],
)
def test_an_answer_need_not_be_told_in_words_of_telling(question: str, known: str) -> None:
    assert not is_untold(question, [known])


def test_what_is_known_of_other_things_tells_nothing_of_an_occasion() -> None:
    question, known = "What was the agenda of our planning meeting?", "the planning meeting is on Monday at 10"

    assert is_untold(question, [known, "my bike has a flat tyre"])
    assert not is_untold(question, ["my bike has a flat tyre"])


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
    assert contents_asked_for(question) is None
