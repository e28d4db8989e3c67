"""Whatever users and projects are called and whatever they do, nobody ever meets a memory of somebody else."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.state.errors import InputError, NoUserError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import user_hash
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
TIMES = int(os.environ.get("RECORD_SEQUENCES", "2000"))
"""How many sequences the long test runs: 10,000 for the record."""
TIMES_ON_OTHERS = int(os.environ.get("RECORD_SEQUENCES_ON_OTHERS", "200"))
"""The same on PostgreSQL and on Milvus Lite."""
PARTS = 8
"""It runs in parts, since no test may take longer than ten minutes."""
NAMES = [
    "1",
    "a",
    "A",
    "ab",
    "a.b",
    "a/b",
    "*",
    "%",
    "_",
    "é",
    "e\u0301",
    "\ud800",
    "\0",
    "用户",
    "\u202euser",
    "'; --",
]
TUNING = Settings.model_construct()
WORDS = ["river", "bank", "door", "4821", "Rome", "猫"]

names = st.sampled_from(NAMES) | st.text(min_size=1, max_size=6).filter(str.strip)
projects = st.sampled_from(["", "p", "P", "p ", "p2", "\0", "\ud800", "\ufffd", '""', "null"])
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
picks = st.integers(0, 1_000)
whose = st.integers(0, 5)


class Hand:
    """Stands still during an operation, so that the same operation elsewhere has the same times."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Isolation(RuleBasedStateMachine):
    """Several users on one store, through two processes; beside it a store for each user alone, and a dict of texts.

    What a user gets from the shared store is to the last digit what they get from the one of their own.
    """

    @initialize(drawn=st.lists(names, min_size=2, max_size=3, unique=True))
    def begin(self, drawn: list[str]) -> None:
        relatives = [name for d in drawn[:2] for name in (d + "x", d.swapcase(), d + " ")]
        self.users = list(dict.fromkeys([*drawn, *relatives]))[:6]
        assert len({user_hash(user) for user in self.users}) == len(self.users)
        self.clock, self.encoder = Hand(), Encoder(HashEmbeddings(16))
        self.make_store()
        self.processes = [self.open(), self.open()]
        self.alone = {
            user: RecordStore(InMemoryStore(), self.encoder, self.clock, settings=TUNING) for user in self.users
        }
        self.oracle: dict[str, dict[str, tuple[str, str]]] = {user: {} for user in self.users}

    def make_store(self) -> None:
        self.store: Any = InMemoryStore()

    def open(self) -> RecordStore:
        return RecordStore(self.store, self.encoder, self.clock, settings=TUNING)

    def both(self, who: int, pick: int, call: Any) -> tuple[str, Any]:
        """Do the same on the shared store, through one of the processes, and on the user's own."""
        user = self.users[who % len(self.users)]
        self.clock.now += timedelta(seconds=1)
        done = call(self.processes[pick % 2], user)
        assert done == call(self.alone[user], user)
        return user, done

    def one_of(self, who: int, pick: int) -> str | None:
        own = sorted(self.oracle[self.users[who % len(self.users)]])
        return own[pick % len(own)] if own else None

    @rule(who=whose, pick=picks, text=texts, project=projects)
    def stores(self, who: int, pick: int, text: str, project: str) -> None:
        user, done = self.both(who, pick, lambda m, u: m.store(u, text, project=project))
        self.oracle[user][done.record["id"]] = (text, project)

    @rule(who=whose, pick=picks, text=texts)
    def revises(self, who: int, pick: int, text: str) -> None:
        if id := self.one_of(who, pick):
            user, done = self.both(who, pick, lambda m, u: m.update(u, id, text))
            self.oracle[user][id] = (text, done["project"])

    @rule(who=whose, pick=picks, text=texts)
    def supersedes(self, who: int, pick: int, text: str) -> None:
        if id := self.one_of(who, pick):
            user, done = self.both(who, pick, lambda m, u: m.supersede(u, id, text))
            self.oracle[user][done["id"]] = (done["text"], done["project"])

    @rule(who=whose, pick=picks, text=texts)
    def consolidates(self, who: int, pick: int, text: str) -> None:
        id = self.one_of(who, pick)
        own = self.oracle[self.users[who % len(self.users)]]
        ids = [other for other in sorted(own) if id and own[other][1] == own[id][1]][:3]
        if len(ids) > 1:
            user, done = self.both(who, pick, lambda m, u: m.consolidate(u, ids, text))
            self.oracle[user][done["id"]] = (text, done["project"])

    @rule(who=whose, pick=picks)
    def forgets(self, who: int, pick: int) -> None:
        if id := self.one_of(who, pick):
            user, gone = self.both(who, pick, lambda m, u: sorted(m.delete(u, [id])))
            assert id in gone
            for other in gone:
                del self.oracle[user][other]

    @rule(who=whose, pick=picks, project=st.none() | projects)
    def forgets_a_scope(self, who: int, pick: int, project: str | None) -> None:
        user, gone = self.both(who, pick, lambda m, u: sorted(m.delete_all(u, project)))
        own = self.oracle[user]
        assert {id for id, (_, p) in own.items() if project in (None, p)} <= set(gone) <= own.keys()
        for id in gone:
            del own[id]

    @rule(who=whose, pick=picks)
    def touches_what_may_be_somebody_elses(self, who: int, pick: int) -> None:
        ids = [id for user in self.users for id in list(self.oracle[user])[:2]]
        self.both(who, pick, lambda m, u: m.count_use(u, ids))

    @rule(who=whose, pick=picks)
    def asks_for_what_is_somebody_elses(self, who: int, pick: int) -> None:
        user, other = self.users[who % len(self.users)], self.users[(who + 1) % len(self.users)]
        for id in list(self.oracle[other])[:3]:
            assert self.processes[pick % 2].get(user, id) is None
            assert self.processes[pick % 2].delete(user, [id]) == []

    @rule(who=whose, pick=picks, query=texts, project=st.none() | projects)
    def searches(self, who: int, pick: int, query: str, project: str | None) -> None:
        user, found = self.both(who, pick, lambda m, u: m.search(u, query, project=project, limit=100, replaced=True))
        own = {id: text for id, (text, p) in self.oracle[user].items() if project in (None, p)}
        assert {hit.record["id"] for hit in found} <= own.keys()
        assert all(hit.record["text"] == own[hit.record["id"]] for hit in found)
        self.both(who, pick, lambda m, u: m.search(u, query, project=project, limit=3))
        self.both(who, pick, lambda m, u: m.search(u, query, project=project, threshold=0.5))

    @rule(pick=picks, nobody=st.sampled_from([None, "", " ", 1, True, b"a"]))
    def names_nobody(self, pick: int, nobody: Any) -> None:
        memories = self.processes[pick % 2]
        error = NoUserError if not nobody or nobody == " " else InputError
        for call in (memories.list, memories.delete_all, lambda user: memories.search(user, "river")):
            with pytest.raises(error):
                call(nobody)

    @rule(pick=picks)
    def restarts(self, pick: int) -> None:
        self.processes[pick % 2] = self.open()

    @invariant()
    def everybody_sees_their_own_and_nothing_else(self) -> None:
        for number, user in enumerate(getattr(self, "users", ())):
            records = self.processes[number % 2].list(user, limit=100, replaced=True).records
            assert {r["id"]: (r["text"], r["project"]) for r in records} == self.oracle[user]
            assert all(r["user"] == user_hash(user) for r in records)


class OnDisk(Isolation):
    """The same on the embedded store; a restart opens the file again."""

    def make_store(self) -> None:
        self.folder = Path(mkdtemp(dir=FAST))
        self.stores_opened: list[SqliteRecordStore] = []

    def open(self) -> RecordStore:
        self.stores_opened.append(SqliteRecordStore(self.folder / "m.sqlite"))
        return RecordStore(self.stores_opened[-1], self.encoder, self.clock, settings=TUNING)

    def teardown(self) -> None:
        for store in getattr(self, "stores_opened", ()):
            store.close()
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)


class OnOthers(Isolation):
    """The same on a store of others; each process opens it for itself."""

    place: Callable[[], AbstractContextManager[Callable[[], BaseStore]]]

    def make_store(self) -> None:
        self.opening = ExitStack()
        self.connect = self.opening.enter_context(type(self).place())

    def open(self) -> RecordStore:
        return RecordStore(self.connect(), self.encoder, self.clock, settings=TUNING)

    def teardown(self) -> None:
        if hasattr(self, "opening"):
            self.opening.close()


@contextmanager
def in_a_folder(on_milvus_lite: Any) -> Iterator[Callable[[], BaseStore]]:
    with TemporaryDirectory(dir=FAST) as folder, on_milvus_lite(Path(folder) / "milvus") as connect:
        yield connect


@pytest.fixture(params=["postgres", "milvus lite"])
def on_others(request: pytest.FixtureRequest) -> type[OnOthers]:
    if request.param == "postgres":
        place = request.getfixturevalue("on_postgres")
    else:
        place = partial(in_a_folder, request.getfixturevalue("on_milvus_lite"))
    return type("OnOthersHere", (OnOthers,), {"place": staticmethod(place)})


Isolation.TestCase.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
OnDisk.TestCase.settings = settings(max_examples=8, stateful_step_count=25, deadline=None)
TestInMemory = Isolation.TestCase
TestOnDisk = OnDisk.TestCase


@pytest.mark.kill_full  # the one marker of what takes long that is left out unless asked for
@pytest.mark.parametrize("part", range(PARTS))
def test_isolation_holds_in_thousands_of_sequences_of_fifty_steps(part: int) -> None:
    assert part < PARTS
    run_state_machine_as_test(
        OnDisk, settings=settings(max_examples=TIMES // PARTS, stateful_step_count=50, deadline=None, database=None)
    )


def test_isolation_holds_on_stores_of_others(on_others: type[OnOthers]) -> None:
    few = settings(max_examples=3, stateful_step_count=20, deadline=None, database=None)
    run_state_machine_as_test(on_others, settings=few)


@pytest.mark.kill_full
@pytest.mark.parametrize("part", range(PARTS))
def test_isolation_holds_on_stores_of_others_in_hundreds_of_sequences(on_others: type[OnOthers], part: int) -> None:
    assert part < PARTS
    many = settings(max_examples=TIMES_ON_OTHERS // PARTS, stateful_step_count=50, deadline=None, database=None)
    run_state_machine_as_test(on_others, settings=many)


@pytest.fixture
def memories() -> Iterator[RecordStore]:
    with TemporaryDirectory(dir=FAST) as folder:
        store = SqliteRecordStore(Path(folder) / "m.sqlite")
        yield RecordStore(store, Encoder(HashEmbeddings(16)))
        store.close()


def test_a_second_user_after_a_first_gets_nothing_of_the_firsts(memories: RecordStore) -> None:
    memories.store("ann", "The PIN of the shed is 4821.")
    memories.search("ann", "PIN")

    with pytest.raises(NoUserError):
        memories.search("", "PIN")
    assert memories.search("bob", "The PIN of the shed is 4821.") == []


def test_users_that_look_alike_are_not_the_same() -> None:
    users = [*NAMES, "1 ", " 1", "01", "１", "ann", "Ann", "ann\u200b", "ann.bob", "ann\0"]

    assert len({user_hash(user) for user in users}) == len(users)
    assert all(user_hash(user).isalnum() for user in users)
