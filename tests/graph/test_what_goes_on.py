"""What goes on about what is to be forgotten, without naming it, is shown and asked about; what is apart stays."""

from collections.abc import Iterator

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.extractive.remembering.continuing import may_go_on
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings


@pytest.fixture
def memories() -> Iterator[Memories]:
    with Memories(InMemoryStore(), embeddings=HashEmbeddings(64), settings={"recall_timeout": 60.0}) as opened:
        yield opened


def know(memories: Memories, *turns: str) -> None:
    for number, text in enumerate(turns, 1):
        memories.remember(text, user="ana", conversation_id="before", end=number == len(turns))


def say(memories: Memories, words: str) -> str:
    output = memories.talk(words, user="ana", conversation_id="now")
    assert memories.flush(30)
    return output["messages"][-1].text


def have_forgotten(memories: Memories, wish: str) -> None:
    """Wish something forgotten, and say yes where that is asked about."""
    if say(memories, wish).rstrip().endswith(("?", "？")):
        say(memories, "Yes." if wish.isascii() else "是的")


def left(memories: Memories) -> str:
    return "\n".join(one["text"] for one in memories.list(user="ana", replaced=True, limit=100).records)


@pytest.mark.parametrize(
    ("turns", "wish", "gone", "kept"),
    [
        (
            ["Got diagnosed with ADHD in March, on 30mg Elvanse now. My cat is Miso."],
            "forget my ADHD",
            "Elvanse",
            "Miso",
        ),
        (["I found a mole on my back, appointment 4 May at the clinic."], "forget the mole", "appointment", ""),
        (["My boss Colin is a pain, owes me two months' pay."], "Forget what I said about my boss", "two months", ""),
        (
            ["My gran died in March, funeral was in Cork, and my budget is 5,000."],
            "forget what I said about my gran",
            "funeral",
            "5,000",
        ),
        (
            ["My therapist is called Ruth, I see her tuesdays at 5", "She thinks I should journal"],
            "forget my therapist",
            "journal",
            "",
        ),
        (["Owen is in rehab, and he owes me 300."], "forget that Owen is in rehab", "owes me 300", ""),
        (["我确诊了抑郁，在吃舍曲林，每周去一次咨询，我住在杭州"], "忘掉我抑郁的事", "舍曲林", "杭州"),
        (["我妹妹小茹分手了，情绪很差", "她在成都读研二"], "忘掉我妹妹的事吧", "读研二", ""),
        (
            ["上周咳血，去拍了片，肺炎，大夫开的头孢，一天三次，还说别抽烟，我住在杭州"],
            "咳血肺炎的事删了吧",
            "头孢",
            "杭州",
        ),
        (["9月3号是我哥忌日，他走了两年了，去西山公墓。 我在园区上班"], "我哥的事情别留了", "公墓", "园区"),
    ],
)
def test_what_goes_on_is_shown_and_goes_with_a_yes(
    memories: Memories, turns: list[str], wish: str, gone: str, kept: str
) -> None:
    know(memories, *turns)

    asked = say(memories, wish)
    assert gone in asked
    assert asked.rstrip().endswith(("?", "？"))
    assert gone in left(memories)
    say(memories, "Yes." if wish.isascii() else "是的")

    assert gone not in left(memories)
    assert kept in left(memories)


@pytest.mark.parametrize(
    ("said", "wish", "gone", "kept"),
    [
        ("老公失业了 女儿考上一中了", "老公失业的事别记", "失业", "一中"),
        ("我妹离婚了 我考过了会计证", "忘掉我妹离婚的事", "离婚", "会计证"),
        ("老伴儿走三年了,儿子在大连,闺女嫁沈阳了", "老伴儿走了那事儿别记着了", "走三年", "大连"),
        (
            "My sister's getting divorced and I passed my exams",
            "please forget my sister's divorce",
            "divorced",
            "passed my exams",
        ),
        (
            "My sister's getting divorced & I passed my exams",
            "please forget my sister's divorce",
            "divorced",
            "passed my exams",
        ),
        (
            "My sister's getting divorced\nI passed my exams",
            "please forget my sister's divorce",
            "divorced",
            "passed my exams",
        ),
    ],
)
def test_what_stands_beside_it_without_a_comma_stays(
    memories: Memories, said: str, wish: str, gone: str, kept: str
) -> None:
    know(memories, said)

    have_forgotten(memories, wish)

    assert gone not in left(memories)
    assert kept in left(memories)


def test_a_second_amount_goes_with_the_first(memories: Memories) -> None:
    know(memories, "my dad's on warfarin, 3 mg at breakfast and 2 at bedtime. My cat is Miso.")

    say(memories, "forget my dad's warfarin")

    assert "2 at bedtime" not in left(memories)
    assert "Miso" in left(memories)


def test_who_is_named_after_something_was_told_of_them_goes_with_that(memories: Memories) -> None:
    know(memories, "偷偷说，我喜欢上一个人，化学系的，叫程野，给我们社打灯光的", "我在学俄语")

    have_forgotten(memories, "程野的事全删掉")

    assert "喜欢" not in left(memories)
    assert "灯光" not in left(memories)
    assert "俄语" in left(memories)


def test_her_is_whom_the_wish_names_and_nobody_else(memories: Memories) -> None:
    know(memories, "I live on a boat called Kittiwake, she's moored at Fradley. Mrs Abernathy has an old Bechstein.")

    have_forgotten(memories, "Mrs Abernathy has moved away, so delete everything about her.")

    assert "Abernathy" not in left(memories)
    assert "Kittiwake" in left(memories)


def test_kin_are_forgotten_by_whatever_they_are_called(memories: Memories) -> None:
    know(memories, "Dr Gokhale has changed Baba's insulin. My cat is Miso.")

    have_forgotten(memories, "Kindly delete my father's insulin")

    assert "insulin" not in left(memories)
    assert "Miso" in left(memories)


def test_without_a_yes_nothing_goes(memories: Memories) -> None:
    know(memories, "Got diagnosed with ADHD in March, on 30mg Elvanse now.")

    say(memories, "forget my ADHD")
    say(memories, "No, leave it.")

    assert "ADHD" in left(memories)
    assert "Elvanse" in left(memories)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("I play padel on Mondays", ", my cat is Miso"),
        ("I'm allergic to nuts", ", Bo hates fish"),
        ("My sister is pregnant", " and I moved to Oslo"),
        ("dentist Thursday", ", garage Friday"),
        ("I see the dentist on Thursday", ", car to the garage on Friday"),
        ("I have asthma", ", also the car needs new tyres"),
        ("I have a dog called Rex", ", a cat called Miso"),
        ("我确诊了抑郁", "，我住在杭州"),
        ("我在备孕", "，老公在深圳上班"),
        ("我跟老板吵架了", "，对了，快递到了"),
        ("老公请不出假", "，改成8月1号走"),
        ("老板又骂我了", "，周报改到周四交"),
        ("婆婆回老家了", "，请了个育儿嫂"),
        ("gp doubled the pills so 6 now", ", and the rent's 640"),
    ],
)
def test_what_is_of_something_else_does_not_go_on(before: str, text: str) -> None:
    assert not may_go_on(before, text)
