"""What a description shows is what is erased by its ids: what was meant, and nothing that was said beside it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.deletion import DeletionPreview


class AllAlike(HashEmbeddings):
    """To this model, all texts mean the same, as unrelated Chinese nearly does to all-MiniLM-L6-v2."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, *([0.0] * 63)] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture
def memories() -> Iterator[Memories]:
    with Memories(InMemoryStore(), embeddings=AllAlike(64)) as opened:
        yield opened


Say = Callable[[str], None]


@pytest.fixture
def say(memories: Memories) -> Say:
    def said(words: str) -> None:
        memories.remember(words, user="ana", conversation_id=str(hash(words)), end=True)

    return said


def texts(memories: Memories, **how: Any) -> list[str]:
    found = memories.list(user="ana", project=None, limit=100, replaced=True, **how).records
    return [record["text"].rpartition("): ")[2] for record in found]


def shown(memories: Memories, about: str) -> DeletionPreview:
    """What a description shows; just that is reached by its ids."""
    found = memories.preview_delete_about(about, user="ana")
    again = memories.preview_delete(found.ids, user="ana")
    assert sorted(again.ids) == sorted(found.ids)
    return found


def forgotten(memories: Memories, about: str) -> list[str]:
    """What is left once all that a description shows is erased."""
    found = shown(memories, about)
    kept = {record["id"] for record in memories.list(user="ana", project=None, limit=100, replaced=True).records}
    gone = memories.delete(found.ids, user="ana")
    assert (
        set(gone)
        == {record["id"] for record in (*found.matched, *found.derived, *(c.record for c in found.redacted))} & kept
    )
    return texts(memories)


def test_a_vector_alone_never_shows_a_memory(memories: Memories, say: Say) -> None:
    for words in ("我的预算是五千块。", "我住在上海浦东。", "我喜欢喝绿茶。", "我女儿在北京读书。", "年糕是我家的猫。"):
        say(words)

    left = forgotten(memories, "忘掉年糕")

    assert not any("年糕" in text for text in left)
    for word in ("五千块", "浦东", "绿茶", "北京"):
        assert any(word in text for text in left)


def test_what_was_said_in_the_same_turn_stays(memories: Memories, say: Say) -> None:
    say("I work as a nurse at St Mary's and I'm allergic to peanuts. My dog is called Rex.")

    left = forgotten(memories, "peanuts")

    assert not any("peanut" in text or "allergic" in text for text in left)
    assert sorted(texts(memories, types=["semantic"])) == ["I work as a nurse at St Mary's", "My dog is called Rex."]
    assert texts(memories, types=["verbatim"]) == ["I work as a nurse at St Mary's. My dog is called Rex."]


def test_the_allergy_of_a_husband_takes_nothing_else_that_names_him(memories: Memories, say: Say) -> None:
    say("My husband Tom is allergic to shellfish and works at Intel.")
    say("Tom has a boat in Lisbon.")

    left = forgotten(memories, "my husband Tom's allergy")

    assert not any("shellfish" in text for text in left)
    assert "My husband Tom works at Intel." in left
    assert any("boat" in text for text in left)


@pytest.mark.parametrize(
    ("said", "about", "gone", "left"),
    [
        ("I have two allergies, one to cats. I live in Oslo.", "my allergy", "allerg", "Oslo"),
        ("I ate a peanut bar in Rome. I live in Oslo.", "peanuts", "peanut", "Oslo"),
        ("I moved! Jonas went to Zürich so I'm in Schwabing now.", "Jonas", "Jonas", "Schwabing"),
        (
            "My photographer was going to be Julian but he double booked us. I hired Odette.",
            "Julian",
            "booked",
            "Odette",
        ),
        ("My sister Eva lives in Rome, she paints. I drive a Tesla.", "my sister", "paints", "Tesla"),
        ("I'm allergic to peanuts and work as a nurse in Oslo.", "peanuts", "peanut", "nurse in Oslo"),
        (
            "My husband Tom came by. His allergy is bad. I live in Oslo.",
            "my husband Tom's allergy",
            "allergy",
            "Tom came",
        ),
        ("我对花生过敏，在医院当护士。", "花生", "花生", "护士"),
        ("我妈下个月来住，她膝盖不好，所以卫生间得装扶手。", "我妈膝盖的毛病", "膝盖", "扶手"),
        ("阿柚下个月结婚了。我下周去成都出差。", "阿柚结婚的事", "结婚", "成都"),
    ],
)
def test_the_clause_that_is_meant_goes_in_whatever_form_its_words_come(
    memories: Memories, say: Say, said: str, about: str, gone: str, left: str
) -> None:
    say(said)

    rest = forgotten(memories, about)

    assert not any(gone in text for text in rest)
    assert any(left in text for text in rest)


def test_a_preview_says_what_goes_and_what_stays_of_a_memory(memories: Memories, say: Say) -> None:
    say("I work as a nurse at St Mary's and I'm allergic to peanuts.")

    (cut,) = shown(memories, "peanuts").redacted

    assert "".join(cut.removed).strip(" .").removeprefix("and ") == "I'm allergic to peanuts"
    assert cut.remaining.endswith("): I work as a nurse at St Mary's.")


def test_an_insight_that_rests_on_what_goes_goes_and_what_else_it_rests_on_stays(memories: Memories) -> None:
    for day, place in enumerate(("the sea and I like cats", "the harbour", "a hill"), start=3):
        memories.store(f"I ran by {place} on {day} March 2026.", user="ana")
    (insight,) = memories.reflect(user="ana")

    found = shown(memories, "harbour")
    assert [record["id"] for record in found.derived] == [insight["id"]]
    left = forgotten(memories, "harbour")

    assert sorted(left) == [
        "I ran by a hill on 5 March 2026.",
        "I ran by the sea and I like cats on 3 March 2026.",
    ]


def test_of_a_consolidation_the_parts_that_are_not_meant_are_current_again(memories: Memories) -> None:
    one = memories.store("I'm allergic to cats.", user="ana")
    two = memories.store("I'm allergic to peanuts.", user="ana")
    records = memories._records  # pyright: ignore[reportPrivateUsage]
    records.consolidate("ana", [one["id"], two["id"]], "I'm allergic to cats and to some peanuts.")

    forgotten(memories, "peanuts")

    assert [record["id"] for record in memories.list(user="ana").records if not record["replaced_by"]][-1] == one["id"]
    assert not any("peanut" in text for text in texts(memories))


def test_a_part_of_a_memory_that_says_something_else_by_now_is_refused(memories: Memories) -> None:
    kept = memories.store("I have a dog, and my sister Eva lives in Rome.", user="ana")
    ids = shown(memories, "Eva").ids
    memories.update(kept["id"], "I have a cat, and my brother Max lives in Rome.", user="ana")

    with pytest.raises(InputError, match="says something else by now"):
        memories.delete(ids, user="ana")
    assert texts(memories) == ["I have a cat, and my brother Max lives in Rome."]


def test_what_waits_to_be_drawn_loses_the_part_and_is_drawn_from_what_stays(memories: Memories) -> None:
    memories.remember("I work as a nurse in Oslo and I'm allergic to peanuts.", user="ana", conversation_id="c")

    memories.delete(shown(memories, "peanuts").ids, user="ana")
    memories.remember([], user="ana", conversation_id="c", end=True)

    assert any("nurse in Oslo" in text for text in texts(memories, types=["semantic"]))
    assert not any("peanut" in text for text in texts(memories))


def test_what_is_left_of_a_turn_is_as_old_and_is_not_remembered_again(memories: Memories) -> None:
    said = [{"role": "user", "content": "I work as a nurse in Oslo. I'm allergic to peanuts.", "id": "t"}]
    memories.remember(said, user="ana", conversation_id="c", end=True)
    (turn,) = memories.list(user="ana", types=["verbatim"], replaced=True).records

    memories.delete(shown(memories, "peanuts").ids, user="ana")
    again = memories.remember(said, user="ana", conversation_id="c", end=True)

    (left,) = memories.list(user="ana", types=["verbatim"], replaced=True).records
    assert (left["created_at"], left["sources"][0]["turns"]) == (turn["created_at"], turn["sources"][0]["turns"])
    assert again["receipt"]["turns"] == 0
    assert not any("peanut" in text for text in texts(memories))


def test_with_a_turn_that_is_erased_by_its_id_go_the_facts_that_quote_it(memories: Memories, say: Say) -> None:
    say("I work as a nurse at St Mary's and I'm allergic to peanuts.")
    say("My dog is called Rex.")
    (turn,) = [r for r in memories.list(user="ana", types=["verbatim"], replaced=True).records if "nurse" in r["text"]]

    memories.delete([turn["id"]], user="ana")

    assert {text.rstrip(".") for text in texts(memories)} == {"My dog is called Rex"}


def test_an_agent_is_shown_parts_with_their_ids_and_erases_just_these(memories: Memories, say: Say) -> None:
    say("I work as a nurse at St Mary's and I'm allergic to peanuts.")
    tools = {tool.name: tool for tool in memories.as_tools("ana")}

    told = tools["find_memories_to_delete"].invoke({"about": "peanuts"})
    ids = [part.split('"')[0] for part in told.split(' id="')[1:]]
    erased = tools["delete_memories"].invoke({"ids": ids})

    assert erased.startswith("Erased 2")
    assert any("nurse" in text for text in texts(memories))
    assert not any("peanut" in text for text in texts(memories))


def test_a_word_is_not_cut_out_of_a_longer_one(memories: Memories, say: Say) -> None:
    say("I hate Ann, and I hate Annapolis.")

    assert any("Annapolis" in text for text in forgotten(memories, "forget Ann"))


@pytest.mark.parametrize(
    ("said", "about"),
    [
        ("I'm pregnant.", "forget that I'm pregnant"),
        ("I've quit smoking.", "please forget that I've quit smoking"),
        ("I can't eat nuts.", "forget that I can't eat nuts"),
    ],
)
def test_what_somebody_says_of_themselves_is_found_in_the_words_in_which_it_was_said(
    memories: Memories, say: Say, said: str, about: str
) -> None:
    say(said)

    assert texts(memories)
    assert forgotten(memories, about) == []


@pytest.mark.parametrize("said", ["I can't eat nuts.", "I'm unable to walk since 2019.", "我不能吃花生。"])
def test_what_a_user_cannot_do_is_kept(memories: Memories, say: Say, said: str) -> None:
    say(said)

    assert any(said in text for text in texts(memories))
