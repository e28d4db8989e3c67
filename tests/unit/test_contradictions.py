"""What contradicts between documents as people have them, what does not, and what the texts themselves decide."""

from importlib import util
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank.engines.extractive.comparing.documents import contradictions
from agentic_memory_bank.engines.extractive.comparing.found import FoundContradiction
from agentic_memory_bank.engines.extractive.reading.revisions import revisions_of
from agentic_memory_bank.engines.extractive.reading.statements import read

_SPEC = util.spec_from_file_location("document_sets", Path(__file__).parents[1] / "document_sets.py")
assert _SPEC
assert _SPEC.loader
document_sets: Any = util.module_from_spec(_SPEC)
import sys  # noqa: E402 - a dataclass is looked up in its module

sys.modules["document_sets"] = document_sets
_SPEC.loader.exec_module(document_sets)


def between(*documents: tuple[str, str]) -> list[FoundContradiction]:
    return [found for pair in combinations(documents, 2) for found in contradictions(*pair)]


def sides(found: FoundContradiction) -> str:
    return " | ".join(" ".join(side.text.split()) for side in (found.first, found.second))


def is_about(found: FoundContradiction, first: str, second: str) -> bool:
    """Whether a contradiction has one phrase on each side."""
    texts = [" ".join(side.text.split()) for side in (found.first, found.second)]
    return any(first in a and second in b for a, b in (texts, texts[::-1]))


@pytest.mark.parametrize("told", document_sets.SETS, ids=lambda told: told.name)
def test_what_contradicts_in_documents_is_found_and_nothing_else(told: Any) -> None:
    found = between(*told.documents.items())

    for first, second, holds in told.labels:
        mine = [one for one in found if is_about(one, first, second)]
        assert mine, (first, second, [sides(one) for one in found])
        (one, *_) = mine
        assert (None if one.holds is None else (one.first, one.second)[one.holds].place.name) == holds
    labelled = [one for one in found if any(is_about(one, a, b) for a, b, _ in told.labels)]
    assert [sides(one) for one in found if one not in labelled] == []


ENGLISH = """# Handbook

## 3 Fees

The yearly fee of the archive is 40 euros.

## 4 Keys

Every reader of the archive gets a key.

## 5 Hours

The archive is open until 5 pm on Mondays.
"""
CHINESE = """# 档案馆手册

第三条 会费 档案馆会费为每年40元。

第四条 钥匙 档案馆的读者可以领取钥匙一把。

第五条 时间 档案馆每周一开放至下午5:00。
"""


LETTERED = """Rules of the slipway

A. BOATS
A1  The slipway is closed at 9 pm on every day.
A2  From each deposit of the slipway we keep 20 euros.

B. WHAT IS NOT ALLOWED
B1  Boats of more than 6 metres on the slipway.
"""


@pytest.mark.parametrize(
    ("handbook", "notice", "revised"),
    [
        (LETTERED, 'In A1, "9 pm" is replaced by "10 pm".', "9 pm"),
        (LETTERED, "A2 is waived.", "20 euros"),
        (LETTERED, "B1 ceases to apply.", "6 metres"),
        (ENGLISH, "Section 3 is replaced by: the yearly fee of the archive is 50 euros.", "40 euros"),
        (ENGLISH, 'Clause 4 shall read: "Readers of the archive get no key."', "gets a key"),
        (ENGLISH, "The closing hour of the archive on Mondays has been moved to 7 pm.", "until 5 pm"),
        (ENGLISH, "The yearly fee of the archive rises from 40 to 50 euros.", "40 euros"),
        (ENGLISH, "Readers of the archive no longer get a key.", "gets a key"),
        (CHINESE, "档案馆会费调整为每年50元。", "40元"),
        (CHINESE, "档案馆周一开放时间改为至晚上7:00。", "下午5:00"),
        (CHINESE, "第四条删除,以本通知为准。", "钥匙一把"),
        (CHINESE, "档案馆读者不再领取钥匙。", "钥匙一把"),
    ],
)
def test_what_is_announced_as_changed_holds(handbook: str, notice: str, revised: str) -> None:
    text = (
        f"Notice of changes to the handbook\n\n{notice}\n" if notice.isascii() else f"关于修订手册的通知\n\n{notice}\n"
    )

    found = between(("handbook", handbook), ("notice", text))

    assert [(revised in sides(one), (one.first, one.second)[one.holds or 0].place.name) for one in found] == [
        (True, "notice")
    ]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The crate of the harbour crane weighs 100 kg.", "The crate of the harbour crane weighs 220 lb."),
        ("The crate of the harbour crane is 40 m away.", "The crate of the harbour crane is 130 ft away."),
    ],
)
def test_a_measure_in_other_units_is_the_same(a: str, b: str) -> None:
    head = "# Harbour crane\n\nThe harbour crane stands at the pier since 1990.\n\n- {}\n"

    assert between(("a", head.format(a)), ("b", head.format(b))) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Would the museum cost 900 euros a day?",
        "If the museum grew, the museum would cost 900 euros a day.",
        "We want the museum to cost 900 euros a day.",
        "Formerly the museum cost 900 euros a day.",
        "The museum costs ____ euros, 900 euros at most, a day.",
        "Ben thinks the museum costs 900 euros a day.",
    ],
)
def test_what_is_not_asserted_contradicts_nothing(sentence: str) -> None:
    stated = "# The museum\n\n- The museum costs 700 euros a day.\n- It is near the station.\n"
    other = f"# The museum\n\n- {sentence}\n- It is near the station.\n"

    assert between(("a", stated), ("b", other)) == []


def test_the_same_asserted_does_contradict() -> None:
    head = "# The museum\n\n- The museum costs {} euros a day.\n- It is near the station.\n"

    assert [one.values for one in between(("a", head.format(700)), ("b", head.format(900)))] == [
        ("700 euros", "900 euros")
    ]


def test_talk_and_code_are_no_sides() -> None:
    talk = "ANA: Okay.\nBEN: The tower costs 500 euros.\nANA: Okay.\nBEN: Yep, 600 euros for the tower.\n"
    code = "# The tower\n\n```\nprice_of_the_tower = 900 euros\n```\n"

    assert between(("talk", talk), ("code", code), ("more", talk.replace("500", "700"))) == []


MANUAL = """# Larkspur 6 manual

## Systems

Larkspur supports Windows 8, Windows 10 and Linux.

## Memory

Larkspur needs 2 GB of memory.
"""
MANUAL_CHINESE = """# 百灵6手册

## 系统

百灵支持Windows 8、Windows 10和Linux。

## 内存

百灵需要2 GB内存。
"""


@pytest.mark.parametrize(
    ("manual", "ended", "revised"),
    [
        (MANUAL, "Larkspur no longer supports Windows 8.", "supports Windows 8, Windows 10"),
        (MANUAL_CHINESE, "百灵不再支持Windows 8。", "支持Windows 8、Windows 10"),
    ],
)
def test_what_is_no_longer_supported_was_though_both_name_its_number(manual: str, ended: str, revised: str) -> None:
    title = "# Larkspur 6.1 release notes" if ended.isascii() else "# 百灵6.1版更新说明"

    found = between(("manual.md", manual), ("notes.md", f"{title}\n\n- {ended}\n- 2 GB.\n"))

    assert [is_about(one, revised, ended) for one in found] == [True]
    assert [(one.first, one.second)[one.holds or 0].place.name for one in found] == ["notes.md"]


@pytest.mark.parametrize(
    ("told", "before", "values"),
    [
        ("Python 3.9 is no longer supported; the minimum version is Python 3.10.", "The minimum version is Python 3.9.",
         ("3.10", "3.9")),
        ("默认端口从 8080 改为 9090。", "默认端口为 8080。", ("9090", "8080")),
        ("Larkspur no longer supports Windows 8.", "Larkspur supports Windows 8.",
         ("Larkspur no longer supports Windows 8.", "Larkspur supports Windows 8.")),
    ],
)  # fmt: skip
def test_the_new_value_is_the_value_alone(told: str, before: str, values: tuple[str, str]) -> None:
    (found,) = between(("release_notes.md", f"# Release notes\n\n- {told}\n"), ("docs.md", f"# Docs\n\n{before}\n"))

    assert found.values == values


@pytest.mark.parametrize(
    ("names", "is_found"),
    [
        (("note1.md", "note2.txt"), True),
        (("in/doc_1.md", "in/doc_2.md"), True),
        (("文档1.md", "文档2.md"), True),
        (("report-2021.md", "report-2022.md"), False),
        (("branch1.md", "branch2.md"), False),
    ],
)
def test_names_that_only_count_do_not_tell_documents_apart(names: tuple[str, str], is_found: bool) -> None:
    first = "# The choir\n\nThe roof of Fenwick Hall costs 48,000 euros.\n"
    second = "# The leaflet\n\nThe roof of Fenwick Hall costs 61,000 euros.\n"

    assert bool(between((names[0], first), (names[1], second))) == is_found


def test_a_change_that_is_denied_or_possible_is_none() -> None:
    said = "Section 3 is not changed. Section 4 can be moved to 7 pm. Was section 5 replaced by 8 pm?"
    text = f"Notice of changes\n\n{said}\n"

    assert [one.statement.text for one in revisions_of(read(text, "notice")) if one.sure] == []


RULES = """# Rules of the library

## Lending

Books are lent for {days} days. Journals stay in the house.

## Hours

The hall opens at 9 a.m. every day. It closes at 6 p.m. in winter.

## Fines

A lost card costs 4 euros. Nobody pays for a broken one.
"""
RULES_CHINESE = """# 阅览室规则

## 借阅

图书借期为{days}天。期刊不外借。

## 时间

每天上午9点开门。冬季下午6点关门。

## 罚款

丢失借书证收费40元。损坏的免费更换。
"""


@pytest.mark.parametrize("text", [RULES, RULES_CHINESE])
def test_copies_of_a_document_with_one_figure_changed_contradict_each_other(text: str) -> None:
    found = between(("", text.format(days=28)), ("", text.format(days=21)))

    assert [one.kind for one in found] == ["number"]


@pytest.mark.parametrize(
    "letter",
    [
        "Dear {name},\n\nthe office opens at 9 a.m. You owe us {sum} euros. Pay within 14 days. It closes at 6.\n",
        "{name}女士:\n\n本店上午9点开门。您尚欠{sum}元。请在14天内付清。下午6点关门。\n",
    ],
)
def test_a_letter_that_is_sent_to_two_people_does_not(letter: str) -> None:
    first, second = letter.format(name="Ana", sum=120), letter.format(name="Eva", sum=450)

    assert not between(("", first), ("", second))


def test_a_change_whose_row_is_named_in_the_sentence_before_is_found_in_the_table() -> None:
    rules = "# 摄影展细则\n\n| 组别 | 名额 | 费用 |\n|---|---|---|\n| 青年组 | 200 | 30元 |\n| 老年组 | 100 | 20元 |\n"
    notice = "摄影展补充通知\n\n1. 青年组报名十分踊跃。经研究,名额增加到350个。\n"

    found = contradictions(("细则.md", rules), ("通知.txt", notice))

    assert [one.values for one in found] == [("200", "350")]


@pytest.mark.parametrize(
    ("agreed", "amended"),
    [
        ("Date: 3 March 2024", "Date: 9 May 2024"),
        ("签订日期:2024年3月3日", "签订日期:2024年5月9日"),
    ],
)
def test_what_each_document_says_of_itself_contradicts_nothing(agreed: str, amended: str) -> None:
    first = f"# Agreement with the Orbel archive\n\n{agreed}\n\nThe archive of Orbel keeps the maps of Halden.\n"
    second = f"# Amendment for the Orbel archive\n\n{amended}\n\nThe maps of Halden are kept by the archive of Orbel.\n"

    assert between(("agreement.md", first), ("amendment.md", second)) == []


def test_a_price_is_not_changed_to_a_hundredth_of_it() -> None:
    first = "# 松涛农场合同\n\n成人每人六千八百元,儿童每人四千五百元。\n"
    second = "# 补充协议\n\n一、儿童采摘须买保险,保险费改为每人二十元。\n"

    assert between(("合同.md", first), ("补充.md", second)) == []


WORKS = """# Works at Fenwick Mill

The clerk of works at Fenwick Mill asks for patience.

## Who is there

Keys are with the site manager, Ana Kovac, in the gatehouse of Fenwick Mill.
Broken glass at Fenwick Mill is reported to Tarn Glaziers.

## Sizes

The wheel of Fenwick Mill has a diameter of 5.20 m and is kept as a monument.

## Stock

| No. | Part | Pieces | Price |
|---|---|---|---|
| 1 | Oak beam | 12 | 410 |
| 2 | Iron shoe | 30 | 55 |
"""
WORKS_CHINESE = """设备清单

| 序号 | 名称 | 数量 |
|---|---|---|
| 1 | 通风机 | 6台 |
| 2 | 控制柜 | 2台 |

全部设备总价80.5万元，分两次付清。
"""


@pytest.mark.parametrize(
    ("text", "other", "said"),
    [
        (WORKS, "Please ring Tom Brandt, who has taken over as site manager at Fenwick Mill.", ["Ana Kovac"]),
        (WORKS, "Broken windows at Fenwick Mill are no longer reported to Tarn Glaziers; call us.", ["Tarn Glaziers"]),
        (
            WORKS,
            "The sheet on Fenwick Mill gives the wheel a diameter of 5.20 m. That is wrong, it was never measured.",
            ["diameter of 5.20 m and"],
        ),
        (WORKS, 'Please print "landmark", not "monument", for the wheel of Fenwick Mill.', ["monument."]),
        (WORKS_CHINESE, "通风机由六台减为五台，总价调整为72万元。", ["6台", "80.5万元"]),
    ],
)
def test_a_correction_in_other_forms_is_understood(text: str, other: str, said: list[str]) -> None:
    name = "更正通知.txt" if not other.isascii() else "corrections.txt"

    found = between(("works", text), (name, f"{other}\n"))

    assert len(found) == len(said)
    for part in said:
        assert any(part in sides(one) for one in found), part
    assert {(one.first, one.second)[one.holds or 0].place.name for one in found} == {name}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The pump of the Arden weir runs on 12 to 24 volts.", "The pump of the Arden weir runs on 20 volts."),
        ("The climb to the Arden weir takes 50 minutes.", "The climb to the Arden weir takes ten minutes longer."),
        ("Guests of the Arden inn stay seven nights.", "The first two nights guests of the Arden inn stay outside."),
        ("The gate of the Arden weir follows BS 4190.", "The gate of the Arden weir follows five rules."),
        ("The Arden inn asks 90 euros a night.", "In my time the Arden inn asked 60 euros a night."),
        ("Our guide at the Arden weir is Ida Holm.", "Our former guide at the Arden weir was Per Lund."),
        ("Our guide at the Arden weir is Ida Holm.", "A guide at the Arden weir, Per Lund, fell ill."),
        ("The guide at the Arden weir is Ida Holm.", "The guide at the Arden weir is Mrs Holm."),
    ],
)
def test_what_is_said_of_a_range_a_part_a_difference_or_the_past_contradicts_nothing(a: str, b: str) -> None:
    head = "# The Arden weir\n\nThe Arden weir lies above Tolm since 1902.\n\n- {}\n"

    assert [sides(one) for one in between(("a", head.format(a)), ("b", head.format(b)))] == []


def test_a_number_that_tells_a_row_is_no_value_of_it() -> None:
    table = "# Fees of the Arden clinic\n\n| Visit | Fee |\n|---|---|\n| Second visit within 14 days | £31 |\n"
    said = "# Arden clinic\n\nA second visit to the Arden clinic after 20 days counts as a new one.\n"

    assert between(("fees", table), ("note", said)) == []


def test_the_guide_of_two_documents_is_one_person() -> None:
    head = "# The Arden weir\n\nThe Arden weir lies above Tolm since 1902.\n\n- {}\n"
    (one,) = between(("a", head.format("The guide of the weir is Ida Holm.")), ("b", head.format("Guide: Per Lund")))

    assert (one.kind, one.values, one.holds) == ("name", ("Ida Holm", "Per Lund"), None)


ARDEN = "# The Arden weir\n\nThe Arden weir lies above Tolm since 1902.\n\n"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("- The gate opens at 7.15 am.", "- The gate opens at half past seven in the morning."),
        ("Weight of the gate ........... 41 kg\n", "- The gate weighs 46 kilograms."),
        ("- The gate room has 12 m².", "- The gate room has 15 square metres."),
        ("- The open day takes place on Saturday, 9 July.", "- Our open day is on Sunday, 10 July."),
        ("- The weir has 64 pitches for boats.", "- We counted the pitches for boats: there are fifty-eight."),
        ("- Nobody was hurt.", "- Two visitors were injured by the gate."),
        ("- Filters can be washed.", "- The filters must not be washed."),
        ("- 水坝重1.4吨。\n- 水坝保修两年。", "- 水坝的质保期是一年。"),
    ],
)
def test_what_two_documents_say_of_one_thing_in_other_forms_contradicts(a: str, b: str) -> None:
    assert len(between(("a", ARDEN + a), ("b", ARDEN + b))) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("- The gate opens at 7.30.", "- The gate opens at half past seven in the evening."),
        ("- The vote on the gate was ten to three.", "- The gate opens at ten to four."),
        ("Weight of the gate ........... 100 kg\n", "- The gate weighs 220 lb."),
        ("- The gate is 40 m long.", "- The gate is 130 ft long."),
        ("- Our open day in summer is on 9 July.", "- Our open day in winter is on 10 January."),
        ("- Bay 11 belongs to the weir.", "- There are fourteen bays at the weir."),
        ("- The clerk works 30 hours a week.", "- The cook works 35 hours a week."),
        ("- Filters can be washed.", "- The filters must not be painted."),
        ("- She never married in Tolm.", "- It married two styles."),
        ("- 大坝宽四米半。", "- 大坝宽4.5米。"),
        ("- 有三点建议。", "- 下午四点开门。"),
    ],
)
def test_what_only_looks_like_it_does_not(a: str, b: str) -> None:
    assert [sides(one) for one in between(("a", ARDEN + a), ("b", ARDEN + b))] == []


def test_of_a_table_the_column_counts_that_is_labelled_with_what_the_other_document_is_about() -> None:
    table = "# Norrbo pumps\n\n| Norrbo | HX-3 | HX-5 |\n|---|---|---|\n| Weight | 41 kg | 55 kg |\n"
    said = "Fitting the Norrbo HX-3\n\nPut the Norrbo pump on a shelf.\n\nIt weighs {}.\n"

    (one,) = between(("table", table), ("guide", said.format("46 kilograms")))

    assert set(one.values) == {"41 kg", "46 kilograms"}
    assert between(("table", table), ("guide", said.format("41 kilograms"))) == []
