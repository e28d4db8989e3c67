"""Reads an answer out of what a model wrote: tool arguments or text, with fences, thoughts, small faults or without."""

import json
import re
from contextlib import suppress
from typing import Any, Final, TypeVar

import json_repair
from langchain_core.messages import AIMessage
from pydantic import BaseModel, ValidationError

from agentic_memory_bank.state.errors import AnswerRejected
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.nesting import is_too_deep

Answer = TypeVar("Answer", bound=BaseModel)

_MARK: Final = re.compile(r"<(?P<end>/?)(?P<tag>think|thinking|reasoning)>|\{", re.IGNORECASE)
"""Where thoughts begin or end, and where an object begins."""
_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\n(.*?)(?:\n```|\Z)", re.DOTALL | re.IGNORECASE)
_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\])*"|["{}\[\]]', re.DOTALL)
"""What decides where JSON ends: whole strings, quotes that open one without end, and brackets."""
_REASONS: Final = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
"""Where the clients of the usual providers say why an answer ended."""

CUT_OFF: Final = "It was cut off at the output limit: make it shorter."
_HELD_BACK: Final = "It was held back by a content filter."
_BROKE_OFF: Final = "It broke off before its end."
_UNFINISHED: Final = {
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded", "incomplete"), CUT_OFF),
    **dict.fromkeys(("content_filter", "content_filtered", "guardrail_intervened", "sensitive"), _HELD_BACK),
    **dict.fromkeys(("safety", "recitation", "blocklist", "prohibited_content", "spii"), _HELD_BACK),
    **dict.fromkeys(("abort", "cancelled", "error", "failed", "insufficient_system_resource"), _BROKE_OFF),
    "refusal": "The model refused to answer.",
}
_FAULTS_NAMED = 5
_LOOKED_AT: Final = 1_200
"""Characters at the end of an answer that are looked at for a loop."""
_LEAST_LOOP: Final = 40
"""Characters that come again: closing brackets do, too."""
_TIMES: Final = 5
"""How often the same has to come in a row to be one."""
_CALLS: Final = frozenset(
    ("tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call", "input_json_delta")
)
"""Parts of a message that call a tool."""
_CALLED: Final = frozenset(("tool_calls", "function_call", "__openai_function_call_ids__"))
"""Where clients keep calls as they came, besides."""


def complete(message: AIMessage, *, needs_finish: bool) -> None:
    """See that a message is a whole answer.

    Args:
        message: What came back.
        needs_finish: Whether this kind of client always says why an answer ended.

    Raises:
        AnswerRejected: It was cut off, held back, refused, or broke off without an end.
    """
    reason = next((said for name in _REASONS if (said := message.response_metadata.get(name))), None)
    if message.additional_kwargs.get("refusal"):
        raise AnswerRejected(_UNFINISHED["refusal"])
    if why := _UNFINISHED.get(str(reason).casefold()):
        raise AnswerRejected(why)
    if needs_finish and reason is None:
        raise AnswerRejected(_BROKE_OFF)


def loops(text: str) -> bool:
    """Whether what a model wrote ends in the same again and again: shown to it once more, it would go on with it.

    Example:
        >>> loops("It is so. " + "And so on. " * 9), loops("It is so. And so on.")
        (True, False)
    """
    end = text.rstrip()[-_LOOKED_AT:]
    for period in range(1, len(end) // _TIMES + 1):
        times = max(_TIMES, _LEAST_LOOP // period)
        if len(end) >= times * period and end.endswith(end[-period:] * times):
            return True
    return False


def without_calls(message: AIMessage) -> AIMessage:
    """What a message says in words; calls of tools that nobody serves are left out, wherever a client puts them."""
    content = message.content
    if not isinstance(content, str):
        parts = [part for part in content if isinstance(part, str) or part.get("type") not in _CALLS]
        content = parts or ""
    beside = {name: value for name, value in message.additional_kwargs.items() if name not in _CALLED}
    return message.model_copy(
        update={"content": content, "tool_calls": [], "invalid_tool_calls": [], "additional_kwargs": beside}
    )


def read(message: AIMessage, answer: type[Answer]) -> Answer:
    """The answer in a message.

    Raises:
        AnswerRejected: There is none, or it has another shape; the text says where, in words for the model.
    """
    try:
        return answer.model_validate(_storable(_data(message, answer.__name__)))
    except ValidationError as error:
        faults = _faults(error)
    raise AnswerRejected(faults)


def _data(message: AIMessage, tool: str) -> dict[str, Any]:
    """The object that was answered: as arguments of the one tool there is, or in words."""
    for call in message.tool_calls:
        if call["name"] == tool:
            return call["args"]
    broken = [call["args"] or "" for call in message.invalid_tool_calls if call["name"] == tool]
    found = _parsed(broken[0] if broken else message.text)
    if found is None and not broken and (message.tool_calls or message.invalid_tool_calls):
        raise AnswerRejected(f"It calls a tool that does not exist. The only one is {tool}.")
    if found is None:
        raise AnswerRejected("There is no JSON object in it, or none that is whole.")
    return found


def _storable(value: Any) -> Any:
    """A copy of JSON data whose texts can be stored: what no database takes is replaced."""
    if isinstance(value, str):
        joined = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # halves of one character
        return clean(joined)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return {key: _storable(item) for key, item in value.items()} if isinstance(value, dict) else value


def _parsed(text: str) -> dict[str, Any] | None:
    """The JSON object in a text; what a model thought aloud is no answer."""
    if is_too_deep(text):
        return None
    with suppress(ValueError):
        whole = json.loads(text)
        if isinstance(whole, dict):
            return whole
    said = _spoken(text)
    for candidate in (*_FENCED.findall(said), said):
        if found := _object(candidate):
            return found
    return None


def _spoken(text: str) -> str:
    """What a model said besides its thoughts. A tag within an object is part of what the object says."""
    kept: list[str] = []
    start = place = 0
    is_sound = True
    while mark := _MARK.search(text, place):
        if mark["tag"] is None:
            end = _end(text, mark.start()) if is_sound else None
            is_sound = end is not None
            place = end or mark.end()
        elif mark["end"]:  # thoughts that began with the text: chat templates swallow the tag that opens them
            kept.clear()
            start = place = mark.end()
        else:
            kept.append(text[start : mark.start()])
            closing = re.compile(f"</{mark['tag']}>", re.IGNORECASE).search(text, mark.end())
            if closing is None:
                return "".join(kept)
            start = place = closing.end()
    return "".join([*kept, text[start:]])


def _end(text: str, start: int) -> int | None:
    """Where the object ends that begins at `start`; None when it is no sound JSON."""
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except ValueError:
        return None


def _object(text: str) -> dict[str, Any] | None:
    """The first object in a text, mended where it is whole but not quite JSON."""
    start = text.find("{")
    if start < 0:
        return None
    end = _end(text, start)
    if end is None and _is_cut(text[start:]):
        return None
    try:
        found = json.loads(text[start:end]) if end else json_repair.loads(text[start:])
    except (ValueError, RecursionError):
        return None
    if isinstance(found, list):  # something stood behind the object
        found = next((item for item in found if isinstance(item, dict)), None)
    return found if isinstance(found, dict) and found else None


def _is_cut(text: str) -> bool:
    """Whether an object ends within a string or a bracket: mending it would pass off a part as the whole."""
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] == '"':
            return True
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth <= 0:
            return False
    return True


def _faults(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False)
    named = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in found[:_FAULTS_NAMED]]
    return f"It has another shape than asked for: {'; '.join(named)}."
