"""A question and the likeliest texts are read together, by the default model and by no other."""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.engines.extractive.answering.helping import MessageReading
from agentic_memory_bank.engines.extractive.answering.likeness import Likeness
from agentic_memory_bank.engines.extractive.answering.quoting import Passage, quotes
from agentic_memory_bank.engines.extractive.answering.second_reading import UNREAD, read_again
from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings import answering
from agentic_memory_bank.tools.embeddings.answering import glossed
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings, local_embeddings

ENCODER = Encoder(local_embeddings())


class Judge:
    """Tells what it is told to, and what it was asked."""

    def __init__(self, *told: float) -> None:
        self.told, self.asked = told, list[tuple[str, list[str]]]()

    def __call__(self, question: str, texts: Sequence[str]) -> Sequence[float] | None:
        self.asked.append((question, [*texts]))
        return self.told[: len(texts)] or None


@pytest.mark.parametrize(
    ("question", "states", "does_not"),
    [
        ("What do I owe the landlord each month?", "Rent is 950, due on the 1st", "My landlord is called Mr Hobbs"),
        ("Is there anything I can't eat?", "peanuts put me in hospital once", "I eat at the Lotus on Mondays"),
        ("Who looks after the children?", "my mother-in-law has Tom and Lea until six", "The children like football"),
        ("我妻子是哪一天去世的？", "老伴前年走了，忌日是十一月二十二日", "我妻子喜欢吃鱼"),
        ("房租每个月多少钱？", "乙方每月支付租金三千元", "租客每个月打扫一次卫生"),
    ],
)
def test_what_states_the_answer_in_other_words_is_likelier_than_what_shares_words(
    question: str, states: str, does_not: str
) -> None:
    told = ENCODER.answers(question, [does_not, states])

    assert told is not None
    assert told[1] > told[0] + 1


def test_what_is_read_beside_a_text_changes_nothing() -> None:
    texts = [f"The {thing} costs {number} euros. " * number for number, thing in enumerate(["bike", "boat"] * 12, 1)]
    together, alone = (
        ENCODER.answers("How much is it?", texts),
        [ENCODER.answers("How much is it?", [t]) for t in texts],
    )

    assert together is not None
    assert np.allclose(together, [one[0] for one in alone if one], atol=1e-3)


@pytest.mark.parametrize("question", ["", "?" * 5_000, "\ud800", "what " * 5_000])
def test_anything_can_be_asked_of_anything(question: str) -> None:
    told = ENCODER.answers(question, ["", "\udfff", "word " * 5_000, "x" * 50_000])

    assert told is not None
    assert np.isfinite(told).all()


def test_of_nothing_nothing_is_told() -> None:
    assert ENCODER.answers("Who?", []) == []


def test_other_embeddings_tell_nothing() -> None:
    assert Encoder(HashEmbeddings()).answers("Who?", ["She."]) is None


def test_words_have_to_do_where_the_model_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "FILE", answering.FILE.with_name("gone.npz"))

    assert Encoder(LocalEmbeddings()).answers("Who?", ["She."]) is None


def test_only_the_texts_that_words_place_first_are_read() -> None:
    judge = Judge(4.0, -20.0)
    read = read_again(judge, "Who?", ["a", "b", "c"], np.array([0.1, 0.9, 0.3]), 2)

    assert judge.asked == [("Who?", ["b", "c"])]
    assert read is not None
    assert read.tolist() == [UNREAD / 5, 4 / 5, -8 / 5]


def test_a_message_that_words_alone_tell_to_need_no_memory_is_not_read() -> None:
    judge, told = Judge(9.0), Likeness("I live in Ghent", "", 0.05, 0.0, 0.0, 1.0, False, False, False)

    assert not MessageReading("Write a haiku about the moon.", [told], judge).helps
    assert judge.asked == []


@pytest.mark.parametrize(("told", "helps"), [(6.0, True), (-8.0, False)])
def test_reading_decides_where_words_leave_it_open(told: float, helps: bool) -> None:
    found = Likeness("we settled on the one in Rue Haute", "", 0.2, 0.0, 0.0, 1.0, False, False, False)
    judge = Judge(told)

    assert MessageReading("Which flat did we take?", [found], judge).helps is helps
    assert judge.asked == [("Which flat did we take?", ["we settled on the one in Rue Haute"])]


def test_a_sentence_is_read_behind_its_place() -> None:
    judge = Judge(5.0, 5.0)
    quotes("Who chairs the board?", [Passage.of("p", "# Trust\n\nOkafor chairs the board.", 1.0)], judge=judge)
    ((question, texts),) = judge.asked

    assert question == "Who chairs the board?"
    assert texts[0] == "Trust: Okafor chairs the board."


def test_without_a_judge_words_decide_as_they_did() -> None:
    passages = [Passage.of("p", "Okafor chairs the board. The board meets in May.", 1.0)]

    assert quotes("Who chairs the board?", passages, judge=Judge()) == quotes("Who chairs the board?", passages)


def test_chinese_is_read_in_english_words() -> None:
    assert glossed("押金多少钱？") == "deposit how much cost ?"


@pytest.mark.parametrize(
    ("said", "meant"), [("没电梯", "not elevator"), ("四十二", "forty two"), ("最好的朋友", "best friend")]
)
def test_chinese_is_cut_so_that_as_little_as_can_be_is_left_without_a_gloss(said: str, meant: str) -> None:
    assert glossed(said) == meant


def test_what_no_glossary_has_stays() -> None:
    assert glossed("Anna 买了 iPhone 15") == "Anna  bought  iPhone 15"


@pytest.mark.parametrize("message", ["😀", "👍👍", "。", "？？？", "... !"])
def test_what_has_no_word_asks_for_no_memory(message: str) -> None:
    judge = Judge(9.0)
    found = Likeness("我对花生过敏", "", 0.2, 0.0, 0.0, 1.0, False, False, False)

    assert not MessageReading(message, [found], judge).helps
    assert judge.asked == []


def test_of_a_long_message_what_asks_is_read() -> None:
    judge = Judge(4.0)
    message = "Long day, the bus was late again. I had soup with Jo. What do I owe the landlord each month?"
    read_again(judge, message, ["Rent is 950"], np.array([0.5]), 1)

    assert judge.asked == [("What do I owe the landlord each month?", ["Rent is 950"])]


def test_of_a_question_that_is_too_long_the_end_is_read() -> None:
    asked = "What do I owe the landlord each month?"
    texts = ["Rent is 950, due on the 1st", "My landlord is called Mr Hobbs"]
    told = ENCODER.answers(f"{'I was thinking of soup and Jo and the bus and then, well, ' * 40}{asked}", texts)

    assert told is not None
    assert told[0] > told[1]


@pytest.mark.parametrize("glosses", [None, "no tab\n"])
def test_without_the_glossary_words_have_to_do(
    glosses: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if glosses:
        (tmp_path / "glosses.txt").write_text(glosses)
    monkeypatch.setattr(answering, "_GLOSSES", tmp_path / "glosses.txt")
    answering._glosses.cache_clear()
    encoder = Encoder(LocalEmbeddings())

    assert [encoder.answers("谁？", ["她。"]) for _ in range(2)] == [None, None]
    assert [one.message for one in caplog.records if one.levelname == "WARNING"] == [caplog.records[-1].message]
    answering._glosses.cache_clear()


def test_changes_that_are_no_numbers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with np.load(answering.FILE) as changes:
        damaged = {name: changes[name] for name in changes.files}
    damaged["head"] = np.full_like(damaged["head"], np.nan)
    np.savez(tmp_path / "answering.npz", **damaged)
    monkeypatch.setattr(answering, "FILE", tmp_path / "answering.npz")

    assert Encoder(LocalEmbeddings()).answers("Who?", ["She."]) is None


def test_the_same_text_is_read_once_beside_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, local = Encoder(local_embeddings()), local_embeddings()
    first = encoder.answers("Who chairs the board?", ["Okafor chairs it.", "It meets in May."])
    monkeypatch.setattr(local, "answers", lambda *_: pytest.fail("it was read before"))

    assert encoder.answers("Who chairs the board?", ["It meets in May.", "Okafor chairs it."]) == (first or [])[::-1]


def test_recalling_waits_for_no_reading_that_takes_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def read(*_: object) -> None:
        begun.set()
        ended.wait()

    with Memories(store=InMemoryStore(), settings=Settings(recall_timeout=0.5)) as memories:
        memories.store("My sister Ana lives in Oslo.", user="u")
        memories.recall("Where does Ana live?", user="u")  # loads the models
        monkeypatch.setattr(Encoder, "answers", read)
        found = memories.recall("Where does my sister Ana live?", user="u")

    assert begun.is_set()
    assert not ended.is_set()
    assert [one["text"] for one in found["memories"]]
    ended.set()
