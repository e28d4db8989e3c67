"""Reads the messages of an agent: which belong together, what is kept of each word for word, and what fits a prompt."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.nodes.transcripts import OWN_TOOLS
from agentic_memory_bank.prompts import recalled
from agentic_memory_bank.state.interaction_tree import Entry, EntryKind
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.tokens import estimate_tokens

MESSAGE_TOKENS = 8
"""What a message costs besides its words: role, borders, ids."""
MEDIA_TOKENS = 1_600
"""What a picture or another part that is no text is taken to cost: providers count by size, not by characters."""
NOTE_TOKENS = 80
"""Upper size of the line that says what an excerpt leaves out."""
LEAST_TOKENS = NOTE_TOKENS + 40
"""An excerpt with less would say nothing."""
BARE_TOKENS = 24
"""Upper size of a line that only says under which id a text is kept."""
USER = "user"
ASSISTANT = "assistant"

_MEDIA = frozenset({"image", "image_url", "input_image", "audio", "input_audio", "video", "file", "input_file"})

Exchange = list[BaseMessage]
"""Messages that are never parted: one alone, or one that calls tools with all the results."""
Calls = Mapping[str | None, Mapping[str, Any]]


# --- what belongs together ---------------------------------------------------------------------------------------


def calls_no_tools(model: object) -> bool:
    """Whether a chat model has no way to be offered tools: LangChain then raises an error without a word."""
    return isinstance(model, BaseChatModel) and type(model).bind_tools is BaseChatModel.bind_tools


def exchanges(messages: Iterable[BaseMessage]) -> list[Exchange]:
    """Group messages that stay together; a result without its call is left out, as no model accepts it."""
    callers: dict[str | None, int] = {}
    found: list[Exchange] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if (place := callers.get(message.tool_call_id)) is not None:
                found[place].append(message)
            continue
        if isinstance(message, AIMessage):
            callers.update((call["id"], len(found)) for call in message.tool_calls)
        found.append([message])
    return found


def question(messages: Sequence[BaseMessage]) -> BaseMessage | None:
    """What the user said last: what the agent is working on."""
    return next((m for m in reversed(messages) if isinstance(m, HumanMessage)), None)


def calls_of(messages: Iterable[BaseMessage]) -> Calls:
    """The calls of tools, by their id."""
    return {call["id"]: dict(call) for m in messages if isinstance(m, AIMessage) for call in m.tool_calls}


# --- what is kept ------------------------------------------------------------------------------------------------


def entry_of(message: BaseMessage, calls: Calls, now: str = "") -> Entry | None:
    """A message as raw text of the Interaction Tree, word for word; the same message gives the same id.

    Returns:
        None for what is no news: instructions of the application, and what was read from memory.
    """
    text, call = clean(_said(message)), calls.get(getattr(message, "tool_call_id", None), {})
    source = _speaker(message, call)
    is_own = isinstance(message, ToolMessage) and source in OWN_TOOLS
    if isinstance(message, SystemMessage) or is_own or not (text or _media(message)):
        return None
    return {
        "id": "e" + digest(message.id, message.type, text)[:12],
        "kind": _kind(message),
        "text": text,
        "created_at": now,
        "source": source,
        "metadata": _metadata(message),
        "tool_calls": [dict(call)] if call else [],
        "attachments": [],
    }


def _said(message: BaseMessage) -> str:
    """Text and calls: what a call was made with is looked up later like anything else that was said."""
    if not isinstance(message, AIMessage):
        return message.text
    made = [f"{c['name']}({as_json(c['args'])})" for c in message.tool_calls if c["name"] not in OWN_TOOLS]
    return "\n\n".join(part for part in (message.text, *made) if part)


def _speaker(message: BaseMessage, call: Mapping[str, Any]) -> str:
    if isinstance(message, ToolMessage):
        return clean(message.name or str(call.get("name") or "tool"))
    if isinstance(message, HumanMessage):
        return clean(message.name or USER)
    return ASSISTANT


def _kind(message: BaseMessage) -> EntryKind:
    if isinstance(message, ToolMessage):
        return "tool_result"
    return "trajectory" if isinstance(message, AIMessage) and message.tool_calls else "dialogue"


def _metadata(message: BaseMessage) -> dict[str, Any]:
    """The role; for a failed call that it failed; for a message with pictures all its parts, so that none is lost."""
    metadata: dict[str, Any] = {"role": message.type}
    if isinstance(message, ToolMessage) and message.status == "error":
        metadata["status"] = "error"
    if _media(message):
        metadata["content"] = message.content
    return metadata


def _media(message: BaseMessage) -> list[dict[str, Any]]:
    return [b for b in _blocks(message) if b.get("type") in _MEDIA]


def _blocks(message: BaseMessage) -> list[dict[str, Any]]:
    content = cast("list[Any]", message.content) if isinstance(message.content, list) else []
    return [block for block in content if isinstance(block, dict)]


# --- what it costs -----------------------------------------------------------------------------------------------


def size(message: BaseMessage) -> int:
    """How many tokens a message takes in a prompt, estimated rather too high."""
    calls = cast("Sequence[Any]", getattr(message, "tool_calls", ()))
    words = [message.text, message.name or "", str(getattr(message, "tool_call_id", "")), *map(as_json, calls)]
    for block in _blocks(message):
        if block.get("type") not in {"text", *_MEDIA}:
            words.append(as_json(block))
    return MESSAGE_TOKENS + sum(map(estimate_tokens, words)) + MEDIA_TOKENS * len(_media(message))


def total(messages: Iterable[BaseMessage]) -> int:
    """How many tokens messages take together."""
    return sum(map(size, messages))


def as_json(value: Any) -> str:
    """A value as a model is shown it."""
    return json.dumps(value, ensure_ascii=False, default=str)


# --- what is shown -----------------------------------------------------------------------------------------------


BARE = 1_000
"""Stands for the strongest of all concessions."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Lengths in tokens up to which texts are shown whole, and how many of the latest exchanges always are."""

    message: int
    result: int
    keep_last: int

    def of(self, message: BaseMessage) -> int:
        """The limit of a message; what was asked of memory on purpose counts as a message."""
        is_found = isinstance(message, ToolMessage) and message.name not in OWN_TOOLS
        return self.result if is_found else self.message

    def shrunk(self, by: int) -> "Limits":
        """Smaller limits, for a prompt that does not fit otherwise."""
        if by == BARE:
            return Limits(BARE_TOKENS, BARE_TOKENS, self.keep_last)
        least = LEAST_TOKENS
        return Limits(max(least, self.message // by), max(least, self.result // by), self.keep_last)


def is_long(message: BaseMessage, limits: Limits) -> bool:
    """Whether a message is shown as an excerpt."""
    return not isinstance(message, SystemMessage) and estimate_tokens(message.text) > limits.of(message)


def excerpted(message: BaseMessage, limits: Limits, entry_id: str | None) -> BaseMessage:
    """The message, with an excerpt in place of a text or of an argument of a call that is too long."""
    if isinstance(message, SystemMessage):
        return message
    limit = limits.of(message)
    changed: dict[str, Any] = {}
    if is_long(message, limits):
        text = _excerpt(message.text, limit, entry_id)
        media = _media(message)
        changed["content"] = [{"type": "text", "text": text}, *media] if media else text
    if isinstance(message, AIMessage):
        changed |= _shortened(message, limit, entry_id, changed.get("content", message.text))
    return message.model_copy(update=changed) if changed else message


def _shortened(message: AIMessage, limit: int, entry_id: str | None, content: str) -> dict[str, Any]:
    """The message's calls with excerpts for arguments; whatever else repeats the arguments is left out."""
    calls = [_short_call(call, limit, entry_id) for call in message.tool_calls]
    if calls == message.tool_calls:
        return {}
    extra = {name: value for name, value in message.additional_kwargs.items() if name != "tool_calls"}
    return {"tool_calls": calls, "additional_kwargs": extra, "content": content}


def _short_call(call: Any, limit: int, entry_id: str | None) -> Any:
    if estimate_tokens(as_json(call["args"])) <= limit:
        return call
    share = min(limit, max(LEAST_TOKENS, limit // max(1, len(call["args"]))))
    return {**call, "args": {name: _short_value(value, share, entry_id) for name, value in call["args"].items()}}


def _short_value(value: Any, limit: int, entry_id: str | None) -> Any:
    text = value if isinstance(value, str) else as_json(value)
    return _excerpt(text, limit, entry_id) if estimate_tokens(text) > limit else value


def _excerpt(text: str, limit: int, entry_id: str | None) -> str:
    """Two thirds from the beginning, one from the end, where people put what they ask about a text they pasted."""
    if limit < LEAST_TOKENS:
        return recalled.kept(entry_id)
    room, text = limit - NOTE_TOKENS, clean(text)
    return recalled.excerpt(text, fitting(text, room * 2 // 3), fitting(text[::-1], room // 3), entry_id)


def fitting(text: str, tokens: int) -> int:
    """How many characters of the beginning of a text fit into so many tokens."""
    end = min(len(text), 4 * tokens)
    while end and estimate_tokens(text[:end]) > tokens:
        end = end * 7 // 8
    return end


def fit(
    messages: Sequence[BaseMessage], room: int, limits: Limits, name: Callable[[BaseMessage], str | None]
) -> list[AnyMessage] | None:
    """The messages a prompt has room for: the latest ones, whole exchanges only, long texts as excerpts.

    What is given up, in this order: the oldest exchanges; long texts of all but the last one; of the latest exchanges
    the older ones; long texts of the last one. It stays itself, since a model that sees no results calls again; so do
    the question and the application's own instructions.

    Args:
        limits: What is too long to be shown whole.
        name: Under which id a message is kept.

    Returns:
        The messages; None when there is no room for what stays.
    """
    groups = exchanges(messages)
    pinned = _pinned(groups, question(messages))
    for older, newest, count in _concessions(limits.keep_last):
        last = pinned | _last(groups, 1)
        drawn_to = [limits.shrunk(newest if i in last else older) for i in range(len(groups))]
        shown = [[excerpted(m, to, name(m)) for m in group] for group, to in zip(groups, drawn_to, strict=True)]
        if (chosen := _chosen(shown, pinned | _last(groups, count), room)) is not None:
            return _flat(shown[i] for i in chosen)
    return None


def _concessions(keep_last: int) -> Iterator[tuple[int, int, int]]:
    """By how much older texts and the last ones are shortened, and how many of the latest exchanges stay."""
    yield from ((older, 1, keep_last) for older in (1, 4, 32))
    yield from ((32, 1, count) for count in range(keep_last - 1, 0, -1))
    yield from ((32, newest, 1) for newest in (2, 4, 8, 16, 32, BARE))


def staying(messages: Sequence[BaseMessage], room: int, limits: Limits) -> list[BaseMessage]:
    """The messages that need not leave: all while there is room, and half a room full of the latest when there is not.

    Half, so that many leave together and seldom: what is remembered at once is judged at once.
    """
    groups = exchanges(messages)
    drawn = [[excerpted(m, limits, None) for m in group] for group in groups]
    if sum(map(total, drawn)) <= room:
        return _flat(groups)
    stays = _pinned(groups, question(messages)) | _last(groups, limits.keep_last)
    enough = max(room // 2, sum(total(drawn[i]) for i in stays))
    return _flat(groups[i] for i in _chosen(drawn, stays, enough) or ())


def _chosen(groups: Sequence[Exchange], stays: set[int], room: int) -> list[int] | None:
    """Which exchanges there is room for: those that stay, and the latest others; None without room for the former."""
    sizes = [total(group) for group in groups]
    left = room - sum(sizes[i] for i in stays)
    if left < 0:
        return None
    chosen = set(stays)
    for i in reversed(range(len(groups))):
        if i not in stays:
            left -= sizes[i]
            if left < 0:
                break
            chosen.add(i)
    return sorted(chosen)


def _pinned(groups: Sequence[Exchange], asked: BaseMessage | None) -> set[int]:
    """The question, and the instructions of the application."""
    return {i for i, group in enumerate(groups) if isinstance(group[0], SystemMessage) or group[0] is asked}


def _last(groups: Sequence[Exchange], count: int) -> set[int]:
    return set(range(max(0, len(groups) - count), len(groups)))


def _flat(groups: Iterable[Exchange]) -> list[Any]:
    return [message for group in groups for message in group]
