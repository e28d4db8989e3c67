"""A correction that names nothing of what it corrects takes back what was said last of its kind; news does not."""

import pytest

from agentic_memory_bank.engines.conversation import ExistingMemory, Resolution, Turn
from agentic_memory_bank.engines.extractive.remembering.amendments import amended, retracts
from agentic_memory_bank.engines.extractive.remembering.extraction import select
from agentic_memory_bank.engines.extractive.remembering.resolution import is_comparable, resolve


def resolved(*said: str) -> tuple[list[str], list[Resolution]]:
    """What is drawn of what a user says turn by turn, and what became of each beside those before it."""
    turns: list[Turn] = []
    for place, text in enumerate(said):
        turns.append(Turn(f"u{place}", "user", text, "", "2026-03-02"))
        turns.append(Turn(f"a{place}", "assistant", "Understood.", "", "2026-03-02"))
    facts, known, found = select(turns), list[ExistingMemory](), list[Resolution]()
    for place, fact in enumerate(facts):
        found.append(resolve(fact, [one for one in known if is_comparable(fact, one)]))
        known.append(ExistingMemory(str(place), fact.words, fact.type, 0.5, speaker=fact.speaker, date=fact.date))
    return [fact.words for fact in facts], found


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("The dinner with the Hendersons is on Tuesday.", "scratch that, we settled on Thursday", "Tuesday"),
        ("Leena approves the changes before they go out.", "Otso signs off now.", "Leena"),
        ("Hugo decides what gets published.", "Ines decides now.", "Hugo"),
        ("We're holding the offsite in Leeds.", "Change of plan, it'll be Bristol.", "Leeds"),
        ("I'm flying to Oslo on the 12th.", "Sorry, the 14th I mean.", "12th"),
        ("The quote for the roof was 8k.", "no wait, 9.5k, I looked at the wrong page", "8k"),
        ("My physio is Tom at the Riverside clinic.", "actually I see Wendy these days", "Tom"),
        ("The kickoff call is at 3pm.", "make that half past four", "3pm"),
        ("We're going to call the puppy Biscuit.", "in the end we went with Waffles", "Biscuit"),
        ("I work out on Mondays and Fridays.", "It's Tuesdays and Saturdays from now on", "Mondays"),
        ("Delivery is expected on 3 May.", "pushed back a week, so the 10th", "3 May"),
        ("I take the 7:15 train every morning.", "it's the 7:40 these days", "7:15"),
        ("Sam is picking up the kids on Wednesday.", "Not Sam, Priya.", "Sam"),
        ("Sam is picking up the kids on Wednesday.", "Priya's doing it instead", "Sam"),
        ("The code freeze is 9 May.", "Not the 9th, the 16th.", "9 May"),
        ("The workshop is in room 204.", "it's in 310 now, they swapped us", "204"),
        ("My flight gets in at 9 in the evening.", "correction: 10:40", "9 in"),
        ("We're moving out on the 30th.", "no, the 28th, I misread it", "30th"),
        ("Grandad moves in on the 3rd.", "they've pushed it back to the 17th", "3rd"),
        ("我们定了周三开会。", "算了，改周四吧", "周三"),
        ("国庆打算去重庆玩。", "算了还是去成都吧", "重庆"),
        ("装修预算是八万。", "不对，是十万", "八万"),
        ("审批一直是小王在管。", "现在归老李了", "小王"),
        ("我每天六点起床。", "现在改六点半了", "六点起床"),
        ("我们准备给女儿取名叫婷婷。", "最后定了叫雨桐", "婷婷"),
        ("我的航班是12号的。", "说错了，是14号", "12号"),
        ("我报了瑜伽班，每周二上课。", "调到周五了", "周二"),
        ("面试在浦东的办公室。", "刚通知我换到徐汇了", "浦东"),
        ("聚餐订在海底捞。", "没位子了，换西贝", "海底捞"),
        ("我打算买白色的那款。", "还是黑色吧", "白色"),
        ("闺女小名叫糯米。", "后来改叫团子了", "糯米"),
        ("The dentist is wed at 2.", "and wed's no good, push it to friday", "wed"),
        ("The ferry leaves from Harwich.", "scratch that, Harwich is closed, it's Hull now", "Harwich"),
        ("We booked the Lamb for the reunion, 6pm.", "scratch that, 6 is too early for the kids", "6pm"),
        ("We want 3 waiters and 1 cook for the party.", "actually make it 2 waiters, can't afford 3", "3 waiters"),
        ("It's 4 nights in Ghent.", "and we're staying 5 nights actually", "4 nights"),
        ("Booked the barn for 30 people.", "and make it 38 people, the Hull lot are coming after all", "30"),
        ("周二下午去医院体检。", "周二不行，改到周六吧", "周二"),
        ("国庆打算去厦门，住三晚。", "算了，厦门人太多，改成泉州吧", "厦门"),
        ("We've booked the Bellevue for two nights.", "we're at the Astoria instead", "Bellevue"),
    ],
)
def test_what_is_taken_back_without_its_name_is_replaced(old: str, new: str, value: str) -> None:
    words, found = resolved(old, new)

    assert [one.verdict for one in found] == ["create", "supersede"]
    assert found[1].known == ("0",)
    assert value in words[0]
    assert value not in words[1].removesuffix(new)
    assert value not in found[1].left.get("0", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The dinner with the Hendersons is on Tuesday.", "On Thursday I have the dentist."),
        ("Rent is 900 a month.", "I now pay 40 for the gym."),
        ("My rent is 1,150.", "Mum's pension went up to 1,200."),
        ("The meeting with the bank is at 3pm.", "I got up at 7 today, felt great."),
        ("Leena approves the changes before they go out.", "Otso joined the team last week."),
        ("Hugo decides what gets published.", "Ines swims now."),
        ("We're holding the offsite in Leeds.", "I was in Bristol last week for a course."),
        ("The kickoff call is at 3pm.", "lunch with Ana has moved to 1pm"),
        ("My dog is called Biscuit.", "we now also have a cat, Waffles"),
        ("The quote for the roof was 8k.", "The car now does 40 miles to the gallon."),
        ("My physio is Tom at the Riverside clinic.", "I see a lot of Wendy these days, she's good company"),
        ("I take the 7:15 train every morning.", "the kids are up at 6 these days"),
        ("I work out on Mondays and Fridays.", "The bins go out on Tuesdays now"),
        ("I take 5 mg of it every morning.", "In the end I slept 9 hours."),
        ("I've got 12 hens.", "Sorry, Thursday's no good for a chat."),
        ("Tim walks the dog on weekdays.", "Actually Ruth rang this morning."),
        ("The car needs new tyres, 400 all in.", "No, 2019 was the year we bought it."),
        ("The wedding is on the 21st of June.", "We're up to 80 guests now."),
        ("我们定了周三开会。", "周四我要去看牙。"),
        ("国庆打算去重庆玩。", "我上个月去了成都出差。"),
        ("装修预算是八万。", "车贷还剩十万。"),
        ("审批一直是小王在管。", "老李升职了。"),
        ("儿子在杭州上大学。", "我现在去买菜。"),
        ("我血压150。", "体重现在72公斤。"),
        ("Gran has a cold so Ned walks the dog.", "the inn fell through, we're at the Crown instead"),
        ("The cake takes 3 eggs.", "sorry, 20 minutes late, we have 4 kids in the car"),
        ("Ned walks the dog.", "Ned is out of coffee now"),
        ("Ned walks the dog.", "Ned's off to Leeds now, Ines too"),
        ("周末去婺源，六点集合。", "发烧了，换头孢了"),
        ("我在公司附近租房。", "公司太远了，打算换个地方"),
        ("聚餐订在海底捞。", "我换了新手机。"),
        ("每天走八千步。", "现在十点了，睡了。"),
        ("车子周五去保养。", "算了，不说这个了。"),
        ("老公姓顾，做物流的。", "我最后还是没去。"),
    ],
)
def test_news_takes_nothing_back(old: str, new: str) -> None:
    _, found = resolved(old, new)

    assert {one.verdict for one in found} <= {"create"}


def test_the_correction_is_kept_with_what_it_is_about() -> None:
    words, _ = resolved("The dinner with the Hendersons is on Tuesday.", "scratch that, we settled on Thursday")

    assert words[1] == "The dinner with the Hendersons is scratch that, we settled on Thursday"


def test_the_rest_of_what_is_corrected_stays() -> None:
    _, found = resolved("The dinner is on Tuesday, Ines cooks for all of us, at the lake.", "scratch that, Thursday")

    assert found[1].left == {"0": "Ines cooks for all of us, at the lake."}


def test_a_bare_value_that_answers_a_question_corrects_nothing() -> None:
    assert amended("no, Thursday", ["The dinner with Ines is on Tuesday."], is_answer=True) is None
    assert amended("no, Thursday", ["The dinner with Ines is on Tuesday."]) is not None


def test_the_last_value_of_the_kind_is_the_one_that_is_taken_back() -> None:
    said = ["The dinner with Ines is on Tuesday.", "The dentist is on Friday.", "The roof costs 8k."]
    found = amended("make that Monday", said)

    assert found is not None
    assert said[found.place][slice(*found.gone)] == "The dentist is on Friday"


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (["I work for Siemens in Hamburg.", "We couldn't get a table anywhere last night."], "Ended up at Nando's."),
        (["My shift starts at 2:30 pm", "What a night."], "Got back at 3am in the end."),
        (["我在腾讯上班", "昨晚大家聚餐"], "最后去了海底捞"),
    ],
)
def test_how_a_story_ends_takes_nothing_back_that_was_said_before_it(before: list[str], said: str) -> None:
    assert amended(said, before) is None
    assert not retracts(said)
