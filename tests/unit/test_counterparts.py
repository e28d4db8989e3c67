"""Figures of one attribute in two documents about one thing, in other words, and figures of different things."""

from itertools import starmap

import pytest

from agentic_memory_bank.engines.extractive.comparing.documents import contradictions
from agentic_memory_bank.engines.extractive.comparing.subjects import share_subject
from agentic_memory_bank.engines.extractive.reading.statements import read

LOCAL = """The Halden Courier

A minibus of the Vesterby line slid off the road above Orrin Lake on Monday. The bus carried 34 travellers and a guide.
Five hikers were treated for frostbite at the hut. The driver had left Vesterby before dawn.
"""
CLUB = """# Sandmoor Rowing Club

The Sandmoor boathouse opened in 1987. Members of the club pay a monthly charge of £18 for a locker.
The slipway at Sandmoor is 40 m long, and a boat on the rack comes with a guarantee of 36 months.
"""


@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        (LOCAL, "Vesterby bus company\n\nThere were 43 travellers on board when it left Vesterby.\n", {"34", "43"}),
        (LOCAL, "Vesterby today\n\nNine hikers were treated for frostbite.\n", {"Five", "Nine"}),
        (CLUB, "Questions about Sandmoor\n\nYou get 24 months of guarantee on a boat.\n", {"36 months", "24 months"}),
        (CLUB, "Questions about Sandmoor\n\nEach locker is charged at £21 per month.\n", {"£18", "£21"}),
        (
            "松涛农场今年很热闹。\n\n松涛农场沿河设采摘棚9处,每处有人看守。\n",
            "松涛农场开园\n\n松涛农场说,图上一共有11个采摘棚,都已搭好。\n",
            {"9", "11"},
        ),
        (
            "TRANSCRIPT: Sandmoor council\n\nANA: The new boats of Sandmoor arrive on 14 April.\n\nTOM: Fine by me.\n\n"
            "ANA: Who fetches them?\n\nTOM: I can do that, with the trailer.\n\nANA: Thank you.\n",
            "Sandmoor notice board\n\nThe new boats of Sandmoor arrive on 5 May.\n",
            {"14 April", "5 May"},
        ),
    ],
)
def test_values_of_one_attribute_in_other_words_contradict(first: str, second: str, values: set[str]) -> None:
    (found,) = contradictions(("a", first), ("b", second))

    assert set(found.values) == values


@pytest.mark.parametrize(
    "second",
    [
        "Vesterby today\n\nFive hikers were treated for frostbite.\n",
        "Vesterby today\n\nNine nurses of Vesterby went up to the hut.\n",
        "Orrin Lake\n\nIn summer the boat on Orrin Lake carries 90 bathers.\n",
        "Vesterby today\n\nIf 50 travellers had been on board, the bus of the Vesterby line would have been full.\n",
        "Tarnfield today\n\nA coach of the Larkmoor line left Tarnfield. Near Pellworth it carried 43 travellers.\n",
    ],
    ids=["the same", "of others", "elsewhere", "supposed", "another event"],
)
def test_what_speaks_of_something_else_does_not(second: str) -> None:
    assert not contradictions(("a", LOCAL), ("b", second))


NAMES = ("Arlo", "Bryn", "Cato", "Dora", "Enno", "Finn", "Gail", "Hugo", "Ines", "Joss")
THINGS = ("lantern", "ladle", "saddle", "kettle", "anchor", "basket", "bucket", "mirror", "carpet", "barrel")


def among_many(text: str, seed: int) -> str:
    """A text with sixty sentences behind it that say nothing of its matter."""
    told = (f"{NAMES[n * 9 % 10]} has the {THINGS[n * 7 % 10]} of {NAMES[n * 3 % 10]}." for n in range(seed, seed + 60))
    return "\n\n".join((text, *told))


@pytest.mark.parametrize(
    ("second", "is_sure"),
    [
        ("Vesterby today\n\nNine hikers were treated for frostbite.\n", True),
        ("Vesterby bus company\n\nThere were 43 travellers on board when it left Vesterby.\n", False),
    ],
)
def test_among_many_statements_two_have_to_share_more_than_some_do_by_chance(second: str, is_sure: bool) -> None:
    assert contradictions(("a", LOCAL), ("b", second))
    assert bool(contradictions(("a", among_many(LOCAL, 0)), ("b", among_many(second, 4)))) is is_sure


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("In Sandmoor adults pay £9 for the ferry.", "In Sandmoor children pay £4 for the ferry."),
        ("The Sandmoor gate stays open 12 hours in summer.", "The Sandmoor gate stays open 8 hours in winter."),
        ("In Sandmoor it costs £640 in blue, £690 with the back, and we have £410.", "For Sandmoor £58, pay it back."),
        ("A Sandmoor permit is checked within 30 minutes.", "Sandmoor tried the permits side by side for six weeks."),
    ],
)
def test_values_beside_words_that_exclude_each_other_are_of_two_things(first: str, second: str) -> None:
    assert not contradictions(("a", first), ("b", second))


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("The ferry of Tarnfield is late.", "Today nothing leaves Tarnfield.", True),
        (
            "The baths of Tarnfield, near Orrin Lake and Pellworth.",
            "Now the pool of Larkmoor, near Vesterby and Halden.",
            False,
        ),
        ("Stir the dough and let it rest.", "Bake the rolls until they are brown.", None),
        ("在青屏湖文化广场集合。", "大家到青屏湖文化广场来。", True),
        ("Read the notice of Tarnfield, Larkmoor and Pellworth.", "青屏湖文化广场、云溪瓷窑遗址、枫林渡口。", None),
    ],
)
def test_two_documents_are_about_one_thing_where_they_share_names(first: str, second: str, shared: bool | None) -> None:
    documents = starmap(read, ((first, "a"), (second, "b")))

    assert share_subject(*documents) is shared


@pytest.mark.parametrize(
    ("news", "values"),
    [
        ("From 1 June the Orrin pass goes up to €52.", ("€45", "€52")),
        ("Visitors may bring no more than 4 dogs to Orrin after all.", ("6", "4")),
        ("The trail map of Orrin Lake now costs €9.", ("€7", "€9")),
    ],
)
def test_what_says_that_it_holds_from_now_on_decides(news: str, values: tuple[str, str]) -> None:
    leaflet = "Orrin pass: €45.\n\nVisitors may bring up to 6 dogs to Orrin.\n\nThe trail map of Orrin Lake costs €7.\n"

    (found,) = contradictions(("leaflet", leaflet), ("news", f"Dear friends of Orrin,\n\n{news}\n"))

    assert set(found.values) == set(values)
    assert found.holds == (0 if found.first.place.name == "news" else 1)


def test_a_correction_is_read_over_the_end_of_a_line() -> None:
    sheet = "# Orrin stove\n\n| | M3 | M3 Max |\n|---|---|---|\n| gas bottle | 3.1 kg | 4.8 kg |\n"
    mail = "About the Orrin stove: two things were printed badly.\n\n- The gas bottle holds 3.4 kg,\n  not 3.1.\n"

    (found,) = contradictions(("sheet.md", sheet), ("mail.txt", mail))

    assert (found.first, found.second)[found.holds or 0].place.name == "mail.txt"
