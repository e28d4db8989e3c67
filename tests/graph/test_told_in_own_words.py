"""A wish to forget in somebody's own idiom is heard by the learnt head, asked about, and silent where nothing fits."""

from collections.abc import Iterator

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.extractive.forgetting import sounds_like_a_wish, told_to_forget
from agentic_memory_bank.engines.extractive.remembering.wish_head import FILE
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings, local_embeddings

WISHES = [
    ("I owe the bank four thousand on my overdraft.", "I'd rather my overdraft wasn't sitting in that head of yours"),
    ("I'm in the middle of a divorce from Karl.", "you can stop carrying my divorce around with you"),
    ("We bought a caravan in Deal.", "let's have no more of the caravan, you can put that down now"),
    ("My cousin Gregor owes me money.", "Whatever you've got on Gregor, get shot of it, would you"),
    ("I went through a bankruptcy in 2019.", "I'd feel better with the bankruptcy out of your reach"),
    ("我炒股赔了二十万。", "我炒股赔钱的事，你当耳旁风就行"),
    ("我痛风犯了，尿酸五百二。", "我痛风那阵子的数据扔了吧"),
]
OTHERS = [
    "Give me a dump of the tickets about refunds.",
    "I let go of the rope",
    "I put the caravan up for sale",
    "I got shot of the old fridge",
    "the plumber took the old boiler away",
    "please never delete what I told you about my meds",
    "you can keep what I said about Gregor",
    "Should I leave the gap out of my CV?",
    "Yeah, that sounds like a good plan, I'll talk to Ana about it",
    "My cousin Gregor died on Monday",
    "我把旧冰箱扔了",
    "我过敏的事你记着点",
    "这事儿你知道就行，别跟孩子说",
    "胃镜结果出来了，没大事",
]


@pytest.fixture(scope="module")
def model() -> LocalEmbeddings:
    return local_embeddings()


@pytest.fixture
def memories(model: Embeddings) -> Iterator[Memories]:
    with Memories(InMemoryStore(), embeddings=model, settings={"recall_timeout": 60.0}) as made:
        yield made


def say(memories: Memories, words: str) -> str:
    output = memories.talk(words, user="ana", conversation_id="now")
    assert memories.flush(30)
    return str(output["messages"][-1].text)


def texts(memories: Memories) -> list[str]:
    return [record["text"] for record in memories.list(user="ana", limit=100, replaced=True).records]


@pytest.mark.parametrize(("known", "said"), WISHES)
def test_what_is_wished_in_own_words_is_asked_about_and_goes_after_a_yes(
    memories: Memories, known: str, said: str
) -> None:
    memories.remember(known, user="ana", conversation_id="before", end=True)
    memories.remember("My plate is RX12 KLM.", user="ana", conversation_id="other", end=True)
    assert told_to_forget(said) is None

    answer = say(memories, said)
    before = texts(memories)
    say(memories, "Yes." if said.isascii() else "是的。")

    assert answer.endswith(("?", "？"))
    assert any(known[:-1] in text for text in before)
    assert not any(known[:-1] in text or said in text for text in texts(memories))
    assert any("RX12" in text for text in texts(memories))


@pytest.mark.parametrize("reply", ["No, leave it.", "My plate is RX12 KLM."])
@pytest.mark.parametrize(("known", "said"), [WISHES[0], WISHES[3], WISHES[-1]])
def test_what_is_no_wish_after_all_is_remembered_as_it_was_said(
    model: LocalEmbeddings, known: str, said: str, reply: str
) -> None:
    store = InMemoryStore()

    def opened() -> Memories:
        return Memories(store, embeddings=model, settings={"recall_timeout": 60.0})

    with opened() as memories:
        memories.remember(known, user="ana", conversation_id="before", end=True)
        assert say(memories, said).endswith(("?", "？"))
    with opened() as memories:
        say(memories, reply)
        memories.remember([], user="ana", conversation_id="now", end=True)

        assert any(known[:-1] in text for text in texts(memories))
        assert any(said in text for text in texts(memories))
        assert not any("erase" in text or "删除" in text for text in texts(memories))


def test_a_wish_in_plain_words_is_kept_nowhere_whatever_is_answered(memories: Memories) -> None:
    debts = [f"My sister owes {whom} money." for whom in ("the bank", "Tom", "our aunt", "her boss")]
    memories.remember(debts, user="ana", conversation_id="before", end=True)

    assert say(memories, "Please forget my sister's debts").endswith("?")
    say(memories, "No, leave it.")
    memories.remember([], user="ana", conversation_id="now", end=True)

    assert sum("sister" in text for text in texts(memories)) >= len(debts)
    assert not any("debts" in text for text in texts(memories))


@pytest.mark.parametrize("reply", ["Yes.", "No."])
def test_a_conversation_handed_over_again_keeps_what_may_have_been_a_wish_once_or_not_at_all(
    memories: Memories, reply: str
) -> None:
    known, wish = WISHES[0]
    memories.remember(known, user="ana", conversation_id="before", end=True)
    said: list[dict[str, str]] = [{"role": "user", "content": wish}]
    for words in (reply, "I live in Oslo now.", "What else is new?"):
        output = memories.talk(said, user="ana", conversation_id="now")
        assert memories.flush(30)
        said += [{"role": "assistant", "content": output["messages"][-1].text}, {"role": "user", "content": words}]
    memories.talk(said, user="ana", conversation_id="now")
    memories.remember([], user="ana", conversation_id="now", end=True)

    facts = memories.list(user="ana", limit=100, replaced=True).records
    assert sum(wish in one["text"] for one in facts if one["type"] != "verbatim") == (reply == "No.")
    assert not any("erase" in text.casefold() for text in texts(memories))


@pytest.mark.parametrize("said", [said for _, said in WISHES[:3] + WISHES[-1:]])
def test_where_nothing_that_is_known_fits_it_is_a_message_like_any_other(memories: Memories, said: str) -> None:
    memories.remember("My plate is RX12 KLM.", user="ana", conversation_id="other", end=True)

    answer = say(memories, said)

    assert "erase" not in answer
    assert "删" not in answer
    assert any(said in text for text in texts(memories))


def test_what_is_told_beside_it_is_kept(memories: Memories) -> None:
    memories.remember("I'm in the middle of a divorce from Karl.", user="ana", conversation_id="before", end=True)

    answer = say(memories, "My new plate is RX12 KLM. You can stop carrying my divorce around with you.")

    assert answer.endswith("?")
    assert any("RX12 KLM" in text for text in texts(memories))
    say(memories, "Yes")
    assert not any("divorce" in text for text in texts(memories))
    assert any("RX12 KLM" in text for text in texts(memories))


@pytest.mark.parametrize("said", OTHERS)
def test_what_is_no_wish_is_not_heard(model: LocalEmbeddings, said: str) -> None:
    assert not sounds_like_a_wish(said, lambda text: model.encode([text])[0])


def test_english_is_not_judged_without_the_model_it_was_fitted_with() -> None:
    with Memories(InMemoryStore(), embeddings=HashEmbeddings(64), settings={"recall_timeout": 60.0}) as memories:
        known, said = WISHES[1]
        memories.remember(known, user="ana", conversation_id="before", end=True)

        assert "erase" not in say(memories, said)


def test_most_messages_are_judged_by_their_words_alone() -> None:
    asked: list[str] = []

    for said in ("What is the weather?", "I moved to Lyon in May.", "Remind me to call Eva", "My dog is called Pim"):
        assert not sounds_like_a_wish(said, asked.append)

    assert asked == []


def test_the_head_is_small() -> None:
    assert FILE.stat().st_size < 200_000
