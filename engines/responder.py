"""The Responder protocol: answers a message of a conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from langchain_core.messages import AIMessage, BaseMessage

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.state.conversations import RecalledMemory

QUOTES_ONLY: Final = "agentic_memory_bank_quotes"
"""Key in `response_metadata` of an answer that only quotes: it is not remembered."""

FOUND: Final = "agentic_memory_bank_found"
"""In `response_metadata` of such an answer: whether it quotes anything."""
QUOTED: Final = "agentic_memory_bank_quoted"
"""In `response_metadata` of such an answer: the words that it quotes, as they were said."""
DEGRADED: Final = "degraded"
"""In `response_metadata` of an answer that stands in place of a model's, or below it: what was wrong with that."""


@dataclass(frozen=True, slots=True)
class ResponderInput:
    """A message, with what was recalled and said before."""

    messages: Sequence[BaseMessage]
    """Messages that a model is shown."""
    message: str
    """The message to answer."""
    memories: Sequence[RecalledMemory] = ()
    """Memories recalled for it, best first."""
    earlier: Sequence[Turn] = ()
    """Earlier turns of this conversation, oldest first."""


@runtime_checkable
class Responder(Protocol):
    """Answers messages of a conversation.

    Raises:
        EngineError: There is no answer.
    """

    @property
    def name(self) -> str:
        """Name of the responder."""
        ...

    def respond(self, situation: ResponderInput) -> AIMessage:
        """Answer the message.

        Args:
            situation: The message, with what was recalled and said before.
        """
        ...
