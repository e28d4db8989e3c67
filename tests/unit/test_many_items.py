"""Searching very many items: quantised vectors in the index file say who is compared, and what is returned is exact."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentic_memory_bank.tools.search import hybrid_index, index_slots, near_scoring
from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
from agentic_memory_bank.tools.search.query import Query
from agentic_memory_bank.tools.storage.section_file import SectionDamagedError, SectionFile, write_sections

SIZE, LENGTH = 3_000, 16
WORDS = [f"w{number}" for number in range(400)]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_slots, "NEAR_FROM", 1_000)
    monkeypatch.setattr(near_scoring, "FEW", 64)
    monkeypatch.setattr(hybrid_index, "FEW", 64)
    monkeypatch.setattr(near_scoring, "DEPTH", 256)


def item(chance: random.Random, draw: np.random.Generator) -> tuple[list[str], Any]:
    """Words of which some are frequent, and a vector near one of twenty subjects."""
    terms = [WORDS[min(399, int(chance.paretovariate(0.6)))] for _ in range(12)]
    centre = np.random.default_rng(chance.randrange(20)).standard_normal(LENGTH)
    return terms, (centre + 0.6 * draw.standard_normal(LENGTH)).astype(np.float32)


@pytest.fixture
def items() -> dict[str, tuple[list[str], Any]]:
    chance, draw = random.Random(3), np.random.default_rng(3)
    return {f"i{number:04}": item(chance, draw) for number in range(SIZE)}


Kept = Callable[[HybridIndex], HybridIndex]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """The same index as a process finds it in its file."""

    def again(index: HybridIndex) -> HybridIndex:
        write_sections(tmp_path / "many.index", {}, index.arrays())
        return HybridIndex(SectionFile(tmp_path / "many.index"))

    return again


def filled(items: dict[str, tuple[list[str], Any]]) -> HybridIndex:
    index = HybridIndex()
    for id, (terms, vector) in items.items():
        index.put(id, terms, vector)
    return index


def queries(count: int = 40) -> list[tuple[list[str], Any]]:
    chance, draw = random.Random(5), np.random.default_rng(5)
    found = (item(chance, draw) for _ in range(count))
    return [(terms[:5], vector) for terms, vector in found]


def recall(index: HybridIndex, exact: HybridIndex, **options: Any) -> float:
    """The share of the ten best that is found, each with exactly its scores."""
    shares: list[float] = []
    for terms, vector in queries():
        best = exact.search(terms, vector, 10, **options)
        found = index.search(terms, vector, 10, **options)
        assert len(found) == len(best)
        alike = {hit.id: hit for hit in best}
        assert all(alike[hit.id] == hit for hit in found if hit.id in alike)
        shares.append(len(alike.keys() & {hit.id for hit in found}) / len(best) if best else 1.0)
    return sum(shares) / len(shares)


def test_the_best_are_found_with_the_scores_of_the_exact_search(items: Any, kept: Kept) -> None:
    exact = filled(items)
    index = kept(exact)
    assert index._stored.near is not None

    for options in ({}, {"alpha": 0.0}, {"alpha": 1.0}, {"alpha": 0.2}):
        assert recall(index, exact, **options) >= 0.98


def test_filters_and_exclusions_are_exact(items: Any, kept: Kept) -> None:
    exact = filled(items)
    index, ids = kept(exact), list(items)

    for within in (ids[:40], ids[::7], ids[:2_000], []):
        exclude = set(ids[::5])
        assert recall(index, exact, within=within, exclude=exclude) >= 0.98
        for terms, vector in queries(5):
            found = index.search(terms, vector, 10, within=within, exclude=exclude)
            assert {hit.id for hit in found} <= set(within) - exclude


def test_what_is_added_changed_and_removed_later_is_found_at_once_or_never(items: Any, kept: Kept) -> None:
    exact = filled(items)
    index, chance, draw = kept(exact), random.Random(9), np.random.default_rng(9)
    for number in range(300):
        changed, gone = f"i{chance.randrange(SIZE):04}", f"i{chance.randrange(SIZE):04}"
        terms, vector = item(chance, draw)
        for one in (index, exact):
            one.put(f"new{number}", terms, vector)
            one.put(changed, terms[:6], vector if number % 3 else None)
            one.remove(gone)
        assert gone not in index
        assert [hit.id for hit in index.search(terms, vector, 1, within=[f"new{number}"])] == [f"new{number}"]

    assert recall(index, exact) >= 0.98
    assert recall(kept(index), exact) >= 0.98, "what was learned of the vectors is used again"


def test_ranks_and_single_items_are_what_they_are_in_the_exact_search(items: Any, kept: Kept) -> None:
    exact = filled(items)
    index, ids = kept(exact), list(items)[::300]
    for terms, vector in queries(10):
        assert index.scoring(Query(terms, vector)).of(ids) == exact.scoring(Query(terms, vector)).of(ids)
        ranked, truth = (one.scoring(Query(terms, vector, by_rank=True)).best(10) for one in (index, exact))
        assert len({hit.id for hit in ranked} & {hit.id for hit in truth}) >= 9


def test_a_threshold_leaves_out_what_is_below_it(items: Any, kept: Kept) -> None:
    exact = filled(items)
    index = kept(exact)
    for terms, vector in queries(10):
        found = index.scoring(Query(terms, vector)).best(10, 0.7, ["i0000"])
        assert all(hit.cosine >= 0.69 or hit.id == "i0000" for hit in found)
        assert len(found) == len(exact.scoring(Query(terms, vector)).best(10, 0.7, ["i0000"]))


def test_below_the_threshold_nothing_is_quantised(items: Any, kept: Kept) -> None:
    few = {id: items[id] for id in list(items)[:900]}
    exact = filled(few)
    index = kept(exact)

    assert index._stored.near is None
    for terms, vector in queries():
        assert index.search(terms, vector, 10) == exact.search(terms, vector, 10)


def test_a_damaged_vector_is_never_compared(items: Any, kept: Kept, tmp_path: Path) -> None:
    place = tmp_path / "many.index"
    kept(filled(items))
    file = SectionFile(place)
    vector = file["matrix"][17].tobytes()
    del file
    whole = place.read_bytes()
    place.write_bytes(whole.replace(vector, vector[:-1] + bytes([vector[-1] ^ 1])))

    index = HybridIndex(SectionFile(place))
    with pytest.raises(SectionDamagedError):
        index.search([], items["i0017"][1], 1)


def test_damaged_quantised_vectors_are_noticed_when_the_file_is_opened(items: Any, kept: Kept, tmp_path: Path) -> None:
    place = tmp_path / "many.index"
    kept(filled(items))
    file = SectionFile(place)
    codes = file["near"].tobytes()
    del file
    place.write_bytes(place.read_bytes().replace(codes, codes[:-1] + bytes([codes[-1] ^ 1])))

    with pytest.raises(SectionDamagedError):
        SectionFile(place)


def test_nothing_of_a_removed_item_is_in_the_next_file(items: Any, kept: Kept, tmp_path: Path) -> None:
    index = kept(filled(items))
    vector = index._stored.matrix[17].tobytes()
    assert vector in (tmp_path / "many.index").read_bytes()

    index.remove("i0017")
    again = kept(index)

    assert vector not in (tmp_path / "many.index").read_bytes()
    assert len(again._stored) == again._stored.near._index.ntotal == SIZE - 1  # pyright: ignore[reportOptionalMemberAccess]
