"""What counts as a contradiction, as the same, and as neither."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_memory_bank.engines.extractive.comparing.comparison import Comparison, compare

ALIKE = 0.9
"""Cosine of texts about one thing: what must not merge must not merge even then."""

SENTENCES = [
    "The Eiffel Tower is 324 m tall.",
    "The Eiffel Tower is 330 metres tall.",
    "The CEO of Acme is Jane Doe.",
    "The API is not stable.",
    "The API is stable.",
    "ICML的投稿截止日期是8月15日。",
    "他不喜欢吃鱼。",
    "Revenue was $5 million in 2019, up from $4 million.",
    "max_tokens is 4096",
    "Is the deadline on 30 August?",
]
texts = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(SENTENCES), max_size=5).map(" ".join),
    st.text(alphabet="ab 1290,.年月日不没一二三十万米第(–-)'\"?\n《》Ⅷ\ud800", max_size=80),
)


def judged(a: str, b: str, cosine: float = ALIKE) -> Comparison:
    return compare(a, b, cosine)


CONFLICTS = [
    (
        "date",
        "The submission deadline of ICML is 15 August 2025.",
        "The submission deadline of ICML is 30 August 2025.",
    ),
    ("date", "The submission deadline of ICML is 15 August 2025.", "ICML papers are due on 30 August 2025."),
    ("date", "The ICML deadline is 15 August.", "The ICML deadline has been extended to 30 August."),
    ("date", "Asylum Records was founded in 1971.", "In 1991 the label Asylum Records was founded by David."),
    ("date", "Ada Byron (10 December 1815 – 27 November 1852) was a writer.", "Ada Byron was born in 1816."),
    ("number", "The Eiffel Tower is 324 m tall.", "The Eiffel Tower is 330 metres tall."),
    ("number", "The Eiffel Tower is 324 m tall.", "The height of the Eiffel Tower is 330 m."),
    ("number", "IBM's processor has 433 qubits.", "IBM's processor has 1,121 qubits."),
    (
        "number",
        "IBM's largest quantum processor has 433 qubits.",
        "IBM unveiled a quantum processor with 1,121 qubits.",
    ),
    ("number", "max_tokens is 4096", "max_tokens is 8192"),
    ("number", "Two engineers joined the team.", "3 engineers joined the team."),
    ("name", "The CEO of Acme is John Smith.", "The CEO of Acme is Jane Doe."),
    ("name", "John Smith is the CEO of Acme.", "Jane Doe is the CEO of Acme."),
    ("name", "Alice was born in Berlin.", "Alice was born in Paris."),
    ("negation", "The API is stable.", "The API is not stable."),
    ("negation", "A boat that is not moored by night is fined.", "A boat that is moored by night is fined."),
    ("negation", "The vet said that no immediate surgery is needed.", "The vet said that surgery is needed."),
    ("negation", "Ben is the driver who did not take the ferry.", "Ben is the driver who took the ferry."),
    ("negation", "Dana agreed to be a judge of the final.", "Dana refused to be a judge of the final."),
    ("antonym", "The feature is enabled by default.", "The feature is disabled by default."),
    ("date", "ICML的投稿截止日期是8月15日。", "ICML的投稿截止日期已延期至8月30日。"),
    ("number", "埃菲尔铁塔高324米。", "埃菲尔铁塔的高度为330米。"),
    ("number", "IBM的处理器有433个量子比特。", "IBM的处理器有1121个量子比特。"),
    ("number", "max_tokens的默认值是4096。", "max_tokens的默认值是8192。"),
    ("number", "我有两只猫。", "我有三只猫。"),
    ("name", "艾克米公司的首席执行官是张三。", "艾克米公司的首席执行官是李四。"),
    ("negation", "他喜欢吃鱼。", "他不喜欢吃鱼。"),
    ("antonym", "该功能默认启用。", "该功能默认停用。"),
]
NEITHER = [
    ("The deadline of conference X is 15 August.", "The deadline of conference Y is 30 August."),
    ("The submission deadline of ICML is 15 August.", "The submission deadline of NeurIPS is 30 August."),
    ("The CEO of Acme is John Smith.", "The CEO of Beta is Jane Doe."),
    ("The CEO of Acme is John Smith.", "The CTO of Acme is Jane Doe."),
    ("IBM Osprey has 433 qubits.", "IBM Condor has 1,121 qubits."),
    ("Server A uses port 8080.", "Server B uses port 9090."),
    ("In 2019 the population of Springfield was 5,000.", "In 2021 the population of Springfield was 6,000."),
    ("Revenue in Q1 was $5 million.", "Revenue in Q2 was $7 million."),
    ("The bridge was opened in 1937.", "The bridge was opened on 27 May 1937."),
    ("The Eiffel Tower is about 330 m tall.", "The Eiffel Tower is 324 m tall."),
    ("Revenue was more than 5 million dollars.", "Revenue was 6 million dollars."),
    ("The tower is 324 m tall without the antenna.", "The tower is 330 m tall with the antenna."),
    ("Paris is in France.", "Lyon is in France."),
    ("The team includes Alice and Bob.", "The team includes Carol and Dan."),
    ("Is the API stable?", "The API is not stable."),
    ("Berth 9: let to Tom Ware since May 2020.", "A berth that is not used for two months is let again."),
    ("Members who do not vote keep their seats.", "The members keep their seats."),
    ("会议X的投稿截止日期是8月15日。", "会议Y的投稿截止日期是8月30日。"),
    ("埃菲尔铁塔高324米。", "东京塔高333米。"),
    ("艾克米公司的首席执行官是张三。", "贝塔公司的首席执行官是李四。"),
    ("2019年该市人口为5000人。", "2021年该市人口为6000人。"),
    ("你忙不忙呀？", "他不忙。"),
]
MERGES = [
    ("The race is 1,000 m long.", "The race is 1 km long."),
    ("Two engineers joined the team.", "2 engineers joined the team."),
    ("The submission deadline of ICML is 30 Aug.", "The submission deadline of ICML is August 30."),
    ("我有两只猫。", "我有2只猫。"),
]


@pytest.mark.parametrize(("kind", "a", "b"), CONFLICTS)
def test_a_changed_value_of_one_subject_is_a_conflict(kind: str, a: str, b: str) -> None:
    found = judged(a, b)
    assert (found.relation, found.kind) == ("conflict", kind)
    assert all(found.values)
    assert all(value in found.reason for value in found.values)
    assert found.values[0] in a[slice(*found.quote_a)]
    assert found.values[1] in b[slice(*found.quote_b)]
    assert 0 < found.score <= 1


@pytest.mark.parametrize(("a", "b"), NEITHER)
def test_other_subjects_times_details_and_questions_are_neither(a: str, b: str) -> None:
    assert judged(a, b).relation == "none"


@pytest.mark.parametrize(("a", "b"), MERGES)
def test_the_same_in_other_units_or_spellings_merges(a: str, b: str) -> None:
    assert judged(a, b).relation == "merge"


@pytest.mark.parametrize("text", SENTENCES)
def test_identical_text_merges_whatever_its_cosine(text: str) -> None:
    assert compare(text, text, 0.0).relation == "merge"


def test_both_names_of_a_conflict_are_told() -> None:
    found = judged("The CEO of Acme is John Smith.", "The CEO of Acme is Jane Doe.")
    assert found.values == ("John Smith", "Jane Doe")


def test_the_reason_is_in_the_language_of_the_text() -> None:
    found = judged("他喜欢吃鱼。", "他不喜欢吃鱼。")
    assert found.reason == "一处说“喜欢”，另一处说“不喜欢”。"


def test_a_replaced_word_of_unknown_meaning_never_merges() -> None:
    assert judged("A man is playing the lute.", "A man is playing the bagpipes.", 0.97).relation == "none"


def test_texts_below_the_merging_cosine_stay_apart() -> None:
    a, b = "Stocks edged lower after earnings from retailers.", "Shares fell a little following retail earnings."
    assert compare(a, b, 0.9).relation == "merge"
    assert compare(a, b, 0.5).relation == "none"
    assert compare(a, b, 0.9, merge_cosine=0.95).relation == "none"


LONG_A = (
    "The Meridian Observatory stands on a ridge above the town. It was founded in 1994 by three universities. "
    "Its library holds 12,000 volumes and is open to visitors. The staff run a summer school."
)
LONG_B = (
    "The Meridian Observatory stands on a ridge above the town. It was founded in 1996 by three universities. "
    "Its library holds 12,000 volumes and is open to visitors. The staff run a summer school."
)


def test_one_changed_date_in_a_long_copy_is_found_and_quoted() -> None:
    found = judged(LONG_A, LONG_B, 0.99)
    assert (found.relation, found.values) == ("conflict", ("1994", "1996"))
    assert LONG_A[slice(*found.quote_a)] == "It was founded in 1994 by three universities."


def test_later_sentences_of_texts_on_other_subjects_do_not_clash() -> None:
    a = "Hughesville is a town in Maryland. The population was 2,197 at the last census."
    b = "Osgood is a village in Missouri. The population was 48 at the last census."
    assert judged(a, b).relation == "none"


def test_two_bearers_of_one_name_are_neither() -> None:
    a = "Pathfinder (1951 film) is a drama. It was released on 4 May 1951."
    b = "Pathfinder (1995 film) is a drama. It was released on 9 June 1995."
    assert judged(a, b).relation == "none"


def test_near_copies_whose_lines_are_cut_differently_still_clash() -> None:
    table = "Meridian Hall Area 2 acres Built {} Architect Ada Stone Style Gothic Added to list March 24, 1972"
    lines = table.format("1850").replace(" Area", "\nArea").replace(" Archi", "\nArchi")
    found = judged(table.format("1902"), lines, 0.97)
    assert (found.relation, found.values) == ("conflict", ("1902", "1850"))


ENGLISH = "The Meridian telescope saw first light on 12 March 2019. Its primary mirror has a diameter of 8.2 m."


@pytest.mark.parametrize(
    ("english", "chinese", "relation"),
    [
        (ENGLISH, "Meridian 望远镜于2021年5月3日首次观测，主镜直径8.4米。", "conflict"),
        ("The Meridian telescope has a primary mirror of 8.2 m.", "Meridian 望远镜的主镜直径为8.4米。", "conflict"),
        (
            "The Meridian telescope saw first light on 12 March 2019.",
            "Meridian 望远镜于2019年3月12日首次观测。",
            "none",
        ),
        ("The Meridian telescope has a primary mirror of 8.2 m.", "Meridian 望远镜的高度为40米。", "none"),
        ("The Orion telescope saw first light on 12 March 2019.", "Meridian 望远镜于2021年5月3日首次观测。", "none"),
        ("The Meridian telescope saw first light on 12 March 2019.", "Meridian 天文台成立于2010年。", "none"),
    ],
)
def test_languages_clash_only_over_one_attribute_of_one_name(english: str, chinese: str, relation: str) -> None:
    assert judged(english, chinese, 0.2).relation == relation


@settings(max_examples=150, deadline=None)
@given(texts, texts, st.floats(-1, 1))
def test_the_relation_does_not_depend_on_the_order(a: str, b: str, cosine: float) -> None:
    there, back = compare(a, b, cosine), compare(b, a, cosine)
    assert (there.relation, there.kind, there.score) == (back.relation, back.kind, back.score)
    if a != b:
        assert (there.quote_a, there.quote_b) == (back.quote_b, back.quote_a)
        assert there.values == back.values[::-1]
        assert 0 <= there.quote_a[0] <= there.quote_a[1] <= len(a)


@settings(max_examples=100, deadline=None)
@given(texts, st.floats(-1, 1))
def test_nothing_contradicts_itself(text: str, cosine: float) -> None:
    assert compare(text, text, cosine).relation != "conflict"


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(MERGES), st.lists(st.sampled_from([" ", "  ", "\t", "   "]), min_size=12, max_size=12))
def test_white_space_never_turns_a_merge_into_a_conflict(pair: tuple[str, str], gaps: list[str]) -> None:
    words = pair[0].split(" ")
    spaced = "".join(word + gap for word, gap in zip(words, gaps, strict=False))
    assert judged(spaced, pair[1]).relation == "merge"


def test_floods_are_judged_without_harm() -> None:
    for flood in ("1 ", "(", "不", "一", "twenty-", "A.", "January ", '"'):
        assert compare(flood * 4000, "Acme was founded in 1999.", 0.1).relation == "none"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The harbour of Aldport was opened in 1900.", "The market of Aldport was opened in 1901."),
        ("The north tower is 30 m high.", "The south tower is 40 m high."),
        ("Shelf 228 holds 1596 books.", "Shelf 42 holds 294 books."),
        ("Warehouse 7 holds 20 crates.", "Warehouse 9 holds 30 crates."),
    ],
)
def test_sentences_of_one_mould_on_other_things_contradict_nothing(a: str, b: str) -> None:
    assert compare(a, b, 0.75).relation == "none"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The harbour of Aldport was opened in 1900.", "The harbour of Aldport was opened in 1901."),
        ("Shelf 228 holds 159 books.", "Shelf 228 holds 294 books."),
        ("The old harbour holds 20 ships.", "The old harbour holds 30 ships."),
    ],
)
def test_the_same_thing_with_another_value_still_does(a: str, b: str) -> None:
    assert compare(a, b, 0.75).relation == "conflict"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("In 2030 nothing was opened.", "In 2031 nothing was opened."),
        ("2030年没有人来过。", "2031年没有人来过。"),
    ],
)
def test_what_did_not_happen_in_two_years_is_no_contradiction_and_hides_none(a: str, b: str) -> None:
    assert compare(a, b, 0.95).relation == "none"

    clash = compare(f"{a} The mast is 40 m tall.", f"{b} The mast is 52 m tall.", 0.95)
    assert (clash.relation, clash.values) == ("conflict", ("40 m", "52 m"))
