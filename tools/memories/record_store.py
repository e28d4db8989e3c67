"""Keeps each user's memories across conversations in a LangGraph `BaseStore`: stored once, corrected, forgotten.

What a user's memories are is a fold of events (`state/records.py`), which any number of processes write at the same
time (`tools/memories/event_log.py`); each process keeps an index of the users it serves (`tools/memories/index.py`).
"""

import heapq
import json
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Unpack

import numpy as np
from langgraph.store.base import BaseStore
from numpy.typing import NDArray
from typing_extensions import TypedDict

from agentic_memory_bank.state import records as events
from agentic_memory_bank.state.errors import EmbeddingError, InputError
from agentic_memory_bank.state.records import (
    FADING,
    PRUNED,
    Hashed,
    Record,
    RecordEvent,
    RecordType,
    Replacement,
    Source,
    Wanted,
    retention,
    said,
)
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.models import Encoder
from agentic_memory_bank.tools.memories.agent_conversations import ConversationMemory
from agentic_memory_bank.tools.memories.cascade import Reach, reach
from agentic_memory_bank.tools.memories.conversation_states import ConversationStates
from agentic_memory_bank.tools.memories.event_log import Port
from agentic_memory_bank.tools.memories.fields import (
    About,
    Draft,
    checked,
    limited,
    owner_of,
    place_of,
    position_of,
    wanted_of,
)
from agentic_memory_bank.tools.memories.index import ByKind, Found, Threshold
from agentic_memory_bank.tools.memories.user_memories import (
    MADE_UP,
    REEMBED,
    Shelf,
    vector_fields,
)
from agentic_memory_bank.tools.search.hybrid_index import alpha_for
from agentic_memory_bank.tools.text.cleaning import clean

QUOTA: Final = 10_000
"""How many memories a user has at most, unless said otherwise."""

SPARE: Final = 100
"""One in so many goes besides, where a user has more memories than the quota."""

_LOG = logging.getLogger(__name__)
_Vectors = NDArray[np.float32]


class Stored(NamedTuple):
    """What became of a memory that was to be stored."""

    record: Record
    is_new: bool
    """False where it was known; its source was added."""


class Listing(NamedTuple):
    """Some memories, newest first."""

    records: Sequence[Record]
    cursor: str | None
    """What to ask on with; None at the end."""


class Search(NamedTuple):
    """What is looked for; the fields are the arguments of `RecordStore.search`."""

    query: str
    project: str | None = None
    types: Collection[str] | None = None
    limit: int = 5
    threshold: Threshold = None
    replaced: bool = False


class Maintained(TypedDict):
    """What maintenance has done, as numbers of memories (the last two: of marks and of writers)."""

    expired: int
    pruned: int
    over_quota: int
    tombstones: int
    writers: int


class RecordStore:
    """The memories of all users, in a store of LangGraph's; safe across threads and processes.

    Nothing of a user is ever read for another: namespaces are hashes, an index holds one user, and filters choose
    before anything is ranked. Times come from `clock`; of two events of one memory, the later one in this process
    always has the later time.

    Args:
        store: Any `BaseStore` with synchronous methods. `tools.sqlite_store.default_store()` is the embedded one.
        encoder: Makes the vectors, which stand beside the texts.
        clock: Tells what is over.
        settings: The weights of keywords. Default: those of the environment.
        quota: How many memories a user has at most, the least retained go first; None: as many as come.
        size: Of how many users the index is kept in memory.
    """

    def __init__(
        self,
        store: BaseStore,
        encoder: Encoder,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        settings: Settings | None = None,
        quota: int | None = QUOTA,
        size: int = 64,
    ) -> None:
        if quota is not None and quota < 1:
            raise InputError("A quota is at least 1. Give None for no quota.")
        self._port = Port(store)
        self._encoder = encoder
        self._clock = clock
        self._settings = settings or Settings.of(None)
        self._quota = quota
        self._size = size
        self._shelves: OrderedDict[str, Shelf] = OrderedDict()
        self._lock = threading.Lock()
        self._process = os.getpid()
        self.conversations = ConversationStates(self._port, clock)
        """Where the conversations stand that these memories are drawn from."""
        self.agents = ConversationMemory(self._port, clock)
        """What agents did in conversations."""

    # --- writing ---------------------------------------------------------------------------------------------------

    def store(self, user: str, text: str, **about: Unpack[About]) -> Stored:
        """Keep a memory. One that is known already gets the source, and no second record.

        Raises:
            NoUserError: Nobody is named.
            InputError: What is said of it cannot be kept.
            EmbeddingError: The vectors that are there are of another model.
            StorageError: The store failed; nothing half-written is ever read.
        """
        return self.store_many(user, [{"text": text, **about}])[0]

    def store_many(self, user: str, drafts: Sequence[Draft], *, bare: bool = False) -> Sequence[Stored]:
        """Keep several memories, embedded together. Raises as `store`; nothing is kept where one cannot be.

        Args:
            user: Whose.
            drafts: The memories.
            bare: Ask no model: they are found by their words until `make_up` gives them their vectors.
        """
        owner = owner_of(user)
        wanted = [checked(draft) for draft in drafts]
        vectors = [None] * len(wanted) if bare else self._embed([fields["text"] for fields in wanted])
        with self._shelf(owner) as shelf:
            if not bare:
                shelf.refuse_foreign(vectors)
            stored = [self._keep(shelf, fields, vector) for fields, vector in zip(wanted, vectors, strict=True)]
            self._make_room(shelf, {one.record["id"] for one in stored})
            has_bare = bool(shelf.index.bare)
        if has_bare and not bare and all(vector is not None for vector in vectors):
            self.make_up(user)
        return stored

    def make_up(self, user: str) -> int:
        """Give the memories of a user a vector that have none yet; how many got one.

        Where that cannot be, they are found by their words alone, and it is tried again with the next call.

        Raises:
            NoUserError, StorageError: As `store`.
        """
        owner, made = owner_of(user), 0
        with self._shelf(owner) as shelf:
            bare = {id: shelf.index.records[id]["text"] for id in sorted(shelf.index.bare)}
        for start in range(0, len(bare), MADE_UP):
            some = list(bare)[start : start + MADE_UP]
            vectors = self._embed([bare[id] for id in some])
            found = [(id, vector) for id, vector in zip(some, vectors, strict=True) if vector is not None]
            if not found:
                break
            with self._shelf(owner) as shelf:
                made += shelf.make_up(found, self._encoder.model)
        return made

    def lacks_vectors(self, user: str) -> bool:
        """Whether memories of a user are known to have none, as far as this process has looked."""
        with self._lock:
            shelf = self._shelves.get(owner_of(user))
        return shelf is not None and bool(shelf.index.bare)

    def prepare(self, texts: Sequence[str]) -> None:
        """Have vectors made ahead, so that no lock is held for a model; where that cannot be, nothing happens."""
        with suppress(EmbeddingError):
            self._encoder.vectors([clean(text) for text in texts])

    def revise(self, user: str, id: str, text: str, **about: Unpack[About]) -> Record:
        """Change what a memory says: its vector follows, the earlier wording goes to its history.

        Args:
            user: Whose it is.
            id: Of the memory.
            text: What it says from now on.
            about: A new `source`, `trust`, `importance` or `expires_at`; nothing else of a memory changes.

        Raises:
            UnknownMemoryError: This user has no such memory.
            NoUserError, InputError, EmbeddingError, StorageError: As `store`.
        """
        owner = owner_of(user)
        if unchangeable := sorted(about.keys() - {"source", "trust", "importance", "expires_at"}):
            raise InputError(
                f"The {unchangeable[0]} of a memory cannot be revised. Store another, and forget this one."
            )
        given = {"text": text, **about}
        fields = {name: value for name, value in checked(given).items() if name in given}
        vector = self._embed([fields["text"]])[0]
        with self._shelf(owner) as shelf:
            shelf.refuse_foreign([vector])
            record = shelf.known(id)
            del fields["text"]
            if said(clean(text)) != said(record["text"]) or fields:
                event = events.revise(id, shelf.now(record), clean(text), {**fields, **self._vector(vector)})
                shelf.write([event])
            return shelf.index.records[id]

    def supersede(self, user: str, id: str, text: str, **about: Unpack[About]) -> Record:
        """Put a new value in place of a memory, which stays: dated, marked, and no longer found unless asked for.

        Both happen at once. What is not said of the new memory (type, project, subject, attribute) is as it was.

        Returns:
            The new memory.

        Raises:
            UnknownMemoryError: This user has no such memory.
            NoUserError, InputError, EmbeddingError, StorageError: As `store`.
        """
        return self._put_in_place(user, [id], text, about, "supersede")

    def consolidate(self, user: str, ids: Sequence[str], text: str, **about: Unpack[About]) -> Record:
        """Put one memory in the place of several, at once or not at all; they stay, marked, and it names them.

        It has their sources, their best trust and the first of their ends. When one of them is forgotten, it goes with
        it, and the others are current again.

        Raises:
            UnknownMemoryError: This user has no such memory.
            InputError: They are fewer than two, of several types, or of several projects.
            NoUserError, EmbeddingError, StorageError: As `store`.
        """
        if len(set(ids)) < 2:
            raise InputError("At least two memories are drawn together. Revise a single one.")
        return self._put_in_place(user, list(dict.fromkeys(ids)), text, about, "consolidate")

    def settle(
        self, user: str, draft: Draft, *, over: Sequence[str] = (), under: str | None = None, beside: Sequence[str] = ()
    ) -> Stored:
        """Keep a memory, and at once what it does to others: done twice, it is done once.

        Args:
            user: Whose.
            draft: The memory.
            over: Ids of those whose place it takes, since its value is newer.
            under: Id of the one whose value is newer: the memory comes already superseded.
            beside: Ids of those that cannot be true beside it.

        Raises:
            UnknownMemoryError: One of them is not there.
            NoUserError, InputError, EmbeddingError, StorageError: As `store`.
        """
        owner, fields = owner_of(user), checked(draft)
        vector = self._embed([fields["text"]])[0]
        with self._shelf(owner) as shelf:
            shelf.refuse_foreign([vector])
            olds = [shelf.heir_of(id) for id in over]
            others = [shelf.known(id) for id in (*beside, *([under] if under else ()))]
            _refuse_mixture(olds, fields)
            said_here = shelf.index.said_by(fields)
            stored = Stored(shelf.index.records[said_here], False) if said_here else self._keep(shelf, fields, vector)
            own = stored.record["id"]
            olds = list({old["id"]: old for old in olds if old["id"] != own}.values())
            written = [events.replace(old["id"], shelf.now(old), own, "supersede") for old in olds]
            if under and under != own:
                written.append(events.replace(own, shelf.now(stored.record), under, "supersede"))
            written += [events.contradict(own, id, shelf.now(*others)) for id in beside if id != own]
            if olds:
                seen = events.see(own, shelf.now(stored.record), None, 0.0)
                written.append({**seen, "replaces": [old["id"] for old in olds]})
            shelf.write(written)
            self._make_room(shelf, {own})
            return Stored(shelf.index.records[own], stored.is_new)

    def confirm(self, user: str, id: str, source: Source, trust: float) -> Record:
        """Add a source to a memory that says the same in other words.

        Raises:
            UnknownMemoryError: This user has no such memory.
            NoUserError, StorageError: As `store`.
        """
        with self._shelf(owner_of(user)) as shelf:
            record = shelf.known(id)
            if source not in record["sources"] or trust > record["trust"]:
                shelf.write([events.see(id, shelf.now(record), source, trust)])
            return shelf.index.records[id]

    def absorb(self, user: str, ids: Collection[str], by: str) -> Sequence[str]:
        """Let a memory stand for others that it was drawn from: they are no longer found, and are forgotten with it.

        Args:
            user: Whose.
            ids: Of those it stands for. Ids that are not there, or are replaced already, are no error.
            by: Id of the memory.

        Returns:
            The ids of those that it stands for since now.

        Raises:
            UnknownMemoryError: This user has no memory `by`.
            NoUserError, StorageError: As `store`.
        """
        with self._shelf(owner_of(user)) as shelf:
            whole, records = shelf.known(by), shelf.index.records
            there = [id for id in dict.fromkeys(ids) if id != by and id in records and not records[id]["replaced_by"]]
            if there:
                seen: RecordEvent = {**events.see(by, shelf.now(whole), None, 0.0), "replaces": there}
                shelf.write([seen, *(events.replace(id, shelf.now(records[id]), by, "consolidate") for id in there)])
            return there

    def said_by(self, user: str, draft: Draft) -> Record | None:
        """The memory, current or replaced, that has just this text from just this source; None where there is none.

        Raises:
            NoUserError, InputError, StorageError: As `store`.
        """
        return self.all_said_by(user, [draft])[0]

    def all_said_by(self, user: str, drafts: Sequence[Draft]) -> "Sequence[Record | None]":
        """What `said_by` gives for each, in one look at the store. Raises as `said_by`."""
        owner, wanted = owner_of(user), [checked(draft) for draft in drafts]
        if not wanted:
            return []
        with self._shelf(owner) as shelf:
            found = [shelf.index.said_by(fields) for fields in wanted]
            return [shelf.index.records[id] if id else None for id in found]

    def replace(self, user: str, id: str, by: str) -> Record:
        """Mark a memory as superseded by another one that is there. Returns the memory that is marked.

        Raises:
            UnknownMemoryError: This user has no such memory.
            InputError: It is the same.
            NoUserError, StorageError: As `store`.
        """
        if id == by:
            raise InputError("A memory cannot supersede itself. Name two.")
        with self._shelf(owner_of(user)) as shelf:
            record, _ = shelf.known(id), shelf.known(by)
            shelf.write([events.replace(id, shelf.now(record), by, "supersede")])
            return shelf.index.records[id]

    def contradict(self, user: str, a: str, b: str) -> None:
        """Mark that two memories cannot both be true; both stay as they are.

        Raises:
            UnknownMemoryError: This user has no such memory.
            InputError: They are the same.
            NoUserError, StorageError: As `store`.
        """
        if a == b:
            raise InputError("A memory does not contradict itself. Name two.")
        with self._shelf(owner_of(user)) as shelf:
            one, _ = shelf.known(a), shelf.known(b)
            shelf.write([events.contradict(a, b, shelf.now(one))])

    def touch(self, user: str, ids: Collection[str]) -> None:
        """Count that memories were used, which keeps them longer. Ids that are not there are no error.

        Raises:
            NoUserError, StorageError: As `store`.
        """
        with self._shelf(owner_of(user)) as shelf:
            known = [shelf.index.records[id] for id in dict.fromkeys(ids) if id in shelf.index.records]
            shelf.write([shelf.used(record) for record in known])

    # --- forgetting ------------------------------------------------------------------------------------------------

    def forget(self, user: str, ids: Collection[str]) -> Sequence[str]:
        """Erase memories with their history, and what was drawn from them; a mark without content stays.

        A memory that was consolidated goes with those it was made of, or with those of them that are named. Of the
        turns they were said in, and of what is named in part, the rest stays, as a memory of its own.

        Args:
            user: Whose.
            ids: Of memories, or of parts of them as `reach` names them.

        Returns:
            The ids of all that are gone. Those that were not there are no error.

        Raises:
            InputError: A part is named of a memory that says something else by now.
            NoUserError, StorageError: As `store`.
        """
        return self._forget(user, self.reach(user, ids))

    def _forget(self, user: str, reached: Reach) -> Sequence[str]:
        words, lefts = reached.words, [cut.left for cut in reached.cut if cut.left]
        self.agents.drop_turns(user, [{"conversation": place, "turns": [turn], "quotes": []} for place, turn in words])
        self.conversations.cut_turns(user, words)  # first: nothing is drawn anew from what is half forgotten
        vectors = iter(self._embed(lefts) if lefts else [])
        with self._shelf(owner_of(user)) as shelf:
            for cut in reached.cut:
                if cut.left:
                    shelf.keep_left(cut, self._vector(next(vectors)), reached.gone)
            return shelf.erase(reached.gone)

    def forget_scope(self, user: str, project: str | None = None, type: RecordType | None = None) -> Sequence[str]:
        """Erase all memories of a user, or those of a project, of a type, or both. Returns and raises as `forget`.

        Args:
            user: Whose.
            project: Which; an empty text means those without a project, None all.
            type: Which; None for all.
        """
        wanted = wanted_of(project, None if type is None else [type])
        self.conversations.forget(user, project)
        if type is None:
            self.agents.forget(user, project)
        gone = self._forget(user, self.reach_of_scope(user, project, type))
        if wanted == Wanted():
            with self._shelf(owner_of(user)) as shelf:
                shelf.erase_keys(shelf.index.all_keys())  # what never was whole
        return gone

    def sweep(self, user: str) -> Sequence[str]:
        """Erase the memories whose time is over. Returns and raises as `forget`."""
        with self._shelf(owner_of(user)) as shelf:
            return shelf.sweep()

    def prune(self, user: str, least: float = PRUNED, types: Collection[str] | None = None) -> Sequence[str]:
        """Erase the memories whose retention is below a least one; what was drawn from them stays.

        Args:
            user: Whose.
            least: The retention.
            types: Of which types; None for all.

        Returns and raises as `forget`.
        """
        with self._shelf(owner_of(user)) as shelf:
            return shelf.prune(least, types)

    def maintain(self, least: float = PRUNED) -> Maintained:
        """For all users: erase what is over, pruned or over the quota, and marks and writers that are of no use now.

        Facts are pruned only where the setting `memory_prune_facts` says so. Meant to be run from time to time, by one
        process.

        Raises:
            StorageError: The store failed.
        """
        done: Maintained = {"expired": 0, "pruned": 0, "over_quota": 0, "tombstones": 0, "writers": 0}
        for owner in self._port.owners():
            with self._shelf(owner) as shelf:
                done["expired"] += len(shelf.sweep())
                done["pruned"] += len(shelf.prune(least, None if self._settings.memory_prune_facts else FADING))
                done["over_quota"] += len(self._make_room(shelf, frozenset()))
                done["tombstones"] += shelf.drop_tombstones()
                done["writers"] += shelf.drop_writers()
            self.conversations.sweep(owner)
            self.agents.sweep(owner)
        return done

    def reembed(self) -> int:
        """Make the vectors of all users' memories that have none of this model; returns how many were made.

        Raises:
            EmbeddingError: They cannot be made.
            StorageError: The store failed.
        """
        made = 0
        for owner in self._port.owners():
            with self._shelf(owner) as shelf:
                made += shelf.reembed(self._encoder)
            with self._lock:
                self._shelves.pop(owner, None)  # an index holds vectors of one dimension: begin another
        return made

    # --- reading ---------------------------------------------------------------------------------------------------

    def get(self, user: str, id: str) -> Record | None:
        """A memory of this user, current or replaced; None where there is none, or its time is over.

        Raises:
            NoUserError, StorageError: As `store`.
        """
        with self._shelf(owner_of(user)) as shelf:
            record = shelf.index.records.get(id)
            return None if record is None or events.is_over(record, shelf.now()) else record

    def users(self) -> Sequence[Hashed]:
        """All who have memories, as hashes: who they are is kept nowhere.

        Raises:
            StorageError: The store failed.
        """
        return [Hashed(owner) for owner in self._port.owners()]

    def reach(self, user: str, ids: Collection[str]) -> Reach:
        """All that `forget` would erase, whole or in part, and nothing is erased. Raises as `forget`."""
        with self._shelf(owner_of(user)) as shelf:
            return reach(shelf.index.records, ids)

    def reach_of_scope(self, user: str, project: str | None = None, type: RecordType | None = None) -> Reach:
        """All that `forget_scope` would erase; facts stay where only turns are meant. Args and errors as there."""
        wanted = wanted_of(project, None if type is None else [type])
        with self._shelf(owner_of(user)) as shelf:
            ids = shelf.index.ids(wanted, shelf.now(), all_of_them=True)
            return reach(shelf.index.records, ids, quoting=type is None)

    def search(
        self,
        user: str,
        query: str,
        *,
        project: str | None = None,
        types: Collection[str] | None = None,
        limit: int = 5,
        threshold: Threshold = None,
        replaced: bool = False,
    ) -> Sequence[Found]:
        """The memories of a user that fit a query best, best first; nothing is counted as used.

        Args:
            user: Whose.
            query: What is looked for.
            project: Of which project; an empty text means those without one, None all.
            types: Of which types; None for all.
            limit: How many at most; no more than `MAX_LIMIT` in any case.
            threshold: Least raw cosine of a hit that shares no rare name or number with the query. None: no threshold.
            replaced: Whether to find also what is superseded or consolidated by now.

        Raises:
            NoUserError: Nobody is named.
            InputError: A type, the limit or the threshold has no meaning.
            EmbeddingError: The query cannot be embedded, or the vectors that are there are of another model.
            StorageError: The store failed.
        """
        asked = Search(query, project, types, limit, threshold, replaced)
        return self.search_many(user, [asked])[0]

    def search_many(self, user: str, searches: "Sequence[Search]") -> "Sequence[Sequence[Found]]":
        """What several searches find, each as `search`, in one look at the store and with one call of the embedder.

        Raises as `search`.
        """
        owner, meant = owner_of(user), [_checked_search(one) for one in searches]
        queries = list(dict.fromkeys(one.query for one in searches if one.query.strip()))
        if not queries or not self._has_any(owner):
            return [[] for _ in searches]
        vectors = dict(zip(queries, self._encoder.vectors(queries), strict=True))
        with self._shelf(owner) as shelf:
            shelf.refuse_foreign(list(vectors.values()))
            now = shelf.now()
            return [
                shelf.index.search(
                    one.query,
                    vectors[one.query],
                    wanted,
                    now,
                    limit=limited(one.limit),
                    threshold=one.threshold,
                    alpha=alpha_for(one.query, self._settings.alpha, self._settings.alpha_zh),
                    replaced=one.replaced,
                )
                if one.query in vectors
                else []
                for one, wanted in zip(searches, meant, strict=True)
            ]

    def list(
        self,
        user: str,
        *,
        project: str | None = None,
        types: Collection[str] | None = None,
        limit: int = 20,
        cursor: str | None = None,
        replaced: bool = False,
    ) -> Listing:
        """The memories of a user, newest first, some at a time.

        Args:
            user: Whose.
            project: Of which project; an empty text means those without one, None all.
            types: Of which types; None for all.
            limit: How many at most; no more than `MAX_LIMIT` in any case.
            cursor: Of the listing before; None for the first.
            replaced: Whether to show also what is superseded or consolidated by now.

        Raises:
            NoUserError, StorageError: As `store`.
            InputError: A type, the limit or the cursor has no meaning.
        """
        owner, wanted, limit, after = owner_of(user), wanted_of(project, types), limited(limit), position_of(cursor)
        with self._shelf(owner) as shelf:
            now, all_records = shelf.now(), shelf.index.records
            ids = shelf.index.ids(wanted, now, all_of_them=replaced)
            found = [all_records[id] for id in ids if not events.is_over(all_records[id], now)]
        places = [(place_of(record), record) for record in found if after is None or place_of(record) < after]
        page = [record for _, record in heapq.nlargest(limit, places, key=lambda item: item[0])]
        is_last = len(places) <= limit
        return Listing(page, None if is_last else json.dumps(place_of(page[-1])))

    # --- inside ----------------------------------------------------------------------------------------------------

    def is_busy(self, user: str) -> bool:
        """Whether it is not the store that takes its time: the index is being made, or a model embeds.

        Raises:
            NoUserError: Nobody is named.
        """
        owner = owner_of(user)
        with self._lock:
            shelf = self._shelves.get(owner)
        return self._encoder.is_busy or (shelf is not None and shelf.is_indexing)

    def _has_any(self, owner: str) -> bool:
        """Whether a user has memories. It is asked outside of what follows: a model may take its time, or for ever."""
        with self._lock:
            known = self._shelves.get(owner)
        if known is not None and known.index.records and not known.index.foreign and self._process == os.getpid():
            return True
        with self._shelf(owner) as shelf:
            shelf.refuse_foreign([])
            return bool(shelf.index.records)

    @contextmanager
    def _shelf(self, owner: str) -> "Iterator[Shelf]":
        """The memories of one user as they are now, for one call at a time."""
        with self._lock:
            if self._process != os.getpid():  # a fork has to write under a name of its own
                self._shelves, self._process = OrderedDict(), os.getpid()
            shelf = self._shelves.pop(owner, None) or Shelf(self._port, owner, self._encoder, self._clock)
            self._shelves[owner] = shelf
            while len(self._shelves) > self._size:
                self._shelves.popitem(last=False)
        with shelf.opened():
            yield shelf

    def _embed(self, texts: Sequence[str]) -> Sequence[_Vectors | None]:
        """Vectors; without them memories are kept all the same, and embedded later."""
        try:
            return list(self._encoder.vectors(texts))
        except EmbeddingError as error:
            _LOG.warning(
                "Memories are kept without vectors, to be found by their words, until more are stored with a model at "
                "hand, or %s is run: %s",
                REEMBED,
                error,
            )
            return [None] * len(texts)

    def _vector(self, vector: _Vectors | None) -> Mapping[str, Any]:
        return {"vector": "", "model": ""} if vector is None else vector_fields(vector, self._encoder.model)

    def _keep(self, shelf: "Shelf", fields: Mapping[str, Any], vector: _Vectors | None) -> Stored:
        """Store one memory, or add its source to the one that says the same."""
        now = shelf.now()
        project, type, text = fields["project_name"], fields["type"], fields["text"]
        known = shelf.index.same(project, type, text, now)
        if known is None:
            return Stored(shelf.begin({**fields, **self._vector(vector)}), True)
        record = shelf.index.records[known]
        source, trust = fields["source"], fields["trust"]
        if (source is not None and source not in record["sources"]) or trust > record["trust"]:
            shelf.write([events.see(known, shelf.now(record), source, trust)])
        return Stored(shelf.index.records[known], False)

    def _put_in_place(self, user: str, ids: Sequence[str], text: str, about: About, how: Replacement) -> Record:
        owner = owner_of(user)
        vector = self._embed([clean(text)])[0]
        with self._shelf(owner) as shelf:
            shelf.refuse_foreign([vector])
            olds = [shelf.heir_of(id) if how == "supersede" else shelf.known(id) for id in ids]
            fields = checked({"text": text, **_inherited(olds, how), **about})
            _refuse_mixture(olds, fields)
            same = shelf.index.same(fields["project_name"], fields["type"], fields["text"], shelf.now())
            if same is not None and how == "supersede":
                return self._confirm(shelf, same, olds[0], fields)
            sources = [source for old in olds for source in old["sources"]] if how == "consolidate" else []
            drawn = {"replaces": [old["id"] for old in olds], "how": how, "sources": sources, **self._vector(vector)}
            record = shelf.begin({**fields, **drawn}, after=olds)
            self._make_room(shelf, {record["id"]})
            return record

    def _confirm(self, shelf: Shelf, id: str, old: Record, fields: Mapping[str, Any]) -> Record:
        """The new value is known already: it gets the source, and what it supersedes is marked."""
        record = shelf.index.records[id]
        written = [events.see(id, shelf.now(record), fields["source"], fields["trust"])]
        if old["id"] != id:
            written.append(events.replace(old["id"], shelf.now(old), id, "supersede"))
        shelf.write(written)
        return shelf.index.records[id]

    def _make_room(self, shelf: "Shelf", spared: Collection[str]) -> Sequence[str]:
        """Bring a user's memories below the quota, the least retained first, but not what was stored just now."""
        over = 0 if self._quota is None else len(shelf.index.records) - self._quota
        if over <= 0:
            return []
        over += (self._quota or 0) // SPARE  # so that not every further memory costs a look at all of them
        now = self._clock()
        others = [record for id, record in shelf.index.records.items() if id not in spared]
        weakest = heapq.nsmallest(over, others, key=lambda r: (retention(r, now), r["created_at"], r["id"]))
        return shelf.erase([record["id"] for record in weakest])


def _checked_search(asked: Search) -> Wanted:
    limited(asked.limit)
    if not isinstance(asked.query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"What is looked for is a text, not {asked.query!r}.")
    least: object = asked.threshold.least if isinstance(asked.threshold, ByKind) else asked.threshold
    if least is not None and (isinstance(least, bool) or not isinstance(least, int | float) or not -1 <= least <= 1):
        raise InputError("A threshold is a cosine from -1 to 1. Give None for no threshold.")
    return wanted_of(asked.project, asked.types)


def _inherited(olds: Sequence[Record], how: Replacement) -> Mapping[str, Any]:
    """What a memory has of those in whose place it comes."""
    first = olds[0]
    own: dict[str, Any] = {name: first[name] for name in ("type", "project", "subject", "attribute", "importance")}
    if how == "consolidate":
        ends = [datetime.fromisoformat(old["expires_at"]) for old in olds if old["expires_at"]]
        own |= {"trust": max(old["trust"] for old in olds), "expires_at": min(ends, default=None)}
        own |= {"importance": max(old["importance"] for old in olds)}
    return own


def _refuse_mixture(olds: Sequence[Record], fields: Mapping[str, Any]) -> None:
    for old in olds:
        if (old["type"], old["project"]) != (fields["type"], fields["project_name"]):
            raise InputError(
                "Only memories of one type and one project take each other's place. Store another one instead."
            )
