"""A correction, an order to edit a text and news are no wishes to forget, whatever they sound like; and some wishes."""

import pytest

from agentic_memory_bank.engines.extractive.forgetting import wish_in


@pytest.mark.parametrize(
    "said",
    [
        "forget the kitchen quote, new one's 7,200 from Wickes",
        "forget the Crown, it's the village hall now",
        "装修报价忘了吧,新的是七万二",
        "王医生忘掉,现在看的是李医生",
        "九点那班删了,改成十一点四十虹桥",
        "我跟学生说周五的考试不用记了,改到周二",
        "delete the bit about Brecht, it's too long",
        "cut the bit about Uncle Ron, it's not funny",
        "remove the part about the team of 5, sounds like bragging",
        "把布莱希特那部分删掉,太长了",
        "老刘的微信我删了,这人太烦",
        "把我姐从群里删了，她太吵了",
        "领导让我把工资那栏删掉，怎么弄",
        "delete Nora from the whatsapp group, she left us on Friday",
        "please take Nora off the guest list",
        "let's leave my sister out of it. We need 30 chairs for the party.",
        "我让中介把我电话删了,还是天天打",
        "那些照片我删了",
    ],
)
def test_what_corrects_edits_or_tells_is_no_wish(said: str) -> None:
    assert wish_in(said) is None


@pytest.mark.parametrize(
    ("said", "about", "is_sure"),
    [
        ("Please do not keep that I failed my driving test", "I failed my driving test", True),
        ("Kindly delete that I failed my driving test", "I failed my driving test", True),
        ("just wipe everything u got on macy", "macy", True),
        ("forget the driving test", "driving test", False),
        ("心理医生那段删掉", "心理医生", False),
        ("离婚那段删了", "离婚", False),
        ("请忘记阿杰", "阿杰", False),
        ("把麻糬皮膚過敏的事刪掉", "麻糬皮膚過敏", True),
        ("我爸失業的事他不想讓別人知道，幫我刪掉", "我爸失業的事", True),
        ("小周的事情全部给我删了嘛", "小周的事情", True),
        ("阿哥欠债啲嘢唔好记喇，删咗佢", "阿哥欠债", True),
        ("脚扭伤好了，那个不用记了，忘掉", "脚扭伤", False),
        ("那双鞋多少钱你赶紧给我忘喽", "鞋多少钱", True),
        ("Strike the Lisbon item, we're not going.", "Lisbon item", True),
    ],
)
def test_wishes_in_further_words_are_heard(said: str, about: str, is_sure: bool) -> None:
    wish = wish_in(said)

    assert wish is not None
    assert about in wish.telling.about
    assert wish.telling.is_sure is is_sure


@pytest.mark.parametrize(
    "said", ["forget what I just said", "please delete what I just said", "delete my last message"]
)
def test_what_was_just_said_is_meant_where_it_is_named(said: str) -> None:
    wish = wish_in(said)

    assert wish is not None
    assert wish.telling.kind == "this"


def test_what_somebody_does_now_is_kept_beside_what_they_give_up() -> None:
    wish = wish_in("forget law, I'm applying for nursing")

    assert wish is not None
    assert wish.news == "I'm applying for nursing"


def test_what_has_happened_is_kept_until_a_yes() -> None:
    wish = wish_in("小王的钱还清了,这事翻篇了")

    assert wish is not None
    assert not wish.telling.is_plain
