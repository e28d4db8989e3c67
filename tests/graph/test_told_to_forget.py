"""What a user tells the memory to forget, in plain words in a chat, is gone; and nothing else is."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from agentic_memory_bank import AsyncMemories, Memories
from agentic_memory_bank.engines.extractive.forgetting import wish_in
from agentic_memory_bank.engines.extractive.remembering.replies import is_no, is_yes
from agentic_memory_bank.engines.extractive.remembering.telling import told_to_forget
from agentic_memory_bank.graph.conversation import build_conversation
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

Open = Callable[..., Memories]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Memories as in a process of its own, each time over the same file."""
    made: list[Memories] = []

    def begin(**options: Any) -> Memories:
        store = SqliteRecordStore(tmp_path / "memories.sqlite")
        made.append(Memories(store, embeddings=HashEmbeddings(64), settings={"recall_timeout": 60.0}, **options))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def know(memories: Memories, *texts: str) -> None:
    for number, text in enumerate(texts):
        memories.remember(text, user="ana", conversation_id=f"before {number} {text[:9]}", end=True)


def say(memories: Memories, words: Any, conversation: str = "now") -> str:
    output = memories.talk(words, user="ana", conversation_id=conversation)
    assert memories.flush(30)
    return output["messages"][-1].text


def texts(memories: Memories) -> list[str]:
    found = memories.list(user="ana", project=None, limit=100, replaced=True).records
    return [record["text"].rpartition("): ")[2] for record in found]


def by_turns(said: list[str]) -> list[tuple[str, str]]:
    """What a user and an assistant say in turn."""
    return [(("user", "assistant")[place % 2], words) for place, words in enumerate(said)]


def is_held(memories: Memories, word: str) -> bool:
    return any(word.casefold() in text.casefold() for text in texts(memories))


# --- what is heard ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "Forget what I told you about my sister",
        "delete my budget",
        "me and maria split up. forget maria",
        "The burnout of Ilka is private, please forget this.",
        "I was daft to mention Douglas. Strike him off, dinner and all.",
        "我跟老婆吵架那个事，你把它丢了嘛",
        "The band fell through, please forget everything about Los Gatos.",
        "That stuff about Acme and their offer, forget it, I signed an NDA",
        "I don't want you keeping anything on Jo, delete that please",
        "please don't keep anything on Katharina, it's still new",
        "You can forget about Barnaby doing the inspections, that's over with",
        "Could you erase everything you know about my ex?",
        "What I said about Tom's drinking, please wipe it.",
        "You don't need to remember the thing about the surgery any more.",
        "Scrap that about the loan, please.",
        "I shouldn't have told you about the speeding ticket, please forget it.",
        "The rent thing is settled, no need to remember it any more.",
        "Let's pretend I never mentioned the ticket.",
        "I'd feel better if you deleted the bit about the baby.",
        "don't remember the warfarin bit please",
        "弟弟离婚的事你就当我没说过",
        "能把我吃药的事删掉吗",
        "忘掉我妹妹的事",
        "别记着我在看心理医生了",
        "把预算删了",
        "麻烦把我血压的数据清掉",
        "你能不能把我工资的事忘掉？",
        "我妈血压的毛病她不想让人知道，你别记着了",
        "上次那个相亲都黄了，删掉吧",
        "The evening course fell through, you can drop it",
        "I'd prefer my blood tests weren't kept on file",
        "Lose the part about my cousin",
        "Get rid of whatever you've got on Tom",
        "Scrub the audition from your notes",
        "I don't want my rehab in here",
        "Leave my brother's debts out of your notes",
        "体检那事从记录里划掉吧",
        "面试的事当没发生过吧",
        "我借钱那件事别留在记录里了",
        "can u forget where i live",
        "erm could ya maybe not remember what I earn",
        "stop remembering Dr Marlow",
        "不用记Edgar了",
        "能忘了阿伟吗？",
        "我住哪儿是隐私，忘了它吧",
    ],
)
def test_a_request_to_forget_something_is_heard(said: str) -> None:
    told = told_to_forget(said)

    assert told is not None
    assert told.kind == "about"


@pytest.mark.parametrize(
    "said",
    [
        "don't remember this",
        "Strike that from the record",
        "That stays between us.",
        "这个别记",
        "Please don't keep this.",
        "忘了我刚才说的吧",
    ],
)
def test_a_request_to_forget_what_is_being_said_is_heard(said: str) -> None:
    told = told_to_forget(said)

    assert told is not None
    assert (told.kind, told.rest) == ("this", "")


@pytest.mark.parametrize(
    ("said", "about"),
    [
        ("delete my budget, and please forget my sister's address", "my budget and my sister's address"),
        ("血压的事别记了，我怕单位看到，缬沙坦也一起忘掉", "血压和缬沙坦"),
    ],
)
def test_two_wishes_of_one_message_are_both_heard(said: str, about: str) -> None:
    told = told_to_forget(said)

    assert told is not None
    assert told.about == about


@pytest.mark.parametrize("said", ["Kim can't come to the party, strike her off", "我跟老婆吵架那个事，你把它丢了嘛"])
def test_what_may_be_of_another_list_is_asked_about(said: str) -> None:
    told = told_to_forget(said)

    assert told is None or not told.is_sure


def test_it_alone_may_only_be_said_so_and_is_asked_about() -> None:
    told = told_to_forget("My diary is private. Forget it, he'll never read it.")

    assert told is None or not told.is_sure


@pytest.mark.parametrize(
    "said",
    [
        "I need to get rid of my car",
        "Bin day is Tuesday",
        "Drop my mum off at five",
        "Lose the tie, my boss said",
        "Get rid of my old sofa on Saturday",
        "The party's off, we are going to Rome instead",
        "He said it stays between us",
        "冰箱里的剩菜清掉了",
        "我就当没这个儿子",
        "把垃圾扔了",
        "don't forget to call Ann tomorrow",
        "Don't forget my sister arrives on Monday",
        "I keep forgetting my keys",
        "I forgot to tell you about my sister.",
        "forget it, let's talk of something else",
        "Forget it.",
        "Did you forget my birthday?",
        "He told me to forget about her",
        "I want to forget my ex",
        "Forget Tuesday, make it Thursday",
        "Delete the second paragraph, please.",
        "Remove the onions from the recipe",
        "Don't keep me waiting",
        "I don't remember this movie",
        "How do I delete a file in Python?",
        'My boss said "forget what I told you about the merger".',
        "我妈把这事丢了",
        "我把面试的事丢掉了",
        "手机坏了，我把它丢了",
        "别忘了明天给我妈打电话",
        "别忘了我妹妹周一来",
        "我忘了带钥匙",
        "我把她的生日忘了",
        "忘了告诉你，我妹妹结婚了",
        "你忘了吗？",
        "不用记笔记",
        "删掉第二段",
        "我想忘掉前男友",
        "I want to help people who have gone through the same things.",
        "他们要求立刻删除。",
        "Scrap that, we settled on Thursday.",
        "这个要删掉吗？",
        "玩家的副武器，可以清除掉画面的多数敌人。",
    ],
)
def test_what_only_sounds_like_it_is_no_request(said: str) -> None:
    assert told_to_forget(said) is None


@pytest.mark.parametrize(
    "said",
    [
        "I'd be easier if you didn't keep hold of the bit about my tenant",
        "the choir part can go, I only lasted a month",
        "would you mind taking the cholesterol figures out of your notes",
        "no need for you to know about the overdraft",
        "that stuff I told you about Lara's job interview, it wasn't mine to share, lose it would you",
        "could I ask you to forget the name of my son's teacher?",
        "it might be best to scrub the whole visa saga",
        "my ex's address shouldn't be in there",
        "stop remembering the diet days",
        "I take back what I told you about Owen's gambling",
        "ignore what I said about the promotion, it was private",
        "my daughter's weight isn't something I want you to keep",
        "trash everything related to the boat",
        "you know that whole inheritance thing? let's never talk about it again",
        "别再提我弟打官司的事了",
        "能不能把我表哥的电话从你那儿拿掉",
        "之前说的那个牙医 忘了吧 不去了",
        "我不想让你记着我妈的病",
        "有关理财的内容清一下吧",
    ],
)
def test_a_wish_in_other_words_is_heard(said: str) -> None:
    told = told_to_forget(said)

    assert told is not None
    assert told.kind == "about"


@pytest.mark.parametrize(
    "said",
    [
        "forget that, what shall we cook",
        "she always forgets my name",
        "don't let me forget the parking ticket",
        "could you take the intro out and make the rest shorter",
        "I'd rather you kept answers short",
        "I'd like to lose a bit of weight",
        "you needn't worry about the cat",
        "let's leave the budget for tomorrow",
        "ignore the typo in my last message",
        "I told you about the car, scratch that, it's the blue one now",
        "I never heard back from the bank",
        "take the rubbish out, I keep telling him",
        "the leftovers can go in the freezer",
        "my old bike can go to the charity shop",
        "how do I get rid of the smell in my car",
        "记账太麻烦了",
        "别忘了把我的外套带上",
        "怎么把衣服上的咖啡渍去掉",
        "我就当他没说",
        "银行那笔我终于还清了",
        "你说的那块招牌我看清了",
    ],
)
def test_what_is_no_wish_is_not_heard(said: str) -> None:
    assert told_to_forget(said) is None


def test_a_wish_in_other_words_is_asked_about_first(opened: Open) -> None:
    memories = opened()
    know(memories, "I play the cello in a quartet.", "I live in Oslo.")

    answer = say(memories, "the cello bit can go")

    assert answer.endswith("?")
    assert is_held(memories, "cello")
    say(memories, "yes")
    assert not is_held(memories, "cello")
    assert is_held(memories, "Oslo")


def test_what_may_be_a_wish_is_no_request_where_nothing_is_known_of_it(opened: Open) -> None:
    memories = opened()
    know(memories, "I live in Oslo.")

    answer = say(memories, "the trombone bit can go, my neighbours will be glad")

    assert "Shall I erase" not in answer
    assert is_held(memories, "trombone")


def test_yes_and_no_are_told_apart() -> None:
    assert all(map(is_yes, ("Yes.", "yes, please", "Go ahead", "是的。", "好的", "删了吧")))
    assert all(map(is_no, ("No.", "no, keep it", "不用了", "算了")))
    assert not any(map(is_yes, ("Yes, I live in Oslo.", "是的，我住在上海。", "No.")))


# --- what is done ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "said", "gone", "kept"),
    [
        ("My sister Eva lives in Rome, she paints.", "Forget what I told you about my sister", "Eva", "Oslo"),
        ("My budget is $12,000.", "delete my budget", "12,000", "Oslo"),
        ("I share a flat with Jo, she works at a bakery.", "I don't want you keeping anything on Jo", "bakery", "Oslo"),
        ("我妹妹在北京读书。", "忘掉我妹妹的事", "妹妹", "Oslo"),
        ("我的预算是五千块。", "把预算删了", "五千块", "Oslo"),
        ("小陈下个月结婚，嫁给她的老师，我当伴娘。", "小陈结婚的事你忘了吧", "伴娘", "Oslo"),
    ],
)
def test_what_is_small_is_erased_at_once_and_the_answer_says_what(
    opened: Open, known: str, said: str, gone: str, kept: str
) -> None:
    memories = opened()
    know(memories, known, "I live in Oslo.")

    answer = say(memories, said)

    assert gone in answer
    assert not answer.endswith(("?", "？"))
    assert ("删除" in answer) == (not said.isascii())
    assert not is_held(memories, gone)
    assert is_held(memories, kept)


@pytest.mark.parametrize(
    ("said", "yes"), [("Forget everything about my sister Eva.", "Yes."), ("忘掉Eva的事", "是的。")]
)
def test_what_is_more_is_shown_and_goes_after_a_yes_even_in_another_process(opened: Open, said: str, yes: str) -> None:
    places = ("Rome", "Paris", "Turin", "Malta")
    first = opened()
    know(first, *(f"My sister Eva moved to {place}." for place in places), "I live in Oslo.")

    answer = say(first, said)
    held = [is_held(first, place) for place in places]
    first.close()
    after = say(opened(), yes)

    assert answer.endswith(("?", "？"))
    assert all(place in answer for place in places)
    assert held == [True] * 4
    later = opened()
    assert not is_held(later, "Eva")
    assert is_held(later, "Oslo")
    assert "Malta" in after


@pytest.mark.parametrize(
    ("known", "also", "said", "yes", "name"),
    [
        (
            "I'm seeing a therapist, Dr Marlow, on Mondays.",
            "Dr Marlow says I worry too much.",
            "please forget everything about my therapist",
            "Yes.",
            "Marlow",
        ),
        (
            "我在看心理医生，姓骆，每周四下午去。",
            "骆医生让我少喝咖啡，少熬夜。",
            "把心理医生的事都忘了吧",
            "是的。",
            "骆",
        ),
    ],
)
def test_what_is_told_of_somebody_by_name_goes_with_what_they_are(
    opened: Open, known: str, also: str, said: str, yes: str, name: str
) -> None:
    memories = opened()
    know(memories, known, "I live in Oslo.", also)

    say(memories, said)
    say(memories, yes)

    assert not is_held(memories, name)
    assert is_held(memories, "Oslo")


@pytest.mark.parametrize(
    ("known", "said", "yes", "gone"),
    [
        ("I'm having knee surgery in May.", "Scrub my meniscus operation from your notes", "Yes.", "surgery"),
        ("刘师傅那边还差两百块没给。", "刘师傅赊账那事从记录里抹掉吧", "是的。", "刘师傅"),
    ],
)
def test_what_is_called_by_another_word_is_shown_and_goes_after_a_yes(
    opened: Open, known: str, said: str, yes: str, gone: str
) -> None:
    memories = opened()
    know(memories, known, "I live in Oslo.")

    answer = say(memories, said)
    was_held = is_held(memories, gone)
    say(memories, yes)

    assert answer.endswith(("?", "？"))
    assert was_held
    assert not is_held(memories, gone)
    assert is_held(memories, "Oslo")


@pytest.mark.parametrize("reply", ["No.", "I live in Bergen now."])
def test_nothing_goes_without_a_yes_in_the_next_turn(opened: Open, reply: str) -> None:
    memories = opened()
    know(memories, *(f"My sister Eva moved to {place}." for place in ("Rome", "Paris", "Turin", "Malta")))
    say(memories, "Forget everything about Eva.")

    say(memories, reply)
    say(memories, "Yes.")

    assert is_held(memories, "Malta")


@pytest.mark.parametrize("said", ["Forget what I told you about my brother Max.", "忘掉我弟弟的事"])
def test_where_nothing_is_known_it_is_said_and_nothing_is_noted(opened: Open, said: str) -> None:
    memories = opened()
    know(memories, "I live in Oslo.")
    before = texts(memories)

    answer = say(memories, said)

    assert "keep nothing" in answer or "没有" in answer
    assert texts(memories) == before


def test_the_request_is_kept_nowhere(opened: Open, tmp_path: Path) -> None:
    memories = opened()
    say(memories, "My sister Zanzibarquux lives in Rome.")

    say(memories, "Forget Zanzibarquux.")
    say(memories, "What is the weather like?")
    memories.close()

    assert not any(b"anzibarquux" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_a_client_that_hands_the_whole_conversation_over_again_brings_nothing_back(opened: Open) -> None:
    memories = opened()
    said: list[Any] = [{"role": "user", "content": "My sister Eva lives in Rome."}]
    for words in ("Forget what I told you about Eva.", "I live in Oslo now.", "What else is new?"):
        answer = say(memories, said)
        said += [{"role": "assistant", "content": answer}, {"role": "user", "content": words}]
    say(memories, said)

    assert not any("Forget" in text or "Erased" in text for text in texts(memories))
    assert is_held(memories, "Oslo")


@pytest.mark.parametrize("is_drawn", [True, False])
@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            ("We booked the ferry for 12 June, it costs 240 euros.", "Actually we moved it to 19 June."),
            "Forget what I told you about the ferry",
        ),
        (("我们订了6月12号的船票，240欧。", "其实改到19号了。"), "把船票的事忘了吧"),
    ],
)
def test_what_calls_its_thing_only_it_is_forgotten_with_it(
    opened: Open, told: tuple[str, ...], said: str, is_drawn: bool
) -> None:
    memories = opened()
    for words in ("My brother comes on Sunday.", *told):
        say(memories, words)
    if is_drawn:
        memories.remember([], user="ana", conversation_id="now", end=True)

    say(memories, said)
    memories.remember([], user="ana", conversation_id="now", end=True)

    assert [text.split(" [")[0] for text in texts(memories) if "brother" not in text] == []
    assert is_held(memories, "brother")


def test_what_is_said_of_her_goes_and_whoever_she_is_stays(opened: Open) -> None:
    memories = opened()
    for words in ("My mum is in hospital since yesterday.", "She takes warfarin for her heart."):
        say(memories, words)
    memories.remember([], user="ana", conversation_id="now", end=True)
    assert is_held(memories, "(My mum) She takes warfarin")

    say(memories, "Forget the warfarin.")

    assert not is_held(memories, "warfarin")
    assert is_held(memories, "My mum is in hospital")


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("", "I'm seeing a therapist. Please don't remember this."),
        ("I'm seeing a therapist on Fridays.", "don't remember this"),
        ("", "我在看心理医生，这个别记"),
        ("我在看心理医生。", "这个别记"),
    ],
)
def test_a_turn_that_is_not_to_be_remembered_is_not(opened: Open, before: str, said: str) -> None:
    memories = opened()
    say(memories, "I live in Oslo.")
    if before:
        say(memories, before)

    say(memories, said)
    memories.remember([], user="ana", conversation_id="now", end=True)

    assert not is_held(memories, "therapist")
    assert not is_held(memories, "心理医生")
    assert is_held(memories, "Oslo")


def test_what_is_said_after_a_sentence_not_to_keep_is_kept(opened: Open) -> None:
    memories = opened()

    say(memories, "The sort code is 20-45-77 for Zed. Don't keep that. I live in Oslo.")

    assert not is_held(memories, "Zed")
    assert is_held(memories, "Oslo")


@pytest.mark.parametrize(
    "conversation",
    [
        ["Zed drinks before work.", "I see.", "Please don't hold on to that.", "I won't."],
        ["I yelled at Zed on the phone on Friday. Please do not hold on to that, I had to get it out.", "I see."],
        ["Zed is back with his ex but my mum uses this phone so dont save it", "OK."],
        ["this is a secret, please not save it: Zed and Ada are splitting up. The boy knows nothing. What do I say?"],
        ["跟你说个事儿你听听就得了别往下记 是Zed要离婚了 下个月搬走"],
        ["Zed要离婚了，唔好记。"],
        ["lol Zed made the side door code 4471, pls dont remember that one im just cackling"],
        ["Zed is divorcing Ada.", "Oh.", "Thanks, but please don't hold on to that."],
        ["Zed is divorcing. Please don't store this. Thanks!", "I will not store that Zed is divorcing."],
        ["I need to vent, don't save it. My boss Zed is a drunk. He hides vodka.", "Poor Zed."],
        ["Zed要離婚，唔好記", "好"],
    ],
)
def test_what_is_not_to_be_kept_is_kept_nowhere_when_a_conversation_is_remembered(
    opened: Open, conversation: list[str]
) -> None:
    memories = opened()

    said = [*conversation, *(["OK."] if len(conversation) % 2 else []), "I live in Oslo."]
    memories.remember(by_turns(said), user="ana", conversation_id="now", end=True)

    assert not is_held(memories, "Zed")
    assert not is_held(memories, "boy")
    assert is_held(memories, "Oslo")


@pytest.mark.parametrize(
    ("conversation", "kept"),
    [
        (["The gym key is with Tom. Don't keep it, give it to Ana."], "Tom"),
        (["My train to Graz leaves at 6 pm on Fridays. No need to note it, it's in the calendar."], "Graz"),
        (["I moved to Bergen, my bank is DNB.", "Shall I note it down?", "Don't save it."], "Bergen"),
        (["He drinks.", "I see.", "Please don't hold on to that. My daughter Ida's birthday is 3 May."], "Ida"),
        (["We gave the shed to Ida.", "OK.", "I was rude to Zed. Please do not hold on to that, I was tired."], "Ida"),
        (["dont save this just remember that I'm vegan"], "vegan"),
        (["我搬到卑尔根了", "要我记下来吗？", "不用保存"], "卑尔根"),
    ],
)
def test_what_only_sounds_like_it_takes_nothing_away(opened: Open, conversation: list[str], kept: str) -> None:
    memories = opened()

    memories.remember(by_turns(conversation), user="ana", conversation_id="now", end=True)

    assert is_held(memories, kept)


@pytest.mark.parametrize(
    ("said", "about"),
    [
        ("Please forget that I'm pregnant.", "that I'm pregnant"),
        ("Please delete that I'm a vegetarian from your memory", "that I'm a vegetarian"),
    ],
)
def test_that_may_begin_what_is_to_be_forgotten(said: str, about: str) -> None:
    told = told_to_forget(said)

    assert told is not None
    assert (told.kind, told.about) == ("about", about)


@pytest.mark.parametrize(
    "said", ["My sister gave me her old bike so don't keep it", "老公看见了当没看见，垃圾都是我倒"]
)
def test_what_is_said_of_things_asks_for_nothing(said: str) -> None:
    assert told_to_forget(said) is None


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("Zed comes every May. His passport for the permit is PA7724519, no need to keep that.", "7724519"),
        ("Zed每年五月来住半个月。他身份证440305199305127738，你不用记", "440305"),
    ],
)
def test_where_a_number_is_not_to_be_kept_what_is_told_beside_it_is(opened: Open, said: str, number: str) -> None:
    memories = opened()

    memories.remember([("user", said)], user="ana", conversation_id="now", end=True)

    assert is_held(memories, "Zed")
    assert not is_held(memories, number)


@pytest.mark.parametrize(
    ("known", "said", "yes"),
    [
        ("My budget is $12,000.", "That's not true any more.", "Yes."),
        ("我的预算是五千块。", "这个已经不对了", "是的。"),
    ],
)
def test_what_has_ceased_to_be_true_is_shown_and_goes_after_a_yes(
    opened: Open, known: str, said: str, yes: str
) -> None:
    memories = opened()
    know(memories, "I live in Oslo.")
    say(memories, known)

    answer = say(memories, said)

    assert known[:-1] in answer
    assert answer.endswith(("?", "？"))
    assert is_held(memories, known[:-1])
    say(memories, yes)
    assert not is_held(memories, known[:-1])
    assert not is_held(memories, said)
    assert is_held(memories, "Oslo")


@pytest.mark.parametrize("said", ["That no longer holds.", "那条作废了"])
def test_where_nothing_was_said_before_it_is_asked_what_has_ceased_to_be_true(opened: Open, said: str) -> None:
    memories = opened()
    know(memories, "I live in Oslo.")

    answer = say(memories, said)

    assert "Nothing was changed" in answer or "什么都没有改" in answer
    assert texts(memories)
    assert not is_held(memories, said)


@pytest.mark.parametrize(
    "said", ["it's true now", "That's right.", "that holds now", "That's not true any more, I live in Bergen.", "不对"]
)
def test_what_holds_or_is_corrected_has_not_only_ceased_to_be_true(said: str) -> None:
    assert told_to_forget(said) is None


# --- what is told beside it ------------------------------------------------------------------------------------------

BESIDE = [
    (
        "I play the cello in a quartet.",
        "The cello bit can go, and by the way my new number plate is RX12 KLM.",
        "Yes.",
        "cello",
        "RX12 KLM",
    ),
    (
        "I play the cello in a quartet.",
        "My new number plate is RX12 KLM. Scrub the whole cello saga.",
        "yes please",
        "cello",
        "RX12 KLM",
    ),
    ("我弟在跟房东打官司。", "别再提我弟打官司的事了，对了我的新车牌是京A12345", "是的。", "官司", "京A12345"),
    ("我表哥的电话是五五五。", "能不能把我表哥的电话从你那儿拿掉？另外我下周搬去杭州。", "好的", "表哥", "杭州"),
]


@pytest.mark.parametrize(("known", "said", "yes", "gone", "news"), BESIDE)
def test_what_is_told_beside_a_wish_that_is_asked_about_is_kept(
    opened: Open, known: str, said: str, yes: str, gone: str, news: str
) -> None:
    memories = opened()
    know(memories, known)
    before = set(texts(memories))

    answer = say(memories, said)

    assert answer.endswith(("?", "？"))
    assert is_held(memories, news)
    assert not any(gone in text for text in set(texts(memories)) - before)
    after = say(memories, yes)
    memories.remember([], user="ana", conversation_id="now", end=True)
    assert gone in after
    assert not is_held(memories, gone)
    assert is_held(memories, news)


@pytest.mark.parametrize(("known", "said", "yes", "gone", "news"), BESIDE)
async def test_the_same_awaited_and_nothing_goes_after_a_no(
    opened: Open, known: str, said: str, yes: str, gone: str, news: str
) -> None:
    memories = opened()
    know(memories, known)

    async with AsyncMemories(memories) as awaited:
        for words in (said, "no" if yes.isascii() else "不用了", yes):
            await awaited.talk(words, user="ana", conversation_id="now")
            assert await awaited.flush(30)

    assert is_held(memories, gone)
    assert is_held(memories, news)


@pytest.mark.parametrize(
    ("known", "said", "gone", "news"),
    [
        ("My budget is $12,000.", "Delete my budget. I live in Bergen now.", "12,000", "Bergen"),
        ("My budget is $12,000.", "Delete my budget, and by the way I moved to Bergen.", "12,000", "Bergen"),
        ("My sister lives in Rome.", "Forget my sister. My plate is RX12. My sister hates cats.", "sister", "RX12"),
        ("我的预算是五千块。", "把预算删了，另外我下周搬去杭州", "五千块", "杭州"),
    ],
)
def test_what_is_told_beside_a_wish_that_is_plain_is_kept(
    opened: Open, known: str, said: str, gone: str, news: str
) -> None:
    memories = opened()
    know(memories, known)

    assert gone in say(memories, said)
    memories.remember([], user="ana", conversation_id="now", end=True)

    assert not is_held(memories, gone)
    assert is_held(memories, news)


@pytest.mark.parametrize(
    "said",
    [
        "That stuff about Acme and their offer, forget it, it was private",
        "Forget what I said about Acme and the offer, since I signed something",
        "Forget what I told you about Acme. She would be furious if she knew. Thanks!",
        "忘掉Acme的事，她不想让人知道",
        "忘掉Acme的事，因为已经还清了。谢谢",
    ],
)
def test_the_reason_for_a_wish_is_no_news(opened: Open, said: str) -> None:
    memories = opened()
    know(memories, "Acme made me an offer.")

    say(memories, said)

    assert texts(memories) == []


@pytest.mark.parametrize("yes", ["Yes.", "No."])
def test_what_a_turn_tells_of_the_thing_itself_goes_with_it_after_a_yes(opened: Open, yes: str) -> None:
    memories = opened()
    know(memories, "I play the cello in a quartet.")

    say(memories, "The cello bit can go. My plate is RX12 KLM. The cello was stolen in Graz.")
    assert is_held(memories, "Graz")
    say(memories, yes)
    memories.remember([], user="ana", conversation_id="now", end=True)

    assert is_held(memories, "Graz") == is_held(memories, "cello") == (yes == "No.")
    assert is_held(memories, "RX12 KLM")


@pytest.mark.parametrize("reply", ["Yes.", "No.", "I live in Oslo."])
def test_what_only_the_message_as_a_whole_may_mean_is_kept_unless_it_is_confirmed(opened: Open, reply: str) -> None:
    memories = opened()
    know(memories, "We dig the allotment on Sundays.")

    asked = say(memories, "the allotment thing, scratch what I told you, we keep bees in Porto now")
    assert asked.endswith("?")
    say(memories, reply)
    memories.remember([], user="ana", conversation_id="now", end=True)

    assert is_held(memories, "bees in Porto")
    assert is_held(memories, "Sundays") == is_held(memories, "scratch what I told you") == (reply != "Yes.")


def test_what_the_head_heard_is_gone_to_the_byte_after_a_yes_in_another_process(opened: Open, tmp_path: Path) -> None:
    memories = opened()
    know(memories, "我炒股赔了二十万。")
    assert say(memories, "我炒股赔钱的事，你当耳旁风就行").endswith("？")
    assert is_held(memories, "耳旁风")
    memories.close()

    memories = opened()
    say(memories, "是的。")
    memories.close()

    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(word.encode() in held for word in ("耳旁风", "赔了") for held in files)


def test_another_message_is_no_yes_to_what_was_told_beside_a_wish(opened: Open) -> None:
    memories = opened()
    know(memories, "I play the cello in a quartet.")
    say(memories, "The cello bit can go, and by the way my plate is RX12 KLM.")

    say(memories, "My dog is called Pim.")
    say(memories, "yes")

    assert is_held(memories, "cello")


class _Held(WorkerPool):
    """A queue whose first job of remembering waits until somebody queues another one behind it."""

    def __init__(self) -> None:
        super().__init__(100)
        self.free, self.number = threading.Event(), 0

    def submit(self, key: str, job: Callable[[], object]) -> bool:
        self.number += 1
        if self.number == 2:  # the first one is the wish itself
            super().submit(key, lambda: self.free.wait(30))
        taken = super().submit(key, job)
        if self.number == 3:
            self.free.set()
        return taken


def test_a_yes_is_heard_before_the_news_beside_the_wish_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*given: Any) -> str:
        return "late"

    monkeypatch.setattr("agentic_memory_bank.nodes.conversation.deps.save_turns", late)
    store, queue = SqliteRecordStore(tmp_path / "memories.sqlite"), _Held()
    chat = build_conversation(stores=RecordStores(store, Encoder(HashEmbeddings(64))), background=queue)
    memories = Memories(store, embeddings=HashEmbeddings(64))
    know(memories, "I play the cello in a quartet.")

    def tell(words: str) -> str:
        said: Any = {"messages": [{"role": "user", "content": words}], "conversation_id": "c"}
        context: Any = {"user": "ana", "recall_timeout": 60.0}
        return chat.invoke(said, context=context)["messages"][-1].text

    assert tell("The cello bit can go, and by the way my plate is RX12 KLM.").endswith("?")
    assert not is_held(memories, "RX12 KLM")
    assert "cello" in tell("yes")
    assert queue.flush(30)
    queue.close()

    assert not is_held(memories, "cello")
    assert is_held(memories, "RX12 KLM")
    memories.close()


def test_a_client_that_hands_the_conversation_over_again_keeps_the_news_once(opened: Open) -> None:
    memories = opened()
    know(memories, "I play the cello in a quartet.")
    said: list[Any] = [{"role": "user", "content": "The cello bit can go. My plate is RX12 KLM."}]
    for words in ("yes", "I live in Oslo now.", "What is my number plate?"):
        answer = say(memories, said)
        said += [{"role": "assistant", "content": answer}, {"role": "user", "content": words}]
    say(memories, said)

    assert not is_held(memories, "cello")
    assert sum("RX12" in text for text in texts(memories)) == 1
    assert not any("erase" in text.casefold() for text in texts(memories))


def test_a_chat_model_is_not_asked_for_it(opened: Open) -> None:
    asked: list[str] = []

    class Listener:
        name = "listener"

        def respond(self, situation: Any) -> AIMessage:
            asked.append(situation.message)
            return AIMessage("I see.")

    memories = opened()
    know(memories, "My sister Eva lives in Rome.")
    graph = build_conversation(responder=Listener(), stores=memories._stores)  # pyright: ignore[reportPrivateUsage]
    said: Any = {"messages": [{"role": "user", "content": "Forget my sister Eva."}], "conversation_id": "c"}
    output = graph.invoke(said, context={"user": "ana"})  # type: ignore[arg-type]

    assert asked == []
    assert "Eva" in output["messages"][-1].text
    assert not is_held(memories, "Eva")


@pytest.mark.parametrize(
    ("known", "said", "yes", "gone"),
    [
        (
            "I've started seeing someone, his name is Leif, he drives the mobile library.",
            "I said something about a man from the library. Please take that out, it's private.",
            "Yes.",
            ["Leif", "library"],
        ),
        (
            "老伴体检，肺里有个小结节，五毫米。",
            "老伴肺上查出来的那个东西，你不要留着，她忌讳。",
            "是的。",
            ["结节"],
        ),
    ],
)
def test_what_is_described_goes_with_whom_it_is_about_after_a_yes(
    opened: Open, known: str, said: str, yes: str, gone: list[str]
) -> None:
    memories = opened()
    know(memories, known, "I live in Oslo.")

    answer = say(memories, said)
    held = [is_held(memories, word) for word in gone]
    say(memories, yes)

    assert answer.endswith(("?", "？"))
    assert all(held)
    assert not any(is_held(memories, word) for word in gone)
    assert is_held(memories, "Oslo")


def test_what_is_said_of_somebody_and_oneself_goes_whole(opened: Open) -> None:
    memories = opened()
    know(memories, "Omar and I are separating, he's moving out in May.", "I live in Oslo.")

    if say(memories, "What I said about Omar and me splitting up, please get rid of it.").endswith("?"):
        say(memories, "Yes.")

    assert not any(is_held(memories, word) for word in ("Omar", "separating", "moving out"))
    assert is_held(memories, "Oslo")


def test_what_only_comes_near_is_asked_for(opened: Open) -> None:
    memories = opened()
    know(memories, "I'm having my knee done in March.", "I live in Oslo.")

    answer = say(memories, "Please forget the thing about my knee operation.")

    assert answer.endswith("?")
    assert is_held(memories, "knee")
    say(memories, "Yes.")
    assert not is_held(memories, "knee")


def test_another_project_is_neither_shown_nor_touched(opened: Open) -> None:
    memories = opened()
    memories.remember("My sister Eva lives in Rome.", user="ana", project="work", conversation_id="w", end=True)

    assert "keep nothing" in say(memories, "Forget what I told you about Eva.")
    assert is_held(memories, "Eva")


# --- in anybody's manner of speaking ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "said", "yes", "gone", "kept"),
    [
        (
            ["My aunt Solveig is staying with us.", "The cat is on renal food."],
            "Drop everything about her. Solveig, I mean. If my husband reads this I am dead.",
            "",
            "Solveig",
            "renal",
        ),
        (["seeing this girl yara, shes a nurse", "my van is blue"], "dont keep nothin on yara", "", "yara", "van"),
        (["老罗想跟我搭伙开店。", "我血压高。"], "那个姓罗的，一笔勾销吧，我不想再看见他", "是的。", "老罗", "血压"),
        (["合伙人丁国梁占四成。", "我血压高。"], "国梁跟我掰了，他的那些别留", "是的。", "国梁", "血压"),
        (["上个月开始学潜水。", "我血压高。"], "潜水不学了，耳朵不行，相关的都忘了吧", "是的。", "潜水", "血压"),
    ],
)
def test_a_wish_is_about_whom_and_what_the_clauses_around_it_name(
    opened: Open, known: list[str], said: str, yes: str, gone: str, kept: str
) -> None:
    memories = opened()
    know(memories, *known)

    answer = say(memories, said)
    if yes:
        assert answer.endswith(("?", "？"))
        say(memories, yes)

    assert not is_held(memories, gone)
    assert is_held(memories, kept)


@pytest.mark.parametrize(
    "said",
    [
        "Solveig and I are done with the kitchen, I told her everything.",
        "dont keep nothing in the shed",
        "国梁跟我掰了，他那四成怎么算",
    ],
)
def test_who_only_speaks_of_somebody_wants_nothing_forgotten(opened: Open, said: str) -> None:
    memories = opened()
    know(memories, "My aunt Solveig is staying with us.", "合伙人丁国梁占四成。")

    say(memories, said)

    assert is_held(memories, "Solveig")
    assert is_held(memories, "国梁")


def test_what_was_moved_in_the_same_conversation_goes_with_it(opened: Open) -> None:
    memories = opened()
    for words in (
        "We booked the ferry to Bilbao for 12 June.",
        "Actually we moved it to 19 June",
        "My dentist is Ana.",
    ):
        say(memories, words)

    say(memories, "Forget what I told you about the ferry")

    assert not is_held(memories, "June")
    assert is_held(memories, "dentist")


# --- what only sounds like it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "please delete the section about my sister",
        "Here's my speech draft. Please delete the section about my sister",
        "cut the stuff about my sister, it makes the speech too long",
        "remove the row with my sister from the table",
        "can you remove the reminder about my sister",
        "把关于我妹妹的那段删掉",
        "演讲稿里我妹妹那部分删掉",
    ],
)
def test_an_order_to_edit_a_text_erases_nothing_and_asks_nothing(opened: Open, said: str) -> None:
    memories = opened()
    know(memories, "My sister Aino has a baby", "我妹妹小茹有孩子了")
    held = texts(memories)

    assert wish_in(said) is None
    assert not say(memories, said).rstrip().endswith(("?", "？"))
    assert set(held) <= set(texts(memories))


@pytest.mark.parametrize(
    "said",
    [
        "please remove the note about my sister from your memory",
        "delete what I said in my last message about my sister",
        "remove the bit about my sister",
        "我刚才说的那段妹妹的事删了吧",
    ],
)
def test_what_names_the_memory_or_what_it_was_told_is_a_wish(said: str) -> None:
    assert wish_in(said) is not None


def test_nothing_is_offered_that_is_about_something_else(tmp_path: Path) -> None:
    with Memories(SqliteRecordStore(tmp_path / "memories.sqlite"), settings={"recall_timeout": 60.0}) as memories:
        know(memories, "My bike is a Pelago", "My manager is called Leena", "doctor's put me on sertraline")

        assert "Shall I" not in say(memories, "Forget my shoe size")
        assert "Shall I" not in say(memories, "Delete my divorce")
        assert "sertraline" in say(memories, "forget my tablets")


@pytest.mark.parametrize("said", ["delete my card details", "delete my credit card debt", "forget my letter to Tom"])
def test_what_only_names_such_a_thing_besides_is_a_wish(said: str) -> None:
    assert wish_in(said) is not None
