"""Reads which message memories are recalled for, and what was said before it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from langchain_core.messages import AnyMessage, BaseMessage

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.nodes.messages import LONGEST_TURN, is_of_user, text_of, turns_of

BEGINNING: Final = 1_500
"""Characters that are read of how a long message begins."""
END: Final = 500
"""The same of how it ends: a question stands before or after what was pasted."""


class Message(NamedTuple):
    """What memories are recalled for."""

    turn: Turn | None
    """The last message of the user; None where it has no words, or there is none."""
    history: Sequence[Turn]
    """What was said before it."""


def asked_in(messages: Sequence[AnyMessage | BaseMessage]) -> Message:
    """The last message of the user. What agents and tools have said since belongs to it."""
    places = [place for place, message in enumerate(messages) if is_of_user(message)]
    if not places:
        return Message(None, [])
    asked = messages[places[-1]]
    before, own = turns_of(messages[: places[-1]]), turns_of([asked])
    return Message(replace(own[0], text=_both_ends(text_of(asked), LONGEST_TURN - END)) if own else None, before)


def shortened(text: str) -> str:
    """As much of a message as is searched for."""
    return _both_ends(text, BEGINNING)


def _both_ends(text: str, beginning: int) -> str:
    return text if len(text) <= beginning + END else f"{text[:beginning]}\n{text[-END:]}"
