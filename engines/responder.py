"""Who answers a message of a conversation, and what is at hand for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from langchain_core.messages import AIMessage, BaseMessage

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.state.conversations import RecalledMemory

QUOTES_ONLY: Final = "agentic_memory_bank_quotes"
"""In `response_metadata` of an answer that says nothing of its own: it is nothing to be remembered."""

FOUND: Final = "agentic_memory_bank_found"
"""In `response_metadata` of such an answer: whether it quotes anything."""
DEGRADED: Final = "degraded"
"""In `response_metadata` of an answer that stands in place of a model's: what the model failed with."""


@dataclass(frozen=True, slots=True)
class ResponderInput:
    """A message, and what is at hand to answer it."""

    messages: Sequence[BaseMessage]
    """What a model is shown, as it is."""
    message: str
    """What is answered."""
    memories: Sequence[RecalledMemory] = ()
    """What was recalled for it, the best first."""
    earlier: Sequence[Turn] = ()
    """What was said before in this conversation, oldest first."""


@runtime_checkable
class Responder(Protocol):
    """Who answers.

    Raises:
        EngineError: There is no answer to be had.
    """

    @property
    def name(self) -> str:
        """What runs are recorded under."""
        ...

    def respond(self, situation: ResponderInput) -> AIMessage:
        """Answer the message.

        Args:
            situation: The message, and what is at hand.
        """
        ...
