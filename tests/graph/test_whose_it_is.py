"""Who asks for their own is shown their own, whoever's was told of later; and of somebody else what is theirs."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.extractive.answering.whose import are_of_others
from agentic_memory_bank.engines.extractive.remembering.later import is_somebody_elses
from agentic_memory_bank.engines.extractive.remembering.succession import Told, succeeded

TURNS = [
    ("my rent is 700", "my sister's rent has gone up to 900", "what's my rent?"),
    ("my flight is at 9:40", "Mum's flight is at 11:15 now", "when is my flight?"),
    ("my birthday is on 3 May", "Ann's birthday is on 9 June", "when is my birthday?"),
    ("my car is a Golf", "my brother's car is a Tesla now", "what car do I drive?"),
    ("My dentist is Dr Okoro", "My dad's dentist is Dr Blum now", "who is my dentist?"),
    ("我房租两千六", "我妹房租涨到三千了", "我房租多少？"),
    ("我的航班是九点", "我妈的航班改到十一点了", "我的航班几点？"),
]


@pytest.mark.parametrize(("own", "theirs", "asked"), TURNS)
def test_somebody_elses_takes_the_place_of_nothing_of_the_users(own: str, theirs: str, asked: str) -> None:
    told = [
        Told(text, "user", (f"2026-03-0{day}", str(day)), frozenset((str(day),)), is_turn=False)
        for day, text in enumerate((own, theirs), 1)
    ]

    _, replaced = succeeded(asked, told, [0.9, 0.9], 0.5)

    assert is_somebody_elses(theirs, own)
    assert replaced == frozenset()
    assert are_of_others(asked, [own, theirs]) == [False, True]


@pytest.mark.parametrize(
    ("texts", "asked"),
    [
        (["my rent is 700", "my sister's rent is 900"], "what's my sister's rent?"),
        (["my sister's rent is 900", "my dog is Rex"], "what's my rent?"),
        (["my rent is 700", "my rent has gone up to 900"], "what's my rent?"),
        (["我房租两千六", "我妹房租三千"], "我妹房租多少？"),
    ],
)
def test_what_is_asked_for_or_may_answer_is_left_out_by_none(texts: list[str], asked: str) -> None:
    assert are_of_others(asked, texts) == [False, False]


@pytest.fixture
def memories() -> Iterator[Memories]:
    days = (datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=one) for one in range(1_000_000))
    with Memories(InMemoryStore(), settings={"recall_timeout": 60.0}, clock=lambda: next(days)) as made:
        yield made


@pytest.mark.parametrize(("own", "theirs", "asked"), TURNS)
def test_the_store_keeps_both_as_they_hold(memories: Memories, own: str, theirs: str, asked: str) -> None:
    for text in (own, theirs):
        memories.remember(text, user="ana", conversation_id=text[:4], end=True)

    found = memories.list(user="ana", limit=50).records
    facts = [one["text"].rpartition("): ")[2] for one in found if one["type"] != "verbatim"]

    assert sorted(facts) == sorted([own, theirs]), asked
