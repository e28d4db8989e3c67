"""Reads the transcript of an executor's work: what tools brought, what the user said, its last words and thoughts."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from agentic_memory_bank.nodes.foreign_turns import as_messages
from agentic_memory_bank.state.errors import ToolError
from agentic_memory_bank.tools.text.cleaning import clean

OWN_TOOLS = frozenset({"deep_retrieval", "deep_research"})
"""Tools that read memory: what they return is remembered already."""
NO_MESSAGES: Final = (ValueError, TypeError, NotImplementedError, KeyError, AttributeError, RecursionError)
"""What LangChain raises for something that is no message."""
_INTEGER_BITS = 64
_DEEPEST = 100
"""Levels of nested arguments that are kept as they are."""
_THOUGHTS = re.compile("<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHTS_END = re.compile("</(?:think|thinking|reasoning)>", re.IGNORECASE)
_ENTRY_ID = re.compile("e[0-9a-f]{12}")


def turns_in(said: object, prompt: str) -> list[BaseMessage]:
    """The new turns of a transcript: neither instructions nor the prompt, whole or in parts.

    Raises:
        ToolError: It holds something that is no message.
    """
    if isinstance(said, str):
        return [AIMessage(clean(said))]
    given = [said] if isinstance(said, BaseMessage) else said
    if not isinstance(given, Sequence):
        raise ToolError("An executor returns text, messages, or a mapping with `text`, `answer` or `messages`.")
    try:
        messages = convert_to_messages([_readable(one) for one in as_messages(cast("Sequence[Any]", given))])
        for message in messages:
            message.content_blocks  # noqa: B018 - raises where a block is none
    except NO_MESSAGES as error:
        raise ToolError("The transcript holds something that is no message: give role and content of each.") from error
    shown = _squeezed(prompt)
    return [turn for turn in messages if not isinstance(turn, SystemMessage) and not _repeats(turn, shown)]


def _repeats(turn: BaseMessage, shown: str) -> bool:
    """Whether a turn holds the prompt; one of the user's also where it is a part of it, as a framework may cut it."""
    said = _squeezed(turn.text)
    return shown in said or (isinstance(turn, HumanMessage) and said in shown)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _readable(message: Any) -> Any:
    """A message whose calls can be read: what a model wrote as arguments may be no JSON, or none at all."""
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    if not isinstance(calls, list):
        return message
    return {**message, "tool_calls": [_readable_call(call) for call in cast("list[Any]", calls)]}


def _readable_call(call: Any) -> Any:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("arguments"), str):
        return call
    try:
        is_object = isinstance(json.loads(function["arguments"]), dict)
    except (ValueError, RecursionError):
        is_object = False
    return call if is_object else {**call, "function": {**function, "arguments": "{}"}}


def entries_in(turns: Sequence[BaseMessage]) -> tuple[list[dict[str, Any]], str]:
    """Raw text to remember, an entry for each result of a tool, each turn of the user and the last words; and these.

    What was thought on the way stands with the last of them: it can be read again, and is no evidence of anything.
    """
    calls = [call for turn in turns if isinstance(turn, AIMessage) for call in turn.tool_calls]
    names = {call["id"]: call["name"] for call in calls}
    entries = [entry for turn in turns if (entry := _entry(turn, names, calls))]
    last = next((turn for turn in reversed(turns) if isinstance(turn, AIMessage) and turn.text.strip()), None)
    text = _parted(clean(last.text))[1] if last else ""
    if text.strip():
        made = [_recorded(call) for call in calls]
        entries.append({"kind": "trajectory", "text": text, "source": "executor", "tool_calls": made})
    thoughts = list(chain.from_iterable(_thoughts(turn, turn is last) for turn in turns if isinstance(turn, AIMessage)))
    if thoughts and entries:
        entries[-1]["metadata"] = {"reasoning": thoughts}
    return entries, text


def _entry(turn: BaseMessage, names: Mapping[str | None, str], calls: Sequence[Any]) -> dict[str, Any] | None:
    """What a tool brought or the user said."""
    if isinstance(turn, HumanMessage) and turn.text.strip():
        return {"kind": "dialogue", "text": clean(turn.text), "source": "user"}
    if isinstance(turn, ToolMessage) and (turn.text.strip() or _files(turn)) and _is_news(turn, names):
        return {
            "kind": "tool_result",
            **_result(turn),
            "source": _source(turn, names),
            "tool_calls": _made(turn, calls),
        }
    return None


def _thoughts(turn: AIMessage, is_last: bool) -> list[str]:
    """What a turn thinks: blocks of reasoning, thoughts between tags, and the words beside a call."""
    blocks = [str(block.get("reasoning") or "") for block in turn.content_blocks if block.get("type") == "reasoning"]
    thought, words = _parted(clean(turn.text))
    found = (*blocks, thought, "" if is_last else words)
    return [said for one in found if (said := clean(one).strip())]


def spoken_json(text: str) -> Mapping[str, Any] | None:
    """Last words that are one JSON object, between fences or bare, and nothing else."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text[text.index("\n") : -len("```")].strip()
    try:
        said = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return cast("Mapping[str, Any]", said) if isinstance(said, dict) else None


def _parted(text: str) -> tuple[str, str]:
    """Thoughts that a model wrote before its words, and these; the tag that begins the thoughts may be missing."""
    end = _THOUGHTS_END.search(text)
    begin = _THOUGHTS.search(text, 0, end.start()) if end else None
    if end is None or (begin and text[: begin.start()].strip()):
        return "", text
    return text[begin.end() if begin else 0 : end.start()], text[end.end() :].lstrip()


def _result(turn: ToolMessage) -> dict[str, Any]:
    """What a tool brought: whole, and under its id, where the agent was shown a part of it; files as `brought`."""
    artifact, files = turn.artifact if isinstance(turn.artifact, Mapping) else {}, _files(turn)
    if isinstance(artifact.get("full"), str) and _ENTRY_ID.fullmatch(str(artifact.get("id"))):
        return {"text": clean(artifact["full"]), "id": str(artifact["id"]), **files}
    return {"text": clean(turn.text), **files}


def _files(turn: ToolMessage) -> dict[str, Any]:
    """The files of a result: those of its artifact, and those among its content as LangChain and MCP write them."""
    is_file = isinstance(turn.artifact, Mapping) and "data" in turn.artifact
    files = turn.artifact if isinstance(turn.artifact, list) else [turn.artifact] if is_file else []
    shown = [_shown(turn, number, block) for number, block in enumerate(turn.content_blocks, 1)]
    brought = [*files, *(file for file in shown if file)]
    return {"brought": brought} if brought else {}


def _shown(turn: ToolMessage, number: int, block: Mapping[str, Any]) -> dict[str, Any] | None:
    """A picture or file that a tool returned as a block of its content."""
    if block.get("type") not in ("image", "file") or not isinstance(block.get("base64"), str):
        return None
    kind = str(block.get("mime_type") or "").partition("/")[2] or "bin"
    return {"name": f"{turn.name or 'tool'}-{number}.{kind}", "data": block["base64"]}


def _is_news(turn: ToolMessage, names: Mapping[str | None, str]) -> bool:
    """Whether a tool brought something: an error is none, and what was read from memory is known."""
    return turn.status != "error" and (turn.name or names.get(turn.tool_call_id)) not in OWN_TOOLS


def _source(turn: ToolMessage, names: Mapping[str | None, str]) -> str:
    """Where a result comes from: the tool may say so in its artifact; otherwise the name of the tool."""
    artifact = turn.artifact
    said = artifact.get("source") if isinstance(artifact, Mapping) else None
    return clean(str(said or turn.name or names.get(turn.tool_call_id) or "tool"))


def _made(turn: ToolMessage, calls: Sequence[Any]) -> list[dict[str, Any]]:
    return [_recorded(call) for call in calls if call["id"] == turn.tool_call_id]


def _recorded(call: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _savable(value) for name, value in call.items()}


def _savable(value: Any, depth: int = 0) -> Any:
    """A value as a checkpoint can hold it: what it would change or refuse becomes text."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < _INTEGER_BITS else hex(value)
    if isinstance(value, Mapping) and depth < _DEEPEST:
        return {clean(str(name)): _savable(item, depth + 1) for name, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return [_savable(item, depth + 1) for item in cast("Sequence[Any]", value)]
    try:
        return clean(str(value))
    except RecursionError:
        return type(value).__name__
