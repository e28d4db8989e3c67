"""Pages are found by parts, by wholes, by headers, by ids, by names that lead on, and by what stands near them."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.pages import Page, PageSearch
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.index import PageIndex
from agentic_memory_bank.tools.search.names import names_in, subject_of


class NoEmbeddings(Embeddings):
    """A model that is out of reach."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError

    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError


def page(id: str, text: str, title: str = "", abstract: str = "", **metadata: Any) -> Page:
    made: Any = {"id": id, "title": title, "abstract": abstract, "text": text, "source": "", "metadata": metadata}
    return {**made, "created_at": "", "expires_at": None}


def index_of(pages: Sequence[Page], model: Embeddings | None = None) -> PageIndex:
    index = PageIndex(Encoder(model or HashEmbeddings()))
    index.put(pages)
    return index


def found(index: PageIndex, search: PageSearch | str, k: int = 10, **fields: Any) -> list[str]:
    asked = PageSearch(search) if isinstance(search, str) else search
    return [hit.page for hit in index.search(asked, k, Settings(**fields))]


BRIDGE = page("bridge", "The Old Bridge crosses the River Wenlow.", "Old Bridge")
RIVER = page("river", "It rises in the hills and is long.", "River Wenlow")
TAX = page("tax", "The rise of taxes was long and old.", "Tax")
SISTER = page("mill", "A mill stands at the River Wenlow.", "Mill")


def test_a_search_leads_on_to_a_page_about_a_name_in_the_first_find_and_to_one_that_holds_it() -> None:
    assert found(index_of([BRIDGE, RIVER, SISTER, TAX]), "What does the old bridge cross?")[:3] == [
        "bridge",
        "river",
        "mill",
    ]


def test_a_page_whose_title_the_question_names_comes_before_one_that_only_has_its_words() -> None:
    rest = " ".join(f"Word{n}" for n in range(20))
    pages = [page("film", f"It came in May. {rest}", "Stage Kisses (film)"), page("x", "Kisses on stage.")]

    assert found(index_of(pages), "When was stage kisses shown?")[0] == "film"


def test_a_long_page_is_found_by_its_best_part_and_the_hit_says_where_it_stands() -> None:
    text = "\n\n".join(["Rain fell on the town. " * 60, "The organ was built in 1721.", "Snow fell. " * 60])
    index = index_of([page("long", text), page("short", "The organist was born in 1700.")])

    hit = next(
        hit for hit in index.search(PageSearch("When was the organ built?"), 5, Settings()) if hit.page == "long"
    )

    start, end = hit.parts[0]
    assert text[start:end].strip() == "The organ was built in 1721."


def test_a_page_is_found_by_its_abstract_alone() -> None:
    pages = [page("a", "Yes. No. Perhaps.", abstract="A vote on the harbour."), page("b", "Who knows what it is.")]

    assert found(index_of(pages), "What was the vote on the harbour?")[0] == "a"


def test_headers_are_searched_apart_from_texts() -> None:
    pages = [page("a", "The harbour.", "Votes"), page("b", "Votes.", "Harbour"), page("c", "Nothing.")]

    assert index_of(pages).abstracts("harbour", 1, Settings()) == ["b"]


def test_pages_asked_for_by_their_ids_come_first_and_do_not_count() -> None:
    index = index_of([BRIDGE, RIVER, TAX])

    hits = index.search(PageSearch("old bridge", pages=("tax", "no such page", "tax")), 1, Settings())

    assert [(hit.page, hit.by_id) for hit in hits] == [("tax", True), ("bridge", False)]


def test_each_keyword_and_each_query_brings_its_own_pages() -> None:
    pages = [*(page(f"n{n}", f"The old bridge of town {n}.") for n in range(5)), page("zinc", "Zinc melts early.")]
    index = index_of([*pages, page("tin", "Tin melts still earlier.")])

    assert "zinc" in found(index, PageSearch("old bridge", keywords=("zinc",)), 6)
    assert found(index, PageSearch("old bridge", queries=("Tin melts still earlier.",)), 2)[0] in ("tin", "n0")


def test_a_page_of_a_document_gains_by_pages_around_it_that_speak_of_the_same() -> None:
    said = ["It is yellow.", "Of snow.", "Of rain.", "The remote control.", "It is yellow.", "The remote control."]
    pages = [page(f"p{n}", text, part=n, parts=len(said)) for n, text in enumerate(said)]

    ranked = found(index_of(pages), "What colour was the remote control?")

    assert ranked.index("p4") < ranked.index("p0")


def test_pages_of_different_documents_do_not_gain_by_each_other() -> None:
    pages = [page("a", "The remote control."), page("b", "It is yellow."), page("c", "It is yellow.")]
    scores = {hit.page: hit.score for hit in index_of(pages).search(PageSearch("remote control"), 5, Settings())}

    assert scores.get("b") == scores.get("c")


def test_without_a_model_of_embeddings_pages_are_found_by_keywords() -> None:
    index = index_of([BRIDGE, TAX], NoEmbeddings())

    assert found(index, "taxes") == ["tax"]
    assert not index.has_meaning


def test_pages_that_came_while_the_model_was_out_of_reach_get_their_vectors_once_it_works() -> None:
    model = HashEmbeddings()
    works, model.embed_documents = model.embed_documents, NoEmbeddings().embed_documents  # type: ignore[method-assign]
    late = index_of([BRIDGE, TAX], model)
    assert (found(late, "taxes"), late.has_meaning) == (["tax"], False)

    model.embed_documents = works  # type: ignore[method-assign]

    hits, sound = (index.search(PageSearch("a bridge"), 5, Settings()) for index in (late, index_of([BRIDGE, TAX])))
    assert hits == sound
    assert late.has_meaning


def test_the_file_of_vectors_keeps_none_of_pages_that_are_gone(tmp_path: Path) -> None:
    cache = tmp_path / "vectors.sqlite"
    before = PageIndex(Encoder(HashEmbeddings(), cache=cache))
    before.put([BRIDGE, TAX], only=True)
    before.search(PageSearch("Who was asked about?"), 5, Settings())

    PageIndex(Encoder(HashEmbeddings(), cache=cache)).put([TAX], only=True)

    alone = PageIndex(Encoder(HashEmbeddings(), cache=tmp_path / "alone.sqlite"))
    alone.put([TAX], only=True)
    assert kept_in(cache) == kept_in(tmp_path / "alone.sqlite")


def kept_in(cache: Path) -> set[str]:
    with closing(sqlite3.connect(cache)) as database:
        return {key for (key,) in database.execute("SELECT key FROM vectors")}


def test_ranks_can_be_fused_instead_of_scores() -> None:
    index = index_of([BRIDGE, RIVER, TAX])

    assert found(index, "old bridge", research_fusion="rrf")[0] == "bridge"


def test_an_empty_index_and_an_empty_request_find_nothing() -> None:
    assert found(index_of([]), "anything") == []
    assert found(index_of([BRIDGE]), "  ") == []


def test_a_negative_number_of_pages_is_refused() -> None:
    with pytest.raises(InputError):
        found(index_of([BRIDGE]), "bridge", -1)


def test_chinese_pages_are_found_by_the_title_in_a_question() -> None:
    pages = [page("a", "建于十八世纪。", "文洛大桥"), page("b", "大桥很长。", "大河"), page("c", "山很高。", "高山")]

    assert found(index_of(pages), "文洛大桥建于什么时候？")[0] == "a"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("He met Natalie Wood in Rome.", {"natalie wood", "rome"}),
        ("Rome is old. It was J. K. Rowling who came.", {"j k rowling"}),
        ("In 1957 the Bank of New England closed.", {"bank of new england"}),
        ("nothing here", set[str]()),
    ],
)
def test_names_are_runs_of_words_with_capitals(text: str, names: set[str]) -> None:
    assert names_in(text) == names


def test_a_text_is_about_its_title_or_the_name_it_opens_with() -> None:
    assert subject_of("It is long.", "River Wenlow (Kent)") == "river wenlow"
    assert subject_of("The River Wenlow is long.") == "river wenlow"
    assert subject_of("It is long.") == ""


STEPS = st.lists(st.tuples(st.sampled_from([BRIDGE, RIVER, TAX, SISTER]), st.booleans()), max_size=12)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_any_history_of_pages_ranks_as_a_fresh_index(history: list[tuple[Page, bool]]) -> None:
    index, held = index_of([]), dict[str, Page]()
    for one, stays in history:
        index.put([one])
        held[one["id"]] = one
        if not stays:
            index.remove([one["id"], "unknown"])
            del held[one["id"]]
    fresh = index_of(sorted(held.values(), key=lambda one: one["id"], reverse=True))

    asked = PageSearch("What does the old bridge cross?", keywords=("taxes",))
    assert len(index) == len(held)
    assert index.search(asked, 5, Settings()) == fresh.search(asked, 5, Settings())
