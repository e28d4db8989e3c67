"""Reads the work of agents of other frameworks as messages: items of OpenAI's Responses, and events of smolagents."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

TOOL_FAILED: Final = "An error occurred while running the tool."
"""How the OpenAI Agents SDK begins what it tells a model of a tool that failed."""
_PARTS: Final = {"input_text": "text", "output_text": "text", "summary_text": "text", "reasoning_text": "text"}


def as_messages(given: Sequence[Any]) -> list[Any]:
    """What was handed in, with each item or event of another framework as the messages it stands for.

    Items are mappings, as `Runner.run_sync(agent, prompt).to_input_list()` of the OpenAI Agents SDK gives them; events
    are the objects of `agent.run(prompt, stream=True)` of smolagents. Anything else stays as it is.
    """
    return [message for one in given for message in _messages(one)]


def _messages(one: Any) -> Iterator[Any]:
    if isinstance(one, Mapping) and isinstance(one.get("type"), str):
        yield from _of_item(cast("Mapping[str, Any]", one))
    elif type(one).__module__.partition(".")[0] == "smolagents":
        yield from _of_event(one)
    else:
        yield one


def _of_item(item: Mapping[str, Any]) -> Iterator[Any]:
    match item:
        case {"type": "function_call", "call_id": call_id, "name": name}:
            yield _called(call_id, name, item.get("arguments"))
        case {"type": "function_call_output", "call_id": call_id, "output": output}:
            yield _returned(call_id, _parts(output))
        case {"type": "mcp_call", "id": call_id, "name": name}:
            yield _called(call_id, name, item.get("arguments"))
            yield _returned(call_id, item.get("output") or "", failed=bool(item.get("error")))
        case {"type": "reasoning"}:
            told = [*(item.get("summary") or ()), *(item.get("content") or ())]
            yield {"role": "assistant", "content": [{"type": "reasoning", "reasoning": _text(part)} for part in told]}
        case {"type": "message", "content": content}:
            yield {"role": item.get("role"), "content": _parts(content)}
        case {"type": kind} if "role" not in item and kind.endswith(("_call", "_call_output")):
            return  # a tool of the provider's own: it says nothing in words but what the next message says
        case _:
            yield item


def _of_event(event: Any) -> Iterator[Any]:
    """The messages of an event; one without any is an echo of others, or a piece of them."""
    match type(event).__name__:
        case "ToolCall" if event.name != "final_answer":
            yield _called(event.id, event.name, event.arguments)
        case "ToolOutput" if not event.is_final_answer:
            yield _returned(event.id, str(event.observation))
        case "ActionStep":
            if event.code_action and event.observations and event.tool_calls:  # of an agent that writes code
                yield _returned(event.tool_calls[0].id, str(event.observations), failed=event.error is not None)
            if isinstance(event.model_output, str):
                yield {"role": "assistant", "content": event.model_output}
        case "FinalAnswerStep":
            yield {"role": "assistant", "content": str(event.output)}
        case _:
            return


def _called(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": written}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _returned(call_id: Any, content: Any, *, failed: bool = False) -> dict[str, Any]:
    failed = failed or (isinstance(content, str) and content.startswith(TOOL_FAILED))
    return {"role": "tool", "tool_call_id": call_id, "content": content, "status": "error" if failed else "success"}


def _parts(content: Any) -> Any:
    """Content as chat messages have it."""
    if not isinstance(content, list):
        return content
    return [_part(part) for part in cast("list[Any]", content)]


def _part(part: Any) -> Any:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind in _PARTS:
        return {"type": "text", "text": _text(part)}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return part


def _text(part: Any) -> str:
    return str(part.get("text") or "") if isinstance(part, Mapping) else ""
