"""Short sentences in, what they state out: values, attributes, how each is meant, and the noun a question is about."""

import pytest

from agentic_memory_bank.engines.extractive.reading.attributes import claims_of, same_attribute, same_value
from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.questions import asked_noun, counted
from agentic_memory_bank.engines.extractive.reading.statements import read
from agentic_memory_bank.engines.extractive.reading.values import agree, comparable, values_of


@pytest.mark.parametrize(
    ("text", "unit", "amount"),
    [
        ("It weighs 2 kg.", "mass", 2),
        ("The rent is $1,240 a month.", "dollar", 1_240),
        ("Three dozen eggs were broken.", "egg", 36),
        ("全长1.2公里。", "length", 1_200),
        ("共收到两万元。", "yuan", 20_000),
    ],
)
def test_an_amount_is_read_with_its_unit(text: str, unit: str, amount: float) -> None:
    value = values_of(text)[0]

    assert (value.kind, value.unit, value.amount) == ("number", unit, amount)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("On 3 May 2024 the committee met.", (2024, 5, 3)),
        ("The fair opens on May 3.", (None, 5, 3)),
        ("It was founded in 1957.", (1957, None, None)),
        ("2024年5月3日开会。", (2024, 5, 3)),
        ("定于五月三日开会。", (None, 5, 3)),
    ],
)
def test_a_date_is_read_in_any_form(text: str, date: tuple[int | None, ...]) -> None:
    assert [value.date for value in values_of(text)] == [date]


@pytest.mark.parametrize(
    ("first", "second", "may_both_be_true"),
    [
        ("100 kg", "220 lb", True),
        ("40 m", "130 ft", True),
        ("100 kg", "180 lb", False),
        ("about 100 people", "103 people", True),
        ("at least 100 people", "140 people", True),
        ("at least 100 people", "40 people", False),
        ("大约100人", "103人", True),
        ("至少100人", "140人", True),
        ("至少100人", "40人", False),
        ("40米", "55米", False),
        ("3 May 2024", "May 2024", True),
        ("2024年5月3日", "2024年5月4日", False),
    ],
)
def test_values_exclude_each_other_only_past_what_their_words_and_digits_leave_open(
    first: str, second: str, may_both_be_true: bool
) -> None:
    one, other = values_of(f"It is {first}.")[0], values_of(f"It is {second}.")[0]

    assert comparable(one, other)
    assert agree(one, other) is may_both_be_true


def test_a_length_is_never_compared_with_a_price() -> None:
    assert not comparable(values_of("It is 40 m long.")[0], values_of("It costs 40 euros.")[0])
    assert not comparable(values_of("长40米。")[0], values_of("票价40元。")[0])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Lisbon.", "I live in Porto."),
        ("My sister works as a nurse.", "My sister works as a pilot."),
        ("我住在北京。", "我住在上海。"),
    ],
)
def test_one_attribute_of_one_person_has_one_value(before: str, after: str) -> None:
    first, second = claims_of(before)[0], claims_of(after)[0]

    assert same_attribute(first, second)
    assert not same_value(first, second)


def test_what_was_once_so_is_no_attribute() -> None:
    assert claims_of("I used to live in Porto.") == ()
    assert claims_of("我以前住在北京。") == ()


def test_a_denial_is_read_as_one() -> None:
    assert claims_of("I no longer live in Lisbon.")[0].denied
    assert not claims_of("I live in Lisbon.")[0].denied


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("The gate is open until six.", "asserted"),
        ("Is the gate open until six?", "asked"),
        ("If the gate is closed, ring the bell.", "possible"),
        ("We plan to open the gate at six.", "planned"),
        ("The gate used to be open until six.", "past"),
        ("大门六点关。", "asserted"),
        ("大门几点关?", "asked"),
        ("如果大门关了,请按铃。", "possible"),
        ("我们计划六点开门。", "planned"),
        ("以前大门六点关。", "past"),
    ],
)
def test_how_a_sentence_is_meant_is_read(text: str, mode: str) -> None:
    assert [one.mode for one in read(text).statements] == [mode]


@pytest.mark.parametrize("words", ["Blue tongue.", "Okay.", "好的。"])
def test_who_says_next_to_nothing_states_no_figure(words: str) -> None:
    assert [one.figures for one in read(words).statements] == [()]


@pytest.mark.parametrize("words", ["charge charges charged", "weigh weighs weighed", "open opens opened opening"])
def test_forms_of_a_word_have_one_stem(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 1


@pytest.mark.parametrize(
    ("question", "noun"),
    [
        ("How many children does Astrid have?", "children"),
        ("How many people work in the plant?", ""),
        ("How many nurses work there?", "nurses"),
        ("How many night nurses work on the ward?", "nurses"),
        ("What did the flight cost?", "flight"),
        ("What does a licence for commercial use cost?", "licence"),
        ("When does the maintenance contract of the server run out?", "contract"),
        ("Who is the head teacher?", "teacher"),
        ("Where is the key?", ""),
        ("博物馆的馆长是谁?", "馆长"),
        ("一年的水电费是多少?", "电费"),
        ("怎么去?", ""),
    ],
)
def test_the_noun_that_an_answer_is_about_is_told_by_the_form_of_the_question(question: str, noun: str) -> None:
    assert asked_noun(question) == noun


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("How many nurses work there?", "nurs"),
        ("How many red cars passed?", "car"),
        ("How many people live there?", "peopl"),
        ("How many guests does the room hold?", "guest"),
        ("How many sheep are there?", "sheep"),
    ],
)
def test_what_is_counted_is_the_noun_and_no_verb_behind_it(question: str, term: str) -> None:
    assert counted(question) == {term}
