"""The vectors of many pages are made while they are memorized: a question over them does not wait for the model."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank.graph.memorizer import build_memorizer
from agentic_memory_bank.graph.researcher import build_researcher
from agentic_memory_bank.nodes.memorizer.embed import MANY
from agentic_memory_bank.testing import TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.stores import PageStores

QUESTION = "Who keeps the number 300?"


class Counting(HashEmbeddings):
    """Remembers what it was asked, and fails from a text on that is not to be reached."""

    def __init__(self, fails_at: int | None = None) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._fails_at = fails_at

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self._fails_at is not None and len(self.asked) + len(texts) > self._fails_at:
            raise ConnectionError("The model is gone.")
        self.asked += texts
        return super().embed_documents(texts)


@pytest.fixture
def stores(home: Path) -> PageStores:
    return PageStores(home)


def texts_of(count: int) -> list[str]:
    return [f"Note {n}. Keeper {n} has the number {n} and nothing else." for n in range(count)]


def memorize(stores: PageStores, texts: list[str], model: HashEmbeddings, **context: Any) -> list[Any]:
    """The events of a run."""
    memorizer = build_memorizer(embeddings=model, stores=stores, clock=TickingClock())
    given: Any = {"texts": texts, "memory": "m"}
    return list(memorizer.stream(given, context=context or None, stream_mode="custom"))  # type: ignore[arg-type]


def asked_for(stores: PageStores, question: str = QUESTION) -> Counting:
    model = Counting()
    graph = build_researcher(embeddings=model, stores=stores, clock=TickingClock())
    assert "300" in graph.invoke({"request": question, "memory": "m"})["answer"]
    return model


def kept(stores: PageStores) -> int:
    file = stores.of("m").vectors
    if file is None or not file.exists():
        return 0
    with closing(sqlite3.connect(file)) as database:
        return int(database.execute("SELECT count(*) FROM vectors").fetchone()[0])


def test_a_question_over_many_pages_embeds_no_page_any_more(stores: PageStores) -> None:
    memorize(stores, texts_of(400), Counting())

    assert not set(asked_for(stores).asked) & set(texts_of(400))


def test_few_pages_load_no_model(stores: PageStores) -> None:
    model = Counting()
    memorize(stores, texts_of(MANY - 1), model)

    assert (model.asked, kept(stores)) == ([], 0)


def test_a_model_that_goes_away_costs_one_batch_and_no_page_and_the_same_texts_make_up_for_it(
    stores: PageStores,
) -> None:
    gone = Counting(fails_at=300)
    memorize(stores, texts_of(600), gone)

    assert len(list(stores.of("m").pages())) == 600
    assert 0 < kept(stores) == len(gone.asked) < 300

    back = Counting()
    memorize(stores, texts_of(600), back)
    assert back.asked
    assert not set(back.asked) & set(gone.asked), "what was made is not made again"
    assert not set(asked_for(stores).asked) & set(texts_of(600))


def test_progress_says_how_far_the_vectors_are(stores: PageStores) -> None:
    events = [event for event in memorize(stores, texts_of(600), Counting()) if event["stage"] == "embed"]

    assert len(events) > 1
    assert [event["embedded"] for event in events] == sorted(event["embedded"] for event in events)
    assert events[-1]["left"] == 0


def test_the_first_question_over_pages_without_vectors_says_how_far_it_is(stores: PageStores) -> None:
    memorize(stores, texts_of(600), Counting(fails_at=0))
    graph = build_researcher(embeddings=Counting(), stores=stores, clock=TickingClock())
    told: list[Any] = list(graph.stream({"request": QUESTION, "memory": "m"}, stream_mode="custom"))

    assert [event["left"] for event in told if event["stage"] == "take_in" and "embedded" in event][-1] == 0


def test_pages_are_kept_whatever_embeddings_are_named(stores: PageStores, monkeypatch: pytest.MonkeyPatch) -> None:
    memorizer = build_memorizer(stores=stores, clock=TickingClock())
    given: Any = {"texts": texts_of(20), "memory": "m"}

    output = memorizer.invoke(given, context={"embeddings": "local:/elsewhere"})  # type: ignore[arg-type]

    assert (output["status"], len(output["pages"]), kept(stores)) == ("completed", 20, 0)
