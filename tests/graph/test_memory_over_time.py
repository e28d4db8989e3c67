"""What people ask of the past and of the present is answered by when it was told: before the move, and after it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.tools.embeddings.models import local_embeddings


class Told:
    """A user's memories, a conversation a month."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 10, tzinfo=UTC)
        self.memories = Memories(InMemoryStore(), embeddings=local_embeddings(), clock=lambda: self.now)

    def tell(self, words: str) -> None:
        self.memories.remember(words, user="u", conversation_id=f"c{self.now:%m}", end=True)
        self.now += timedelta(days=31)

    def found(self, question: str) -> str:
        return " | ".join(memory["text"] for memory in self.memories.recall(question, user="u").get("memories", []))


@pytest.fixture
def told() -> Iterator[Told]:
    one = Told()
    with one.memories:
        yield one


@pytest.mark.parametrize(
    ("before", "after", "asked", "then", "now"),
    [
        (
            "I live in Leeds with my brother.",
            "We moved to Hull last weekend, finally.",
            "where did I live before the move?",
            "Leeds",
            "Hull",
        ),
        ("我跟弟弟住在无锡。", "上周末终于搬到常州了。", "搬家之前我住在哪里？", "无锡", "常州"),
    ],
)
def test_before_the_move_is_what_was_true_until_it(
    told: Told, before: str, after: str, asked: str, then: str, now: str
) -> None:
    told.tell(before)
    told.tell(after)
    assert then in told.found(asked)
    assert now not in told.found(asked)


@pytest.mark.parametrize(
    ("before", "after", "asked", "now"),
    [
        ("我住在厦门", "我搬到福州了", "我住哪？", "福州"),
        ("我住在厦门", "上周末终于搬到泉州了。", "我现在住在哪里？", "泉州"),
        ("I live in Leeds with my brother.", "We moved to Hull last weekend.", "where do I live?", "Hull"),
    ],
)
def test_where_somebody_lives_is_the_first_thing_shown_once_they_moved(
    told: Told, before: str, after: str, asked: str, now: str
) -> None:
    told.tell(before)
    told.tell(after)
    assert now in told.found(asked).partition(" | ")[0]


def test_where_the_sister_lives_is_not_where_the_user_lives(told: Told) -> None:
    told.tell("我搬到福州了")
    assert told.found("我妹住哪？") == ""


ESSAY = (
    "I'm writing an essay on otters for Professor Lund's course.",
    "My essay had 1,200 words on 3 May, and I was pleased with it.",
    "Greg read my essay on 10 May, he wants two more sources in it.",
    "I have to hand in my essay on 20 June at the faculty office.",
    "I'm kinda worried about the essay, I worked 3 hours on it on Sunday.",
)
BUDGET = (
    "我在准备六月的婚礼，预算二十万。",
    "婚礼的酒店五月三号看过了，一桌四千。",
    "婚礼的摄影师姓高，五月十号谈的，收八千。",
    "婚礼请帖六月一号寄，一共一百二十张。",
)


@pytest.mark.parametrize(
    ("said", "news"),
    [
        (
            ESSAY,
            "I rewrote the opening of my essay on 28 May instead of the ending, and now I'm wondering whether 4 pages "
            "of it are enough",
        ),
        (ESSAY, "my essay group now meets on 14 May, and I'm considering another subject"),
        (BUDGET, "婚礼的司仪现在定了，六月二号碰面，收三千"),
    ],
)
def test_in_a_long_talk_about_one_thing_news_of_it_replaces_none_of_what_was_told(
    told: Told, said: tuple[str, ...], news: str
) -> None:
    for words in (*said, news):
        told.tell(words)

    listed = told.memories.list(user="u", replaced=True).records
    assert [one["text"] for one in listed if one["replaced_by"] and one["type"] != "verbatim"] == []


def test_a_change_that_is_told_in_a_long_talk_still_replaces_what_it_names(told: Told) -> None:
    for words in (*ESSAY, "the deadline moved, I hand in my essay at the faculty office on 27 June"):
        told.tell(words)

    shown = told.found("when do I hand in my essay at the faculty office?")
    assert "27 June" in shown
    assert "20 June" not in shown


@pytest.mark.parametrize(
    ("wish", "facts", "asked", "other"),
    [
        (
            "Always add the carbon footprint when I ask about travel options.",
            (
                "I take the train to Leeds on Mondays.",
                "The flight to Oslo costs 120 euros.",
                "We plan to travel to Bergen in June.",
                "I get seasick on ferries to Bergen.",
                "My sister travels to Bergen by bus.",
                "The night train to Bergen leaves at 22:10.",
            ),
            "What is the best way to travel to Bergen in June?",
            "What should I cook?",
        ),
        ("我问天气的时候要告诉我湿度。", ("我住在厦门。", "我周六去爬山。"), "周六爬山的天气怎么样？", "我住在哪里？"),
    ],
)
def test_a_wish_is_shown_with_a_message_about_what_it_is_for(
    told: Told, wish: str, facts: tuple[str, ...], asked: str, other: str
) -> None:
    for words in (wish, *facts):
        told.tell(words)

    assert wish.rstrip("。.") in told.found(asked)
    assert wish.rstrip("。.") not in told.found(other)
