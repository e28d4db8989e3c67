"""What a later conversation ends, hands over, or gives another value of is found though it repeats no words."""

import pytest

from agentic_memory_bank.engines.extractive.remembering.amendments import retracts
from agentic_memory_bank.engines.extractive.remembering.later import is_of_another, like_value, may_change, outdated


def cut(new: str, old: str) -> list[str]:
    if is_of_another(new, old):
        return []
    return [old[start:end].strip() for start, end in outdated(new, old) or like_value(new, old)]


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("I cycle to work, rain or shine", "I don't cycle any more, my hip", "I cycle to work"),
        ("I'm rowing in the town regatta in June", "I've pulled out of the regatta, bad back", None),
        ("I ride a green Vespa, no helmet hair", "Sold the Vespa, I take the tram", "I ride a green Vespa"),
        ("My girlfriend Ilse is a diver", "Ilse and I split up in April", None),
        ("I work as a joiner at Pask's", "I resigned from Pask's, at last", None),
        ("Ruben checks the orders, twice", "Maija signs off the orders now", "Ruben checks the orders"),
        ("Ines drives the kids to school", "Grandma does the school run now", None),
        ("Our solicitor is Penhale", "We've switched to Abbott for the solicitor stuff", None),
        ("The gardener takes 22 an hour", "The gardening lady wants 26 an hour now", None),
        ("My rent is 900 a month", "The landlord put us up to 980", None),
        ("I take 10mg of lisinopril", "doc upped me to 15mg", None),
        ("公司的采购归老郑审批", "现在采购都找小柳签字了", None),
        ("我开一辆红色的飞度", "飞度卖了，打车上班", None),
        ("我女朋友叫小满", "我跟小满分手了", None),
        ("我每天晚上跑步五公里", "我现在不跑步了，膝盖疼", None),
        ("我爱吃辣", "胃不好，不吃辣了", None),
        ("我养了一只猫叫团子", "团子送给我姐了", None),
        ("我们五一去黄山玩", "算了还是去婺源吧，黄山没房了", None),
        ("我租的房子一个月1800", "房东涨价了，下个月起2000", None),
    ],
)
def test_what_is_over_or_another_one_now_is_found(old: str, new: str, gone: str | None) -> None:
    assert may_change(new)
    assert cut(new, old) == [old if gone is None else gone]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I cycle to work", "My sister doesn't cycle any more"),
        ("I cycle to work", "I don't work on Fridays any more"),
        ("I work at the mill on Mondays", "I gave up the trombone"),
        ("I ride a green Vespa", "My neighbour sold his Vespa"),
        ("My girlfriend Ilse is a diver", "My cousin split up with his girlfriend"),
        ("Ruben checks the orders", "Maija signs off the holidays now"),
        ("Tom teaches yoga on Mondays", "Eva does yoga now"),
        ("The gardener takes 22 an hour", "My brother's gardener takes 26 an hour now"),
        ("My rent is 900 a month", "I pay 60 a month for the gym now"),
        ("My rent is 900 a month", "If the landlord put us up to 980 I'd move out"),
        ("I take 10mg of lisinopril", "I take 15mg of something else as well now"),
        ("公司的采购归老郑审批", "现在报销都找小柳签字了"),
        ("我每天晚上跑步五公里", "今天不跑步了，太累"),
        ("我每天晚上跑步五公里", "我姐不跑步了"),
        ("我周末会喝酒", "他不喝酒了"),
        ("我在光谷上班", "小唐不上班了"),
        ("我在妇幼医院上班", "我老公跳槽了，去了美团"),
        ("我跟室友合住", "我周末回老家了"),
        ("I work at the mill on Mondays", "On Friday my husband got made redundant."),
        ("I work for Pask's in Hull", "Half of marketing got laid off last week."),
        ("我明白这个项目怎么做", "这个项目我不明白了"),
        ("我们五一去黄山玩", "同事说算了还是去婺源吧，黄山没房了"),
        ("我租的房子一个月1800", "要是房东涨到2000我就搬走"),
        ("孩子的画画课一节120", "隔壁小孩的画画课涨到150了"),
        ("双十一备货两万双", "双十一卖了两万三千双"),
    ],
)
def test_what_is_somebody_elses_or_beside_it_or_supposed_changes_nothing(old: str, new: str) -> None:
    assert cut(new, old) == []


@pytest.mark.parametrize("said", ["Scratch that, they've settled on Thursday.", "算了，还是去婺源吧。"])
def test_what_is_taken_back_and_not_named_is_heard(said: str) -> None:
    assert retracts(said)


@pytest.mark.parametrize(
    "said", ["The bins go out on Thursdays now.", "If we went on Thursday instead", "我们去婺源玩。"]
)
def test_what_names_its_thing_or_supposes_it_takes_nothing_back(said: str) -> None:
    assert not retracts(said)
