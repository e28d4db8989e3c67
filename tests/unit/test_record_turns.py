"""A memory is found by what was said beside it, and by what it stands for; never by what is hidden."""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.state.record_events import create, fold_record
from agentic_memory_bank.state.records import MemorySource
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.turns import RecordTurns


@pytest.fixture
def store() -> RecordStore:
    times = iter(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second) for second in range(10_000))
    return RecordStore(InMemoryStore(), Encoder(HashEmbeddings()), lambda: next(times))


def _said(turn: str, conversation: str = "c") -> MemorySource:
    return {"conversation": conversation, "turns": [turn], "quotes": []}


def _texts(store: RecordStore, query: str, **asked: Any) -> list[str]:
    return [found.record["text"] for found in store.search("ana", query, **asked)]


def test_an_answer_is_found_by_the_question_before_it(store: RecordStore) -> None:
    question = {"text": "Which harbour does the ferry leave from?", "source": _said("t1")}
    answer = {"text": "Number nine, at dawn.", "source": _said("t2")}
    others = [{"text": f"Something else entirely {n}.", "source": _said(f"o{n}", f"other {n}")} for n in range(9)]
    store.store_many("ana", [*others, question, answer])  # type: ignore[list-item]
    assert _texts(store, "the harbour of the ferry")[:2] == [question["text"], answer["text"]]


def test_among_people_the_turn_beyond_counts_too_and_an_assistant_brings_nothing_that_far(store: RecordStore) -> None:
    talk = ["Which harbour does the ferry leave from?", "Let me look.", "Number nine, at dawn."]
    for user, speakers in (("people", ("Ines", "Otso")), ("assisted", ("user", "assistant"))):
        for number, said in enumerate(talk):
            text = f"{speakers[number % 2]} (1 May 2026): {said}"
            store.store(user, text, source=_said(f"t{number}"))
    beyond = {
        user: next(found.score for found in store.search(user, "ferry") if "dawn" in found.record["text"])
        for user in ("people", "assisted")
    }
    assert beyond["people"] > beyond["assisted"] + 0.1


def test_what_somebody_said_is_found_before_what_was_said_of_them(store: RecordStore) -> None:
    store.store("ana", "Otso (1 May 2026): A parcel came for Ines, Ines was out.", source=_said("t1", "one"))
    store.store("ana", "Ines (1 May 2026): The parcel was for my brother.", source=_said("t2", "two"))
    assert _texts(store, "parcel for Ines", limit=1) == ["Ines (1 May 2026): The parcel was for my brother."]


def test_what_an_assistant_said_stands_behind_what_its_user_said_unless_it_is_asked_for(store: RecordStore) -> None:
    user = {"text": "user (1 May 2026): I want a tent for two.", "source": _said("t1")}
    answer = "assistant (1 May 2026): A tent for two weighs two kilos, and a tent for three weighs three."
    store.store_many("ana", [user, {"text": answer, "source": _said("t2")}])  # type: ignore[list-item]
    assert _texts(store, "tent for two or three weighs kilos")[0] == user["text"]
    assert _texts(store, "what did you say a tent for two or three weighs in kilos?")[0] == answer


def test_who_stands_beside_another_conversation_gains_nothing(store: RecordStore) -> None:
    question = {"text": "Which harbour does the ferry leave from?", "source": _said("t1")}
    answer = {"text": "Number nine, at dawn.", "source": _said("t2", "another")}
    store.store_many("ana", [question, answer])  # type: ignore[list-item]
    scores = {found.record["text"]: found.score for found in store.search("ana", "the harbour of the ferry")}
    assert scores["Number nine, at dawn."] < 0.4 * scores[question["text"]]


def test_what_was_absorbed_is_found_as_the_memory_that_stands_for_it(store: RecordStore) -> None:
    raw = store.store("ana", "The zeppelin was late, and we ate dumplings.", source=_said("t1")).record
    drawn = store.store("ana", "A meal was had.", source=_said("t1")).record
    for number in range(9):
        store.store("ana", f"Something else entirely {number}.")
    store.mark_consolidated("ana", [raw["id"]], drawn["id"])
    assert _texts(store, "late zeppelin, dumplings", limit=1) == ["A meal was had."]
    assert raw["text"] not in _texts(store, "late zeppelin, dumplings", limit=50)
    assert _texts(store, "late zeppelin, dumplings", limit=1, replaced=True) == [raw["text"]]


def test_what_was_absorbed_brings_no_memory_that_is_not_meant(store: RecordStore) -> None:
    raw = store.store("ana", "The zeppelin was late.", type="episodic").record
    drawn = store.store("ana", "A delay.", type="semantic").record
    store.mark_consolidated("ana", [raw["id"]], drawn["id"])
    assert _texts(store, "zeppelin", types=["episodic"]) == []


def test_what_was_absorbed_by_a_superseded_memory_brings_nothing_back(store: RecordStore) -> None:
    raw = store.store("ana", "I live in Lisbon, near the zeppelin.").record
    drawn = store.store("ana", "Ana lives in Lisbon.").record
    store.mark_consolidated("ana", [raw["id"]], drawn["id"])
    store.supersede("ana", drawn["id"], "Ana lives in Porto.")
    assert _texts(store, "zeppelin Lisbon", limit=50) == ["Ana lives in Porto."]


def test_neighbours_do_not_depend_on_the_order_in_which_memories_came() -> None:
    records = []
    for number, turns in enumerate((["t1"], ["t2"], ["t3"], ["t2", "t3"], ["t4"])):
        source = {"conversation": "c", "turns": turns, "quotes": []}
        at = f"2026-01-01T00:00:0{number}.000000Z"
        event = create(f"m{number}", at, {"text": "x", "type": "semantic", "project": '""', "source": source})
        record = fold_record(f"m{number}", {f"m{number}.1": event})
        assert record is not None
        records.append(record)
    extra = records[-1]
    for order in permutations(records):
        turns = RecordTurns()
        for record in order:
            turns.add(record)
        turns.remove(extra)
        turns.add(extra)
        assert [sorted(turns.beside(record)[0]) for record in records] == [
            ["m1", "m3"],
            ["m0", "m2", "m3"],
            ["m1", "m3", "m4"],
            ["m0", "m4"],
            ["m2", "m3"],
        ]


def test_of_memories_that_went_nothing_is_left() -> None:
    source = {"conversation": "c", "turns": ["t1", "t2"], "quotes": []}
    fields = {"text": "x", "type": "semantic", "project": '""', "source": source}
    record = fold_record("m", {"m.1": create("m", "2026-01-01T00:00:00.000000Z", fields)})
    assert record is not None
    turns = RecordTurns()
    turns.add(record)
    turns.remove(record)
    assert not any(vars(turns).values())
