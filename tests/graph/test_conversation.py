"""A conversation with memory: what is known is at hand, what was said is kept, and no answer fails of it."""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.responder import ResponderInput
from agentic_memory_bank.graph.conversation import build_conversation
from agentic_memory_bank.nodes.agent_messages import total
from agentic_memory_bank.nodes.conversation.history import earlier, new_messages
from agentic_memory_bank.nodes.deps import utc_now
from agentic_memory_bank.nodes.messages import RECALLED
from agentic_memory_bank.state.errors import InputError, ModelRefused, ModelUnavailable, NoUserError
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.testing import Reply, TickingClock, http_error
from agentic_memory_bank.tools.concurrency import circuit_breaker
from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.memories.validation import user_hash
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

REACT = {"react_model": "local:test", "retries": 1}
ASKED = "How much did I pay to worker 70 for the roof?"
UNKNOWN = "I know nothing about that"


class Full:
    """A queue that takes nothing."""

    def submit(self, key: str, job: Any) -> bool:
        return False

    def flush(self, timeout: float) -> bool:
        return True

    def close(self, timeout: float) -> None:
        """There is nothing to close."""


class Listener:
    """Answers with fixed words, and keeps what it was shown."""

    name = "listener"

    def __init__(self, says: str = "I see.") -> None:
        self.heard: list[ResponderInput] = []
        self.fails: Exception | None = None
        self.says = says

    def respond(self, situation: ResponderInput) -> AIMessage:
        self.heard.append(situation)
        if self.fails:
            raise self.fails
        return AIMessage(self.says)

    @property
    def shown(self) -> str:
        """What was shown last, as text."""
        return "\n".join(message.text for message in self.heard[-1].messages)


class Talker:
    """A conversation over a store, as an application drives it."""

    def __init__(self, store: BaseStore | None, **options: Any) -> None:
        self.stores = RecordStores(store, Encoder(HashEmbeddings()), options.get("clock", TickingClock()))
        self.background = options.pop("background", None) or WorkerPool(100)
        self.graph = build_conversation(stores=self.stores, background=self.background, **options)

    def say(self, said: Any, conversation: str = "a", *, config: Any = None, **context: Any) -> dict[str, Any]:
        """Hand messages over, and return the output."""
        messages = [{"role": "user", "content": said}] if isinstance(said, str) else said
        given = {"messages": messages, "conversation_id": conversation}
        return self.graph.invoke(given, config, context={"user": "ann", **context})

    def ask(self, said: Any, conversation: str = "a", **context: Any) -> str:
        """The answer alone."""
        return self.say(said, conversation, **context)["messages"][-1].text

    def settled(self) -> "Talker":
        """The same, when all is remembered."""
        assert self.background.flush(60)
        return self

    def texts(self, user: str = "ann") -> list[str]:
        """What is remembered of a user."""
        self.settled()
        return [record["text"] for record in self.stores.of().list(user, limit=100, replaced=True).records]

    def end(self, conversation: str = "a") -> None:
        """End a conversation."""
        from agentic_memory_bank.graph.remember import build_remember

        self.settled()
        said = {"messages": [], "conversation_id": conversation, "end": True}
        build_remember(stores=self.stores).invoke(said, context={"user": "ann"})


@pytest.fixture
def talks(tmp_path: Path) -> Iterator[Callable[..., Talker]]:
    """Begin as in a process of its own, each time over the same file."""
    made: list[Talker] = []

    def begin(**options: Any) -> Talker:
        made.append(Talker(SqliteRecordStore(tmp_path / "memories.sqlite"), **options))
        return made[-1]

    yield begin
    for one in made:
        one.background.close(5)


# --- across conversations ----------------------------------------------------------------------------------------


def test_what_was_said_in_one_conversation_is_known_in_the_next_one(talks: Callable[..., Talker]) -> None:
    first = talks()
    first.say("My car is a Tesla Model 3.")
    first.say("I have a dog called Rex.")
    first.settled()

    later = talks()

    assert "Tesla Model 3" in later.ask("What car do I drive, is my car a Tesla?", "b")
    assert "Rex" in later.ask("What is my dog called?", "c")


def test_an_answer_that_only_says_again_what_was_recalled_is_no_memory_of_its_own(talks: Callable[..., Talker]) -> None:
    day = [datetime(2026, 1, 1, tzinfo=UTC)]
    talk = talks(responder=Listener("Your dog is called Rex."), clock=lambda: day[0])
    talk.say("My dog is called Rex.")
    for number in range(3):
        day[0] += timedelta(days=1)
        talk.settled().say("What is my dog called?", f"again {number}")
    talk.settled().say("And what is my cat called?", "cat")

    answers = [text for text in talk.texts() if text.startswith("assistant")]
    assert [text.partition(": ")[2] for text in answers] == ["Your dog is called Rex."]
    kept = talk.stores.of().conversations.get("ann", "", "again 0")
    assert kept is not None
    assert [said["role"] for said in kept["recent"]] == ["user", "assistant"]


def test_figures_survive_as_they_were_written(talks: Callable[..., Talker]) -> None:
    first = talks()
    first.say("My employee number is 4821-77B, and my salary is $83,250.50.")
    first.settled()

    assert "4821-77B" in talks().ask("What is my employee number?", "b")


def test_nobody_hears_of_what_another_one_said(talks: Callable[..., Talker]) -> None:
    talk = talks()
    records = talk.stores.of()
    records.store("ann", "The PIN of my card is 4821.")
    records.store("bob", "The password of my router is hunter2.")

    assert "4821" in talk.ask("What is the PIN of my card?")
    assert "hunter2" in talk.ask("What is the password of my router?", user="bob")
    assert "4821" not in talk.ask("What is the PIN of my card?", user="bob")
    assert "hunter2" not in talk.ask("What is the password of my router?")


def test_a_project_does_not_hear_of_another_one(talks: Callable[..., Talker]) -> None:
    talk = talks()
    talk.say("The codename of the project is Falcon.", project="one")
    talk.settled()

    assert "Falcon" not in talk.ask("What is the codename of the project?", "b", project="two")
    assert "Falcon" in talk.ask("What is the codename of the project?", "b", project="one")


def test_the_city_that_somebody_moved_to_takes_the_place_of_the_old_one(talks: Callable[..., Talker]) -> None:
    talk = talks()
    talk.say("I live in Berlin.", "a")
    talk.end("a")
    talk.say("I live in Lisbon now.", "b")
    talk.end("b")

    said = talks().ask("Where do I live?", "c")

    assert "Lisbon" in said
    assert "Berlin" not in said


def test_the_later_of_two_values_holds_also_before_memories_are_drawn(talks: Callable[..., Talker]) -> None:
    talk = talks()
    talk.say("My budget is $10,000.")
    talk.say("My budget is now $15,000.")

    said = talk.ask("What is my budget?")

    assert "$15,000" in said
    assert "$10,000" not in said


@pytest.mark.parametrize(
    ("booked", "moved", "asked", "now", "before", "is_later"),
    [
        ("We booked the ferry for 12 June.", "We moved it to 19 June.", "When is the ferry?", "19 June", "12", False),
        ("We booked the ferry for 12 June.", "We moved it to 19 June.", "When is the ferry?", "19 June", "12", True),
        ("My rent is 900 a month.", "It went up to 950.", "How much is my rent?", "950", "900", False),
        ("My rent is 900 a month.", "It went up to 950.", "How much is my rent?", "950", "900", True),
    ],
)
def test_what_is_moved_without_being_named_again_is_known_by_its_new_day(
    talks: Callable[..., Talker], booked: str, moved: str, asked: str, now: str, before: str, is_later: bool
) -> None:
    talk = talks()
    talk.say(booked)
    talk.say(moved)
    if is_later:
        talk.end("a")

    said = talk.ask(asked, "b") if is_later else talk.ask(asked)

    assert now in said
    assert before not in said


def test_what_has_nothing_to_do_with_a_question_is_not_in_its_answer(talks: Callable[..., Talker]) -> None:
    talk = talks()
    talk.say("My favourite colour is blue.")
    talk.settled()

    assert talk.ask("What is the capital of France?", "b").startswith(UNKNOWN)


@pytest.mark.parametrize("said", ["had an interview at Nordlys today", "did my taxes", "was at the dentist today"])
def test_what_only_leaves_i_out_is_no_question(talks: Callable[..., Talker], said: str) -> None:
    assert talks().ask(said) == "Noted."


def test_a_chinese_conversation_is_answered_in_chinese(talks: Callable[..., Talker]) -> None:
    talk = talks()

    assert talk.ask("我住在上海。") == "好的，知道了。"
    assert "上海" in talk.ask("我住在哪里？")
    assert talk.ask("法国的首都是什么？", "b") == "这一点我不知道：无论这次还是以前的对话里都没有提到。"


# --- settings ----------------------------------------------------------------------------------------------------


class Untouchable(InMemoryStore):
    """A store that must not be asked."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise AssertionError("The store was asked.")


def test_without_memory_no_store_is_asked_and_no_user_needed() -> None:
    listener = Listener()
    talk = Talker(Untouchable(), responder=listener)

    output = talk.say("What is the name of my pet?", user=None, enable_memory=False)

    talk.settled()
    assert output["messages"][-1].text == "I see."
    assert output["recalled"]["outcome"] == output["remembered"]["outcome"] == "disabled"
    assert [message.text for message in listener.heard[0].messages] == ["What is the name of my pet?"]


def test_without_memory_a_long_conversation_is_shown_as_it_is() -> None:
    listener = Listener()
    messages = [HumanMessage(f"This is message number {number}, and it is long.") for number in range(200)]

    Talker(Untouchable(), responder=listener).say(messages, enable_memory=False)

    assert [message.text for message in listener.heard[0].messages] == [message.text for message in messages]


def test_without_memory_a_pet_is_not_known(talks: Callable[..., Talker]) -> None:
    talk = talks()
    talk.say("My pet is called Rex.")
    talk.settled()

    assert talk.ask("What is my pet called?", "b", enable_memory=False).startswith(UNKNOWN)


def test_above_a_threshold_that_nothing_reaches_nothing_is_shown(talks: Callable[..., Talker]) -> None:
    listener = Listener()
    talk = talks(responder=listener)
    talk.say("I like to walk in the woods near the lake.")
    talk.settled()

    output = talk.say("Where do I like to go?", "b", recall_threshold=0.99)

    assert output["recalled"]["shown"] == []
    assert "woods" not in listener.shown


def test_memories_and_the_instructions_of_the_application_are_both_shown(talks: Callable[..., Talker]) -> None:
    listener = Listener()
    talk = talks(responder=listener)
    talk.say("The codename of the project is Falcon.")
    talk.settled()

    talk.say([SystemMessage("Be brief."), HumanMessage("What is the codename of the project?")], "b")

    system, memory, question = listener.heard[-1].messages
    assert (system.type, system.text) == ("system", "Be brief.")
    assert (memory.type, "Falcon" in memory.text, memory.additional_kwargs[RECALLED]) == ("human", True, True)
    assert question.text == "What is the codename of the project?"


def test_nobody_named_is_an_error_and_no_message_too() -> None:
    talk = Talker(InMemoryStore())

    with pytest.raises(NoUserError):
        talk.say("Hello?", user=None)
    with pytest.raises(InputError):
        talk.say([SystemMessage("Be brief.")])


# --- what does not fail an answer --------------------------------------------------------------------------------


class Down(InMemoryStore):
    """A store that is out of reach, or hangs until it is let go."""

    def __init__(self, *, hangs: bool = False) -> None:
        super().__init__()
        self.let_go = threading.Event()
        if not hangs:
            self.let_go.set()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        self.let_go.wait(60)
        raise OSError("No route to host.")


def test_a_message_is_answered_while_the_store_is_down() -> None:
    talk = Talker(Down())

    output = talk.say("I drive a Tesla.")

    assert output["messages"][-1].text == "Noted."
    assert output["recalled"]["outcome"] == "unavailable"
    talk.settled()


def test_a_store_that_hangs_delays_an_answer_by_the_timeout_and_no_more() -> None:
    store = Down(hangs=True)
    talk = Talker(store)
    begun = time.monotonic()

    output = talk.say("What car do I drive?", recall_timeout=0.3)

    assert time.monotonic() - begun < 30, "it hangs for a minute"
    store.let_go.set()
    talk.settled()  # else what fails now is told in the next test
    assert output["messages"][-1].text.startswith(UNKNOWN)


class UpAndDown(InMemoryStore):
    """A store that is down, or hangs until there is an answer, as chance has it: before a call is made, or after."""

    def __init__(self) -> None:
        super().__init__()
        self.chance: random.Random | None = None
        self.is_answered = threading.Event()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        fate = self.chance.random() if self.chance else 1.0
        if fate < 0.01:
            self.is_answered.wait(60)
        if fate < 0.2:
            raise ConnectionError("the store is down")
        done = super().batch(ops)
        if fate < 0.25:
            raise TimeoutError("no answer")
        return done


@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.kill_full)])
def test_every_message_is_answered_while_the_store_goes_up_and_down(
    count: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit_breaker, "OUTAGE_SECONDS", 3_600.0)  # however long this takes, an outage is said once
    store, waits, timeout = UpAndDown(), list[float](), 1.0  # what hangs does so for a minute, or until an answer
    talk = Talker(store, background=WorkerPool(2_000), clock=utc_now)
    said = [f"On day {n} I paid {n + 7_000} to worker {n % 50}." for n in range(count)]
    talk.ask("I drive a Tesla.", recall_timeout=timeout)
    talk.settled()
    store.chance = random.Random(3)

    for number, words in enumerate(said):
        store.is_answered.clear()
        begun = time.monotonic()
        output = talk.say(words, f"c{number % 40}", recall_timeout=timeout)
        waits.append(time.monotonic() - begun)
        store.is_answered.set()
        assert output["messages"][-1].text
    talk.background.flush(120)
    store.chance = None

    assert max(waits) < 30
    told = [line.msg for line in caplog.records if line.levelname in ("WARNING", "ERROR")]
    assert len(told) == len(set(told))
    records = [r for r in every_record(talk.stores) if r["type"] == "verbatim" and "I paid" in r["text"]]
    worded = [record["text"].partition(": ")[2] for record in records]
    assert set(worded) <= set(said)
    assert len(worded) == len(set(worded)) > count // 10
    assert all(record["version"] and record["sources"] and record["user"] == user_hash("ann") for record in records)


def every_record(stores: RecordStores) -> list[Record]:
    found: list[Record] = []
    cursor: str | None = None
    while True:
        page = stores.of().list("ann", limit=100, replaced=True, cursor=cursor)
        found += page.records
        cursor = page.cursor
        if cursor is None:
            return found


def test_what_is_too_much_for_the_queue_is_kept_and_drawn_from_with_a_later_message() -> None:
    store = InMemoryStore()
    full = Talker(store, background=Full())

    output = full.say("I drive a Tesla.")

    assert output["remembered"]["outcome"] == "waiting"
    assert "Tesla" in Talker(store).say("Which car do I drive?", "b")["messages"][-1].text


def test_what_neither_the_store_nor_the_queue_takes_is_dropped_and_the_receipt_says_so() -> None:
    output = Talker(Down(), background=Full()).say("I drive a Tesla.")

    assert output["remembered"]["outcome"] == "dropped"
    assert output["remembered"]["degraded"] == ["keep: resting"]


# --- going on ----------------------------------------------------------------------------------------------------


def test_a_conversation_goes_on_in_another_process_from_its_kept_state(talks: Callable[..., Talker]) -> None:
    first = talks(responder=Listener("Rome is warm then."))
    first.say("I am going to Rome in May.")
    first.settled()
    listener = Listener()

    talks(responder=listener).say("How much will it cost?")

    assert [(m.type, m.text) for m in listener.heard[0].messages if RECALLED not in m.additional_kwargs] == [
        ("human", "I am going to Rome in May."),
        ("ai", "Rome is warm then."),
        ("human", "How much will it cost?"),
    ]


def test_what_waits_to_be_remembered_is_at_hand_already() -> None:
    class Slow:
        jobs: list[Any] = []

        def submit(self, key: str, job: Any) -> bool:
            self.jobs.append(job)
            return True

    listener, slow = Listener(), Slow()
    talk = Talker(Down(), background=slow, responder=listener)
    talk.say("I am going to Rome in May.")
    talk.say("How much will it cost?")
    assert "I am going to Rome in May." in listener.shown

    slow.jobs.clear()
    talk.say("And when?")

    assert "Rome" not in listener.shown  # what was dropped is held by nobody


def test_the_whole_history_without_ids_is_remembered_once(talks: Callable[..., Talker]) -> None:
    talk = talks(responder=Listener())
    history: list[dict[str, str]] = []
    for said in ("I drive a Tesla.", "Yes.", "My dog is called Rex.", "Yes.", "I live in Berlin."):
        history.append({"role": "user", "content": said})
        history.append({"role": "assistant", "content": talk.ask(list(history))})
        talk.settled()

    state = talk.stores.of().conversations.get("ann", "", "a")

    assert state is not None
    assert state["count"] == len(history)


def test_only_what_is_new_of_a_history_is_handed_over() -> None:
    before = [Turn("1", "user", "One."), Turn("2", "assistant", "Two."), Turn("3", "user", "Three.")]
    history = [
        HumanMessage("One."),
        AIMessage("Two."),
        HumanMessage("Three."),
        AIMessage("Four."),
        HumanMessage("One."),
    ]

    assert [m.text for m in new_messages(history, before)] == ["One."]
    assert [m.text for m in new_messages(history, [])] == [m.text for m in history]
    assert [m.text for m in new_messages([HumanMessage("Three.")], before)] == ["Three."]
    assert [turn.text for turn in earlier([HumanMessage("Three.")], before)] == ["One.", "Two.", "Three."]
    assert [turn.text for turn in earlier(history, before)] == ["One.", "Two.", "Three.", "Four."]


def test_parts_of_text_of_any_interface_are_read_and_shown_as_text(talks: Callable[..., Talker]) -> None:
    listener = Listener()
    talk = talks(responder=listener)
    history = [
        {"role": "user", "content": [{"type": "input_text", "text": "My favourite colour is blue."}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "A fine one."}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Which one was it?"}]},
    ]

    talk.say(history)

    shown = [m.content for m in listener.heard[0].messages]
    assert shown == ["My favourite colour is blue.", "A fine one.", "Which one was it?"]
    assert any("My favourite colour is blue." in text for text in talk.texts())


# --- compression -------------------------------------------------------------------------------------------------


def _long(turns: int) -> list[Any]:
    words = "We talked about the garden, the roof of the house and what it may cost until the spring of next year."
    kinds = (HumanMessage, AIMessage)
    return [kinds[n % 2](f"Turn {n}: {words} I paid ${n}00 to worker {n}.") for n in range(turns)]


@pytest.mark.slow
def test_a_dialogue_of_a_thousand_turns_takes_at_most_650_tokens(talks: Callable[..., Talker]) -> None:
    listener = Listener()

    talks(responder=listener, background=Full()).say([*_long(1_000), HumanMessage(ASKED)])

    shown = listener.heard[0].messages
    assert total(shown) <= 650
    assert shown[-1].text == ASKED
    assert shown[-2].text == _long(1_000)[-1].text


@pytest.mark.slow
def test_of_a_long_dialogue_what_is_asked_is_recalled_from_its_kept_turns(talks: Callable[..., Talker]) -> None:
    first = talks(responder=Listener())
    first.say([*_long(200), HumanMessage("So much for that.")], remember_every=1_000)
    first.settled()
    listener = Listener()

    talks(responder=listener).say(ASKED, remember_every=1_000)

    assert total(listener.heard[0].messages) <= 650
    assert "$7000" in listener.shown


def test_a_long_conversation_is_shown_by_where_it_stands_and_its_last_turns(talks: Callable[..., Talker]) -> None:
    talk = talks(responder=Listener())
    for said in ("My budget for the trip is $4,000.", "We decided on the hotel Aurora."):
        talk.say(said)
    for number in range(12):
        talk.say(f"Number {number}: tell me more about the museums of the old town, and about the parks around it.")
    talk.end()
    listener = Listener()

    talks(responder=listener).say("What else is there?", recall_threshold=1.0)

    state = listener.heard[0].messages[0]
    assert state.type == "human"
    assert state.additional_kwargs[RECALLED]
    assert "<state>" in state.text
    assert "$4,000" in state.text
    assert "Number 11" in listener.shown
    assert "Number 2:" not in listener.shown
    assert total(listener.heard[0].messages) <= 650


def test_a_message_is_never_cut_and_its_surroundings_give_way() -> None:
    listener = Listener()
    long = "word " * 2_000

    Talker(InMemoryStore(), responder=listener).say([*_long(50), HumanMessage(long)])

    assert listener.heard[0].messages[-1].text == long
    assert total(listener.heard[0].messages[:-1]) < 400


# --- what is kept ------------------------------------------------------------------------------------------------


def test_recalled_text_is_never_remembered_again(talks: Callable[..., Talker]) -> None:
    talk = talks()
    talk.say("My dog is called Rex.")
    before = talk.texts()

    for _ in range(3):
        assert "Rex" in talk.ask("What is my dog called?", "b")
        talk.settled()

    assert sum("Rex" in text for text in talk.texts()) == len(before) == 1


def test_recalled_text_is_in_no_checkpoint(talks: Callable[..., Talker]) -> None:
    first = talks()
    first.say("The code of the canary is K7Q9.")
    first.settled()
    saver, listener = InMemorySaver(), Listener()
    config = {"configurable": {"thread_id": "t"}}

    talks(checkpointer=saver, responder=listener).say("What is the code of the canary?", "b", config=config)

    assert "K7Q9" in listener.shown
    assert "K7Q9" not in repr(list(saver.list(None)))
    assert b"K7Q9" not in repr((dict(saver.storage), dict(saver.blobs), dict(saver.writes))).encode()


def test_a_run_that_crashed_while_answering_goes_on_with_what_is_recalled_anew(talks: Callable[..., Talker]) -> None:
    talk = talks()
    talk.say("My dog is called Rex.")
    talk.settled()
    listener = Listener()
    listener.fails = RuntimeError("The process is gone.")
    resumed = talks(checkpointer=InMemorySaver(), responder=listener)
    config = {"configurable": {"thread_id": "t"}}
    with pytest.raises(RuntimeError):
        resumed.say("What is my dog called?", "b", config=config)

    listener.fails = None
    output = resumed.graph.invoke(None, config, context={"user": "ann"})

    assert "Rex" in listener.shown
    assert output["messages"][-1].text == "I see."
    assert output["remembered"]["outcome"] == "queued"


def test_what_was_forgotten_is_shown_by_no_kept_state(talks: Callable[..., Talker]) -> None:
    listener = Listener()
    talk = talks(responder=listener)
    talk.say("My dog is called Rex.")
    talk.end()
    talk.stores.of().delete_all("ann")

    talk.say("What is my dog called?")

    assert "Rex" not in listener.shown


# --- chat models -------------------------------------------------------------------------------------------------


@pytest.mark.server
@pytest.mark.enable_socket
def test_a_model_is_shown_memories_and_asked_once(talks: Callable[..., Talker], model: Any) -> None:
    talk = talks()
    talk.say("My dog is called Rex.")
    talk.settled()
    model.plays(lambda request: Reply("Your dog is Rex."))

    output = talk.say("What is my dog called?", "b", **REACT)

    (request,) = model.server.chats
    assert [m["role"] for m in request.messages] == ["user", "user"]
    assert "Rex" in str(request.messages[0]["content"])
    assert output["messages"][-1].text == "Your dog is Rex."
    assert output["usage"]["calls"] == 1
    assert "react" in output["usage"]["roles"]


@pytest.mark.server
@pytest.mark.enable_socket
def test_a_model_that_fails_once_is_asked_again(model: Any) -> None:
    replies = iter([http_error(500), Reply("Here I am.")])
    model.plays(lambda request: next(replies))

    assert Talker(InMemoryStore()).ask("Are you there today?", retries=1, react_model="local:test") == "Here I am."


@pytest.mark.server
@pytest.mark.enable_socket
def test_of_a_turn_that_no_model_answered_the_words_of_the_user_are_kept(
    talks: Callable[..., Talker], model: Any
) -> None:
    model.plays(lambda request: http_error(500))
    talk = talks()

    with pytest.raises(ModelUnavailable):
        talk.say("My dog is called Rex.", retries=0, react_model="local:test")

    assert [text.partition(": ")[2] for text in talk.texts()] == ["My dog is called Rex."]


@pytest.mark.server
@pytest.mark.enable_socket
def test_where_no_model_answers_what_was_said_is_quoted_and_the_answer_says_so(
    talks: Callable[..., Talker], model: Any
) -> None:
    model.plays(lambda request: Reply("Nice."))
    talk = talks()
    talk.say("My dog is called Rex.", react_model="local:test")
    model.plays(lambda request: http_error(500))

    output = talk.say("What is my dog called?", retries=0, react_model="local:test")

    answer = output["messages"][-1]
    assert "Rex" in answer.text
    assert answer.response_metadata["degraded"] == "respond: ModelUnavailable"


@pytest.mark.server
@pytest.mark.enable_socket
def test_a_model_that_refuses_is_an_error_of_its_own(model: Any) -> None:
    model.plays(lambda request: http_error(401))

    with pytest.raises(ModelRefused):
        Talker(InMemoryStore()).say("Are you there today?", **REACT)


@pytest.mark.server
@pytest.mark.enable_socket
def test_without_memory_a_model_is_asked_with_the_conversation_alone(model: Any) -> None:
    model.plays(lambda request: Reply("I do not know."))

    Talker(Untouchable()).say([SystemMessage("Be brief."), HumanMessage("Who?")], enable_memory=False, **REACT)

    (request,) = model.server.chats
    assert [(m["role"], m["content"]) for m in request.messages] == [("system", "Be brief."), ("user", "Who?")]


@pytest.mark.server
@pytest.mark.enable_socket
def test_the_words_of_a_model_can_be_watched_while_they_come(model: Any) -> None:
    model.plays(lambda request: Reply("It is a long way to Tipperary."))
    graph = Talker(InMemoryStore()).graph

    said = {"messages": [HumanMessage("Is it far to go?")]}
    events = list(graph.stream(said, context={"user": "ann", **REACT}, stream_mode="messages"))
    words = [chunk.text for chunk, meta in events if isinstance(chunk, AIMessageChunk)]

    assert len([word for word in words if word]) > 1
    assert "".join(words) == "It is a long way to Tipperary."


@pytest.mark.server
@pytest.mark.enable_socket
def test_the_same_message_may_be_answered_differently(model: Any) -> None:
    replies = iter([Reply("Heads."), Reply("Tails.")])
    model.plays(lambda request: next(replies))
    talk = Talker(InMemoryStore())

    assert [talk.ask("Toss a coin!", enable_memory=False, **REACT) for _ in range(2)] == ["Heads.", "Tails."]


def test_many_talk_at_the_same_time_also_asynchronously(talks: Callable[..., Talker]) -> None:
    talk = talks()

    async def all_of_them() -> list[Any]:
        given = [({"messages": [HumanMessage(f"My lucky number is {n}{n}.")]}, f"u{n}") for n in range(8)]
        return await asyncio.gather(*(talk.graph.ainvoke(said, context={"user": user}) for said, user in given))

    assert [output["messages"][-1].text for output in asyncio.run(all_of_them())] == ["Noted."] * 8
    talk.settled()
    assert all(f"{n}{n}" in "".join(talk.texts(f"u{n}")) and len(talk.texts(f"u{n}")) == 1 for n in range(8))
