"""What a new page may refer to is found among the pages that the store has now."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.tools.pages.library import AbstractIndex, AbstractIndexes
from agentic_memory_bank.tools.pages.store import PageStore, page_id
from agentic_memory_bank.tools.text.terms import tokenize


def page(abstract: str, title: str = "") -> Page:
    made: Any = {"id": page_id(abstract), "title": title, "abstract": abstract, "text": "Nothing of it.", "source": ""}
    return {**made, "metadata": {}, "created_at": "", "expires_at": None}


def found(index: AbstractIndex, query: str, k: int = 3) -> list[str]:
    return index.search(tokenize(query), k)


def test_those_that_share_most_come_first_and_those_that_share_nothing_not_at_all() -> None:
    store = PageStore()
    store.put(
        [page("The red bridge closed."), page("A bridge opened."), page("Rain fell."), page("Ann left.", "Bridge")]
    )
    index = AbstractIndexes().of(store)

    assert found(index, "the red bridge")[0] == "The red bridge closed."
    assert set(found(index, "bridge", 9)) == {"The red bridge closed.", "A bridge opened.", "Ann left."}
    assert found(index, "nothing of it") == found(index, "", 3) == found(index, "bridge", 0) == []


def test_it_follows_what_comes_and_goes_and_is_over() -> None:
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    store, pool = PageStore(clock=lambda: now[0]), AbstractIndexes()
    assert found(pool.of(store), "bridge") == []
    store.put([page("An old bridge.")])
    store.set_ttl(timedelta(days=1))
    store.put([page("A short bridge.")])
    assert len(found(pool.of(store), "bridge")) == 2

    now[0] += timedelta(days=1)
    assert found(pool.of(store), "bridge") == ["An old bridge."]
    store.delete([page_id("An old bridge.")])
    assert found(pool.of(store), "bridge") == []


def test_another_store_in_the_place_of_one_that_was_deleted_is_read_anew(tmp_path: Path) -> None:
    store, pool = PageStore(tmp_path / "m.sqlite"), AbstractIndexes()
    store.put([page("The first bridge."), page("The second bridge.")])
    assert len(found(pool.of(store), "bridge")) == 2
    for file in tmp_path.glob("m.sqlite*"):
        file.unlink()
    store.put([page("The third bridge."), page("The fourth bridge."), page("The fifth bridge.")])

    said = found(pool.of(store), "bridge", 9)
    assert sorted(said) == ["The fifth bridge.", "The fourth bridge.", "The third bridge."]


def test_few_indexes_are_kept() -> None:
    pool = AbstractIndexes(size=1)
    first, second = PageStore(), PageStore()

    assert pool.of(first) is pool.of(first)
    pool.of(second)
    assert pool.of(second) is not pool.of(first)
