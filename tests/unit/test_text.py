"""Reading text: what goes in comes out whole, in linear time, and terms match however a thing is written."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.text.cleaning import checked_text, clean, is_cjk, language
from agentic_memory_bank.tools.text.names import names_and_numbers, numbers_with_offsets
from agentic_memory_bank.tools.text.sentences import (
    MAX_CODE,
    MAX_SENTENCE,
    opening,
    paragraphs,
    sentences,
)
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens, passages

PIECES = [
    "Dr. J. Smith",
    " ",
    "\n",
    "\n\n",
    "# Head",
    "- item",
    "1. ",
    "```",
    "Alice: hi",
    "。",
    "“好！”",
    "战国",
    "...",
    "?!",
]
PIECES += ["\r\n", "U.S.", "3.14", '."', " \t ", "| a |", "\u2028", "e\u0301", "😀", "[1]", "张三：", "word" * 20]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=8)).map("".join)
HOSTILE = {
    "one word": "a" * 40_000,
    "one Chinese line": "战" * 40_000,
    "nested brackets": "[" * 10_000 + "(" * 10_000 + ")" * 10_000,
    "unclosed emphasis": "*" * 30_000,
    "full stops": "." * 30_000 + "a",
    "full stops and quotes": '."' * 30_000,
    "floods of marks": "a" + "\u0300\u0591\u0301" * 10_000,
    "white space": " " * 40_000,
    "empty lines": "\n" * 30_000,
    "fences": "```\n" * 20_000,
    "underscores": "_" * 30_000 + "a_" * 10_000,
    "joined letters": "a-" * 30_000,
    "commas in numbers": "1," * 30_000,
    "months": "jan " * 10_000,
    "titles": "《" * 30_000 + "阿·" * 10_000,
    "speakers": "A b c d" * 10_000,
}


def parts(divide, text: str, *arguments) -> list[str]:
    return [text[start:end] for start, end in divide(text, *arguments)]


# --- cleaning ------------------------------------------------------------------------------------------------------


@given(st.text(st.characters(exclude_categories=[])))
def test_a_cleaned_text_survives_every_store(text):
    kept = clean(text)
    assert kept.encode("utf-8").decode("utf-8") == kept == json.loads(json.dumps(kept))
    assert "\x00" not in kept
    assert clean(kept) == kept


def test_cleaning_changes_nothing_but_what_cannot_be_stored():
    assert clean("\ufeffa\x00b\ud83dc\r\n\u202e\u200b") == "a\ufffdb\ufffdc\r\n\u202e\u200b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "en"),
        ("123", "en"),
        ("A game called 战国无双 by Koei for the PlayStation", "en"),
        ("GPT-4o 和 Claude 3.5 Sonnet 哪个更好？", "zh"),
        ("これは日本語です", "zh"),
        ("Der Fluß führt Wasser", "en"),
    ],
)
def test_the_language_is_that_of_most_words(text, expected):
    assert language(text) == expected
    assert is_cjk(text) == (expected == "zh")


# --- index terms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GPT-4o", "gpt4o"),
        ("GPT-4o", "GPT_4o"),
        ("CVE-2025-64439", "cve-2025-64439"),
        ("max_tokens", "maxTokens"),
        ("1,121", "1121"),
        ("May 7th", "7 May"),
        ("café", "CAFE"),
        ("cafe\u0301", "café"),
        ("Łódź", "lodz"),
        ("Straße", "strasse"),
        ("２０２０", "2020"),
        ("e-mail", "email"),
        ("O'Brien", "O’Brien"),
        ("Caroline's", "Caroline"),
        ("running", "runs"),
        ("U.S.", "US"),
        ("用GPT-4o写作", "gpt4o"),
        ("zero\u200bwidth", "zerowidth"),
        ("臺灣鐵路", "台湾铁路"),
    ],
)
def test_two_ways_to_write_a_thing_share_its_most_specific_term(one, other):
    assert tokenize(one)[0] in tokenize(other) or tokenize(other)[0] in tokenize(one)
    assert set(tokenize(one)) & set(tokenize(other))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("GPT-4o", ["gpt4o", "gpt", "4o"]),
        ("CVE-2025-64439", ["cve202564439", "cve", "2025", "64439"]),
        ("3.14 and 0.5", ["3.14", "0.5"]),
        ("1,121 at 007", ["1121", "7"]),
        ("C++ or C#", ["c++", "c#"]),
        ("战国无双3由GPT-4o写", ["战国", "国无", "无双", "3", "由", "gpt4o", "gpt", "4o", "写"]),
        ("A公司，B公司", ["公司", "b", "公司"]),
        ("Don't you know who WHO is?", ["know", "who"]),
        ("the 100km run", ["100km", "100", "km", "run"]),
        ("!!! --- ...", []),
        ("", []),
    ],
)
def test_terms(text, terms):
    assert tokenize(text) == terms


@given(texts, st.sampled_from([" ", "\n", "\u3000", "\x1c", "\xa0"]), texts)
def test_the_terms_of_joined_texts_are_those_of_both(one, space, other):
    assert tokenize(one + space + other) == tokenize(one) + tokenize(other)


@pytest.mark.parametrize("text", ["GPT-4o，Zürich’s", "1,121.5", "don't", "中文GPT-4o中文", "x" * 99, "战国" * 40])
def test_a_text_met_again_has_the_same_terms(text):
    assert tokenize(text) == tokenize(text) == tokenize(f" {text}\n")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Alice: hi\nthere", "turn"),
        ("张三：你好", "turn"),
        ("  # Title\ntext", "heading"),
        ("- milk", "item"),
        ("| a |", "row"),
        ("```\nx = 1", "fence"),
        ("Plain: of course", "turn"),
        ("Nothing else", "text"),
        ("", "text"),
    ],
)
def test_what_a_text_opens_with(text, kind):
    assert opening(text) == kind


def test_a_term_is_never_longer_than_its_limit():
    assert [len(term) for term in tokenize("a" * 1_000)] == [64]
    assert [len(term) for term in tokenize("9" * 1_000)] == [64]


@given(texts)
def test_terms_are_folded_and_never_empty(text):
    assert all(term and term == term.casefold() and not term.isspace() for term in tokenize(text))


# --- divisions -----------------------------------------------------------------------------------------------------


@given(texts)
@settings(max_examples=300)
def test_each_division_covers_every_character_once(text):
    for divide in (sentences, paragraphs, lambda text: passages(text, 7)):
        spans = divide(text)
        assert "".join(text[start:end] for start, end in spans) == text
        assert all(start < end for start, end in spans)
        assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]


@given(texts)
def test_white_space_belongs_to_what_is_before_it(text):
    for divide in (sentences, paragraphs):
        assert not any(piece[0].isspace() for piece in parts(divide, text)[1:])


@given(texts, st.integers(1, 40))
@example(" 。", 1)
def test_a_passage_is_within_its_limit_unless_it_is_one_character(text, limit):
    assert all(estimate_tokens(piece) <= limit or len(piece) == 1 for piece in parts(passages, text, limit))


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. J. R. Smith met Mr. Jones. ", "He paid $3.14 to Acme Inc. of Ohio. ", "See Fig. 3, e.g. here."],
        ["He lives in the U.S. ", "The U.S. Army is there. ", "It began at 5 p.m. ", "She left."],
        ['"Really?" he said. ', '"Yes!" ', "She left (quickly.) ", "Why?! ", "He knew [1]. ", "End"],
        ["i went home. ", "then i slept... ", "Later I woke."],
        ["他说：“你好。”", "然后走了。", "真的吗？！", "是的……好，A公司有3.5亿元！", "“好！”，他说。"],
        ["好吗?", "我来了. ", "Fine."],
        ["# Head\n", "Text goes on\nin a second line. ", "More.\n\n", "New\n"],
        ["1. First. ", "Still first\n", "2. Second\n", "- third\n  ", "- nested"],
        ["Alice: Hi. ", "You?\n", "Bob Smith: Fine\nand well\n", "user: ok\n", "[10:30] Eve: hm\n", "张三：你好"],
        ["| a | b |\n", "| c | d |\n", "after"],
        ["  leading space. ", "Next"],
        ["Version 2.0.33 of example.com is No. 5. ", "No. ", "It is not."],
    ],
)
def test_sentences(expected):
    assert parts(sentences, "".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["one\ntwo\n\n", "three\r\n \r\n", "four"],
        ["# Head\n\n## Sub\n\ntext\n\n", "more\n", "# Next\n"],
        ["Intro:\n", "- a\n  goes on\n", "* b\n", "3) c\n"],
        ["Alice: hi\n", "Bob: yes\nand no\n", "**Eve:** hm\n", "李四：好"],
        ["text\n", "```py\na = 1\n\n- b\n# c\n```\n\n", "after"],
        ["| a | b |\n|---|---|\n| c | d |\n\n", "text"],
    ],
)
def test_paragraphs(expected):
    assert parts(paragraphs, "".join(expected)) == expected


def test_a_code_block_over_its_limit_is_divided_again():
    code = "```\n" + "x = 1\n\n" * MAX_CODE
    assert len(parts(paragraphs, code)[0].rstrip()) <= MAX_CODE
    assert len(parts(paragraphs, code)) > 2


def test_a_long_sentence_is_cut_at_white_space_or_failing_that_hard():
    assert all(piece.endswith("word ") for piece in parts(sentences, "word " * 1_000))
    assert all(piece.endswith("，") for piece in parts(sentences, "一二三四五六七八九，" * 500))
    assert max(map(len, parts(sentences, "x" * 5_000))) == MAX_SENTENCE


def test_short_sentences_of_a_long_paragraph_are_joined_up_to_the_limit():
    text = "One two three. " * 40
    pieces = parts(passages, text, 60)
    assert 1 < len(pieces) < 40
    assert all(piece.endswith("three. ") for piece in pieces)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_in_linear_time(name):
    """Sized so that anything quadratic would take minutes."""
    text = HOSTILE[name]
    for read in (tokenize, estimate_tokens, language, names_and_numbers):
        read(text)
    for divide in (sentences, paragraphs, lambda text: passages(text, 256)):
        assert divide(text)[-1][1] == len(text)


# --- size in tokens ------------------------------------------------------------------------------------------------


@given(texts, texts)
def test_joining_texts_never_costs_more_than_their_sum(one, other):
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("战国无双是由光荣开发的", 11, 13),
        ("The river bank was closed to visitors for the whole of last winter.", 14, 18),
        ("(((((((((([[[[[[[[[[", 20, 20),
        (" \n\t", 0, 0),
    ],
)
def test_tokens_are_estimated_closely_and_not_below(text, least, most):
    assert least <= estimate_tokens(text) <= most


# --- names, numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("On 7 May 2023 she met Caroline.", {"2023-05-07", "caroline"}),
        ("May 7th, 2023", {"2023-05-07"}),
        ("2023-05-07", {"2023-05-07"}),
        ("2023年5月7日", {"2023-05-07"}),
        ("In March 2021 or on 3 June", {"2021-03", "06-03"}),
        ("It has 1,121 qubits and 3.14 more, 85 percent or 85% by 10:30", {"1121", "3.14", "85%", "10:30"}),
        ("It cost 1.5 million, that is 150万 or 2亿", {"1500000", "200000000"}),
        ("it runs GPT-4o with max_tokens for CVE-2025-64439", {"gpt4o", "maxtokens", "cve202564439"}),
        ("Barack Obama spoke. Later we left.", {"barack", "obama"}),
        ("Nursing is hard. We like nursing.", set()),
        ("Caroline sang. We saw Caroline's dog.", {"caroline"}),
        ("由 openai 开发的《战国无双3》与贝拉克·奥巴马", {"openai", "战国无双3"}),
        ("WE ALL SHOUT HERE", set()),
        ("the 433-qubit chip has 5 parts", {"433"}),
        ("", set()),
    ],
)
def test_names_and_numbers(text, expected):
    found = names_and_numbers(text)
    assert found - {"贝拉克·奥巴马", "与贝拉克·奥巴马"} == expected


def test_numbers_say_where_they_stand():
    text = "Since 7 May 2023 it holds 1,121."
    assert [(number, text[start:end]) for number, (start, end) in numbers_with_offsets(text)] == [
        ("2023-05-07", "7 May 2023"),
        ("1121", "1,121"),
    ]


@given(texts)
def test_names_and_numbers_are_plain_strings(text):
    assert all(name and name == name.strip() for name in names_and_numbers(text))


@pytest.mark.parametrize(("given", "said"), [(None, "is empty"), (" ", "is empty"), (5, "is of type int")])
def test_what_is_no_question_is_refused_for_what_it_is(given: object, said: str) -> None:
    with pytest.raises(InputError, match=f"The question {said}"):
        checked_text(given, "question")
