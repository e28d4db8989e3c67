"""Memories across conversations in Python: recalled, remembered, corrected, drawn together, and truly forgotten."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypedDict, Unpack, cast
from uuid import uuid4

from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import TRUST, ConversationEngine
from agentic_memory_bank.engines.extractive.remembering.deletion import Subject, parts_meant, subjects_of
from agentic_memory_bank.engines.extractive.remembering.engine import ExtractiveConversationEngine
from agentic_memory_bank.engines.factory import AnswerPool, EngineFactory, EngineRequest, chat_conversation_engine
from agentic_memory_bank.nodes.deps import Clock, Owner, utc_now
from agentic_memory_bank.nodes.messages import checked_messages, turns_of
from agentic_memory_bank.nodes.recall.thresholds import by_kind
from agentic_memory_bank.nodes.remember.saving import (
    IncomingTurns,
    checked_conversation,
    conversation_named,
    save_turns,
)
from agentic_memory_bank.nodes.remember.views import queued_receipt, receipt
from agentic_memory_bank.runs.consolidating import consolidated, insights
from agentic_memory_bank.runs.talking import talk
from agentic_memory_bank.state.conversations import ConversationOutput, MemoryContext, RecallOutput, RememberOutput
from agentic_memory_bank.state.errors import InputError, UnknownMemoryError
from agentic_memory_bank.state.model_table import REMEMBER_ROLES
from agentic_memory_bank.state.records import Record, RecordType
from agentic_memory_bank.state.settings import Settings, checked_settings
from agentic_memory_bank.tools.concurrency.circuit_breaker import guard_of
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.models import default_embeddings
from agentic_memory_bank.tools.memories.cascade import Cut, Reach
from agentic_memory_bank.tools.memories.conversation_states import conversation_of, project_of
from agentic_memory_bank.tools.memories.fields import MAX_LIMIT, About, owner_of, stamp
from agentic_memory_bank.tools.memories.index import Found, Threshold
from agentic_memory_bank.tools.memories.record_store import Listing, RecordStore
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.pages.store import clean_pages
from agentic_memory_bank.tools.storage.sqlite_store import default_store

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from agentic_memory_bank.engines.llm.models import GivenModels
    from agentic_memory_bank.graph.conversation import Conversation
    from agentic_memory_bank.tools.concurrency.worker_pool import Background

Messages = str | BaseMessage | Sequence[Any]
"""What is said: one message of the user, or a conversation, the last message last."""
Least = float | Literal["default"] | None
"""The least raw cosine of a hit, from -1 to 1; None: no threshold; "default": that of the settings, or else of the
embedder."""

DRAIN_SECONDS: Final = 30.0
"""How long closing waits for conversations that are still to be remembered."""
LONGEST_DESCRIPTION: Final = 1_000
"""Characters in which it is said what is to be forgotten."""
EXIT_SECONDS: Final = 5.0
"""How long it waits for what is written down of what was recalled."""


class Concerned(NamedTuple):
    """What forgetting would erase: shown first, and erased by its `ids`."""

    found: Sequence[Record]
    """The memories that are meant."""
    drawn: Sequence[Record]
    """Those that go with them: consolidations and insights drawn from them, and what they were consolidated from."""
    cut: Sequence[Cut]
    """Memories that lose a part: what goes is `gone`, what stays `left`."""
    ids: Sequence[str]
    """All of it, to be handed to `forget`; of a part it says which."""


class Upkeep(TypedDict):
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


class Memories:
    """The memories of all users; each call says whose are meant, and reaches those of nobody else.

    Safe across threads; other processes may work on the same store at the same time. It is a context manager: leaving
    it waits for what is still to be remembered and closes what it has opened.

    Args:
        store: LangGraph's store in which memories are kept. Default: a file in `home`.
        embeddings: Any LangChain embeddings. Default: all-MiniLM-L6-v2, loaded on first use.
        engine: Who judges, in place of chat models and of the extractive engine.
        models: A LangChain chat model, or a mapping of roles to chat models. Default: those that the settings name, or
            else the extractive engine, which needs no network and no key.
        settings: `Settings`, or a mapping of their values. Default: those of the environment.
        clock: Tells the time.
        home: Folder of the file. Default: `MEMORY_BANK_HOME`, or the user's state folder.
        checkpointer: Where graphs of yours checkpoint conversations, each under its id as the thread: forgetting a
            whole user, or a project, erases these threads too.

    Raises:
        SettingsError: A setting has no meaning.
    """

    def __init__(
        self,
        store: BaseStore | None = None,
        embeddings: Embeddings | None = None,
        engine: ConversationEngine | None = None,
        models: "GivenModels | None" = None,
        settings: Settings | Mapping[str, Any] | None = None,
        clock: Clock = utc_now,
        home: str | Path | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
    ) -> None:
        self.settings = checked_settings(settings)
        self._given: dict[str, Any] = {"engine": engine, "models": models, "embeddings": embeddings, "clock": clock}
        self._clock, self._checkpointer = clock, checkpointer
        self._file = default_store(Path(home) if home else None) if store is None else None
        encoder = Encoder(embeddings or default_embeddings(self.settings))
        self._stores = RecordStores(store or self._file, encoder, clock)
        self._lock = threading.RLock()
        self._graphs: dict[str, Any] = {}
        self._queue: Background | None = None

    # --- conversations ---------------------------------------------------------------------------------------------

    def recall(
        self,
        messages: Messages,
        *,
        user: str,
        project: str = "",
        types: Sequence[RecordType] | None = None,
        limit: int | None = None,
        threshold: Least = "default",
        as_of: date | str | None = None,
        tool_names: Sequence[str] = (),
        enable_memory: bool = True,
    ) -> RecallOutput:
        """Find what of a user's memories helps with the last message. A failure of the memory is no error here.

        Args:
            messages: The conversation, or the message alone.
            user: Whose memories.
            project: Of which project; an empty text means those without one.
            types: Of which types; None for all.
            limit: How many at most. Default: that of the settings.
            threshold: Which hits are near enough.
            as_of: The day on which what is recalled was true. Default: now, or the time that the message asks about.
            tool_names: Names of the tools that the answering model has.
            enable_memory: False: nothing is recalled.

        Returns:
            The memories, the block for the prompt, and a receipt that says what was done and what failed.

        Raises:
            NoUserError: Nobody is named.
            InputError: The messages, or what is asked of them, cannot be used.
        """
        owner_of(user)
        asked: dict[str, Any] = {"messages": checked_messages(messages), "types": types and list(types)}
        asked |= {} if limit is None else {"limit": limit}
        asked |= {} if threshold == "default" else {"threshold": threshold}
        asked |= {} if as_of is None else {"as_of": str(as_of)}
        context = self._context(user, project, tool_names=tuple(tool_names), enable_memory=enable_memory)
        return cast(RecallOutput, self._graph("recall").invoke(asked, context=context))

    def remember(
        self,
        messages: Messages,
        *,
        user: str,
        project: str = "",
        conversation_id: str | None = None,
        end: bool = False,
        enable_memory: bool = True,
    ) -> RememberOutput:
        """Remember what was said, now.

        Args:
            messages: The conversation, or what is new of it; turns that were handed over before are known.
            user: Whose memories.
            project: Of which project; an empty text for none.
            conversation_id: Which conversation goes on. Default: one that is named by what is said here.
            end: Whether it has ended, so that memories are drawn from it at once.
            enable_memory: False: nothing is remembered.

        Raises:
            NoUserError: Nobody is named.
            InputError: The messages cannot be used.
            StorageError: The store failed.
        """
        owner_of(user)
        is_over = end and bool(conversation_id) and not messages  # an end needs no last words
        said: dict[str, Any] = {"messages": [] if is_over else checked_messages(messages), "end": end}
        said |= {} if conversation_id is None else {"conversation_id": conversation_id}
        return self._remembered(said, self._context(user, project, enable_memory=enable_memory))

    def remember_later(
        self,
        messages: Messages,
        *,
        user: str,
        project: str = "",
        conversation_id: str | None = None,
        end: bool = False,
        enable_memory: bool = True,
    ) -> RememberOutput:
        """Write down what was said, and draw memories from it in the background, in the order in which it comes.

        Args and errors as `remember`; what fails later is logged. It is on disk when this returns, unless the store
        does not answer within `recall_timeout`.

        Returns:
            A receipt: `queued`; `waiting` where more waits than the settings allow, so that memories are drawn with a
            later call; `dropped` where the store could not be reached besides. `degraded` says why it is not on disk.
        """
        owner, given = owner_of(user), checked_messages(messages)
        context, now, turns = self._context(user, project, enable_memory=enable_memory), self._clock(), turns_of(given)
        if not enable_memory:
            return {"stored": [], "updated": [], "superseded": [], "receipt": receipt("disabled")}
        conversation = checked_conversation(conversation_id) or conversation_named(turns)
        handed = IncomingTurns(Owner(user, project), conversation, given, context, now, end=end)
        fault = save_turns(self._stores, None, handed, self.settings.recall_timeout)
        said = {"messages": given, "end": end, "handed_at": stamp(now), "conversation_id": conversation}
        is_queued = self._background().submit(owner, partial(self._remembered, said, context))
        told = queued_receipt(len(turns), fault, is_queued=is_queued)
        return {"stored": [], "updated": [], "superseded": [], "receipt": told}

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all that was to be remembered later is; whether that was so in time.

        Args:
            timeout: Seconds to wait; None for as long as it takes.
        """
        return self._queue is None or self._queue.flush(timeout)

    def talk(
        self,
        messages: Messages,
        *,
        user: str,
        project: str = "",
        conversation_id: str | None = None,
        enable_memory: bool = True,
        heard: Callable[[str], None] | None = None,
    ) -> ConversationOutput:
        """Answer the last message with what is remembered.

        The message is on disk before the first word of its answer, and the answer before this returns, unless the store
        does not answer within `recall_timeout` (`remembered` says so). Memories are drawn in the background, which
        `flush` waits for, or, where this process ends before, by whoever comes next.

        Args:
            messages: What is new of the conversation, or all of it; the last message is answered.
            user: Whose memories.
            project: Of which project; an empty text for none.
            conversation_id: Which conversation goes on. Default: a new one.
            enable_memory: False: a plain call of the model.
            heard: Told the words of a model's answer while they come.

        Raises:
            NoUserError: Nobody is named.
            InputError: The messages cannot be used.
            EngineError: The model did not answer; what the user said is remembered.
        """
        owner_of(user)
        context = self._context(user, project, enable_memory=enable_memory)
        conversation = conversation_id or uuid4().hex
        return talk(self._conversation(), checked_messages(messages), conversation, context, heard)

    # --- single memories -------------------------------------------------------------------------------------------

    def store(self, text: str, *, user: str, **about: Unpack[About]) -> Record:
        """Keep a memory as it is said here, credentials too: that is the caller's decision.

        Args:
            text: The memory; it should be understood alone.
            user: Whose.
            about: Its `type` (`semantic` unless said otherwise), `project`, `subject`, `attribute`, `source`, `trust`,
                `importance`, `expires_at` (default: as `memory_ttl_days` says), `evidence`.

        Returns:
            The memory; where it was known, that one, with one more source.

        Raises:
            NoUserError: Nobody is named.
            InputError: It cannot be kept.
            EmbeddingError: Vectors of another model are there; the message names the command that makes them anew.
            StorageError: The store failed.
        """
        return self._records.store(user, text, **{"trust": TRUST["user"], **self._end(), **about}).record

    def retrieve(
        self,
        query: str,
        *,
        user: str,
        project: str | None = "",
        types: Collection[RecordType] | None = None,
        limit: int | None = None,
        threshold: Least = "default",
    ) -> Sequence[Found]:
        """The memories that fit a query best, best first, without gate and rewriting; they count as used.

        Args:
            query: What is looked for.
            user: Whose memories.
            project: Of which project; an empty text means those without one, None all.
            types: Of which types; None for all.
            limit: How many at most. Default: that of the settings.
            threshold: Which hits are near enough.

        Raises:
            NoUserError: Nobody is named.
            InputError: What is asked has no meaning.
            EmbeddingError: The query cannot be embedded, or the vectors that are there are of another model.
            StorageError: The store failed.
        """
        wanted = self.settings.recall_limit if limit is None else limit
        records, least = self._records, self._least(query, threshold)
        found = records.search(user, query, project=project, types=types, limit=wanted, threshold=least)
        records.touch(user, [one.record["id"] for one in found])
        return found

    def get(self, id: str, *, user: str) -> Record:
        """A memory, with its history.

        Raises:
            UnknownMemoryError: This user has none of this id, whoever else may.
            NoUserError: Nobody is named.
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
            user: Whose.
            project: Of which project; an empty text means those without one, None all.
            types: Of which types; None for all.
            limit: How many at most; no more than 100 in any case.
            cursor: Of the listing before; None for the first.
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
        return self._records.revise(user, id, text)

    def supersede(self, id: str, text: str, *, user: str) -> Record:
        """Put a new value in place of a memory, which stays, dated and marked; returns the new. Raises as `update`."""
        about: About = {"trust": TRUST["user"], **self._end()}
        return self._records.supersede(user, id, text, **about)

    # --- forgetting ------------------------------------------------------------------------------------------------

    def forget(self, ids: Collection[str], *, user: str) -> Sequence[str]:
        """Erase memories with their history and all that was drawn from them; of what is named in part, the rest stays.

        Args:
            ids: Of memories, or of parts of them, as `concerning` and `reach` name them.
            user: Whose.

        Returns:
            The ids of all that are gone; ids that were not there are no error.

        Raises:
            InputError: It is one text, and no collection of ids; or a memory of which a part is named says something
                else by now.
            NoUserError, StorageError: As `get`.
        """
        return self._records.forget(user, _several(ids))

    def reach(self, ids: Collection[str], *, user: str) -> Concerned:
        """All that `forget` would erase, whole or in part; nothing is erased. Raises as `forget`."""
        return _concerned(self._records.reach(user, _several(ids)), ids)

    def reach_of_scope(self, *, user: str, project: str | None = None, type: RecordType | None = None) -> Concerned:
        """All that `forget_scope` would erase, whole or in part; nothing is erased. Args and errors as there."""
        found = self._records.reach_of_scope(user, project, type)
        return _concerned(found, {record["id"] for record in found.erased if type in (None, record["type"])})

    def concerning(self, description: str, *, user: str, project: str | None = None) -> Concerned:
        """What concerns a description ("my sister", "Project Falcon"): shown before it is forgotten, erases nothing.

        A memory does where it, an earlier wording of it, or what was said for it holds the words of the description:
        all of them in one clause, in any of their forms; of "my husband Tom's allergy" the allergy and one of the
        others. Nothing is found by likeness. Of a memory that says other things, too, only the clauses that hold the
        words are meant. Also what is superseded by now is found.

        Args:
            description: What is to be forgotten; a few words.
            user: Whose memories.
            project: Of which project; an empty text means those without one, None all.

        Raises:
            InputError: The description says nothing.
            NoUserError, StorageError: As `get`.
        """
        owner_of(user)
        if not isinstance(description, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"What is to be forgotten is said by a text, not by {description!r}.")
        subjects = subjects_of(description) if len(description) <= LONGEST_DESCRIPTION else ()
        if not subjects:
            raise InputError("Say in a few words what is to be forgotten, such as a name or a subject.")
        ids = [id for record in self._all(user, project, replaced=True) if (id := _meant(record, subjects))]
        return _concerned(self._records.reach(user, ids), ids)

    def forget_scope(self, *, user: str, project: str | None = None, type: RecordType | None = None) -> Sequence[str]:
        """Erase all memories of a user, or those of a project, of a type, or both, and whatever else is kept of them.

        What waits to be remembered of the user is dropped, and what is being remembered just now keeps nothing.

        Args:
            user: Whose.
            project: Which; an empty text means those without a project, None all.
            type: Which; None for all.

        Returns:
            The ids of all that are gone.

        Raises:
            NoUserError, InputError, StorageError: As `list`.
        """
        owner, records = owner_of(user), self._records
        if self._queue is not None and project is None and type is None:
            self._queue.drop(owner)
        conversations = set[str]() if type else self._conversations(user, project)
        gone = records.forget_scope(user, project, type)
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
            user: Whose memories.
            project: Of which project; an empty text means those without one, None each for itself.

        Returns:
            The new memories; `replaces` names what each was made of.

        Raises:
            EngineError: A model could not judge them; the groups before are drawn together.
            NoUserError, EmbeddingError, StorageError: As `retrieve`.
        """
        those = self._all(user, project)
        return consolidated(self._records, user, those, self._stores.encoder, self._engine("consolidate"))

    def reflect(self, *, user: str, project: str = "") -> Sequence[Record]:
        """Draw insights from what recurs in at least three memories; each names the memories it rests on.

        Returns:
            The insights that are new, as memories of the type `reflective`.

        Raises:
            EngineError: A model could not judge the memories.
            NoUserError, EmbeddingError, StorageError: As `retrieve`.
        """
        end = self._end().get("expires_at")
        return insights(self._records, user, project, self._all(user, project), self._engine("reflect"), end)

    def maintain(
        self, *, reembed: bool = False, consolidate: bool = False, reflect: bool = False, user: str | None = None
    ) -> Upkeep:
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
        pages = clean_pages(self._file.path.parent) if self._file is not None else 0
        made = records.reembed() if reembed else 0
        done = records.maintain()
        ended = united = drawn = 0
        for one in records.users() if user is None else [user]:
            made += records.make_up(one)
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
            project: Of which project; an empty text for none.

        Raises:
            NoUserError: Nobody is named.
        """
        from agentic_memory_bank.runs.memory_tools import tools_of

        owner_of(user)
        return tools_of(cast("Any", self), user, project)

    # --- closing ---------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Wait for what is still to be remembered, at most some seconds, and close what was opened here."""
        with self._lock:
            queue, self._queue = self._queue, None
        if queue is not None:
            queue.close(DRAIN_SECONDS)
        guard_of(self._stores).settle(EXIT_SECONDS)  # what was recalled counts as used, which nobody has waited for
        self._graphs.clear()
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --- inside ----------------------------------------------------------------------------------------------------

    @property
    def _records(self) -> RecordStore:
        return self._stores.of(settings=self.settings)

    def _end(self) -> About:
        """When a memory ends that is stored now, where the settings say so."""
        days = self.settings.memory_ttl_days
        return {"expires_at": self._clock() + timedelta(days=days)} if days else {}

    def _context(self, user: str, project: str, **more: Any) -> MemoryContext:
        if not isinstance(project, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"A project is named by a text, not by {project!r}. Leave it out where there is none.")
        own: dict[str, Any] = {name: getattr(self.settings, name) for name in Settings.model_fields}
        own |= {"user": user, "project": project, **more}
        return MemoryContext(**own)

    def _graph(self, name: str) -> Any:
        """One of the two graphs, built when it is first needed; what is never asked is never imported."""
        with self._lock:
            if name not in self._graphs:
                # False: inside a graph of somebody else's, nothing of this goes into its checkpoints.
                self._graphs[name] = _BUILDERS[name]()(stores=self._stores, checkpointer=False, **self._given)
            return self._graphs[name]

    def _remembered(self, said: Mapping[str, Any], context: MemoryContext) -> RememberOutput:
        return cast(RememberOutput, self._graph("remember").invoke(dict(said), context=context))

    def _conversation(self) -> "Conversation":
        from agentic_memory_bank.graph.conversation import build_conversation

        with self._lock:
            if "conversation" not in self._graphs:
                parts = {"stores": self._stores, "background": self._background()}
                self._graphs["conversation"] = build_conversation(**parts, **self._given)
            return self._graphs["conversation"]

    def _background(self) -> "Background":
        from agentic_memory_bank.tools.concurrency.worker_pool import Background

        with self._lock:
            self._queue = self._queue or Background(self.settings.remember_queue)
            return self._queue

    def _engine(self, goal: str) -> ConversationEngine:
        engines: EngineFactory[ConversationEngine] = EngineFactory(
            ExtractiveConversationEngine(),
            self._given["engine"],
            self._given["models"],
            AnswerPool(),
            REMEMBER_ROLES,
            chat_conversation_engine,
        )
        begun = self._clock()
        run = EngineRequest(
            self.settings, goal, uuid4().hex, {}, lambda: (self._clock() - begun).total_seconds(), lambda usage: None
        )
        return engines.of(run).engine

    def _all(
        self,
        user: str,
        project: str | None,
        *,
        types: Collection[RecordType] | None = None,
        replaced: bool = False,
    ) -> Sequence[Record]:
        """All memories that are meant, newest first."""
        found: list[Record] = []
        cursor: str | None = None
        while True:
            page = self._records.list(
                user, project=project, types=types, limit=MAX_LIMIT, cursor=cursor, replaced=replaced
            )
            found += page.records
            cursor = page.cursor
            if cursor is None:
                return found

    def _draw_from_silent(self, user: str) -> int:
        """Draw memories from conversations that ended in silence, or whose time had come; from how many that was."""
        ended = stamp(self._clock() - timedelta(minutes=self.settings.remember_idle_minutes))
        all_states = (state for state in self._records.conversations.of(user) if state["pending"])
        states = [state for state in all_states if state["due"] or state["at"] <= ended]
        for state in states:
            named = {"messages": [], "conversation_id": conversation_of(state)}
            self._remembered(named, self._context(user, project_of(state)))
        return len(states)

    def _least(self, query: str, threshold: Least) -> Threshold:
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
        states = self._records.conversations.of(user)
        named = {conversation_of(state) for state in states if project in (None, project_of(state))}
        return (named | {source["conversation"] for source in sources}) - {""}


def _several(ids: object) -> Collection[str]:
    """The ids; one alone, not in a list, would be taken for its letters, and nothing be erased.

    Raises:
        InputError: They are no collection.
    """
    if isinstance(ids, str) or not isinstance(ids, Collection):
        raise InputError(f"The ids of memories come in a list, such as [{ids!r}].")
    return cast("Collection[str]", ids)


def _meant(record: Record, subjects: Sequence[Subject]) -> str | None:
    """The id of a memory that speaks of a subject, or of the part that does; None where it does not."""
    spans = parts_meant(record, subjects)
    if spans is None:
        return None
    is_whole = spans == [(0, len(record["text"]))] and record["type"] != "verbatim"  # with a turn go all its facts
    return record["id"] if is_whole else Cut.of(record, spans).id


def _concerned(reached: Reach, ids: Collection[str]) -> Concerned:
    """What is reached, told apart by whether it was named; a turn of which nothing is left is as good as erased."""
    named = {id.partition(":")[0] for id in ids}
    whole = [*reached.erased, *(cut.record for cut in reached.cut if not cut.left)]
    found = [record for record in whole if record["id"] in named]
    drawn = [record for record in whole if record["id"] not in named]
    return Concerned(found, drawn, [cut for cut in reached.cut if cut.left], reached.ids)


def _recall() -> Callable[..., Any]:
    from agentic_memory_bank.graph.recall import build_recall

    return build_recall


def _remember() -> Callable[..., Any]:
    from agentic_memory_bank.graph.remember import build_remember

    return build_remember


_BUILDERS: Final[Mapping[str, Callable[[], Callable[..., Any]]]] = {"recall": _recall, "remember": _remember}
