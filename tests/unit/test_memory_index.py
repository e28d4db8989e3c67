"""Passages and memories are found by what they say, by the turns around them and by names that lead on."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_memory_bank.state.interaction_tree import InteractionTree, text_of
from agentic_memory_bank.state.query_graph import QueryGraph
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.search.bank_index import MemoryIndex, embedded_texts
from agentic_memory_bank.tools.search.passage_index import ASKED, PassageIndex, kind_of
from agentic_memory_bank.tools.search.scoring import Hit
from agentic_memory_bank.tools.text.terms import tokenize


def memories(texts: dict[str, str]) -> tuple[QueryGraph, InteractionTree]:
    nodes: dict[str, Any] = {}
    entries: dict[str, Any] = {}
    for id, text in texts.items():
        nodes[id] = {"id": id, "summary": text[:40], "context": "", "keywords": [], "embedding": None}
        nodes[id] |= {"created_at": "2026", "history": [], "anchors": [{"entry": id, "start": 0, "end": len(text)}]}
        nodes[id] |= {"provenance": {"sources": [], "task": None, "merged_from": []}}
        entries[id] = {"id": id, "kind": "document", "text": text, "created_at": "2026", "source": id}
        entries[id] |= {"metadata": {}, "tool_calls": [], "attachments": []}
    return {"nodes": nodes}, {"entries": entries}


def index_of(texts: dict[str, str]) -> MemoryIndex:
    index = MemoryIndex(Encoder(HashEmbeddings()))
    index.follow(*memories(texts))
    return index


def test_a_memory_that_quotes_is_embedded_as_its_passages_and_one_in_other_words_as_these_too() -> None:
    said = "The lift carries eight people. " * 30 + "\n\nIt is tested in May."
    graph, tree = memories({"quote": said, "words": said})
    graph["nodes"]["quote"] |= {"summary": "It is tested in May. The lift carries eight people.", "keywords": ["lift"]}
    graph["nodes"]["words"] |= {"summary": "An elevator, inspected each spring.", "keywords": ["lift"]}

    quoting, wording = (embedded_texts(graph["nodes"][id], tree) for id in ("quote", "words"))

    assert len(quoting) > 1
    assert " ".join(quoting).split() == said.split()
    assert wording == [*quoting, "An elevator, inspected each spring."]


def test_memories_are_compared_by_the_mean_of_what_they_are_made_of() -> None:
    said = {"long": "One bridge. " * 60 + "\n\n" + "Two lifts. " * 20, "bridge": "One bridge.", "lift": "Two lifts."}
    graph, tree = memories(said)
    index = MemoryIndex(Encoder(HashEmbeddings()))

    bridge, lift, own = index.cosines(graph, tree, {"long": ["bridge", "lift", "long"]})["long"]

    assert own == pytest.approx(1)
    assert bridge > lift > 0
    graph["nodes"]["blank"] = {**graph["nodes"]["lift"], "id": "blank", "summary": "", "anchors": []}
    assert index.cosines(graph, tree, {"long": ["blank"]}) == {"long": (0.0,)}


def test_an_index_that_lived_through_changes_compares_as_a_new_one() -> None:
    said = {"a": "Ann signs the lease in Porto.", "b": "Bob repairs the roof in Porto.", "c": "The lease is signed."}
    graph, tree = memories(said)
    graph["nodes"]["a"] |= {
        "anchors": [{"entry": id, "start": 0, "end": len(said[id])} for id in "ab"],
        "summary": "A tenancy for Ann.",
    }
    index = MemoryIndex(Encoder(HashEmbeddings()))
    before = index.cosines(graph, tree, {"a": ["c"]})

    graph["nodes"]["a"] = {**graph["nodes"]["a"], "keywords": ["tenancy"]}
    renamed = index.cosines(graph, tree, {"a": ["c"]})
    left: InteractionTree = {"entries": {id: tree["entries"][id] for id in "ac"}}
    forgotten = index.cosines(graph, left, {"a": ["c"]})

    assert renamed == MemoryIndex(Encoder(HashEmbeddings())).cosines(graph, tree, {"a": ["c"]}) != before
    assert forgotten == MemoryIndex(Encoder(HashEmbeddings())).cosines(graph, left, {"a": ["c"]}) != renamed
    assert not any("roof" in text_of(left, anchor) for _, _, anchor in index.search_passages("roof", 5, Settings()))


def test_a_memory_without_raw_text_is_found_by_whatever_it_says() -> None:
    graph, tree = memories({"🎉": "a", "...": "b"})
    for id in graph["nodes"]:
        graph["nodes"][id] |= {"anchors": [], "summary": id}

    assert [embedded_texts(node, tree) for node in graph["nodes"].values()] == [["🎉"], ["..."]]


def test_memories_without_vectors_are_looked_at_once_for_all_that_is_compared() -> None:
    class Down(HashEmbeddings):
        asked = 0

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            Down.asked += 1
            raise OSError

    graph, tree = memories({f"n{n}": f"Lift {n} carries {n} people." for n in range(30)})
    ids = list(graph["nodes"])

    found = MemoryIndex(Encoder(Down())).cosines(graph, tree, {id: ids for id in ids})

    assert set(found[ids[0]]) == {0.0}
    assert Down.asked == 1


def passage_index(texts: list[str], entry: str = "e") -> PassageIndex:
    """Passages that follow each other in one entry (or, with `e{}`, one in each), found by keywords alone."""
    index = PassageIndex()
    for n, text in enumerate(texts):
        index.put(f"p{n}", text, tokenize(text), {"entry": entry.format(n), "start": n, "end": n + 1}, None)
    return index


def ranked(index: PassageIndex, query: str) -> list[Hit]:
    look = index.look(query, None, alpha=1)
    return look.ranked({*look.first(10)})


def found(index: PassageIndex, query: str) -> dict[str, float]:
    return {hit.id: hit.score for hit in ranked(index, query)}


def test_a_turn_borrows_from_the_turn_it_answers() -> None:
    turns = [
        "Ann: What instrument does your daughter play?",
        "Bob: She used to play chess.",
        "Ann: Some play football.",
    ]
    scores = found(passage_index(turns), "Which instrument does the daughter play?")

    assert scores["p1"] > scores["p2"]


def test_paragraphs_of_a_document_do_not_borrow_from_each_other() -> None:
    texts = ["What instrument the daughter plays is asked.", "They play chess.", "They play chess."]
    scores = found(passage_index(texts), "Which instrument does the daughter play?")

    assert scores["p1"] == pytest.approx(scores["p2"])


@pytest.mark.parametrize("form", ["{0}\nIt rises in the hills.", "# {0}\n\nIt rises in the hills.", "{0} rises there."])
def test_a_name_in_the_first_hits_leads_on_to_what_is_about_it(form: str) -> None:
    river = form.format("River Wenlow")
    texts = ["The Old Bridge crosses the River Wenlow.", "The hills are high.", river, "Rises of tax."]
    index = passage_index(texts, "e{}")

    assert list(found(index, "What flows under the old bridge?"))[1] == "p2"


def test_a_title_with_a_colon_above_what_it_is_of_is_no_turn() -> None:
    texts = ["The Old Bridge belongs to Wenlow The Long River", "Who owns a bridge belongs to a club."]
    texts.append("Wenlow: The Long River\nWenlow is of old.")

    assert list(found(passage_index(texts, "e{}"), "To whom does the old bridge belong?"))[1] == "p2"
    assert kind_of("Ann: Is the bridge old?\nIt looks old.") == "turn"


def test_a_hit_about_what_is_asked_leads_further_than_one_that_is_only_alike() -> None:
    films = [
        "Silent Harbour\nBy Ida Holt.",
        "Harbours\nWhere was the silent director of a silent harbour born, by Rex Mole.",
    ]
    directors = ["Rex Mole\nBorn in Oslo.", "Ida Holt\nBorn in Rome."]
    order = [*found(passage_index([*films, *directors], "e{}"), "Where was the director of Silent Harbour born?")]

    assert order.index("p3") < order.index("p2")


def test_a_name_that_the_question_holds_leads_nowhere() -> None:
    texts = ["The Old Bridge crosses the River Wenlow.", "River Wenlow\nIt rises in the hills."]

    hits = ranked(passage_index(texts), "Does the old bridge cross the River Wenlow?")

    assert [round(hit.score - hit.keyword, 9) for hit in hits if hit.id == "p1"] == [ASKED]


def test_the_more_passages_are_about_a_name_the_less_it_gives() -> None:
    bridge = "The Old Bridge crosses the River Wenlow."
    one = found(passage_index([bridge, "River Wenlow\nIt is long."]), "old bridge")
    many = found(passage_index([bridge, *(f"River Wenlow\nIt is long {n}." for n in range(9))]), "old bridge")

    assert one["p1"] > 1.5 * many["p1"] > 0


def test_parts_of_one_document_without_titles_of_their_own_do_not_lead_to_each_other() -> None:
    bridge, river = "Here the old bridge crosses the River Wenlow.", "Here the River Wenlow rises."
    index = PassageIndex()
    for id, text, entry in (("a", bridge, "e"), ("b", river, "e"), ("c", river, "f")):
        index.put(id, text, tokenize(text), {"entry": entry, "start": 0, "end": 1}, None)

    scores = found(index, "old bridge")

    assert scores["c"] > scores.get("b", 0.0)


def test_a_title_counts_twice_among_the_keywords() -> None:
    scores = found(
        passage_index(["Harbour\nOf ships and men.", "Ships and men of the\nharbour and no more."]), "harbour"
    )

    assert scores["p0"] > scores["p1"]


PIECES = [
    "Ann: Where is the bridge?",
    "Bob: At the river.",
    "Old Bridge\nIt crosses the River Wenlow.",
    "River Wenlow\nLong.",
]
steps = st.lists(st.tuples(st.integers(0, 5), st.none() | st.sampled_from(PIECES)), max_size=20)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_any_history_of_passages_ranks_as_a_fresh_index(history: list[tuple[int, str | None]]) -> None:
    index, held = PassageIndex(), dict[int, str]()
    for place, text in history:
        if text is None:
            index.remove(f"p{place}")
            held.pop(place, None)
        else:
            index.put(f"p{place}", text, tokenize(text), {"entry": "e", "start": place, "end": place + 1}, None)
            held[place] = text
    fresh = PassageIndex()
    for place, text in sorted(held.items(), reverse=True):
        fresh.put(f"p{place}", text, tokenize(text), {"entry": "e", "start": place, "end": place + 1}, None)

    for query in ("Where is the bridge?", "What crosses the river?"):
        assert ranked(index, query) == ranked(fresh, query)


def test_a_memory_with_several_good_passages_comes_before_one_with_one() -> None:
    texts = {
        "a": "The tower opened in May.\n\nMuch later it rained.",
        "b": "The tower opened in May.\n\nThe tower opened in the morning.",
    }

    assert [node_id for node_id, _ in index_of(texts).search_memories("When was the tower opened?", 5, Settings())][
        0
    ] == "b"


@pytest.mark.parametrize(
    ("about", "other", "said", "question"),
    [
        (
            "The Elm Street library was built by Ana Ruiz.",
            "The town hall is old.",
            "It opens at nine.",
            "Elm Street library opens?",
        ),
        ("榆树街图书馆由安娜建造。", "市政厅很旧。", "九点开门。", "榆树街图书馆几点开门？"),
    ],
)
def test_of_two_passages_alike_the_one_whose_memory_is_about_what_is_asked_comes_first(
    about: str, other: str, said: str, question: str
) -> None:
    index = index_of({"a": f"{other}\n\n{said}", "b": f"{about}\n\n{said}"})

    passages = [anchor["entry"] for _, _, anchor in index.search_passages(question, 9, Settings()) if anchor["start"]]

    assert passages == ["b", "a"]


def test_a_passage_that_says_nothing_of_the_question_is_found_in_a_memory_that_does() -> None:
    index = index_of({"a": "The ferry to Orm leaves daily.\n\nAt noon.", "b": "Nobody sings."})

    starts = [
        anchor["start"]
        for _, owner, anchor in index.search_passages("ferry to Orm", 9, Settings(alpha=1))
        if owner == "a"
    ]

    assert len(starts) == 2


def test_a_passage_further_down_a_text_is_found_by_the_title_the_text_opens_with() -> None:
    texts = {
        "a": "# Harbour rules\n\nShips wait.\n\nA pilot goes first.",
        "b": "# Kitchen rules\n\nPans wait.\n\nA pilot goes first.",
    }

    best = [
        owner for _, owner, anchor in index_of(texts).search_passages("harbour pilot", 9, Settings()) if anchor["start"]
    ]

    assert best[0] == "a"


def test_memories_compared_in_turn_meet_each_other_once() -> None:
    texts = {name: f"The tower of {name} is tall." for name in ("Alba", "Brno", "Cork", "Dole")}
    graph, tree = memories(texts)
    fresh = ["Brno", "Cork", "Dole"]
    index = MemoryIndex(Encoder(HashEmbeddings()))
    excluded = [(node_id, {*fresh[position:]}) for position, node_id in enumerate(fresh)]

    in_turn = index.similar(graph, tree, [(node_id, set[str]()) for node_id in fresh], Settings(), in_turn=True)

    assert in_turn == index.similar(graph, tree, excluded, Settings())
    assert [len(hits) for hits in in_turn] == [1, 2, 3]


def test_a_memory_is_found_by_the_keywords_of_its_own_text_and_of_its_passages() -> None:
    texts = {"a": "A dull beginning of forty letters or more, then the zeppelin.", "b": "Another dull beginning."}
    graph, tree = memories(texts)
    index = index_of(texts)
    graph["nodes"]["q"] = {**graph["nodes"]["b"], "id": "q", "summary": "zeppelin", "anchors": []}

    best = index.similar(graph, tree, [("q", set[str]())], Settings(alpha=1))[0][0]

    assert (best.id, best.keyword) == ("a", 1.0)
