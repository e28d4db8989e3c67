"""What the operations on memories share: stores, graphs built when they are first needed, and the background queue."""

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, cast
from uuid import uuid4

from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from agentic_memory_bank.engines.conversation import ConversationEngine
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.engines.factory import AnswerPool, EngineFactory, EngineRequest, chat_conversation_engine
from agentic_memory_bank.nodes.deps import Clock, utc_now
from agentic_memory_bank.runs.memory_files import ImportReport, as_dataframe, as_documents, exported, imported
from agentic_memory_bank.state.conversations import MemoryContext, RememberOutput
from agentic_memory_bank.state.errors import InputError, unfit
from agentic_memory_bank.state.model_table import REMEMBER_ROLES
from agentic_memory_bank.state.records import Record, RecordType
from agentic_memory_bank.state.settings import Settings, checked_settings
from agentic_memory_bank.tools.concurrency.circuit_breaker import circuit_breaker_of
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.models import default_embeddings
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.store_adapter import check_store
from agentic_memory_bank.tools.memories.stores import RecordStores, default_store
from agentic_memory_bank.tools.memories.validation import MAX_LIMIT, MemoryFields

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from pandas import DataFrame

    from agentic_memory_bank.engines.llm.models import GivenModels
    from agentic_memory_bank.graph.conversation import Conversation
    from agentic_memory_bank.runs.foreign_import import ForeignImportReport
    from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool

DRAIN_SECONDS: Final = 30.0
"""Seconds that `close` waits for conversations that are still to be remembered."""
EXIT_SECONDS: Final = 5.0
"""Seconds that `close` waits until it is written which memories were used."""


class MemoryGraphs:
    """Holds the stores, graphs and background queue that `Memories` works with, whose arguments are the same."""

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
        check_store(store)
        if home is not None and not isinstance(home, str | os.PathLike):
            raise unfit("home", home, "the path of a folder")
        if not callable(clock):
            raise unfit("clock", clock, "a function that returns the time")
        self.settings = checked_settings(settings)
        self._given: dict[str, Any] = {"engine": engine, "models": models, "embeddings": embeddings, "clock": clock}
        self._engines: EngineFactory[ConversationEngine] = EngineFactory(
            ExtractiveConversationEngine(), engine, models, AnswerPool(), REMEMBER_ROLES, chat_conversation_engine
        )
        self._clock, self._checkpointer = clock, checkpointer
        self._home = Path(home) if home else None
        self._file = default_store(self._home) if store is None else None
        encoder = Encoder(embeddings or default_embeddings(self.settings))
        self._stores = RecordStores(store or self._file, encoder, clock)
        self._lock = threading.RLock()
        self._graphs: dict[str, Any] = {}
        self._queue: WorkerPool | None = None

    def close(self) -> None:
        """Wait some seconds at most for what is still to be remembered, then close what was opened here."""
        with self._lock:
            queue, self._queue = self._queue, None
        if queue is not None:
            queue.close(DRAIN_SECONDS)
        circuit_breaker_of(self._stores).flush(
            EXIT_SECONDS
        )  # what was recalled counts as used, which nobody has waited for
        self._graphs.clear()
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _records(self) -> RecordStore:
        return self._stores.of(settings=self.settings)

    def _end(self) -> MemoryFields:
        """Compute when a memory that is stored now expires, by the settings; None for never."""
        days = self.settings.memory_ttl_days
        return {"expires_at": self._clock() + timedelta(days=days)} if days else {}

    def _check_on(self, user: str) -> None:
        """See that a user wants memories to be kept.

        Raises:
            InputError: Memory is switched off, or recalls only.
        """
        if (mode := self._records.switches.mode(user)) != "on":
            raise InputError(
                f"Nothing is stored: memory is switched to '{mode}' for this user. `memory-bank switch on` undoes it."
            )

    def _context(self, user: str, project: str, **more: Any) -> MemoryContext:
        if not isinstance(project, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"A project is named by a text, not by {project!r}. Leave it out where there is none.")
        return MemoryContext.over(self.settings, user=user, project=project, **more)

    def _graph(self, name: str) -> Any:
        """Build `recall` or `remember` when it is first needed, so that nothing is imported before."""
        with self._lock:
            if name not in self._graphs:
                # False: inside a graph of somebody else's, nothing of this goes into its checkpoints.
                self._graphs[name] = _BUILDERS[name]()(stores=self._stores, checkpointer=False, **self._given)
            return self._graphs[name]

    # --- handing over ------------------------------------------------------------------------------------------------

    def export(self, *, user: str) -> str:
        """A user's memories as JSON: every wording, value, source and use they had, in all projects.

        No vectors, and nothing of what was forgotten but that it was. Byte for byte the same for the same memories,
        also after `import_` elsewhere. What still waits to be remembered is not in it: `flush` first.

        Raises:
            NoUserError: No user is named.
            StorageError: The store failed.
        """
        return exported(self._records, user)

    def import_(self, text: str, *, user: str) -> ImportReport:
        """Take an export in beside what is there; done twice, it is done once.

        What was forgotten stays forgotten: here what was forgotten where it comes from, and what was forgotten here.

        Args:
            text: As `export` gives it.
            user: Id of the user who gets the memories; it may be another one than theirs.

        Raises:
            ExportError: It is foreign, damaged, or newer than this package.
            InputError: The user has switched memory off.
            NoUserError, StorageError: As `export`.
        """
        self._check_on(user)
        return imported(self._records, user, text)

    def import_from(self, kind: str, text: str, *, user: str, project: str = "") -> "ForeignImportReport":
        """Take in what another program exports, dated as it was there; done twice, it is done once.

        Nothing is sent to a model: facts are kept as facts, and turns of chats as turns, word for word. Credentials are
        left out, and what was forgotten here stays forgotten.

        Args:
            kind: `chatgpt`, `claude`, `mem0`, `langmem`, `letta`, `zep`, `markdown` or `jsonl`.
            text: What stands in the exported file.
            project: The project that gets them; an empty text for none.

        Raises:
            ExportError: The file is not of this kind. Nothing was taken in.
            InputError: The user has switched memory off; or there are more than the quota has room for.
            NoUserError, StorageError: As `export`.
        """
        from agentic_memory_bank.runs.foreign_import import import_foreign

        self._check_on(user)
        about: MemoryFields = {**self._end(), "project": project}
        room = self.settings.memory_quota - len(self._all(user, None, replaced=True))
        return import_foreign(self._records, user, kind, text, self._clock(), max(0, room), **about)

    def documents(self, *, user: str, project: str | None = None) -> "list[Document]":
        """A user's memories as LangChain documents, newest first; replaced ones are included.

        Args:
            project: An empty text means the memories without a project; None all.

        Raises:
            NoUserError, StorageError: As `export`.
        """
        return as_documents(self._all(user, project, replaced=True))

    def dataframe(self, *, user: str, project: str | None = None) -> "DataFrame":
        """A user's memories as a pandas table, newest first, a row each; times are of UTC, replaced ones are included.

        Args:
            project: An empty text means the memories without a project; None all.

        Raises:
            InputError: pandas is not installed.
            NoUserError, StorageError: As `export`.
        """
        return as_dataframe(self._all(user, project, replaced=True))

    def _remembered(self, said: Mapping[str, Any], context: MemoryContext) -> RememberOutput:
        return cast(RememberOutput, self._graph("remember").invoke(dict(said), context=context))

    def _conversation(self) -> "Conversation":
        from agentic_memory_bank.graph.conversation import build_conversation

        with self._lock:
            if "conversation" not in self._graphs:
                parts = {"stores": self._stores, "background": self._background()}
                self._graphs["conversation"] = build_conversation(**parts, **self._given)
            return self._graphs["conversation"]

    def _background(self) -> "WorkerPool":
        from agentic_memory_bank.tools.concurrency.worker_pool import WorkerPool

        with self._lock:
            self._queue = self._queue or WorkerPool(self.settings.remember_queue)
            return self._queue

    def _engine(self, goal: str) -> ConversationEngine:
        begun = self._clock()
        run = EngineRequest(
            self.settings, goal, uuid4().hex, {}, lambda: (self._clock() - begun).total_seconds(), lambda usage: None
        )
        return self._engines.of(run).engine

    def _all(
        self,
        user: str,
        project: str | None,
        *,
        types: Collection[RecordType] | None = None,
        replaced: bool = False,
    ) -> Sequence[Record]:
        """List all memories that a filter means, newest first."""
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


def _recall() -> Callable[..., Any]:
    from agentic_memory_bank.graph.recall import build_recall

    return build_recall


def _remember() -> Callable[..., Any]:
    from agentic_memory_bank.graph.remember import build_remember

    return build_remember


_BUILDERS: Final[Mapping[str, Callable[[], Callable[..., Any]]]] = {"recall": _recall, "remember": _remember}
