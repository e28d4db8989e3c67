"""Summaries, keywords and context: selected, never written, and never empty for a text that says something."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_memory_bank.engines.extractive.summarising.keywords import MAX_KEYWORD, Rarity, keywords
from agentic_memory_bank.engines.extractive.summarising.summary import MAX_CONTEXT, context, summarize
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

ARTICLE = (
    "The Kestrel probe was launched on 14 March 2021 from Kourou. It carries four instruments and a small lander. "
    "The team had waited for years. The lander touched down on Ceres in June 2024 after a flight of 1,190 days. "
    "Nobody had expected it to last. The Kestrel probe has since sent 640 images of Ceres. "
    "There was much joy. Its drill reached a depth of 2.4 metres and found salt."
)
CHINESE = (
    "青藏铁路全长1956公里，于2006年7月1日全线通车。青藏铁路是世界上海拔最高的铁路。当时许多人都很高兴。"
    "铁路最高点唐古拉山口海拔5072米。建设者解决了冻土问题。大家都觉得很了不起。青藏铁路每年运送旅客超过一千万人次。"
)


def said(text: str, **options: object) -> list[str]:
    return [text[start:end].strip() for start, end in summarize(text, sentences(text), **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [ARTICLE, CHINESE])
def test_a_longer_text_is_summed_up_in_a_third_to_a_half_of_it(text: str) -> None:
    share = sum(map(estimate_tokens, said(text))) / estimate_tokens(text)
    assert 0.3 <= share <= 0.5


def test_facts_survive_and_chatter_goes() -> None:
    summary = " ".join(said(ARTICLE))
    assert "14 March 2021" in summary
    assert "There was much joy" not in summary
    assert "大家都觉得很了不起" not in " ".join(said(CHINESE))


def test_one_or_two_sentences_are_kept_whole() -> None:
    assert said("AI learns. It needs data.") == ["AI learns.", "It needs data."]


def test_a_blank_text_has_nothing_to_say() -> None:
    assert said(" \n ") == []
    assert keywords(" \n ") == []
    assert context(" ", [(0, 1)], []) == ""


def test_questions_give_way_to_statements() -> None:
    text = (
        "Bo: Where is the Orion lab? Al: The Orion lab is in Turin. Bo: Is the Orion lab big? "
        "Al: The Orion lab has nine rooms. Bo: Who runs the Orion lab? Al: Eva Conti runs the Orion lab."
    )
    assert not any(sentence.endswith("?") for sentence in said(text))


def test_what_was_said_is_not_said_again() -> None:
    text = (
        "The dam in Oslo broke in 1911. A dam in Oslo broke in 1911. The Oslo dam broke in 1911. "
        "A bridge fell near Bergen town. A church burned at Narvik town. A mill sank beside Lofoten town."
    )
    assert sum("dam" in sentence for sentence in said(text, ratio=0.5)) == 1


def test_a_summary_of_a_very_long_text_is_capped() -> None:
    text = " ".join(f"Engine number {n} was built in {1900 + n} by Borg." for n in range(100))
    assert sum(map(estimate_tokens, said(text, max_tokens=220))) <= 220


@given(
    st.lists(
        st.sampled_from(["Ada wrote code in 1843.", "# Head\n", "是的。", "Why?", "\n\n", "...", "w " * 900]),
        max_size=12,
    )
)
@settings(max_examples=60, deadline=None)
def test_a_summary_is_made_of_sentences_in_order_and_empty_only_for_nothing(parts: list[str]) -> None:
    text = " ".join(parts)
    spans = sentences(text)
    found = summarize(text, spans)
    assert set(found) <= set(spans)
    assert found == sorted(set(found))
    assert bool(found) == bool(text.strip())


def test_keywords_are_names_identifiers_and_repeated_words() -> None:
    found = keywords(ARTICLE, limit=6)
    assert "Kestrel" in " ".join(found)
    assert "Ceres" in found
    assert "CVE-2025-64439" in keywords("The flaw CVE-2025-64439 lets max_tokens overflow in GPT-4o.")


def test_keywords_stand_in_the_text() -> None:
    for text in (ARTICLE, CHINESE, "Müller & Söhne GmbH liefert nach São Paulo."):
        assert all(word in text for word in keywords(text))


def test_chinese_keywords_are_words_not_pairs_of_characters() -> None:
    found = keywords(CHINESE)
    assert "铁路" in found or "青藏铁路" in found
    assert all(len(word) > 1 for word in found)


def test_what_stands_in_every_text_is_a_weaker_keyword() -> None:
    text = "Turbine and bearing failed. Turbine and bearing were replaced."
    background = Counter({term: 500 for term in tokenize("turbine")})
    assert keywords(text, limit=1, rarity=Rarity(background)) == ["bearing"]


def test_keywords_are_limited_in_number_and_length() -> None:
    assert len(keywords(ARTICLE, limit=3)) == 3
    assert all(len(word) <= MAX_KEYWORD for word in keywords("x" * 500 + " and " + "《" + "书" * 39 + "》"))


def test_the_context_is_the_heading_where_there_is_one() -> None:
    text = "# Salt on Ceres\n\n" + ARTICLE
    assert context(text, sentences(text), keywords(text)) == "Salt on Ceres"


def test_the_context_is_a_short_sentence_of_the_text() -> None:
    for text in (ARTICLE, CHINESE):
        found = context(text, sentences(text), keywords(text))
        assert found in text
        assert 0 < len(found) <= MAX_CONTEXT


def test_a_long_sentence_is_cut_at_a_clause() -> None:
    text = "The Kestrel probe, " + "which had been built by many hands over many years, " * 6 + "was launched."
    found = context(text, sentences(text), ["Kestrel"])
    assert text.startswith(found)
    assert len(found) <= MAX_CONTEXT
    assert text[len(found)] == ","


def test_a_greeting_is_no_context() -> None:
    text = "Ann: Hey Bob!\nBob: Hey Ann!\nAnn: I moved to Lisbon with my sister last week to open a bakery."
    assert "Lisbon" in context(text, sentences(text), keywords(text))
