"""Memories across conversations in Python: recalled, remembered, corrected, drawn together, and truly forgotten."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack, cast

from agentic_memory_bank.engines.conversation import TRUST
from agentic_memory_bank.engines.extractive.forgetting import subjects_of
from agentic_memory_bank.nodes.forgetting import meant
from agentic_memory_bank.nodes.recall.thresholds import by_kind
from agentic_memory_bank.runs.consolidation import consolidate, store_insights
from agentic_memory_bank.state.errors import InputError, UnknownMemoryError
from agentic_memory_bank.state.records import Record, RecordType
from agentic_memory_bank.tools.memories.queries import Listing, MemoryHit, Threshold
from agentic_memory_bank.tools.memories.validation import MemoryFields, conversation_of, project_of, stamp, user_hash
from agentic_memory_bank.tools.pages.stores import delete_expired_pages

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


from agentic_memory_bank.runs.conversation_memory import ConversationMemory, ThresholdChoice
from agentic_memory_bank.runs.deletion_preview import DeletionPreview, preview_of, several

LONGEST_DESCRIPTION: Final = 1_000
"""Characters in which it is said what is to be forgotten."""


class MaintenanceReport(TypedDict):
    """What maintenance has done, in numbers."""

    expired: int
    pruned: int
    over_quota: int
    tombstones: int
    writers: int
    reembedded: int
    conversations: int
    """From how many memories were drawn, since they have ended in silence."""
    consolidated: int
    insights: int
    pages: int
    """How many pages of memories of pages in the same home were erased, since their time was over."""


class Memories(ConversationMemory):
    """The memories of all users; each call says whose are meant, and reaches those of nobody else.

    Safe across threads; other processes may work on the same store at the same time. It is a context manager: leaving
    it waits for what is still to be remembered and closes what it has opened.

    Args:
        store: LangGraph's store in which memories are kept. Default: a file in `home`.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        engine: Makes the judgements, in place of chat models and of the extractive engine.
        models: A LangChain chat model, or a mapping of roles to chat models. Default: those that the settings name, or
            else the extractive engine, which needs no network and no key.
        settings: `Settings`, or a mapping of their values. Default: those of the environment.
        clock: Returns the current time; a fixed one makes runs repeatable.
        home: Folder of the file. Default: `MEMORY_BANK_HOME`, or the user's state folder.
        checkpointer: Where graphs of yours checkpoint conversations, each under its id as the thread: forgetting a
            whole user, or a project, erases these threads too.

    Raises:
        SettingsError: A setting has no meaning.
    """

    # --- single memories -------------------------------------------------------------------------------------------

    def store(self, text: str, *, user: str, **about: Unpack[MemoryFields]) -> Record:
        """Keep a memory as it is said here, credentials too: that is the caller's decision.

        Args:
            text: The memory; it should be understood alone.
            user: Id of the user whose memories are meant.
            about: Its `type` (`semantic` unless said otherwise), `project`, `subject`, `attribute`, `source`, `trust`,
                `importance`, `expires_at` (default: as `memory_ttl_days` says), `evidence`.

        Returns:
            The memory; where it was known, that one, with one more source.

        Raises:
            NoUserError: No user is named.
            InputError: It cannot be kept.
            EmbeddingError: Vectors of another model are there; the message names the command that makes them anew.
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
        """The memories that fit a query best, best first, without gate and rewriting; they count as used.

        None are found for a user who has switched memory off.

        Args:
            query: What to search for, in plain words.
            user: Id of the user whose memories are meant.
            project: An empty text means the memories without a project; None all.
            types: Types of memories; None for all.
            limit: How many at most. Default: that of the settings.
            threshold: Which hits are near enough.

        Raises:
            NoUserError: No user is named.
            InputError: What is asked has no meaning.
            EmbeddingError: The query cannot be embedded, or the vectors that are there are of another model.
            StorageError: The store failed.
        """
        if self.mode(user=user) == "off":
            return []
        wanted = self.settings.recall_limit if limit is None else limit
        records, least = self._records, self._least(query, threshold)
        found = records.search(user, query, project=project, types=types, limit=wanted, threshold=least)
        records.count_use(user, [one.record["id"] for one in found])
        return found

    def get(self, id: str, *, user: str) -> Record:
        """A memory, with its history.

        Raises:
            UnknownMemoryError: This user has none of this id, whoever else may.
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
        """The memories of a user, newest first.

        Args:
            user: Id of the user whose memories are meant.
            project: An empty text means the memories without a project; None all.
            types: Types of memories; None for all.
            limit: How many at most; no more than 100 in any case.
            cursor: That of the page before; None for the first.
            replaced: Whether to show also what is superseded or consolidated by now.

        Raises:
            NoUserError, InputError, StorageError: As `retrieve`.
        """
        return self._records.list(user, project=project, types=types, limit=limit, cursor=cursor, replaced=replaced)

    def update(self, id: str, text: str, *, user: str) -> Record:
        """Change what a memory says: it is found by its new words, and the earlier ones go to its history.

        Raises:
            UnknownMemoryError: This user has no such memory.
            NoUserError, InputError, EmbeddingError, StorageError: As `store`.
        """
        self._check_on(user)
        return self._records.update(user, id, text)

    def supersede(self, id: str, text: str, *, user: str) -> Record:
        """Put a new value in place of a memory, which stays, dated and marked; returns the new. Raises as `update`."""
        self._check_on(user)
        about: MemoryFields = {"trust": TRUST["user"], **self._end()}
        return self._records.supersede(user, id, text, **about)

    # --- forgetting ------------------------------------------------------------------------------------------------

    def delete(self, ids: Collection[str], *, user: str) -> Sequence[str]:
        """Erase memories with their history and all that was drawn from them; of what is named in part, the rest stays.

        Args:
            ids: Of memories, or of parts of them, as `concerning` and `reach` name them.
            user: Id of the user whose memories are meant.

        Returns:
            The ids of all that are gone; ids that were not there are no error.

        Raises:
            InputError: It is one text, and no collection of ids; or a memory of which a part is named says something
                else by now.
            NoUserError, StorageError: As `get`.
        """
        return self._records.delete(user, several(ids))

    def preview_delete(self, ids: Collection[str], *, user: str) -> DeletionPreview:
        """All that `forget` would erase, whole or in part; nothing is erased. Raises as `forget`."""
        return preview_of(self._records.preview_delete(user, several(ids)), ids)

    def preview_delete_all(
        self, *, user: str, project: str | None = None, type: RecordType | None = None
    ) -> DeletionPreview:
        """All that `forget_scope` would erase, whole or in part; nothing is erased. Args and errors as there."""
        found = self._records.preview_delete_all(user, project, type)
        return preview_of(found, {record["id"] for record in found.deleted if type in (None, record["type"])})

    def preview_delete_about(self, description: str, *, user: str, project: str | None = None) -> DeletionPreview:
        """What concerns a description ("my sister", "Project Falcon"): shown before it is forgotten, erases nothing.

        A memory does where it, an earlier wording of it, or what was said for it holds the words of the description:
        all of them in one clause, in any of their forms; of "my husband Tom's allergy" the allergy and one of the
        others. Nothing is found by likeness. Of a memory that says other things, too, only the clauses that hold the
        words are meant. Also what is superseded by now is found.

        Args:
            description: What is to be forgotten; a few words.
            user: Id of the user whose memories are meant.
            project: An empty text means the memories without a project; None all.

        Raises:
            InputError: The description says nothing.
            NoUserError, StorageError: As `get`.
        """
        user_hash(user)
        if not isinstance(description, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"What is to be forgotten is said by a text, not by {description!r}.")
        subjects = subjects_of(description) if len(description) <= LONGEST_DESCRIPTION else ()
        if not subjects:
            raise InputError("Say in a few words what is to be forgotten, such as a name or a subject.")
        ids = meant(self._all(user, project, replaced=True), subjects)
        return preview_of(self._records.preview_delete(user, ids), ids)

    def delete_all(self, *, user: str, project: str | None = None, type: RecordType | None = None) -> Sequence[str]:
        """Erase all memories of a user, or those of a project, of a type, or both, and whatever else is kept of them.

        What waits to be remembered of the user is dropped, and what is being remembered just now keeps nothing.

        Args:
            user: Id of the user whose memories are meant.
            project: An empty text means the memories without a project; None all.
            type: The type of the memories; None for all.

        Returns:
            The ids of all that are gone.

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
        """Draw together memories of one type and project that say the same, or refine or correct each other.

        Each group becomes one memory with the last value, at once or not at all; its parts stay, marked.

        Args:
            user: Id of the user whose memories are meant.
            project: An empty text means the memories without a project; None each for itself.

        Returns:
            The new memories; `replaces` names what each was made of.

        Raises:
            EngineError: A model could not judge them; the groups before are drawn together.
            NoUserError, EmbeddingError, StorageError: As `retrieve`.
        """
        if self.mode(user=user) != "on":
            return []
        those = self._all(user, project)
        return consolidate(self._records, user, those, self._stores.encoder, self._engine("consolidate"))

    def reflect(self, *, user: str, project: str = "") -> Sequence[Record]:
        """Draw insights from what recurs in at least three memories; each names the memories it rests on.

        Returns:
            The insights that are new, as memories of the type `reflective`.

        Raises:
            EngineError: A model could not judge the memories.
            NoUserError, EmbeddingError, StorageError: As `retrieve`.
        """
        if self.mode(user=user) != "on":
            return []
        end = self._end().get("expires_at")
        return store_insights(self._records, user, project, self._all(user, project), self._engine("reflect"), end)

    def maintain(
        self, *, reembed: bool = False, consolidate: bool = False, reflect: bool = False, user: str | None = None
    ) -> MaintenanceReport:
        """For all users: erase what is over, no longer retained, or over the quota. To be run from time to time.

        Memories are drawn from conversations that have ended in silence.

        Args:
            reembed: Make the vectors anew that are of another embedding model.
            consolidate: Draw memories together, too, as `consolidate` does.
            reflect: Draw insights, too, as `reflect` does.
            user: For whom alone memories are drawn, from conversations and from memories; None for all.

        Raises:
            EmbeddingError, EngineError, StorageError: As what it does.
        """
        records = self._records
        pages = delete_expired_pages(self._file.path.parent) if self._file is not None else 0
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
        """The operations as LangChain tools, for an agent that serves one user: no model can name another.

        Args:
            user: Whose memories the tools reach.
            project: The project; an empty text for none.

        Raises:
            NoUserError: No user is named.
        """
        from agentic_memory_bank.runs.memory_tools import tools_of

        user_hash(user)
        return tools_of(cast("Any", self), user, project)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _draw_from_silent(self, user: str) -> int:
        """Draw memories from conversations that ended in silence, or whose time had come; from how many that was."""
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
        """The conversations that a user's memories come from; where nobody has threads, nobody asks."""
        if self._checkpointer is None:
            return set()
        sources = (source for record in self._all(user, project, replaced=True) for source in record["sources"])
        states = self._records.conversations.list_all(user)
        named = {conversation_of(state) for state in states if project in (None, project_of(state))}
        return (named | {source["conversation"] for source in sources}) - {""}
