"""Finds memories in a LangGraph `BaseStore`: by id, by page, by search, and what a deletion would take with it."""

import heapq
import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from langgraph.store.base import BaseStore

from agentic_memory_bank.state.errors import EmbeddingError, InputError
from agentic_memory_bank.state.records import Record, RecordType, UserHash, is_expired
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.memories.agent_conversations import AgentConversations
from agentic_memory_bank.tools.memories.conversation_states import ConversationStates, MemorySwitches
from agentic_memory_bank.tools.memories.deletion import Deletion, plan_deletion
from agentic_memory_bank.tools.memories.keeping import MemoryCopy, copied
from agentic_memory_bank.tools.memories.store_adapter import StoreAdapter
from agentic_memory_bank.tools.memories.user_memories_pool import UserMemoriesPool
from agentic_memory_bank.tools.memories.validation import (
    Listing,
    MemoryHit,
    MemoryQuery,
    NewMemory,
    Threshold,
    checked_cursor,
    checked_fields,
    checked_filter,
    checked_limit,
    checked_query,
    sort_key,
    user_hash,
)
from agentic_memory_bank.tools.memories.vectors import REEMBED, Vector, vector_fields
from agentic_memory_bank.tools.search.query import alpha_for
from agentic_memory_bank.tools.spans import memory_operation

QUOTA: Final = 10_000
"""How many memories a user has at most, unless said otherwise."""

_LOG = logging.getLogger(__name__)


class RecordReader:
    """The memories of all users, in a store of LangGraph's; safe across threads and processes.

    Nothing of a user is ever read for another: namespaces are hashes, an index holds one user, and filters choose
    before anything is ranked. Of two events of one memory, the later one in this process always has the later time.

    Every method with a `user` raises NoUserError where nobody is named, and StorageError where the store fails.

    Args:
        store: Any `BaseStore` with synchronous methods. `default_store()` is the embedded one.
        settings: The weights of keywords. Default: those of the environment.
        quota: How many memories a user has at most, the least retained are deleted first; None for any number.
    """

    def __init__(
        self,
        store: BaseStore,
        encoder: Encoder,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        settings: Settings | None = None,
        quota: int | None = QUOTA,
    ) -> None:
        if quota is not None and quota < 1:
            raise InputError("A quota is at least 1. Give None for no quota.")
        self._adapter = StoreAdapter(store)
        self._encoder, self._settings, self._quota = encoder, settings or Settings.of(None), quota
        most = self._settings.memory_index_megabytes * 1_000_000
        self._users = UserMemoriesPool(self._adapter, encoder, clock, most)
        self.conversations = ConversationStates(self._adapter, clock)
        """The state of the conversations that these memories are extracted from."""
        self.agents = AgentConversations(self._adapter, clock)
        """What agents did in conversations."""
        self.switches = MemorySwitches(self._adapter)
        """Who wants no memory."""

    def get(self, user: str, id: str) -> Record | None:
        """A memory of this user, current or replaced; None where there is none, or it has expired."""
        with self._users.opened(user_hash(user)) as memories:
            record = memories.index.records.get(id)
            return None if record is None or is_expired(record, memories.now()) else record

    def find_same(self, user: str, drafts: Sequence[NewMemory]) -> "Sequence[Record | None]":
        """For each draft the memory, current or replaced, of the same text from the same source; None for none.

        Raises:
            InputError: A field cannot be kept.
        """
        owner, wanted = user_hash(user), [checked_fields(draft) for draft in drafts]
        if not wanted:
            return []
        with self._users.opened(owner) as memories:
            found = [memories.index.same_source(fields) for fields in wanted]
            return [memories.index.records[id] if id else None for id in found]

    def users(self) -> Sequence[UserHash]:
        """All who have memories, as hashes: their ids are kept nowhere.

        Raises:
            StorageError: The store failed.
        """
        return [UserHash(owner) for owner in self._adapter.owners()]

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
    ) -> Sequence[MemoryHit]:
        """Find the memories that fit a query best, best first; nothing is counted as used.

        Args:
            project: An empty text means the memories without a project; None all.
            limit: How many at most; never more than `MAX_LIMIT`.
            threshold: Least raw cosine of a hit that shares no rare name or number with the query. None: no threshold.
            replaced: Whether to find also what is superseded or consolidated by now.

        Raises:
            InputError: A type, the limit or the threshold has no meaning.
            EmbeddingError: The query cannot be embedded, or the stored vectors are of another model.
        """
        return self.search_many(user, [MemoryQuery(query, project, types, limit, threshold, replaced)])[0]

    @memory_operation("search_memory")
    def search_many(self, user: str, queries: "Sequence[MemoryQuery]") -> "Sequence[Sequence[MemoryHit]]":
        """Search several queries in one read of the store and one call of the embedder. Raises as `search`."""
        owner, filters = user_hash(user), [checked_query(one) for one in queries]
        texts = list(dict.fromkeys(one.query for one in queries if one.query.strip()))
        if not texts or not self._has_any(owner):
            return [[] for _ in queries]
        vectors = dict(zip(texts, self._encoder.vectors(texts), strict=True))
        with self._users.opened(owner) as memories:
            memories.check_model(list(vectors.values()))
            now = memories.now()
            return [
                memories.index.search(
                    one.query,
                    vectors[one.query],
                    wanted,
                    now,
                    limit=checked_limit(one.limit),
                    threshold=one.threshold,
                    alpha=alpha_for(one.query, self._settings.alpha, self._settings.alpha_zh),
                    replaced=one.replaced,
                )
                if one.query in vectors
                else []
                for one, wanted in zip(queries, filters, strict=True)
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
        """List the memories of a user, newest first, a page at a time.

        Args:
            project: An empty text means the memories without a project; None all.
            limit: How many at most; never more than `MAX_LIMIT`.
            cursor: That of the page before; None for the first.
            replaced: Whether to list also what is superseded or consolidated by now.

        Raises:
            InputError: A type, the limit or the cursor has no meaning.
        """
        owner, wanted = user_hash(user), checked_filter(project, types)
        limit, after = checked_limit(limit), checked_cursor(cursor)
        with self._users.opened(owner) as memories:
            now, all_records = memories.now(), memories.index.records
            ids = memories.index.ids(wanted, now, include_replaced=replaced)
            found = [all_records[id] for id in ids if not memories.index.is_over(id, now)]
        keyed = [(sort_key(record), record) for record in found if after is None or sort_key(record) < after]
        page = [record for _, record in heapq.nlargest(limit, keyed, key=lambda item: item[0])]
        return Listing(page, None if len(keyed) <= limit else json.dumps(sort_key(page[-1])))

    def has_any(self, user: str, project: str | None, types: Collection[str] | None) -> bool:
        """Whether a user has current memories of a project and of types. Args and errors as `list`."""
        owner, wanted = user_hash(user), checked_filter(project, types)
        with self._users.opened(owner) as memories:
            return bool(memories.index.ids(wanted, memories.now()))

    def is_busy(self, user: str) -> bool:
        """Whether the index or the embedder is what takes its time, and not the store."""
        memories = self._users.peek(user_hash(user))
        return self._encoder.is_busy or (memories is not None and memories.is_indexing)

    def preview_delete(self, user: str, ids: Collection[str], *, quoting: bool = True) -> Deletion:
        """All that `delete` would delete, whole or in part; nothing is deleted. Args and errors as there."""
        with self._users.opened(user_hash(user)) as memories:
            return plan_deletion(memories.index, ids, quoting=quoting)

    def copy_of(self, user: str, ids: Collection[str]) -> MemoryCopy:
        """Copy what `delete` would delete, for `restore`."""
        with self._users.opened(user_hash(user)) as memories:
            planned = plan_deletion(memories.index, ids)
            return copied(memories, planned, self._all_erased_at(user, {one["project"] for one in planned.records}))

    def preview_delete_all(self, user: str, project: str | None = None, type: RecordType | None = None) -> Deletion:
        """All that `delete_all` would delete; facts stay where only turns are meant. Args and errors as there."""
        wanted = checked_filter(project, None if type is None else [type])
        with self._users.opened(user_hash(user)) as memories:
            ids = memories.index.ids(wanted, memories.now(), include_replaced=True)
            return plan_deletion(memories.index, ids, quoting=type is None)

    def lacks_vectors(self, user: str) -> bool:
        """Whether memories of a user have no vector, as far as this process has read them."""
        memories = self._users.peek(user_hash(user))
        return memories is not None and bool(memories.index.unembedded)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _all_erased_at(self, user: str, projects: Collection[str]) -> Mapping[str, str]:
        """When all memories of projects were last deleted; empty for never."""
        return {project: self.conversations.deleted_at(user, project) for project in projects}

    def _has_any(self, owner: str) -> bool:
        """Whether a user has memories; asked before a query is embedded, which may take long."""
        known = self._users.peek(owner)
        if known is not None and known.index.records and not known.index.other_model:
            return True
        with self._users.opened(owner) as memories:
            memories.check_model([])
            return bool(memories.index.records)

    def _embed(self, texts: Sequence[str]) -> Sequence[Vector | None]:
        """Vectors; where the model fails, memories are stored without, and embedded later."""
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

    def _fields_of(self, vector: Vector | None) -> Mapping[str, Any]:
        return vector_fields(vector, "" if vector is None else self._encoder.model)
