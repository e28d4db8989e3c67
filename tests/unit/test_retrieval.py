"""The hybrid index against a plain reference: any history of puts and removals ranks as a fresh index would."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from agentic_memory_bank.state.errors import EmbeddingError, InputError
from agentic_memory_bank.tools.search.hybrid_index import K1, B, HybridIndex
from agentic_memory_bank.tools.search.query import Query, alpha_for
from agentic_memory_bank.tools.search.scoring import Hit

Item = tuple[list[str], list[float] | None]


def reference(items: dict[str, Item], query: Query, k: int) -> list[Hit]:
    """The definition, term by term and item by item."""
    average = sum(len(terms) for terms, _ in items.values()) / len(items) or 1 if items else 1
    alpha = 1 if query.vector is None or not np.any(query.vector) else query.alpha if query.terms else 0

    def bm25(terms: list[str]) -> float:
        counts, score = Counter(terms), 0.0
        for term, weight in Counter(query.terms).items():
            owners = sum(term in other for other, _ in items.values())
            if counts[term]:
                rarity = math.log(1 + (len(items) - owners + 0.5) / (owners + 0.5))
                length = K1 * (1 - B + B * len(terms) / average)
                score += weight * rarity * counts[term] * (K1 + 1) / (counts[term] + length)
        return score

    def cosine(vector: list[float] | None) -> float:
        if vector is None or query.vector is None or not np.any(vector) or not np.any(query.vector):
            return 0.0
        return float(np.dot(vector, query.vector) / (np.linalg.norm(vector) * np.linalg.norm(query.vector)))

    allowed = [id for id in items if id not in query.exclude and (query.within is None or id in query.within)]
    raw = {id: bm25(items[id][0]) for id in allowed}
    best = max(raw.values(), default=0) or 1
    hits = []
    for id in allowed:
        vector = items[id][1]
        if (alpha > 0 and raw[id] > 0) or (alpha < 1 and vector is not None and np.any(vector)):
            keyword, likeness = raw[id] / best, cosine(vector)
            hits.append(Hit(id, alpha * keyword + (1 - alpha) * likeness, keyword, likeness))
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:k]


def assert_alike(found: list[Hit], expected: list[Hit]) -> None:
    assert [round(hit.score, 5) for hit in found] == pytest.approx([hit.score for hit in expected], abs=2e-5)
    for hit, other in zip(found, expected, strict=True):
        if hit.id == other.id:
            assert (hit.keyword, hit.cosine) == pytest.approx((other.keyword, other.cosine), abs=2e-5)
        else:  # only where the scores are equal up to rounding
            assert hit.score == pytest.approx(other.score, abs=1e-6)


ids = st.sampled_from("abcdefgh")
terms = st.lists(st.sampled_from(["river", "bank", "money", "战国", "gpt4o", "2023"]), max_size=8)
vectors = st.none() | st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=3)
queries = st.builds(
    Query,
    terms,
    vectors.map(lambda vector: None if vector is None else np.array(vector)),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.frozensets(ids, max_size=3),
    st.none() | st.frozensets(ids),
)


class AnyHistory(RuleBasedStateMachine):
    """Puts, replacements and removals in any order; small first sizes make growing and packing frequent."""

    @initialize()
    def begin(self) -> None:
        self.index, self.items = HybridIndex(), {}

    @rule(id=ids, terms=terms, vector=vectors)
    def put(self, id: str, terms: list[str], vector: list[float] | None) -> None:
        self.index.put(id, terms, None if vector is None else np.array(vector))
        self.items.pop(id, None)
        self.items[id] = (terms, vector)

    @rule(id=ids)
    def remove(self, id: str) -> None:
        self.index.remove(id)
        self.items.pop(id, None)

    @rule(query=queries, k=st.integers(0, 10))
    def search(self, query: Query, k: int) -> None:
        found = self.index.search_many([query], k)[0]
        fresh = HybridIndex()
        for id, (terms, vector) in sorted(self.items.items()):
            fresh.put(id, terms, None if vector is None else np.array(vector))
        assert found == fresh.search_many([query], k)[0]
        assert_alike(found, reference(self.items, query, k))

    @invariant()
    def knows_its_items(self) -> None:
        assert len(self.index) == len(self.items)
        assert list(self.index) == list(self.items)
        assert all((id in self.index) == (id in self.items) for id in "abcdefgh")


@pytest.fixture(autouse=True, scope="module")
def _small_index():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agentic_memory_bank.tools.search.index_slots._FIRST_ROWS", 2)
        patch.setattr("agentic_memory_bank.tools.search.hybrid_index._BATCH", 2)
        yield


AnyHistory.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
TestAnyHistory = AnyHistory.TestCase


@given(st.lists(queries, max_size=5), st.lists(st.tuples(ids, terms, vectors), max_size=8))
@settings(max_examples=50, deadline=None)
def test_a_batch_finds_what_single_searches_find(batch, items):
    index = HybridIndex()
    for id, terms, vector in items:
        index.put(id, terms, vector)
    expected = [
        index.search(query.terms, query.vector, 4, alpha=query.alpha, exclude=query.exclude, within=query.within)
        for query in batch
    ]
    assert index.search_many(batch, 4) == expected


def test_large_indexes_with_close_vectors_rank_as_fresh_ones():
    generator = np.random.default_rng(0)
    centre = generator.normal(size=48)
    rows = centre + 1e-4 * generator.normal(size=(600, 48))
    index, fresh = HybridIndex(), HybridIndex()
    for number in generator.permutation(900):
        index.put(f"{number % 600:03}", ["old"] * (number % 7), generator.normal(size=48))
    for number in generator.permutation(600):
        index.put(f"{number:03}", ["new", f"t{number % 5}"], rows[number])
    for number in range(0, 600, 2):
        index.remove(f"{number:03}")
    for number in range(1, 600, 2):
        fresh.put(f"{number:03}", ["new", f"t{number % 5}"], rows[number])
    for alpha in (0.0, 0.5):
        assert index.search(["t1"], centre, 100, alpha=alpha) == fresh.search(["t1"], centre, 100, alpha=alpha)


def filled() -> HybridIndex:
    index = HybridIndex()
    index.put("keyword only", ["qubit", "ibm"], None)
    index.put("meaning only", ["other"], np.array([1.0, 0.0]))
    index.put("neither", ["nothing"], np.array([0.0, 1.0]))
    return index


def test_an_item_found_by_one_lane_alone_can_win():
    index = filled()
    assert index.search(["qubit"], np.array([1.0, 0.0]), 1, alpha=0.6)[0].id == "keyword only"
    assert index.search(["qubit"], np.array([1.0, 0.0]), 1, alpha=0.4)[0].id == "meaning only"


def test_without_a_query_vector_keywords_alone_decide():
    assert [(hit.id, hit.score) for hit in filled().search(["qubit"], None, 5, alpha=0.0)] == [("keyword only", 1.0)]


def test_without_query_terms_the_vector_alone_decides():
    hits = filled().search([], np.array([2.0, 0.0]), 5, alpha=1.0)
    assert [(hit.id, hit.score) for hit in hits] == [("meaning only", 1.0), ("neither", 0.0)]


def test_a_term_that_every_item_has_still_counts():
    index = HybridIndex()
    index.put("a", ["common"], None)
    index.put("b", ["common", "common"], None)
    assert [hit.id for hit in index.search(["common"], None, 5)] == ["b", "a"]


def test_keyword_is_scaled_by_the_best_item_that_may_be_returned():
    index = HybridIndex()
    index.put("itself", ["x", "y", "z"], None)
    index.put("other", ["x"], None)
    assert index.search(["x", "y", "z"], None, 1, exclude={"itself"}) == [Hit("other", 1.0, 1.0, 0.0)]


def test_equal_scores_are_ordered_by_id():
    index = HybridIndex()
    for id in "cab":
        index.put(id, ["same"], np.array([1.0, 1.0]))
    assert [hit.id for hit in index.search(["same"], np.array([1.0, 0.0]), 2)] == ["a", "b"]


def test_an_empty_index_finds_nothing():
    assert HybridIndex().search(["x"], np.array([1.0]), 3) == []


def test_removing_an_unknown_id_changes_nothing():
    index = filled()
    index.remove("unknown")
    assert len(index) == 3


def test_unknown_ids_in_exclude_and_within_are_ignored():
    hits = filled().search(["qubit"], None, 5, exclude={"unknown"}, within={"keyword only", "unknown"})
    assert [hit.id for hit in hits] == ["keyword only"]


@pytest.mark.parametrize("vector", [[math.nan, 0.0], [math.inf, 0.0], [1.0, 2.0, 3.0], [], [[1.0, 0.0]]], ids=str)
def test_a_vector_that_cannot_be_used_is_refused_and_changes_nothing(vector):
    index = filled()
    with pytest.raises(EmbeddingError):
        index.put("keyword only", ["changed"], np.array(vector))
    with pytest.raises(EmbeddingError):
        index.search(["qubit"], np.array(vector), 1)
    assert index.search(["qubit"], None, 1)[0].id == "keyword only"


def test_a_vector_of_zeros_counts_as_none():
    index = HybridIndex()
    index.put("a", ["x"], np.zeros(2))
    assert index.search(["x"], np.array([1.0, 0.0]), 1, alpha=0.5) == [Hit("a", 0.5, 1.0, 0.0)]


def test_tiny_and_huge_vectors_keep_their_direction():
    index = HybridIndex()
    index.put("tiny", [], np.array([1e-200, 0.0]))
    index.put("huge", [], np.array([0.0, 1e200]))
    assert index.search([], np.array([0.0, 1e-300]), 1) == [Hit("huge", 1.0, 0.0, 1.0)]


def test_an_index_left_without_vectors_takes_another_dimension():
    index = filled()
    index.remove("meaning only")
    index.remove("neither")
    index.put("a", [], np.ones(5))
    assert index.search([], np.ones(5), 1)[0].id == "a"


def test_an_emptied_index_takes_vectors_of_another_dimension():
    index = filled()
    for id in list(index):
        index.remove(id)
    index.put("a", [], np.ones(5))
    assert index.search([], np.ones(5), 1)[0].cosine == pytest.approx(1)


@pytest.mark.parametrize(("k", "alpha"), [(-1, 0.5), (1, -0.1), (1, 1.1), (1, math.nan)])
def test_a_k_or_alpha_out_of_range_is_refused(k, alpha):
    with pytest.raises(InputError):
        filled().search(["qubit"], None, k, alpha=alpha)


def test_a_chinese_query_takes_the_weight_for_chinese():
    assert alpha_for("谁开发了 GPT-4o？", 0.5, 0.7) == 0.7
    assert alpha_for("Who made GPT-4o?", 0.5, 0.7) == 0.5


def test_the_only_vector_may_be_replaced_by_one_of_another_dimension():
    index = HybridIndex()
    index.put("a", ["river"], np.ones(3))
    index.put("b", ["river"], None)

    index.put("a", ["river"], np.ones(2))

    assert index.search([], np.ones(2), 5)[0].id == "a"
    with pytest.raises(EmbeddingError):
        index.put("b", ["river"], np.ones(3))


@given(st.lists(ids, max_size=9), st.integers(0, 9), st.frozensets(ids))
def test_the_rest_of_a_sequence_is_left_out_as_if_it_were_excluded(sequence, meets, exclude):
    index = HybridIndex()
    for position, id in enumerate("abcdef"):
        index.put(id, ["river"] * (position + 1) + ["bank"], None)
    batch = [Query(["river"], None, exclude=exclude, meets=meets), Query(["bank"], None)]

    found = index.search_many(batch, 9, sequence=sequence)

    spelled_out = [Query(["river"], None, exclude={*exclude, *sequence[meets:]}), Query(["bank"], None)]
    assert found == index.search_many(spelled_out, 9)
