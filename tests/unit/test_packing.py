"""What is judged is packed into as few calls as it takes, each memory shown once in a call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_memory_bank.engines.base import MemoryView, Pairing
from agentic_memory_bank.engines.llm.packing import (
    ITEM_TOKENS,
    PairWindow,
    fields_tokens,
    joined,
    pack,
    pair_windows,
    within,
)

SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=30)


def memory(name: str) -> MemoryView:
    return MemoryView(name, f"summary of {name}", "", (), f"text of {name}", ("s",), "2026")


def pairing(fresh: str, *others: str) -> Pairing:
    return Pairing(memory(fresh), tuple(map(memory, others)), tuple(0.5 for _ in others))


def windows(*pairings: Pairing, capacity: int, size: int = 10) -> list[PairWindow]:
    return pair_windows(pairings, lambda _: size, capacity)


@given(SIZES, st.integers(20, 200))
def test_every_item_is_in_one_window_in_its_order(sizes: list[int], capacity: int) -> None:
    packed = pack(sizes, int, capacity)

    assert [position for window in packed for position in window] == list(range(len(sizes)))


@given(SIZES, st.integers(20, 200))
def test_no_window_is_over_its_capacity_but_for_one_item_alone(sizes: list[int], capacity: int) -> None:
    for window in pack(sizes, int, capacity):
        assert len(window) == 1 or sum(sizes[i] + ITEM_TOKENS for i in window) <= capacity


@given(SIZES, st.integers(60, 200))
def test_items_that_stood_in_so_many_windows_never_need_more(sizes: list[int], capacity: int) -> None:
    """The topics of a chunk of text fit the window that the chunk filled."""
    chunks = pack(sizes, int, capacity, item=0)
    halves = [half for size in sizes for half in (size // 2, size - size // 2)]

    assert len(pack(halves, int, capacity, item=0)) <= len(chunks)


def test_nothing_is_packed_into_no_window() -> None:
    assert pack([], int, 10) == []


@given(SIZES, st.integers(1, 40))
def test_stretches_are_put_together_until_there_are_few_enough(sizes: list[int], most: int) -> None:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    spans = list(zip([0, *ends[:-1]], ends, strict=True))

    found = joined(spans, lambda span: span[1] - span[0], most)

    assert len(found) <= max(most, 1)
    assert [found[0][0], found[-1][1]] == [0, ends[-1]]
    assert all(a[1] == b[0] for a, b in zip(found, found[1:], strict=False))
    assert {end for _, end in found} <= set(ends)


def test_stretches_that_are_few_enough_stay_as_they_are() -> None:
    assert joined([(0, 1), (1, 9)], lambda span: span[1] - span[0], 2) == [(0, 1), (1, 9)]


def test_a_memory_is_shown_once_however_many_pairs_it_is_in() -> None:
    (window,) = windows(pairing("a", "x", "y"), pairing("b", "x", "a"), capacity=1_000)

    assert list(window.memories) == ["a", "x", "y", "b"]
    assert window.numbered_pairs() == [(1, [2, 3]), (4, [2, 1])]
    assert window.tokens == 4 * 10 + 4 * ITEM_TOKENS


def test_pairs_that_do_not_fit_go_into_the_next_window_under_numbers_of_their_own() -> None:
    first, second = windows(pairing("a", "x", "y"), capacity=2 * 10 + ITEM_TOKENS)

    assert first.pairs == {"a": ["x"]}
    assert second.pairs == {"a": ["y"]}
    assert second.numbers == {"a": 1, "y": 2}


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30), st.integers(40, 300))
def test_every_pair_is_in_one_window_and_no_window_is_over_its_capacity(
    pairs: list[tuple[int, int]], capacity: int
) -> None:
    asked = list(dict.fromkeys((f"n{a}", f"o{b}") for a, b in pairs))
    packed = windows(*(pairing(a, b) for a, b in asked), capacity=capacity)

    assert sorted((a, b) for w in packed for a, others in w.pairs.items() for b in others) == sorted(asked)
    assert all(w.tokens <= capacity for w in packed)


def test_a_pair_is_known_whichever_way_round_it_is_named() -> None:
    (window,) = windows(pairing("a", "x"), capacity=1_000)

    assert window.named(1, 2) == ("a", "x")
    assert window.named(2, 1) == ("a", "x")


@pytest.mark.parametrize(("new", "other"), [(1, 1), (1, 9), (0, 2), (2, 3), (-1, 2)])
def test_a_pair_that_was_not_asked_about_is_none(new: int, other: int) -> None:
    (window,) = windows(pairing("a", "x"), pairing("b", "y"), capacity=1_000)

    assert window.named(new, other) is None


def test_each_memory_is_measured_once() -> None:
    measured: list[str] = []

    def size(one: MemoryView) -> int:
        measured.append(one.id)
        return 10

    pair_windows([pairing("a", "x", "y"), pairing("b", "x", "y")], size, 60)

    assert sorted(measured) == ["a", "b", "x", "y"]


def test_the_first_items_that_fit_are_kept_and_one_at_least() -> None:
    assert within([10, 10, 10], int, 2 * (10 + ITEM_TOKENS)) == [10, 10]
    assert within([500, 1], int, 20) == [500]
    assert within([], int, 20) == []


def test_a_memory_costs_its_fields_and_their_tags() -> None:
    assert fields_tokens({}) == ITEM_TOKENS
    assert fields_tokens({"context": "four"}) > ITEM_TOKENS
