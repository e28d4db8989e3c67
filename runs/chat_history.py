"""A conversation as memory keeps it: read back in order, and as LangChain's `BaseChatMessageHistory`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.nodes.remember.saving import checked_conversation
from agentic_memory_bank.nodes.remember.views import turn_hash
from agentic_memory_bank.state.conversations import StoredConversation, StoredTurn
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.text.attribution import ASSISTANT, unattributed

if TYPE_CHECKING:
    from agentic_memory_bank.runs.memories import Memories


class MemoryChatHistory(BaseChatMessageHistory):
    """Keeps a conversation in a user's memories, so that other conversations recall what was said in it.

    It holds what `Memories.transcript` returns, which is what memory keeps and nobody has had forgotten. Whoever needs
    every byte of a conversation keeps a checkpointer beside it.

    Args:
        memories: Where it is kept; whoever made them closes them.
        user: Id of the user.
        conversation_id: Id of the conversation.
        project: The project; an empty text for none.

    Example:
        >>> def history(session: str) -> MemoryChatHistory:
        ...     return MemoryChatHistory(memories, user="ana", conversation_id=session)
        >>> RunnableWithMessageHistory(chain, history).invoke(said, {"configurable": {"session_id": "monday"}})
    """

    def __init__(self, memories: "Memories", *, user: str, conversation_id: str, project: str = "") -> None:
        self._memories, self._named = memories, named_conversation(conversation_id)
        self._user, self._project = user, project

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride] - as LangChain asks
        """The conversation, oldest message first. Raises as `Memories.transcript`."""
        return self._memories.transcript(self._named, user=self._user, project=self._project)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, which LangChain hands over once each: the same words again are said again.

        Raises:
            NoUserError, InputError, StorageError: As `Memories.remember`.
        """
        new = [one if one.id else one.model_copy(update={"id": uuid4().hex}) for one in messages]
        if new:
            self._memories.remember(new, user=self._user, project=self._project, conversation_id=self._named)

    def clear(self) -> None:
        """Erase the conversation, with the facts that were drawn from it. Raises as `Memories.delete`."""
        self._memories.delete_conversation(self._named, user=self._user, project=self._project)


def named_conversation(given: object) -> str:
    """The id of a conversation.

    Raises:
        InputError: It is no text, or a blank one.
    """
    named = checked_conversation(given)
    if named is None:
        raise InputError("A conversation is named by a text, not by None.")
    return named


def transcript_of(state: StoredConversation | None, verbatim: Iterable[Record], conversation: str) -> list[BaseMessage]:
    """The turns of a conversation in the order in which they were said.

    Args:
        state: Where the conversation stands; its hashes of turns say the order. None for one that was imported, or of
            which that is no longer kept: then its turns are in the order in which they came.
        verbatim: The turns that are memories, of any conversation.
        conversation: Its id.
    """
    came = sorted(verbatim, key=lambda record: record["created_at"])
    said = {id: message for record in came for id, message in _turns(record, conversation)}
    if state is None:
        return list(said.values())
    said |= {turn["id"]: _message(turn["role"], turn["text"], turn["id"]) for turn in stored_turns(state)}
    place = {hashed: position for position, hashed in enumerate(state["seen"])}
    order = {id: place.get(turn_hash(Turn(id, "user", "")), -1) for id in said}
    return [said[id] for id in sorted(said, key=lambda id: order[id])]


def stored_turns(state: StoredConversation) -> Sequence[StoredTurn]:
    """The turns that the state of a conversation itself holds."""
    return (*state["drawn"], *state["pending"], *state["recent"])


def _turns(record: Record, conversation: str) -> Iterator[tuple[str, BaseMessage]]:
    speaker, _, words = unattributed(record["text"])
    role = ASSISTANT if speaker == ASSISTANT else "user"
    for source in record["sources"]:
        if source["conversation"] == conversation:
            quote = source["quotes"][0] if source["quotes"] else words
            yield from ((turn, _message(role, quote, turn)) for turn in source["turns"])


def _message(role: str, text: str, id: str) -> BaseMessage:
    return AIMessage(text, id=id) if role == ASSISTANT else HumanMessage(text, id=id)
