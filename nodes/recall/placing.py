"""Puts what was recalled into a conversation: a message of the role user, never of the system, marked as what it is."""

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage

from agentic_memory_bank.nodes.messages import RECALLED

_OF_APPLICATION = ("system", "developer")


def as_message(block: str) -> HumanMessage:
    """Recalled memories as a message that is never remembered, and shown to nobody.

    Args:
        block: As `recall` gives it.
    """
    return HumanMessage(block, additional_kwargs={RECALLED: True})


def injected(messages: Sequence[AnyMessage | BaseMessage], block: str) -> list[AnyMessage]:
    """A conversation with the memories behind the last message of its application; those of before are taken out.

    Args:
        messages: As `checked_messages` gives them.
        block: As `recall` gives it; where it is empty, or there are no messages, nothing is put in.
    """
    kept: list[AnyMessage] = [m for m in messages if not m.additional_kwargs.get(RECALLED)]  # pyright: ignore[reportAssignmentType]
    if not kept or not block.strip():
        return kept
    place = max((place for place, message in enumerate(kept, start=1) if _is_of_application(message)), default=0)
    return [*kept[:place], as_message(block), *kept[place:]]


def _is_of_application(message: BaseMessage) -> bool:
    """Whether the application says it; LangChain keeps the role developer as a kind of system message."""
    return isinstance(message, SystemMessage) or (isinstance(message, ChatMessage) and message.role in _OF_APPLICATION)
