"""Makes an executor of whatever carries out a step: a function, a Runnable, an agent graph; and reads what it says."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any, Literal, TypedDict, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from agentic_memory_bank.state.errors import SettingsError, ToolError
from agentic_memory_bank.state.insight_doc import Task
from agentic_memory_bank.tools.text.cleaning import clean


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an executor is handed: the planned step, the prompt with task and recalled memory, and tools to use."""

    task: Task
    question: str
    prompt: str
    tools: tuple[BaseTool, ...] = ()
    """`deep_retrieval`, which reads the raw text behind a memory."""


Executor = Callable[[Assignment], Any]
"""Carries out a step. Returns what it found as text; or a mapping with `text`, and, if it has them, `answer`, `source`,
`learned`; or the messages of its work. An exception is a failed step."""

Execution = Executor | Runnable[Any, Any] | Literal["outside"]
"""Who carries out the planned steps: a function from an `Assignment`, a Runnable or graph of any framework, or whoever
drives the run, who is handed the prompt in a pause and resumes with the transcript."""

OWN_TOOLS = frozenset({"deep_retrieval", "deep_research"})
"""Tools that read memory: what they return is remembered already."""
LEARNED_CHARACTERS = 300
_INTEGER_BITS = 64
_DEEPEST = 100
"""Levels of nested arguments that are kept as they are."""
_THOUGHTS = re.compile("<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHTS_END = re.compile("</(?:think|thinking|reasoning)>", re.IGNORECASE)
_ENTRY_ID = re.compile("e[0-9a-f]{12}")


class Report(TypedDict):
    """What an executor did: its last words, the new raw text on the way there, and the answer if it has one."""

    text: str
    answer: str
    learned: str
    entries: list[dict[str, Any]]


def as_executor(execute: Execution | None) -> Executor | None:
    """The function that carries out steps, for anything that may be passed as `execute` but `outside`.

    Raises:
        SettingsError: It is nothing that can be called.
    """
    if execute is None or execute == "outside":
        return None
    if isinstance(execute, Runnable):
        return _calling(execute)
    if iscoroutinefunction(execute):
        raise SettingsError(
            "The function passed as `execute` is asynchronous, and would return a coroutine. Pass "
            "`lambda assignment: asyncio.run(your_function(assignment))`."
        )
    if callable(execute):
        return execute
    raise SettingsError("Pass a function, a Runnable, a compiled graph, or 'outside' as `execute`.")


def _calling(runnable: Runnable[Any, Any]) -> Executor:
    """A Runnable is given the prompt; one that takes messages, a message."""
    is_agent = "messages" in runnable.get_input_jsonschema().get("properties", {})

    def execute(assignment: Assignment) -> Any:
        prompt = assignment.prompt
        return runnable.invoke({"messages": [HumanMessage(prompt)]} if is_agent else prompt)

    return execute


def report(said: object, prompt: str, kind: str) -> Report:
    """Read what an executor returned: text, a message, messages (ours or OpenAI's), or a mapping with any of these.

    Of messages only the new turns count: neither the prompt that was handed out, with the memory in it, nor what tools
    read back from memory is remembered again.

    Args:
        kind: Kind of the step; the last words of an `answer` step are its answer.

    Raises:
        ToolError: It is none of these, or says nothing.
    """
    if isinstance(said, Mapping) and "messages" not in said:
        found = _mapped(cast("Mapping[str, Any]", said))
    else:
        messages = cast("Mapping[str, Any]", said)["messages"] if isinstance(said, Mapping) else said
        found = _told(_turns(messages, prompt))
    if kind == "answer" and not found["answer"]:
        found["answer"] = found["text"]
    if not (found["text"].strip() or found["answer"].strip()):
        raise ToolError("The executor returned nothing. A step that found nothing should say so in words.")
    found["learned"] = found["learned"] or (found["answer"] or found["text"])[:LEARNED_CHARACTERS]
    return found


def _mapped(said: Mapping[str, Any]) -> Report:
    text = next((_text(said[name]) for name in ("text", "output", "result") if said.get(name) is not None), "")
    source = _text(said.get("source")) or "executor"
    entries = [{"kind": "trajectory", "text": text, "source": source}] if text.strip() else []
    return {
        "text": text,
        "answer": _text(said.get("answer")),
        "learned": _text(said.get("learned")),
        "entries": entries,
    }


def _turns(said: object, prompt: str) -> list[BaseMessage]:
    """The new turns of a transcript."""
    if isinstance(said, str):
        return [AIMessage(clean(said))]
    given = [said] if isinstance(said, BaseMessage) else said
    if not isinstance(given, Sequence):
        raise ToolError("An executor returns text, messages, or a mapping with `text`, `answer` or `messages`.")
    try:
        messages = convert_to_messages([_readable(one) for one in cast("Sequence[Any]", given)])
    except (ValueError, TypeError, NotImplementedError, KeyError) as error:
        raise ToolError("The transcript holds something that is no message: give role and content of each.") from error
    return [m for m in messages if not isinstance(m, SystemMessage) and prompt not in m.text]


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
    except ValueError:
        is_object = False
    return call if is_object else {**call, "function": {**function, "arguments": "{}"}}


def _told(turns: Sequence[BaseMessage]) -> Report:
    """One entry for each tool result, and one for what was said last, with the calls that led there."""
    calls = [call for turn in turns if isinstance(turn, AIMessage) for call in turn.tool_calls]
    names = {call["id"]: call["name"] for call in calls}
    entries = [
        {"kind": "tool_result", **_result(turn), "source": _source(turn, names), "tool_calls": _made(turn, calls)}
        for turn in turns
        if isinstance(turn, ToolMessage) and (turn.text.strip() or _files(turn)) and _is_news(turn, names)
    ]
    last = next((turn for turn in reversed(turns) if isinstance(turn, AIMessage) and turn.text.strip()), None)
    text = _spoken(clean(last.text)) if last else ""
    if text.strip():
        entries.append(
            {"kind": "trajectory", "text": text, "source": "executor", "tool_calls": list(map(_recorded, calls))}
        )
    return {"text": text or "\n".join(str(e["text"]) for e in entries), "answer": "", "learned": "", "entries": entries}


def _spoken(text: str) -> str:
    """Last words without the thoughts that a model wrote before them; the tag that begins them may be missing."""
    end = _THOUGHTS_END.search(text)
    begin = _THOUGHTS.search(text, 0, end.start()) if end else None
    if end is None or (begin and text[: begin.start()].strip()):
        return text
    return text[end.end() :].lstrip()


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
    return clean(str(value))


def _text(value: object) -> str:
    if isinstance(value, BaseMessage):
        return clean(value.text)
    return "" if value is None else clean(str(value))
