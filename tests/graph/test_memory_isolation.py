"""Through recall and remember, too, nobody ever gets what belongs to another user or another project."""

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.state.errors import NoUserError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

ALIKE = ["1", "01", "ann", "ann ", "Ann", "ann.bob", "ann/bob", "ann\0", "é", "e\u0301", "１", "%", "a" * 300]
names = st.sampled_from(ALIKE) | st.text(min_size=1, max_size=20).filter(lambda name: bool(name.strip()))
projects = st.sampled_from(["", "1", "work", "work/1", " "]) | st.text(max_size=8)
subjects = st.sampled_from(["dog", "car", "budget", "sister"])


class Isolation(RuleBasedStateMachine):
    """Each sentence holds a word that no other user or project may ever be shown."""

    @initialize(
        users=st.lists(names, min_size=3, max_size=3, unique=True), areas=st.lists(projects, min_size=3, max_size=3)
    )
    def begin(self, users: list[str], areas: list[str]) -> None:
        self.store = InMemoryStore()
        self.places = [(user, area) for user, area in zip(users, areas, strict=True)]
        self.places += [(users[0], areas[0] + "x")]  # another project of the same user
        self.marks = {place: f"Mark{uuid4().hex[:8]}" for place in self.places}
        self.memories = self.opened()

    def opened(self) -> Memories:
        return Memories(self.store, embeddings=HashEmbeddings(), settings={"remember_every": 3})

    def teardown(self) -> None:
        if hasattr(self, "memories"):
            self.memories.close()

    def at(self, number: int) -> tuple[dict[str, Any], str]:
        user, project = place = self.places[number % len(self.places)]
        return {"user": user, "project": project}, self.marks[place]

    def only(self, mark: str, shown: str) -> None:
        """Nothing of another place is in what was shown."""
        assert [other for other in self.marks.values() if other != mark and other in shown] == []

    def listed_besides(self, mark: str) -> list[list[tuple[str, str]]]:
        """What the other places hold. (How often it was used is counted in the background, at any time.)"""
        places = [self.at(number) for number in range(4)]
        found = [self.memories.list(**place, limit=100).records for place, own in places if own != mark]
        return [[(record["id"], record["text"]) for record in records] for records in found]

    @rule(where=st.integers(0, 3), what=subjects, end=st.booleans(), talk=st.sampled_from("ab"))
    def remembers(self, where: int, what: str, end: bool, talk: str) -> None:
        place, mark = self.at(where)
        said = f"My {what} is called {mark}. I like the {what}."
        self.memories.remember(said, conversation_id=talk, end=end, **place)

    @rule(where=st.integers(0, 3), what=subjects)
    def stores(self, where: int, what: str) -> None:
        place, mark = self.at(where)
        self.memories.store(f"The {what} of {mark} is old.", **place)

    @rule(where=st.integers(0, 3), what=subjects, other=st.integers(0, 3))
    def recalls(self, where: int, what: str, other: int) -> None:
        place, mark = self.at(where)
        _, foreign = self.at(other)
        for question in (f"What is my {what} called?", f"What about {what}"):
            recalled = self.memories.recall(question, threshold=None, limit=50, **place)
            self.only(mark, repr(recalled))
        assert foreign == mark or foreign not in repr(
            self.memories.recall(f"Who is {foreign}?", threshold=None, **place)
        )

    @rule(where=st.integers(0, 3), what=subjects)
    def talks(self, where: int, what: str) -> None:
        place, mark = self.at(where)
        said = f"Tell me what my {what} is called."
        self.only(mark, repr(self.memories.talk(said, conversation_id="a", **place)))
        self.memories.flush()

    @rule(where=st.integers(0, 3))
    def tidies(self, where: int) -> None:
        place, _ = self.at(where)
        self.memories.consolidate(**place)
        self.memories.reflect(**place)
        self.memories.maintain()

    @rule(where=st.integers(0, 3), other=st.integers(0, 3))
    def asks_to_forget_what_is_of_others(self, where: int, other: int) -> None:
        (place, mark), (theirs, foreign) = self.at(where), self.at(other)
        if foreign != mark:
            assert self.memories.preview_delete_about(foreign, **place).ids == []
        if theirs["user"] != place["user"]:
            ids = [record["id"] for record in self.memories.list(**theirs).records]
            assert self.memories.delete(ids, user=place["user"]) == []

    @rule(where=st.integers(0, 3))
    def forgets(self, where: int) -> None:
        place, mark = self.at(where)
        others = self.listed_besides(mark)
        self.memories.delete_all(**place)
        assert self.listed_besides(mark) == others
        assert self.memories.list(**place).records == []

    @rule(nobody=st.sampled_from(["", " ", None]), what=subjects)
    def names_nobody(self, nobody: Any, what: str) -> None:
        for call in (self.memories.recall, self.memories.remember, self.memories.search, self.memories.talk):
            with pytest.raises(NoUserError):
                call(f"What is my {what} called?", user=nobody)

    @rule()
    def restarts(self) -> None:
        self.memories.close()
        self.memories = self.opened()

    @invariant()
    def each_place_lists_its_own_alone(self) -> None:
        for number in range(4) if hasattr(self, "places") else ():
            place, mark = self.at(number)
            records = self.memories.list(**place, limit=100, replaced=True).records
            self.only(mark, repr(records))


Isolation.TestCase.settings = settings(max_examples=5, stateful_step_count=20, deadline=None)
TestIsolation = Isolation.TestCase


@pytest.mark.kill_full
def test_isolation_holds_in_sequences_of_fifty_steps() -> None:
    many = settings(max_examples=50, stateful_step_count=50, deadline=None, database=None)
    run_state_machine_as_test(Isolation, settings=many)
