"""A correction in ordinary words replaces the clause it corrects, and leaves the rest."""

import pytest

from agentic_memory_bank.engines.extractive.remembering.changes import announces_change, in_both, replaced, without
from agentic_memory_bank.engines.extractive.remembering.clauses import topical_terms


def cut(new: str, old: str) -> list[str]:
    return [old[start:end].strip() for start, end in replaced(new, old)]


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        (
            "The dinner is on Friday, Ines cooks",
            "scratch that, we settled on Thursday for the dinner",
            "The dinner is on Friday",
        ),
        ("rent is 900 a month, heating included", "the rent went up to 950", "rent is 900 a month"),
        ("Otso approves the invoices", "Leena signs off the invoices now, Otso left", "Otso approves the invoices"),
        ("yoga is on Mondays, in the old gym", "yoga moved to Wednesdays", "yoga is on Mondays"),
        ("we fly to Oslo in May, four of us", "Oslo is off, we go to Bergen in May instead", "we fly to Oslo in May"),
        ("游泳课在周三下午，教练姓林", "游泳课改到周五了", "游泳课在周三下午"),
        ("房租3000，押一付三", "房租涨到3300了", "房租3000"),
        ("我们五月去青岛，一共六个人", "青岛不去了，还是去大连吧，也是五月", "我们五月去青岛"),
        ("I have plot 31, by the gate", "turns out the plot is 13 not 31", "I have plot 31"),
        ("招牌是牛肉面，18一碗，下午三点打烊", "肉涨价了，牛肉面只好卖21了", "18一碗"),
        ("the hip operation is on thursday, she is 78", "op got pushed to friday", "the hip operation is on thursday"),
        ("老陈每周二送菜，一筐60", "老陈不干了，现在是他侄子送", "老陈每周二送菜"),
        ("our phone plan is with Orbit, 30 gigs", "we switched the phone plan to Lumo", "our phone plan is with Orbit"),
        ("my tutor is Mr Adeyemi, very strict", "Adeyemi is off, my tutor's a student now", "my tutor is Mr Adeyemi"),
        ("my physio is Greta Holm, on the quay", "I've got a new physio, Odile", "my physio is Greta Holm"),
        ("our caterer is Bellini's, 40 a head", "we switched caterers, it's Sapori now", "our caterer is Bellini's"),
        ("我家保姆姓冯，做饭很好吃", "换了个保姆，姓葛", "我家保姆姓冯"),
        ("Nora swims Mon to Wed, in the old pool", "Nora swims Thu and Fri now", "Nora swims Mon to Wed"),
        (
            "my back is bad, so I get up and walk every two hours",
            "the walking thing, scratch what I said, the doctor wants ninety minutes",
            "and walk every two hours",
        ),
        (
            "Wednesdays I'm at the Legion for crib, bring nothing",
            "the roof came in so crib is Mondays at the hall till further notice",
            "Wednesdays I'm at the Legion for crib",
        ),
        ("dad's sugar is high, fasting 7.2", "no, dad's fasting sugar isn't 7.2, it's 7.9", "fasting 7.2"),
        (
            "the farm is 610 acres",
            "a correction: I said 610 acres, but I sold the lower farm, it's 540",
            "the farm is 610 acres",
        ),
        ("我爸血压140，吃着药", "我爸血压不是140，是150", "我爸血压140"),
        ("腰不行，L4L5突出", "上回说我突出是L4L5，片子出来是L5S1，以这个为准", "L4L5突出"),
        ("每天早上吃阿司匹林一片，晚上不吃", "阿司匹林停了，换成氯吡格雷，早上一片", "每天早上吃阿司匹林一片"),
    ],
)
def test_what_changed_is_replaced_and_nothing_beside_it(old: str, new: str, gone: str) -> None:
    assert cut(new, old) == [gone]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("yoga is on Mondays", "I play tennis on Wednesdays"),
        ("my physio is Greta Holm", "my sister has a new physio, Odile"),
        ("my boss is Greta Holm", "Walt says his new boss is Odile"),
        ("我的牙医姓冯", "我妹换了个牙医，姓葛"),
        ("my friend is Greta Holm", "I made a new friend, Odile"),
        ("My sister lives in Rome", "I moved to Porto last week"),
        ("yoga is on Mondays", "yoga is on Mondays now, as before"),
        ("设计师是小陈", "小陈把阳台改成了书房"),
        ("我在南京当护士，三班倒", "婚礼不在南京办了，改在宣城"),
        ("女儿在重庆读大学，学护理", "女儿不想当护士了，想考研"),
        ("公司把份子钱降到3800", "体检尿酸降到了390"),
        ("膝盖有点旧伤", "膝盖不行，改游泳了"),
        ("跟同事小裴合住，房租两千二", "咸鸭蛋吃不完分给同事了"),
        ("the grant is 80k dollars", "we closed the round, 1.2 million dollars, so it's off our minds now"),
        ("游泳课在周三下午", "周五我去爬山"),
        ("I teach Python at school", "the code isn't Python, it's Rust"),
        ("I have 5 cats", "the run isn't 5 km, it's 7"),
        ("我家有140平", "血压不是140，是150"),
        ("My dad's blood pressure is 140", "My blood pressure isn't 140, it's 150"),
        ("我妈血压140", "我爸血压不是140，是150"),
        ("The rent of Tom's flat is 900 in Bristol", "My rent isn't 900, it's 950"),
        ("His dose is 50", "Her dose isn't 50, it's 75"),
        ("同事老王工号1024", "我的工号不是1024，是1025"),
        ("We pay 42 for parking at the flat", "My flat isn't 42, it's 24"),
        ("I did a project in Java at university", "The project isn't Java, Kotlin it is"),
        ("I take 50 of sertraline", "I told you I take 50 of sertraline, my husband thinks it's 20 of something else"),
        ("体重80", "上次说体重80，目标是70"),
        ("I'm allergic to car seat fabric", "the car thing, scratch that"),
        ("the dog is called Rex", "the car is in the garage now"),
        ("my back is bad, so I walk every two hours", "the parking thing, scratch what I said, it's free"),
        ("I opened a pottery studio in the old mill", "the pottery studio is doing great now, so many people come"),
        ("I keep pushing the bakery forward, it is hard", "my sister's bakery advice keeps me pushing forward"),
        ("the choir camp brings me so much joy", "the choir brings us joy, so it's only fair that we thank them"),
        ("I want to start a bike repair shop", "I used to hate repair work. Now the bike shop is my whole life"),
        (
            "last Friday I went to a talk about adoption",
            "we passed the adoption interview last Friday, a big move for us",
        ),
        ("我在学做陶艺，想开个陶艺工作室", "陶艺工作室现在人气很好，我特别开心"),
    ],
)
def test_what_is_about_something_else_or_says_the_same_replaces_nothing(old: str, new: str) -> None:
    assert cut(new, old) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the gym costs 40 a month", "I'm wondering if I should switch to the gym on Mill Lane for 35 a month"),
        ("the essay is due on 4 June", "I handed in the outline, and now I'm worried about the essay, I have 10 days"),
        ("the flat has two rooms, rent 900", "I'm considering moving to a flat of three rooms"),
        ("我住在两居室，房租3000", "我在考虑换个三居室，房租4000"),
        ("I'm kinda worried about the exam on 3 May", "I'm kinda worried, the concert was moved to 9 May"),
    ],
)
def test_what_is_only_pondered_or_felt_replaces_nothing(old: str, new: str) -> None:
    assert cut(new, old) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The piano lesson is on Monday", "My wonderful teacher moved the piano lesson to Wednesday"),
        (
            "The team meeting is on Monday",
            "I'm considering a new room but for now we moved the team meeting to Tuesday",
        ),
        ("The board meeting is on Friday", "After considering the options we moved the board meeting to Wednesday"),
        ("My maths exam is on 2 June", "Now I'm worried because my maths exam moved to 9 June"),
        ("例会在周一", "在考虑换个会议室，不过例会改到周二了"),
    ],
)
def test_a_change_is_heard_beside_what_is_pondered_or_felt(old: str, new: str) -> None:
    assert cut(new, old) == [old]


def test_a_word_that_many_memories_share_does_not_tell_what_has_changed() -> None:
    old, new = "the essay is due on 4 June", "Greg moved the essay to the shared folder on 9 June"
    told = [old, "Greg read the essay in May", "the essay is on otters", "我的论文三千字"]

    assert replaced(new, old)
    assert replaced(new, old, topical_terms(told)) == []
    assert topical_terms(["论文要三千字", "老师看了论文", "论文写的是水獭", old]) >= {"论文"}


def test_the_rest_of_a_memory_stays_readable() -> None:
    old = "ceremony on 18 October at the ranch, about 40 guests, Hannah is vegan"

    assert without(old, replaced("the ceremony has moved to 25 October", old)) == "about 40 guests, Hannah is vegan"


@pytest.mark.parametrize("text", ["not 8k any more, the bank gave us 12", "其实我们换到周四了", "算了还是去成都吧"])
def test_ordinary_words_announce_a_change(text: str) -> None:
    assert announces_change(text)


def test_two_corrections_of_one_memory_leave_what_both_leave() -> None:
    assert in_both("budget 20k, designer is Kim, in by May", "designer is Kim, in by May, or June") == (
        "designer is Kim, in by May"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My sister's wedding is on 12 June.", "I left my sister's place on Sunday."),
        ("Mum's birthday is on 4 May.", "Mum left on Thursday."),
        ("The kids have swimming at 5 on Wednesdays.", "The kids are back to school on Monday, thank goodness."),
        ("我爸每周三去医院透析", "我爸周日走了，在这儿住了半个月"),
        ("我姐十月结婚", "我姐八月要搬家"),
        ("小雨对海鲜过敏", "小雨不来了，她要加班"),
        ("我女儿朵朵上三年级", "朵朵说不想学游泳了"),
    ],
)
def test_what_is_told_of_somebody_again_is_not_the_same_thing_anew(old: str, new: str) -> None:
    assert cut(new, old) == []


@pytest.mark.parametrize(
    ("told", "new", "gone"),
    [
        (
            ["the rent is 900 a month", "rent is due on the 1st", "my flatmate pays half the rent"],
            "the rent went up to 950 a month",
            ["the rent is 900 a month", "", ""],
        ),
        (
            ["房租3000一个月", "房租每月一号交", "室友付一半房租"],
            "房租涨到3300了",
            ["房租3000一个月", "", ""],
        ),
        (
            ["My exam is on 2 June", "My exam takes 3 hours", "My exam is in room 14"],
            "My exam moved to 9 June",
            ["My exam is on 2 June", "", ""],
        ),
        (
            ["My exam is on 2 June", "My exam takes 3 hours", "My exam is in room 14"],
            "My exam now takes 4 hours",
            ["", "My exam takes 3 hours", ""],
        ),
        (
            ["My knee surgery is on 4 May", "I need crutches after the knee surgery", "Dr Bell does the knee surgery"],
            "My knee surgery is cancelled",
            ["My knee surgery is on 4 May", "", ""],
        ),
        (
            ["考试在六月二号", "考试要考三个小时", "考试地点在图书馆"],
            "考试改到六月九号了",
            ["考试在六月二号", "", ""],
        ),
    ],
)
def test_where_no_other_word_tells_what_has_changed_a_like_value_has_to(
    told: list[str], new: str, gone: list[str]
) -> None:
    topical = topical_terms(told)

    cut = ["".join(old[start:end] for start, end in replaced(new, old, topical)) for old in told]

    assert topical
    assert cut == gone
