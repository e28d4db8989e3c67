"""The offline reader over documents as people have them: what is quoted first, in which place, and what is refused."""

import pytest

from agentic_memory_bank.engines.extractive.answering.quoting import Passage, QuotedReading, read, shown
from agentic_memory_bank.engines.extractive.reading.kinds import asked_for

PEP = """# PEP 602: Annual Release Cycle

## Schedule

- 3.9: the final release is on 5 October 2020.
- 3.10: the final release is on 4 October 2021.

If this PEP is rejected, the final release of 3.9 would be on 14 June 2021.

When is the final release of 3.9?
"""
HTTP = """# HTTPX

## Enabling HTTP/2

The client does not use HTTP/2 unless you ask for it. To enable HTTP/2 support, install the extra and pass `http2=True`.
"""
RESULTS = """# Results

| Model | small | large |
|---|---|---|
| Accuracy | 71.2 | 84.5 |
| Size | 60M | 770M |
"""
LIMITS = """# Limits

The pool takes these settings:

- `max_connections`: connections that are open at most. (Default 100)
- `max_keepalive`: idle connections that are kept. (Default 20)
"""
CONTRACT = """# Supply contract

3. Price. The buyer pays 40 euros for each crate.

4. Delivery. Crates are delivered on Mondays.
"""
AMENDMENT = """# Amendment no. 2

Section 3 is replaced by: "The buyer pays 46 euros for each crate."

The delivery of the crates has been moved to Thursday.
"""


def reading(question: str, *texts: str) -> tuple[QuotedReading, list[str]]:
    passages = [Passage.of(str(number), text, 1.0) for number, text in enumerate(texts)]
    found = read(question, passages)
    return found, [shown(question, passages[int(quote.passage)].text, quote) for quote in found.quotes]


def first(question: str, *texts: str) -> str:
    return next(iter(reading(question, *texts)[1]), "")


def test_a_date_that_would_hold_does_not_come_before_the_one_that_does() -> None:
    assert "5 October 2020" in first("When is the final release of 3.9?", PEP)
    assert "三月" in first("年会什么时候开?", "如果预算没有批准,年会推迟到五月开。年会定于三月八日开。")


def test_a_quote_is_shown_after_its_place() -> None:
    assert first("When is the final release of 3.9?", PEP).startswith("PEP 602: Annual Release Cycle > Schedule")


def test_a_heading_is_no_answer() -> None:
    assert "install the extra" in first("How do I enable HTTP/2?", HTTP)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How do I enable HTTP/3?", HTTP),
        (
            "Which offices are there in Paris?",
            "The firm has offices in Rome and Oslo. The office in Rome opened in 2012.",
        ),
        ("图书馆有Linux电脑吗?", "图书馆每天九点开门。二楼有复印机。"),
    ],
)
def test_a_name_that_stands_nowhere_is_not_answered(question: str, text: str) -> None:
    assert reading(question, text)[1] == []


@pytest.mark.parametrize(("size", "accuracy"), [("small", "71.2"), ("large", "84.5")])
def test_a_value_comes_from_the_row_and_the_column_that_are_asked_about(size: str, accuracy: str) -> None:
    said = first(f"What accuracy does the {size} model reach?", RESULTS)

    assert said == f"Results > Accuracy: {size}: {accuracy}"


@pytest.mark.parametrize(
    ("question", "text", "field"),
    [
        (
            "What is the default of max_open_files?",
            "# Settings\n\n## max_open_files\n\n**Default** - `10`\n\n"
            "There are two reasons to change the value of max_open_files.\n\n## idle\n\n**Default** - `30`\n",
            "10",
        ),
        (
            "What type is max_open_files?",
            "Settings\n========\n\nmax_open_files\n--------------\n\n:Type: integer\n:Default: 10\n\n"
            "How many files may be open.\n",
            "integer",
        ),
        (
            "最大并发数的默认值是多少?",
            "# 配置\n\n## 最大并发数\n\n默认值:10\n\n网络慢时可以调小最大并发数。\n\n## 超时\n\n默认值:30\n",
            "10",
        ),
    ],
)
def test_a_field_answers_what_is_asked_of_the_heading_above_it(question: str, text: str, field: str) -> None:
    assert field in first(question, text)


def test_who_asks_for_a_kind_of_thing_is_told_of_one() -> None:
    assert "Postgres" in first(
        "Which database are we on?", "# Standup\n\nWe moved to Postgres 15 last week. Reports are next.\n"
    )


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What did the flight cost?", "The boat cost 18 euros for the day. The bus into town costs 4.10 euros."),
        ("博物馆的馆长是谁?", "博物馆由周文达设计。票价二十元。"),
        ("结业时发什么证书?", "结业当天发一本纪念册。\n\n培训在三楼举行。"),
        ("软件多少钱?", "# Copyright (C) 2007 Free Software Foundation, Inc.\n\n请输入密钥的尺寸。"),
    ],
)
def test_what_is_asked_about_has_to_be_spoken_of(question: str, text: str) -> None:
    assert reading(question, text)[1] == []


def test_what_stands_in_brackets_behind_an_item_is_quoted_with_it_and_with_what_opens_the_list() -> None:
    said = first("How many connections are open at most by default?", LIMITS)

    assert "The pool takes these settings" in said
    assert said.endswith("(Default 100)")


@pytest.mark.parametrize(
    ("question", "texts", "now"),
    [
        ("How much does the buyer pay for a crate?", (CONTRACT, AMENDMENT), "46 euros"),
        ("On which day is the delivery of the crates?", (CONTRACT, AMENDMENT), "Thursday"),
        ("会费是多少?", ("会员须知\n\n会费为每年200元。", "通知\n\n经理事会决定,会费调整为每年260元。"), "260"),
        (
            "会议在哪里开?",
            ("年会通知\n\n会议地点:主楼报告厅。", "变更通知\n\n会议地点改为图书馆三层会议室。"),
            "图书馆",
        ),
    ],
)
def test_what_was_amended_comes_first(question: str, texts: tuple[str, ...], now: str) -> None:
    assert now in first(question, *texts)


def test_both_parts_of_a_question_are_answered() -> None:
    said = reading(
        "Who built the bridge, and how much did it cost?",
        "The bridge over the Lek was built by Anton Verhoeven in 1932. It cost 90,000 guilders.",
    )[1]

    assert any("Verhoeven" in one for one in said)
    assert any("90,000" in one for one in said)


@pytest.mark.parametrize(
    ("question", "text", "missing"),
    [
        ("Who built the bridge, and how much did it cost?", "The bridge was built by Anton Verhoeven.", "how much"),
        ("Who built the bridge and when did it open?", "The bridge was built by Anton Verhoeven.", "when did it open"),
        ("塔是谁设计的?塔有多高?", "这座塔由周文达设计。塔的外墙是白色的。", "塔有多高"),
        ("塔是谁设计的，花了多少钱", "这座塔由周文达设计。塔的外墙是白色的。", "花了多少钱"),
    ],
)
def test_the_part_that_is_missing_is_named(question: str, text: str, missing: str) -> None:
    found, said = reading(question, text)

    assert said
    assert missing in "".join(found.missing)


def test_whoever_was_crowned_in_2009_is_no_year() -> None:
    text = "The palace was repaired in 1970. In 2009 Clara Moen was crowned queen of the festival."
    assert "Clara Moen" in first("Who was crowned in 2009?", text)
    assert "王明月" in first("2009年加冕的是谁?", "1970年宫殿修缮完毕。2009年王明月加冕为女王。")


def test_when_may_be_told_by_what_happens_then() -> None:
    shell = (
        "A restricted shell cannot change directories. These restrictions are enforced after start-up files are read."
    )
    assert "after start-up files" in first("When are the restrictions enforced?", shell)
    assert "登录之后" in first("限制什么时候生效?", "受限用户不能更改目录。这些限制在用户登录之后生效。")
    assert not first("In which year were the restrictions enforced?", shell)


def test_a_field_that_is_left_to_be_filled_in_says_nothing() -> None:
    said = reading(
        "What is the name of the tenant?", "Tenant: ______________\n\nThe tenant, Mr Paul Reyes, pays in advance."
    )

    assert all("____" not in one for one in said[1])
    assert "Paul Reyes" in said[1][0]


CHANGES = """# Changes

## [1.2.0] - 2023-02-24

- Rows are written in one go.

## [1.1.0] - 2022-08-03

- The option `--all` is gone.
"""


LINKS = """Lodestar
========

.. image:: https://img.example.org/lodestar-licence.svg
   :target: https://example.org/lodestar/licence
   :alt: Licence

.. note:: Lodestar may be used under the MIT licence.

[1.1.0]: https://example.org/lodestar/1.1.0
[1.0.0]: https://example.org/lodestar/1.0.0
"""


def test_where_links_and_pictures_lead_is_no_answer() -> None:
    said = reading("What is the licence of Lodestar?", LINKS)[1]

    assert said
    assert "MIT" in said[0]
    assert not any("example.org" in one for one in said)


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("How far back do the records go?", ("duration", "length")),
        ("How far is it to the mill?", ("length",)),
        ("How fine is the cloth?", ()),
        ("How high is the fine for late books?", ("money",)),
        ("施工期间的水费由哪一方付?", ("person",)),
        ("这个工程的工期是多少?", ("duration", "length")),
        ("哪方面的书最多?", ("count",)),
    ],
)
def test_the_kind_of_thing_asked_for_is_told_from_words_that_look_like_it(
    question: str, kinds: tuple[str, ...]
) -> None:
    assert asked_for(question) == kinds
