"""Topics of a text: where they change, what belongs together, and that nothing is lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_memory_bank.engines.extractive.summarising.segmentation import MAX_TOPIC_TOKENS, segment, topics
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.text.tokens import estimate_tokens

Array = np.ndarray
TEXT_ABOUT_AI = (
    "Artificial intelligence is the study of machines that learn from data.",
    "Neural networks are its most used method today.",
)


def directions(*labels: int, dimension: int = 16, noise: float = 0.0) -> Array:
    """Unit vectors: the same label, the same direction, but for some noise."""
    made = np.zeros((len(labels), dimension), np.float32)
    made[np.arange(len(labels)), labels] = 1
    made += noise * np.random.default_rng(7).standard_normal(made.shape).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def paragraph(word: str, words: int = 60) -> str:
    return " ".join(f"{word}{number}" for number in range(words))


texts = st.lists(
    st.sampled_from(["# Title", "yes", "一个 话题", "a few words here", paragraph("w"), "x " * 700]), max_size=40
)


@given(units=texts, seed=st.integers(0, 9), limit=st.sampled_from([1, 50, 450]))
@settings(max_examples=60, deadline=None)
def test_every_unit_is_in_exactly_one_topic(units: list[str], seed: int, limit: int) -> None:
    vectors = directions(*np.random.default_rng(seed).integers(0, 3, len(units)))
    lengths, found = segment(units, vectors), topics(units, vectors, max_tokens=limit)

    assert sum(lengths) == len(units)
    assert all(length > 0 for length in lengths)
    assert sorted(unit for topic in found for unit in topic) == list(range(len(units)))
    assert all(topic == sorted(topic) for topic in found)
    assert [topic[0] for topic in found] == sorted(topic[0] for topic in found)


def test_nothing_has_no_topics() -> None:
    empty = np.zeros((0, 16), np.float32)
    assert segment([], empty) == []
    assert topics([], empty) == []


def test_one_unit_is_one_topic_however_long() -> None:
    assert segment(["word"], directions(0)) == [1]
    assert topics([paragraph("long", 2000)], directions(0)) == [[0]]


def test_a_short_text_is_one_topic_even_if_its_sentences_differ() -> None:
    assert topics(TEXT_ABOUT_AI, directions(0, 1)) == [[0, 1]]


def test_the_borders_stand_where_the_topic_changes() -> None:
    labels = [0] * 6 + [1] * 5 + [2] * 7
    units = [f"sentence {number}" for number in range(len(labels))]
    assert segment(units, directions(*labels, noise=0.05)) == [6, 5, 7]


def test_shared_words_part_what_vectors_cannot() -> None:
    units = [
        "the red fox runs",
        "a fox runs home",
        "the fox sleeps",
        "tax law reform",
        "reform of tax law",
        "new tax law",
    ]
    assert segment(units, np.zeros((6, 1), np.float32)) == [3, 3]


def test_chinese_topics_are_parted_though_all_chinese_looks_alike_to_the_model() -> None:
    common, own = np.sqrt(0.5), np.sqrt(0.5)
    vectors = np.zeros((8, 4), np.float32)
    vectors[:, 0] = common
    vectors[:4, 1] = own
    vectors[4:, 2] = own
    units = ["火星车在火星表面工作。"] * 4 + ["股市今天大幅下跌。"] * 4
    assert segment(units, vectors) == [4, 4]


def test_unrelated_paragraphs_are_topics_of_their_own() -> None:
    units = [paragraph(word) for word in ("ant", "bee", "cow", "dog", "elk")]
    assert topics(units, directions(0, 1, 2, 3, 4)) == [[0], [1], [2], [3], [4]]


def test_topics_stay_readable_and_long_segments_are_cut() -> None:
    units = [paragraph("word", 40)] * 60
    found = topics(units, directions(*[0] * 60))
    sizes = [sum(estimate_tokens(units[unit]) for unit in topic) for topic in found]
    assert len(found) > 1
    assert max(sizes) <= MAX_TOPIC_TOKENS


def test_a_long_segment_is_cut_at_its_weakest_border() -> None:
    units = [paragraph("word", 80)] * 6
    vectors = np.concatenate([directions(*[0] * 4), directions(*[0] * 2)])
    vectors[4:, 1] = 1.0
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    limit = 5 * estimate_tokens(units[0])
    assert topics(units, vectors, max_tokens=limit, same_topic=2) == [[0, 1, 2, 3], [4, 5]]


def test_segments_apart_are_joined_only_when_clearly_on_one_topic() -> None:
    units = [paragraph(word, 20) for word in ("ant", "ant", "bee", "bee", "ant", "ant")]
    vectors = directions(0, 0, 1, 1, 0, 0)
    assert topics(units, vectors) == [[0, 1, 4, 5], [2, 3]]
    assert topics(units, vectors, same_topic=1.1) == [[0, 1], [2, 3], [4, 5]]


def test_a_heading_stays_with_what_follows_and_opens_a_topic() -> None:
    units = [paragraph("ant"), "## Bees", paragraph("bee"), "## Cows", paragraph("cow")]
    assert topics(units, directions(0, 1, 1, 2, 2)) == [[0], [1, 2], [3, 4]]


def test_a_segment_of_a_few_words_joins_its_closer_neighbour() -> None:
    units = [paragraph("ant"), "Bees, too.", paragraph("bee")]
    near_the_second = directions(0, 1, 1)
    near_the_second[1, 2] = 5.0
    near_the_second[1] /= np.linalg.norm(near_the_second[1])
    assert topics(units, near_the_second) == [[0], [1, 2]]


def test_identical_units_are_no_obstacle() -> None:
    units = ["the same again and again"] * 200
    found = topics(units, directions(*[0] * 200))
    assert sorted(unit for topic in found for unit in topic) == list(range(200))


def test_the_same_input_gives_the_same_topics() -> None:
    labels = np.random.default_rng(1).integers(0, 4, 120)
    units, vectors = [f"unit {label} {n}" for n, label in enumerate(labels)], directions(*labels, noise=0.2)
    assert topics(units, vectors) == topics(units, vectors.copy())


def test_ten_thousand_units_compare_only_near_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentic_memory_bank.engines.extractive.summarising import segmentation

    compared = 0
    between = segmentation._Likeness.between

    def counted(self: segmentation._Likeness, low: int, high: int, other: int) -> Array:
        nonlocal compared
        compared += high - low
        return between(self, low, high, other)

    monkeypatch.setattr(segmentation._Likeness, "between", counted)
    labels = np.repeat(np.arange(1000) % 16, 10)
    assert sum(segment(["unit"] * 10_000, directions(*labels))) == 10_000
    assert compared <= 10_000 * 80


def test_vectors_must_match_the_units() -> None:
    with pytest.raises(InputError, match="2 units came with 1 vectors"):
        segment(["a", "b"], directions(0))
    with pytest.raises(InputError, match="one vector for each unit"):
        topics(["a"], directions(0, 1))
