"""Memory in conversations: recalled before an answer, remembered after it, and the answer handed on while it comes."""

from collections.abc import Callable, Collection, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from uuid import uuid4

from langchain_core.messages import AIMessageChunk, BaseMessage

from agentic_memory_bank.nodes.deps import Owner
from agentic_memory_bank.nodes.messages import checked_messages, turns_of
from agentic_memory_bank.nodes.remember.saving import (
    IncomingTurns,
    checked_conversation,
    conversation_named,
    save_turns,
)
from agentic_memory_bank.nodes.remember.views import queued_receipt, receipt
from agentic_memory_bank.runs.memory_graphs import MemoryGraphs
from agentic_memory_bank.state.conversations import (
    ConversationOutput,
    MemoryContext,
    MemoryMode,
    RecallOutput,
    RememberOutput,
)
from agentic_memory_bank.state.records import RecordType
from agentic_memory_bank.tools.memories.deletion import several
from agentic_memory_bank.tools.memories.validation import stamp, user_hash

if TYPE_CHECKING:
    from agentic_memory_bank.graph.conversation import Conversation
    from agentic_memory_bank.runs.memory_folder import FolderReport

Messages = str | BaseMessage | Sequence[Any]
"""One message of the user as a text, or a conversation, the last message last."""
ThresholdChoice = float | Literal["default"] | None
"""Least raw cosine of a hit, from -1 to 1; None: no threshold; "default": that of the settings or, without one there,
of the embeddings."""
Heard = Callable[[str], None]
"""Called with words of an answer as they come."""
ANSWERING = "respond"
"""The stage whose model writes the answer."""


class ConversationMemory(MemoryGraphs):
    """Recall, remember and answer in conversations."""

    def recall(
        self,
        messages: Messages,
        *,
        user: str,
        project: str = "",
        types: Sequence[RecordType] | None = None,
        limit: int | None = None,
        threshold: ThresholdChoice = "default",
        as_of: date | str | None = None,
        tool_names: Sequence[str] = (),
        is_fact: bool | None = None,
        needs_tool: bool | None = None,
        enable_memory: bool = True,
    ) -> RecallOutput:
        """Find the memories of a user that help with the last message. Where memory fails, nothing is found.

        Args:
            messages: The conversation, or the message alone.
            project: The project; an empty text for none.
            types: Types of memories; None for all.
            limit: The most that are returned. Default: that of the settings.
            threshold: Least cosine of a hit, from -1 to 1; None for no threshold. Default: that of the settings.
            as_of: A day: what was true then is recalled. Default: today, or the time that the message asks about.
            tool_names: Names of the tools that the answering model has; what they answer needs no memory.
            is_fact: Whether the message asks for a fact of the world: then nothing is recalled, unless it speaks of the
                user. Default: judged.
            needs_tool: Whether a tool answers the message, so that nothing is recalled. Default: judged.
            enable_memory: Where false, nothing is recalled.

        Returns:
            The memories, the block of text for the prompt, and a receipt that says what was done and what failed.

        Raises:
            NoUserError: No user is named.
            InputError: The messages, or another argument, cannot be used.

        Example:
            >>> found = memories.recall("Where do I live now?", user="ana")
            >>> prompt = [*history, HumanMessage(found["block"]), message]  # where there is a block
        """
        user_hash(user)
        asked: dict[str, Any] = {"messages": checked_messages(messages), "types": types and list(types)}
        asked |= {} if limit is None else {"limit": limit}
        asked |= {} if threshold == "default" else {"threshold": threshold}
        asked |= {"is_fact": is_fact, "needs_tool": needs_tool}
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
        """Keep what was said, and extract memories from it where that is due, before returning.

        Args:
            messages: The conversation, or what is new of it; turns that were handed over before are recognised.
            project: The project; an empty text for none.
            conversation_id: Id of the conversation that goes on. Default: an id made of what is said here.
            end: Whether the conversation has ended, so that memories are extracted from it at once.
            enable_memory: Where false, nothing is remembered.

        Raises:
            NoUserError: No user is named.
            InputError: The messages cannot be used.
            StorageError: The store failed.
        """
        user_hash(user)
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
        """Keep what was said, and extract memories from it in the background, in the order of the calls.

        Arguments and errors are those of `remember`; what fails in the background is logged. The turns are on disk when
        this returns, unless the store does not answer within `recall_timeout`.

        Returns:
            A receipt with the outcome `queued`; `waiting` where the queue is full, so that memories are extracted with
            a later call; `dropped` where the store could not be reached either. `degraded` says why turns are not on
            disk.
        """
        owner, given = user_hash(user), checked_messages(messages)
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

    def switch(
        self, mode: MemoryMode, *, user: str, project: str = "", conversation_id: str | None = None
    ) -> MemoryMode:
        """Say whether a user, or a conversation, wants a memory: every graph and agent obeys it from now on.

        What is remembered already stays, can be looked at and forgotten, and is recalled again once memory is on.

        Args:
            mode: `on`; `recall`: memories are recalled, and nothing is stored; `off`: neither.
            project: The conversation's project; an empty text for none.
            conversation_id: Id of the conversation; None for all conversations of the user, in all projects.

        Returns:
            What holds now: the stricter of what was said for the user and for the conversation.

        Raises:
            NoUserError: No user is named.
            InputError: There is no such mode.
            StorageError: The store failed.
        """
        self._records.switches.set(user, mode, project, conversation_id)
        return self.mode(user=user, project=project, conversation_id=conversation_id)

    def mode(self, *, user: str, project: str = "", conversation_id: str | None = None) -> MemoryMode:
        """Whether a user, or a conversation, wants a memory. Args, returns and raises as `switch`."""
        return self._records.switches.mode(user, project, conversation_id)

    def sync_folder(
        self,
        folder: str | Path,
        *,
        user: str,
        project: str = "",
        erase: Collection[str] = (),
        restore: Collection[str] = (),
    ) -> "FolderReport":
        """Bring a folder of Markdown files in step with a user's memories: one file a subject, one line a memory.

        An edited line is a revision, a new line is remembered; a line that is gone is reported as missing, and its
        memory forgotten only by a further call with its id in `erase`.

        Args:
            folder: Where the files are; made where it is not there.
            project: The project; an empty text for none.
            erase: Ids of missing lines whose memories are to be forgotten.
            restore: Ids of missing lines that are put back.

        Raises:
            InputError: It is no folder, or one of another user or project; or the user has switched memory off.
            NoUserError, EmbeddingError, StorageError: As `store`.
        """
        from agentic_memory_bank.runs.memory_folder import MemoryFolder

        self._check_on(user)
        return MemoryFolder(cast("Any", self), Path(folder), user, project).sync(several(erase), several(restore))

    def transcript(self, conversation_id: str, *, user: str, project: str = "") -> list[BaseMessage]:
        """Read a conversation as memory keeps it, oldest message first; of an unknown one, nothing.

        The turns of user and assistant stand word for word, without credentials and what was forgotten. Calls of tools
        are not kept, and of thanks and greetings only the last ones.

        Args:
            project: The project; an empty text for none.

        Raises:
            NoUserError: No user is named.
            InputError: The conversation is not named by a text.
            StorageError: The store failed.
        """
        from agentic_memory_bank.runs.chat_history import named_conversation, transcript_of

        named = named_conversation(conversation_id)
        state = self._records.conversations.get(user, project, named)
        return transcript_of(state, self._all(user, project, types=["verbatim"], replaced=True), named)

    def delete_conversation(self, conversation_id: str, *, user: str, project: str = "") -> Sequence[str]:
        """Delete the turns of a conversation, with the facts that were drawn from them alone. Args as `transcript`.

        Returns:
            The ids of all memories that are gone.

        Raises:
            NoUserError, InputError, StorageError: As `transcript`.
        """
        from agentic_memory_bank.runs.chat_history import named_conversation, stored_turns

        named = named_conversation(conversation_id)
        state = self._records.conversations.get(user, project, named)
        turns = {turn["id"] for turn in stored_turns(state)} if state else set[str]()
        known = self._all(user, project, replaced=True)
        alone = [one["id"] for one in known if {source["conversation"] for source in one["sources"]} == {named}]
        gone = self._records.delete(user, alone)
        self._records.conversations.redact_turns(user, {(named, turn): () for turn in turns})
        return gone

    def flush(self, timeout: float | None = None) -> bool:
        """Wait for what `remember_later` and `talk` have queued; return whether all of it was done in time.

        Args:
            timeout: Seconds to wait at most; None for no limit.
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
        auto_store: bool = True,
        heard: Callable[[str], None] | None = None,
    ) -> ConversationOutput:
        """Answer the last message with the help of memory, and keep both.

        The message is on disk before the first word of its answer, and the answer before this returns, unless the store
        does not answer within `recall_timeout` (`remembered` says so). Memories are extracted in the background, which
        `flush` waits for, or, where this process ends before, with the next call of any process.

        Args:
            messages: New messages, or the whole conversation; the last one is answered.
            project: The project; an empty text for none.
            conversation_id: Id of the conversation that goes on. Default: a new one.
            enable_memory: Where false, the model is called without memory.
            auto_store: Where false, memories are recalled, and nothing of what is said is kept.
            heard: Called with the words of a model's answer while they come.

        Raises:
            NoUserError: No user is named.
            InputError: The messages cannot be used.
            EngineError: The model did not answer; what the user said is kept.
        """
        user_hash(user)
        context = self._context(user, project, enable_memory=enable_memory, auto_store=auto_store)
        conversation = conversation_id or uuid4().hex
        return answer_message(self._conversation(), checked_messages(messages), conversation, context, heard)


def answer_message(
    graph: "Conversation",
    messages: list[BaseMessage],
    conversation: str,
    context: MemoryContext,
    heard: Heard | None = None,
) -> ConversationOutput:
    """Answer the last message.

    Args:
        graph: The compiled graph `conversation`.
        messages: New messages, or the whole conversation; the last one is answered.
        conversation: Id of the conversation.
        context: Settings, and on whose behalf it is.
        heard: Told the words of a model while they come; of an answer that is tried twice, those of both.

    Raises:
        MemoryBankError: There is no answer.
    """
    said: Any = {"messages": messages, "conversation_id": conversation}
    if heard is None:
        return graph.invoke(said, context=context)
    output: Any = {}
    for mode, event in graph.stream(said, context=context, stream_mode=["messages", "values"]):
        if mode == "values":
            output = event
            continue
        chunk, metadata = cast("tuple[BaseMessage, dict[str, Any]]", event)
        if isinstance(chunk, AIMessageChunk) and metadata.get("langgraph_node") == ANSWERING:
            heard(chunk.text)
    return cast(ConversationOutput, output)
