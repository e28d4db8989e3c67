"""Finds the earlier turns of a conversation: in the input, in its stored state, and in the queue."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.nodes.messages import RECALLED, turns_of
from agentic_memory_bank.state.conversations import (
    ConversationSnapshot,
    ConversationState,
    MemoryContext,
    RecallReceipt,
    StoredConversation,
    StoredTurn,
)
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.text.cleaning import checked_text

DISABLED: RecallReceipt = {
    "outcome": "disabled", "reason": "disabled", "searched": 0, "shown": [], "cosines": {}, "degraded": [],
}  # fmt: skip
"""What a conversation says of recalling where nothing is recalled."""


def asked(messages: Sequence[AnyMessage]) -> HumanMessage:
    """The message that is answered: the last one of the user.

    Raises:
        InputError: There is none.
    """
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and not message.additional_kwargs.get(RECALLED):
            return message
    raise InputError("There is no message to answer. Hand over `messages`, the last one of the role user.")


def snapshot_of(kept: StoredConversation | None, waiting: Iterable[Sequence[Turn]] = ()) -> ConversationSnapshot:
    """Where a conversation stands, what waits to be written included.

    Args:
        kept: As it was written last; None where nothing was.
        waiting: The turns that were handed over since.
    """
    sayings = {said["id"]: said for said in (kept["recent"] if kept else [])}
    for turn in (turn for some in waiting for turn in some):
        role = "user" if turn.role == "user" else "assistant"
        said: StoredTurn = {"id": turn.id, "role": role, "text": turn.text, "speaker": turn.speaker, "date": turn.date}
        sayings.setdefault(turn.id, said)
    return {
        "turns": list(sayings.values()),
        "digest": kept["digest"] if kept else {},
        "count": kept["count"] if kept else 0,
    }


def without(standing: ConversationSnapshot, turns: Sequence[Turn]) -> ConversationSnapshot:
    """Where a conversation stood before some turns were kept."""
    gone = {turn.id for turn in turns}
    left = [said for said in standing["turns"] if said["id"] not in gone]
    return {**standing, "turns": left, "count": standing["count"] - (len(standing["turns"]) - len(left))}


def turns_in(standing: ConversationSnapshot) -> list[Turn]:
    """The last turns of a conversation, oldest first."""
    return [Turn(said["id"], said["role"], said["text"], said["speaker"], said["date"]) for said in standing["turns"]]


def earlier(messages: Sequence[AnyMessage], before: Sequence[Turn]) -> list[Turn]:
    """What was said before the message that is answered, oldest first.

    Args:
        messages: As they were handed over: the whole conversation, or what is new of it.
        before: The last turns as they were kept; those that are among the messages are not repeated.
    """
    handed = _handed(messages)
    ids, known = {turn.id for turn in handed}, Counter((turn.role, turn.text) for turn in handed)
    missing: list[Turn] = []
    for turn in reversed(before):
        if turn.id in ids:
            continue
        if known[turn.role, turn.text]:
            known[turn.role, turn.text] -= 1
        else:
            missing.append(turn)
    return [*reversed(missing), *handed]


def new_messages(messages: Sequence[AnyMessage], before: Sequence[Turn]) -> list[AnyMessage]:
    """The messages that were not handed over before; from the one that is answered on, all of them are new.

    Whoever hands over the whole conversation each time need not name its messages: the kept turns are looked for among
    them, and what comes after is new.

    Args:
        messages: As they were handed over.
        before: The last turns as they were kept.
    """
    end = _place(messages)
    start = _past(messages[:end], before)
    return [message for message in messages[start:] if turns_of([message])]


def as_messages(turns: Iterable[Turn]) -> list[AnyMessage]:
    """Write turns as messages, with the names of speakers."""
    return [
        HumanMessage(turn.text, name=turn.speaker or None) if turn.role == "user" else AIMessage(turn.text)
        for turn in turns
    ]


def _handed(messages: Sequence[AnyMessage]) -> list[Turn]:
    return turns_of(messages[: _place(messages)])


def _place(messages: Sequence[AnyMessage]) -> int:
    """Where the message stands that is answered."""
    answered = asked(messages)
    return next(place for place in reversed(range(len(messages))) if messages[place] is answered)


def _past(messages: Sequence[AnyMessage], before: Sequence[Turn]) -> int:
    """Where in a history what was handed over before ends: behind the last kept turn, and behind its answer.

    An answer of ours is not handed over again where it only quoted, and so need not be among the kept turns.
    """
    kept = {name: place for place, turn in enumerate(before) for name in (turn.id, (turn.role, turn.text))}
    for place in reversed(range(len(messages))):
        found = max(kept.get(name, -1) for name in _names(messages[place]))
        if found >= 0:
            past = min(len(messages), place + len(before) - found)
            while past < len(messages) and isinstance(messages[past], AIMessage):
                past += 1
            return past
    return 0


def _names(message: AnyMessage) -> Iterator[str | tuple[str, str]]:
    """What a message is known by among kept turns: its id, or else who said what."""
    yield ""
    for turn in turns_of([message]):
        yield from (turn.id, (turn.role, turn.text))


def conversation_of(state: ConversationState, runtime: Runtime[MemoryContext]) -> str:
    """Which conversation it is: the one that is named, or that of the thread, or a new one."""
    named = state.get("conversation_id")
    if named:
        return checked_text(named, "conversation_id")
    info = runtime.execution_info
    return (info.thread_id if info else None) or uuid4().hex
