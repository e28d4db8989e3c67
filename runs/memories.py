"""The class `Memories`: stores, searches, corrects, consolidates and deletes the memories of users."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack, cast

from agentic_memory_bank.engines.conversation import TRUST
from agentic_memory_bank.engines.extractive.forgetting import subjects_described
from agentic_memory_bank.nodes.forgettable import meant
from agentic_memory_bank.nodes.recall.thresholds import by_kind
from agentic_memory_bank.runs.consolidation import consolidate, store_insights
from agentic_memory_bank.runs.kept_memories import KeptMemories
from agentic_memory_bank.state.errors import InputError, UnknownMemoryError
from agentic_memory_bank.state.records import Record, RecordType
from agentic_memory_bank.tools.memories.validation import (
    Listing,
    MemoryFields,
    MemoryHit,
    Threshold,
    conversation_of,
    project_of,
    stamp,
    user_hash,
)
from agentic_memory_bank.tools.pages.stores import delete_expired_pages
from agentic_memory_bank.tools.text.cleaning import check_asked

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


from agentic_memory_bank.runs.conversation_memory import ThresholdChoice
from agentic_memory_bank.tools.memories.deletion import DeletionPreview, preview_of, several

LONGEST_DESCRIPTION: Final = 1_000
"""Longest description of what is to be deleted, in characters."""


class MaintenanceReport(TypedDict):
    """Counts what `maintain` has done."""

    expired: int
    pruned: int
    over_quota: int
    tombstones: int
    writers: int
    reembedded: int
    conversations: int
    """Conversations that had fallen silent and from which memories were extracted."""
    consolidated: int
    insights: int
    pages: int
    """Expired pages that were erased from the memories of pages in the same home."""


class Memories(KeptMemories):
    """Store, search, correct and delete what is known of users across conversations.

    Each call names a user and reaches the memories of that user alone. Safe across threads, and other processes may
    work on the same store at the same time. Used as a context manager, it waits at the end for what is still being
    remembered, and closes what it has opened.

    Args:
        store: LangGraph's store in which memories are kept. Default: a file in `home`.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        engine: Makes the judgements, in place of chat models and of the extractive engine.
        models: A LangChain chat model, or a mapping of roles to chat models. Default: those that the settings name, or
            else the extractive engine, which needs no network and no key.
        settings: `Settings`, or a mapping of their values. Default: those of the environment.
        clock: Returns the current time; a fixed one makes runs repeatable.
        home: Folder of the file. Default: the database of `MEMORY_BANK_DATABASE_URL`, or else `MEMORY_BANK_HOME`,
            or the user's state folder.
        checkpointer: Checkpointer of your own graphs, where threads are named after conversations: `delete_all` then
            erases these threads, too.

    Raises:
        SettingsError: A setting is not known, or its value is not allowed.

    Example:
        >>> with Memories() as memories:
        ...     memories.remember("I moved to Lisbon last month.", user="ana", end=True)
        ...     memories.recall("Where do I live now?", user="ana")["block"]
    """

    # --- single memories -------------------------------------------------------------------------------------------

    def store(self, text: str, *, user: str, **about: Unpack[MemoryFields]) -> Record:
        """Store a memory as it is given; unlike what is extracted from conversations, credentials are not left out.

        Args:
            text: Text of the memory, which should be understood without its conversation.
            about: Further fields: `type` (default: `semantic`), `project`, `subject`, `attribute`, `source`, `trust`,
                `importance`, `expires_at` (default: as `memory_ttl_days` says), `evidence`, `metadata`.

        Returns:
            The stored memory; where the same text was stored before, that memory with one more source.

        Raises:
            NoUserError: No user is named.
            InputError: The text is empty or too long, or a field has no meaning.
            EmbeddingError: The stored vectors are of another model; the message names the command that renews them.
            StorageError: The store failed.
        """
        self._check_on(user)
        return self._records.store(user, text, **{"trust": TRUST["user"], **self._end(), **about}).record

    def search(
        self,
        query: str,
        *,
        user: str,
        project: str | None = "",
        types: Collection[RecordType] | None = None,
        limit: int | None = None,
        threshold: ThresholdChoice = "default",
    ) -> Sequence[MemoryHit]:
        """Search memories, best first; unlike `recall`, no gate and no rewriting stand before the search.

        What is found counts as used, and so is retained longer.

        None are found for a user who has switched memory off.

        Args:
            query: What to search for, in plain words.
            project: An empty text means the memories without a project; None all.
            types: Types of memories; None for all.
            limit: How many at most. Default: that of the settings.
            threshold: Least cosine of a hit, from -1 to 1; None for no threshold. Default: that of the settings.

        Raises:
            NoUserError: No user is named.
            InputError: A filter has no meaning, or the query has more than 50,000 characters.
            EmbeddingError: The query cannot be embedded, or the stored vectors are of another model.
            StorageError: The store failed.
        """
        check_asked(query, "query")
        if self.mode(user=user) == "off":
            return []
        wanted = self.settings.recall_limit if limit is None else limit
        records, least = self._records, self._least(query, threshold)
        found = records.search(user, query, project=project, types=types, limit=wanted, threshold=least)
        records.count_use(user, [one.record["id"] for one in found])
        return found

    def get(self, id: str, *, user: str) -> Record:
        """Get a memory by its id, with its history.

        Raises:
            UnknownMemoryError: This user has no memory of this id.
            NoUserError: No user is named.
            StorageError: The store failed.
        """
        record = self._records.get(user, id)
        if record is None:
            raise UnknownMemoryError(f"This user has no memory {id!r}. List the memories to see which there are.")
        return record

    def list(
        self,
        *,
        user: str,
        project: str | None = "",
        types: Collection[RecordType] | None = None,
        limit: int = 20,
        cursor: str | None = None,
        replaced: bool = False,
    ) -> Listing:
        """List the memories of a user, newest first.

        Args:
            project: An empty text means the memories without a project; None all.
            types: Types of memories; None for all.
            limit: The most that are returned, up to 100.
            cursor: Cursor that the call before returned; None for the first page.
            replaced: Whether superseded and consolidated memories are listed, too.

        Raises:
            NoUserError, InputError, StorageError: As `search`.
        """
        return self._records.list(user, project=project, types=types, limit=limit, cursor=cursor, replaced=replaced)

    def update(self, id: str, text: str, *, user: str) -> Record:
        """Change the text of a memory; its vector follows, and the earlier text goes to its history.

        Raises:
            UnknownMemoryError: This user has no such memory.
            NoUserError, InputError, EmbeddingError, StorageError: As `store`.
        """
        self._check_on(user)
        return self._records.update(user, id, text)

    def supersede(self, id: str, text: str, *, user: str) -> Record:
        """Store a new value in place of a memory, which stays, dated and marked, and return it. Raises as `update`."""
        self._check_on(user)
        about: MemoryFields = {"trust": TRUST["user"], **self._end()}
        return self._records.supersede(user, id, text, **about)

    # --- forgetting ------------------------------------------------------------------------------------------------

    def delete(self, ids: Collection[str], *, user: str) -> Sequence[str]:
        """Delete memories with their history and all that was derived from them.

        Of a memory that is named in part, the rest stays as a memory of its own.

        Args:
            ids: Ids of memories, or of parts of them as a `DeletionPreview` names them.

        Returns:
            The ids of all memories that are gone. Unknown ids are no error.

        Raises:
            InputError: `ids` is a single text; or a memory of which a part is named has changed since.
            NoUserError, StorageError: As `get`.
        """
        return self._records.delete(user, several(ids))

    def preview_delete(self, ids: Collection[str], *, user: str) -> DeletionPreview:
        """Preview what `delete` would delete, whole or in part. Deletes nothing; raises as `delete`."""
        return preview_of(self._records.preview_delete(user, several(ids)), ids)

    def preview_delete_all(
        self, *, user: str, project: str | None = None, type: RecordType | None = None
    ) -> DeletionPreview:
        """Preview what `delete_all` would delete. Deletes nothing; arguments and errors are those of `delete_all`."""
        found = self._records.preview_delete_all(user, project, type)
        return preview_of(found, {record["id"] for record in found.deleted if type in (None, record["type"])})

    def preview_delete_about(self, description: str, *, user: str, project: str | None = None) -> DeletionPreview:
        """Preview the deletion of what a description is about, such as "my sister" or "Project Falcon".

        A memory is meant where its text, an earlier wording or a quote of its sources has all words of the description
        in one clause, in any of their forms; of "my husband Tom's allergy", the allergy and one of the two names are
        enough. Similar meaning is not. Of a memory that says other things, too, only the clauses with the words are
        meant. Superseded memories are included. Deletes nothing: hand `ids` of the preview to `delete`.

        Args:
            description: A few words for what is to be deleted.
            project: An empty text means the memories without a project; None all.

        Raises:
            InputError: The description is empty, or has no word to look for.
            NoUserError, StorageError: As `get`.
        """
        user_hash(user)
        if not isinstance(description, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"What is to be forgotten is said by a text, not by {description!r}.")
        subjects = subjects_described(description) if len(description) <= LONGEST_DESCRIPTION else ()
        if not subjects:
            raise InputError("Say in a few words what is to be forgotten, such as a name or a subject.")
        ids = meant(self._all(user, project, replaced=True), subjects)
        return preview_of(self._records.preview_delete(user, ids), ids)

    def delete_all(self, *, user: str, project: str | None = None, type: RecordType | None = None) -> Sequence[str]:
        """Delete all memories of a user, or those of a project, of a type, or both, with all else that is kept of them.

        What still waits to be remembered for the user is dropped.

        Args:
            project: An empty text means the memories without a project; None all.
            type: The type of the memories; None for all.

        Returns:
            The ids of all memories that are gone.

        Raises:
            NoUserError, InputError, StorageError: As `list`.
        """
        owner, records = user_hash(user), self._records
        if self._queue is not None and project is None and type is None:
            self._queue.drop(owner)
        conversations = set[str]() if type else self._conversations(user, project)
        gone = records.delete_all(user, project, type)
        if self._checkpointer is not None:
            for conversation in sorted(conversations):
                self._checkpointer.delete_thread(conversation)
        with self._lock:
            self._graphs.clear()  # with the answers of models, which hold what was said
        return gone

    # --- upkeep ----------------------------------------------------------------------------------------------------

    def consolidate(self, *, user: str, project: str | None = None) -> Sequence[Record]:
        """Merge memories of one type and project that repeat, refine or correct each other; not those that are pinned.

        Each group becomes one memory with the latest value, in one step or not at all; its parts stay, marked.

        Args:
            project: An empty text means the memories without a project; None every project, each for itself.

        Returns:
            The new memories; `replaces` of each names those it was merged from.

        Raises:
            EngineError: A model could not judge a group; the groups before it are merged.
            NoUserError, EmbeddingError, StorageError: As `search`.
        """
        if self.mode(user=user) != "on":
            return []
        those = self._all(user, project)
        return consolidate(self._records, user, those, self._stores.encoder, self._engine("consolidate"))

    def reflect(self, *, user: str, project: str = "") -> Sequence[Record]:
        """Derive insights from what recurs in at least three memories; each names the memories it rests on.

        Returns:
            The new insights, as memories of the type `reflective`.

        Raises:
            EngineError: A model could not judge the memories.
            NoUserError, EmbeddingError, StorageError: As `search`.
        """
        if self.mode(user=user) != "on":
            return []
        end = self._end().get("expires_at")
        return store_insights(self._records, user, project, self._all(user, project), self._engine("reflect"), end)

    def maintain(
        self, *, reembed: bool = False, consolidate: bool = False, reflect: bool = False, user: str | None = None
    ) -> MaintenanceReport:
        """Keep the store in order, for all users; run it from time to time, such as by cron.

        Deletes what has expired, what is no longer retained and what is over the quota, unless it is pinned, makes
        missing vectors, and extracts memories from conversations that have fallen silent.

        Args:
            reembed: Renew vectors that are of another embedding model.
            consolidate: Also call `consolidate`.
            reflect: Also call `reflect`.
            user: The one user for whom memories are extracted, merged and reflected on; None for all.

        Raises:
            EmbeddingError, EngineError, StorageError: As the calls that it makes.
        """
        records = self._records
        pages = delete_expired_pages(self._home) if self._file is not None else 0
        made = records.reembed() if reembed else 0
        done = records.maintain()
        ended = united = drawn = 0
        for one in records.users() if user is None else [user]:
            made += records.backfill_vectors(one)
            ended += self._draw_from_silent(one)
            united += len(self.consolidate(user=one)) if consolidate else 0
            drawn += sum(len(self.reflect(user=one, project=p)) for p in self._projects(one)) if reflect else 0
        return {
            **done,
            "reembedded": made,
            "conversations": ended,
            "consolidated": united,
            "insights": drawn,
            "pages": pages,
        }

    # --- agents ----------------------------------------------------------------------------------------------------

    def as_tools(self, user: str, project: str = "") -> "Sequence[BaseTool]":
        """Make LangChain tools of the operations, for an agent that serves one user: no argument names another.

        Args:
            user: Id of the user whose memories the tools reach.
            project: Project whose memories the tools reach; an empty text for those without one.

        Raises:
            NoUserError: No user is named.
        """
        from agentic_memory_bank.runs.memory_tools import tools_of

        user_hash(user)
        return tools_of(cast("Any", self), user, project)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _draw_from_silent(self, user: str) -> int:
        """Extract memories from conversations that fell silent or are due, and count these."""
        ended = stamp(self._clock() - timedelta(minutes=self.settings.remember_idle_minutes))
        all_states = (state for state in self._records.conversations.list_all(user) if state["pending"])
        states = [state for state in all_states if state["due"] or state["at"] <= ended]
        for state in states:
            named = {"messages": [], "conversation_id": conversation_of(state)}
            self._remembered(named, self._context(user, project_of(state)))
        return len(states)

    def _least(self, query: str, threshold: ThresholdChoice) -> Threshold:
        if threshold != "default":
            return threshold
        least = self.settings.recall_threshold
        if least is not None or not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance] - is refused
            return least
        return by_kind(query, self._stores.encoder.model)

    def _projects(self, user: str) -> Sequence[str]:
        return sorted({record["project"] for record in self._all(user, None)})

    def _conversations(self, user: str, project: str | None) -> set[str]:
        """List the conversations that a user's memories come from; none where no checkpointer was given."""
        if self._checkpointer is None:
            return set()
        sources = (source for record in self._all(user, project, replaced=True) for source in record["sources"])
        states = self._records.conversations.list_all(user)
        named = {conversation_of(state) for state in states if project in (None, project_of(state))}
        return (named | {source["conversation"] for source in sources}) - {""}
