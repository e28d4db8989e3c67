"""Memories are shown for a message they help with, and for no other; what a later one replaced is left out."""

import pytest

from agentic_memory_bank.engines.extractive.answering.characters import rare_characters, shared_characters
from agentic_memory_bank.engines.extractive.answering.helping import SHARE_OF_BEST, MessageReading
from agentic_memory_bank.engines.extractive.answering.likeness import Likeness, shown_text
from agentic_memory_bank.engines.extractive.remembering.life import shared_subjects
from agentic_memory_bank.engines.extractive.remembering.queries import is_personal, is_small_talk
from agentic_memory_bank.engines.extractive.remembering.succession import Told, succeeded
from agentic_memory_bank.tools.text.attribution import asks_the_assistant


def like(
    text: str = "", cosine: float = 0.0, coverage: float = 0.0, rarest: float = 0.0, found: float = 1.0, **kind: bool
) -> Likeness:
    known = {"is_marked": False, "is_turn": False, "by_assistant": False, **kind}
    return Likeness(text, "", cosine, coverage, rarest, found, **known)


def helps(message: str, *found: Likeness) -> bool:
    return MessageReading(message, found).helps


@pytest.mark.parametrize(
    "message",
    ["What's the boiling point of nitrogen?", "Write a haiku about the moon.", "李白是哪个朝代的？", "讲个笑话吧"],
)
def test_a_message_about_the_world_needs_no_memory(message: str) -> None:
    told = "We meet at the old mill on Fridays" if message.isascii() else "我们周五在老磨坊见面"

    assert not helps(message, like(told, cosine=0.2 if message.isascii() else 0.6))


@pytest.mark.parametrize(
    ("message", "best"),
    [
        ("Which florist did we choose for my wedding?", like("The florist is Petal & Co", 0.45, 0.4, 0.9)),
        ("我媳妇对什么过敏？", like("我媳妇对芒果过敏", 0.5, 0.2, 0.8)),
        ("岳父的寿宴在哪儿办？", like("我老丈人七十大寿，在红光酒楼摆酒", 0.4)),
        ("Who do I share the apartment with these days?", like("new roommate is Dave, dead quiet", 0.37)),
    ],
)
def test_a_message_about_the_users_own_world_does(message: str, best: Likeness) -> None:
    assert helps(message, best)


def test_without_memories_none_help() -> None:
    assert not helps("Where do I live?")


def test_what_was_extracted_comes_before_the_turn() -> None:
    fact, turn = like("I live in Cork", cosine=0.5), like("I live in Cork", cosine=0.5, is_turn=True)

    chances = MessageReading("Where do I live?", [turn, fact]).chances

    assert chances[1] > chances[0]


def test_what_holds_the_kind_of_thing_that_is_asked_for_comes_first() -> None:
    who, when = like("Otto runs the club with his brother", cosine=0.4), like("the club meets at 8 pm", cosine=0.4)

    chances = MessageReading("When does the club meet?", [who, when]).chances

    assert chances[1] > chances[0]


@pytest.mark.parametrize(
    ("asked", "told", "other"),
    [
        ("What does my girlfriend do for a living?", "I'm seeing someone, a paramedic", "the gate code changed"),
        ("What should a dinner plan for me avoid?", "I'm coeliac", "the bus leaves at nine"),
        ("What are my daughter's interests?", "She's mad about horses", "the gate code changed"),
        ("女儿有什么兴趣？", "她迷上了骑马", "门禁密码换了"),
        ("岳父的寿宴在哪儿办？", "我老丈人七十大寿", "公司把份子钱降到3800"),
        ("晚上请客，我有什么忌口？", "海鲜和啤酒都碰不得", "我们下午五点交班"),
    ],
)
def test_people_tell_in_other_words_than_they_ask(asked: str, told: str, other: str) -> None:
    shares = shared_subjects(asked, [told, other])

    assert shares[0] > shares[1]


def test_function_characters_are_nobodys_subject() -> None:
    assert shared_characters("什么时候去做？", "我们什么时候都行") == 0.0
    assert shared_characters("钢琴课在哪天？", "钢琴在周六") == pytest.approx(2 / 3)


def test_what_words_of_time_mean_is_no_part_of_what_was_said() -> None:
    assert shown_text("I moved yesterday [yesterday = 3 May 2025]") == "I moved yesterday"


@pytest.mark.parametrize(
    "message", ["What did you suggest for dinner?", "which book did you recommend", "你上次推荐的是哪本书？"]
)
def test_what_the_assistant_said_is_asked_for_by_saying_so(message: str) -> None:
    assert asks_the_assistant(message)
    assert not asks_the_assistant("What did I order?")
    assert not asks_the_assistant("Can you suggest some tents?")
    assert not asks_the_assistant("你能推荐几本书吗")


@pytest.mark.parametrize(
    ("message", "told", "cosine", "helps"),
    [
        ("who is my dentist?", "my colleague Ravi does the deploys", 0.15, False),
        ("What's my wife's name?", "my colleague Ravi does the deploys", 0.1, False),
        ("what's my sister's job?", "i currently work at Pixelpark", 0.23, False),
        ("how much did the greenhouse cost?", "to feed the tomatoes i do a capful of seaweed", 0.25, False),
        ("我的牙医是谁？", "房东姓林，人挺好的", 0.3, False),
        ("我女朋友叫什么？", "房东姓林，人挺好的", 0.3, False),
        ("Which database are we on?", "im building a crm for our shop, stack is django + postgresql", 0.25, True),
        ("who is my trainer?", "my trainers called Dee, shes brilliant", 0.59, True),
        ("房东姓什么？", "房东姓林，人挺好的", 0.3, True),
    ],
)
def test_what_a_user_never_told_of_is_met_with_silence(message: str, told: str, cosine: float, helps: bool) -> None:
    others = ("the frontend is htmx, no react please", "tests run in github actions")
    found = [
        Likeness(text, "", near, 0.0, 0.0, 1.0 - 0.2 * place, is_marked=False, is_turn=False, by_assistant=False)
        for place, (text, near) in enumerate([(told, cosine), *((other, 0.05) for other in others)])
    ]

    assert MessageReading(message, found).helps is helps


# --- what a later memory replaced ------------------------------------------------------------------------------------


def kept(message: str, *said: str, chances: tuple[float, ...] = ()) -> list[str]:
    """What is left of what was said, one thing a day, where it is as likely to fit a message; default: all of it is."""
    told = [Told(text, "user", (str(day),), frozenset((str(day),)), is_turn=False) for day, text in enumerate(said)]
    likely, gone = succeeded(message, told, chances or (0.8,) * len(told), 0.35)
    return [one.text for place, one in enumerate(told) if place not in gone and likely[place] >= 0.35 * max(likely)]


@pytest.mark.parametrize(
    ("message", "old", "new"),
    [
        ("How much is the budget?", "the bank gave us 8k", "not 8k any more, the bank gave us 12"),
        ("Who approves changes?", "Leena signs off on changes", "Leena left, Otso signs off now"),
        ("When is the dinner with Ines?", "dinner with Ines on Friday", "scratch that, Ines settled on Thursday"),
        ("Where does my run go?", "my run is Tulsa to Laredo", "I'm running Tulsa to Denver now, no more Laredo"),
        ("When do we meet?", "读书会周三见", "读书会其实我们换到周四了"),
        ("When is the op?", "the hip operation is on thursday", "op got pushed to friday"),
        ("When is the baptism?", "Ruth baptises her boy on the 4th of May", "it got moved, so the 11th of May now"),
        ("How much do I save each month now?", "saving 200 a month for the bike", "I can go up to 260 now"),
        ("What do I do on saturdays these days?", "saturdays I swim at the lido", "lido shut, saturdays is chess now"),
        ("住院是哪天？", "我爸6号住院", "我记错了，是8号住院"),
        ("五一去哪里？", "五一打算去厦门，闺蜜也去", "厦门太贵了，闺蜜想看熊猫，算了还是去成都吧"),
    ],
)  # fmt: skip
def test_what_was_corrected_in_ordinary_words_is_left_out(message: str, old: str, new: str) -> None:
    assert kept(message, old, new) == [new]


def test_a_change_is_found_by_what_it_changes() -> None:
    old, new = "the job at Walt's shop is 14 bucks an hour", "Walt made me manager so now it's 17 an hour"

    assert kept("How much do I earn at the shop?", old, new, chances=(0.7, 0.05)) == [new]


def test_the_later_turn_wins_whichever_is_found_first() -> None:
    assert kept("What is the budget?", "the budget is $10,000", "the budget is $12,000 now", chances=(0.9, 0.6)) == [
        "the budget is $12,000 now"
    ]


@pytest.mark.parametrize(
    ("message", "stays", "goes", "new"),
    [
        ("What do I teach?", "I teach chemistry at a school in Leeds", "the party is in the garden",
         "it'll be at the riding school instead of the garden"),
        ("我在哪儿教书？", "我在一所学校教化学", "生日会在花园里办", "生日会改在马术学校，不在花园了"),
    ],
)  # fmt: skip
def test_who_says_instead_of_what_replaces_nothing_else(message: str, stays: str, goes: str, new: str) -> None:
    assert stays in kept(message, stays, goes, new, chances=(0.8, 0.1, 0.1))


def test_what_another_thing_costs_now_replaces_no_price() -> None:
    flat, car = "the flat costs us 1,150 a month", "the car costs us 240 a month now"

    assert kept("How much is the flat?", flat, car, chances=(0.8, 0.1)) == [flat]


def test_what_a_change_is_about_above_all_has_its_value_anew() -> None:
    old, new = "learning Gaelic for my gran, class is Tuesdays at six", "Gaelic's Wednesdays at half six now"
    other, visit = "gran came, I read to her in Gaelic", "gran's ill now, so I'm going up on Thursday with cake"
    asked = "What evening is my language class?"

    assert kept(asked, old, other, new, chances=(0.85, 0.2, 0.46)) == [new]
    assert old in kept(asked, old, other, visit, chances=(0.85, 0.2, 0.02))


def test_a_change_of_something_else_replaces_no_time() -> None:
    old = "I'm on the Immingham run, days, start at five o'clock"
    new = "tablets have gone up, it's a thousand twice now"

    assert kept("What time do I start in the mornings?", old, new, chances=(0.8, 0.1)) == [old]


@pytest.mark.parametrize(
    ("message", "first", "then"),
    [
        ("What time do I clock on?", "days on the new run, start at five o'clock", "tablets went up, twice a day now"),
        ("When does the show run?", "the show moved to 6 September", "Ines sold the bakery, she starts in October"),
        ("我现在几点上班？", "我改跑夜里了，晚上六点上线", "房子也换了，跟阿峰合租，一个月九百"),
    ],
)
def test_of_the_news_of_one_day_none_replaces_another(message: str, first: str, then: str) -> None:
    told = [
        Told(text, "user", ("2025-04-20", str(n)), frozenset((str(n),)), is_turn=False)
        for n, text in enumerate((first, then))
    ]

    assert succeeded(message, told, (0.7, 0.7), 0.35)[1] == frozenset()


@pytest.mark.parametrize(
    ("message", "old", "new"),
    [
        ("Who's my apprentice?", "apprentice is Kobi, good hands", "new apprentice starts tomorrow, Nikita"),
        (
            "What is Henrietta going to wear?",
            "Henrietta wants a trouser suit",
            "It's not trousers any more, a long dress",
        ),
        ("我的方案是什么？", "饮食方案是每四十分钟一次", "新的饮食方案，每三十分钟一次"),
    ],
)
def test_what_is_called_new_or_is_over_is_left_out(message: str, old: str, new: str) -> None:
    assert kept(message, old, new) == [new]


@pytest.mark.parametrize(
    ("message", "old", "other"),
    [
        ("Who's my apprentice?", "my apprentice is Kobi", "we got new carpets, Nikita chose them"),
        ("What is on the phone?", "the phone has a blue case", "Ruth got the same phone"),
        ("方案是什么？", "饮食方案是每四十分钟一次", "新来的同事姓万"),
    ],
)
def test_what_is_called_new_and_is_something_else_replaces_nothing(message: str, old: str, other: str) -> None:
    assert old in kept(message, old, other, chances=(0.8, 0.2))


def test_a_turn_of_which_nothing_was_drawn_replaces_what_it_changes() -> None:
    old = Told("春赛4月12号在徐州放", "user", ("2025-03-08",), frozenset("1"), is_turn=False)
    new = Told("春赛改期了，挪到4月26号", "user", ("2025-04-20",), frozenset("2"), is_turn=True)

    assert succeeded("春赛是哪天？", [old, new], (0.8, 0.7), 0.35)[1] == frozenset((0,))


@pytest.mark.parametrize("message", ["What was I paid before?", "以前的房租是多少？"])
def test_a_question_for_the_past_keeps_what_was(message: str) -> None:
    assert len(kept(message, "the rent is 900, 房租900", "the rent is 950 now, 房租涨到950了")) == 2


def test_a_later_amount_of_something_else_does_not_take_the_place_of_the_one_asked_for() -> None:
    guests, caterer = "guests are more like 95", "the caterer wants 7,100 now for that many"

    assert guests in kept("how many guests?", guests, caterer, chances=(0.8, 0.1))


def test_what_changes_something_else_replaces_nothing() -> None:
    assert len(kept("When is the piano lesson?", "the piano lesson is on Saturday", "I switched to decaf")) == 2


@pytest.mark.parametrize(
    ("message", "first", "then"),
    [
        ("What animals live with us?", "our cat is called Mia", "we got a dog as well, Rex"),
        ("Who teaches at the studio?", "teachers are Ketut and Wayan", "Sara joins the teachers, too"),
        ("Which instruments do I play?", "I play the cello", "I play the oboe in the town band now"),
        ("我弹哪些乐器？", "我弹钢琴", "我现在弹吉他"),
        ("art class: when is it and what do I bring?", "art class is on Wednesdays at four", "art wants a soft pencil"),
        ("伴娘都有谁？", "伴娘是小雅和豆豆", "伴娘再加一个室友阿宁"),
        ("我家养了哪些宠物？", "家里有只猫叫咪咪", "又养了条狗叫旺财"),
    ],
)
def test_what_comes_beside_something_does_not_replace_it(message: str, first: str, then: str) -> None:
    assert kept(message, first, then) == [first, then]


@pytest.mark.parametrize(
    ("message", "first", "then"),
    [
        ("Which ward's my dad in?", "my dad's in the Royal, ward 9, visits after two", "dad's been moved to ward 14"),
        ("Which days do I work?", "I work Mondays and Tuesdays", "I work Thursdays and Fridays now"),
        ("现在我能不能喝咖啡？", "医生说我不能喝咖啡", "胃好了，现在可以喝咖啡了"),
    ],
)
def test_what_has_changed_is_left_out_however_it_is_asked_for(message: str, first: str, then: str) -> None:
    assert kept(message, first, then) == [then]


@pytest.mark.parametrize(
    ("message", "first", "then"),
    [
        ("When is mum's birthday?", "mum's birthday is 3 June", "dad's birthday is 9 October"),
        ("where does Anna live now?", "my friend Anna lives in Cardiff", "now my friend Ben lives in Lyon"),
        ("我妈的生日是哪天？", "我妈的生日是三月六号", "我爸的生日是五月九号"),
    ],
)
def test_what_is_told_of_somebody_else_replaces_nothing(message: str, first: str, then: str) -> None:
    assert first in kept(message, first, then)


@pytest.mark.parametrize(
    ("message", "first", "then"),
    [
        ("What am I allergic to?", "I'm allergic to penicillin", "turns out I'm allergic to kiwi now"),
        ("What food makes me ill?", "I'm allergic to peanuts", "turns out I'm allergic to prawns now"),
        ("What can’t I eat?", "no peanuts for me", "no peanuts or prawns for me now"),
        ("我对什么过敏？", "我对青霉素过敏", "查出来现在我对芒果过敏"),
        ("我吃什么会出事？", "我对虾过敏", "查出来现在我对芒果过敏"),
    ],
)
def test_what_somebody_must_not_have_is_never_replaced(message: str, first: str, then: str) -> None:
    assert kept(message, first, then) == [first, then]


@pytest.mark.parametrize(
    ("message", "old", "new"),
    [
        ("Which machine do I sew on?", "I sew on a Bernina", "traded the Bernina for a Juki"),
        ("who does the early shift?", "Kofi does the early shift", "Kofi went home, Mabel has the early shift"),
        ("谁来打扫？", "打扫请的是方阿姨", "方阿姨回老家了，打扫的是韩姐"),
    ],
)
def test_who_or_what_took_the_place_of_another_is_left(message: str, old: str, new: str) -> None:
    assert kept(message, old, new) == [new]


def test_a_later_memory_replaces_what_it_is_closest_to_and_nothing_else() -> None:
    group, swim = "the carers meet on Mondays at the hall", "swim class is Tuesdays and Fridays at the lido"
    moved = "swim class at the lido moved to the hall, Fridays only"

    assert kept("When do the carers meet?", group, swim, moved, chances=(0.9, 0.1, 0.4)) == [group, moved]


def test_nobody_replaces_what_somebody_else_said() -> None:
    texts = ("the boat is moored at Skye", "the boat is moored at Oban now")
    told = [
        Told(text, speaker, (str(day),), frozenset((str(day),)), is_turn=False)
        for day, (text, speaker) in enumerate(zip(texts, ("Ana", "Ben"), strict=True))
    ]

    assert succeeded("Where is the boat moored?", told, (0.8, 0.8), 0.35)[1] == frozenset()


def test_of_what_fits_alike_the_later_comes_first_and_age_alone_hides_nothing() -> None:
    texts = ["we practise in the old hall by the river", "we practise in the new hall by the river"]
    found = [
        Likeness(text, "", 0.5, 0.5, 0.5, 1.0, is_marked=False, is_turn=False, by_assistant=False, recent=recent)
        for text, recent in zip(texts, (0.0, 1.0), strict=True)
    ]
    old, new = MessageReading("where do we practise?", found).chances

    assert SHARE_OF_BEST * new <= old < new


def test_what_few_memories_hold_says_more_of_a_chinese_question_than_what_all_do() -> None:
    texts = ["鸽子四十二羽", "鸽子丢了一羽，等鸽子回来", "老鹰抓鸽子，画鹰眼"]

    assert rare_characters("怕老鹰抓鸽子", texts)[2] > 2 * rare_characters("怕老鹰抓鸽子", texts)[0]


def test_the_commonest_characters_say_little_of_what_a_question_is_about() -> None:
    assert shared_characters("比赛", "春赛在徐州") > 0.5 > shared_characters("比赛", "比较贵")


def test_a_chinese_message_about_a_work_that_no_memory_names_needs_none() -> None:
    found = [
        Likeness("我叫何岚，养了一只鸽子", "", 0.1, 0.0, 0.0, 1.0, is_marked=False, is_turn=False, by_assistant=False)
    ]

    assert not MessageReading("《红楼梦》里林黛玉的丫鬟叫什么？", found).helps


@pytest.mark.parametrize(("asked", "is_own"), [("What do I ask per hour?", True), ("Can I ask how tall it is?", False)])
def test_what_somebody_asks_for_their_work_is_theirs(asked: str, is_own: bool) -> None:
    assert is_personal(asked) is is_own


@pytest.mark.parametrize(
    "text",
    [
        "Keep going!",
        "Way to go!",
        "Long time no talk!",
        "You got this!",
        "Of course!",
        "Your words mean a lot.",
        "That sounds awesome!",
        "Can't wait!",
        "I appreciate your support.",
    ],
)
def test_what_only_keeps_a_talk_going_is_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "Of course my sister Ann lives in Leeds.",
        "For sure we move in May.",
        "Nice job offer came in from Leeds.",
        "It means a lot to me that Ann came on Tuesday.",
        "Can't wait to move to Leeds in May.",
        "Keep going to the gym, says my doctor.",
        "You did it yourself in 2019.",
        "It looks great on the roof of my new house.",
    ],
)
def test_what_begins_like_small_talk_and_tells_something_is_none(text: str) -> None:
    assert not is_small_talk(text)
