"""The offline reader: quotes stand in the text word for word, answer the question, and are none where nothing does."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_memory_bank.engines.extractive.answering.judging import COMPARED
from agentic_memory_bank.engines.extractive.answering.quoting import Passage, quotes, shown
from agentic_memory_bank.engines.extractive.reading.concepts import of_phrases, of_term

ARTICLE = (
    "The Kestrel probe was launched on 14 March 2021 from Kourou. It was built by Maria Okafor and her team. "
    "It carries 4 instruments. The lander touched down on Ceres in June 2024. Many people watched it on television."
)
CHINESE = "青藏铁路全长1956公里，于2006年7月1日全线通车。铁路最高点唐古拉山口海拔5072米。沿线设有多个车站。"
DIALOGUE = (
    "Ann: Hi Bob, how was your holiday?\nBob: I spent two weeks hiking in Norway with my brother.\n"
    "Ann: I bought a red bicycle yesterday.\nBob: Lovely!"
)


def passage(text: str, id: str = "p", score: float = 1.0) -> Passage:
    return Passage.of(id, text, score)


def best(question: str, *texts: str) -> str:
    passages = [passage(text, str(number)) for number, text in enumerate(texts)]
    found = quotes(question, passages)
    return texts[int(found[0].passage)][found[0].start : found[0].end] if found else ""


def test_the_sentence_that_answers_is_quoted() -> None:
    assert (
        best("When was the Kestrel probe launched?", ARTICLE)
        == "The Kestrel probe was launched on 14 March 2021 from Kourou."
    )
    assert "4 instruments" in best("How many instruments does it carry?", ARTICLE)
    assert "Maria Okafor" in best("Who built Kestrel?", ARTICLE)


def test_chinese_questions_are_answered() -> None:
    assert "1956公里" in best("青藏铁路全长多少公里？", CHINESE)
    assert "5072" in best("唐古拉山口的海拔是多少？", CHINESE)


def test_a_sentence_that_goes_on_from_another_is_understood_by_it() -> None:
    text = "The Orbel tower is in the north.\n\nIt was built in 1998 by Ada Lin.\n\nThe tower is 324 m tall."

    assert best("Who built the Orbel tower?", text) == "It was built in 1998 by Ada Lin."


def test_traditional_and_simplified_characters_find_each_other() -> None:
    assert "1956公里" in best("青藏鐵路全長多少公里？", CHINESE)
    assert best("合同什么时候签订？", "契約於五月四日簽訂。合同於六月九日簽訂。") == "合同於六月九日簽訂。"


def test_what_only_points_somewhere_answers_nothing() -> None:
    text = (
        "# Sorrel\n\n[![Weekly harvest](https://img.example/harvest.svg)](https://ci.example/harvest)\n\n"
        "- [When is the harvest weighed?](#when-is-the-harvest-weighed)\n- [Roots](#roots)\n\n"
        "## Scales\n\nThe harvest is weighed at noon.\n\n"
        "[harvest weighed]: https://sorrel.example/harvest/weighed\n[roots]: docs/roots.md\n"
    )
    said = [text[one.start : one.end] for one in quotes("When is the harvest weighed?", [passage(text)])]

    assert said == ["The harvest is weighed at noon."]


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        (
            "Which licence does it have?",
            "See LICENSE for the licence.\n\nIt has the MIT licence.",
            "It has the MIT licence.",
        ),
        ("违约金是多少？", "违约金的计算见附件二。\n\n违约金为每日千分之一。", "违约金为每日千分之一。"),
    ],
)
def test_what_says_where_it_is_told_does_not_come_before_what_tells_it(question: str, text: str, said: str) -> None:
    assert best(question, text) == said


def test_a_sentence_with_a_link_in_it_still_answers() -> None:
    text = "The harvest is weighed at noon, see [the rules](#rules)."

    assert best("When is the harvest weighed?", text) == text


def test_a_question_the_text_does_not_answer_gets_no_quote() -> None:
    assert quotes("What is the capital of Mongolia?", [passage(ARTICLE)]) == []
    assert quotes("谁写了红楼梦？", [passage(CHINESE)]) == []
    assert quotes("Which hospital treated Napoleon?", [passage(DIALOGUE, score=1.0)]) == []


def test_what_another_speaker_did_is_no_answer() -> None:
    assert "red bicycle" in best("What did Ann buy?", DIALOGUE)
    assert "red bicycle" not in best("What did Bob buy?", DIALOGUE)


def test_a_turn_is_understood_by_the_question_it_answers() -> None:
    text = "Ann: What is the name of your dog?\nBob: He is called Bruno Baxter the Second.\nAnn: Nice weather in town."
    assert "Bruno" in best("What is the name of Bob's dog?", text)


def test_other_forms_of_a_word_are_found() -> None:
    assert best(
        "Who decided it?", "The decision came late in May from Ada Byron.", "Rain fell on the old town."
    ).startswith("The decision")


def test_the_kind_of_thing_asked_for_breaks_the_tie() -> None:
    text = "The museum opened with a large party and music. The museum opened in October 1987 with speeches."
    assert "1987" in best("When was the museum opened?", text)
    assert "Lima" in best(
        "Where did the meeting take place?",
        "The meeting took place quietly and well. The meeting took place near Lima itself.",
    )


def test_a_question_in_the_text_is_not_quoted_as_its_answer() -> None:
    text = "Where is the Orion lab these days? The Orion lab is in the north of Turin."
    assert best("Where is the Orion lab?", text).endswith("Turin.")


def test_quotes_do_not_repeat_each_other() -> None:
    found = quotes("When was the Kestrel probe launched?", [passage(ARTICLE, "a"), passage(ARTICLE, "b")])
    assert len([q for q in found if "launched" in ARTICLE[q.start : q.end]]) == 1


def test_the_better_found_passage_goes_first_among_equals() -> None:
    weak = passage("The dam broke in 1911 at night.", "weak", 0.2)
    strong = passage("The dam broke in 1912 after long rain.", "strong", 0.9)
    found = quotes("When did the dam break?", [weak, strong])
    assert found[0].passage == "strong"


def test_the_limit_holds() -> None:
    text = " ".join(
        f"Kestrel {word} was launched from {place} in {year}."
        for word, place, year in zip("ABCDE", "KLMNO", range(2001, 2006), strict=True)
    )
    assert len(quotes("When was Kestrel launched?", [passage(text)], limit=2)) <= 2


def test_vectors_find_what_no_word_shares() -> None:
    text = "The physician examined the kid carefully. Prices rose by nine percent again."
    question = "Which doctor saw the child?"

    def encode(texts: Sequence[str]) -> Any:
        rows = [[1.0, 0.0] if one == question or "physician" in one else [0.0, 1.0] for one in texts]
        return np.array(rows, np.float32)

    found = quotes(question, [passage(text)], encode=encode)
    assert [text[q.start : q.end] for q in found] == ["The physician examined the kid carefully."]


def test_missing_vectors_leave_it_to_the_words() -> None:
    def encode(texts: Sequence[str]) -> Any:
        return np.zeros((len(texts), 1), np.float32)

    question = "When was the Kestrel probe launched?"
    assert quotes(question, [passage(ARTICLE)], encode=encode) == quotes(question, [passage(ARTICLE)])


def test_only_the_likeliest_english_sentences_are_compared_by_meaning() -> None:
    made: list[str] = []

    def encode(texts: Sequence[str]) -> Any:
        made.extend(texts)
        return np.ones((len(texts), 1), np.float32)

    many = " ".join(f"Number {n} of the {n * 7} probes was built of wood." for n in range(100))
    quotes("When was the Kestrel probe launched?", [passage(f"{many} {ARTICLE} 铁路全线通车。")], encode=encode)
    assert made[0] == "When was the Kestrel probe launched?"
    assert COMPARED // 2 < len(made) <= 1 + COMPARED
    assert not any(one.startswith("铁路") for one in made)
    assert "The Kestrel probe was launched on 14 March 2021 from Kourou." in made

    made.clear()
    quotes("青藏铁路全长多少公里？", [passage(CHINESE), passage(ARTICLE)], encode=encode)
    assert made == []


def test_nothing_to_read_or_to_ask_gives_nothing() -> None:
    assert quotes("When?", []) == []
    assert quotes("", [passage(ARTICLE)]) == []
    assert quotes("?!", [passage(ARTICLE)]) == []
    assert quotes("When was it?", [Passage("p", "", 1.0, [])]) == []


pieces = st.sampled_from(
    [ARTICLE, CHINESE, DIALOGUE, "...", "，，。", "Kestrel!", "launched " * 200, "\n\n", "2021年，发射。"]
)


@given(
    st.lists(pieces, max_size=5),
    st.sampled_from(["When was Kestrel launched?", "青藏铁路多少公里？", "Who?", "launched"]),
)
@settings(max_examples=80, deadline=None)
def test_every_quote_stands_word_for_word_in_its_passage(texts: list[str], question: str) -> None:
    passages = [passage(" ".join(texts[: number + 1]), str(number)) for number in range(len(texts))]
    for quote in quotes(question, passages):
        text = passages[int(quote.passage)].text
        assert 0 <= quote.start < quote.end <= len(text)
        assert text[quote.start : quote.end].strip() == text[quote.start : quote.end] != ""


def test_the_label_that_a_quote_opens_with_is_not_said_twice() -> None:
    text = "# Addendum\n\nThe parties agree: Section 2 is amended, the rent is 1,350 euros.\nSection 4 ends.\n"
    question = "How much is the rent?"

    (quote, *_) = quotes(question, [passage(text)])

    assert shown(question, text, quote) == (
        "Addendum: The parties agree: Section 2 is amended, the rent is 1,350 euros."
    )


def test_what_another_document_says_of_it_is_quoted_beside_the_best_sentence() -> None:
    minutes = Passage.of(
        "minutes", "The council gave the work on the Orbel bridge to Maria Okafor for 90,000 euros.", 1.0
    )
    letter = Passage.of("letter", "The bridge: Kestrel Builders do the work.", 1.0)
    named = [
        replace(one, placed=tuple(replace(p, place=replace(p.place, name=one.id)) for p in one.placed))
        for one in (minutes, letter)
    ]

    told = [quote.passage for quote in quotes("Who does the work on the Orbel bridge?", named)]

    assert told == ["minutes", "letter"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When will the shipment get here?", "The parcel arrives on 9 May."),
        ("Who looks after the animals at the weekend?", "On Saturdays and Sundays Olga feeds the sheep."),
        ("What did they charge for the repair of the lift?", "Mending the elevator came to 410 euros."),
        ("包裹什么时候送到?", "快件5月9日到货。"),
        ("谁照顾这些羊?", "周末由老孙喂羊。"),
    ],
)
def test_a_question_in_other_words_than_the_text_is_answered(question: str, answer: str) -> None:
    others = "The library has two floors. Tea costs 2 euros." if question.isascii() else "图书馆有两层。茶水免费。"

    assert best(question, f"{others} {answer}" if question.isascii() else others + answer) == answer


def test_the_words_of_a_phrase_mean_it_in_their_order_and_near_each_other() -> None:
    meant = [number for _, numbers in of_phrases("We got rid of the sofa.") for number in numbers]

    assert of_term("dispos") & set(meant)
    assert not of_phrases("rid of what they got")
    assert not of_phrases("He was rid of it, but the flat was not what they got")
