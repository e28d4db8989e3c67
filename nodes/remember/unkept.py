"""Leaves out of a conversation what its user says is not to be kept: "don't hold on to that", said of what was told."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agentic_memory_bank.engines.extractive.forgetting import not_kept_in, offers_to_keep
from agentic_memory_bank.nodes.messages import is_of_user, text_of


def without_unkept(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Messages without those that are to be kept nowhere, and what the assistant answers to them.

    Of a message that goes on to other things the rest stays; one that only says "don't keep that" takes what its
    user said before it along, as far as that was handed over with it. "No, don't save it" answers an assistant's offer.

    Args:
        messages: As `checked_messages` gives them.
    """
    kept: list[BaseMessage] = []
    is_answer = False
    for message in messages:
        if isinstance(message, AIMessage) and is_answer:
            continue
        is_answer = is_answer and not isinstance(message, HumanMessage)
        meant = not_kept_in(text_of(message)) if is_of_user(message) else None
        if meant is None:
            kept.append(message)
            continue
        is_answer = True
        if meant.takes_last and not (kept and _is_offer(kept[-1])):
            del kept[_said_last(kept) :]
        if meant.rest:
            kept.append(message.model_copy(update={"content": meant.rest}))
    return kept


def _is_offer(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and offers_to_keep(text_of(message))


def _said_last(messages: Sequence[BaseMessage]) -> int:
    """Where the last thing that the user said begins; the end where they said nothing."""
    said = (place for place in range(len(messages) - 1, -1, -1) if is_of_user(messages[place]))
    return next(said, len(messages))
