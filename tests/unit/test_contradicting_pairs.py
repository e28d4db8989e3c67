"""Small documents about one thing, and about two: what is announced in many words, said to be so or not, or labelled.

Each pair is a document with another one that changes it, denies some of it or gives another figure; the last list has
pairs of which nothing contradicts, alike as they are.
"""

import pytest

from agentic_memory_bank.engines.extractive.comparing import documents, opposed
from agentic_memory_bank.engines.extractive.comparing.documents import contradictions
from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction
from agentic_memory_bank.engines.extractive.reading.label_units import unit_of
from agentic_memory_bank.engines.extractive.reading.revisions import revisions_of
from agentic_memory_bank.engines.extractive.reading.statements import read
from agentic_memory_bank.engines.extractive.reading.states import states_in

CLUB = """# Brackwater Canoe Club - handbook

## 1 Membership
The yearly subscription is £64 for adults and £22 for under-18s.
New members pay a joining fee of £15.

## 2 Evenings
Club evening is every Tuesday at 19:00 in the Old Boathouse.
The treasurer is Moira Keane.

## 3 Boats
Boats may be taken out on your own.
Each locker costs £30 a year.
The club has 18 canoes and 6 kayaks.

## 4 Trips
The spring trip to the Wye starts on 3 May and lasts four days.
Meeting point is the car park of the Red Lion.
"""


def mail(body: str) -> str:
    head = "From: Moira Keane\nTo: members of Brackwater Canoe Club\nDate: Mon, 3 Mar 2025\n"
    return f"{head}Subject: Brackwater Canoe Club: news\n\nDear all,\n\n{body}\n\nMoira\n"


ANNOUNCED = [
    (
        CLUB,
        mail("From April club evening will be on Wednesdays at 19:30, not Tuesdays."),
        "every Tuesday",
        "Wednesdays",
    ),
    (CLUB, mail("We have had to put up the subscription for adults: it is now £72."), "£64", "£72"),
    (CLUB, mail("The spring trip to the Wye has slipped by a week and now starts on 10 May."), "3 May", "10 May"),
    (CLUB, mail("Please note a mistake in the handbook: a locker is £35 a year, not £30."), "£30", "£35"),
    (CLUB, mail("The joining fee is abolished from today."), "joining fee", "abolished"),
    (
        CLUB,
        mail("The Old Boathouse is closed for repairs. Until further notice we meet in the village hall instead."),
        "Old Boathouse",
        "village hall",
    ),
    (
        CLUB,
        mail("Section 4 of the handbook is out of date: the trip lasts five days this year."),
        "four days",
        "five days",
    ),
    (CLUB, mail("We do not meet in the car park of the Red Lion but at the church."), "Red Lion", "church"),
    (
        CLUB,
        mail("I am handing over the accounts: Peter Lomas takes over as treasurer on 1 April."),
        "Moira Keane",
        "Peter Lomas",
    ),
    (CLUB, mail("Two canoes were stolen last week, so that the club now has 16 canoes."), "18 canoes", "16 canoes"),
    (CLUB, mail("Contrary to what the handbook says, the spring trip starts on 4 May."), "3 May", "4 May"),
    (CLUB, mail("The handbook gives 19:00 as the start of club evening. It should be 18:30."), "19:00", "18:30"),
    (CLUB, mail("Correction: the subscription for under-18s is £25."), "£22", "£25"),
    (CLUB, mail("The Wye trip has been brought forward to 26 April."), "3 May", "26 April"),
    (CLUB, mail("As of 1 June lockers will cost £40 a year."), "£30", "£40"),
    (CLUB, mail("Club evening moves to Thursday at the same time."), "Tuesday", "Thursday"),
    (CLUB, mail("New members no longer have to pay a joining fee."), "joining fee", "no longer"),
]
ZH = """# 青禾社区图书室使用须知

一、开放时间
周一至周五上午9:00至下午5:00开放，周末闭馆。

二、借阅
每人每次可借图书5册，借期30天。
逾期每天收取滞纳金0.2元。

三、押金
办理借书证须交押金100元。

四、活动
读书会每月第二个周六下午2:00在二楼活动室举行。
图书室负责人为刘敏。
图书室现有藏书8600册。
"""


def ann(body: str) -> str:
    return f"青禾社区图书室通知\n\n各位居民：\n\n{body}\n\n青禾社区居委会\n2025年3月6日\n"


ANNOUNCED_CHINESE = [
    (ZH, ann("自4月1日起，每人每次借书数量由5册增加到8册。"), "5册", "8册"),
    (ZH, ann("借期缩短为21天，请按时归还。"), "30天", "21天"),
    (ZH, ann("即日起办理借书证不再收取押金。"), "押金100元", "不再"),
    (ZH, ann("因活动室装修，读书会改在一楼大厅举行。"), "活动室", "一楼大厅"),
    (ZH, ann("读书会时间调整为每月第三个周日下午3:00。"), "第二个周六", "第三个周日"),
    (ZH, ann("须知中写明滞纳金为0.2元，有误，应为0.1元。"), "0.2元", "0.1元"),
    (ZH, ann("刘敏同志已调离，图书室负责人由王建国接任。"), "刘敏", "王建国"),
    (ZH, ann("从下周开始，周末也开放，时间为上午10:00至下午4:00。"), "周末闭馆", "周末也开放"),
    (ZH, ann("滞纳金即日起取消。"), "滞纳金", "取消"),
    (ZH, ann("押金标准提高至150元。"), "100元", "150元"),
    (ZH, ann("须知第二条中“30天”改为“45天”。"), "30天", "45天"),
    (ZH, ann("经清点，现有藏书应为8260册，须知所列数字系笔误。"), "8600册", "8260册"),
]
HOTEL = """# Hotel Seeblick - house information

Breakfast is included in the price of the room. It is served from 7 to 10.
Dogs are welcome.
Parking in the garage is free for guests.
The lift runs until midnight.
The sauna is open every day.
Towels are provided.
Guests must register at the desk on arrival.
"""


def page(body: str) -> str:
    return f"# Hotel Seeblick on the web\n\n{body}\n"


OPPOSED = [
    (HOTEL, page("Breakfast is not included and costs 18 euros."), "included", "not included"),
    (HOTEL, page("Sorry, no dogs."), "welcome", "no dogs"),
    (HOTEL, page("Dogs are not allowed in our house."), "welcome", "not allowed"),
    (HOTEL, page("Parking in the garage is charged at 12 euros a night."), "free", "charged"),
    (HOTEL, page("The sauna is closed."), "open every day", "closed"),
    (HOTEL, page("Towels are not provided; please bring your own."), "provided", "not provided"),
    (HOTEL, page("Guests do not have to register."), "must register", "not have to"),
    (HOTEL, page("The lift is out of order."), "runs", "out of order"),
]
ZHOTEL = "海景酒店住客须知\n\n房价含早餐。\n酒店允许携带宠物。\n住客停车免费。\n游泳池全年开放。\n客房提供洗漱用品。\n"
OPPOSED_CHINESE = [
    (ZHOTEL, "海景酒店预订确认\n\n房价不含早餐，早餐另付48元。\n", "含早餐", "不含早餐"),
    (ZHOTEL, "海景酒店常见问题\n\n酒店禁止携带宠物。\n", "允许", "禁止"),
    (ZHOTEL, "海景酒店常见问题\n\n停车按每晚30元收费。\n", "停车免费", "收费"),
    (ZHOTEL, "海景酒店常见问题\n\n客房不提供洗漱用品，请自备。\n", "提供", "不提供"),
]
PUMP = (
    "# Data sheet Corvex P4 pump\n\n| property | value |\n|---|---|\n| Weight (kg) | 23 |\n"
    "| Flow (litres/min) | 140 |\n| Price (€) | 480 |\n| Warranty (months) | 24 |\n\n"
    "The Corvex P4 draws 900 W.\n"
)


def shop(body: str) -> str:
    return f"Corvex P4 at Hydromart\n\nThe Corvex P4 is our best-selling pump.\n{body}\n"


LABELLED = [
    (PUMP, shop("It weighs 28 kg."), "23", "28 kg"),
    (PUMP, shop("Price: €520"), "480", "520"),
    (PUMP, shop("The warranty lasts 36 months."), "24", "36"),
]
OTHER_WORDS = [
    (PUMP, shop("The maker guarantees it for three years."), "24", "three years"),
    (CLUB, "# Brackwater Canoe Club\n\nWe own 20 canoes and meet every Friday.\n", "18 canoes", "20 canoes"),
    (
        CLUB,
        "# Brackwater Canoe Club\n\nCome to our club evening on Thursdays at seven in the Old Boathouse.\n",
        "Tuesday",
        "Thursdays",
    ),
    (CLUB, "# Brackwater Canoe Club\n\nTreasurer: Ann Doyle\n", "Moira", "Ann Doyle"),
    (CLUB, "# Brackwater Canoe Club\n\nThe Wye trip in spring: 17 May, six days.\n", "3 May", "17 May"),
    (ZH, "青禾社区网站\n\n青禾社区图书室的书可以借15天。\n", "30天", "15天"),
    (ZH, "青禾社区网站\n\n青禾社区图书室的借书证押金为50元。\n", "100元", "50元"),
]
ALIKE = [
    (
        "# Vacancy: cook\n\nThe Lindgate Hotel seeks a cook. The pay is £14.20 an hour. Weekend work is required.\n",
        "# Vacancy: driver\n\nThe Lindgate Hotel seeks a driver. The pay is £12.80 an hour. No weekend work.\n",
    ),
    (
        "# 摄影入门班\n\n时间：每周三晚上7:00\n学费：600元\n讲师：王磊\n不提供讲义。\n",
        "# 书法提高班\n\n时间：每周六上午9:00\n学费：800元\n讲师：赵敏\n提供讲义。\n",
    ),
    (
        "Flat 3, Wharf House\n\nThe rent is £850 a month. Heating is included. Pets are allowed.\n",
        "Flat 7, Wharf House\n\nThe rent is £990 a month. Heating is not included. Pets are not allowed.\n",
    ),
    (
        "# NetBox X1\n\nThe NetBox X1 has four ports. WPS is supported. The power adapter is included.\n",
        "# NetBox X5\n\nThe NetBox X5 has eight ports. WPS is not supported. The power adapter is not included.\n",
    ),
    (
        "# 一号楼住户须知\n\n一号楼电梯正常运行。顶楼不开放。门禁卡押金50元。\n",
        "# 二号楼住户须知\n\n二号楼电梯停运检修。顶楼开放。门禁卡押金80元。\n",
    ),
    (
        CLUB,
        CLUB.replace("Brackwater Canoe", "Tidewell Rowing")
        .replace("£64", "£80")
        .replace("Tuesday", "Friday")
        .replace("Moira Keane", "Ben Ott")
        .replace("Old Boathouse", "Pier House")
        .replace("Wye", "Tees")
        .replace("Red Lion", "White Hart")
        .replace("3 May", "9 June"),
    ),
    (CLUB, mail("The summer trip to the Severn starts on 12 July. We meet at the station.")),
    (CLUB, mail("Last year the subscription was £58, and the trip lasted three days.")),
    (CLUB, mail("If we bought two more canoes we would have 20 canoes.")),
    (CLUB, mail("The clubhouse of the neighbours is closed. Their club evening is on Mondays.")),
    (CLUB, mail("Parking in the yard is £2 for visitors. The bar is open until eleven.")),
    (HOTEL, "# Hotel Bergblick\n\nBreakfast is not included. No dogs. The sauna is closed on Mondays.\n"),
    (HOTEL, page("The sauna of the spa next door is closed. Lunch is not included. Cats are not allowed.")),
    (HOTEL, page("Breakfast in bed is not available. Bicycles are free of charge. The bar is closed on Sundays.")),
    (ZH, ZH.replace("青禾", "红星").replace("5册", "3册").replace("刘敏", "陈立").replace("100元", "60元")),
    (ZH, ann("图书室将举办摄影展，3月20日开幕，每天接待参观者50人。")),
    (ZHOTEL, "山景酒店须知\n\n房价不含早餐。\n酒店禁止携带宠物。\n"),
    (ZHOTEL, "海景酒店常见问题\n\n房价不含午餐。会议室按小时收费。健身房目前关闭。\n"),
    (PUMP, PUMP.replace("P4", "P7").replace("23", "31").replace("480", "690").replace("900", "1,300")),
    (PUMP, shop("The Corvex P7 weighs 31 kg and costs €690.")),
    (
        "# Invoice 2024-117\n\nFrom: Lindqvist Print, Malmo\nTo: Harbour Museum\n\n"
        "| item | amount (SEK) |\n|---|---|\n| Posters | 4,200 |\n| Delivery | 300 |\n"
        "| Total | 4,500 |\n\nDue: 14 May 2024\n",
        "# Invoice 2024-131\n\nFrom: Lindqvist Print, Malmo\nTo: Harbour Museum\n\n"
        "| item | amount (SEK) |\n|---|---|\n| Posters | 5,100 |\n| Delivery | 350 |\n"
        "| Total | 5,450 |\n\nDue: 2 June 2024\n",
    ),
    (
        "# Server alpha\n\nalpha has 32 GB of memory and runs Debian 12. Backups are made at 2:00.\n"
        "It is open to the outside.\n",
        "# Server beta\n\nbeta has 64 GB of memory and runs Debian 11. Backups are made at 3:00.\n"
        "It is not open to the outside.\n",
    ),
    (
        "# Annual report 2022\n\n"
        "The Harbour Museum had 41,200 visitors. Income was £312,000. The cafe was closed all year.\n",
        "# Annual report 2023\n\n"
        "The Harbour Museum had 48,900 visitors. Income was £355,000. The cafe was open all year.\n",
    ),
]


@pytest.mark.parametrize(("first", "second", "was", "is_now"), [*ANNOUNCED, *ANNOUNCED_CHINESE])
def test_what_is_announced_is_found_and_holds(first: str, second: str, was: str, is_now: str) -> None:
    (found,) = contradictions(("first.md", first), ("second.txt", second))

    assert was in found.first.text
    assert is_now in " ".join(found.second.text.split())
    assert found.holds in (1, None)  # "(the club) now has 16 canoes" says which is later, "£25" under "Correction" too


@pytest.mark.parametrize(("first", "second", "was", "is_now"), [*OPPOSED, *OPPOSED_CHINESE, *LABELLED, *OTHER_WORDS])
def test_what_excludes_each_other_is_found_and_stays_open(first: str, second: str, was: str, is_now: str) -> None:
    (found,) = contradictions(("first.md", first), ("second.txt", second))

    assert was in found.first.text
    assert is_now in " ".join(found.second.text.split())
    assert found.holds is None


BOAT = """# {name}

{kind}, built {built}. Owner: Femke Visser, Monnickendam.

## Sails
{sails}

## Moorings
{mooring}

## Repairs
| When | What | By whom |
|---|---|---|
| {when} | Hull scraped | Piet |

Weighs {weight}.
"""
MARIJKE = BOAT.format(
    name="Marijke", kind="Tjalk", built="1911", sails="Two, tanned.", mooring="Quay 3, paid to June.",
    when="2 May", weight="31 t (crane, 2 May)",
)  # fmt: skip
ZEEMEEUW = BOAT.format(
    name="Zeemeeuw", kind="Botter", built="1907", sails="Three, white.", mooring="Quay 7, paid to August.",
    when="9 May", weight="28 t (crane, 9 May)",
)  # fmt: skip
SWIM = """青桐小学{grade}游泳课通知

尊敬的{grade}家长:
我校{grade}定于 {day}起上游泳课。
集合:下午 {hour},学校{gate}。
费用:每人 {fee} 元。
回执请于 {back}前交班主任。
"""
SECOND = SWIM.format(grade="二年级", day="4 月 8 日", hour="1:20", gate="南门", fee="260", back="4 月 1 日")
FOURTH = SWIM.format(grade="四年级", day="4 月 15 日", hour="2:10", gate="北门", fee="340", back="4 月 3 日")
LEDGER = "# 台账 河口-07\n\n| 项目 | 配置 |\n|---|---|\n| 内存 | 96 GB |\n| 硬盘 | 4 TB |\n"
DUTY = "河口-07 值班日志\n\n3 月 5 日 内存告警,已申请把内存加到 192 GB,等批复。\n"


@pytest.mark.parametrize(("first", "second"), [(SECOND, FOURTH), (LEDGER, DUTY)])
def test_notices_to_two_classes_and_what_is_applied_for_do_not_contradict(first: str, second: str) -> None:
    assert not contradictions(("a.md", first), ("b.md", second))


def test_records_of_two_of_a_kind_are_told_apart_by_their_titles() -> None:
    assert documents._are_twins(read(MARIJKE), read(ZEEMEEUW))


@pytest.mark.parametrize(
    ("change", "said", "is_the_same"),
    [
        ("The default of `retry_limit` goes from 15 to 40.", "`retry_limit` is 40 by default.", True),
        ("The default of `retry_limit` goes from 15 to 40.", "`retry_limit` is 15 by default.", False),
        ("会费由 80 元调整为 95 元。", "每年会费 95 元。", True),
        ("会费由 80 元调整为 95 元。", "每年会费 80 元。", False),
    ],
)
def test_a_change_to_what_another_document_says_is_none(change: str, said: str, is_the_same: bool) -> None:
    (first,), (second,) = read(change).statements, read(said).statements
    found = FoundContradiction(first, second, "number", ("15", "40"), None, 1.0)

    assert found.says_nothing == found.mirrored().says_nothing == is_the_same


def test_what_is_said_to_stay_is_no_change() -> None:
    text = "AMENDMENT to the notice\n\nThe first race on Saturday starts at 11:00 now. Sunday is not\n    affected.\n"
    changes = [one.statement.text for one in revisions_of(read(text, "amendment.txt"))]

    assert any("Saturday" in one for one in changes)
    assert not any("Sunday" in one for one in changes)


def test_what_one_is_told_not_to_do_denies_nothing() -> None:
    (told,) = read("Never use steel wool on the lining.").statements
    (denied,) = read("The lining was never scratched.").statements

    assert not [one for one in opposed._said(told) if not one.holds]
    assert [one for one in opposed._said(denied) if not one.holds]


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_what_is_alike_and_of_other_things_does_not_contradict(first: str, second: str) -> None:
    assert contradictions(("first.md", first), ("second.txt", second)) == ()


BRIDGE = "# Kestrel Bridge\n\nThe Kestrel Bridge over the Orrin was built in 1931. {}\n"


@pytest.mark.parametrize(
    ("said", "denied", "is_one"),
    [
        ("The main arch was damaged in the storm.", "The main arch was not damaged.", True),
        ("All drawings were copied to the archive.", "The drawings were not copied to the archive.", True),
        ("The parapet has been painted.", "The parapet was not painted.", True),
        ("The footpath crosses the eastern span.", "The footpath does not cross the western span.", False),
        ("The main arch was damaged in the storm.", "The side arch was not damaged.", False),
        ("The main arch was damaged in the storm.", "The main arch was not only damaged.", False),
        ("The parapet has been painted.", "Ann says the parapet was not painted.", False),
        ("The parapet has been painted.", "If the parapet was not painted, it would rust.", False),
    ],
)
def test_what_one_document_says_and_another_one_denies(said: str, denied: str, is_one: bool) -> None:
    other = f"# The bridge\n\nKestrel Bridge over the Orrin: {denied}\n"

    found = contradictions(("a.md", BRIDGE.format(said)), ("b.md", other))

    assert [one.kind for one in found] == ["negation"] * is_one


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("Juniors pay £60 a year.", "Juniors pay £8 a session.", False),
        ("Juniors pay £60 a year.", "Juniors pay £75 a year.", True),
        ("| item | price (£) |\n|---|---|\n| Locker | 30 |", "A locker costs £35.", True),
        ("洗牙180元一次，拔牙300元起，补牙260元。", "拔牙350元起。", True),
        ("洗牙180元一次，拔牙300元起，补牙260元。", "镶牙900元起。", False),
    ],
)
def test_a_figure_is_compared_with_that_of_its_period_and_part_of_a_list(first: str, second: str, is_one: bool) -> None:
    name = "Brackwater Canoe Club" if first.isascii() or "£" in first else "康宁口腔诊所"
    texts = (f"# {name} {kind}\n\n{name}\n\n{said}\n" for kind, said in (("rules", first), ("news", second)))

    found = contradictions(*zip(("a.md", "b.md"), texts, strict=True))

    assert len(found) == is_one


CASE = (
    "# Offer {number}\n\nBrightwater Solar Ltd, Exeter\nTo: {to}\n\n"
    "The work takes {days} days. Your contact is {who}.\n"
)


def test_offers_to_others_and_of_other_numbers_do_not_contradict() -> None:
    ours = CASE.format(number="2025-031", to="Dunmore Bakery", days=8, who="Helen Strode")
    theirs = CASE.format(number="2025-044", to="Fenwick School", days=15, who="Tom Arden")
    confirmation = "Order no. 2025-031\n\nBrightwater Solar Ltd, Exeter\n\nYour contact is Helen Strode.\n"
    mail = "From: Helen Strode, Brightwater Solar\nTo: Dunmore Bakery\nSubject: Roof\n\nYour contact is Amir Shah.\n"

    assert contradictions(("a.md", ours), ("b.md", theirs)) == ()
    assert contradictions(("a.md", confirmation), ("b.md", theirs)) == ()
    assert contradictions(("a.md", mail), ("b.md", theirs)) == ()
    assert len(contradictions(("a.md", mail), ("b.md", ours))) == 1


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        ("Where this translation differs, the Chinese notice prevails.", 0),
        ("This sheet replaces the information for guests.", 1),
        ("We wish you a pleasant stay.", None),
    ],
)
def test_a_document_says_which_of_two_holds(said: str, holds: int | None) -> None:
    chinese = "星湾公寓通知\n\n一、6月3日上午9:00停水。\n\n二、施工期间电梯正常运行。\n\n电话：5550-3318\n"
    english = (
        "STARBAY NOTICE\n\nOn 3 June there is no water from 9 a.m. on.\n\nThe lifts are switched off.\n\n"
        f"Call 5550-3318.\n\n{said}\n"
    )
    first = chinese if "Chinese" in said else HOTEL
    second = english if "Chinese" in said else page(f"{said}\n\nBreakfast is not included.")

    (found,) = contradictions(("information for guests", first), ("web", second))

    assert found.holds == holds


@pytest.mark.parametrize(
    ("label", "unit"),
    [
        ("Weight (kg)", ("mass", 1.0)),
        ("£", ("sterling", 1.0)),
        ("Price in €", ("euro", 1.0)),
        ("造价（万元）", ("yuan", 10_000.0)),
        ("Seats", None),
        ("Name", None),
    ],
)
def test_a_label_says_in_what_its_figures_are(label: str, unit: tuple[str, float] | None) -> None:
    assert unit_of(label) == unit


@pytest.mark.parametrize(
    ("clause", "states"),
    [
        ("Insurance is not part of this package", [("included", False)]),
        ("宠物不得入内", [("allowed", False)]),
        ("讲解服务免费", [("free", True)]),
        ("no dogs", [("offered", False), ("allowed", False)]),
        ("The lift runs", [("runs", True)]),
        ("无锡市", []),
    ],
)
def test_a_clause_says_what_is_so(clause: str, states: list[tuple[str, bool]]) -> None:
    assert [(one.name, one.holds) for one in states_in(clause)] == states
