"""Documents that look like copies of each other and are about two things, and what is the same in two of them."""

import pytest

from agentic_memory_bank.engines.extractive.comparing.documents import contradictions
from agentic_memory_bank.engines.extractive.comparing.required import required_versions
from agentic_memory_bank.engines.extractive.reading.revisions import says_unchanged
from agentic_memory_bank.engines.extractive.reading.statements import read

DRILL = """# {name} drill - user sheet

The {name} weighs {kilos} kg. Hold the {name} with both hands.
Its cord is {metres} m long.
The guarantee is {years} years.
"""
DAY_CARE = """# Holiday workshop: {what} for families

Led by Petra Lund
The workshop starts on {day} August and runs for {days} mornings.
The fee is {fee} euros.
There are {places} places.
You can cancel free of charge up to {notice} days before the start.
"""
LEASE = """# Lease of the Mill Barn

between Orla Finch ("the Owner") and the Quarry Choir ("the Choir"), dated 3 May 2022.

1. The Choir may use the barn on two evenings a week.
2. The Choir pays £310 a month, due within 21 days of the invoice.
3. Either party may end this lease by giving four months' written notice.
"""
CHANGES = """# Amendment No. 1 to the lease of the Mill Barn

between Orla Finch and the Quarry Choir, dated 8 January 2024.

In clause 2, the monthly payment is raised to £345.
In clause 3, the period of notice is shortened to six weeks.
"""
FETE = """# 关于举办青石村丰收节的通知

各位村民:

一、时间:2025年9月20日(星期六)上午9点。
二、地点:青石小学操场。
三、报名:请于9月5日前到村委会报名。
四、费用:每户收取30元。
"""
FETE_CORRECTED = """# 关于丰收节通知的更正

各位村民:

丰收节的地点应为青石文化广场,不是青石小学操场。
报名截止日期仍为9月5日。
"""


def values(first: str, second: str) -> list[tuple[str, str]]:
    return [one.values for one in contradictions(("a.md", first), ("b.md", second))]


def test_a_model_and_its_variant_are_two_things() -> None:
    plain = DRILL.format(name="B40", kilos="1.9", metres="3", years="two")
    variant = DRILL.format(name="B40 Compact", kilos="1.2", metres="2", years="three")

    assert values(plain, variant) == []
    assert values(plain, variant.replace("B40 Compact", "B40"))


def test_titles_that_differ_in_what_they_are_about_are_of_two_things() -> None:
    kites = DAY_CARE.format(what="Kites", day=4, days="three", fee=45, places="ten", notice="five")
    masks = DAY_CARE.format(what="Masks", day=11, days="four", fee=60, places="eight", notice="seven")

    assert values(kites, masks) == []
    assert ("60 euros", "45 euros") in values(masks.replace("Masks", "Kites"), kites)


def test_the_title_of_a_newer_edition_names_nothing_else() -> None:
    draft = DAY_CARE.format(what="Draft", day=4, days="three", fee=45, places="ten", notice="five")
    final = DAY_CARE.format(what="Final", day=4, days="three", fee=60, places="ten", notice="five")

    assert values(draft, final) == [("45 euros", "60 euros")]


def test_days_of_signing_do_not_contradict_and_a_clause_that_is_named_is_the_one_that_changes() -> None:
    found = contradictions(("lease.md", LEASE), ("amendment.md", CHANGES))

    assert ("£310", "£345") in [one.values for one in found]
    assert not any("21 days" in one.values or "3 May 2022" in one.values for one in found)
    assert any("four months" in one.first.text and "six weeks" in one.second.text for one in found)


def test_what_a_correction_says_is_still_so_corrects_nothing() -> None:
    found = contradictions(("通知.md", FETE), ("更正.md", FETE_CORRECTED))

    assert [one.kind for one in found] == ["negation"]


@pytest.mark.parametrize(
    ("said", "is_unchanged"),
    [
        ("The closing date remains 5 September.", True),
        ("联系人仍为周敏。", True),
        ("The fee is £20.", False),
        ("It still opens at nine but closes at four.", False),
    ],
)
def test_a_sentence_says_that_what_it_speaks_of_stays(said: str, is_unchanged: bool) -> None:
    assert says_unchanged(read(said, "a.md").statements[0]) == is_unchanged


def test_annual_and_yearly_are_the_same() -> None:
    minutes = "# Rowing club Larkmere\n\nThe annual fee for a boat rack at Larkmere stays at £55.\n"
    mail = "# News from Larkmere\n\nThe yearly fee for a boat rack at Larkmere will be £61.\n"

    assert values(minutes, mail) == [("£55", "£61")]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("- Ruby 3.1 or newer", "Since 4.0, gemsync needs Ruby 3.3 or later.", [("3.1", "3.3")]),
        ("gemsync requires Ruby 3.1.", "- Ruby 3.3+", [("3.1", "3.3")]),
        ("需要 Ruby 3.1 以上。", "- Ruby 3.3 或以上", [("3.1", "3.3")]),
        ("gemsync was tried with Ruby 3.1.", "- Ruby 3.3+", []),
        ("- Ruby 3.1 or newer", "- Node 18 or newer", []),
        ("- Ruby 3.1 or newer\n- Ruby 3.2 or newer, for the tests", "- Ruby 3.3 or newer", []),
    ],
)
def test_versions_that_are_required_at_least_are_compared(
    first: str, second: str, found: list[tuple[str, str]]
) -> None:
    documents = [read(f"# gemsync\n\n{text}\n", f"{name}.md") for name, text in (("a", first), ("b", second))]

    assert [one.values for one in required_versions(*documents)] == found


def test_the_number_that_something_changed_to_holds_also_without_a_unit() -> None:
    readme = "# gatehouse\n\ngatehouse relays mail.\nThe relay listens on port 5050 unless you say otherwise.\n"
    notes = "# gatehouse 2.0 - release notes\n\n- The default port has changed from 5050 to 6161.\n"

    (found,) = contradictions(("README.md", readme), ("RELEASE_NOTES.md", notes))

    assert (found.values, found.holds) == (("5050", "6161"), 1)


def test_a_part_of_a_number_is_no_other_number() -> None:
    minutes = "# Harvest fair at Oxley School\n\nWe need 24 helpers for the harvest fair.\n"
    mail = "# Harvest fair at Oxley School: news\n\n15 of the 24 helpers for the harvest fair have been found.\n"

    assert values(minutes, mail) == []


@pytest.mark.parametrize(
    ("said", "corrected"),
    [
        ("地点:青石小学操场。", "因操场正在翻修,地点改为青石文化广场。"),
        ("The venue is the school gym.", "The venue has changed to the village hall."),
    ],
)
def test_a_new_place_takes_that_of_the_old_one_also_where_that_is_not_named(said: str, corrected: str) -> None:
    chinese = not said.isascii()
    title = "关于举办青石村丰收节的通知" if chinese else "Reading day in Oxley"
    head = "关于青石村丰收节通知的更正" if chinese else "Correction to the notice of the reading day in Oxley"

    (found,) = contradictions(("a.txt", f"# {title}\n\n{said}\n"), ("b.txt", f"# {head}\n\n{corrected}\n"))

    assert found.holds == 1


def test_what_a_letter_says_to_you_is_compared_with_a_list_and_not_with_a_letter_to_somebody_else() -> None:
    prices = "# Alder Bike Rental - prices\n\nA deposit of CHF 90 per bike is taken and given back on return.\n"
    letter = (
        "# Alder Bike Rental\n\nDear {},\n\nWe ask for a deposit of CHF {} per bike, which you get back on return.\n"
    )

    assert values(prices, letter.format("Mr Caduff", 45)) == [("CHF 90", "CHF 45")]
    assert values(letter.format("Ms Berry", 90), letter.format("Mr Caduff", 45)) == []


def test_minutes_of_two_meetings_are_told_apart_by_their_long_titles() -> None:
    minutes = "Garden Society of Upper Birkenhain - meeting of the whole committee on {}\n\nThe balance is {} euros.\n"

    assert values(minutes.format("11 March 2025", "3,210"), minutes.format("13 May 2025", "2,745")) == []


def test_up_to_where_something_holds_is_no_distance_of_something() -> None:
    prices = "# Alder Joinery - prices\n\nDelivery within 50 km is free of charge.\n"
    offer = "# Alder Joinery - offer\n\nDelivery to the house in Brant, 35 km away, is free of charge.\n"

    assert values(prices, offer) == []


def test_each_line_of_an_order_is_one_and_prices_in_other_currencies_are_compared() -> None:
    prices = (
        "# Alder Bike Rental - prices\n\n| what | a day |\n|---|---|\n| City bike | CHF 28 |\n| E-bike | CHF 55 |\n"
    )
    offer = "# Alder Bike Rental - offer\n\n12 e-bikes at CHF 49 each\n2 city bikes at CHF 28 each\n14 helmets, free\n"

    assert values(prices, offer) == [("CHF 55", "CHF 49")]


def test_release_notes_are_about_the_program_that_their_title_begins_with() -> None:
    readme = "# Tidepool\n\nAttachments of a note may be up to 10 MB in size.\n"
    notes = "# Tidepool 3.0 - what is new\n\n- The limit for attachments has been raised to 25 MB.\n"

    assert values(readme, notes) == [("10 MB", "25 MB")]
