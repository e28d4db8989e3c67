"""Whoever asks what an occasion held is shown nothing where only the occasion is known."""

import pytest

from agentic_memory_bank.engines.extractive.answering.contents import contents_asked_for, is_untold
from agentic_memory_bank.engines.extractive.answering.helping import Likeness, MessageReading


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("What was the agenda of our Monday planning meeting?", "the planning meeting is on Monday at 10"),
        ("What advice did the vet give me about Biscuit's paw?", "took Biscuit to the vet, her paw is swollen"),
        ("What was the mood like at Nadia's farewell party?", "Nadia's farewell party is in the garden on Saturday"),
        ("What reasons did Tom give for leaving the band?", "Tom left the band in May"),
        ("Could you tell me the key points of Dr. Osei's lecture?", "I went to Dr. Osei's lecture with Kim"),
        ("What was discussed at the parents' evening?", "the parents' evening took an hour and I missed my bus"),
        ("What was Grandma's reaction when I moved out?", "I moved out of Grandma's flat in March"),
        ("What are the qualifications of the surgeon I met?", "I met the surgeon on Tuesday, his name is Bell"),
        ("What criteria did the jury use for the cakes?", "the jury said our cakes won on Sunday"),
        ("医生当时给了我什么建议？", "周二去看了医生，膝盖还是疼"),
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
