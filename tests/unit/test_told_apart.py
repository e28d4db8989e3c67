"""Documents and values that look alike and are of two things: branches, meetings, entries of a log, plan and result."""

import pytest

from agentic_memory_bank.engines.extractive.comparing.documents import contradictions
from agentic_memory_bank.engines.extractive.reading.figures import figures_of

MEETING = "# Harbour committee, {day}\n\n- The treasurer reported a balance of £{sum}.\n- Present: {n} members.\n"
BRANCH = "# 柳岸书店{name}店\n\n营业时间：每天9:00至21:00。停车场有车位{n}个。店长：{who}。\n"
VISITS = "# {name}: visiting\n\nParking costs {price} for three hours. The shop closes at {hour} pm.\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            MEETING.format(day="8 February 2024", sum="8,204", n=7),
            MEETING.format(day="14 March 2024", sum="6,911", n=9),
        ),
        (BRANCH.format(name="东街", n=40, who="周敏"), BRANCH.format(name="西街", n=25, who="何建国")),
        (
            VISITS.format(name="St Hilda's Clinic", price="£2", hour=6),
            VISITS.format(name="Royal Infirmary", price="£4", hour=8),
        ),
        (
            "# 春游方案一：湖边\n\n湖边可容纳200人，人均费用380元。\n",
            "# 春游方案二：山上\n\n山上可容纳120人，人均费用220元。\n",
        ),
        (
            "# Plan A: the barn\n\nThe feast costs £380 a head, and the bus takes 40 minutes.\n",
            "# Plan B: the hotel\n\nThe feast costs £220 a head, and the bus takes 15 minutes.\n",
        ),
        (
            "3月12日 晴 湿地东岸 记录到白鹭23只、苍鹭4只。\n",
            "10月5日 阴 湿地西岸 记录到白鹭12只、苍鹭9只。\n",
        ),
    ],
    ids=["two meetings", "two branches", "two houses", "two plans, Chinese", "two plans", "two days of a log"],
)
def test_documents_about_two_things_of_a_kind_do_not_contradict(first: str, second: str) -> None:
    assert not contradictions(("a", first), ("b", second))


HOME = "# Orrin House\n\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "The post of the cook at Orrin House is to be filled on 1 April.",
            "That post at Orrin House was filled in August.",
        ),
        ("The budget of the Orrin House fête is £700.", "The Orrin House fête: £640 was spent on it."),
        ("A room at Orrin House costs £90 a night.", "Room 12 at Orrin House, 3 nights, £270."),
        ("The balance of Orrin House is £2,310.", "With a balance of more than £3,000 Orrin House pays no charge."),
        ("Breakfast at Orrin House is not included at Geilo.", "Breakfast of Orrin House on board is included."),
        ("A driving licence is not needed at Orrin House.", "A driving licence was required for that at Orrin House."),
        ("Flowers are not allowed on ward 4 of Orrin House.", "Flowers are allowed at Orrin House."),
        ("Dated: 1797", "Orrin House: a knitted pocket (dates unknown), about 1825."),
    ],
)
def test_values_meant_in_two_ways_do_not_contradict(first: str, second: str) -> None:
    assert not contradictions(("a", f"{HOME}{first}\n"), ("b", f"Orrin House today\n\n{second}\n"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Parking at Orrin House costs £2 for a day.", "Parking at Orrin House costs £4 for a day."),
        ("Flowers are not allowed at Orrin House.", "Flowers are allowed at Orrin House."),
        ("A driving licence is not needed at Orrin House.", "A driving licence is required at Orrin House."),
    ],
)
def test_the_same_said_otherwise_of_one_thing_does(first: str, second: str) -> None:
    assert contradictions(("a", f"{HOME}{first}\n"), ("b", f"Orrin House today\n\n{second}\n"))


@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        ("Ada Sandmoor, engineer, b. 1871 at Orrin.", "Ada was born at Orrin in the spring of 1873.", {"1871", "1873"}),
        (
            "Ada Sandmoor died on 14 March 1931 at Orrin.",
            "She died at Orrin on 2 May 1931.",
            {"14 March 1931", "2 May 1931"},
        ),
        ("The café of Orrin House is open from 9 am to 5 pm.", "The café is open 9 am to 4 pm.", {"5 pm", "4 pm"}),
        (
            "停水时间：上午9:00至下午3:00，Orrin House。",
            "At Orrin House there will be no water from 9 am to 5 pm.",
            {"下午3:00", "5 pm"},
        ),
        ("The frost alarm is set to 3 °C.", "Frost alarm: at 5 degrees C.", {"3 °C", "5 degrees C"}),
    ],
    ids=["born", "died", "hours", "hours in two languages", "degrees"],
)
def test_an_event_or_the_end_of_hours_is_found_in_other_words(first: str, second: str, values: set[str]) -> None:
    (found,) = contradictions(("a", f"{HOME}{first}\n"), ("b", f"Orrin House today\n\n{second}\n"))

    assert {value.strip(" .") for value in found.values} == values


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ada Sandmoor was born in 1871.", "Her grandson Paul was born in 1932."),
        ("The café is open from 9 am to 5 pm.", "On Sunday the café is open from 9 am to 1 pm."),
        ("渡口水库始建于1958年，1961年建成。", "渡口小学成立于1951年，1978年迁至现址，教学楼1996年建成。"),
    ],
    ids=["generations", "another day", "a history"],
)
def test_neither_is_found_of_somebody_else_or_another_day(first: str, second: str) -> None:
    assert not contradictions(("a", f"{HOME}{first}\n"), ("b", f"Orrin House today\n\n{second}\n"))


@pytest.mark.parametrize(("words", "seconds"), [("两小时", 7200), ("半小时", 1800), ("三分钟", 180), ("半天", 43200)])
def test_chinese_hours_and_halves_are_read(words: str, seconds: float) -> None:
    (figure,) = figures_of(f"免费时间为{words}。")

    assert figure.value is not None
    assert figure.value.amount == seconds


@pytest.mark.parametrize("words", ["10-13 July", "10 to 13 July", "5月10日至13日"])
def test_the_other_day_of_a_span_is_no_number(words: str) -> None:
    assert [figure.kind for figure in figures_of(words)] == ["date"]
