"""Where sentences stand: titles, headings, clauses, rows and columns, speakers, mail headers, code, wrapped lines."""

import pytest

from agentic_memory_bank.tools.text.place import Place, Placed
from agentic_memory_bank.tools.text.places import placed


def where(text: str, words: str, name: str = "") -> Place:
    """The place of the first sentence that holds some words."""
    return found(text, words, name).place


def found(text: str, words: str, name: str = "") -> Placed:
    return next(p for p in placed(text, name) if words in " ".join(text[p.start : p.end].split()))


MARKDOWN = """# PEP 602

Some words before.

## Schedule

The years:

- 3.9 comes in October 2020.
- 3.10 comes
  a year later.

| Version | First | Last |
|---|---|---|
| 3.9 | 2020 | 2025 |

```python
value = 3
```
"""


def test_a_sentence_has_the_headings_above_it_and_what_opens_its_list() -> None:
    place = where(MARKDOWN, "3.10 comes a year later.")

    assert (place.title, place.headings, place.lead_in) == ("PEP 602", ("Schedule",), "The years:")
    assert place.line() == "PEP 602 > Schedule > The years"


def test_a_row_has_its_label_and_the_labels_of_its_columns() -> None:
    row = found(MARKDOWN, "| 3.9 |")

    assert (row.place.row, row.place.columns) == ("3.9", ("Version", "First", "Last"))
    assert [MARKDOWN[slice(*cell)] for cell in row.cells] == ["3.9", "2020", "2025"]
    assert row.place.line() == "PEP 602 > Schedule > 3.9"


def test_code_is_told_from_text() -> None:
    assert where(MARKDOWN, "value = 3").is_code
    assert not where(MARKDOWN, "Some words").is_code


def test_a_contract_has_numbered_clauses_with_their_titles() -> None:
    text = (
        "LEASE\n\n1.  Term. It begins on 1 May and\n    runs for a year.\n\n2.  Rent. The Tenant pays £900 a month.\n"
    )

    place = where(text, "The Tenant pays")

    assert (place.title, place.headings, place.numbers) == ("LEASE", ("Rent",), ("2",))
    assert where(text, "It begins on 1 May and runs for a year.").numbers == ("1",)


LETTERED = """RULES OF THE SLIPWAY

A. BOATS
A1  A boat is tied up by its owner. Nobody ties up
    a second one.
A2  Oars are hung up.

B. FEES
1. B2 is waived.
"""


def test_clauses_may_be_lettered_and_their_headings_stand_right_above_them() -> None:
    place = where(LETTERED, "Oars are hung up.")

    assert (place.headings, place.numbers) == (("A. BOATS",), ("a2",))
    assert where(LETTERED, "Nobody ties up a second one.").numbers == ("a1",)


def test_a_short_sentence_that_says_something_is_no_title_of_its_item() -> None:
    assert where(LETTERED, "B2 is waived.").kind == "item"


@pytest.mark.parametrize("line", ["A4 paper goes into the blue box.", "M3 Motorway", "D. Smith writes:\nAll is well."])
def test_what_only_looks_lettered_opens_no_clause(line: str) -> None:
    assert where(f"Hello.\n\n{line}\n", line.split()[1]).numbers == ()


def test_chinese_clauses_and_headings_in_brackets_are_read() -> None:
    text = "房屋租赁合同\n\n第三条 租金 每月4500元。\n\n【附则】\n一、本合同一式两份。\n"

    assert where(text, "4500元").numbers == ("3",)
    last = where(text, "一式两份")
    assert (last.title, last.headings, last.numbers) == ("房屋租赁合同", ("附则",), ("1",))


def test_a_mail_has_its_header_apart_and_its_subject_for_a_title() -> None:
    text = "From: Ana\nTo: Bob\nDate: 3 May 2024\nSubject: New room\n\nWe meet in room 4.\n"

    place = where(text, "We meet")
    assert (place.title, place.sender) == ("New room", "Ana")
    assert where(text, "From: Ana").kind == "header"


@pytest.mark.parametrize(
    ("text", "words", "speaker", "time"),
    [
        ("ANA: It rains.\nBOB: It does\nnot.\nANA: Well.\n", "It does not.", "BOB", ""),
        ("[01:15] ANA: It rains.\n[01:20] BOB: No.\n", "No.", "BOB", "01:20"),
        ("王璐 09:14\n今天下雨。\n\n李想 09:15\n没有。\n", "没有", "李想", "09:15"),
        ("沈红:开始吧。\n卢工:好。\n沈红:总价多少?\n卢工:56万。\n", "56万", "卢工", ""),
    ],
)
def test_a_turn_has_its_speaker(text: str, words: str, speaker: str, time: str) -> None:
    place = where(text, words)

    assert (place.speaker, place.time) == (speaker, time)


def test_a_bold_word_before_a_dash_is_the_label_of_what_follows_it_and_no_heading_of_the_rest() -> None:
    size = "Size\n----\n\n**Default** - ``10``\n\nThe queue holds tasks.\n\n"
    text = f"Queue\n=====\n\n{size}Age\n---\n\n**Default** - ``5``\n"

    assert where(text, "10").headings == ("Size", "Default")
    assert where(text, "The queue").headings == ("Size",)
    assert where(text, "5").headings == ("Age", "Default")


@pytest.mark.parametrize("heading", ["## What is next", "What is next\n------------"])
def test_nobody_speaks_any_more_below_the_heading_of_a_section(heading: str) -> None:
    text = f"# Minutes\n\nAnn: We start at nine.\nBob: Fine by me.\nAnn: Good.\n\n{heading}\n\nThe hall opens in May."

    assert where(text, "Good").speaker == "Ann"
    assert where(text, "The hall").speaker == ""
    assert where(text, "The hall").headings == ("What is next",)


@pytest.mark.parametrize("label", ["**NOTE:**", "Note:", "注意："])
def test_nobody_speaks_a_note(label: str) -> None:
    text = f"{label} It is slow.\n\nIt runs.\n\n{label} It is loud.\n\nIt stops.\n"

    assert {(place.speaker, place.headings) for place in (where(text, "It runs."), where(text, "It is loud."))} == {
        ("", ())
    }


def test_a_line_of_code_or_a_path_is_no_heading() -> None:
    text = "It stands in front of the others:\n\n    $(root)/shims:/usr/bin\n\nSo it is found first.\n"

    assert where(text, "So it").headings == ()


def test_a_turn_after_a_question_has_the_question() -> None:
    assert where("沈红:开始吧。\n沈红:总价多少?\n卢工:56万。\n卢工:对。\n", "56万").lead_in == "总价多少?"


def test_columns_set_apart_by_spaces_are_rows() -> None:
    text = "Invoice no.   2024-0317\nDate          31 March 2024\n"

    assert where(text, "2024-0317").row == "Invoice no."


def test_wrapped_lines_are_one_sentence_and_short_lines_are_not() -> None:
    wrapped = (
        "The rent of the flat in Quay Street rises from the first of May to\n1,200 a month. Nothing else changes.\n"
    )
    short = "Ana Lopez\nQuay Street 3\n8001 Harbour Town\nand a line that is much longer than all of those above\n"

    assert found(wrapped, "rises from the first of May to 1,200")
    assert not [p for p in placed(short) if "Lopez Quay" in " ".join(short[p.start : p.end].split())]


def test_pictures_links_and_tags_of_a_heading_are_not_shown() -> None:
    badge = "[![build](https://x.org/b.svg?a=1)](https://x.org)"
    text = f"# Pools {badge} ![](a.png)\n\n## <a id='s'></a> What [a limit](#limit) is\n\nIt holds for {badge} all.\n"

    place = where(text, "holds for")
    assert (place.title, place.headings) == ("Pools", ("What a limit is",))


def test_a_heading_of_a_picture_alone_or_with_signs_of_comparison_stays() -> None:
    assert where("# ![logo](a.png)\n\nIt is small.\n", "small").title == "![logo](a.png)"
    assert where("# When a < b\n\nIt is small.\n", "small").title == "When a < b"


def test_underlined_titles_are_headings() -> None:
    text = "Release notes\n=============\n\n2.0\n---\n\nNothing new.\n"

    place = where(text, "Nothing new")

    assert (place.title, place.headings) == ("Release notes", ("2.0",))


def test_underlines_have_the_levels_of_their_order_and_a_first_chapter_is_no_title_of_the_next() -> None:
    text = "Larkspur\n********\n\nUse\n===\n\nModes\n-----\n\nIt has two modes.\n\nHelp\n====\n\nAsk Ana.\n"
    chapters = "Use\n---\n\nIt runs.\n\nHelp\n----\n\nAsk Ana.\n"

    assert (where(text, "two modes").title, where(text, "two modes").headings) == ("Larkspur", ("Use", "Modes"))
    assert (where(text, "Ask Ana").title, where(text, "Ask Ana").headings) == ("Larkspur", ("Help",))
    assert where(chapters, "Ask Ana", "manual.rst").title == "Help"
    assert where(chapters.replace("Use\n---", "## Use").replace("Help\n----", "## Help"), "Ask Ana").title == "Help"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Settings of the pool:\n\n# Sockets that stay open\npool_size = 10\n\nIt runs.\n", ""),
        ("To set it up:\n\n# get it first\npip install larkspur\n\nIt runs.\n", ""),
        ("To set it up:\n\n    # get it first\n    larkspur --get\n\nIt runs.\n", ""),
        ("# Sockets that stay open\npool-size 10\n\nIt runs.\n", "pool.conf"),
    ],
)
def test_a_comment_in_a_program_is_no_heading(text: str, name: str) -> None:
    assert not [one for one in placed(text, name) if one.place.kind == "heading"]
    assert (where(text, "It runs.", name).title, where(text, "It runs.", name).headings) == ("", ())


RST = """\
|build| |docs|

.. |build| image:: https://larkspur.example/build.svg
   :target: https://larkspur.example

Use
~~~

Pipe it through::

    # count the lines
    cat *.txt | larkspur

.. code:: sh

    larkspur --all

.. important::
   It prints a sum.

.. _larkspur: https://larkspur.example
"""


def test_code_of_restructuredtext_is_code_and_an_underline_of_tildes_opens_none() -> None:
    kinds = {" ".join(RST[p.start : p.end].split()): p.place.kind for p in placed(RST)}

    assert kinds["Pipe it through::"] == kinds["It prints a sum."] == "text"
    assert {kinds["|build| |docs|"], kinds[".. _larkspur: https://larkspur.example"]} == {"code"}
    assert kinds["# count the lines cat *.txt | larkspur"] == kinds["larkspur --all"] == "code"
    assert where(RST, "It prints").title == "Use"


def test_a_long_line_of_tildes_parts_a_text_and_opens_no_block_of_code() -> None:
    rule = "~" * 60
    assert where(f"第一讲。\n\n{rule}\n\n按 x 键删除字符。\n\n{rule}\n\n按 u 键撤销。\n", "按 x").kind == "text"


def test_tildes_under_a_line_that_is_longer_open_a_block_of_code() -> None:
    assert where("Run it like this:\n~~~\n# now\nlarkspur\n~~~\n\nIt runs.\n", "larkspur").kind == "code"


@pytest.mark.parametrize(
    "text", ["# Shopping\n- milk\n\n# Calls\nRing Ana.\n", "# 购物\n- 牛奶\n\n# 电话\nRing Ana.\n"]
)
def test_a_heading_may_stand_right_above_its_text(text: str) -> None:
    assert where(text, "Ring Ana.").title in ("Calls", "电话")


def test_a_version_in_a_heading_is_no_number_of_a_section() -> None:
    text = "Changes\n=======\n\n4.2.0 (2024-05-14)\n------------------\n\n- It runs on Windows.\n"

    assert where(text, "Windows").headings == ("4.2.0 (2024-05-14)",)


@pytest.mark.parametrize(
    ("text", "words", "title", "sender"),
    [
        (
            "From: Ana <ana@x.org>\nTo: all\nSubject: Roof\n\nIt leaks.\n\nAna\n\n----\n"
            "From: Bob\nTo: Ana\nSubject: Re: Roof\n\nI know a roofer.\n",
            "roofer",
            "Roof",
            "Bob",
        ),
        (
            "发件人:安娜\n主题:屋顶\n\n漏水了。\n\n娜\n\n----\n发件人:老柏\n主题:回复:屋顶\n\n我认识一个师傅。\n",
            "师傅",
            "屋顶",
            "老柏",
        ),
    ],
)
def test_each_mail_of_a_thread_has_its_subject_and_its_sender(text: str, words: str, title: str, sender: str) -> None:
    place = where(text, words)

    assert (place.title, place.sender, place.headings) == (title, sender, ())


def test_each_field_has_its_own_label_and_what_follows_it_has_none() -> None:
    fields = "# 纪要\n\n时间:3月18日\n地点:小会议室\n主持:丁校长\n"
    prices = "Delivery within 15 miles: £12, free above £150.\nWe plant for you from November to March: £18 a tree.\n"

    assert where(fields, "丁校长").headings == ("主持",)
    assert where(prices, "£12").headings == ("Delivery within 15 miles",)
    assert where(prices, "£18").headings == ()


def test_a_table_may_have_no_head_above_its_labels() -> None:
    text = "PRICES\n\n             pot size    each      from 10\nApple        10 l        £28.50    £25\n"

    assert where(text, "£28.50").columns == ("", "pot size", "each", "from 10")


def test_the_name_stands_for_a_missing_title() -> None:
    assert where("it rains today and tomorrow, says the radio.", "rains", "notes.txt").line() == "notes.txt"


def test_spans_are_in_order_and_inside_the_text() -> None:
    spans = [(p.start, p.end) for p in placed(MARKDOWN)]

    assert spans == sorted(spans)
    assert all(left[1] <= right[0] for left, right in zip(spans, spans[1:], strict=False))
    assert spans[-1][1] <= len(MARKDOWN)
