"""One attribute in two documents: under one label, of one doer, as a state of the thing; and what tells two apart."""

import pytest

from agentic_memory_bank.engines.extractive.comparing.documents import contradictions
from agentic_memory_bank.engines.extractive.comparing.labelled import labelled
from agentic_memory_bank.engines.extractive.comparing.roles import other_holders
from agentic_memory_bank.engines.extractive.comparing.subjects import are_counted, share_subject
from agentic_memory_bank.engines.extractive.reading.figures import figures_of
from agentic_memory_bank.engines.extractive.reading.statements import Document, read
from agentic_memory_bank.engines.extractive.reading.values import values_of
from agentic_memory_bank.tools.text.sentences import sentences

LAMP = "# Orla T4 lamp: manual\n\nThe Orla T4 has a cable of 2 m.\n\n"
LAMP_SHOP = "# Orla T4 lamp in our shop\n\nThe Orla T4 has a cable of 2 m.\n\n"
ROOM = "# 河湾社区活动室使用说明\n\n"
ROOM_NOTE = "# 河湾社区活动室问答\n\n"


def values(first: str, second: str) -> list[tuple[str, str]]:
    return [one.values for one in contradictions(("a.md", first), ("b.md", second))]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("押金为800元，退房时退还。", "押金是600元，钥匙交回的话当天退。", ("800元", "600元")),
        ("第三条 押金为800元。", "| 项目 | 金额 |\n|---|---|\n| 押金 | 600元 |", ("800元", "600元")),
        ("集合地点为东门。", "活动室的集合地点是西广场喷泉。", ("东门", "西广场喷泉")),
        ("每位会员最多预订 3 次。", "每人限订 5 次，请勿代订。", ("3 次", "5 次")),
    ],
)
def test_two_values_under_one_chinese_label_contradict(first: str, second: str, found: tuple[str, str]) -> None:
    ours, theirs = read(f"{ROOM}{first}\n", "a.md"), read(f"{ROOM_NOTE}{second}\n", "b.md")
    assert [one.values for one in labelled(ours, theirs)] == [found]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("押金为800元。", "押金是800元，可以刷卡。"),
        ("押金为800元。", "钥匙押金是50元。"),
        ("报名地点为东门。", "集合地点为西广场。"),
        ("地点：东门会议室", "地点：西门会议室"),
        ("集合地点为东门。", "集合地点为：待定。"),
        ("Monday to Friday: 7 am to 7 pm", "Monday to Friday: 6 am to 2 pm"),
        ("押金为800元。押金是500元。", "押金是600元。"),
    ],
)
def test_labels_of_two_things_or_open_values_contradict_nothing(first: str, second: str) -> None:
    assert not list(labelled(read(f"{ROOM}{first}\n", "a.md"), read(f"{ROOM_NOTE}{second}\n", "b.md")))


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("Mira Falk coordinates the parade.", "Jon Berg is coordinating the parade.", ("Mira Falk", "Jon Berg")),
        ("The film was directed by Ana Lund.", "The director is Per Holm.", ("Ana Lund", "Per Holm")),
        (
            "Eva Stark was elected treasurer.",
            "If in doubt, ask our treasurer, Leo Kunz, first.",
            ("Eva Stark", "Leo Kunz"),
        ),
        ("总负责人为赵明远老师。", "活动室总负责人为钱小雨老师。", ("赵明远", "钱小雨")),
        ("巡查工作由孙大海负责。", "巡查由李小山牵头负责。", ("孙大海", "李小山")),
        ("评审组组长由县文联主席周文涛担任。", "评审组组长为县书法协会的吴国华，共5人。", ("周文涛", "吴国华")),
    ],
)
def test_one_thing_is_done_by_one(first: str, second: str, names: tuple[str, str]) -> None:
    assert [one.values for one in other_holders(read(first, "a.md"), read(second, "b.md"))] == [names]


def test_two_things_are_done_by_two() -> None:
    first, second = "Mira Falk coordinates the parade.", "Jon Berg coordinates the concert."
    assert not list(other_holders(read(first, "a.md"), read(second, "b.md")))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The shade and the base are dishwasher safe.", "The shade and the base must not go in the dishwasher."),
        ("The lamp is waterproof.", "The Orla T4 is not waterproof."),
        ("It runs on Linux, macOS and Windows.", "Windows is not supported."),
        ("Never put more than 40 g of salt into the shade.", "The maximum amount of salt is 60 g. Use the spoon."),
        ("Repairs of the shade are free of charge.", "There is a charge of £4 for repairs of the shade."),
    ],
)
def test_what_a_thing_is_or_bears_is_found_in_other_words(first: str, second: str) -> None:
    assert len(values(f"{LAMP}{first}\n", f"{LAMP_SHOP}{second}\n")) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It runs on Linux.", "Windows is not supported."),
        ("Take 2 tablets in 24 hours.", "Wait 4 hours before you take another."),
        ("The shop opens from 8 am.", "The lights are off by 9 pm."),
        ("We met on 4 June.", "Some details in our letter of 9 May were wrong."),
    ],
)
def test_what_is_said_of_two_things_contradicts_nothing(first: str, second: str) -> None:
    assert values(f"{LAMP}{first}\n", f"{LAMP_SHOP}{second}\n") == []


def document(title: str, *lines: str) -> Document:
    return read("\n\n".join((title, *lines)), "x.txt")


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (("# Orla S3 scale", "The S3 is small."), ("# Orla S8 scale", "The S8 is big."), False),
        (("# Orla S3 scale", "It is small."), ("# The S3 电子秤", "很小。"), True),
        (("BREAD & CO, shop in Mill Road", "Cash."), ("BREAD & CO, shop in Dock Lane", "Cards."), False),
        (
            ("看房记录（一）柳园", "朝南。3月2日，租金2600元。"),
            ("看房记录（二）江苑", "朝西。3月2日，租金2600元。"),
            False,
        ),
        (("# 云岭公园游客须知", "请爱护花草。"), ("周末去云岭公园怎么玩", "带好水。"), True),
        (("客户反馈", "评价人：阿青（男）\n\n很好。"), ("客户反馈", "评价人：小芸（女）\n\n一般。"), False),
        (("租房合同", "出租人：赵国平\n\n柳园路8号。"), ("情况说明", "房东赵国平，柳园路的房子。"), True),
        (
            ("# Visit us", "The Mill Museum is on Salt Quay."),
            ("MILL MUSEUM leaflet", "We are on Salt Quay."),
            True,
        ),
    ],
)
def test_titles_and_names_tell_whether_two_texts_are_about_one_thing(
    first: tuple[str, str], second: tuple[str, str], shared: bool
) -> None:
    assert share_subject(document(*first), document(*second)) is shared


@pytest.mark.parametrize(
    ("first", "second", "counted"),
    [
        ("1a_minutes.md", "1b_mail.txt", True),
        ("01 contract.md", "02 summary.md", True),
        ("2021_report.md", "2022_report.md", False),
        ("1_report.md", "2_report.md", False),
        ("minutes.md", "mail.txt", False),
    ],
)
def test_numbers_before_other_names_only_count_files(first: str, second: str, counted: bool) -> None:
    assert are_counted(read("Hello.", first), read("Hello.", second)) is counted


def test_files_that_are_only_counted_are_compared() -> None:
    first, second = f"{LAMP}The lamp is waterproof.\n", f"{LAMP_SHOP}The Orla T4 is not waterproof.\n"
    assert len(contradictions(("1a_manual.md", first), ("1b_shop.md", second))) == 1


@pytest.mark.parametrize(
    ("text", "bound", "unit"),
    [
        ("Never use more than 40 g of salt.", "at most", "mass"),
        ("不得超过 30 公里", "at most", "length"),
        ("超过 30 公里", "at least", "length"),
        ("容量为 2000 毫升", "", "volume"),
    ],
)
def test_a_number_is_read_with_its_limit_and_unit(text: str, bound: str, unit: str) -> None:
    (value,) = values_of(text)
    assert (value.kind, value.bound, value.unit) == ("number", bound, unit)


def test_a_sentence_ends_behind_a_unit_of_one_letter() -> None:
    text = "It takes 40 g. Use a spoon. J. Berg had 2 m."
    assert [text[start:end].strip() for start, end in sentences(text)] == [
        "It takes 40 g.",
        "Use a spoon.",
        "J. Berg had 2 m.",
    ]


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("The rehearsal begins at seven in the evening.", [19 * 60]),
        ("Please clear the pitch by ten in the morning.", [10 * 60]),
        ("We sing from 7 to 9 pm.", [19 * 60, 21 * 60]),
        ("We sing from 11 to 2 pm.", [11 * 60, 14 * 60]),
    ],
)
def test_hours_in_words_and_the_beginnings_of_spans_are_times_of_day(text: str, minutes: list[int]) -> None:
    assert [one.minutes for one in figures_of(text) if one.kind == "clock"] == minutes


def test_documents_that_differ_in_all_they_tell_are_about_two_things() -> None:
    """Their titles name neither; one value that differs among others that agree is another matter."""
    told = "A day card is {} euros.\n\nA month card is {} euros.\n\nLocker hire is {} euros.\n\nA towel is {} euros.\n"
    assert values(f"Nordbad\n\n{told.format(9, 90, 3, 5)}", f"Nordbad, summer\n\n{told.format(12, 110, 4, 6)}") == []
    assert values(f"Nordbad\n\n{told.format(9, 90, 3, 5)}", f"Nordbad, summer\n\n{told.format(9, 110, 3, 5)}") == [
        ("90 euros", "110 euros")
    ]
