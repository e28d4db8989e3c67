"""Reads what other memories and chats export: each form is a generator of memories, turns and what it cannot read.

Nothing is guessed and nothing is sent anywhere. Whatever stands in a file is data: wrong types are told, not trusted.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, cast

from agentic_memory_bank.state.errors import ExportError

MOST_TURNS: Final = 100_000
"""Turns of one conversation that are followed to its beginning."""
_ORDER_MARK: Final = "\ufeff"
"""What Windows writes before a text."""
_DATED_LINE: Final = re.compile(r"(?:[-*] )?(?:\[?(?P<date>\d{4}-\d\d-\d\d)\]?:? )?(?P<text>\S[^\n]*)")
_TEXTS: Final = ("text", "memory", "content", "fact", "value")
_DATES: Final = ("created_at", "date", "timestamp", "valid_at", "updated_at")
_ROLES: Final = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


class ForeignMemory(NamedTuple):
    """A memory or a turn of somebody else's file."""

    text: str
    at: datetime | None = None
    role: str = ""
    """Who said it, of a turn; empty for a memory."""
    conversation: str = ""
    id: str = ""
    """Its id in the file; empty for none."""


class NotUnderstood(NamedTuple):
    """Something in a file that could not be read, and why."""

    place: str
    why: str


Read = Iterator[ForeignMemory | NotUnderstood]


def read_foreign(kind: str, text: str) -> Read:
    """Read a file.

    Args:
        kind: One of `KINDS`.
        text: What stands in it.

    Raises:
        ExportError: It is not of this kind, or was cut short.
    """
    if kind not in KINDS:
        raise ExportError(f"Nothing is known of {kind!r}. Import from one of {', '.join(KINDS)}.")
    if not isinstance(text, str):
        raise ExportError(f"Hand over what stands in the file as text: a {type(text).__name__} is none.")
    return KINDS[kind](text.removeprefix(_ORDER_MARK))


def moment_of(given: object) -> datetime | None:
    """A date as others write it, ISO 8601 or seconds since 1970, in UTC; None for what is none."""
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(given, str) and given.strip():
            found = datetime.fromisoformat(given.strip())
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given) and given > 0:
            return datetime.fromtimestamp(given / 1000 if given > 1e11 else given, UTC)
    return None


# --- chats ---------------------------------------------------------------------------------------------------------


def _chatgpt(text: str) -> Read:
    """`conversations.json` of ChatGPT: of each conversation the branch that was shown last."""
    for number, chat in enumerate(_listed(_parsed(text))):
        place = f"conversation {number}"
        mapping = chat.get("mapping") if isinstance(chat, Mapping) else None
        if not isinstance(mapping, Mapping):
            yield NotUnderstood(place, "it has no `mapping` of messages")
            continue
        named = _text(chat.get("conversation_id")) or _text(chat.get("id")) or _text(chat.get("title")) or place
        for id in _branch(cast("Mapping[str, Any]", mapping), chat.get("current_node")):
            node: Any = mapping[id]
            message = node.get("message") if isinstance(node, Mapping) else None
            if isinstance(message, Mapping):
                yield from _chatgpt_turn(cast("Mapping[str, Any]", message), f"{named} {id}", named)


def _branch(mapping: Mapping[str, Any], last: object) -> Sequence[str]:
    """The ids of the messages up to the last one, the first first; a circle ends where it closes."""
    found: dict[str, None] = {}
    id = last if isinstance(last, str) else next(reversed(list(mapping)), None)
    while isinstance(id, str) and id in mapping and id not in found and len(found) < MOST_TURNS:
        found[id] = None
        node = mapping[id]
        id = node.get("parent") if isinstance(node, Mapping) else None
    return list(reversed(found))


def _chatgpt_turn(message: Mapping[str, Any], place: str, conversation: str) -> Read:
    author, content = message.get("author"), message.get("content")
    role = _ROLES.get(str(author.get("role")), "") if isinstance(author, Mapping) else ""
    parts = content.get("parts") if isinstance(content, Mapping) else None
    if not role:
        return
    texts = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
    if isinstance(parts, list) and len(texts) < len(parts):
        yield NotUnderstood(place, "a part of it is no text")
    yield from _turn("\n".join(texts), message.get("create_time"), role, conversation, place)


def _claude(text: str) -> Read:
    """`conversations.json` of Claude."""
    for number, chat in enumerate(_listed(_parsed(text))):
        messages = chat.get("chat_messages") if isinstance(chat, Mapping) else None
        if not isinstance(messages, list):
            yield NotUnderstood(f"conversation {number}", "it has no `chat_messages`")
            continue
        named = _text(chat.get("uuid")) or _text(chat.get("name")) or f"conversation {number}"
        for position, message in enumerate(messages):
            place = f"{named} {position}"
            if not isinstance(message, Mapping):
                yield NotUnderstood(place, "it is no message")
                continue
            role = _ROLES.get(str(message.get("sender")), "")
            said = _text(message.get("text")) or _joined(message.get("content"))
            if role:
                yield from _turn(said, message.get("created_at"), role, named, place)
            else:
                yield NotUnderstood(place, "nobody said it that is known")


def _turn(text: str, at: object, role: str, conversation: str, id: str) -> Read:
    if text.strip():
        yield from _dated(ForeignMemory(text, None, role, conversation, id), at, id)


# --- memories ------------------------------------------------------------------------------------------------------


def _items(text: str, *names: str) -> Read:
    """A list of memories, on its own or under one of these names."""
    given = _parsed(text)
    found = given
    if isinstance(given, Mapping):
        found = next((given[name] for name in names if isinstance(given.get(name), list)), None)
    if not isinstance(found, list):
        raise ExportError(f"There is no list of memories, nor one under {' or '.join(names)}.")
    for number, item in enumerate(found):
        yield from _item(item, f"item {number}")


def _item(item: object, place: str) -> Read:
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, Mapping):
        yield NotUnderstood(place, "it is no memory")
        return
    given = cast("Mapping[str, Any]", item)
    inner = given.get("value") if isinstance(given.get("value"), Mapping) else given
    text = _first_text(cast("Mapping[str, Any]", inner))
    if not text:
        yield NotUnderstood(place, f"it has no text under {', '.join(_TEXTS)}")
    elif given.get("invalid_at") or given.get("expired_at"):
        yield NotUnderstood(place, "it no longer holds")
    else:
        noted = given["meta"] if isinstance(given.get("meta"), Mapping) else {}  # where pages of GAM have their date
        at = next((one[name] for one in (given, noted) for name in _DATES if one.get(name)), None)
        id = _text(given.get("id")) or _text(given.get("uuid")) or _text(given.get("key"))
        yield from _dated(ForeignMemory(text, id=id), at, place)


def _first_text(item: Mapping[str, Any]) -> str:
    """The text of a memory, also where it stands one mapping deeper, as LangMem has it."""
    for name in _TEXTS:
        found = item.get(name)
        if isinstance(found, Mapping):
            found = next((found[one] for one in _TEXTS if isinstance(found.get(one), str)), "")
        if isinstance(found, str) and found.strip():
            return found
    return ""


def _letta(text: str) -> Read:
    """An agent file of Letta: its blocks, its passages, and the turns of its messages; or a list of passages."""
    given = _parsed(text)
    if not isinstance(given, Mapping):
        yield from _items(text, "passages")
        return
    agents = [one for one in _listed(given.get("agents") or [given]) if isinstance(one, Mapping)]
    blocks = [*_plain(given.get("blocks")), *(b for one in agents for b in _plain(one.get("core_memory")))]
    for number, block in enumerate(blocks):
        yield from _lines(_text(block.get("value")), block.get("created_at"), f"block {number}")
    for one in [given, *agents]:
        for number, passage in enumerate(_plain(one.get("passages"))):
            yield from _item(passage, f"passage {number}")
    for agent in agents:
        named = _text(agent.get("name")) or "letta"
        for number, message in enumerate(_plain(agent.get("messages"))):
            role = _ROLES.get(str(message.get("role")), "")
            said = _text(message.get("text")) or _text(message.get("content")) or _joined(message.get("content"))
            if role:
                yield from _turn(said, message.get("created_at"), role, named, f"message {number}")


def _jsonl(text: str) -> Read:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                item = json.loads(line)
            except (ValueError, RecursionError):
                yield NotUnderstood(f"line {number}", "it is no JSON")
                continue
            yield from _item(item, f"line {number}")


def _markdown(text: str) -> Read:
    yield from _lines(text, None, "line")


def _lines(text: str, at: object, place: str) -> Read:
    """A memory a line; headings, fences and blank lines are none. A date may stand before it."""
    for number, line in enumerate(text.splitlines(), 1):
        found = _DATED_LINE.fullmatch(line.strip())
        if found is not None and not line.lstrip().startswith(("#", "```", "---", "<!--")):
            yield from _dated(ForeignMemory(found["text"]), found["date"] or at, f"{place} {number}")


# --- inside --------------------------------------------------------------------------------------------------------


def _dated(memory: ForeignMemory, at: object, place: str) -> Read:
    """A memory with its date; a date that is none is told, and the memory kept."""
    moment = moment_of(at)
    if at is not None and moment is None:
        yield NotUnderstood(place, "its date is none, so it has that of today")
    yield memory._replace(at=moment)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ExportError("This is not JSON, or was cut short. Export it again.") from None


def _listed(given: Any) -> list[Any]:
    if isinstance(given, Mapping):
        given = given.get("conversations", [given])
    if not isinstance(given, list):
        raise ExportError("There is no list of conversations. Export it again.")
    return given


def _plain(given: object) -> list[Mapping[str, Any]]:
    return [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []


def _text(given: object) -> str:
    return given if isinstance(given, str) else ""


def _joined(content: object) -> str:
    return "\n".join(filter(None, (_text(part.get("text")) for part in _plain(content))))


KINDS: Final[Mapping[str, Callable[[str], Read]]] = {
    "chatgpt": _chatgpt,
    "claude": _claude,
    "mem0": lambda text: _items(text, "results", "memories"),
    "langmem": lambda text: _items(text, "items", "memories"),
    "letta": _letta,
    "zep": lambda text: _items(text, "facts", "edges"),
    "gam": lambda text: _items(text, "abstracts", "pages"),
    "markdown": _markdown,
    "jsonl": _jsonl,
}
"""What memories can be imported from."""
