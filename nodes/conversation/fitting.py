"""Fits a conversation into its tokens: where it stands, its last turns and memories, in place of all that was said."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from langchain_core.messages import AnyMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.nodes.agent_messages import MESSAGE_TOKENS, fitting, size, total
from agentic_memory_bank.nodes.conversation.history import as_messages, asked, earlier
from agentic_memory_bank.nodes.messages import RECALLED, TEXT_PARTS, as_message, injected, text_of
from agentic_memory_bank.prompts import converse
from agentic_memory_bank.tools.text.tokens import estimate_tokens

LAST: Final = 5
"""How many of the last turns are shown of a long conversation."""
LEAST_TURN: Final = 24
"""Tokens below which a turn is rather left out than cut."""

Digest = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class ConversationHistory:
    """What is known of a conversation when its message is answered."""

    messages: Sequence[AnyMessage]
    """As they were handed over."""
    before: Sequence[Turn]
    """The last turns as they were kept."""
    count: int
    """How many turns there were by then."""
    digest: Callable[[Sequence[Turn]], Digest]
    """Where it stands, the turns at hand given that will not be shown."""
    block: str
    """What was recalled; empty for nothing."""


def fitted(talked: ConversationHistory, tokens: int) -> list[BaseMessage]:
    """The messages that a model is shown.

    All of them where they fit into the tokens, the application's own instructions aside; otherwise where the
    conversation stands, its last turns, the memories and the message that is answered, which is never cut.
    """
    whole = _whole(talked)
    if whole is not None and total(m for m in whole if not _is_application(m)) <= tokens:
        return whole
    return _compressed(talked, tokens)


def spare(talked: ConversationHistory, tokens: int) -> int:
    """Tokens that a long conversation leaves to memories where it stands and its last turns are shown; else none."""
    if _whole(talked) is not None:
        return 0
    last = as_messages(earlier(talked.messages, talked.before)[-LAST:])
    return tokens - size(asked(talked.messages)) - total(_state(talked.digest(()))) - sum(map(size, last))


def plain(messages: Sequence[AnyMessage]) -> list[BaseMessage]:
    """Messages in the form that every model takes: what is text is text, whatever interface it was written for."""
    return [_plain(message) for message in messages]


def _whole(talked: ConversationHistory) -> list[BaseMessage] | None:
    """All that was said, with what was recalled; None where not all of it is at hand."""
    turns = earlier(talked.messages, talked.before)
    if talked.count > len(turns):
        return None
    handed = len(earlier(talked.messages, ()))
    missing = as_messages(turns[: len(turns) - handed])
    application = [m for m in talked.messages if _is_application(m)]
    others = [m for m in talked.messages if not _is_application(m) and not _is_recalled(m)]
    return [*injected(plain([*application, *missing, *others]), talked.block)]


def _compressed(talked: ConversationHistory, tokens: int) -> list[BaseMessage]:
    turns = earlier(talked.messages, talked.before)
    (message,) = plain([asked(talked.messages)])
    application = plain([m for m in talked.messages if _is_application(m)])
    memory = [as_message(talked.block)] if talked.block else []
    state = _state(talked.digest(turns[:-LAST]))
    room = tokens - size(message) - total(memory) - total(state)
    return [*application, *state, *memory, *_last(turns, room), message]


def _state(digest: Digest) -> list[BaseMessage]:
    text = converse.render(digest)
    return [HumanMessage(text, additional_kwargs={RECALLED: True})] if text else []


def _last(turns: Sequence[Turn], room: int) -> list[AnyMessage]:
    """The last turns, the latest whole as long as there is room; the one that has too little is cut."""
    shown: list[AnyMessage] = []
    for message in reversed(as_messages(turns[-LAST:])):
        needed = size(message)
        if needed > room:
            shown += _cut(message, room)
            break
        shown.append(message)
        room -= needed
    return shown[::-1]


def _cut(message: AnyMessage, room: int) -> list[AnyMessage]:
    """How a message begins, in so many tokens; nothing where they are too few."""
    left = room - MESSAGE_TOKENS - estimate_tokens(f"{converse.CUT}{message.name or ''}")
    if left < LEAST_TURN:
        return []
    text = message.text[: fitting(message.text, left)].rstrip()
    return [message.model_copy(update={"content": text + converse.CUT})]


def _is_application(message: BaseMessage) -> bool:
    """Whether a message is an instruction of the application's: it stays, and stays first."""
    is_developer = isinstance(message, ChatMessage) and message.role in ("system", "developer")
    return isinstance(message, SystemMessage) or is_developer


def _is_recalled(message: BaseMessage) -> bool:
    """Whether a message holds memories of an earlier time; an answer that quotes them is an answer."""
    return isinstance(message, HumanMessage) and bool(message.additional_kwargs.get(RECALLED))


def _plain(message: AnyMessage) -> BaseMessage:
    if isinstance(message.content, str):
        return message
    parts = [_part(part) for part in cast("list[Any]", message.content)]
    if all(isinstance(part, dict) and part["type"] == "text" for part in parts):
        return message.model_copy(update={"content": text_of(message)})
    return message.model_copy(update={"content": parts})


def _part(part: Any) -> Any:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part, dict) and part.get("type") in TEXT_PARTS:
        return {"type": "text", "text": str(part.get("text", ""))}
    return part if isinstance(part, dict) and "type" in part else {"type": "text", "text": str(part)}
