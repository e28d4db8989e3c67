"""Terms with what is said of each below it, further in, and releases with what is new in them."""

import pytest

from agentic_memory_bank.tools.text.definitions import defined_terms
from agentic_memory_bank.tools.text.forms import lines
from agentic_memory_bank.tools.text.places import sentences_of

MANUAL = """LOCKUP(1)                    User Commands                    LOCKUP(1)

NAME
       lockup - lock a folder for a while

OPTIONS
       -t, --time MINUTES
           Open it again after so many minutes. Zero keeps it locked
           for good.

           The clock is that of the machine.

       -q, --quiet
           Say nothing.

FILES
       The folder /etc/lockup holds the settings.
"""
GLOSSARY = """3. Parts of the loom

   heddle
          A wire with an eye, through which a thread runs.

   reed
          NOTE: Reeds are counted in dents an inch.

   shuttle
          It carries the weft.

The loom stands in the back room.
"""
NEWS = """Notes on lockup

version 2.4.1 - Ina Thorsen, 2022-03-08

* Folders may be named by a pattern

Patterns are those of the shell.

version 2.4 - Ina Thorsen, 2021-11-30

* The option --quiet
"""


OUTLINE = """Notes on lockup

* Changes in release 2.4

** Bug fixes

A folder that is locked twice is opened once.

* Changes in release 2.3

- The option --quiet
"""


def headings(text: str) -> dict[str, tuple[str, ...]]:
    return {" ".join(text[one.start : one.end].split()): one.place.headings for one in sentences_of(text, "a.txt")}


def test_what_is_said_of_an_option_stands_under_it_also_behind_a_blank_line() -> None:
    found = headings(MANUAL)

    assert found["Zero keeps it locked for good."] == ("OPTIONS", "-t, --time MINUTES")
    assert found["The clock is that of the machine."] == ("OPTIONS", "-t, --time MINUTES")
    assert found["Say nothing."] == ("OPTIONS", "-q, --quiet")
    assert found["The folder /etc/lockup holds the settings."] == ("FILES",)


def test_terms_of_a_glossary_end_where_a_line_stands_as_far_out_and_nobody_speaks_in_the_next() -> None:
    found = headings(GLOSSARY)

    assert found["A wire with an eye, through which a thread runs."][-1] == "heddle"
    assert "NOTE" not in found["It carries the weft."]
    assert found["It carries the weft."][-1] == "shuttle"
    assert "shuttle" not in found["The loom stands in the back room."]


def test_what_is_new_stands_under_its_release() -> None:
    found = headings(NEWS)

    assert found["Patterns are those of the shell."][0] == "version 2.4.1 - Ina Thorsen, 2022-03-08"
    assert found["* The option --quiet"] == ("version 2.4 - Ina Thorsen, 2021-11-30",)


def test_stars_of_an_outline_are_headings_as_deep_as_there_are_stars() -> None:
    (found,) = (one for one in sentences_of(OUTLINE, "NEWS") if "twice" in OUTLINE[one.start : one.end])

    assert (found.place.title, found.place.headings) == ("Changes in release 2.4", ("Bug fixes",))


@pytest.mark.parametrize(
    "text",
    [
        "Alma Reuter\n      4 Quay Street\n\nDear Alma,\n",
        "1.  Term. The tenancy begins on 1 April and runs until it is\n    ended by either party.\n",
        "- one\n     of several\n- two\n     of several\n- three\n     of several\n",
        "It was late.\n     Nobody came.\n\nIt was cold.\n     Nobody went.\n\nIt was over.\n     Nobody spoke.\n",
    ],
)
def test_an_address_a_clause_a_list_and_sentences_are_no_terms(text: str) -> None:
    assert defined_terms(text, lines(text)) == {}
