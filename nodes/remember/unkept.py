"""Leaves out of a conversation what its user says is not to be kept: "don't hold on to that", said of what was told."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agentic_memory_bank.engines.extractive.forgetting import wish_in
from agentic_memory_bank.nodes.messages import RECALLED, is_of_user, text_of
from agentic_memory_bank.tools.text.secrets import secrets_in


def without_unkept(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Messages without those that are to be kept nowhere, and what the assistant answers to them.

    Of a message that goes on to other things the rest stays; one that only says "don't keep that" takes what its
    user said before it along, as far as that was handed over with it. Where a message holds a credential or a personal
    number, that is meant, which is left out of everything that is kept anyway.

    Args:
        messages: As `checked_messages` gives them.
    """
    kept: list[BaseMessage] = []
    is_answer = False
    for message in messages:
        if isinstance(message, AIMessage) and is_answer:
            continue
        words = text_of(message) if is_of_user(message) else ""
        wish = wish_in(words) if words and not secrets_in(words) else None
        is_answer = wish is not None and wish.telling.kind == "this" and wish.telling.is_sure
        if wish is None or not is_answer:
            kept.append(message)
        elif wish.telling.after:
            kept.append(message.model_copy(update={"content": wish.telling.after}))
            is_answer = False
        elif not wish.telling.rest:
            del kept[_said_last(kept) :]
    return kept


def _said_last(messages: Sequence[BaseMessage]) -> int:
    """Where the last thing that the user said begins; the end where they said nothing."""
    said = (place for place in range(len(messages) - 1, -1, -1) if isinstance(messages[place], HumanMessage))
    place = next(said, len(messages))
    is_own = place < len(messages) and not messages[place].additional_kwargs.get(RECALLED)
    return place if is_own else len(messages)
