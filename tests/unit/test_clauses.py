"""The short offline answer: words of the passages, or of the calendar, beside the sentence they rest on; or none."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_memory_bank.engines.extractive.answering.choices import choose, life
from agentic_memory_bank.engines.extractive.answering.exact import exact, is_nested
from agentic_memory_bank.engines.extractive.answering.short_answers import ShortAnswer, short_answer
from agentic_memory_bank.engines.extractive.reading.countries import countries
from agentic_memory_bank.engines.extractive.reading.dates import day_of, moments
from agentic_memory_bank.engines.extractive.reading.questions import Question
from agentic_memory_bank.engines.research import Excerpt


def passage(text: str, score: float, title: str = "", date: str = "") -> Excerpt:
    return Excerpt("", title, text, score, date=date)


KESTREL = passage(
    "The Kestrel probe was launched on 14 March 2021 from Kourou. It was built by Maria Okafor and her team. "
    "It carries 4 instruments and a small lander. Many people watched the launch on television.",
    1.0,
    "Kestrel probe",
)
TURN = passage("Ann: I went to a pottery class yesterday, and it was great fun.", 1.0, date="1:56 pm on 8 May, 2023")
RAILWAY = passage("青藏铁路由中国铁路总公司管理运营。全长1956公里，于2006年7月1日全线通车，最高点位于唐古拉山口。", 1.0)
OLDER = passage("Harbour Lights is a 1931 drama film directed by Otto Brandt.", 0.9, "Harbour Lights")
NEWER = passage("The Glass Road is a 1958 film directed by Jean Moreau.", 0.8, "The Glass Road")
BRANDT = passage(
    "Otto Brandt (3 May 1902 – 12 June 1981) was a German film director. He died in Hamburg.", 0.7, "Otto Brandt"
)
MOREAU = passage("Jean Moreau (9 April 1899 – 1 January 1970) was a French film director.", 0.6, "Jean Moreau")
FILMS = [OLDER, NEWER, BRANDT, MOREAU]


def answer(question: str, *passages: Excerpt) -> str:
    found = short_answer(question, passages)
    return found.text if found else ""


def quoted(question: str, *passages: Excerpt) -> list[str]:
    found = short_answer(question, passages)
    return [passages[q.excerpt].text[slice(*q.span)] for q in found.quotes] if found else []


def test_the_kind_of_thing_asked_for_is_the_answer() -> None:
    assert answer("When was the Kestrel probe launched?", KESTREL) == "14 March 2021"
    assert answer("Who built the Kestrel probe?", KESTREL) == "Maria Okafor"
    assert answer("Where was the Kestrel probe launched from?", KESTREL) == "Kourou"
    assert answer("How many instruments does the Kestrel probe carry?", KESTREL).startswith("4")


def test_the_quote_is_the_sentence_that_the_answer_stands_in() -> None:
    assert quoted("Who built the Kestrel probe?", KESTREL) == ["It was built by Maria Okafor and her team."]


def test_chinese_questions_are_answered_with_what_takes_the_place_of_the_question_word() -> None:
    assert answer("青藏铁路由哪家公司管理运营？", RAILWAY) == "中国铁路总公司"
    assert answer("青藏铁路于什么时候全线通车？", RAILWAY).startswith("2006年7月1日")
    assert "1956" in answer("青藏铁路全长多少公里？", RAILWAY)


def test_a_day_told_from_another_is_the_day_of_the_calendar_and_the_words_stay_in_the_quote() -> None:
    assert answer("When did Ann go to a pottery class?", TURN) == "7 May 2023"
    assert quoted("When did Ann go to a pottery class?", TURN) == [
        "I went to a pottery class yesterday, and it was great fun."
    ]


def test_without_the_day_on_which_it_was_said_no_day_is_made_up() -> None:
    assert "2023" not in answer("When did Ann go to a pottery class?", passage(TURN.text, 1.0))


def test_where_nothing_fits_there_is_no_answer() -> None:
    assert short_answer("What is the capital of Mongolia?", [KESTREL, TURN]) is None
    assert short_answer("谁写了红楼梦？", [RAILWAY]) is None
    assert short_answer("Who built the Kestrel probe?", []) is None
    assert short_answer("Who built the Kestrel probe?", [passage("", 1.0), passage(" \n", 0.5)]) is None
    assert short_answer("", [KESTREL]) is None


def test_what_the_question_says_itself_is_no_answer() -> None:
    probe = passage("The Kestrel probe is a probe. The Kestrel probe was named after a falcon by Ida Lund.", 1.0)
    assert "Kestrel" not in answer("Who named the Kestrel probe?", probe)


def test_what_somebody_else_said_is_no_answer() -> None:
    talk = passage("Ann: I bought a red bicycle in Lisbon.\nBob: I bought a green bicycle in Oslo.", 1.0)
    assert answer("Where did Ann buy a bicycle?", talk) == "Lisbon"
    assert answer("Where did Bob buy a bicycle?", talk) == "Oslo"


def test_a_question_is_followed_to_what_a_passage_names() -> None:
    assert answer("When did the director of Harbour Lights die?", *FILMS) == "12 June 1981"
    assert answer("What nationality is the director of The Glass Road?", *FILMS) == "French"


def test_of_two_things_the_one_that_the_texts_decide_for_is_chosen_with_a_quote_for_each() -> None:
    assert answer("Which film came out first, Harbour Lights or The Glass Road?", *FILMS) == "Harbour Lights"
    assert answer("Which film has the director who was born first, Harbour Lights or The Glass Road?", *FILMS) == (
        "The Glass Road"
    )
    assert answer("Who died later, Otto Brandt or Jean Moreau?", *FILMS) == "Otto Brandt"
    assert answer("Who lived longer, Otto Brandt or Jean Moreau?", *FILMS) == "Otto Brandt"
    assert len(quoted("Who died later, Otto Brandt or Jean Moreau?", *FILMS)) == 2


def test_yes_and_no_are_said_only_where_the_texts_tell() -> None:
    assert answer("Are Otto Brandt and Jean Moreau from the same country?", *FILMS) == "no"
    assert answer("Do Harbour Lights and The Glass Road have directors of the same nationality?", *FILMS) == "no"
    assert answer("Were both Otto Brandt and Jean Moreau film directors?", *FILMS) == "yes"
    assert answer("Were both Otto Brandt and Jean Moreau German film directors?", *FILMS) == "no"
    unknown = [passage("Otto Brandt directed films.", 1.0, "Otto Brandt"), MOREAU]
    assert choose("Are Otto Brandt and Jean Moreau from the same country?", unknown) is None


def test_a_text_without_title_is_about_the_name_it_opens_with() -> None:
    bare = [passage(told.text, told.score) for told in (BRANDT, MOREAU)]
    assert answer("Who was born first, Otto Brandt or Jean Moreau?", *bare) == "Jean Moreau"


def test_an_option_without_a_text_is_not_chosen_for_want_of_the_other() -> None:
    assert choose("Who was born first, Otto Brandt or Nobody Known?", [BRANDT]) is None


def test_the_years_of_a_life_are_read_in_and_out_of_brackets() -> None:
    birth, death = life("Ida Lund was born in 1870 in Bergen. She died on 2 May 1940.")
    assert birth is not None
    assert birth.date == (1870, None, None)
    assert death is not None
    assert death.date == (1940, 5, 2)
    assert life("Nothing is known of her.") == (None, None)


@pytest.mark.parametrize(
    ("said", "calendar"),
    [
        ("yesterday", "7 May 2023"),
        ("the day before yesterday", "6 May 2023"),
        ("last week", "the week before 8 May 2023"),
        ("two weeks ago", "two weeks before 8 May 2023"),
        ("next month", "June 2023"),
        ("last year", "2022"),
        ("three days ago", "5 May 2023"),
        ("in 2 months", "July 2023"),
        ("last Fri", "the Friday before 8 May 2023"),
        ("last summer", "summer 2022"),
        ("a few days ago", "a few days before 8 May 2023"),
        ("昨天", "2023年5月7日"),
        ("上个月", "2023年4月"),
        ("去年", "2022年"),
    ],
)
def test_expressions_of_time_are_read_by_the_calendar(said: str, calendar: str) -> None:
    assert [moment.calendar for moment in moments(f"We met {said}.", date(2023, 5, 8))] == [calendar]


@pytest.mark.parametrize(
    "said",
    ["my brother comes on Friday", "dentist on Friday", "I've got a test on Friday", "the vet is booked on Friday"],
)
def test_a_day_of_a_plan_is_the_one_that_comes(said: str) -> None:
    assert [moment.calendar for moment in moments(said, date(2023, 5, 8))] == ["the Friday after 8 May 2023"]


@pytest.mark.parametrize(
    "said",
    [
        "I met her on Friday",
        "On Friday, we went to the zoo",
        "On Friday, we heard the result, I'm so glad",
        "On Friday, we heard it - I'm in",
        "it was on Friday",
        "we leave now, I booked it on Friday",
    ],
)
def test_a_day_of_what_happened_is_the_one_before(said: str) -> None:
    assert [m.calendar for m in moments(said, date(2023, 5, 8)) if m.start > 0 or said[:2] == "On"][-1:] == [
        "the Friday before 8 May 2023"
    ]


def test_a_time_that_no_calendar_has_is_left_out() -> None:
    assert list(moments("That was yesterday.", date.min)) == []
    assert day_of("31 June 2023") is None


def test_countries_are_known_by_their_people_and_their_parts() -> None:
    named = countries("A French painter, born in Ohio, lived in England and had turkey for dinner.")
    assert [one.country for one in named] == ["france", "america", "britain"]


@pytest.mark.parametrize(
    ("question", "group"),
    [
        ("When was it built?", "when"),
        ("How many people live there?", "number"),
        ("Which city is it in?", "place"),
        ("Who built it?", "name"),
        ("Why was it built?", "reason"),
        ("What did they find?", "what"),
        ("它位于哪里？", "place"),
        ("谁建造了它？", "name"),
        ("它是什么时候建成的？", "when"),
        ("一共有多少人？", "number"),
    ],
)
def test_a_question_says_what_kind_of_thing_it_asks_for(question: str, group: str) -> None:
    assert Question.of(question).group == group


def test_answers_do_not_depend_on_the_run() -> None:
    question = "When did the director of Harbour Lights die?"
    assert short_answer(question, FILMS) == short_answer(question, list(FILMS))


@settings(max_examples=60, deadline=None)
@given(
    question=st.text(alphabet="When did Ann or B go? 谁什么 (\n.'", max_size=40),
    text=st.text(alphabet="Ann: went to B 1990 yesterday. 谁在《\n(’-", max_size=80),
    title=st.sampled_from(["", "Ann", "(B)", "B (film)"]),
    score=st.sampled_from([0.0, 1.0]),
)
def test_whatever_the_text_every_quote_stands_in_it(question: str, text: str, title: str, score: float) -> None:
    found = short_answer(question, [passage(text, score, title, "8 May 2023"), KESTREL])
    assert found is None or isinstance(found, ShortAnswer)
    for quote in found.quotes if found else ():
        stretch = (text, KESTREL.text)[quote.excerpt][slice(*quote.span)]
        assert stretch
        assert stretch == stretch.strip()


@pytest.mark.parametrize(
    ("question", "stretch", "words"),
    [
        ("When was it opened?", "1931", "1931"),
        ("Who built it?", "Maria Okafor", "Maria Okafor"),
        ("What is the name of the league?", "National Hockey League (NHL", "National Hockey League"),
        ("Why was the run taken from him?", "13.14 seconds, but", ""),
        ("它什么时候停运？", "2009年1月5日起停止服务", "2009年1月5日"),
        ("展览什么时候开放？", "2009年3月至2010年5月开放", "2009年3月至2010年5月"),
        ("她获得多少个冠军？", "14个世", "14个"),
        ("这条线有多长？", "1,000米", "1,000米"),
        ("这是第几届书展？", "第 8 届全国书", "第 8 届"),
        ("船以多快的速度入港？", "12节的速度入港，停在码头", "12节"),
        ("公司的创办人是谁？", "万润南出走法国参加会议", ""),
        ("合同最长是几年？", "2011", ""),
    ],
)
def test_of_a_stretch_only_what_is_asked_for_is_the_answer(question: str, stretch: str, words: str) -> None:
    assert exact(question, stretch) == words


@pytest.mark.parametrize(
    ("question", "nested"),
    [
        ("Who is the wife of the director of Vertigo?", True),
        ("Who plays the sister of the man who bought the mill?", True),
        ("When did the director of Vertigo die?", True),
        ("Who is Ana Reyes's mother's doctor?", True),
        ("Who is the director of Vertigo?", False),
        ("When did Ana join the choir?", False),
    ],
)
def test_a_question_about_what_it_only_describes_needs_two_statements(question: str, nested: bool) -> None:
    assert is_nested(question) is nested


@pytest.mark.parametrize(
    ("question", "group"),
    [
        ("What hobby helps John when he is away?", "what"),
        ("What was given to the player who won?", "what"),
        ("When the pool is full, what happens?", "what"),
        ("When was the pool full?", "when"),
        ("Until when is the pool open, and who says so?", "when"),
        ("Do you know when the pool opens?", "when"),
    ],
)
def test_a_word_that_only_begins_a_clause_asks_nothing(question: str, group: str) -> None:
    assert Question.of(question).group == group


@pytest.mark.parametrize(
    ("question", "stretch", "words"),
    [
        ("How many nurses work there?", "14 months", ""),
        ("How many nurses work there?", "31 nurses", "31 nurses"),
        ("How many people came?", "40 euros", ""),
        ("How many weeks did it last?", "14 months", "14 months"),
        ("有多少名护士?", "14个月", ""),
        ("有多少名护士?", "31名", "31名"),
        ("用了几个月?", "14个月", "14个月"),
    ],
)
def test_what_is_only_measured_is_no_number_of_what_is_counted(question: str, stretch: str, words: str) -> None:
    assert exact(question, stretch) == words


@pytest.mark.parametrize(
    ("question", "stretch", "sentence", "words"),
    [
        ("他是第几届议员？", "12届", "他是第12届州议员。", "第12届"),
        ("她是第几代国王？", "22代国王", "她是第22代国王。", "第22代国王"),
        ("有几种动作？", "两种", "动作为两种，装备三支。", "两种"),
        ("比赛什么时候举行？", "2008年8月15日", "2008年的比赛在2008年8月15日及8月16日举行。", "2008年8月15日及8月16日"),
        ("站房面积有多少平方米？", "4998平方米", "站房面积4998平方米，高22米。", "4998平方米"),
        ("她的排名是多少？", "51", "她在榜上排名第51。", "第51"),
        ("那里的平均气温是多少？", "32℃", "那里平均气温28至32℃。", "28至32℃"),
        ("这家店在北岛有多少家分店？", "2间", "现时在北岛共有28间分店，南岛设有2间分店。", ""),
        ("这家店在北岛有多少家分店？", "28间", "这家店在北岛共有28间分店，南岛设有2间。", "28间"),
        ("他是什么时候去世的？", "1950年", "1950年随家人来港，1954年父亲病去。", ""),
        ("How many points did she score?", "40", "Last week she scored 40 points.", "40 points"),
        ("How many points did she score?", "40", "She scored 40 times.", "40"),
        ("When did the mill close?", "1931", "The mill opened in 1931 and closed in 1950.", ""),
        ("When did the mill close?", "1950", "It opened in 1931, but the mill did close in 1950.", "1950"),
    ],
)
def test_a_value_is_given_whole_and_not_where_another_may_be_meant(
    question: str, stretch: str, sentence: str, words: str
) -> None:
    assert exact(question, stretch, sentence) == words
