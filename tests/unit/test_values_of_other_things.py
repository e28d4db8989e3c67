"""A new value of one thing takes the place of no value of another, said just before, in English and Chinese."""

from collections.abc import Iterator

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings


@pytest.fixture
def memories() -> Iterator[Memories]:
    with Memories(InMemoryStore(), embeddings=HashEmbeddings(64), settings={"recall_timeout": 60.0}) as made:
        yield made


def current(memories: Memories) -> list[str]:
    found = memories.list(user="ana", limit=50).records
    return [one["text"].rpartition("): ")[2] for one in found if one["type"] != "verbatim"]


def say(memories: Memories, *turns: str) -> None:
    talk = [message for turn in turns for message in (("user", turn), ("assistant", "OK."))]
    memories.remember(talk, user="ana", conversation_id="c", end=True)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("孩子家长会是12号下午", "车险涨了,现在四千二"),
        ("小敏延毕了 要到后年一月", "房租又涨 现在三千四了"),
        ("培训8号到12号", "团队加人了,现在五个"),
        ("训练改成周二周四了 体育馆要装修", "零花钱也砍了 现在就400"),
        ("公司有40人", "我工资涨了,现在一万四"),
        ("Sam's party is on the 14th", "gym's gone up, 45 a month now"),
        ("we have 3 cats", "electric's gone up, it's 120 now"),
        ("Dr Pym is my GP", "got a new boss, it's Mr Hale now"),
        ("mum's operation is on the 12th", "rent's gone up, it's 900 now"),
    ],
)
def test_what_names_a_thing_of_its_own_corrects_nothing_else(memories: Memories, before: str, now: str) -> None:
    say(memories, before, now)

    assert sorted(current(memories)) == sorted([before, now])


def test_what_is_only_supposed_corrects_nothing(memories: Memories) -> None:
    say(memories, "they say it'll snow on Friday", "what if I moved to Peru")

    assert [one.startswith("they say it'll snow on Friday") for one in current(memories)] == [True]


@pytest.mark.parametrize(
    ("before", "now", "left"),
    [
        ("my daughter Ivy is 4", "Ivy's gone up to a size 9 shoe", "my daughter Ivy is 4"),
        ("my kids are Ben 9 and Zoe 12", "Ben's up to 5 miles a week on his bike now", "my kids are Ben 9 and Zoe 12"),
        ("Jake's 9 and Alfie's 6", "Alfie's down to 2 puffs", "Jake's 9 and Alfie's 6"),
        ("大宝8岁,二宝5岁", "二宝现在能游30米了", "大宝8岁,二宝5岁"),
        ("the wedding is on 5 June with 80 guests", "guests are down to 65 now", "the wedding is on 5 June"),
        ("my dog Rex is 7 and weighs 30 kilos", "Rex is down to 27 kilos now", "my dog Rex is 7"),
        ("体检报告:尿酸480 血压135/88 甲状腺结节2类", "复查尿酸降到410了", "血压135/88 甲状腺结节2类"),
        ("月支出:房租3000 车贷1800 保险400", "房租涨到3500了", "车贷1800 保险400"),
    ],
)
def test_a_later_value_takes_what_it_is_of_and_leaves_the_others(
    memories: Memories, before: str, now: str, left: str
) -> None:
    for number, said in enumerate((before, now)):
        memories.remember(said, user="ana", conversation_id=str(number), end=True)

    assert sorted(current(memories)) == sorted([left, now])


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("房租是三千", "涨了,现在三千四"),
        ("我们订了12桌", "人少了,减到10桌"),
        ("聚餐定在周三", "下雨了,改到周五"),
        ("航班是九点", "改到十一点四十了"),
        ("the rent is 900", "it's gone up, 950 now"),
        ("The offsite is on Wednesday", "scratch that, we settled on Thursday"),
    ],
)
def test_what_names_nothing_still_corrects_what_was_said_before(memories: Memories, before: str, now: str) -> None:
    say(memories, before, now)

    assert before not in current(memories)
    assert any(now in one for one in current(memories))
