"""Which pairs are judged at all."""

from hypothesis import given
from hypothesis import strategies as st

from agentic_memory_bank.tools.search.gate import CHINESE_COSINE, ENGLISH_COSINE, passes


def test_english_texts_pass_by_their_cosine() -> None:
    assert passes("the tower is tall", "a tall tower stands there", ENGLISH_COSINE)
    assert not passes("the tower is tall", "bread is baked here", ENGLISH_COSINE - 0.01)


def test_chinese_needs_a_higher_cosine_than_english() -> None:
    a, b = "他喜欢吃鱼。", "天气很好。"
    assert not passes(a, b, ENGLISH_COSINE)
    assert passes(a, b, CHINESE_COSINE)


def test_a_shared_name_lets_unlike_texts_of_one_language_through() -> None:
    assert passes("Yesterday Meridian saw light.", "We drove up to Meridian.", 0.1)


def test_one_of_many_names_is_not_enough_within_a_language() -> None:
    a = "Alice met Bob, Carol, Dan, Erin and Frank in Berlin."
    b = "We saw Gina, Hugo, Ida, Jon, Kim and Leo in Berlin."
    assert not passes(a, b, 0.1)


def test_two_languages_pass_by_a_shared_latin_name_or_number() -> None:
    assert passes("The Meridian telescope saw first light.", "Meridian 望远镜首次观测。", 0.1)
    assert passes("It weighs 8421 units.", "重量为 8421。", 0.1)


def test_two_languages_never_pass_by_cosine_alone() -> None:
    assert not passes("The tower is tall.", "铁塔很高。", 0.95)


def test_thresholds_can_be_set() -> None:
    assert passes("the tower is tall", "bread is baked here", 0.3, english=0.2)
    assert not passes("他喜欢吃鱼。", "他爱吃鱼。", 0.8, chinese=0.9)


@given(st.text(max_size=80), st.text(max_size=80), st.floats(-1, 1))
def test_the_order_does_not_matter(a: str, b: str, cosine: float) -> None:
    assert passes(a, b, cosine) == passes(b, a, cosine)
